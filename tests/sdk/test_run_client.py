"""A run as everybody but its own script sees it: over the network."""

import io
import json
import math
import os
import pickle
import threading
import zipfile

import pytest

from azureml.core import Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.run import _OfflineRun
from azureml.exceptions import ActivityFailedException, AzureMLException, ExperimentExecutionException, ModelPathNotFoundException, ServiceException, UserErrorException
from ferry import follow, recorder, snapshot
from ferry_fixture import read_tree, wait_until, write_tree
from stand_in import StandIn

SCRIPT = """
import os, sys
from azureml.core import Run
run = Run.get_context()
run.log("once", 0.5)
for i in range(3):
    run.log("series", i * 2, step=i)
run.log("nan", float("nan"))
run.log("word", "NaN")
run.log_list("list", [1, 2])
run.log_row("row", x=1, y=float("inf"))
run.log_row("rows", x=1)
run.log_row("rows", x=2)
run.log_table("table", {"a": [1, 2], "b": ["x", "y"]})
run.log_confusion_matrix("matrix", {"schema_type": "confusion_matrix", "schema_version": "v1", "data": {"class_labels": ["0"], "matrix": [[1]]}})
run.tag("from", "inside")
os.makedirs("outputs/deep", exist_ok=True)
open("outputs/deep/model.txt", "w").write("the model")
open("logs.txt", "w").write("x")
run.upload_file("made/by/hand.txt", "logs.txt")
print("hello from the script", flush=True)
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""


@pytest.fixture
def ws(client):
    return Workspace("sub", "rg", "default")


@pytest.fixture
def experiment(ws):
    return Experiment(ws, "sdk-runs")


@pytest.fixture
def source(tmp_path):
    return write_tree(tmp_path / "source", {"train.py": SCRIPT, "wait.py": "import time\nprint('started', flush=True)\ntime.sleep(600)\n"})


def submit(experiment, source, script="train.py", *arguments, **fields):
    return experiment.submit(ScriptRunConfig(source, script, arguments=list(arguments), run_config=StandIn(**fields)))


@pytest.fixture
def done(experiment, source):
    run = submit(experiment, source)
    run.wait_for_completion()
    return run


# Status and details


def test_details(done, client):
    details = done.get_details()
    assert set(details) == {"runId", "target", "status", "startTimeUtc", "endTimeUtc", "properties", "inputDatasets", "outputDatasets", "runDefinition",
                            "logFiles", "submittedBy"}
    assert (details["runId"], details["target"], details["status"], details["submittedBy"]) == (done.id, "local", "Completed", "admin")
    assert details["startTimeUtc"] <= details["endTimeUtc"] and details["inputDatasets"] == details["outputDatasets"] == []
    definition = details["runDefinition"]
    assert (definition["script"], definition["arguments"], definition["target"], definition["nodeCount"]) == ("train.py", [], "local", 1)
    assert definition["history"]["directoriesToWatch"] == ["logs"] and definition["framework"] == "Python" and "environment" in definition
    assert details["properties"]["ContentSnapshotId"] == done.get_snapshot_id() and details["properties"]["_azureml.ComputeTargetType"] == "local"
    assert details["logFiles"]["user_logs/std_log.txt"] == f"{client.url}/api/v1/runs/{done.id}/logs/user_logs/std_log.txt"
    assert "hello from the script\n" in done.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
    json.dumps(details)
    assert (done.get_status(), done.status, done.type, done.number > 0, done.id) == ("Completed", "Completed", "azureml.scriptrun", True, done._run_id)
    assert done.get_portal_url().startswith(client.url)


def test_waiting_shows_stages_and_output(experiment, source, capsys):
    run = submit(experiment, source)
    details = run.wait_for_completion(show_output=True)
    out = capsys.readouterr().out
    assert details["status"] == "Completed"
    head, _, rest = out.partition("\nStreaming user_logs/std_log.txt\n===============================\n\n")
    assert head.startswith(f"RunId: {run.id}\nWeb View: {run.get_portal_url()}\n\nStage: ")
    assert rest.count("hello from the script\n") == 1
    assert f"\nExecution Summary\n=================\nRunId: {run.id}\nWeb View: {run.get_portal_url()}\n" in rest
    run.wait_for_completion(show_output=True)
    assert "hello from the script\n" in capsys.readouterr().out


def test_a_run_that_failed(experiment, source, capsys):
    run = submit(experiment, source, "train.py", 3)
    with pytest.raises(ActivityFailedException, match="Activity Failed:") as caught:
        run.wait_for_completion(show_output=True)
    assert "the script failed: exit status 3" in caught.value.message and "The last lines of its output:\n" in caught.value.message
    assert "hello from the script" in caught.value.message and '"UserError"' in caught.value.message and "Error:" in capsys.readouterr().out
    details = run.wait_for_completion(raise_on_error=False)
    assert details["status"] == "Failed" and details["error"]["error"]["code"] == "UserError" and details["error"]["error"]["exitCode"] == 3
    with pytest.raises(ActivityFailedException):
        run.wait_for_completion()


def test_cancel(experiment, source):
    run = submit(experiment, source, "wait.py")
    wait_until("it runs", lambda: run.get_status() == "Running")
    run.cancel()
    details = run.wait_for_completion()
    assert details["status"] == "Canceled" and details["warnings"]
    run.cancel()
    directly = submit(experiment, source, "wait.py")
    directly.cancel()
    assert directly.wait_for_completion()["status"] == "Canceled"


def test_fail_from_outside(experiment, source):
    run = submit(experiment, source, "wait.py")
    wait_until("it runs", lambda: run.get_status() == "Running")
    run.fail("not good enough", error_code="Quality")
    details = run.wait_for_completion(raise_on_error=False)
    assert details["status"] == "Failed" and "not good enough" in details["error"]["error"]["message"]


def test_a_key_press_ends_the_waiting_alone(experiment, source, monkeypatch):
    run = submit(experiment, source, "wait.py")

    def press(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run._client, "events", press)
        for show in (False, True):
            with pytest.raises(ExperimentExecutionException, match="the run goes on"):
                run.wait_for_completion(show_output=show)
    assert run.get_status() not in ("Canceled", "Failed")
    run.cancel()


def test_the_printer_prints_no_byte_twice():
    out = []
    printer = follow.Printer(out.append)
    printer.take("status", {"attempt": 1, "stages": [{"name": "Preparing"}]})
    printer.take("log", {"stream": "a", "attempt": 1, "offset": 0, "next": 5, "data": "hello"})
    printer.take("log", {"stream": "a", "attempt": 1, "offset": 0, "next": 8, "data": "hello wo"})
    printer.take("log", {"stream": "a", "attempt": 1, "offset": 4, "next": 8, "data": "o wo"})
    printer.take("status", {"attempt": 2, "attempts": [{"reason": "node_lost", "detail": "the node is gone"}],
                            "stages": [{"name": "Preparing"}, {"name": "Running", "cause": "again"}]})
    printer.take("log", {"stream": "a", "attempt": 2, "offset": 0, "next": 3, "data": "new"})
    printer.finish()
    assert "".join(out) == ("Stage: Preparing\n\nStreaming a\n===========\n\nhello wo\nAttempt 1 ended: the node is gone; trying again\n"
                            "Stage: Running (again)\n\nStreaming a\n===========\n\nnew\n")


# Metrics


def test_metrics_have_the_shapes_of_v1(done):
    metrics = done.get_metrics()
    assert math.isnan(metrics.pop("nan"))
    assert metrics.pop("matrix") == f"aml://artifactId/ExperimentRun/dcid.{done.id}/" + next(n for n in done.get_file_names() if n.startswith("matrix_"))
    assert metrics == {"once": 0.5, "series": [0, 2, 4], "word": "NaN", "list": [1, 2], "row": {"x": 1, "y": math.inf}, "rows": {"x": [1, 2]},
                       "table": {"a": [1, 2], "b": ["x", "y"]}}
    assert done.get_metrics("series") == {"series": [0, 2, 4]} and done.get_metrics(name="none") == {}
    assert done.get_metrics(populate=True)["matrix"]["data"]["matrix"] == [[1]]
    assert done.get_metrics("once", recursive=True) == {done.id: {"once": 0.5}}
    with pytest.raises(UserErrorException, match="name"):
        done.get_metrics(7)


# Files


def test_files_down(done, tmp_path, monkeypatch):
    names = done.get_file_names()
    assert {"outputs/deep/model.txt", "made/by/hand.txt", "user_logs/std_log.txt"} <= set(names)
    monkeypatch.chdir(tmp_path)
    done.download_file("outputs/deep/model.txt")
    done.download_file(name="./outputs/deep/model.txt", output_file_path="a/b/renamed.txt")
    os.mkdir("folder")
    done.download_file("outputs/deep/model.txt", "folder")
    done.download_file("outputs/deep/model.txt", "new-folder/")
    for path in ("model.txt", "a/b/renamed.txt", "folder/model.txt", "new-folder/model.txt"):
        assert (tmp_path / path).read_text() == "the model"
    done.download_file("user_logs/std_log.txt", "log.txt")
    done.download_file("azureml-logs/70_driver_log.txt", "old.txt")
    assert "hello from the script" in (tmp_path / "log.txt").read_text() == (tmp_path / "old.txt").read_text()
    done.download_files(prefix="outputs", output_directory="all")
    done.download_files("outputs/deep", "cut", append_prefix=False)
    assert read_tree("all") == {"outputs/deep/model.txt": b"the model"} and read_tree("cut") == {"model.txt": b"the model"}
    done.download_files("made/", output_paths=["named.txt"])
    assert (tmp_path / "named.txt").read_text() == "x"
    assert done.get_all_logs("logs-here") == [os.path.join("logs-here", name) for name in sorted(done.get_details()["logFiles"])]
    done.get_all_logs()
    assert os.path.isfile(os.path.join(done.id, "user_logs", "std_log.txt"))


def test_files_that_are_not_there(done, tmp_path):
    with pytest.raises(UserErrorException, match="File with path outputs/none was not found,\navailable files include: .*outputs/deep/model.txt"):
        done.download_file("outputs/none", tmp_path / "none")
    assert os.listdir(tmp_path) == ["source"]
    for name in ("../x", "/etc/passwd", "", 7):
        with pytest.raises(UserErrorException):
            done.download_file(name)
    with pytest.raises(UserErrorException, match="output_paths has 2 paths for 1 files"):
        done.download_files("outputs/", output_paths=["a", "b"])
    os.symlink("/tmp", tmp_path / "outputs")
    with pytest.raises(UserErrorException, match="there is a link at"):
        done.download_files("outputs/", tmp_path)


def test_files_up(done, tmp_path):
    write_tree(tmp_path / "up", {"a.txt": "a", "sub/b.txt": "b"})
    done.upload_file("extra/a.txt", tmp_path / "up" / "a.txt")
    done.upload_file(name="extra/stream.bin", path_or_stream=io.BytesIO(b"bytes"))
    done.upload_file("extra/text", io.StringIO("text"))
    done.upload_files(["n1", "n2"], [tmp_path / "up" / "a.txt", str(tmp_path / "up" / "sub" / "b.txt")])
    done.upload_folder("folder", tmp_path / "up")
    assert {"extra/a.txt", "extra/stream.bin", "extra/text", "n1", "n2", "folder/a.txt", "folder/sub/b.txt"} <= set(done.get_file_names())
    done.download_file("extra/stream.bin", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"bytes"
    done.upload_file("extra/a.txt", tmp_path / "up" / "a.txt")
    with pytest.raises(UserErrorException, match="'extra/a.txt' with another content already"):
        done.upload_file("extra/a.txt", io.BytesIO(b"other"))
    for call in (lambda: done.upload_file("x", tmp_path / "none"), lambda: done.upload_file("x", tmp_path), lambda: done.upload_file("x", 7),
                 lambda: done.upload_file("../x", io.BytesIO(b"")), lambda: done.upload_files(["a"], [])):
        with pytest.raises(UserErrorException):
            call()


def test_snapshots(done, source, tmp_path, monkeypatch):
    path = done.restore_snapshot(path=tmp_path / "back")
    assert path == str(tmp_path / "back" / (done.get_snapshot_id() + ".zip"))
    with zipfile.ZipFile(path) as archive:
        assert archive.read("train.py").decode() == SCRIPT
    other = write_tree(tmp_path / "other", {"x.py": "1"})
    taken = done.take_snapshot(other)
    assert taken == snapshot.scan(other).id and done.get_snapshot_id() != taken
    monkeypatch.chdir(tmp_path)
    assert zipfile.ZipFile(done.restore_snapshot(taken)).namelist() == ["x.py"]
    assert done.take_snapshot(os.path.join(other, "x.py")) == taken


def test_register_a_model(done, tmp_path):
    model = done.register_model("sdk-model", "./outputs/deep/model.txt", tags={"a": 1}, properties={"p": "q"}, model_framework="Custom",
                                model_framework_version="1.0", description="of a test")
    assert (model.name, model.version, model.id, model.run_id, model.tags) == ("sdk-model", 1, "sdk-model:1", done.id, {"a": "1"})
    folder = done.register_model(model_name="sdk-model", model_path="outputs/deep")
    assert folder.version == 2
    folder.download(target_dir=str(tmp_path / "model"))
    assert read_tree(tmp_path / "model") == {os.path.join("deep", "model.txt"): b"the model"}
    with pytest.raises(ModelPathNotFoundException, match="outputs/deep/model.txt"):
        done.register_model("sdk-model", "outputs/none")
    with pytest.raises(UserErrorException, match="model_path"):
        done.register_model("sdk-model", "../x")


# Tags, properties, names


def test_tags_and_properties(done):
    assert done.get_tags() == {"from": "inside"}
    done.tag("number", 7)
    done.tag("bare")
    done.set_tags({"a": "1", "number": 8})
    assert done.tags == {"from": "inside", "number": "8", "bare": "", "a": "1"}
    assert done.remove_tags(["a", "bare"]) == {"from": "inside", "number": "8"}
    done.add_properties({"p": 1})
    with pytest.raises(UserErrorException, match="cannot be changed once set: 'p' is '1'"):
        done.add_properties({"p": 2})
    same = Run.get(done.experiment.workspace, done.id)
    with pytest.raises(Exception, match="cannot be changed once set"):
        same.add_properties({"q": 1, "p": 1})
    assert same.properties["p"] == "1" and "q" not in same.get_properties()
    done.display_name, done.description = "the best one", "said of it"
    assert (same.display_name, same.name, same.description) == ("the best one", "the best one", "said of it")
    for call in (lambda: done.tag(7), lambda: done.set_tags([1]), lambda: done.add_properties(7), lambda: setattr(done, "display_name", "")):
        with pytest.raises(UserErrorException):
            call()


def test_get_and_the_other_workspace(done, ws):
    assert Run.get(ws, done.id).get_status() == "Completed" and Run(done.experiment, done.id) == done
    with pytest.raises(ServiceException, match="none-such"):
        Run.get(ws, "none-such")
    assert pickle.loads(pickle.dumps(done)).get_status() == "Completed"
    html = done._repr_html_()
    assert done.id in html and "Completed" in html and "azureml.scriptrun" in html
    assert str(done) == f"Run(Experiment: sdk-runs, Id: {done.id})"


# Interactive runs


def test_an_interactive_run(experiment, tmp_path, monkeypatch):
    monkeypatch.chdir(write_tree(tmp_path / "work", {"notebook.py": "x", "outputs/old.txt": "from before"}))
    os.utime("outputs/old.txt", (1, 1))
    with experiment.start_logging(snapshot_directory=".", display_name="by hand") as run:
        assert run.get_status() == "Running" and run.get_details()["status"] == "Running"
        for i in range(3000):
            run.log_row("rows", i=i, square=i * i)
        run.log("loss", 0.25)
        write_tree(tmp_path / "work", {"outputs/new.txt": "kept"})
        run.upload_file("direct.txt", "notebook.py")
        run.tag("k", "v")
        assert run.get_metrics()["loss"] == 0.25
    assert run.get_status() == "Completed"
    assert run.get_metrics()["rows"]["square"][-1] == 2999 * 2999 and len(run.get_metrics()["rows"]["i"]) == 3000
    assert run.get_file_names() == ["direct.txt", "outputs/new.txt"]
    assert run.display_name == "by hand" and run.get_tags() == {"k": "v"} and run.get_snapshot_id()
    run.complete()
    with pytest.raises(ServiceException):
        run.fail("too late")


def test_an_interactive_run_that_fails(experiment, tmp_path):
    with pytest.raises(ZeroDivisionError):
        with experiment.start_logging(outputs=write_tree(tmp_path / "o", {"a": "1"}), snapshot_directory=None) as run:
            1 / 0
    details = run.wait_for_completion(raise_on_error=False)
    assert details["status"] == "Failed" and "ZeroDivisionError: division by zero" in details["error"]["error"]["message"]
    assert run.get_file_names() == ["outputs/a"] and run.get_snapshot_id() is None
    taken = write_tree(tmp_path / "late", {"x": "1"})
    other = Run.start_logging(experiment, snapshot_directory=None)
    assert other.take_snapshot(taken) == other.get_snapshot_id()
    other.cancel()
    assert other.wait_for_completion()["status"] == "Canceled"
    for wrong in ({"outputs": 7}, {"snapshot_directory": str(tmp_path / "none")}):
        with pytest.raises(UserErrorException):
            experiment.start_logging(**wrong)


def test_children(experiment, source):
    with experiment.start_logging(snapshot_directory=None) as run:
        with run.child_run("first") as child:
            child.log("m", 1)
        tagged = run.create_children(tag_key="fold", tag_values=[1, 2])
        counted = run.create_children(count=2)
        grand = tagged[0].child_run()
        for one in (*tagged, *counted, grand):
            one.complete()
        script = run.submit_child(ScriptRunConfig(source, "train.py", run_config=StandIn()), tags={"s": "1"})
        script.wait_for_completion()
    assert child.parent == run and run.parent is None and child.display_name == "first"
    ids = [one.id for one in run.get_children()]
    assert len(ids) == 6 and ids[0] == script.id and grand.id not in ids
    assert {one.id for one in run.get_children(recursive=True)} == {*ids, grand.id}
    assert [one.id for one in run.get_children(tags={"fold": 2})] == [tagged[1].id]
    assert [one.id for one in run.get_children(tags="s", status="Completed")] == [script.id]
    assert run.get_metrics("m", recursive=True)[child.id] == {"m": 1}
    for wrong in ({}, {"count": 1, "tag_key": "a"}, {"tag_key": "a"}, {"count": 0}, {"tag_key": "a", "tag_values": "abc"}):
        with pytest.raises(UserErrorException):
            run.create_children(**wrong)


def test_metrics_that_cannot_be_sent(own, outside, monkeypatch):
    monkeypatch.setenv("FERRY_HOME", own.home)
    ws = Workspace("s", "g", "default")
    ws._client.patience = 0.2
    run = Experiment(ws, "lost").start_logging(snapshot_directory=None)
    run.log("a", 1)
    run.flush()
    own.kill_server()
    run.log("a", 2)
    with pytest.raises(ServiceException, match="no Ferry server answered"):
        run.flush(30)
    own.start()
    ws._client.patience = 30
    run.log("a", 3)
    assert run.get_metrics() == {"a": [1, 3]}


def test_the_recorder_keeps_the_order_and_its_bounds(monkeypatch):
    monkeypatch.setattr(recorder, "_MOST_WAITING", 10)
    monkeypatch.setattr(recorder, "_MOST_SENT", 4)

    class Slow:
        def __init__(self):
            self.bodies, self.go = [], threading.Event()

        def post(self, path, body, repeat):
            self.go.wait()
            self.bodies.append(body)

    slow = Slow()
    one = recorder.Recorder(slow, "r")
    writer = threading.Thread(target=lambda: [one.put({"n": n}) for n in range(30)])
    writer.start()
    with pytest.raises(AzureMLException, match="did not reach the server within 0.05 s"):
        wait_until("it is full", lambda: len(one._waiting) == 10)
        one.flush(0.05)
    assert len(one._waiting) == 10
    slow.go.set()
    writer.join()
    one.flush(10)
    assert [point["n"] for body in slow.bodies for point in body["points"]] == list(range(30))
    assert [body["position"] for body in slow.bodies][-1] == 30 and len({body["source"] for body in slow.bodies}) == 1


# Inside a run


INSIDE = """
import json, os
from azureml.core import Run, ScriptRunConfig
from azureml.core.workspace import Workspace
run = Run.get_context(allow_offline=False)
ws = run.experiment.workspace
assert isinstance(ws, Workspace)
assert (ws._workspace_name, ws.name) == ("default", "default") and ws._subscription_id and ws._resource_group
assert ws._auth.get_authentication_header()["Authorization"] == "Bearer " + os.environ["AZUREML_RUN_TOKEN"]
assert run.get_status() == "Running", run.get_status()
run.tag("k", "v")
assert run.get_tags()["k"] == "v"
run.log("here", 1)
with run.child_run("child") as child:
    child.log("m", 2)
