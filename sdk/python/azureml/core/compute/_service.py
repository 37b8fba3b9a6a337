"""Compute targets as the server keeps them. The classes of this package ask here and nowhere else.

The server has clusters, and the target ``local``, which is in no list. Everything that would make or change another kind raises the
sentence that says so, after its arguments were checked.
"""

from __future__ import annotations

from typing import Any, Mapping

from azureml.exceptions import ComputeTargetException
from ferry.not_yet import sentence

_NEXT = "Use the target 'local'."
_CLUSTERS = ("AmlCompute", "BatchAI")
_SCALE = ("min_nodes", "max_nodes", "idle_seconds_before_scaledown")
# What a cluster records and does not use. The password of its administrator is not sent.
_RECORDED = ("location", "admin_username", "admin_user_ssh_key", "vnet_resourcegroup_name", "vnet_name", "subnet_name", "identity_type",
             "identity_id")
_PRIORITIES = {"dedicated": "Dedicated", "lowpriority": "LowPriority"}
_SIZE_KEYS = ("name", "vCPUs", "gpus", "memoryGB", "maxResourceVolumeMB")


def views(workspace: Any) -> list[dict[str, Any]]:
    """All compute targets of the workspace, in the form of :meth:`ComputeTarget.serialize`."""
    return [_azure(workspace, one) for one in workspace._client.pages("/computetargets", "computetargets", workspace=workspace.name)
            if one.get("type") != "local"]


def view(workspace: Any, name: str) -> dict[str, Any]:
    """One compute target; ComputeTargetException when it is not there."""
    if name != "local":
        found = _asked(workspace, name, lambda client: client.get(_path(name), workspace=workspace.name))
        if found.get("type") != "local":
            return _azure(workspace, found)
    raise _absent(name)


def create(workspace: Any, name: str, kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Makes a compute target and returns its view; does not wait for it."""
    if kind not in _CLUSTERS:
        raise ComputeTargetException(sentence(f"Creating compute of type {kind}", _NEXT))
    body: dict[str, Any] = {"workspace": workspace.name, "name": name, "type": kind}
    for key in ("vm_size", "vm_priority", *_SCALE, "description"):
        if properties.get(key) is not None:
            body[key] = properties[key]
    if properties.get("tags"):
        body["tags"] = {key: "" if value is None else str(value) for key, value in properties["tags"].items()}
    recorded = {key: _text(properties[key]) for key in _RECORDED if properties.get(key)}
    if properties.get("remote_login_port_public_access", "NotSpecified") != "NotSpecified":
        recorded["remote_login_port_public_access"] = properties["remote_login_port_public_access"]
    if properties.get("enable_node_public_ip") is False:
        recorded["enable_node_public_ip"] = "false"
    if recorded:
        body["recorded"] = recorded
    return _azure(workspace, _asked(workspace, name, lambda client: client.post("/computetargets", body)))


def attach(workspace: Any, name: str, kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Takes what is there already as a compute target and returns its view; does not wait for it."""
    raise ComputeTargetException(sentence(f"Attaching compute of type {kind}", _NEXT))


def act(workspace: Any, name: str, verb: str, kind: str, properties: dict[str, Any] | None = None) -> dict[str, Any]:
    """Does what a verb says (delete, detach, update, start, stop, restart) and returns the view that is left; an empty one when nothing
    is."""
    if kind in _CLUSTERS and verb == "delete":
        _asked(workspace, name, lambda client: client.delete(_path(name), workspace=workspace.name))
        return {}
    if kind in _CLUSTERS and verb == "update":
        return _azure(workspace, _asked(workspace, name, lambda client: client.patch(_path(name), properties or {}, workspace=workspace.name)))
    raise ComputeTargetException(sentence(f"To {verb} compute of type {kind}", _NEXT))


def nodes(workspace: Any, name: str) -> list[dict[str, Any]]:
    """The nodes of a cluster, as Azure lists them."""
    found = _asked(workspace, name, lambda client: client.get(f"{_path(name)}/nodes", workspace=workspace.name))
    return [{"nodeId": one["name"], "privateIpAddress": None, "publicIpAddress": None, "port": None, "nodeState": one.get("state"),
             "runId": next(iter(one.get("runs") or ()), None)} for one in found.get("nodes") or ()]


def sizes(workspace: Any) -> list[dict[str, Any]]:
    """The sizes of machines that can be asked for, as Azure lists them: name, vCPUs, gpus, memoryGB, maxResourceVolumeMB."""
    return [{key: one.get(key) for key in _SIZE_KEYS} for one in workspace._client.get("/vmsizes", workspace=workspace.name)["vmsizes"]]


def _path(name: str) -> str:
    from ferry.client import quote

    return f"/computetargets/{quote(name)}"


def _absent(name: str) -> ComputeTargetException:
    return ComputeTargetException(f"ComputeTargetNotFound: Compute Target with name {name} not found in provided workspace")


def _asked(workspace: Any, name: str, call: Any) -> Any:
    """What the server answers. What it does not find or refuses is a ComputeTargetException."""
    from ferry.client import Conflict, NotFound, Refused

    try:
        return call(workspace._client)
    except NotFound as error:
        if error.slug.startswith("workspace."):
            raise
        raise _absent(name) from None
    except (Conflict, Refused) as error:
        if error.slug == "server.protocol":
            raise
        raise ComputeTargetException(error.message) from None


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _azure(workspace: Any, target: Mapping[str, Any]) -> dict[str, Any]:
    """The server's view in Azure's form."""
    recorded = target.get("recorded") or {}
    idle = target.get("idle_seconds_before_scaledown")
    inner: dict[str, Any] = {
        "vmSize": target.get("vm_size"), "vmPriority": _PRIORITIES.get(str(target.get("vm_priority")), target.get("vm_priority")),
        "scaleSettings": {"minNodeCount": target.get("min_nodes"), "maxNodeCount": target.get("max_nodes"),
                          "nodeIdleTimeBeforeScaleDown": None if idle is None else f"PT{idle}S"}}
    status = target.get("status")
    if status is not None:
        counts = status.get("node_state_counts") or {}
        inner["status"] = {
            "currentNodeCount": status.get("current_node_count"), "targetNodeCount": status.get("target_node_count"),
            "nodeStateCounts": {f"{name}NodeCount": counts.get(name, 0)
                                for name in ("preparing", "running", "idle", "unusable", "leaving", "preempted")},
            "allocationState": status.get("allocation_state"), "allocationStateTransitionTime": status.get("allocation_state_transition_time"),
            "errors": status.get("errors"), "creationTime": target.get("created"), "modifiedTime": target.get("modified"), **inner}
    identity = (f"/subscriptions/{getattr(workspace, 'subscription_id', '') or 'ferry'}/resourceGroups/"
                f"{getattr(workspace, 'resource_group', '') or 'ferry'}/providers/Microsoft.MachineLearningServices/workspaces/"
                f"{workspace.name}/computes/{target['name']}")
    return {"id": identity, "name": target["name"], "tags": dict(target.get("tags") or {}), "location": recorded.get("location"),
            "properties": {"computeType": target.get("type"), "computeLocation": recorded.get("location"),
                           "description": target.get("description") or None, "resourceId": None, "createdOn": target.get("created"),
                           "modifiedOn": target.get("modified"), "isAttachedCompute": False,
                           "provisioningErrors": target.get("provisioning_errors"), "provisioningState": target.get("provisioning_state"),
                           "properties": inner}}
