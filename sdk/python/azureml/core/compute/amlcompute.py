"""Managed clusters that grow and shrink."""

from __future__ import annotations

from typing import Any, Mapping

from azureml.core.compute import _service
from azureml.core.compute.compute import (ComputeTarget, ComputeTargetProvisioningConfiguration, _tags, _together, _whole, _word)
from azureml.exceptions import ComputeTargetException

__all__ = ["AmlCompute", "AmlComputeProvisioningConfiguration", "AmlComputeStatus", "ScaleSettings"]

_DEFAULT_SIZE = "Standard_NC6"
_DEFAULT_NODES = 4


class ScaleSettings:
    """Between how many nodes a cluster is, and for how long one may be idle."""

    def __init__(self, minimum_node_count: int | None = None, maximum_node_count: int | None = None,
                 idle_seconds_before_scaledown: int | None = None) -> None:
        self.minimum_node_count = minimum_node_count
        self.maximum_node_count = maximum_node_count
        self.idle_seconds_before_scaledown = idle_seconds_before_scaledown

    def serialize(self) -> dict[str, Any]:
        """The settings as a dict."""
        seconds = self.idle_seconds_before_scaledown
        return {"minNodeCount": self.minimum_node_count, "maxNodeCount": self.maximum_node_count,
                "nodeIdleTimeBeforeScaleDown": None if seconds is None else f"PT{seconds}S"}


class AmlComputeStatus:
    """How many nodes a cluster has, and what they do."""

    def __init__(self, view: Mapping[str, Any], provisioning_state: str | None) -> None:
        scale = view.get("scaleSettings") or {}
        self.allocation_state: str | None = view.get("allocationState")
        self.allocation_state_transition_time: str | None = view.get("allocationStateTransitionTime")
        self.creation_time: str | None = view.get("creationTime")
        self.current_node_count: int | None = view.get("currentNodeCount")
        self.errors: Any = view.get("errors")
        self.modified_time: str | None = view.get("modifiedTime")
        self.node_state_counts = _NodeStateCounts(view.get("nodeStateCounts") or {})
        self.provisioning_state = provisioning_state
        self.provisioning_state_transition_time: str | None = view.get("provisioningStateTransitionTime")
        self.scale_settings = ScaleSettings(scale.get("minNodeCount"), scale.get("maxNodeCount"), _seconds(scale.get("nodeIdleTimeBeforeScaleDown")))
        self.target_node_count: int | None = view.get("targetNodeCount")
        self.vm_priority: str | None = view.get("vmPriority")
        self.vm_size: str | None = view.get("vmSize")

    def serialize(self) -> dict[str, Any]:
        """The status as a dict."""
        return {"currentNodeCount": self.current_node_count, "targetNodeCount": self.target_node_count,
                "nodeStateCounts": self.node_state_counts.serialize(), "allocationState": self.allocation_state,
                "allocationStateTransitionTime": self.allocation_state_transition_time, "errors": self.errors, "creationTime": self.creation_time,
                "modifiedTime": self.modified_time, "provisioningState": self.provisioning_state,
                "provisioningStateTransitionTime": self.provisioning_state_transition_time, "scaleSettings": self.scale_settings.serialize(),
                "vmPriority": self.vm_priority, "vmSize": self.vm_size}

    def __repr__(self) -> str:
        return f"AmlComputeStatus({self.serialize()!r})"


class _NodeStateCounts:
    """How many nodes are in each state."""

    _NAMES = ("preparing", "running", "idle", "unusable", "leaving", "preempted")

    def __init__(self, view: Mapping[str, Any]) -> None:
        for name in self._NAMES:
            setattr(self, name, view.get(f"{name}NodeCount", 0))

    def serialize(self) -> dict[str, int]:
        """The counts as a dict."""
        return {f"{name}NodeCount": getattr(self, name) for name in self._NAMES}


