"""The workspace: the place that experiments, models, data and compute targets belong to."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping

from azureml.exceptions import UserErrorException, WorkspaceException

__all__ = ["UserErrorException", "Workspace"]

# What stands for Azure's subscription and resource group where nobody has said one.
_NOWHERE = "ferry"
_LARGEST_CONFIG = 1 << 20


class CallableDict(dict):  # type: ignore[type-arg]
    """A dict by name. Called as a function it gives the list of the values, as the oldest versions of the SDK did; keywords filter it."""

    def __init__(self, items: Any = (), call: Callable[..., Any] | None = None) -> None:
        super().__init__(items)
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        if self._call is not None and (args or kwargs):
            return list(self._call(*args, **kwargs))
        if args or kwargs:
            raise UserErrorException("this list takes no filters")
        return list(self.values())


class _DefaultCluster:
    """A provisioning configuration, made when it is first asked for."""

    def __init__(self, vm_size: str) -> None:
        self._vm_size = vm_size

    def __get__(self, instance: Any, owner: Any) -> Any:
        from azureml.core.compute import AmlCompute

        return AmlCompute.provisioning_configuration(vm_size=self._vm_size, min_nodes=0, max_nodes=2)


class Workspace:
    """A workspace that is there. ``subscription_id`` and ``resource_group`` are recorded; the name alone decides which it is."""

    DEFAULT_CPU_CLUSTER_NAME = "cpu-cluster"
    DEFAULT_GPU_CLUSTER_NAME = "gpu-cluster"
    DEFAULT_CPU_CLUSTER_CONFIGURATION = _DefaultCluster("STANDARD_D2_V2")
    DEFAULT_GPU_CLUSTER_CONFIGURATION = _DefaultCluster("STANDARD_NC6")

    def __init__(self, subscription_id: str, resource_group: str, workspace_name: str, auth: Any = None, _location: str | None = None,
                 _disable_service_check: bool = False, _workspace_id: str | None = None, sku: str = "basic",
                 tags: Mapping[str, str] | None = None, _cloud: str = "AzureCloud") -> None:
        self._workspace_name = _check_name(workspace_name, "workspace_name")
        self._subscription_id = _optional_text(subscription_id, "subscription_id") or _NOWHERE
        self._resource_group = _optional_text(resource_group, "resource_group") or _NOWHERE
        self._auth_object = auth
        self._location = _location
        self._sku = sku
        self._given_tags = tags
        self._record: dict[str, Any] | None = None
        self._connection: Any = None
        if not _disable_service_check:
            self._refresh()

    # Finding and making

    @staticmethod
    def from_config(path: Any = None, auth: Any = None, _logger: Any = None, _file_name: str | None = None) -> Workspace:
        """The workspace that a ``config.json`` names: the file ``path``, or the first that is found in the folder ``path`` (the current
        one without it) and those above it, there or in ``.azureml`` or ``aml_config``."""
        found = _find_config(path, _file_name)
        settings = _read_config(found)
        return Workspace(settings["subscription_id"], settings["resource_group"], settings["workspace_name"], auth=auth)

    @staticmethod
    def create(name: str, auth: Any = None, subscription_id: str | None = None, resource_group: str | None = None,
               location: str | None = None, create_resource_group: bool = True, sku: str = "basic", tags: Mapping[str, str] | None = None,
               friendly_name: str | None = None, storage_account: str | None = None, key_vault: str | None = None,
               app_insights: str | None = None, container_registry: str | None = None, adb_workspace: str | None = None,
               primary_user_assigned_identity: str | None = None, cmk_keyvault: str | None = None, resource_cmk_uri: str | None = None,
               hbi_workspace: bool = False, default_cpu_compute_target: Any = None, default_gpu_compute_target: Any = None,
               private_endpoint_config: Any = None, private_endpoint_auto_approval: bool = True, exist_ok: bool = False,
               show_output: bool = True, user_assigned_identity_for_cmk_encryption: str | None = None,
               system_datastores_auth_mode: str = "accessKey", v1_legacy_mode: bool | None = None,
               description: str | None = None) -> Workspace:
        """Makes a workspace, or gives the one that is there when ``exist_ok``. What has no meaning off Azure is recorded."""
        from ferry.client import Client, Conflict
        from ferry.not_yet import not_yet

        _check_name(name, "name")
        for argument, given in (("default_cpu_compute_target", default_cpu_compute_target), ("default_gpu_compute_target", default_gpu_compute_target)):
            if given is not None:
                raise not_yet(f"A cluster that is made with its workspace ({argument})", "Leave it out, and use the target 'local'.")
        recorded = {"subscription_id": subscription_id, "resource_group": resource_group, "location": location, "sku": sku,
                    "storage_account": storage_account, "key_vault": key_vault, "app_insights": app_insights,
                    "container_registry": container_registry, "adb_workspace": adb_workspace,
                    "primary_user_assigned_identity": primary_user_assigned_identity, "cmk_keyvault": cmk_keyvault,
                    "resource_cmk_uri": resource_cmk_uri, "hbi_workspace": str(bool(hbi_workspace)).lower()}
        body: dict[str, Any] = {"name": name, "exist_ok": bool(exist_ok),
                                "properties": {key: str(value) for key, value in recorded.items() if value is not None}}
        if tags:
            body["tags"] = _text_map(tags, "tags")
        if friendly_name is not None:
            body["friendly_name"] = friendly_name
        if description is not None:
            body["description"] = description
        client = Client.find(auth)
        try:
            record = client.post("/workspaces", body)
        except Conflict as error:
            if error.slug == "server.protocol":
                raise
            raise WorkspaceException(f"there is a workspace '{name}' already; give exist_ok=True to use it", error) from None
        workspace = Workspace(subscription_id or "", resource_group or "", name, auth=auth, _disable_service_check=True)
        workspace._connection, workspace._record = client, record
        if show_output:
            print(f"Workspace '{name}' is ready at {client.url}.")
        return workspace

    @staticmethod
    def get(name: str, auth: Any = None, subscription_id: str | None = None, resource_group: str | None = None,
            location: str | None = None, cloud: str = "AzureCloud", id: str | None = None) -> Workspace:
        """The workspace of this name. Raises WorkspaceException when there is none."""
        return Workspace(subscription_id or "", resource_group or "", name, auth=auth)

    @staticmethod
    def list(subscription_id: str | None = None, auth: Any = None, resource_group: str | None = None) -> dict[str, Any]:
        """The workspaces by name, each name with the list of those that have it. One that was made for another subscription or resource
        group is left out."""
        from ferry.client import Client

        client = Client.find(auth)
        found: dict[str, Any] = {}
        for record in client.pages("/workspaces", "workspaces"):
            recorded = record.get("properties") or {}
            if any(wanted and recorded.get(key) and recorded[key] != wanted
                   for key, wanted in (("subscription_id", subscription_id), ("resource_group", resource_group))):
                continue
            workspace = Workspace(recorded.get("subscription_id") or subscription_id or "", recorded.get("resource_group") or
                                  resource_group or "", record["name"], auth=auth, _disable_service_check=True)
            workspace._connection, workspace._record = client, record
            found.setdefault(workspace.name, []).append(workspace)
        return found

    @staticmethod
    def setup() -> Workspace:
        """The workspace of the nearest ``config.json``, else the server's own."""
        try:
            found = _find_config(None, None)
        except UserErrorException:
            return Workspace("", "", "default")
        settings = _read_config(found)
        return Workspace(settings["subscription_id"], settings["resource_group"], settings["workspace_name"])

    @classmethod
    def _of_context(cls) -> Workspace:
        """The workspace of the run that this process is inside of. Asks nobody."""
        get = os.environ.get
        return cls(get("AZUREML_ARM_SUBSCRIPTION", ""), get("AZUREML_ARM_RESOURCEGROUP", ""), get("AZUREML_ARM_WORKSPACE_NAME") or "default",
                   _disable_service_check=True)

    def write_config(self, path: Any = None, file_name: str | None = None) -> None:
        """Writes ``.azureml/config.json`` (or ``file_name``) below ``path`` (the current folder without it), for :meth:`from_config`."""
        import json

        name = _optional_text(file_name, "file_name") or "config.json"
        if os.path.basename(name) != name:
            raise UserErrorException(f"file_name must be a name without folders, not '{name}'")
        folder = os.path.abspath(os.fsdecode(os.fspath(path))) if path is not None else os.getcwd()
        if os.path.basename(folder) != ".azureml":
            folder = os.path.join(folder, ".azureml")
        os.makedirs(folder, exist_ok=True)
        text = json.dumps({"subscription_id": self.subscription_id, "resource_group": self.resource_group, "workspace_name": self.name}, indent=4)
        target = os.path.join(folder, name)
        part = target + ".part"
        with open(part, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(part, target)

    # Identity

    @property
    def name(self) -> str:
        """The name."""
        return self._workspace_name

    @property
    def subscription_id(self) -> str:
        """The subscription, as recorded."""
        return self._recorded("subscription_id", self._subscription_id)

    @property
    def resource_group(self) -> str:
        """The resource group, as recorded."""
        return self._recorded("resource_group", self._resource_group)

    @property
    def location(self) -> str | None:
        """The region, as recorded."""
        return self._location or (self._details().get("properties") or {}).get("location")

    @property
    def sku(self) -> str:
        """The SKU, as recorded."""
        return (self._details().get("properties") or {}).get("sku") or self._sku

    @property
    def tags(self) -> dict[str, str]:
        """The workspace's tags."""
        return dict(self._details().get("tags") or self._given_tags or {})

    @property
    def discovery_url(self) -> str:
        """Where Azure's clients look for services: the server's address."""
        return self._client.url + "/discovery"

    @property
    def service_context(self) -> Any:
        """What Azure's own packages ask for names and credentials: the workspace itself."""
        return self

    @property
    def _auth(self) -> Any:
        if self._auth_object is None:
            from azureml.core.authentication import InteractiveLoginAuthentication

            self._auth_object = InteractiveLoginAuthentication()
        return self._auth_object

    @property
    def _workspace_id(self) -> str:
        return self._details()["id"]

    @property
    def _client(self) -> Any:
        """The client of the server, made when it is first needed."""
        if self._connection is None:
            from ferry.client import Client

            self._connection = Client.find(self._auth_object)
        return self._connection

    def get_details(self) -> dict[str, Any]:
        """What is known of the workspace, under Azure's names."""
        record = self._refresh()
        recorded = record.get("properties") or {}
        scope = (f"/subscriptions/{self.subscription_id}/resourceGroups/{self.resource_group}/providers/Microsoft.MachineLearningServices"
                 f"/workspaces/{self.name}")
        details = {"id": scope, "name": self.name, "location": recorded.get("location"), "type": "Microsoft.MachineLearningServices/workspaces",
                   "tags": dict(record.get("tags") or {}), "sku": recorded.get("sku", self._sku), "workspaceid": record.get("id"),
                   "description": record.get("description", ""), "friendlyName": record.get("friendly_name") or self.name,
                   "creationTime": record.get("created"), "containerRegistry": recorded.get("container_registry"),
                   "keyVault": recorded.get("key_vault"), "applicationInsights": recorded.get("app_insights"),
                   "storageAccount": recorded.get("storage_account"), "hbiWorkspace": recorded.get("hbi_workspace") == "true",
                   "provisioningState": "Succeeded", "discoveryUrl": self.discovery_url}
        return details

    def get_mlflow_tracking_uri(self, with_auth: bool = False) -> str:
        """The address for MLflow clients."""
        return self._client.url

    def get_portal_url(self) -> str:
        """The workspace in a browser."""
        from ferry.client import quote

        return f"{self._client.url}/#/workspaces/{quote(self.name)}"

    # What belongs to it

    @property
    def experiments(self) -> CallableDict:
        """The experiments by name."""
        from azureml.core.experiment import Experiment

        return CallableDict((experiment.name, experiment) for experiment in Experiment.list(self))

    @property
    def compute_targets(self) -> CallableDict:
        """The compute targets by name."""
        from azureml.core.compute import ComputeTarget

        return CallableDict((target.name, target) for target in ComputeTarget.list(self))

    @property
    def environments(self) -> CallableDict:
        """The environments by name, each in its latest version."""
        from azureml.core.environment import Environment

        return CallableDict(Environment.list(self))

    @property
    def datastores(self) -> CallableDict:
        """The datastores by name."""
        from azureml.core import datastore

        return CallableDict(datastore._all(self))

    @property
    def datasets(self) -> CallableDict:
        """The registered datasets by name, each in its latest version."""
        from azureml.core.dataset import Dataset

        return CallableDict(Dataset.get_all(self))

    @property
    def models(self) -> CallableDict:
        """The models by name, each in its latest version. Called with ``name`` or ``tags``: a list of those."""
        from azureml.core.model import Model

        return CallableDict(((model.name, model) for model in Model.list(self, latest=True)),
                            lambda *args, **kwargs: Model.list(self, *args, **kwargs))

    @property
    def webservices(self) -> CallableDict:
        """Always empty: Ferry serves no models."""
        return CallableDict(call=lambda *_, **__: [])

    @property
    def images(self) -> CallableDict:
        """Always empty: Ferry makes no images of models."""
        return CallableDict(call=lambda *_, **__: [])

    @property
    def linked_services(self) -> CallableDict:
        """Always empty: Ferry links no services."""
        return CallableDict(call=lambda *_, **__: [])

    def get_run(self, run_id: str) -> Any:
        """The run of this id, of whichever experiment."""
        from azureml.core.run import Run

        return Run.get(self, run_id)

    def get_default_datastore(self) -> Any:
        """The datastore that is used where none is named."""
        from azureml.core.datastore import Datastore

        return Datastore.get_default(self)

    def set_default_datastore(self, name: Any) -> None:
        """Makes a datastore the one that is used where none is named."""
        from ferry.client import quote

        name = getattr(name, "name", name)
        self._client.post(f"/datastores/{quote(_check_text(name, 'name'))}/default", {"workspace": self.name}, repeat=True)

    def get_default_keyvault(self) -> Any:
        """The workspace's secrets."""
        from azureml.core.keyvault import Keyvault

        return Keyvault(self)

    def get_default_compute_target(self, type: str) -> Any:
        """The compute target that was made with the workspace for ``"CPU"`` or ``"GPU"``; None when there is none."""
        names = {"CPU": self.DEFAULT_CPU_CLUSTER_NAME, "GPU": self.DEFAULT_GPU_CLUSTER_NAME}
        wanted = names.get(str(type).upper())
        if wanted is None:
            raise UserErrorException(f"type must be 'CPU' or 'GPU', not '{type}'")
        return self.compute_targets.get(wanted)

    # Changing and removing

    def update(self, friendly_name: str | None = None, description: str | None = None, tags: Mapping[str, str] | None = None,
               image_build_compute: str | None = None, **recorded: Any) -> dict[str, Any]:
        """Changes name for people, description and tags; anything else is recorded. Gives the details."""
        body: dict[str, Any] = {}
        if friendly_name is not None:
            body["friendly_name"] = friendly_name
        if description is not None:
            body["description"] = description
        if tags is not None:
            new = _text_map(tags, "tags")
            body["set_tags"] = new
            body["remove_tags"] = [key for key in self.tags if key not in new]
        if image_build_compute is not None:
            recorded["image_build_compute"] = image_build_compute
        if recorded:
            body["properties"] = {key: str(value) for key, value in recorded.items() if value is not None}
        from ferry.client import quote

        self._client.patch("/workspaces/" + quote(self.name), body)
        return self.get_details()

    def delete(self, delete_dependent_resources: bool = False, no_wait: bool = False) -> None:
        """Removes the workspace, which must be empty."""
        from ferry.client import quote

        self._client.delete("/workspaces/" + quote(self.name))

    def _initialize_folder(self, experiment_name: str | None = None, directory: Any = None) -> None:
        """Nothing has to be prepared in a folder."""

    def _refresh(self) -> dict[str, Any]:
        from ferry.client import NotFound, quote

        try:
            self._record = self._client.get("/workspaces/" + quote(self.name))
        except NotFound as error:
            raise WorkspaceException(
                f"there is no workspace '{self.name}' on the server at {self._client.url}; make it with: ferry workspace create -n {self.name}, "
                f"or Workspace.create(name='{self.name}')", error) from None
        return self._record

    def _details(self) -> dict[str, Any]:
        return self._record if self._record is not None else self._refresh()

    def _recorded(self, key: str, given: str) -> str:
        if given == _NOWHERE and self._record is not None:
            return (self._record.get("properties") or {}).get(key) or given
        return given

    def __getstate__(self) -> dict[str, Any]:
        # Another process finds the server by its own environment.
        return {**self.__dict__, "_connection": None}

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Workspace) and (self.name, self._subscription_id, self._resource_group) == (
            other.name, other._subscription_id, other._resource_group)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return (f"Workspace.create(name='{self.name}', subscription_id='{self.subscription_id}', "
                f"resource_group='{self.resource_group}')")

    def _repr_html_(self) -> str:
        from ferry.html import table

        return table({"Name": self.name, "Subscription": self.subscription_id, "Resource group": self.resource_group,
                      "Server": self._client.url})


