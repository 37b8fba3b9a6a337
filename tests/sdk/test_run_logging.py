"""The in-script part of the SDK: what is sent, what is refused, and what survives a bad connection."""

import datetime
import decimal
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

import ferry.channel
from azureml.core import Run
from azureml.core.run import _OfflineRun
from azureml.exceptions import AzureMLException, RunEnvironmentException, ServiceException, UserErrorException
from fake_supervisor import FakeSupervisor

VARIABLES = ("FERRY_RUN_SOCKET", "FERRY_ARTIFACTS", "FERRY_RUN_NUMBER", "AZUREML_RUN_ID", "AZUREML_RUN_TOKEN",
             "AZUREML_ARM_PROJECT_NAME", "AZUREML_ARM_WORKSPACE_NAME", "AZUREML_ARM_SUBSCRIPTION", "AZUREML_ARM_RESOURCEGROUP")
SDK = os.path.dirname(os.path.dirname(ferry.__file__))


@pytest.fixture(autouse=True)
def no_run(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def supervisor():
    fake = FakeSupervisor()
    yield fake
    fake.stop()


@pytest.fixture
def run(supervisor, monkeypatch, tmp_path):
    monkeypatch.setenv("FERRY_RUN_SOCKET", supervisor.address)
    monkeypatch.setenv("FERRY_ARTIFACTS", str(tmp_path / "artifacts"))
    monkeypatch.setenv("FERRY_RUN_NUMBER", "7")
    monkeypatch.setenv("AZUREML_RUN_ID", "exp_1_abc")
    monkeypatch.setenv("AZUREML_RUN_TOKEN", "secret")
    monkeypatch.setenv("AZUREML_ARM_PROJECT_NAME", "exp")
    monkeypatch.setenv("AZUREML_ARM_WORKSPACE_NAME", "ws")
    monkeypatch.setenv("AZUREML_ARM_SUBSCRIPTION", "sub")
    monkeypatch.setenv("AZUREML_ARM_RESOURCEGROUP", "rg")
    return Run.get_context()


# Identity and context


def test_context_inside_a_run(run):
    assert type(run) is Run
    assert Run.get_context() is run
    assert Run.get_context(allow_offline=False) is run
    assert Run.get_submitted_run() is run
    assert (run.id, run._run_id, run.number) == ("exp_1_abc", "exp_1_abc", 7)
    assert run.experiment.name == "exp"
    workspace = run.experiment.workspace
    assert (workspace.name, workspace.subscription_id, workspace.resource_group) == ("ws", "sub", "rg")
    assert str(run) == "Run(Experiment: exp, Id: exp_1_abc)"


def test_a_run_survives_pickling(run):
    assert pickle.loads(pickle.dumps(run)) is run


def test_context_outside_a_run():
    run = Run.get_context()
    assert type(run) is _OfflineRun
    assert run.id.startswith("OfflineRun_")
    assert not hasattr(run, "experiment")
    for call in (lambda: Run.get_context(allow_offline=False), Run.get_submitted_run):
        with pytest.raises(RunEnvironmentException, match="not inside a submitted run"):
            call()


def test_offline_run_prints(capsys, tmp_path):
    run = Run.get_context()
    run.log("mse", 0.5)
    run.log("note", "text")
    run.log_list("xs", (i for i in range(3)))
    run.log_row("row", a=1)
    run.log_table("table", {"a": [1]})
    run.log_confusion_matrix("cm", {"data": {}})
    assert capsys.readouterr().out == (
        "Attempted to log scalar metric mse:\n0.5\nAttempted to log scalar metric note:\ntext\n"
        "Attempted to log list metric xs:\n[0, 1, 2]\nAttempted to log row metric row:\n{'a': 1}\n"
        "Attempted to log table metric table:\n{'a': [1]}\nAttempted to log confusion matrix metric cm:\n{'data': {}}\n")
    run.log_image("image", plot=FakePlot())
    run.tag("k", "v")
    run.add_properties({"a": 1})
    run.upload_file("outputs/x", "nowhere")
    run.flush()
    with run:
        pass
    run.fail("no")
    assert "image metric image" in capsys.readouterr().out
    assert os.listdir(tmp_path) == []


def test_another_run_is_written_at_the_server_alone(run, supervisor):
    other = Run(run.experiment, "other")
    with pytest.raises(RunEnvironmentException, match="FERRY_URL is not set"):
        other.log("a", 1)
    with pytest.raises(RunEnvironmentException, match="FERRY_URL is not set"):
        other.upload_file("a", io.BytesIO())
    assert supervisor.records == []


def test_names_that_come_later(run):
    with pytest.raises(AttributeError, match=r"Run\.explanation_manager is not part of this version of Ferry yet\."):
        run.explanation_manager
    assert not hasattr(run, "counterfactual_manager")
    with pytest.raises(AttributeError):
        run.no_such_thing
    assert isinstance(_catch(lambda: run.explanation_manager), AzureMLException)


# Metrics


def test_log_scalars(run, supervisor):
    before = time.time_ns() // 1000
    run.log("loss", 0.25)
    run.log("loss", 3, step=4)
    run.log(name="loss", value=1e300, description="ignored", step=5.0)
    after = time.time_ns() // 1000
    assert supervisor.of("metric") == [
        {"metric": "loss", "kind": "scalar", "value": 0.25},
        {"metric": "loss", "kind": "scalar", "value": 3, "step": 4},
        {"metric": "loss", "kind": "scalar", "value": 1e300, "step": 5}]
    assert all(before <= record["time"] <= after for record in supervisor.records)
    ids = [record["id"] for record in supervisor.records]
    assert re.fullmatch(r"[0-9a-f]{12}:1", ids[0]) or int(ids[0].split(":")[1]) > 0
    assert [int(i.split(":")[1]) for i in ids] == sorted(int(i.split(":")[1]) for i in ids)
    assert len({i.split(":")[0] for i in ids}) == 1


class FakeTensor:
    """What torch and numpy values look like to the SDK."""

    def __init__(self, value, shape=()):
        self.value, self.shape = value, shape

    def item(self):
        if isinstance(self.value, list) and len(self.value) != 1:
            raise RuntimeError("a Tensor with %d elements cannot be converted to Scalar" % len(self.value))
        return self.value[0] if isinstance(self.value, list) else self.value

    def tolist(self):
        return self.value


@pytest.mark.parametrize("value, kind, sent", [
    (float("nan"), "scalar", "NaN"), (float("inf"), "scalar", "Infinity"), (float("-inf"), "scalar", "-Infinity"),
    (True, "scalar", 1), (decimal.Decimal("1.5"), "scalar", 1.5), (2**70, "scalar", float(2**70)), (-2**63, "scalar", -2**63),
    (10**400, "scalar", "Infinity"),
    (FakeTensor(0.5), "scalar", 0.5), (FakeTensor([2.0], (1, 1)), "scalar", 2.0), (FakeTensor(float("nan")), "scalar", "NaN"),
    ("best", "text", "best"), ("NaN", "text", "NaN"), ("z\u00e9\n\"\U0001f600", "text", "z\u00e9\n\"\U0001f600"),
    (datetime.date(2020, 1, 2), "text", "2020-01-02"),
])
def test_log_values(run, supervisor, value, kind, sent):
    run.log("m", value)
    assert supervisor.of("metric") == [{"metric": "m", "kind": kind, "value": sent}]


def test_log_numpy(run, supervisor):
    import numpy

    run.log("m", numpy.float32(0.5))
    run.log("m", numpy.float64("nan"))
    run.log("m", numpy.int64(3), step=numpy.int32(9))
    run.log("m", numpy.array([[4.0]]))
    run.log_list("l", numpy.array([1.0, numpy.nan]))
    run.log_list("one", numpy.array([1]))
    run.log_row("r", a=numpy.float64(1.5), b=numpy.bool_(True))
    run.log_table("t", {"a": numpy.arange(3)})
    assert [record["value"] for record in supervisor.of("metric")] == [
        0.5, "NaN", 3, 4.0, [1.0, "NaN"], [1], {"a": 1.5, "b": True}, {"a": [0, 1, 2]}]
    with pytest.raises(UserErrorException, match="value must be one number"):
        run.log("m", numpy.zeros(2))


def test_log_list_row_table(run, supervisor):
    run.log_list("l", (i * i for i in range(3)))
    run.log_list("l", [1, float("inf"), None, "x"])
    run.log_row("r", "a description", angle=1, sine=0.5)
    run.log_table("t", {"a": (1, 2), "b": [0.5, float("nan")], "c": 3})
    assert supervisor.of("metric") == [
        {"metric": "l", "kind": "list", "value": [0, 1, 4]},
        {"metric": "l", "kind": "list", "value": [1, "Infinity", None, "x"]},
        {"metric": "r", "kind": "row", "value": {"angle": 1, "sine": 0.5}},
        {"metric": "t", "kind": "table", "value": {"a": [1, 2], "b": [0.5, "NaN"], "c": [3]}}]


@pytest.mark.parametrize("call, message", [
    (lambda run: run.log("", 1), "name must not be empty"),
    (lambda run: run.log("x" * 256, 1), "name must have at most 255 characters; it has 256"),
    (lambda run: run.log(3, 1), "name must be a string, not a value of type int"),
    (lambda run: run.log("m", None), "value must be one number or string, not None"),
    (lambda run: run.log("m", [1]), "value must be one number or string.*log_list"),
    (lambda run: run.log("m", 1j), "value must be one number"),
    (lambda run: run.log("m", FakeTensor([1, 2], (2,))), "value must be one number"),
    (lambda run: run.log("m", 1, step="x"), "step must be a whole number, not 'x'"),
    (lambda run: run.log("m", 1, step=1.5), "step must be a whole number"),
    (lambda run: run.log("m", 1, step=2**64), "step must fit"),
    (lambda run: run.log_list("m", 3), "value must be a list"),
    (lambda run: run.log_list("m", [object()]), "value cannot be logged"),
    (lambda run: run.log_row("m"), "at least one column"),
    (lambda run: run.log_table("m", [1]), "value must be a dict"),
    (lambda run: run.log_image("m"), "either path or plot"),
    (lambda run: run.log_image("m", plot=3), "plot must be matplotlib"),
    (lambda run: run.log_image("m", path="no/such.png"), "names no file"),
    (lambda run: run.log_residuals("m", {}), "'data' is missing"),
    (lambda run: run.log_residuals("m", {"schema_type": "predictions", "data": {}}), "not 'residuals'"),
    (lambda run: run.log_residuals("m", "no/such.json"), "value must be a dict"),
    (lambda run: run.tag("", 1), "key must not be empty"),
    (lambda run: run.set_tags([1]), "tags must be a dict"),
    (lambda run: run.add_properties({"": 1}), "key must not be empty"),
    (lambda run: run.upload_file("a/../../b", io.BytesIO()), r"name must not contain '\.\.'"),
    (lambda run: run.upload_file("/etc/x", io.BytesIO()), "name must be a relative path"),
    (lambda run: run.upload_file("./", io.BytesIO()), "name must not be empty"),
    (lambda run: run.upload_file("a\nb", io.BytesIO()), "control characters"),
    (lambda run: run.upload_file("a", os.getcwd()), "upload_folder"),
    (lambda run: run.upload_file("a", 3), "path_or_stream must be a path"),
    (lambda run: run.upload_file("a", io.BytesIO(), datastore_name="d"), "datastore_name"),
    (lambda run: run.upload_files(["a"], []), "same length"),
    (lambda run: run.upload_folder("a", "no/such/folder"), "path names no folder"),
])
def test_wrong_arguments(run, supervisor, call, message):
    with pytest.raises(UserErrorException, match=message) as caught:
        call(run)
    assert caught.value.message == str(caught.value)
    assert supervisor.records == []


class FakePlot:
    def savefig(self, path, format):
        with open(path, "wb") as file:
            file.write(b"png:" + format.encode())


def test_log_image(run, supervisor, tmp_path):
    picture = tmp_path / "in.jpg"
    picture.write_bytes(b"jpg")
    run.log_image("ro/c", plot=FakePlot())
    run.log_image("photo", path=str(picture))
    artifacts = [record["artifact"] for record in supervisor.of("artifact")]
    assert re.fullmatch(r"ro_c_\d+\.png", artifacts[0]) and re.fullmatch(r"photo_\d+\.jpg", artifacts[1])
    assert [(tmp_path / "artifacts" / name).read_bytes() for name in artifacts] == [b"png:png", b"jpg"]
    assert supervisor.of("metric") == [
        {"metric": "ro/c", "kind": "image", "value": {"artifact": artifacts[0]}},
        {"metric": "photo", "kind": "image", "value": {"artifact": artifacts[1]}}]


def test_log_documents(run, supervisor, tmp_path):
    matrix = {"schema_type": "confusion_matrix", "schema_version": "v1", "data": {"class_labels": ["0", "1"], "matrix": [[3, 1], [0, 2]]}}
    file = tmp_path / "table.json"
    file.write_text(json.dumps({"schema_version": "1.0.0", "data": {"probability_tables": [[[1, 2, 3, 4]]]}}))
    run.log_confusion_matrix("cm", matrix)
    run.log_accuracy_table("at", str(file))
    run.log_predictions("p", json.dumps({"data": {"bin_averages": [0.25, 0.75]}}))
    run.log_residuals("r", {"data": {"bin_edges": [float("nan")]}})
    rows = supervisor.of("metric")
    assert [(row["metric"], row["kind"], row["value"]["schema_type"], row["value"]["schema_version"]) for row in rows] == [
        ("cm", "row", "confusion_matrix", "v1"), ("at", "row", "accuracy_table", "1.0.0"), ("p", "row", "predictions", "v1"),
        ("r", "row", "residuals", "v1")]
    documents = [json.loads((tmp_path / "artifacts" / row["value"]["artifact"]).read_text()) for row in rows]
    assert documents[0] == matrix
    assert documents[3]["data"] == {"bin_edges": ["NaN"]}


# Tags, properties, the end


def test_tags_and_properties(run, supervisor):
    run.tag("bare")
    run.tag("quality", 3)
    run.set_tags({"a": "x", "b": None})
    run.add_properties({"author": "me", "n": 1})
    assert supervisor.of("tag") == [{"tag": "bare", "value": None}, {"tag": "quality", "value": "3"},
                                    {"tag": "a", "value": "x"}, {"tag": "b", "value": None}]
    with pytest.raises(UserErrorException, match="'author' is 'me'"):
        run.add_properties({"new": "x", "author": "you"})
    run.add_properties({"new": "x"})
    assert supervisor.of("properties") == [{"properties": {"author": "me", "n": "1"}}, {"properties": {"new": "x"}}]


def test_a_refused_property_can_be_set_again(run, supervisor):
    supervisor.faults = [("error", "the disk is full")]
    with pytest.raises(ServiceException, match="^the disk is full$"):
        run.add_properties({"a": 1})
    run.add_properties({"a": 2})
    assert supervisor.of("properties") == [{"properties": {"a": "2"}}]


def test_complete_and_fail(run, supervisor):
    run.complete()
    run.fail("it broke", error_code="E1")
    run.fail()
    run.complete(_set_status=False)
    with run as inner:
        assert inner is run
    with pytest.raises(ZeroDivisionError):
        with run:
            1 / 0
    assert [{k: v for k, v in record.items() if k != "id"} for record in supervisor.records] == [
        {"complete": True}, {"fail": {"message": "it broke", "code": "E1"}}, {"fail": {"message": "", "code": None}},
        {"complete": True}, {"fail": {"message": "ZeroDivisionError: division by zero", "code": "ZeroDivisionError"}}]


# Files


def test_uploads(run, supervisor, tmp_path):
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "a.txt").write_bytes(b"a")
    (source / "deep" / "b.txt").write_bytes(b"b")
    run.upload_file("./outputs//model.pkl", str(source / "a.txt"))
    run.upload_file("stream", io.BytesIO(b"x" * 3_000_000))
    run.upload_file("text", io.StringIO("\u00e9"))
    run.upload_files(["f1", "d\\f2"], [source / "a.txt", source / "deep" / "b.txt"])
    run.upload_folder("folder", str(source))
    names = [record["artifact"] for record in supervisor.of("artifact")]
    assert names == ["outputs/model.pkl", "stream", "text", "f1", "d/f2", "folder/a.txt", "folder/deep/b.txt"]
    stored = {name: (tmp_path / "artifacts" / name).read_bytes() for name in names}
    assert stored["outputs/model.pkl"] == b"a" and stored["stream"] == b"x" * 3_000_000
    assert stored["text"] == "\u00e9".encode() and stored["d/f2"] == b"b" and stored["folder/deep/b.txt"] == b"b"
    left = [file for _, _, files in os.walk(str(tmp_path / "artifacts")) for file in files if file.endswith(".part")]
    assert left == []