class AmlComputeProvisioningConfiguration(ComputeTargetProvisioningConfiguration):
    """The arguments of :meth:`AmlCompute.provisioning_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        if not isinstance(self.vm_size, str):
            raise ComputeTargetException(f"vm_size: expected a text such as STANDARD_D2_V2, found {self.vm_size!r}")
        self.vm_size = self.vm_size or _DEFAULT_SIZE
        self.vm_priority = _word(self.vm_priority, "vm_priority", ("dedicated", "lowpriority"))
        self.min_nodes = _whole(self.min_nodes if self.min_nodes is not None else 0, "min_nodes", 0)
        self.max_nodes = _whole(self.max_nodes if self.max_nodes is not None else max(_DEFAULT_NODES, self.min_nodes), "max_nodes", 1)
        if self.min_nodes > self.max_nodes:
            raise ComputeTargetException(f"min_nodes: is {self.min_nodes}, more than max_nodes {self.max_nodes}")
        self.idle_seconds_before_scaledown = _whole(self.idle_seconds_before_scaledown, "idle_seconds_before_scaledown", 0, 30 * 86400)
        if (self.admin_user_password or self.admin_user_ssh_key) and not self.admin_username:
            raise ComputeTargetException("admin_username: must be given with admin_user_password or admin_user_ssh_key")
        if self.admin_username and not (self.admin_user_password or self.admin_user_ssh_key):
            raise ComputeTargetException("admin_user_password: must be given with admin_username, or admin_user_ssh_key")
        _together({"vnet_resourcegroup_name": self.vnet_resourcegroup_name, "vnet_name": self.vnet_name, "subnet_name": self.subnet_name})
        _tags(self.tags)
        self.remote_login_port_public_access = _word(self.remote_login_port_public_access, "remote_login_port_public_access",
                                                     ("Enabled", "Disabled", "NotSpecified"))
        if self.identity_type is not None:
            self.identity_type = _word(self.identity_type, "identity_type", ("SystemAssigned", "UserAssigned"))
        if self.identity_id and self.identity_type != "UserAssigned":
            raise ComputeTargetException("identity_id: has a meaning with identity_type 'UserAssigned' alone")
        if self.identity_type == "UserAssigned" and not self.identity_id:
            raise ComputeTargetException("identity_id: must be given, because identity_type is 'UserAssigned'")
        if not isinstance(self.enable_node_public_ip, bool):
            raise ComputeTargetException(f"enable_node_public_ip: expected True or False, found {self.enable_node_public_ip!r}")


class AmlCompute(ComputeTarget):
    """A cluster that grows to ``max_nodes`` when runs wait, and shrinks to ``min_nodes`` when none do."""

    _compute_type = "AmlCompute"
    _status_class = AmlComputeStatus

    @staticmethod
    def provisioning_configuration(vm_size: str = "", vm_priority: str = "dedicated", min_nodes: int = 0, max_nodes: int | None = None,
                                   idle_seconds_before_scaledown: int = 1800, admin_username: str | None = None,
                                   admin_user_password: str | None = None, admin_user_ssh_key: str | None = None,
                                   vnet_resourcegroup_name: str | None = None, vnet_name: str | None = None, subnet_name: str | None = None,
                                   tags: Mapping[str, str] | None = None, description: str | None = None,
                                   remote_login_port_public_access: str = "NotSpecified", identity_type: str | None = None,
                                   identity_id: list[str] | None = None, location: str | None = None,
                                   enable_node_public_ip: bool = True) -> AmlComputeProvisioningConfiguration:
        """What :meth:`ComputeTarget.create` takes for a cluster. Names of Azure's network, region and identity are recorded."""
        return AmlComputeProvisioningConfiguration(**locals())

    @staticmethod
    def supported_vmsizes(workspace: Any, location: str | None = None) -> list[dict[str, Any]]:
        """The sizes of machines that a cluster can have."""
        return _service.sizes(workspace)

    @property
    def status(self) -> AmlComputeStatus:
        """The state as it was last asked for; asked for now when a list gave the target without it."""
        if not self._inner.get("status"):
            self.refresh_state()
        return super().status

    @property
    def vm_size(self) -> str | None:
        """The size of its machines."""
        return self._inner.get("vmSize")

    @property
    def vm_priority(self) -> str | None:
        """Whether its machines can be taken away."""
        return self._inner.get("vmPriority")

    @property
    def scale_settings(self) -> ScaleSettings:
        """Between how many nodes it is."""
        return self.status.scale_settings

    def update(self, min_nodes: int | None = None, max_nodes: int | None = None, idle_seconds_before_scaledown: int | None = None) -> None:
        """Changes how it grows and shrinks; what is not given stays."""
        given: dict[str, Any] = {}
        if min_nodes is not None:
            given["min_nodes"] = _whole(min_nodes, "min_nodes", 0)
        if max_nodes is not None:
            given["max_nodes"] = _whole(max_nodes, "max_nodes", 1)
        if idle_seconds_before_scaledown is not None:
            given["idle_seconds_before_scaledown"] = _whole(idle_seconds_before_scaledown, "idle_seconds_before_scaledown", 0, 30 * 86400)
        if not given:
            raise ComputeTargetException("update: min_nodes, max_nodes or idle_seconds_before_scaledown must be given")
        if given.get("min_nodes", 0) > given.get("max_nodes", 1_000_000):
            raise ComputeTargetException(f"min_nodes: is {given['min_nodes']}, more than max_nodes {given['max_nodes']}")
        self._take(self.workspace, _service.act(self.workspace, self.name, "update", self._compute_type, given))

    def list_nodes(self) -> list[dict[str, Any]]:
        """Its nodes: ``nodeId``, ``nodeState``, ``runId``, and ``privateIpAddress``, ``publicIpAddress`` and ``port`` where they have some."""
        return _service.nodes(self.workspace, self.name)

    def add_identity(self, identity_type: str, identity_id: list[str] | None = None) -> None:
        """Records an identity of Azure's."""
        kind = _word(identity_type, "identity_type", ("SystemAssigned", "UserAssigned"))
        _service.act(self.workspace, self.name, "add an identity to", self._compute_type, {"identity_type": kind, "identity_id": identity_id})

    def remove_identity(self, identity_id: list[str] | None = None) -> None:
        """Removes a recorded identity."""
        _service.act(self.workspace, self.name, "remove an identity from", self._compute_type, {"identity_id": identity_id})

    def detach(self) -> None:
        """A cluster is part of the workspace: it can be deleted, and nothing of it would stay."""
        raise ComputeTargetException(f"compute target '{self.name}' cannot be detached: it was made here. Use delete() instead.")

    def _is_over(self, min_node_count: int | None) -> bool:
        if not super()._is_over(min_node_count):
            return False
        status = self.status
        wanted = min_node_count if min_node_count is not None else (status.scale_settings.minimum_node_count or 0)
        return self.provisioning_state == "Failed" or (status.current_node_count or 0) >= wanted

    def _tell_end(self, in_time: bool) -> None:
        print(f"{self._compute_type} wait for completion finished\n", flush=True)
        if in_time:
            print("Minimum number of nodes requested have been provisioned", flush=True)
        else:
            print(f'Wait timeout has been reached\nCurrent provisioning state of {self._compute_type} is "{self.provisioning_state}" and '
                  f'current node count is "{self.status.current_node_count}"', flush=True)


AmlComputeProvisioningConfiguration._target = AmlCompute


def _seconds(text: Any) -> int | None:
    """PT1800S or PT30M as seconds."""
    import re

    if isinstance(text, (int, float)):
        return int(text)
    match = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?", text or "")
    return sum(int(part or 0) * unit for part, unit in zip(match.groups(), (3600, 60, 1))) if match and text != "PT" else None