def _check_text(value: Any, argument: str) -> str:
    if not isinstance(value, str):
        raise UserErrorException(f"{argument} must be a string, not a value of type {type(value).__name__}")
    return value


def _optional_text(value: Any, argument: str) -> str | None:
    return None if value is None else _check_text(value, argument)


def _check_name(name: Any, argument: str) -> str:
    import re

    _check_text(name, argument)
    if not re.match(r"[A-Za-z0-9][A-Za-z0-9_-]{1,31}\Z", name):
        raise UserErrorException(f"{argument} is '{name}'; expected 2 to 32 letters, digits, '-' and '_', beginning with a letter or digit")
    return name


def _text_map(value: Any, argument: str) -> dict[str, str]:
    if not hasattr(value, "items"):
        raise UserErrorException(f"{argument} must be a dict, not a value of type {type(value).__name__}")
    return {str(key): "" if item is None else str(item) for key, item in value.items()}


def _find_config(path: Any, file_name: str | None) -> str:
    """The path of the configuration file. Raises UserErrorException."""
    name = file_name or "config.json"
    start = os.path.abspath(os.fsdecode(os.fspath(path))) if path is not None else os.getcwd()
    if os.path.isfile(start):
        return start
    if not os.path.isdir(start):
        raise UserErrorException(f"path names no file and no folder: '{start}'")
    at = start
    while True:
        for below in ("", ".azureml", "aml_config"):
            found = os.path.join(at, below, name)
            if os.path.isfile(found):
                return found
        old = os.path.join(at, "aml_config", "project.json")
        if not file_name and os.path.isfile(old):
            return old
        above = os.path.dirname(at)
        if above == at:
            raise UserErrorException(
                f"We could not find {name} in: {start} or in its parent directories. Please provide the full path to the config file or ensure "
                f"that {name} exists in the parent directories; Workspace.write_config() and: ferry folder attach write one.")
        at = above


def _read_config(path: str) -> dict[str, str]:
    import json

    try:
        with open(path, encoding="utf-8-sig") as file:
            settings = json.loads(file.read(_LARGEST_CONFIG))
    except (OSError, ValueError) as error:
        raise UserErrorException(f"{path} cannot be read as JSON: {error}", error) from None
    if not isinstance(settings, dict):
        raise UserErrorException(f"{path} must hold a JSON object")
    scope = settings.get("Scope")
    if isinstance(scope, str):
        parts = scope.split("/")
        named = {part.lower(): parts[i + 1] for i, part in enumerate(parts[:-1])}
        for key, part in (("subscription_id", "subscriptions"), ("resource_group", "resourcegroups"), ("workspace_name", "workspaces")):
            settings.setdefault(key, named.get(part, ""))
    if not settings.get("workspace_name"):
        raise UserErrorException(f"{path} has no 'workspace_name'; expected subscription_id, resource_group and workspace_name")
    return {key: _check_text(settings.get(key) or "", f"{path}: {key}") for key in ("subscription_id", "resource_group", "workspace_name")}
