"""A run as Azure's ``get_details()`` shows it."""

from __future__ import annotations

from typing import Any

from ferry import run_files, runs

# What ended because of the machines and not because of the script.
_NOT_THE_USER = ("preempted", "node_lost", "attempt_lost", "disk_full")
_LONGEST_LOG = 64 << 20


def details(workspace: Any, run_id: str, with_logs: bool = False) -> dict[str, Any]:
    """The details of a run; with ``with_logs`` the log files' texts instead of their addresses."""
    client = workspace._client
    view = client.get(runs.path(run_id))
    found: dict[str, Any] = {"runId": run_id, "target": view["target"], "status": view["status"]}
    for key, time in (("startTimeUtc", view.get("started")), ("endTimeUtc", view.get("ended"))):
        if time:
            found[key] = time
    if view["status"] in ("Failed", "NotResponding"):
        found["error"] = error(view)
    warnings = _warnings(view)
    if warnings:
        found["warnings"] = warnings
    definition = definition_of(client, run_id)
    found["properties"] = properties(view, definition)
    found["inputDatasets"] = [_input(workspace, item) for item in view.get("inputDatasets") or ()]
    found["outputDatasets"] = [_output(workspace, item) for item in view.get("outputDatasets") or ()]
    found["runDefinition"] = run_definition(view, definition)
    streams = run_files.logs(client, run_id)
    if with_logs:
        found["logFiles"] = {stream["name"]: b"".join(run_files.log_bytes(client, run_id, stream, _LONGEST_LOG)).decode("utf-8", "replace")
                             for stream in streams}
    else:
        from ferry.client import quote_path

        found["logFiles"] = {stream["name"]: f"{client.url}/api/v1{runs.path(run_id)}/logs/{quote_path(stream['name'])}" for stream in streams}
    found["submittedBy"] = view["user"]
    return found


def error(view: dict[str, Any]) -> dict[str, Any]:
    """How a run failed, in Azure's form."""
    end = view.get("end") or {}
    code = end.get("code") or ("ServiceError" if end.get("reason") in _NOT_THE_USER else "UserError")
    told: dict[str, Any] = {"code": code, "message": end.get("text") or f"the run is {view['status']}", "details": []}
    if end.get("reason"):
        told["reason"] = end["reason"]
    if end.get("exit"):
        told["exitCode"] = end["exit"].get("code")
    return {"error": told, "time": view.get("ended") or view.get("changed")}


def properties(view: dict[str, Any], definition: dict[str, Any]) -> dict[str, str]:
    """The run's properties with those that Azure adds."""
    found = dict(view.get("properties") or {})
    found.setdefault("_azureml.ComputeTargetType", "local" if view["target"] == "local" else view["target"])
    if definition.get("snapshot"):
        found.setdefault("ContentSnapshotId", definition["snapshot"])
    return found


def definition_of(client: Any, run_id: str) -> dict[str, Any]:
    """The run's whole specification."""
    return client.get(runs.path(run_id, "/definition"))


def run_definition(view: dict[str, Any], definition: dict[str, Any]) -> dict[str, Any]:
    """The run configuration as Azure's service writes it."""
    environment = definition.get("environment") or {}
    inner = dict(environment.get("definition") or {})
    inner.setdefault("name", environment.get("name"))
    inner.setdefault("version", environment.get("version"))
    variables = dict(inner.get("environmentVariables") or {})
    variables.update(definition.get("environment_variables") or {})
    inner["environmentVariables"] = variables
    command = definition.get("command") or []
    return {
        "script": definition.get("script") or None, "command": command[2] if command[:2] == ["sh", "-c"] and len(command) == 3 else command,
        "useAbsolutePath": False, "arguments": [str(argument) for argument in definition.get("arguments") or ()],
        "sourceDirectoryDataStore": None, "framework": definition.get("framework") or "Python",
        "communicator": definition.get("communicator") or "None", "target": view["target"], "dataReferences": {},
        "data": definition.get("data") or {}, "outputData": definition.get("outputs") or {}, "datacaches": [],
        "jobName": view["name"] if view.get("name") != view["id"] else None,
        "maxRunDurationSeconds": definition.get("max_duration_seconds") or None, "nodeCount": definition.get("node_count") or 1,
        "instanceTypes": [], "priority": view.get("priority") or None, "credentialPassthrough": False, "identity": None, "environment": inner,
        "history": {"outputCollection": definition.get("collect_outputs", True), "snapshotProject": definition.get("keep_snapshot", True),
                    "directoriesToWatch": definition.get("watch", ["logs"]), "enableMLflowTracking": True},
        "spark": {"configuration": {"spark.app.name": "Azure ML Experiment", "spark.yarn.maxAppAttempts": "1"}},
        "tensorflow": {"workerCount": 1, "parameterServerCount": 1}, "mpi": {"processCountPerNode": 1, "nodeCount": 1},
        "pytorch": {"communicationBackend": "nccl", "processCount": None, "nodeCount": 1}, "hdi": {"yarnDeployMode": "Cluster"},
        "containerInstance": {"region": None, "cpuCores": 2.0, "memoryGb": 3.5}, "exposedPorts": None,
        "docker": {"useDocker": bool((inner.get("docker") or {}).get("enabled")), "sharedVolumes": True,
                   "shmSize": (inner.get("docker") or {}).get("shmSize"), "arguments": (inner.get("docker") or {}).get("arguments") or []},
    }


def _warnings(view: dict[str, Any]) -> list[dict[str, str]]:
    end = view.get("end") or {}
    told = [{"source": "Ferry", "message": f"attempt {item['number']} ended: {item.get('detail') or item.get('reason')}; it was tried again"}
            for item in (view.get("attempts") or ())[:-1] if item.get("reason")]
    if view["status"] == "Canceled":
        told.append({"source": "Ferry", "message": end.get("text") or "the run was canceled"})
    return told


def _input(workspace: Any, item: dict[str, Any]) -> dict[str, Any]:
    return {"dataset": _dataset(workspace, item.get("dataset")),
            "consumptionDetails": {"type": "RunInput", "inputName": item.get("name"), "mechanism": str(item.get("mode") or "").capitalize(),
                                   "pathOnCompute": item.get("path")}}


def _output(workspace: Any, item: dict[str, Any]) -> dict[str, Any]:
    return {"identifier": {"savedId": item.get("dataset")}, "outputType": "RunOutput", "outputDetails": {"outputName": item.get("name")},
            "dataset": _dataset(workspace, item.get("dataset"))}


def _dataset(workspace: Any, dataset_id: str | None) -> Any:
    if not dataset_id:
        return None
    from azureml.core.dataset import Dataset

    return Dataset.get_by_id(workspace, dataset_id)
