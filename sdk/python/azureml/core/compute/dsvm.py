"""Data Science Virtual Machines."""

from __future__ import annotations

from typing import Any

from azureml.core.compute.compute import ComputeTarget, ComputeTargetProvisioningConfiguration, _whole
from azureml.core.compute.remote import RemoteCompute
from azureml.exceptions import ComputeTargetException

__all__ = ["DsvmCompute", "DsvmComputeProvisioningConfiguration"]


class DsvmComputeProvisioningConfiguration(ComputeTargetProvisioningConfiguration):
    """The arguments of :meth:`DsvmCompute.provisioning_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        if self.vm_size is not None and not isinstance(self.vm_size, str):
            raise ComputeTargetException(f"vm_size: expected a text such as Standard_D2_v2, found {self.vm_size!r}")
        if self.ssh_port is not None:
            self.ssh_port = _whole(self.ssh_port, "ssh_port", 1, 65535)


class DsvmCompute(RemoteCompute):
    """A machine that is made for data scientists, reached by SSH."""

    _compute_type = "VirtualMachine"

    @staticmethod
    def provisioning_configuration(vm_size: str | None = None, ssh_port: int | None = None,
                                   location: str | None = None) -> DsvmComputeProvisioningConfiguration:
        """What :meth:`create` takes."""
        return DsvmComputeProvisioningConfiguration(**locals())

    @staticmethod
    def create(workspace: Any, name: str, provisioning_configuration: Any) -> ComputeTarget:
        """Makes a machine."""
        return ComputeTarget.create(workspace, name, provisioning_configuration)


DsvmComputeProvisioningConfiguration._target = DsvmCompute
