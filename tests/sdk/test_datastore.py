"""Datastores: found, attached, filled and emptied."""

import os

import pytest
from azureml.core import Datastore
from azureml.data.azure_storage_datastore import AzureBlobDatastore, AzureFileDatastore
from azureml.data.data_reference import DataReference
from azureml.data.datapath import DataPath, DataPathComputeBinding
from azureml.exceptions import ScenarioNotSupportedException, UserErrorException
from data_fixture import workspace  # noqa: F401
from ferry_fixture import read_tree, write_tree


def paths(store, prefix=""):
    from azureml.data import _files

    return [entry.path for entry in _files.listed(store.workspace, store.name, prefix)]


def test_the_four_that_every_workspace_has(workspace):
    default = Datastore.get_default(workspace)
    assert (default.name, default.datastore_type, type(default), default.is_default) == ("workspaceblobstore", "AzureBlob", AzureBlobDatastore, True)
    assert Datastore(workspace) == default == Datastore(workspace, "workspaceblobstore") == Datastore.get(workspace, "workspaceblobstore")
    assert default.workspace is workspace and default.account_key is None and default.container_name == "workspaceblobstore"
    for name in ("workspacefilestore", "workspaceartifactstore", "workspaceworkingdirectory"):
        assert Datastore.get(workspace, name).name == name
    assert "name='workspaceblobstore'" in repr(default)


def test_an_unknown_name_names_those_that_there_are(workspace):
    with pytest.raises(UserErrorException, match="has no datastore 'other'; it has 'workspaceartifactstore', 'workspaceblobstore'"):
        Datastore.get(workspace, "other")
    with pytest.raises(UserErrorException, match="datastore_name must not be empty"):
        Datastore.get(workspace, "")


def test_files_go_up_and_come_down(workspace, tmp_path, capsys):
    store = Datastore.get_default(workspace)
    files = {"a.csv": "a", "sub/b ü.csv": "bb", "sub/deep/c.bin": b"\0\1", "empty": ""}
    source = write_tree(tmp_path / "in", files)
    reference = store.upload(source, "up/data")
    assert isinstance(reference, DataReference) and reference.path_on_datastore == "up/data"
    said = capsys.readouterr().out
    assert "Uploading an estimated of 4 files" in said and "4 files out of an estimated total of 4" in said and said.endswith("Uploaded 4 files\n")
    assert paths(store, "up/") == sorted("up/data/" + name for name in files)
    assert store.download(tmp_path / "out", prefix="up/data", show_progress=False) == 4
    assert capsys.readouterr().out == ""
    assert read_tree(tmp_path / "out" / "up" / "data") == {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}


def test_what_is_there_stays_unless_overwrite(workspace, tmp_path, capsys):
    store = Datastore.get_default(workspace)
    path = tmp_path / "a.txt"
    path.write_text("one")
    store.upload_files([str(path)], target_path="stays")
    path.write_text("two")
    store.upload_files([str(path)], target_path="stays")
    assert "Target already exists. Skipping upload for stays/a.txt" in capsys.readouterr().out
    assert store.download(tmp_path / "out", prefix="stays/") == 1
    assert (tmp_path / "out/stays/a.txt").read_text() == "one"
    store.upload_files([str(path)], target_path="stays", overwrite=True)
    assert store.download(tmp_path / "out", prefix="stays/") == 0
    assert (tmp_path / "out/stays/a.txt").read_text() == "one"
    assert store.download(tmp_path / "out", prefix="stays/", overwrite=True) == 1
    assert (tmp_path / "out/stays/a.txt").read_text() == "two"


def test_upload_files_keeps_paths_below_the_root(workspace, tmp_path):
    store = Datastore.get_default(workspace)
    write_tree(tmp_path, {"x/1.txt": "1", "x/y/2.txt": "2"})
    files = [str(tmp_path / "x/1.txt"), str(tmp_path / "x/y/2.txt")]
    store.upload_files(files, relative_root=str(tmp_path), target_path="rooted", show_progress=False)
    assert paths(store, "rooted/") == ["rooted/x/1.txt", "rooted/x/y/2.txt"]
    store.upload_files(files, target_path="flat", show_progress=False)
    assert paths(store, "flat/") == ["flat/1.txt", "flat/2.txt"]


@pytest.mark.parametrize("call, message", [
    (lambda store, tmp: store.upload(tmp / "none"), "path names no folder"),
    (lambda store, tmp: store.upload_files([tmp / "none"]), "names no file"),
    (lambda store, tmp: store.upload_files([tmp]), "is a folder, upload takes it"),
    (lambda store, tmp: store.upload_files("text"), "files must be a list of paths"),
    (lambda store, tmp: store.upload_files([tmp / "d/a"], relative_root=tmp / "e"), "is not below relative_root"),
    (lambda store, tmp: store.upload_files([tmp / "d/a", tmp / "e/a"]), "would both become 'a'; pass relative_root"),
    (lambda store, tmp: store.upload(tmp / "d", "../out"), "must not contain '..'"),
    (lambda store, tmp: store.path("a/../b"), "must not contain '..'"),
])
def test_wrong_arguments_are_named(workspace, tmp_path, call, message):
    write_tree(tmp_path, {"d/a": "", "e/a": ""})
    with pytest.raises(UserErrorException, match=message):
        call(Datastore.get_default(workspace), tmp_path)


