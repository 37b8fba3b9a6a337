"""The builders of environments as a program of their own, build/environment_tool: real tools, killed at the wrong moment."""
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "build" / "environment_tool"
TOOLS = ROOT / "build" / "test-tools"
MARK = "FERRY_ATTEMPT=environment-test-"


@pytest.fixture(scope="session")
def uv():
    """A PATH with uv, which is fetched once from PyPI, and Debian's Python."""
    (TOOLS / "path").mkdir(parents=True, exist_ok=True)
    with open(TOOLS / "uv.lock", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (TOOLS / "path" / "uv").exists():
            subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", TOOLS / "uv"], check=True)
            subprocess.run([TOOLS / "uv" / "bin" / "python", "-m", "pip", "install", "-q", "uv"], check=True)
            (TOOLS / "path" / "uv").symlink_to("../uv/bin/uv")
    return f"{TOOLS / 'path'}:/usr/bin:/bin"


class Builds:
    def __init__(self, folder, path):
        self.folder = folder
        self.mark = folder.name
        self.settings = {"tools": str(folder / "tools"), "cache": str(folder / "cache"), "sdk": "", "path": path}

    def start(self, kind, name, dependencies=(), pip=(), channels=()):
        specification = self.folder / f"{name}.json"
        section = {"channels": list(channels), "dependencies": [*dependencies, {"pip": list(pip)}]}
        specification.write_text(json.dumps({"python": {"condaDependencies": section}}))
        settings = self.folder / f"{name}.settings.json"
        settings.write_text(json.dumps(self.settings))
        environment = dict(os.environ, MARK="environment-test-" + self.mark)
        return subprocess.Popen([TOOL, "build", kind, specification, self.folder / name, settings], stdout=subprocess.PIPE, text=True, env=environment)

    def build(self, *arguments, **sections):
        """The log, and the record of the environment or the error."""
        process = self.start(*arguments, **sections)
        lines = process.communicate(timeout=600)[0].splitlines()
        return "\n".join(lines[:-1]), json.loads(lines[-1])

    def processes(self):
        """What runs of these builds."""
        wanted, found = (MARK + self.mark).encode(), []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes())
            except OSError:
                pass
        return found


@pytest.fixture
def builds(tmp_path, uv):
    return Builds(tmp_path, uv)


def run(ready, program):
    return subprocess.run([ready["interpreter"], "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_scikit_learn(builds):
    log, ready = builds.build("auto", "env", ["python=3.11", "pip"], ["scikit-learn", "azureml-defaults"])
    assert log.startswith("chosen: venv")
    assert run(ready, "from sklearn.linear_model import Ridge; print(Ridge().fit([[0], [1]], [0, 1]).coef_.shape)") == "(1,)"
    assert {"scikit-learn", "numpy", "pip"} <= {package["name"] for package in ready["lock"]["packages"]}
    assert ready["lock"]["notes"] == ["'azureml-defaults' is provided by Ferry's own azureml package"]


def test_the_chooser_asks_for_conda(builds):
    log, answer = builds.build("auto", "env", ["python=3.11", "cudatoolkit"], channels=["http://127.0.0.1:9/none"])
    assert log.startswith("chosen: conda: 'cudatoolkit' is a conda package")
    assert answer["error"]["slug"] == "environment.not_mappable"
    assert "127.0.0.1:9" in answer["error"]["message"] and "conda line 2 'cudatoolkit'" in answer["error"]["message"]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_ended_in_the_middle(builds, end):
    builds.settings["path"] = "/usr/bin:/bin"
    process = builds.start("venv", "env", pip=["six==1.16.0", "python-dateutil==2.8.2"])
    for line in process.stdout:
        if line.startswith("Collecting"):
            break
    process.send_signal(end)
    rest = process.communicate(timeout=60)[0]
    wait_until(lambda: not builds.processes())
    assert '"lock"' not in rest
    assert not (builds.folder / "env" / "ready.json").exists()
    if end == signal.SIGTERM:
        assert json.loads(rest.splitlines()[-1])["error"]["code"] == "canceled"


def test_py_rattler_is_installed_once_and_whole(builds):
    def conda(name):
        return builds.start("conda", name, ["python", "six"], channels=["http://127.0.0.1:9/none"])

    # The first is killed while it installs.
    killed = conda("killed")
    for line in killed.stdout:
        if line.startswith("Installing 1 requirement"):
            break
    killed.kill()
    killed.communicate()
    wait_until(lambda: not builds.processes())
    assert not (builds.folder / "tools" / "rattler" / "ready.json").exists()
    several = [conda(f"env{i}") for i in range(3)]
    logs = [process.communicate(timeout=600)[0] for process in several]
    assert [process.returncode for process in several] == [0, 0, 0], logs
    assert sum("Installing py-rattler" in log for log in logs) == 1
    for log in logs:
        ready = json.loads(log.splitlines()[-1])
        assert run(ready, "import six; print('fine')") == "fine"
        assert "no conda channel answers" in ready["lock"]["notes"][0]


def test_python_pins_of_version_managers(builds, tmp_path):
    """A shim stands for every version behind it, and a pin that none meets is an error that lists them."""
    root = tmp_path / "manager"
    for version in ("3.8.18", "3.9.18"):
        program = root / "versions" / version / "bin" / ("python" + version.rpartition(".")[0])
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
    (root / "shims").mkdir()
    builds.settings["path"] = f"{root / 'shims'}:/usr/bin:/bin"
    log, answer = builds.build("venv", "env", ["python=3.7"], ["six"])
    assert answer["error"]["slug"] == "environment.python"
    for version in ("python=3.7", "3.8.18", "3.9.18", "3.11"):
        assert version in answer["error"]["message"]


def test_inspect(tmp_path):
    def inspect():
        return json.loads(subprocess.run([TOOL, "inspect", sys.executable, tmp_path], check=True, stdout=subprocess.PIPE).stdout)

    first = inspect()
    assert first["kind"] == "existing" and first["python"] == "%d.%d.%d" % sys.version_info[:3]
    assert "pytest" in {package["name"] for package in first["packages"]}
    assert inspect() == first
