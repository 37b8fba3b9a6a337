"""Machines of one person."""

from __future__ import annotations

from typing import Any, Mapping

from azureml.core.compute import _service
from azureml.core.compute.compute import ComputeTarget, ComputeTargetProvisioningConfiguration, _tags, _together
from azureml.exceptions import ComputeTargetException

__all__ = ["ComputeInstance", "ComputeInstanceProvisioningConfiguration", "ComputeInstanceStatus"]


class ComputeInstanceStatus:
    """What the machine does: ``state`` is Running, Stopped, Starting and so on."""

    def __init__(self, view: Mapping[str, Any], provisioning_state: str | None) -> None:
        self.state: str | None = view.get("state")
        self.errors: Any = view.get("errors")
        self.created_by: Any = view.get("createdBy")
        self.creation_time: str | None = view.get("creationTime")
        self.modified_time: str | None = view.get("modifiedTime")
        self.last_operation: Any = view.get("lastOperation")
        self.applications: Any = view.get("applications")
        self.vm_size: str | None = view.get("vmSize")
        self.provisioning_state = provisioning_state

    def serialize(self) -> dict[str, Any]:
        """The status as a dict."""
        return {"state": self.state, "errors": self.errors, "createdBy": self.created_by, "creationTime": self.creation_time,
                "modifiedTime": self.modified_time, "lastOperation": self.last_operation, "applications": self.applications,
                "vmSize": self.vm_size, "provisioningState": self.provisioning_state}

    def __repr__(self) -> str:
        return f"ComputeInstanceStatus({self.serialize()!r})"


class ComputeInstanceProvisioningConfiguration(ComputeTargetProvisioningConfiguration):
    """The arguments of :meth:`ComputeInstance.provisioning_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        if not isinstance(self.vm_size, str):
            raise ComputeTargetException(f"vm_size: expected a text such as STANDARD_D2_V2, found {self.vm_size!r}")
        if not isinstance(self.ssh_public_access, bool):
            raise ComputeTargetException(f"ssh_public_access: expected True or False, found {self.ssh_public_access!r}")
        if self.ssh_public_access and not self.admin_user_ssh_public_key:
            raise ComputeTargetException("admin_user_ssh_public_key: must be given, because ssh_public_access is True")
        _together({"vnet_resourcegroup_name": self.vnet_resourcegroup_name, "vnet_name": self.vnet_name, "subnet_name": self.subnet_name})
        _together({"assigned_user_object_id": self.assigned_user_object_id, "assigned_user_tenant_id": self.assigned_user_tenant_id})
        _tags(self.tags)


class ComputeInstance(ComputeTarget):
    """A machine that one person works on, which can be started and stopped."""

    _compute_type = "ComputeInstance"
    _status_class = ComputeInstanceStatus

    @staticmethod
    def provisioning_configuration(vm_size: str = "", ssh_public_access: bool = False, admin_user_ssh_public_key: str | None = None,
                                   vnet_resourcegroup_name: str | None = None, vnet_name: str | None = None, subnet_name: str | None = None,
                                   tags: Mapping[str, str] | None = None, description: str | None = None,
                                   assigned_user_object_id: str | None = None,
                                   assigned_user_tenant_id: str | None = None) -> ComputeInstanceProvisioningConfiguration:
        """What :meth:`ComputeTarget.create` takes for a machine."""
        return ComputeInstanceProvisioningConfiguration(**locals())

    @staticmethod
    def supported_vmsizes(workspace: Any, location: str | None = None) -> list[dict[str, Any]]:
        """The sizes that a machine can have."""
        return _service.sizes(workspace)

    @property
    def vm_size(self) -> str | None:
        """The size of the machine."""
        return self._inner.get("vmSize")

    def start(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        """Starts the machine."""
        self._act("start", wait_for_completion, show_output)

    def stop(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        """Stops the machine."""
        self._act("stop", wait_for_completion, show_output)

    def restart(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        """Stops the machine and starts it again."""
        self._act("restart", wait_for_completion, show_output)

    def detach(self) -> None:
        """Always raises: a machine that was made here is deleted, not detached."""
        raise ComputeTargetException("Detach is not supported for ComputeInstance object. Try to use delete instead.")

    def _act(self, verb: str, wait: bool, show_output: bool) -> None:
        _service.act(self.workspace, self.name, verb, self._compute_type)
        if wait:
            self.wait_for_completion(show_output)


ComputeInstanceProvisioningConfiguration._target = ComputeInstance