def test_a_folder_is_attached_and_found_by_azure_names(workspace, tmp_path, capsys):
    folder = write_tree(tmp_path / "share", {"x.txt": "x"})
    store = Datastore.register_folder(workspace, "lab_share", folder, account_name="lab", container_name="data", description="the share", tags={"k": "v"})
    assert (store.name, store.account_name, store.container_name, store.description, store.tags) == ("lab_share", "lab", "data", "the share", {"k": "v"})
    again = Datastore.register_azure_blob_container(workspace, datastore_name="lab_share", container_name="data", account_name="lab", account_key="secret")
    assert again == store and capsys.readouterr().out == ""
    other = Datastore.register_azure_blob_container(workspace, "elsewhere", "data", "lab")
    assert other.name == "lab_share" and "is attached as datastore 'lab_share', not as 'elsewhere'" in capsys.readouterr().out
    with pytest.raises(UserErrorException, match="overwrite=True|overwrite"):
        Datastore.register_folder(workspace, "lab_share", folder)
    store.unregister()
    with pytest.raises(UserErrorException, match="no datastore 'lab_share'"):
        Datastore.get(workspace, "lab_share")
    assert os.path.exists(os.path.join(folder, "x.txt"))


def test_files_of_an_attached_folder(workspace, tmp_path):
    folder = write_tree(tmp_path / "share", {"in/x.txt": "x"})
    store = Datastore.register_folder(workspace, "files_share", folder)
    try:
        assert paths(store) == ["in/x.txt"]
        write_tree(tmp_path / "more", {"y.txt": "y"})
        store.upload(tmp_path / "more", "new", show_progress=False)
        assert "new/y.txt" in paths(store)
        assert store.download(tmp_path / "out", prefix="new/", show_progress=False) == 1
        assert (tmp_path / "out/new/y.txt").read_text() == "y"
    finally:
        store.unregister()


def test_azure_storage_says_what_to_do(workspace):
    with pytest.raises(UserErrorException) as caught:
        Datastore.register_azure_blob_container(workspace, "mine", "container", "account", sas_token="?sig=hush")
    message = caught.value.message
    assert "container 'container' of account 'account'" in message and "hush" not in message
    assert "Datastore.register_folder(workspace, 'mine', '/path', account_name='account', container_name='container')" in message
    assert "Datastore.register_s3_bucket(workspace, 'mine'" in message
    for call in (lambda: Datastore.register_azure_file_share(workspace, "mine", "share", "account"),
                 lambda: Datastore.register_azure_data_lake(workspace, "mine", "lake"),
                 lambda: Datastore.register_azure_data_lake_gen2(workspace, "mine", "fs", "account", tenant_id="t", client_id="c", client_secret="s")):
        with pytest.raises(UserErrorException, match="Azure's storage is not reached from here"):
            call()
    with pytest.raises(ScenarioNotSupportedException, match="^Datastore.register_azure_sql_database is not part of this version of Ferry yet. "):
        Datastore.register_azure_sql_database(workspace, "sql", "server", "database", tenant_id="t")
    with pytest.raises(ScenarioNotSupportedException, match="is not part of this version of Ferry yet."):
        Datastore.register_azure_my_sql(workspace, "sql", "server", "database", "user", "password")


def test_the_default_can_be_changed(workspace):
    Datastore.get(workspace, "workspacefilestore").set_as_default()
    try:
        assert Datastore.get_default(workspace).name == "workspacefilestore"
        assert type(Datastore.get_default(workspace)) is AzureFileDatastore
    finally:
        Datastore.get(workspace, "workspaceblobstore").set_as_default()


def test_references_are_arguments(workspace):
    store = Datastore.get_default(workspace)
    submission = {}
    mounted = store.path("train/*.csv", data_reference_name="train").as_mount()
    assert mounted._ferry_argument(submission) == str(mounted) == "$AZUREML_DATAREFERENCE_train"
    store.path("test", "test").as_download(path_on_compute="here", overwrite=True)._ferry_argument(submission)
    store.path("results", "results").as_upload(overwrite=True)._ferry_argument(submission)
    assert submission == {
        "data": {"train": {"paths": [{"datastore": "workspaceblobstore", "path": "train/*.csv"}], "mode": "mount", "overwrite": False},
                 "test": {"paths": [{"datastore": "workspaceblobstore", "path": "test"}], "mode": "download", "overwrite": True, "path_on_compute": "here"}},
        "outputs": {"results": {"datastore": "workspaceblobstore", "path": "results", "mode": "upload", "overwrite": True}}}
    mounted._ferry_argument(submission)
    with pytest.raises(UserErrorException, match="two different inputs or outputs of the run have the name 'train'"):
        store.path("other", "train")._ferry_argument(submission)
    root = store.as_mount()
    assert root.path_on_datastore is None and root.mode == "mount" and root.path("a").path("b/").path_on_datastore == "a/b"
    assert store.as_download().mode == "download" and store.as_upload().mode == "upload"
    with pytest.raises(UserErrorException, match="as_upload needs a folder of the datastore"):
        store.as_upload()._ferry_argument({})
    assert store.path("x").data_reference_name != store.path("x").data_reference_name


def test_data_paths_make_references(workspace):
    path = DataPath(datastore=Datastore.get_default(workspace), path_on_datastore="runs/1", name="checkpoint")
    reference = path.create_data_reference(datapath_compute_binding=DataPathComputeBinding(mode="mount"))
    assert (reference.data_reference_name, reference.path_on_datastore, reference.mode) == ("checkpoint", "runs/1", "mount")
    assert path.datastore_name == "workspaceblobstore"
    with pytest.raises(UserErrorException, match="mode must be one of mount, download, upload, not 'symlink'"):
        DataPathComputeBinding(mode="symlink")
    with pytest.raises(UserErrorException, match="data_reference_name must have"):
        path.create_data_reference("a b")