assert child.get_metrics() == {"m": 2}, child.get_metrics()
assert [one.id for one in run.get_children()] == [child.id]
assert run.parent is None and child.parent == run and run.get_details()["runId"] == run.id
assert run.id in [one.id for one in run.experiment.get_runs()]
assert run.get_secret("none") is None
child.upload_file("a.txt", __file__)
open("outputs.txt", "w").write("the model of the script")
model = run.register_model("sdk-inside", "outputs.txt")
assert (model.name, model.run_id) == ("sdk-inside", run.id)
config = ScriptRunConfig(os.path.dirname(os.path.abspath(__file__)), "small.py")
config.run_config.environment.python.user_managed_dependencies = True
assert run.submit_child(config).wait_for_completion()["status"] == "Completed"
print("all is well")
"""


def test_the_script_reaches_its_workspace(experiment, source):
    write_tree(source, {"inside.py": INSIDE, "small.py": "print('small')"})
    run = submit(experiment, source, "inside.py")
    details = run.wait_for_completion(raise_on_error=False)
    assert details["status"] == "Completed", run.get_details_with_logs()["logFiles"]
    assert "all is well" in run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
    script, child = run.get_children()
    assert child.get_file_names() == ["a.txt"] and script.type == "azureml.scriptrun"


def test_offline(capsys):
    run = Run.get_context()
    assert type(run) is _OfflineRun
    child = run.child_run("x")
    child.log("a", 1)
    assert type(child) is _OfflineRun and len(run.create_children(3)) == 3 and list(run.get_children()) == [] and run.parent is None
    with pytest.raises(AttributeError, match="not inside a submitted run"):
        run.get_status()
    assert "<code>" in run._repr_html_() and pickle.loads(pickle.dumps(run)).id == run.id