def test_a_broken_stream_leaves_nothing(run, supervisor, tmp_path):
    class Broken:
        def read(self, size):
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        run.upload_file("x", Broken())
    assert os.listdir(str(tmp_path / "artifacts")) == [] and supervisor.records == []


# The connection


def test_refusals_leave_the_connection_usable(run, supervisor):
    supervisor.faults = [("error", "no more metrics")]
    with pytest.raises(ServiceException, match="no more metrics"):
        run.log("a", 1)
    run.log("a", 2)
    assert [record["value"] for record in supervisor.records] == [2] and supervisor.connections == 1


@pytest.mark.parametrize("fault, repeats", [("drop", 0), ("forget", 1), ("half", 1)])
def test_broken_connections_lose_and_double_nothing(run, supervisor, fault, repeats):
    run.log("a", 0)
    supervisor.faults = [fault, fault, None, None, fault]
    for value in range(1, 6):
        run.log("a", value)
    assert [record["value"] for record in supervisor.records] == list(range(6))
    assert supervisor.repeats == 3 * repeats and supervisor.connections == 4


def test_slow_answers_are_waited_for(run, supervisor):
    supervisor.faults = [("slow", 0.3), None, ("slow", 0.3)]
    start = time.monotonic()
    for value in range(3):
        run.log("a", value)
    assert time.monotonic() - start >= 0.6
    assert len(supervisor.records) == 3 and supervisor.connections == 1


