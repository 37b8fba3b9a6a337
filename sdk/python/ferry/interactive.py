"""Runs that this process drives itself: started here, ended here, their files kept when they end."""

from __future__ import annotations

import os
import time
from typing import Any, Mapping

from azureml.exceptions import UserErrorException
from ferry import runs, values
from ferry.submission import new_id


def start(experiment: Any, name: str | None = None, run_id: str | None = None, outputs: Any = None, snapshot_directory: Any = None,
          parent: str | None = None, tags: Mapping[str, str] | None = None) -> Any:
    """Starts an interactive run and gives it."""
    from azureml.core.run import Run
    from ferry import git, snapshot

    if outputs is not None and outputs is not False and not isinstance(outputs, (str, os.PathLike)):
        raise UserErrorException(f"outputs must be a folder, or False, not a value of type {type(outputs).__name__}")
    workspace = experiment.workspace
    request: dict[str, Any] = {"id": values.check_name(run_id, "run_id") if run_id is not None else new_id(experiment.name),
                               "workspace": workspace.name, "experiment": experiment.name, "interactive": True}
    for key, value in (("name", name), ("parent", parent), ("tags", dict(tags) if tags else None)):
        if value is not None:
            request[key] = value
    if snapshot_directory is not None:
        folder = snapshot.check_folder(snapshot_directory, "snapshot_directory")
        taken = snapshot.scan(folder)
        request["source"] = os.path.basename(os.path.realpath(folder))
        facts = git.git_facts(folder)
        if facts:
            request["properties"] = facts
        request["snapshot"] = taken.upload(workspace._client)
    answer = workspace._client.post("/runs", request, repeat=True)
    return Run(experiment, answer["id"], outputs=outputs, _number=answer.get("number"), _driven=Outputs(outputs))


class Outputs:
    """The folder whose files become artifacts when the run ends. One that nobody named counts only what was written since the start."""

    def __init__(self, folder: Any) -> None:
        self._everything = folder is not None and folder is not False
        self._folder = "" if folder is False else os.path.abspath(os.fsdecode(os.fspath(folder)) if folder is not None else "outputs")
        self._since = time.time() - 0.01

    def collect(self, client: Any, run_id: str) -> None:
        """Keeps the files."""
        if not self._folder or not os.path.isdir(self._folder):
            return
        from ferry import artifacts, run_files

        found = [("outputs/" + relative, path) for relative, path in artifacts.files_below(self._folder)
                 if self._everything or os.stat(path).st_mtime >= self._since]
        there = {item["path"]: item["digest"] for item in run_files.artifacts(client, run_id, "outputs/")} if found else {}
        for (name, _), (digest, size) in zip(found, client.put_blobs([path for _, path in found])):
            # What was uploaded under this name by hand stays.
            if name not in there:
                run_files.declare(client, run_id, name, digest, size)


def end(client: Any, run_id: str, failure: Mapping[str, Any] | None) -> None:
    """Ends the run: completed, or failed with a message and a code."""
    if failure is None:
        client.post(runs.path(run_id, "/complete"), {}, repeat=True)
        return
    body = {"message": failure.get("message") or "", **({"code": failure["code"]} if failure.get("code") else {})}
    client.post(runs.path(run_id, "/fail"), body, repeat=True)
