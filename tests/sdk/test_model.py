"""Models: registered, found, changed, downloaded."""

import os

import pytest
from azureml.core import Dataset, Datastore, Model
from azureml.core.model import InferenceConfig
from azureml.exceptions import (ModelNotFoundException, ModelPathNotFoundException, ScenarioNotSupportedException, UserErrorException,
                                WebserviceException)
from data_fixture import workspace  # noqa: F401
from ferry_fixture import read_tree, write_tree


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test in a folder of its own, with a model file and a model folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AZUREML_MODEL_DIR", raising=False)
    write_tree(tmp_path, {"outputs/model.pkl": b"\x80pickle", "saved/m/graph.pb": "g", "saved/m/vars/1": "v", "saved/m/notes.txt": "n"})


def test_a_file_is_registered_and_comes_back(workspace, tmp_path):
    model = Model.register(workspace=workspace, model_path="outputs/model.pkl", model_name="m", tags={"area": "x", "n": 1}, properties={"p": "q"},
                           description="first", model_framework=Model.Framework.SCIKITLEARN, model_framework_version="1.2")
    assert (model.name, model.version, model.id, model.description) == ("m", 1, "m:1", "first")
    assert (model.tags, model.properties, model.model_framework, model.model_framework_version) == ({"area": "x", "n": "1"}, {"p": "q"}, "ScikitLearn", "1.2")
    assert model.created_time.year >= 2020 and model.run_id is None and model.run is None and model.created_by["userName"]
    assert Model.register(workspace, "./outputs/model.pkl", "m").version == 2
    got = model.download(target_dir="down")
    assert got == os.path.join("down", "model.pkl") and read_tree("down") == {"model.pkl": b"\x80pickle"}
    with pytest.raises(WebserviceException, match="exists; pass exist_ok=True"):
        model.download("down")
    assert model.download("down", exist_ok=True) == model.download("down", exists_ok=True) == got
    assert "id=m:1" in repr(model) and model.serialize()["id"] == "m:1" and Model.deserialize(workspace, model.serialize()).id == "m:1"


def test_a_folder_is_registered(workspace):
    model = Model.register(workspace, "saved/m", "folder")
    assert model.download("down") == os.path.join("down", "m")
    assert read_tree("down/m") == {"graph.pb": b"g", "vars/1": b"v", "notes.txt": b"n"}
    some = Model.register(workspace, "saved/m", "folder", child_paths=["graph.pb", "vars"])
    some.download("some")
    assert read_tree("some/m") == {"graph.pb": b"g", "vars/1": b"v"}


def test_models_are_found(workspace):
    for name, tags in (("a", {"t": "1"}), ("b", {}), ("a", {"t": "2"})):
        Model.register(workspace, "outputs/model.pkl", name, tags=tags, properties={"p": name})
    assert Model(workspace, "a").id == Model(workspace, name="a").id == "a:2" and Model(workspace, id="a:1").version == 1
    assert Model(workspace, "a", version=1).id == "a:1" and Model(workspace, "a", version="2").id == "a:2"
    assert Model(workspace, "a", tags=[["t", "1"]]).version == 1 and Model(workspace, "a", tags=["t"]).version == 2
    assert [model.id for model in Model.list(workspace)] == ["a:2", "b:1", "a:1"]
    assert sorted(model.id for model in Model.list(workspace, latest=True)) == ["a:2", "b:1"]
    assert [model.id for model in Model.list(workspace, name="a")] == ["a:2", "a:1"]
    assert [model.id for model in Model.list(workspace, tags=["t", ["t", "1"]])] == ["a:1"]
    assert [model.id for model in Model.list(workspace, properties=[["p", "b"]])] == ["b:1"]
    for call in (lambda: Model(workspace, "c"), lambda: Model(workspace, "a", version=9), lambda: Model(workspace, "a", tags=[["t", "9"]]),
                 lambda: Model(workspace, id="a:9")):
        with pytest.raises(ModelNotFoundException, match="ModelNotFound: Model with name") as caught:
            call()
        assert isinstance(caught.value, WebserviceException)
    for call in (lambda: Model(workspace), lambda: Model(workspace, id="a"), lambda: Model(workspace, "b", id="a:1"), lambda: Model(workspace, "a", version="x")):
        with pytest.raises(UserErrorException):
            call()


