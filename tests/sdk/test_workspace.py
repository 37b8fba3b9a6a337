"""Workspaces: how they are found, made and described."""

import json
import os
import pickle
import subprocess
import sys

import pytest

import azureml.core
from azureml.core import Workspace
from azureml.core.authentication import (ArmTokenAuthentication, Audience, AzureCliAuthentication, InteractiveLoginAuthentication, MsiAuthentication,
                                         ServicePrincipalAuthentication, TokenAuthentication)
from azureml.core.workspace import CallableDict
from azureml.core.workspace import UserErrorException as SameException
from azureml.exceptions import AuthenticationException, UserErrorException, WorkspaceException
from ferry_fixture import write_tree

CONFIG = json.dumps({"subscription_id": "sub", "resource_group": "rg", "workspace_name": "default"})
SDK = os.path.normpath(os.path.join(os.path.dirname(azureml.core.__file__), "..", ".."))


@pytest.fixture
def ws(client):
    return Workspace("sub", "rg", "default")


# Importing


def test_the_import_is_free():
    code = ("import sys; before = set(sys.modules); import azureml.core; print(azureml.core.VERSION); "
            "print(sorted(m for m in set(sys.modules) - before if not m.startswith('azureml') and m != '__future__'))")
    done = subprocess.run([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=SDK), stdout=subprocess.PIPE, text=True, check=True)
    version, modules = done.stdout.splitlines()
    assert version == azureml.core.VERSION and modules == "[]"


@pytest.mark.parametrize("name", ["Workspace", "Experiment", "Run", "ScriptRunConfig"])
def test_what_users_import_brings_no_heavy_module_along(name):
    code = f"import sys; from azureml.core import {name}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-S", "-c", code], env=dict(os.environ, PYTHONPATH=SDK), stdout=subprocess.PIPE, text=True, check=True)
    heavy = {"http.client", "ssl", "socket", "subprocess", "tempfile", "urllib.parse", "urllib.request", "yaml", "email", "hashlib", "zipfile",
             "logging", "asyncio"}
    assert heavy & set(done.stdout.split()) == set()


# Finding


@pytest.mark.parametrize("place", ["config.json", ".azureml/config.json", "aml_config/config.json"])
def test_the_configuration_is_found_above(client, tmp_path, monkeypatch, place):
    write_tree(tmp_path, {place: CONFIG, "a/b/x": ""})
    monkeypatch.chdir(tmp_path / "a" / "b")
    found = Workspace.from_config()
    assert (found.name, found.subscription_id, found.resource_group) == ("default", "sub", "rg")
    assert Workspace.from_config(str(tmp_path / "a")).name == "default"
    assert Workspace.from_config(path=tmp_path / place).name == "default"


def test_the_nearest_configuration_wins_and_the_folder_itself_comes_first(client, tmp_path, monkeypatch):
    other = CONFIG.replace('"sub"', '"other"')
    write_tree(tmp_path, {"config.json": other, "a/.azureml/config.json": CONFIG, "a/b/x": ""})
    monkeypatch.chdir(tmp_path / "a" / "b")
    assert Workspace.from_config().subscription_id == "sub"
    write_tree(tmp_path, {"a/config.json": other})
    assert Workspace.from_config().subscription_id == "other"
    write_tree(tmp_path, {"a/.azureml/mine.json": CONFIG})
    assert Workspace.from_config(_file_name="mine.json").subscription_id == "sub"


def test_the_project_file_of_the_oldest_versions(client, tmp_path):
    scope = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/default/projects/p"
    write_tree(tmp_path, {"aml_config/project.json": json.dumps({"Id": "p", "Scope": scope})})
    found = Workspace.from_config(tmp_path)
    assert (found.name, found.subscription_id, found.resource_group) == ("default", "s", "g")