def test_a_restarted_supervisor_is_found_again(run, supervisor):
    run.log("a", 1)
    supervisor.stop()
    threading.Timer(0.4, supervisor.start).start()
    run.log("a", 2)
    assert [record["value"] for record in supervisor.records] == [1, 2]


def test_patience_ends(supervisor, monkeypatch):
    monkeypatch.setattr(ferry.channel, "PATIENCE", 0.3)
    channel = ferry.channel.Channel(supervisor.address, "secret")
    channel.request('"complete":true')
    supervisor.stop()
    start = time.monotonic()
    with pytest.raises(RunEnvironmentException, match="could not be reached"):
        channel.request('"complete":true')
    assert time.monotonic() - start < 2
    supervisor.start()
    channel.request('"complete":true')
    assert len(supervisor.records) == 2


def test_an_answer_that_never_comes_is_a_broken_connection(supervisor, monkeypatch):
    monkeypatch.setattr(ferry.channel, "PATIENCE", 0.5)
    channel = ferry.channel.Channel(supervisor.address, "secret")
    channel.request('"complete":true')
    supervisor.faults = [("slow", 5)]
    channel.request('"complete":false')
    assert supervisor.connections == 2 and len(supervisor.records) == 2


def test_a_wrong_token_is_an_error_at_once(supervisor):
    channel = ferry.channel.Channel(supervisor.address, "wrong")
    with pytest.raises(RunEnvironmentException, match="does not accept this process: the token is not known"):
        channel.request('"complete":true')