def test_models_are_changed(workspace):
    model = Model.register(workspace, "outputs/model.pkl", "m", tags={"a": "1"})
    model.add_tags({"b": 2})
    model.add_properties({"p": "q"})
    assert Model(workspace, "m").tags == {"a": "1", "b": "2"} and model.properties == {"p": "q"}
    model.remove_tags(["a"])
    model.update(description="new")
    assert Model(workspace, "m").tags == {"b": "2"} and Model(workspace, "m").description == "new"
    model.update(tags={"c": "3"})
    assert Model(workspace, "m").tags == {"c": "3"}
    model.update_tags_properties(add_tags={"d": "4"}, remove_tags=["c"], add_properties={"r": "s"})
    assert Model(workspace, "m").tags == {"d": "4"} and model.properties == {"p": "q", "r": "s"}
    model.delete()
    with pytest.raises(ModelNotFoundException):
        Model(workspace, "m")


def test_models_know_their_data(workspace, tmp_path):
    store = Datastore.get_default(workspace)
    store.upload_files(["outputs/model.pkl"], target_path="d", show_progress=False)
    dataset = Dataset.File.from_files((store, "d"))
    model = Model.register(workspace, "outputs/model.pkl", "m", datasets=[(Dataset.Scenario.TRAINING, dataset)], sample_input_dataset=dataset)
    assert model.datasets["training"][0].to_path() == ["/model.pkl"] and model.sample_input_dataset.id == dataset.id
    assert model.sample_output_dataset is None
    for datasets in ([dataset], [("training", 5)]):
        with pytest.raises(UserErrorException, match="datasets must be"):
            Model.register(workspace, "outputs/model.pkl", "m", datasets=datasets)


@pytest.mark.parametrize("call, error, message", [
    (lambda ws: Model.register(ws, "none.pkl", "m"), WebserviceException, 'provided model path "none.pkl" cannot be found'),
    (lambda ws: Model.register(ws, "outputs/model.pkl", ""), UserErrorException, "model_name must not be empty"),
    (lambda ws: Model.register(ws, 5, "m"), UserErrorException, "model_path must be a path"),
    (lambda ws: Model.register(ws, "outputs/model.pkl", "m", tags=["a"]), UserErrorException, "tags must be a dict"),
    (lambda ws: Model.register(ws, "outputs/model.pkl", "m", child_paths=["x"]), UserErrorException, "child_paths needs a folder"),
    (lambda ws: Model.register(ws, "saved/m", "m", child_paths=["x"]), UserErrorException, "'x' names nothing below"),
    (lambda ws: (os.mkdir("empty"), Model.register(ws, "empty", "m")), ModelPathNotFoundException, "has no files"),
    (lambda ws: Model.list(ws, tags=[5]), UserErrorException, "tags must be a list of keys"),
])
def test_wrong_arguments_are_named(workspace, call, error, message):
    with pytest.raises(error, match=message):
        call(workspace)
    assert Model.list(workspace) == []


def test_paths_of_models(workspace, monkeypatch):
    Model.register(workspace, "outputs/model.pkl", "m")
    Model.register(workspace, "saved/m", "m")
    assert Model.get_model_path("m", _workspace=workspace) == os.path.join("azureml-models", "m", "2", "m")
    assert Model.get_model_path("m", version=1, _workspace=workspace) == os.path.join("azureml-models", "m", "1", "model.pkl")
    assert Model.get_model_path("m") == os.path.join("azureml-models", "m", "2", "m")
    assert Model.get_model_path("m", 1) == os.path.join("azureml-models", "m", "1", "model.pkl")
    assert Model.get_model_path("saved") == "saved"
    with pytest.raises(ModelNotFoundException, match="Model other not found in cache at azureml-models"):
        Model.get_model_path("other")
    write_tree("served", {"s/3/model.onnx": "o"})
    monkeypatch.setenv("AZUREML_MODEL_DIR", "served")
    assert Model.get_model_path("s") == os.path.join("served", "s", "3", "model.onnx")


def test_serving_comes_later(workspace):
    config = InferenceConfig(entry_script="score.py", environment=None)
    assert config.entry_script == "score.py"
    for call, what in ((lambda: Model.deploy(workspace, "s", [], config), "Model.deploy"), (lambda: Model.package(workspace, []), "Model.package"),
                       (lambda: Model.profile(workspace, "p", [], config, None), "Model.profile")):
        with pytest.raises(ScenarioNotSupportedException, match="^%s is not part of this version of Ferry yet." % what):
            call()
