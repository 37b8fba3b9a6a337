"""Files of a run as a model."""

from __future__ import annotations

import os
from typing import Any

from azureml.exceptions import ModelPathNotFoundException
from ferry import values


def from_run(run: Any, model_name: str, model_path: str | None, **given: Any) -> Any:
    """Registers the model and gives it as a Model."""
    from azureml.core.model import Model, model_body
    from ferry.client import NotFound

    workspace = run.experiment.workspace
    path = values.check_artifact_name(model_path if model_path is not None else values.check_name(model_name, "model_name"), "model_path")
    body = model_body(workspace, model_name, **given)
    body["run"] = run.id
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
    return Model._open(workspace, answer)


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

