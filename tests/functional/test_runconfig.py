"""Run configurations with the real binary: made by `folder attach`, judged and shown. No server is asked."""

import json
import os
import subprocess

import pytest

from ferry_fixture import BINARY


@pytest.fixture
def ferry(tmp_path):
    """Runs ferry in a project folder; no server can be reached or started."""
    project = tmp_path / "my project ü"
    project.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FERRY_")}
    environment |= {"FERRY_HOME": str(tmp_path / "home"), "FERRY_URL": "http://127.0.0.1:1"}

    def run(*words, status=0):
        done = subprocess.run([BINARY, *words], cwd=project, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done
        return done

    run.project = project
    return run


def test_attach_then_validate_then_show(ferry):
    made = ferry("folder", "attach", "-w", "team", "-e", "bears").stdout
    folder = ferry.project / ".azureml"
    assert sorted(os.listdir(folder)) == ["conda_dependencies.yml", "config.json", "docker.runconfig", "local.runconfig"]
    assert all("made .azureml/%s\n" % name in made for name in os.listdir(folder))
    config = json.loads((folder / "config.json").read_text())
    assert (config["workspace_name"], config["experiment_name"]) == ("team", "bears")
    for name in ("local", "docker"):
        assert ferry("runconfig", "validate", name).stdout == ".azureml/%s.runconfig is valid\n" % name
        shown = json.loads(ferry("runconfig", "show", name, "--resolved", "-o", "json").stdout)
        assert shown["target"] == "local" and shown["framework"] == "Python"
        assert shown["environment"]["docker"]["enabled"] is (name == "docker")
        assert "azureml-defaults" in json.dumps(shown["environment"]["python"]["condaDependencies"])
    # Nothing that is there is touched.
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    (folder / "local.runconfig").write_text("mine")
    before["local.runconfig"] = b"mine"
    assert "made" not in ferry("folder", "attach").stdout
    assert before == {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def test_every_error_at_once(ferry):
    (ferry.project / "bad.runconfig").write_text("script: train.py\nnodeCount: two\nframewrk: Python\nenvironment:\n  docker: {shmSize: big}\n  python: {userManagedDependencies: perhaps}\n")
    lines = ferry("runconfig", "validate", "bad.runconfig", status=2).stdout.splitlines()
    assert lines[0] == "bad.runconfig:2: error: nodeCount: expected a whole number from 1 to 2147483647, found 'two'"
    assert any(line.startswith("bad.runconfig:5: error: environment.docker.shmSize: ") for line in lines)
    assert any(line.startswith("bad.runconfig:6: error: environment.python.userManagedDependencies: ") for line in lines)
    assert "bad.runconfig:3: warning: framewrk: is not a key that Ferry knows; did you mean 'framework'?" in lines
    # A submission says the same, and reaches for no server.
    (ferry.project / "train.py").write_text("print(1)\n")
    assert "nothing was submitted" in ferry("run", "submit-script", "-c", "bad.runconfig", status=2).stderr


def test_hostile_files(ferry):
    def refused(text, what):
        (ferry.project / "f.yml").write_bytes(text)
        done = ferry("runconfig", "validate", "f.yml", status=2)
        assert what in done.stdout, done

    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"] + ["a%d: &a%d [%s]" % (i, i, ", ".join(["*a%d" % (i - 1)] * 10)) for i in range(1, 12)]
    refused("\n".join(bomb).encode(), "with every alias (*name) written out")
    refused(b"[" * 1_000_000, "nested deeper than 64 levels")
    refused(b"- " * 1_000_000, "nested deeper than 64 levels")
    refused(b"a: 1\nb: \xff\n", "f.yml:2:1: error: bytes that are not UTF-8")
    refused(b"a:\n\tb: 1\n", "a tab indents the line; expected spaces")
    refused(b"script: a\r\nscript: b\r\n", "the key 'script' stands twice, first in line 1")
    refused(b"\x00\x01\x02", "a control character")


def test_a_missing_configuration_lists_those_there_are(ferry):
    ferry("folder", "attach")
    (ferry.project / "train.py").write_text("print(1)\n")
    assert "there are: docker, local" in ferry("run", "submit-script", "-c", "remote", status=5).stderr
