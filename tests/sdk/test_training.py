"""Real training with scikit-learn on the local target, in every kind of environment, from the SDK."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT
from ferry_fixture import Ferry, write_tree
from seed_fixture import trained
from test_image_runs import podman_environment

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.runconfig import DockerConfiguration, RunConfiguration

pytestmark = pytest.mark.slow

PACKAGES = ["scikit-learn"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all of them: packages that were fetched once are there."""
    ferry = Ferry(tmp_path_factory.mktemp("training") / "home", ["--slots", "2"])
    ferry.environment.update(podman_environment())
    ferry.start()
    yield ferry
    ferry.clean_up()


@pytest.fixture
def ws(server, outside, monkeypatch):
    monkeypatch.setenv("FERRY_HOME", server.home)
    return Workspace.get("default")


@pytest.fixture
def source(tmp_path):
    return shutil.copytree(os.path.join(ROOT, "examples", "sklearn"), tmp_path / "source")


@pytest.fixture
def train(ws, source):
    """Trains with what is given and gives the run, which has ended well, and the interpreter it says it used."""
    def submit(**given):
        run = Experiment(ws, "training").submit(ScriptRunConfig(source, "train.py", ["--alphas", 20], **given))
        run.wait_for_completion(show_output=True)
        assert trained(run)
        model = run.register_model("ridge", "outputs/ridge_best.pkl", model_framework="ScikitLearn")
        assert model.run_id == run.id
        return run, run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]

    return submit


def lock_of(ws, run):
    lock = ws._client.get(f"/runs/{run.id}/lock")
    return lock["kind"], {package["name"]: package["version"] for package in lock.get("packages", ())}


def test_user_managed(ws, train):
    mine = Environment("user-managed")
    mine.python.user_managed_dependencies = True
    mine.python.interpreter_path = sys.executable
    run, said = train(environment=mine)
    assert sys.executable in said and lock_of(ws, run)[0] == "existing"


def test_conda_specification(ws, train, tmp_path):
    write_tree(tmp_path, {"conda.yml": "channels:\n- conda-forge\ndependencies:\n- python=3.11\n- pip:\n  - azureml-defaults\n  - scikit-learn\n"})
    run, _ = train(environment=Environment.from_conda_specification("from-conda", str(tmp_path / "conda.yml")))
    kind, packages = lock_of(ws, run)
    assert kind == "venv" and "scikit-learn" in packages, "nothing but packages for pip needs no conda"


def test_conda_packages(ws, train):
    """From a channel where one answers, else from PyPI."""
    system = RunConfiguration(conda_dependencies=CondaDependencies.create(conda_packages=PACKAGES))
    run, _ = train(run_config=system)
    assert "scikit-learn" in lock_of(ws, run)[1]


@pytest.fixture
def channel(ws, server, source, tmp_path):
    """A conda channel of the test's own. What the server solves with indexes it, and is there after a run that wanted conda."""
    def solver():
        return [os.path.join(folder, "bin", "python") for folder, _, files in os.walk(os.path.join(server.home, "agent", "tools")) if "pyvenv.cfg" in files]

    if not solver():
        wants = CondaDependencies.create(conda_packages=["six"])
        wants.add_channel("http://127.0.0.1:1/nowhere")
        Experiment(ws, "training").submit(ScriptRunConfig(source, command=["true"], run_config=RunConfiguration(conda_dependencies=wants))).wait_for_completion()
    folder = tmp_path / "channel"
    folder.mkdir()
    subprocess.run([solver()[0], os.path.join(ROOT, "src", "environment", "conda", "testdata", "make_channel.py"), str(folder)], check=True, timeout=120)
    return "file://%s" % folder


def test_conda_channel(ws, train, channel, tmp_path):
    write_tree(tmp_path, {"conda.yml": f"channels:\n- {channel}\ndependencies:\n- python=3.11\n- six-noarch=1.0\n- pip:\n  - azureml-defaults\n  - scikit-learn\n"})
    run, _ = train(environment=Environment.from_conda_specification("from-a-channel", str(tmp_path / "conda.yml")))
    kind, packages = lock_of(ws, run)
    assert kind == "conda" and packages["six-noarch"] == "1.0" and "scikit-learn" in packages


def test_pip_requirements(ws, train, tmp_path):
    write_tree(tmp_path, {"requirements.txt": "scikit-learn\n"})
    run, _ = train(environment=Environment.from_pip_requirements("from-pip", str(tmp_path / "requirements.txt")))
    kind, packages = lock_of(ws, run)
    assert kind == "venv" and "scikit-learn" in packages


def test_registered(ws, train):
    mine = Environment("registered")
    mine.python.conda_dependencies = CondaDependencies.create(pip_packages=PACKAGES)
    kept = mine.register(ws)
    first, _ = train(environment=Environment.get(ws, "registered"))
    assert (first.get_environment().name, first.get_environment().version) == ("registered", kept.version)
    # By its name in a file, too.
    named = RunConfiguration()
    named.environment = Environment.get(ws, "registered", version=kept.version)
    second, _ = train(run_config=named)
    assert second.get_environment().version == kept.version and lock_of(ws, second) == lock_of(ws, first)


def test_curated(ws, train):
    run, said = train(environment=Environment.get(ws, "AzureML-sklearn-1.5"))
    assert "AzureML-Sklearn" in said, "what stands for Azure's environment is said"
    assert lock_of(ws, run)[1]["scikit-learn"] == "1.8.0"


def test_docker_image(ws, train):
    image = Environment.from_docker_image("image", "mcr.microsoft.com/azureml/base:0.2.2")
    image.python.user_managed_dependencies = False
    image.python.conda_dependencies = CondaDependencies.create(pip_packages=PACKAGES)
    run, said = train(environment=image, docker_runtime_config=DockerConfiguration(use_docker=True))
    kind, packages = lock_of(ws, run)
    assert kind == "image" and "scikit-learn" in packages


def test_dockerfile(ws, train):
    image = Environment.from_dockerfile("dockerfile", "FROM mcr.microsoft.com/azureml/base:0.2.2\nRUN apt-get update && apt-get install -y --no-install-recommends python3-sklearn\n")
    run, _ = train(environment=image)
    assert lock_of(ws, run)[0] == "image"
