"""A user's folder with a script that trains, and a server of that user's own, which is found as the command line finds it."""

import os
import shutil

import pytest
from conftest import ROOT

LATER = " is not part of this version of Ferry yet."
USE_LOCAL = " Use the target 'local'."


def no_target(name):
    """What a submission to a compute target says that could not be made."""
    return f"there is no compute target '{name}' in workspace 'default'; there are 'local'"


def absent(name):
    return f"ComputeTargetNotFound: Compute Target with name {name} not found in provided workspace"


@pytest.fixture
def script_folder(shared, outside, tmp_path, monkeypatch):
    """The working folder, with train.py in it."""
    folder = tmp_path / "project"
    shutil.copytree(os.path.join(ROOT, "examples", "sklearn"), folder)
    monkeypatch.setenv("FERRY_HOME", shared.home)
    monkeypatch.chdir(folder)
    return str(folder)


@pytest.fixture
def ws(script_folder):
    from azureml.core import Workspace

    Workspace.get("default").write_config()
    return Workspace.from_config()


def trained(run):
    """Whether it is a run of train.py that ended well: its metrics, its model and its output are there."""
    metrics = run.get_metrics()
    assert run.get_status() == "Completed", run.get_details()
    assert len(metrics["mse"]) == len(metrics["alpha"]) == 20 and min(metrics["mse"]) == metrics["best_mse"]
    assert "outputs/ridge_best.pkl" in run.get_file_names()
    assert run.get_tags()["best_alpha"] == "%.2f" % metrics["best_alpha"]
    return True
