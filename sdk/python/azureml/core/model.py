"""Models: files under a name and a version."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any, Iterable, Sequence

from azureml.core.dataset import Dataset
from azureml.data import _time
from azureml.exceptions import (ModelNotFoundException, ModelPathNotFoundException, RunEnvironmentException,
                                UserErrorException, WebserviceException)
from ferry import values
from ferry.not_yet import not_yet

__all__ = ["Dataset", "InferenceConfig", "Model"]

_CACHE = "azureml-models"
_MOST_FILES = 100_000


class Model:
    """A registered model. ``Model(workspace, name)`` is its latest version; ``version`` or ``id`` ("name:version") choose another, and
    the other arguments narrow the choice."""

    class Framework:
        """Names for ``model_framework``."""

        CUSTOM = "Custom"
        ONNX = "Onnx"
        SCIKITLEARN = "ScikitLearn"
        TENSORFLOW = "TensorFlow"
        PYTORCH = "PyTorch"
        FLAP = "Flap"
        MULTI = "Multi"

    def __init__(self, workspace: Any, name: str | None = None, id: str | None = None, tags: Any = None, properties: Any = None,
                 version: Any = None, run_id: str | None = None, model_framework: str | None = None, expand: bool = True, **kwargs: Any) -> None:
        from ferry.client import NotFound, quote

        self.workspace = workspace
        if name is None and id is None:
            raise UserErrorException("a model is found by name or by id ('name:version')")
        if id is not None:
            found, _, number = values.check_name(id, "id").rpartition(":")
            if not found or not number.isdigit():
                raise UserErrorException(f"id must be 'name:version', not '{id}'")
            if name is not None and name != found:
                raise UserErrorException(f"id '{id}' is not of the model '{name}'")
            name, version = found, int(number)
        values.check_name(name)
        try:
            if version is not None:
                view = workspace._client.get(f"/models/{quote(name)}", workspace=workspace.name, version=_version(version))
                views = [view] if _fits(view, tags, properties, run_id, model_framework) else []
            else:
                views = _views(workspace, name=name, tags=tags, properties=properties, run_id=run_id, framework=model_framework)
            self._view = next(iter(views))
        except (NotFound, StopIteration):
            raise ModelNotFoundException(f"ModelNotFound: Model with name {name}{'' if version is None else ' and version ' + str(version)} not found in "
                                         f"workspace '{workspace.name}'" + _narrowed(tags, properties, run_id, model_framework)) from None

    @classmethod
    def _open(cls, workspace: Any, view: dict[str, Any]) -> Model:
        self = object.__new__(cls)
        self.workspace = workspace
        self._view = view
        return self

    # Registration

    @staticmethod
    def register(workspace: Any, model_path: Any, model_name: str, tags: Any = None, properties: Any = None, description: str | None = None,
                 datasets: Any = None, model_framework: str | None = None, model_framework_version: str | None = None,
                 child_paths: Sequence[str] | None = None, sample_input_dataset: Any = None, sample_output_dataset: Any = None,
                 resource_configuration: Any = None, **kwargs: Any) -> Model:
        """Registers a file or a folder of this machine as the next version of a model. ``child_paths`` chooses files of a folder."""
        values.check_name(model_name, "model_name")
        files = _files_of(model_path, child_paths)
        body = model_body(workspace, model_name, tags, properties, description, datasets, model_framework, model_framework_version,
                          sample_input_dataset, sample_output_dataset, resource_configuration)
        print(f"Registering model {model_name}")
        blobs = workspace._client.put_blobs([path for path, _ in files])
        body["files"] = [{"path": path, "digest": digest, "size": size} for (_, path), (digest, size) in zip(files, blobs)]
        return Model._open(workspace, workspace._client.post("/models", body))

    # Finding

    @staticmethod
    def list(workspace: Any, name: str | None = None, tags: Any = None, properties: Any = None, run_id: str | None = None,
             latest: bool = False, dataset_id: str | None = None, expand: bool = True, page_count: int = 255,
             model_framework: str | None = None) -> Any:
        """The models of a workspace, the newest first. ``tags`` and ``properties`` are lists of keys and of [key, value]."""
        views = _views(workspace, name=name, tags=tags, properties=properties, run_id=run_id, latest=latest, dataset=dataset_id,
                       framework=model_framework)
        return [Model._open(workspace, view) for view in views]

    @staticmethod
    def get_model_path(model_name: str, version: int | None = None, _workspace: Any = None) -> str:
        """The path of a model on this machine: its file, or its folder when it has several.

        It is looked for below AZUREML_MODEL_DIR, then in ``azureml-models/NAME/VERSION``, where it is downloaded to from ``_workspace``,
        inside a run from the run's workspace. Last comes ``./NAME``.
        """
        values.check_name(model_name, "model_name")
        number = None if version is None else _version(version)
        for root in (os.environ.get("AZUREML_MODEL_DIR", ""), _CACHE):
            found = _cached(root, model_name, number) if root and (number is not None or root != _CACHE) else None
            if found:
                return found
        workspace = _workspace if _workspace is not None else _run_workspace()
        if workspace is not None:
            model = Model(workspace, model_name, version=number)
            return _cached(_CACHE, model.name, model.version) or model.download(os.path.join(_CACHE, model.name, str(model.version)), exist_ok=True)
        found = _cached(_CACHE, model_name, number)
        if found:
            return found
        if number is None and os.path.exists(model_name):
            return model_name
        raise ModelNotFoundException(f"Model {model_name} not found in cache at {_CACHE} or in current working directory {os.getcwd()}. For more info, "
                                     "pass _workspace=: this process is not inside a run.")

    # Files

    def download(self, target_dir: Any = ".", exist_ok: bool = False, exists_ok: bool | None = None) -> str:
        """Downloads the model into a folder and gives the path of its file, or of its folder. What is there already must be replaced
        with ``exist_ok``."""
        from ferry.client import quote, quote_path

        replace = exist_ok if exists_ok is None else exists_ok
        folder = os.fsdecode(os.fspath(target_dir))
        base = f"/models/{quote(self.name)}/files"
        client, scope = self.workspace._client, {"workspace": self.workspace.name, "version": self.version}
        files = [values.check_artifact_name(item["path"], "the path of a file") for item in client.get(base, **scope).get("files") or ()]
        if not files:
            raise ModelPathNotFoundException(f"model '{self.id}' has no files")
        tops = {path.split("/")[0] for path in files}
        target = os.path.join(folder, tops.pop()) if len(tops) == 1 else folder
        if not replace:
            taken = [path for path in files if os.path.lexists(os.path.join(folder, *path.split("/")))]
            if taken:
                raise WebserviceException(f"'{os.path.join(folder, taken[0])}' exists; pass exist_ok=True to replace it")
        for path in files:
            client.download(base + "/" + quote_path(path), os.path.join(folder, *path.split("/")), **scope)
        return target

    def get_sas_urls(self) -> dict[str, str]:
        """Says that files have no addresses of their own."""
        raise not_yet("Model.get_sas_urls", "Model.download brings the files.")

    # Changing

    def add_tags(self, tags: dict[str, Any]) -> None:
        """Adds or replaces tags."""
        self._patch({"set_tags": _texts(tags, "tags")})

    def remove_tags(self, tags: Iterable[str]) -> None:
        """Removes tags by their keys."""
        self._patch({"remove_tags": [tags] if isinstance(tags, str) else [str(key) for key in tags]})

    def add_properties(self, properties: dict[str, Any]) -> None:
        """Adds properties, which can never be changed."""
        self._patch({"add_properties": _texts(properties, "properties")})

    def update(self, tags: dict[str, Any] | None = None, description: str | None = None, sample_input_dataset: Any = None,
               sample_output_dataset: Any = None, resource_configuration: Any = None) -> None:
        """Replaces the tags, the description and others; None leaves them."""
        body: dict[str, Any] = {}
        if tags is not None:
            body["set_tags"] = _texts(tags, "tags")
            body["remove_tags"] = [key for key in self.tags if key not in tags]
        if description is not None:
            body["description"] = str(description)
        body.update(_extras(self.workspace, sample_input_dataset, sample_output_dataset, resource_configuration))
        self._patch(body)

    def update_tags_properties(self, add_tags: Any = None, remove_tags: Any = None, add_properties: Any = None) -> None:
        """Adds and removes tags and adds properties, at once."""
        body: dict[str, Any] = {}
        if add_tags:
            body["set_tags"] = _texts(add_tags, "add_tags")
        if remove_tags:
            body["remove_tags"] = [str(key) for key in remove_tags]
        if add_properties:
            body["add_properties"] = _texts(add_properties, "add_properties")
        self._patch(body)

    def add_dataset_references(self, datasets: Any) -> None:
        """Adds datasets, as (scenario, dataset)."""
        self._patch({"add_datasets": _references(self.workspace, datasets)})

    def delete(self) -> None:
        """Deletes this version. Its number is not given again."""
        from ferry.client import quote

        self.workspace._client.delete(f"/models/{quote(self.name)}", workspace=self.workspace.name, version=self.version)

    def _patch(self, body: dict[str, Any]) -> None:
        from ferry.client import quote

        whole = dict(body, workspace=self.workspace.name)
        self._view = self.workspace._client.patch(f"/models/{quote(self.name)}", whole, version=self.version)

    # What is known of it

    @property
    def name(self) -> str:
        """The model's name."""
        return self._view["name"]

    @property
    def version(self) -> int:
        """Its version, from 1."""
        return int(self._view["version"])

    @property
    def id(self) -> str:
        """``name:version``."""
        return self._view.get("id") or f"{self.name}:{self.version}"

    @property
    def url(self) -> str:
        """A name for it that says where it is."""
        return f"azureml://models/{self.name}/versions/{self.version}"

    @property
    def description(self) -> str:
        """What was said of it."""
        return self._view.get("description") or ""

    @property
    def tags(self) -> dict[str, str]:
        """Its tags; a copy."""
        return dict(self._view.get("tags") or {})

    @property
    def properties(self) -> dict[str, str]:
        """Its properties; a copy."""
        return dict(self._view.get("properties") or {})

    @property
    def model_framework(self) -> str | None:
        """The framework it was made with."""
        return self._view.get("framework") or None

    @property
    def model_framework_version(self) -> str | None:
        """The version of the framework."""
        return self._view.get("framework_version") or None

    @property
    def run_id(self) -> str | None:
        """The run that made it, or None."""
        return self._view.get("run") or None

    @property
    def run(self) -> Any:
        """The run that made it, or None."""
        if self.run_id is None:
            return None
        from azureml.core.run import Run

        return Run.get(self.workspace, self.run_id)

    @property
    def experiment_name(self) -> str | None:
        """The experiment of that run."""
        return self._view.get("experiment") or None

    @property
    def created_time(self) -> datetime | None:
        """When it was registered."""
        return _time.parse(self._view.get("created"))

    @property
    def modified_time(self) -> datetime | None:
        """When what is said of it was changed last."""
        return _time.parse(self._view.get("modified"))

    @property
    def created_by(self) -> dict[str, str]:
        """Who registered it."""
        return {"userName": self._view.get("user") or ""}

    @property
    def datasets(self) -> dict[str, Any]:
        """Its datasets, by scenario: a list of each."""
        found: dict[str, Any] = {}
        for scenario, dataset in self._view.get("datasets") or ():
            found.setdefault(scenario, []).append(Dataset.get_by_id(self.workspace, dataset))
        return found

    @property
    def sample_input_dataset(self) -> Any:
        """An example of what it takes, or None."""
        return self._dataset("sample_input_dataset")

    @property
    def sample_output_dataset(self) -> Any:
        """An example of what it gives, or None."""
        return self._dataset("sample_output_dataset")

    @property
    def resource_configuration(self) -> Any:
        """What it needs where it is served, or None."""
        resources = self._view.get("resources") or {}
        if not resources:
            return None
        from azureml.core.resource_configuration import ResourceConfiguration

        return ResourceConfiguration(cpu=resources.get("cpu"), memory_in_gb=resources.get("memory_in_gb"), gpu=resources.get("gpu"))

    def _dataset(self, key: str) -> Any:
        known = self._view.get(key)
        return Dataset.get_by_id(self.workspace, known) if known else None

    def serialize(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {"createdTime": self._view.get("created"), "createdBy": self.created_by, "description": self.description, "id": self.id,
                "name": self.name, "version": self.version, "tags": self.tags, "properties": self.properties, "runId": self.run_id,
                "experimentName": self.experiment_name, "framework": self.model_framework, "frameworkVersion": self.model_framework_version,
                "url": self.url, "datasets": list(self._view.get("datasets") or ())}

    @staticmethod
    def deserialize(workspace: Any, model_payload: dict[str, Any]) -> Model:
        """The model of what :meth:`serialize` gave."""
        try:
            return Model(workspace, model_payload["name"], version=model_payload["version"])
        except (KeyError, TypeError):
            raise UserErrorException("model_payload must be what serialize() gave: 'name' and 'version' are missing") from None

    def __repr__(self) -> str:
        return "Model(workspace=%r, name=%s, id=%s, version=%s, tags=%r, properties=%r)" % (
            getattr(self.workspace, "name", None), self.name, self.id, self.version, self.tags, self.properties)

    # Serving

    @staticmethod
    def deploy(workspace: Any, name: str, models: Any, inference_config: Any = None, deployment_config: Any = None, deployment_target: Any = None,
               overwrite: bool = False, show_output: bool = False) -> Any:
        """Says that serving is not here."""
        raise _not_yet("Model.deploy")

    @staticmethod
    def package(workspace: Any, models: Any, inference_config: Any = None, generate_dockerfile: bool = False, image_name: str | None = None,
                image_label: str | None = None) -> Any:
        """Says that serving is not here."""
        raise _not_yet("Model.package")

    @staticmethod
    def profile(workspace: Any, profile_name: str, models: Any, inference_config: Any, input_dataset: Any, cpu: Any = None,
                memory_in_gb: Any = None, description: str | None = None) -> Any:
        """Says that serving is not here."""
        raise _not_yet("Model.profile")

    @staticmethod
    def print_configuration(models: Any, inference_config: Any, deployment_config: Any, deployment_target: Any = None) -> None:
        """Says that serving is not here."""
        raise _not_yet("Model.print_configuration")


class InferenceConfig:
    """How a model is served: a name that is there to be imported. Kept as given; deploying says that serving is not here."""

    def __init__(self, entry_script: str | None = None, runtime: str | None = None, conda_file: str | None = None, extra_docker_file_steps: Any = None,
                 source_directory: str | None = None, enable_gpu: bool | None = None, description: str | None = None, base_image: str | None = None,
                 base_image_registry: Any = None, cuda_version: str | None = None, environment: Any = None) -> None:
        self.entry_script = entry_script
        self.runtime = runtime
        self.conda_file = conda_file
        self.extra_docker_file_steps = extra_docker_file_steps
        self.source_directory = source_directory
        self.enable_gpu = enable_gpu
        self.description = description
        self.base_image = base_image
        self.base_image_registry = base_image_registry
        self.cuda_version = cuda_version
        self.environment = environment


def model_body(workspace: Any, name: str, tags: Any = None, properties: Any = None, description: Any = None, datasets: Any = None,
               model_framework: Any = None, model_framework_version: Any = None, sample_input_dataset: Any = None,
               sample_output_dataset: Any = None, resource_configuration: Any = None) -> dict[str, Any]:
    """What ``Model.register`` and ``Run.register_model`` say of a model, without its files."""
    body: dict[str, Any] = {"workspace": workspace.name, "name": values.check_name(name, "model_name"), "tags": _texts(tags, "tags"),
                            "properties": _texts(properties, "properties")}
    for key, value in (("description", description), ("framework", model_framework), ("framework_version", model_framework_version)):
        if value is not None:
            body[key] = str(value)
    if datasets:
        body["datasets"] = _references(workspace, datasets)
    body.update(_extras(workspace, sample_input_dataset, sample_output_dataset, resource_configuration))
    return body


def _extras(workspace: Any, sample_input: Any, sample_output: Any, resources: Any) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for key, dataset in (("sample_input_dataset", sample_input), ("sample_output_dataset", sample_output)):
        if dataset is not None:
            body[key] = _dataset_id(workspace, dataset, key)
    if resources is not None:
        given = {key: getattr(resources, key, None) for key in ("cpu", "memory_in_gb", "gpu")}
        body["resources"] = {key: value for key, value in given.items() if value is not None}
    return body


def _references(workspace: Any, datasets: Any) -> list[list[str]]:
    found = []
    for item in datasets:
        if not isinstance(item, (tuple, list)) or len(item) != 2 or not isinstance(item[0], str):
            raise UserErrorException("datasets must be a list of (scenario, dataset), such as (Dataset.Scenario.TRAINING, dataset)")
        found.append([item[0], _dataset_id(workspace, item[1], "datasets")])
    return found


def _dataset_id(workspace: Any, dataset: Any, argument: str) -> str:
    if not hasattr(dataset, "_kept"):
        raise UserErrorException(f"{argument} must be a dataset, not a value of type {type(dataset).__name__}")
    return dataset._kept(workspace)


def _files_of(model_path: Any, child_paths: Sequence[str] | None) -> list[tuple[str, str]]:
    """(path here, path in the model) of what is registered."""
    from ferry import artifacts

    try:
        path = os.path.abspath(os.fsdecode(os.fspath(model_path)))
    except TypeError:
        raise UserErrorException(f"model_path must be a path, not a value of type {type(model_path).__name__}") from None
    if not os.path.exists(path):
        raise WebserviceException(f"Error, provided model path \"{model_path}\" cannot be found; it is looked for in {os.getcwd()}")
    top = os.path.basename(path)
    if os.path.isfile(path):
        if child_paths:
            raise UserErrorException(f"child_paths needs a folder as model_path; '{model_path}' is a file")
        return [(path, values.check_artifact_name(top, "model_path"))]
    files = [(file, relative) for relative, file in artifacts.files_below(path)]
    if child_paths:
        wanted = [values.check_artifact_name(child, "child_paths") for child in child_paths]
        for child in wanted:
            if not any(relative == child or relative.startswith(child + "/") for _, relative in files):
                raise UserErrorException(f"child_paths: '{child}' names nothing below '{model_path}'")
        files = [(file, relative) for file, relative in files if any(relative == child or relative.startswith(child + "/") for child in wanted)]
    if not files:
        raise ModelPathNotFoundException(f"model_path: '{model_path}' has no files")
    if len(files) > _MOST_FILES:
        raise UserErrorException(f"model_path: '{model_path}' has {len(files)} files, more than {_MOST_FILES}")
    return [(file, values.check_artifact_name(top + "/" + relative if top else relative, "model_path")) for file, relative in files]


def _views(workspace: Any, name: str | None = None, tags: Any = None, properties: Any = None, run_id: str | None = None, latest: bool = False,
           dataset: str | None = None, framework: str | None = None) -> Any:
    query: dict[str, Any] = {"workspace": workspace.name, "name": name, "run": run_id, "framework": framework, "dataset": dataset,
                             "latest": "true" if latest else None, "tag": _conditions(tags, "tags") or None,
                             "property": _conditions(properties, "properties") or None}
    return workspace._client.pages("/models", "models", **{key: value for key, value in query.items() if value is not None})


def _conditions(given: Any, argument: str) -> list[str]:
    """Filters as the interface takes them: K or K=V."""
    if given is None:
        return []
    if isinstance(given, str):
        given = [given]
    if hasattr(given, "items"):
        given = list(given.items())
    found = []
    for item in given:
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, (list, tuple)) and len(item) == 2:
            found.append(str(item[0]) if item[1] is None else f"{item[0]}={item[1]}")
        else:
            raise UserErrorException(f"{argument} must be a list of keys and of [key, value], not of {item!r}")
    return found