def test_a_wrong_address_is_named():
    with pytest.raises(RunEnvironmentException, match="FERRY_RUN_SOCKET must be host:port, not 'here'"):
        ferry.channel.Channel("here", "t")


def test_threads(run, supervisor):
    def work(name):
        for i in range(200):
            run.log(name, i)

    threads = [threading.Thread(target=work, args=("t%d" % n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    by_name = {}
    for record in supervisor.records:
        by_name.setdefault(record["metric"], []).append(record["value"])
    assert by_name == {"t%d" % n: list(range(200)) for n in range(8)}


def test_fork(run, supervisor):
    run.log("parent", 1)
    held = run._channel._lock
    ready, done = threading.Event(), threading.Event()

    def hold():
        with held:
            ready.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    ready.wait()
    pid = os.fork()
    if pid == 0:
        run.log("child", 2)
        os._exit(0)
    done.set()
    assert os.waitpid(pid, 0)[1] == 0
    holder.join()
    run.log("parent", 3)
    assert [(r["metric"], r["value"]) for r in supervisor.records] == [("parent", 1), ("child", 2), ("parent", 3)]
    assert len({r["id"].split(":")[0] for r in supervisor.records}) == 2 and supervisor.connections == 2


def test_logging_in_a_signal_handler_that_interrupts_logging(run, supervisor):
    run.log("a", 0)
    supervisor.faults = [("slow", 0.5)]
    old = signal.signal(signal.SIGALRM, lambda *_: run.log("handler", 1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        run.log("a", 2)
    finally:
        signal.signal(signal.SIGALRM, old)
    assert sorted((r["metric"], r["value"]) for r in supervisor.records) == [("a", 0), ("a", 2), ("handler", 1)]


def test_an_interrupted_call_does_not_confuse_the_next(run, supervisor):
    class Interrupt(BaseException):
        pass

    def interrupt(*_):
        raise Interrupt()

    run.log("a", 0)
    supervisor.faults = [("slow", 0.3), ("error", "refused")]
    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Interrupt):
            run.log("a", 1)
    finally:
        signal.signal(signal.SIGALRM, old)
    with pytest.raises(ServiceException):
        run.log("a", 2)
    run.log("a", 3)
    assert supervisor.records[-1]["value"] == 3


# The package


def test_import_is_light():
    code = ("import sys, time; t = time.perf_counter(); import azureml.core; print(time.perf_counter() - t); print(azureml.core.VERSION);"
            "print(sorted({'json', 'socket', 'shutil', 'numpy', 'yaml', 'azureml.core.run'} & set(sys.modules)))")
    out = subprocess.run([sys.executable, "-S", "-c", code], env={**os.environ, "PYTHONPATH": SDK}, check=True, stdout=subprocess.PIPE,
                         universal_newlines=True).stdout.split("\n")
    assert float(out[0]) < 0.2 and re.fullmatch(r"1\.\d+\.\d+", out[1]) and out[2] == "[]"


def test_unknown_names_of_the_package():
    import azureml.core

    assert "Run" in dir(azureml.core) and azureml.core.Run is Run
    with pytest.raises(AttributeError, match="azureml.core.*'Nothing'"):
        azureml.core.Nothing


# The examples


def run_example(name, supervisor, folder):
    environment = {**os.environ, "PYTHONPATH": SDK, "FERRY_RUN_SOCKET": supervisor.address, "AZUREML_RUN_ID": "r",
                   "AZUREML_RUN_TOKEN": "secret", "FERRY_ARTIFACTS": str(folder / "artifacts")}
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.dirname(SDK)), "examples", *name.split("/"))],
                   cwd=str(folder), env=environment, check=True)


def test_hello_example(supervisor, tmp_path):
    run_example("hello/hello.py", supervisor, tmp_path)
    assert [r["value"] for r in supervisor.of("metric") if r["metric"] == "square"] == [i * i for i in range(10)]
    assert (tmp_path / "artifacts" / "outputs" / "hello.txt").read_text() == "hello\n"


def test_sklearn_example(supervisor, tmp_path):
    run_example("sklearn/train.py", supervisor, tmp_path)
    logged = [r["metric"] for r in supervisor.of("metric")]
    assert logged.count("alpha") == logged.count("mse") == 20
    assert (tmp_path / "outputs" / "ridge_best.pkl").stat().st_size > 100


def _catch(call):
    try:
        call()
    except Exception as error:
        return error
    return None
