"""Data in runs: staged before the script, kept behind it, found by it in every way that it may look."""

import re
from pathlib import Path

import pytest
from azureml.core import Dataset, Datastore, Experiment, Model, Run, ScriptRunConfig
from azureml.data import OutputFileDatasetConfig
from data_fixture import workspace  # noqa: F401
from ferry.client import NotFound
from ferry_fixture import PYTHON, read_tree, write_tree

ROOT = Path(__file__).resolve().parents[2]

SHOW = """
import json, os, sys
def tree(path):
    if os.path.isfile(path):
        return open(path).read()
    return {os.path.relpath(os.path.join(b, f), path): open(os.path.join(b, f)).read() for b, _, fs in os.walk(path, followlinks=True) for f in fs}
os.makedirs("outputs", exist_ok=True)
"""


def run_of(workspace, folder, script, arguments, **files):
    """The completed run of a script."""
    write_tree(folder, dict(files, **{"train.py": script}))
    config = ScriptRunConfig(source_directory=str(folder), script="train.py", arguments=arguments)
    config.run_config.environment.python.user_managed_dependencies = True
    config.run_config.environment.python.interpreter_path = PYTHON
    run = Experiment(workspace, "data").submit(config)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Completed", run.get_details_with_logs()
    return run


def answer(run, tmp_path):
    """What the script wrote to outputs/answer.json."""
    import json

    path = tmp_path / "answer.json"
    run.download_file("outputs/answer.json", str(path))
    return json.loads(path.read_text())


@pytest.fixture
def store(workspace, tmp_path):
    store = Datastore.get_default(workspace)
    store.upload(write_tree(tmp_path / "in", {"a.csv": "x\n1\n", "sub/b.csv": "x\n2\n"}), "set", show_progress=False)
    return store


def test_inputs_are_paths_and_datasets(workspace, store, tmp_path):
    files = Dataset.File.from_files((store, "set"))
    table = Dataset.Tabular.from_delimited_files((store, "set/a.csv"))
    script = SHOW + """
from azureml.core import Run
run = Run.get_context()
inputs = run.input_datasets
table = inputs["table"]
answer = {"files": tree(sys.argv[1]), "one": tree(sys.argv[2]), "reference": tree(sys.argv[3]), "variable": os.environ["files"] == sys.argv[1] == inputs["files"],
          "reference variable": os.environ["AZUREML_DATAREFERENCE_ref"] == sys.argv[3], "names": sorted(inputs), "table": [sys.argv[4], table.id, table.to_path() if hasattr(table, "to_path") else type(table).__name__]}
json.dump(answer, open("outputs/answer.json", "w"))
"""
    arguments = [files.as_named_input("files").as_mount(), Dataset.File.from_files((store, "set/a.csv")).as_named_input("one").as_download(),
                 store.path("set/sub", "ref").as_download(), table.as_named_input("table")]
    run = run_of(workspace, tmp_path / "source", script, arguments)
    found = answer(run, tmp_path)
    assert found["files"] == {"a.csv": "x\n1\n", "sub/b.csv": "x\n2\n"} and found["one"] == "x\n1\n" and found["reference"] == {"b.csv": "x\n2\n"}
    assert found["variable"] and found["reference variable"] and found["names"] == ["files", "one", "table"]
    assert found["table"] == [table.id, table.id, "TabularDataset"]
    datasets = {item["consumptionDetails"]["inputName"]: item["dataset"] for item in run.get_details()["inputDatasets"]}
    assert datasets["files"].to_path() == ["/a.csv", "/sub/b.csv"]