def _fits(view: dict[str, Any], tags: Any, properties: Any, run_id: str | None, framework: str | None) -> bool:
    for key, given in (("tags", tags), ("properties", properties)):
        known = view.get(key) or {}
        for condition in _conditions(given, key):
            name, sign, value = condition.partition("=")
            if condition not in known and (name not in known or (sign and known[name] != value)):
                return False
    return (run_id is None or view.get("run") == run_id) and (framework is None or view.get("framework") == framework)


def _narrowed(*conditions: Any) -> str:
    return " with the tags, properties, run and framework asked for" if any(condition is not None for condition in conditions) else ""


def _cached(root: str, name: str, version: int | None) -> str | None:
    """The model below root/NAME/VERSION, or below root itself when it is that folder."""
    folder = os.path.join(root, name)
    if not os.path.isdir(folder):
        return None
    numbers = sorted((int(entry) for entry in os.listdir(folder) if entry.isdigit() and os.path.isdir(os.path.join(folder, entry))), reverse=True)
    for number in numbers if version is None else [version]:
        where = os.path.join(folder, str(number))
        entries = [entry for entry in os.listdir(where) if not entry.startswith(".ferry-")] if os.path.isdir(where) else []
        if entries:
            return os.path.join(where, entries[0]) if len(entries) == 1 else where
    return None


def _run_workspace() -> Any:
    """The workspace of the run that this process is inside; None outside of one."""
    from azureml.core.run import Run

    try:
        return Run.get_context(allow_offline=False).experiment.workspace
    except RunEnvironmentException:
        return None


def _texts(given: Any, argument: str) -> dict[str, str]:
    if given is None:
        return {}
    if not hasattr(given, "items"):
        raise UserErrorException(f"{argument} must be a dict, not a value of type {type(given).__name__}")
    return {values.check_name(key, argument): "" if value is None else str(value) for key, value in given.items()}


def _version(version: Any) -> int:
    try:
        number = int(version)
    except (TypeError, ValueError):
        number = 0
    if isinstance(version, bool) or number < 1:
        raise UserErrorException(f"version must be a whole number from 1, not {version!r}")
    return number


def _not_yet(what: str) -> Exception:
    return not_yet(what, "Model.download brings the files to where they are served.")