def test_configurations_that_are_wrong(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserErrorException, match="could not find config.json in: .*parent directories"):
        Workspace.from_config()
    with pytest.raises(UserErrorException, match="names no file and no folder"):
        Workspace.from_config(tmp_path / "none")
    for text, said in (("{", "cannot be read as JSON"), ("[]", "JSON object"), ("{}", "no 'workspace_name'"),
                       ('{"workspace_name": 7}', "workspace_name must be a string"), ('{"workspace_name": "a/b"}', "workspace_name is 'a/b'")):
        write_tree(tmp_path, {"config.json": text})
        with pytest.raises(UserErrorException, match=said):
            Workspace.from_config()
    write_tree(tmp_path, {"config.json": '{"workspace_name": "not-there"}'})
    with pytest.raises(WorkspaceException, match="no workspace 'not-there'.*ferry workspace create -n not-there"):
        Workspace.from_config()
    assert SameException is UserErrorException


def test_write_config(ws, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ws.write_config()
    ws.write_config(path="below", file_name="other.json")
    ws.write_config(path=tmp_path / ".azureml", file_name="third.json")
    assert json.loads((tmp_path / ".azureml" / "config.json").read_text()) == json.loads(CONFIG)
    assert sorted(os.listdir(tmp_path / ".azureml")) == ["config.json", "third.json"]
    assert Workspace.from_config() == ws
    assert Workspace.from_config("below", _file_name="other.json") == ws
    with pytest.raises(UserErrorException, match="file_name"):
        ws.write_config(file_name="a/b")


def test_setup(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Workspace.setup().name == "default"
    write_tree(tmp_path, {"config.json": CONFIG})
    assert Workspace.setup().subscription_id == "sub"


# Making


def test_create_get_list_delete(client, capsys):
    ws = Workspace.create("made-here", subscription_id="s1", resource_group="g1", location="westeurope", tags={"team": "a"}, friendly_name="Mine",
                          description="what it is for")
    assert "made-here" in capsys.readouterr().out
    assert (ws.name, ws.location, ws.sku, ws.tags) == ("made-here", "westeurope", "basic", {"team": "a"})
    with pytest.raises(WorkspaceException, match="exist_ok=True"):
        Workspace.create("made-here")
    assert Workspace.create("made-here", exist_ok=True, show_output=False).name == "made-here"
    got = Workspace.get("made-here")
    assert (got.subscription_id, got.resource_group, got.location) == ("s1", "g1", "westeurope")
    details = got.get_details()
    assert (details["name"], details["friendlyName"], details["description"], details["location"]) == ("made-here", "Mine", "what it is for", "westeurope")
    assert details["id"].endswith("/subscriptions/s1/resourceGroups/g1/providers/Microsoft.MachineLearningServices/workspaces/made-here")
    listed = Workspace.list("s1")
    assert [one.name for one in listed["made-here"]] == ["made-here"] and "default" in listed
    assert "made-here" not in Workspace.list("another") and "made-here" not in Workspace.list("s1", resource_group="another")
    got.update(friendly_name="Ours", tags={"x": "1"}, description="new")
    assert (got.get_details()["friendlyName"], got.tags) == ("Ours", {"x": "1"})
    with pytest.raises(TypeError):
        got.delete(delete_dependent_resource=True)
    got.delete(delete_dependent_resources=True, no_wait=False)
    with pytest.raises(WorkspaceException, match="no workspace 'made-here'"):
        Workspace.get("made-here")


@pytest.mark.parametrize("name", ["a", "-a", "a b", "a.b", "x" * 33, "", 7, None])
def test_names_that_are_none(client, name):
    with pytest.raises(UserErrorException, match="name"):
        Workspace.create(name)
    with pytest.raises(UserErrorException, match="workspace_name"):
        Workspace("s", "g", name)


# What it says


def test_names_that_scripts_read(ws, client):
    assert (ws._subscription_id, ws._resource_group, ws._workspace_name) == ("sub", "rg", "default")
    assert ws._auth.get_authentication_header() == {"Authorization": "Bearer " + client.token}
    assert ws.service_context._workspace_name == "default"
    assert ws.get_mlflow_tracking_uri() == client.url and ws.discovery_url.startswith(client.url)
    assert ws.get_details()["workspaceid"] == ws._workspace_id
    assert "default" in repr(ws) and "<table" in ws._repr_html_() and str(client.url) in ws._repr_html_()
    assert ws._initialize_folder(experiment_name="x", directory=".") is None
    assert pickle.loads(pickle.dumps(ws)) == ws
    assert (Workspace.DEFAULT_CPU_CLUSTER_NAME, Workspace.DEFAULT_GPU_CLUSTER_NAME) == ("cpu-cluster", "gpu-cluster")
    with pytest.raises(UserErrorException, match="'CPU' or 'GPU'"):
        ws.get_default_compute_target("TPU")


def test_dicts_can_be_called(ws):
    experiments = ws.experiments
    assert isinstance(experiments, dict) and [one.name for one in experiments()] == list(experiments)
    for empty in (ws.webservices, ws.images, ws.linked_services):
        assert empty == {} and empty() == [] and empty(name="x") == []
    asked = []
    filtered = CallableDict({"a": 1}, lambda **words: asked.append(words) or [2])
    assert (filtered(), filtered(name="a", tags=["t"])) == ([1], [2]) and asked == [{"name": "a", "tags": ["t"]}]
    with pytest.raises(UserErrorException, match="no filters"):
        CallableDict({"a": 1})(name="a")


# Logging in


def test_authentication(client, monkeypatch, shared):
    header = {"Authorization": "Bearer " + shared.token}
    monkeypatch.delenv("FERRY_TOKEN")
    with pytest.raises(AuthenticationException, match="FERRY_TOKEN"):
        InteractiveLoginAuthentication().get_authentication_header()
    asked = []
    by_function = TokenAuthentication(get_token_for_audience=lambda audience: asked.append(audience) or shared.token)
    for auth in (ServicePrincipalAuthentication("tenant", "id", shared.token), ServicePrincipalAuthentication(username="id", password=shared.token),
                 ServicePrincipalAuthentication(tenant_id="t", service_principal_id="i", service_principal_password=shared.token), by_function,
                 ArmTokenAuthentication(shared.token)):
        assert auth.get_authentication_header() == header
        assert Workspace.get("default", auth=auth)._auth_object is auth
        assert shared.token not in repr(auth)
    assert asked[0] is Audience.aml and by_function.get_token(Audience.arm) == shared.token
    monkeypatch.setenv("FERRY_TOKEN", shared.token)
    for auth in (InteractiveLoginAuthentication(force=True, tenant_id="x"), AzureCliAuthentication(), MsiAuthentication(),
                 ServicePrincipalAuthentication("t", "i", "the password that Azure gave")):
        assert auth.get_authentication_header() == header
    with pytest.raises(UserErrorException):
        TokenAuthentication("token")
    with pytest.raises(UserErrorException):
        ServicePrincipalAuthentication("tenant")


def test_secrets(ws, shared):
    vault = ws.get_default_keyvault()
    vault.set_secret(name="from-sdk", value="the value", content_type="text/x")
    vault.set_secrets({"second": "2", "third": "3"})
    assert vault.get_secret(name="from-sdk") == "the value" and vault.get_secret_content_type("from-sdk") == "text/x"
    assert vault.get_secrets(["second", "none"]) == {"second": "2", "none": None}
    listed = vault.list_secrets()
    assert {"from-sdk", "second", "third"} <= {one["name"] for one in listed} and "the value" not in str(listed)
    vault.delete_secret("from-sdk")
    vault.delete_secrets(["second", "third"])
    assert vault.get_secret("from-sdk") is None and not {"from-sdk", "second", "third"} & {one["name"] for one in vault.list_secrets()}
    for call in (lambda: vault.set_secret("a", 7), lambda: vault.set_secret("", "x"), lambda: vault.set_secrets(["a"]), lambda: vault.get_secrets("a"),
                 lambda: vault.set_secret("a/b", "x")):
        with pytest.raises(UserErrorException):
            call()