def test_outputs_are_kept_and_registered(workspace, store, tmp_path):
    script = SHOW + """
open(os.path.join(sys.argv[1], "r.csv"), "w").write("x\\n3\\n")
open(os.path.join(sys.argv[1], "r.tmp"), "w").write("no")
open(os.path.join(sys.argv[2], "s.txt"), "w").write("s")
"""
    output = OutputFileDatasetConfig("result", (store, "results/{run-id}")).as_upload(source_globs="*.csv").register_on_complete("results", tags={"k": "v"})
    run = run_of(workspace, tmp_path / "source", script, [output, store.path("plain", "plain").as_upload()])
    kept = Dataset.get_by_name(workspace, "results")
    assert kept.to_path() == ["/r.csv"] and kept.tags == {"k": "v"}
    assert Dataset.Tabular.from_delimited_files((store, f"results/{run.id}/*.csv")).to_pandas_dataframe()["x"].tolist() == [3]
    assert store.download(tmp_path / "out", prefix="plain/", show_progress=False) == 1
    assert run.get_details()["outputDatasets"][0]["dataset"].download(str(tmp_path / "got")) == [str(tmp_path / "got" / "r.csv")]


def test_scripts_use_data_and_models_themselves(workspace, store, tmp_path):
    (tmp_path / "m.txt").write_text("weights")
    Model.register(workspace, str(tmp_path / "m.txt"), "weights")
    script = SHOW + """
from azureml.core import Dataset, Datastore, Model, Run
run = Run.get_context()
ws = run.experiment.workspace
store = Datastore.get(ws, "workspaceblobstore")
store.upload_files(["train.py"], target_path="from_run", show_progress=False)
files = Dataset.File.from_files((store, "set"))
files.register(ws, "from_run")
os.makedirs("outputs/model")
open("outputs/model/w", "w").write("w")
model = run.register_model("made", "outputs/model", datasets=[(Dataset.Scenario.TRAINING, files)])
json.dump([tree(Model.get_model_path("weights")), files.to_path(), model.id, model.run_id], open("outputs/answer.json", "w"))
"""
    run = run_of(workspace, tmp_path / "source", script, [])
    assert answer(run, tmp_path) == ["weights", ["/a.csv", "/sub/b.csv"], "made:1", run.id]
    assert Dataset.get_by_name(workspace, "from_run").version == 1
    assert Model(workspace, "made").datasets["training"][0].to_path() == ["/a.csv", "/sub/b.csv"]
    assert read_tree(Model(workspace, "made").download(str(tmp_path / "down"))) == {"w": b"w"}


def test_subsets_are_what_the_script_gets(workspace, store, tmp_path):
    part = Dataset.File.from_files((store, "set")).skip(1)
    run = run_of(workspace, tmp_path / "source", SHOW + 'json.dump(tree(sys.argv[1]), open("outputs/answer.json", "w"))', [part.as_download()])
    assert answer(run, tmp_path) == "x\n2\n"


def test_data_that_is_not_there_is_said_before_anything_is_submitted(workspace, store, tmp_path):
    write_tree(tmp_path / "source", {"train.py": ""})
    gone = Datastore.register_folder(workspace, "gone", write_tree(tmp_path / "gone", {"x": ""}))
    reference = gone.path("x", "x").as_mount()
    gone.unregister()
    with pytest.raises(NotFound, match="'gone'"):
        Experiment(workspace, "none").submit(ScriptRunConfig(str(tmp_path / "source"), script="train.py", arguments=[reference]))
    assert [run for experiment in Experiment.list(workspace) if experiment.name == "none" for run in experiment.get_runs()] == []


def test_the_page_is_true(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path, {"data/train.csv": "name,age,survived\n" + "".join("p%d,%d,%d\n" % (n, n, n % 2) for n in range(20)), "archive/old.csv": "",
                          "source/train.py": "import os, sys\nos.makedirs('outputs')\nopen('outputs/model.txt', 'w').write(str(os.listdir(sys.argv[2])))\n"
                                             "open(os.path.join(sys.argv[4], 'result.txt'), 'w').write('fine')\n"})
    scope = {"ws": workspace, "archive_folder": str(tmp_path / "archive")}
    page = (ROOT / "docs" / "how-to" / "data-python.md").read_text()
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M):
        exec(compile(block, "data-python.md", "exec"), scope)
    assert (tmp_path / "copy/titanic/train.csv").exists() and len(scope["frame"]) > 5 and scope["raw"].name == "archive"
    assert (tmp_path / "models/model.txt").read_text() == "['train.csv']"
    assert Dataset.get_by_name(workspace, "results").to_path() == ["/result.txt"]
    assert isinstance(scope["run"], Run)
