"""RunDetails: text in a terminal, live HTML in a notebook. The notebook here is a stand-in for IPython's kernel."""

import sys
import types

import pytest

from azureml.core import Experiment, Run, ScriptRunConfig, Workspace
from azureml.exceptions import UserErrorException
from azureml.train.widgets import RunDetails as OldHome
from azureml.widgets import RunDetails
from ferry import widget
from ferry_fixture import wait_until, write_tree
from stand_in import StandIn

SCRIPT = """
import os, time
from azureml.core import Run
run = Run.get_context()
run.log("loss", 0.123456789)
print("<b>bold</b>", flush=True)
while os.path.exists(%r):
    time.sleep(0.02)
"""


@pytest.fixture
def experiment(client):
    return Experiment(Workspace("sub", "rg", "default"), "sdk-widgets")


@pytest.fixture
def notebook(monkeypatch):
    """IPython as it is inside a kernel, with what was displayed."""
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html.data)

    class Html:
        def __init__(self, data):
            self.data = data

    def display(html, display_id):
        shown.append(html.data)
        return Handle()

    kernel = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: kernel
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display, ipython.display.HTML = display, Html
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    ipython.shown = shown
    return ipython


def start(experiment, tmp_path):
    (tmp_path / "hold").write_text("")
    source = write_tree(tmp_path / "source", {"train.py": SCRIPT % str(tmp_path / "hold")})
    return experiment.submit(ScriptRunConfig(source, "train.py", run_config=StandIn()))


def test_a_notebook_shows_the_run_until_it_ends(experiment, tmp_path, notebook, monkeypatch):
    monkeypatch.setattr(widget, "_PAUSE", 0.0)
    run = start(experiment, tmp_path)
    details = RunDetails(run)
    details.show()
    wait_until("it is seen running", lambda: any("Running" in html and "0.123457" in html and "&lt;b&gt;bold" in html for html in notebook.shown))
    (tmp_path / "hold").unlink()
    details._thread.join(30)
    assert "Completed" in notebook.shown[-1] and "<b>bold" not in notebook.shown[-1] and run.id in notebook.shown[-1]
    seen = len(notebook.shown)
    RunDetails(run)._ipython_display_()
    assert len(notebook.shown) > seen


def test_a_terminal_gets_text(experiment, tmp_path, notebook, capsys):
    notebook.get_ipython = lambda: types.SimpleNamespace()  # IPython in a terminal has no kernel.
    run = start(experiment, tmp_path)
    (tmp_path / "hold").unlink()
    run.wait_for_completion()
    RunDetails(run).show()
    out = capsys.readouterr().out
    assert out.startswith(f"Run {run.id} of sdk-widgets: Completed\n") and "loss = 0.123457" in out and "<b>bold</b>" in out and "Running: " in out
    assert RunDetails(run).get_widget_data()["run"]["id"] == run.id


def test_wrong_arguments():
    for wrong in (None, "run", Run.get_context()):
        with pytest.raises(UserErrorException, match="run_instance"):
            RunDetails(wrong)
    assert OldHome is RunDetails
