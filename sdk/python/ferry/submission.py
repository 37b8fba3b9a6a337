"""Submitting: everything is checked, then the source directory goes to the server, then the run as one request that can be sent twice."""

from __future__ import annotations

import os
import time
from typing import Any, Mapping

from azureml.exceptions import UserErrorException
from ferry import values


def new_id(experiment: str) -> str:
    """An id as Azure makes them: experiment, seconds, eight hex digits."""
    return "%s_%d_%s" % (experiment[:200], time.time(), os.urandom(4).hex())


def submit(experiment: Any, source_directory: Any, run_config: Any, tags: Mapping[str, str] | None = None, parent: str | None = None,
           run_id: str | None = None, type: str | None = None, properties: Mapping[str, str] | None = None, resume_from: Any = None) -> Any:
    """Submits what the run configuration says and gives the Run."""
    from azureml.core.run import Run
    from ferry import git, snapshot

    workspace = experiment.workspace
    folder = snapshot.check_folder(source_directory)
    request = dict(run_config._submission(workspace=workspace, source_directory=folder))
    resume(request, resume_from)
    if not request.get("script") and not request.get("command"):
        raise UserErrorException("there is nothing to run: give script or command")
    if request.get("script") and request.get("command"):
        raise UserErrorException("script and command cannot both be given: take one of them")
    script = request.get("script") or ""
    if script:
        script = request["script"] = script_inside(folder, script)
    request["id"] = values.check_name(run_id, "run_id") if run_id is not None else new_id(experiment.name)
    request["experiment"], request["workspace"] = experiment.name, workspace.name
    request.setdefault("source", os.path.basename(os.path.realpath(folder)))
    for key, value in (("parent", parent), ("type", type), ("tags", dict(tags) if tags else None)):
        if value is not None:
            request[key] = value
    facts = git.git_facts(folder)
    facts.update(properties or {})
    if facts:
        request["properties"] = {**facts, **(request.get("properties") or {})}
    taken = _scan(folder, script)
    answer = _send(workspace._client, request, taken)
    return Run(experiment, answer["id"], _view=None, _number=answer.get("number"))


def resume(request: dict[str, Any], resume_from: Any) -> None:
    """Lets the script find the checkpoints of an earlier run, or of a folder of a datastore."""
    if resume_from is None:
        return
    argument = getattr(resume_from, "_ferry_argument", None)
    if argument is None:
        datapath = getattr(resume_from, "_get_outputs_datapath", None)
        if datapath is None:
            raise UserErrorException(f"resume_from must be a Run or a DataPath, not a value of type {resume_from.__class__.__name__}")
        from azureml.data.datapath import DataPathComputeBinding

        argument = datapath().create_data_reference("MODEL_LOCATION", datapath_compute_binding=DataPathComputeBinding(mode="mount"))._ferry_argument
    request["arguments"] = [*request.get("arguments", ()), "--resume-from", argument(request)]


def script_inside(folder: str, script: str) -> str:
    """The script relative to the folder, with '/'. Raises UserErrorException when it is not there."""
    root = os.path.realpath(folder)
    full = os.path.normpath(script if os.path.isabs(script) else os.path.join(root, script))
    inside = os.path.relpath(os.path.realpath(full) if os.path.isabs(script) else full, root)
    if inside == ".." or inside.startswith(".." + os.sep) or os.path.isabs(inside):
        raise UserErrorException(f"script: '{script}' is outside of the source directory '{folder}'")
    path = os.path.join(root, inside)
    if not os.path.exists(path):
        real, hint = os.path.realpath(script), ""
        if real.startswith(root + os.sep) and os.path.isfile(real):
            hint = f"; a script is named from there: '{os.path.relpath(real, root)}'"
        raise UserErrorException(f"script: there is no '{script}' in the source directory '{folder}'{hint}")
    if not os.path.isfile(path):
        raise UserErrorException(f"script: '{script}' is not a file")
    return inside.replace(os.sep, "/")


def _scan(folder: str, script: str) -> Any:
    from ferry import snapshot

    taken = snapshot.scan(folder)
    if script and not taken.has(script):
        raise UserErrorException(f"script: '{script}' is left out of the snapshot" + (f" by {taken.ignore_file}" if taken.ignore_file else ""))
    if taken.notes:
        import warnings

        for note in taken.notes:
            warnings.warn(note, stacklevel=6)
    return taken


def _send(client: Any, request: dict[str, Any], taken: Any) -> dict[str, Any]:
    from ferry import snapshot
    from ferry.blobs import Changed
    from ferry.client import NotFound

    for attempt in range(2):
        request["snapshot"] = taken.id
        try:
            # Most snapshots are there already: the run is sent first, and the content only when it is asked for.
            return client.post("/runs", request, repeat=True)
        except NotFound as error:
            if error.slug == "target.not_found":
                raise _no_target(request, error) from None
            if error.slug != "snapshot.not_found":
                raise
        try:
            taken.upload(client)
            return client.post("/runs", request, repeat=True)
        except NotFound as error:
            raise _no_target(request, error) if error.slug == "target.not_found" else error
        except Changed as changed:
            if attempt:
                raise UserErrorException(f"'{changed.path}' keeps changing while it is sent; leave it out with .amlignore, or submit when it rests",
                                         changed) from None
            taken = snapshot.scan(taken.folder)
    raise AssertionError("unreachable")


def _no_target(request: dict[str, Any], error: Any) -> Exception:
    from azureml.exceptions import ComputeTargetException

    return ComputeTargetException(error.message, error)
