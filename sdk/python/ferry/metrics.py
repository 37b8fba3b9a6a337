"""Metrics in the shapes that Azure's ``get_metrics()`` has."""

from __future__ import annotations

from typing import Any

from azureml.exceptions import UserErrorException
from ferry import runs

_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_LARGEST_DOCUMENT = 64 << 20


def read(run: Any, name: str | None, recursive: bool, run_type: str | None, populate: bool) -> dict[str, Any]:
    """The metrics of a run by name; recursively by run id and name."""
    if name is not None and not isinstance(name, str):
        raise UserErrorException(f"name must be a string, not a value of type {type(name).__name__}")
    workspace = run.experiment.workspace
    if not recursive:
        return _of_one(workspace._client, run.id, name, populate)
    found = {run.id: _of_one(workspace._client, run.id, name, populate)} if run_type is None or run.type == run_type else {}
    for view in runs.descendants(workspace, run.id, True, type=run_type):
        found[view["id"]] = _of_one(workspace._client, view["id"], name, populate)
    return found


def _of_one(client: Any, run_id: str, name: str | None, populate: bool) -> dict[str, Any]:
    answer = client.get(runs.path(run_id, "/metrics"), values=1)
    kinds = {item["name"]: item["kind"] for item in answer["metrics"]}
    return {metric: _shaped(client, run_id, kinds.get(metric, ""), value, populate) for metric, value in answer["values"].items()
            if name is None or metric == name}


def _shaped(client: Any, run_id: str, kind: str, value: Any, populate: bool) -> Any:
    if kind == "text":
        return value
    if kind == "image":
        return [_artifact(run_id, one) for one in value] if isinstance(value, list) else _artifact(run_id, value)
    if kind == "row" and isinstance(value, dict) and "artifact" in value and "schema_type" in value:
        return _document(client, run_id, value) if populate else _artifact(run_id, value)
    return _numbers(value)


def _artifact(run_id: str, value: Any) -> Any:
    """The reference by which Azure names a file of a run."""
    name = value.get("artifact") if isinstance(value, dict) else None
    return f"aml://artifactId/ExperimentRun/dcid.{run_id}/{name}" if name else value


def _document(client: Any, run_id: str, value: dict[str, Any]) -> Any:
    import json

    from ferry.client import quote_path

    return json.loads(client.read(runs.path(run_id, "/artifacts/" + quote_path(value["artifact"])))[:_LARGEST_DOCUMENT])


def _numbers(value: Any) -> Any:
    """JSON has no NaN and no infinities: they come as words."""
    if isinstance(value, str):
        return _NUMBERS.get(value, value)
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    return value
