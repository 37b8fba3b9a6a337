"""The snapshot of a source folder: the first time, unchanged, and with one file changed."""

import os
import shutil
import time

from support import ferry, tree
from support.bench import output, run as run_command

TITLE = "snapshot of 10,000 files and 120 MB"


QUIET = 3  # seconds between two snapshots of any tool: what the last one left to do in the background is over


def timed(*commands, env=None, after=None):
    began = time.monotonic()
    for command in commands:
        said = run_command(command, env=env, timeout=300)
    took = time.monotonic() - began
    if after:
        after(said)
    time.sleep(QUIET)
    return took


def run(bench):
    folder = tree.make(os.path.join(bench.folder, "source"))
    changed = os.path.join(folder, "part00", "file00000.py")
    count = {"n": 0}

    def change():
        count["n"] += 1
        with open(changed, "a") as file:
            file.write(f"# change {count['n']}\n")

    def three_times(prepare, snapshot):
        """First, unchanged and one changed, each from the start."""
        prepare()
        times = [snapshot(), snapshot()]
        change()
        return times + [snapshot()]

    servers = []

    def ferry_times():
        def prepare():
            home = os.path.join(bench.folder, f"home{len(servers)}")
            servers.append(ferry.Server(home).__enter__())
            servers[-1].wait(servers[-1].submit(["true"]))
        def snapshot():
            command = [ferry.BINARY, "run", "submit-command", "--source-directory", folder, "--async", "--", "true"]
            return timed(command, env=servers[-1].env, after=lambda said: servers[-1].wait(next(line for line in said.split("\n") if line and " " not in line)))
        try:
            return three_times(prepare, snapshot)
        finally:
            servers[-1].__exit__()

    git_folder = os.path.join(bench.folder, "git")
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", f"--git-dir={git_folder}", f"--work-tree={folder}"]

    def git_times():
        def prepare():
            shutil.rmtree(git_folder, ignore_errors=True)
            run_command(git + ["init", "-q"])
        return three_times(prepare, lambda: timed(git + ["add", "-A"], git + ["commit", "-q", "--allow-empty", "-m", "snapshot"]))

    repository = os.path.join(bench.folder, "restic")
    restic_env = {**os.environ, "RESTIC_PASSWORD": "bench", "RESTIC_CACHE_DIR": os.path.join(bench.folder, "restic-cache"), "RESTIC_REPOSITORY": repository}

    def restic_times():
        def prepare():
            shutil.rmtree(repository, ignore_errors=True)
            shutil.rmtree(restic_env["RESTIC_CACHE_DIR"], ignore_errors=True)
            run_command(["restic", "init", "-q"], env=restic_env)
        return three_times(prepare, lambda: timed(["restic", "backup", "-q", folder], env=restic_env))

    bench.versions["git"] = output("git", "--version").replace("git version ", "")
    bench.versions["restic"] = (output("restic", "version").split() + ["", "missing"])[1]
    samples = bench.alternate(bench.reps(7), {"ferry": ferry_times, "git add and commit": git_times, "restic backup": restic_times})
    git_name, restic_name = "git add and commit", "restic backup"
    for place, (what, bar, limit, beat) in enumerate([("first", "4 times faster than git, ahead of restic", None, {git_name: 4, restic_name: 1}), ("unchanged", "0.1 s", 0.1, {}), ("one file changed", "0.12 s", 0.12, {})]):
        columns = {name: [value[place] for value in values] for name, values in samples.items()}
        bench.row(what, "s", columns.pop("ferry"), columns, bar=bar, limit=limit, beat=beat)
    bench.note("Ferry: the whole of `ferry run submit-command --source-directory FOLDER --async -- true`, its start and the run's submission included")
    bench.note(f"{QUIET} s pass between two snapshots of any tool, Ferry's after the run that the snapshot was for has ended; warm_submit_large measures snapshot and run together")
