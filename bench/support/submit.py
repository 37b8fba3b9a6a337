"""From a command line to the first line of a script: Ferry and its peers, over starting the interpreter itself."""

import os
import re
import subprocess
import time

from . import ferry, peers
from .bench import PYTHON, quiet_kill

FIRST = "import time\nprint('FIRST', time.time_ns(), flush=True)\n"
FLOW = """import time
from metaflow import FlowSpec, step


class First(FlowSpec):
    @step
    def start(self):
        print('FIRST', time.time_ns(), flush=True)
        self.next(self.end)

    @step
    def end(self):
        pass


if __name__ == '__main__':
    First()
"""
PROJECT = """name: first
entry_points:
  main:
    command: "{python} first.py"
"""


def first_line(command, env=None, cwd=None, timeout=120):
    """Milliseconds from just before the command starts to the script's own clock, and to the line on the command's output."""
    began = time.time_ns()
    process = subprocess.Popen(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    said = b""
    with quiet_kill(process, timeout):
        for line in process.stdout:
            found = re.search(rb"FIRST (\d{19})", line)
            if found:
                shown = time.time_ns()
                process.stdout.read()
                process.wait()
                return (int(found.group(1)) - began) / 1e6, (shown - began) / 1e6
            said += line
    process.wait()
    raise RuntimeError(f"no first line came from {' '.join(command)[:200]}: {said[-600:].decode(errors='replace')}")


def subjects(bench, folder, script="first.py", own_only=False):
    """What to measure by name; each gives (inside, shown). Also which of them are slow."""
    server = bench.keep(ferry.Server(os.path.join(bench.folder, "home")))
    found = {
        "python": lambda: first_line([PYTHON, script], cwd=folder),
        "ferry": lambda: first_line([ferry.BINARY, "run", "submit-script", "--interpreter", PYTHON, script], env=server.env, cwd=folder),
    }
    slow = {}
    if own_only:
        return server, found, slow
    try:
        slurm = bench.keep(peers.Slurm(os.path.join(bench.folder, "slurm")))
        bench.versions["slurm"] = peers.slurm_version()
        found["srun"] = lambda: first_line(["srun", "-n1", PYTHON, script], env=slurm.env, cwd=folder)
    except (RuntimeError, OSError) as error:
        bench.note(f"srun could not be measured: {error}")
    flow = os.path.join(bench.folder, "flow")
    os.makedirs(flow)
    with open(os.path.join(flow, "flow.py"), "w") as file:
        file.write(FLOW)
    if program := peers.venv("metaflow", "python"):
        flow_env = peers.clean_environment(METAFLOW_DATASTORE_SYSROOT_LOCAL=flow, METAFLOW_USER="bench", HOME=flow)
        found["Metaflow run"] = lambda: first_line([program, "flow.py", "run"], env=flow_env, cwd=flow)
        bench.versions["metaflow"] = peers.venv_version("metaflow")
        slow["Metaflow run"] = 5
    project = os.path.join(bench.folder, "project")
    os.makedirs(project)
    with open(os.path.join(project, "first.py"), "w") as file:
        file.write(FIRST)
    with open(os.path.join(project, "MLproject"), "w") as file:
        file.write(PROJECT.format(python=PYTHON))
    if mlflow := peers.venv("mlflow"):
        mlflow_env = peers.clean_environment(MLFLOW_TRACKING_URI=f"sqlite:///{bench.folder}/mlflow.db", HOME=project, PATH=os.path.dirname(mlflow) + os.pathsep + os.environ["PATH"])
        found["mlflow run"] = lambda: first_line([mlflow, "run", "--env-manager=local", "."], env=mlflow_env, cwd=project)
        bench.versions["mlflow"] = peers.venv_version("mlflow")
        slow["mlflow run"] = 5
    try:
        head = bench.keep(peers.RayHead(os.path.join(bench.folder, "ray")))
        bench.versions["ray"] = peers.venv_version("ray")
        found["ray job submit"] = lambda: first_line([head.program, "job", "submit", "--address", head.url, "--", PYTHON, os.path.join(project, "first.py")], env=head.env, cwd=project)
        slow["ray job submit"] = 5
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        bench.note(f"ray could not be measured: {error}")
    return server, found, slow


def over(samples, base, which):
    """Each sample less the median start of the interpreter."""
    middle = sorted(value[which] for value in base)[len(base) // 2]
    return [value[which] - middle for value in samples]
