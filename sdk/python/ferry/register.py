"""Files of a run as a model."""

from __future__ import annotations

import os
from typing import Any, Mapping

from azureml.exceptions import ModelPathNotFoundException, UserErrorException
from ferry import values


def from_run(run: Any, model_name: str, model_path: str | None, **given: Any) -> Any:
    """Registers the model and gives it as a Model."""
    from azureml.core.model import Model
    from ferry.client import NotFound

    workspace = run.experiment.workspace
    path = values.check_artifact_name(model_path if model_path is not None else values.check_name(model_name, "model_name"), "model_path")
    body: dict[str, Any] = {"name": values.check_name(model_name, "model_name"), "workspace": workspace.name, "run": run.id, "experiment": run.experiment.name}
    for key, value in (("description", given["description"]), ("framework", given["model_framework"]),
                       ("framework_version", given["model_framework_version"]), ("sample_input_dataset", _id_of(given["sample_input_dataset"])),
                       ("sample_output_dataset", _id_of(given["sample_output_dataset"]))):
        if value is not None:
            body[key] = str(value)
    for key in ("tags", "properties"):
        if given[key]:
            body[key] = _texts(given[key], key)
    if given["datasets"]:
        body["datasets"] = [[str(scenario), _id_of(dataset)] for scenario, dataset in given["datasets"]]
    resources = given["resource_configuration"]
    if resources is not None:
        body["resources"] = {key: getattr(resources, key) for key in ("cpu", "memory_in_gb", "gpu") if getattr(resources, key, None) is not None}
    local = _local(run, path)
    if local:
        contents = workspace._client.put_blobs([file for _, file in local])
        body["files"] = [{"path": name, "digest": digest, "size": size} for (name, _), (digest, size) in zip(local, contents)]
    else:
        body["path"] = path
    try:
        answer = workspace._client.post("/models", body)
    except NotFound as error:
        if error.slug == "model.path":
            raise ModelPathNotFoundException(error.message, error) from None
        raise
    return Model(workspace, name=answer["name"], version=answer["version"])


def _local(run: Any, path: str) -> list[tuple[str, str]]:
    """What the script itself has there: it need not have reached the server yet."""
    if run._channel is None:
        return []
    from ferry import artifacts

    for folder in (run._artifacts, os.getcwd()):
        full = os.path.join(folder, *path.split("/")) if folder else ""
        name = path.rpartition("/")[2]
        if full and os.path.isfile(full):
            return [(name, full)]
        if full and os.path.isdir(full):
            return [(name + "/" + relative, file) for relative, file in artifacts.files_below(full)]
    return []


def _id_of(dataset: Any) -> str | None:
    return None if dataset is None else str(getattr(dataset, "id", dataset))


def _texts(value: Any, argument: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise UserErrorException(f"{argument} must be a dict, not a value of type {type(value).__name__}")
    return {str(key): "" if item is None else str(item) for key, item in value.items()}
