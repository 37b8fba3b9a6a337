"""Data factories."""

from __future__ import annotations

from azureml.core.compute.compute import ComputeTargetAttachConfiguration, ComputeTargetProvisioningConfiguration, _Attached, _one_place

__all__ = ["DataFactoryAttachConfiguration", "DataFactoryCompute", "DataFactoryProvisioningConfiguration"]


class DataFactoryAttachConfiguration(ComputeTargetAttachConfiguration):
    """The arguments of :meth:`DataFactoryCompute.attach_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        _one_place({"resource_group": self.resource_group, "factory_name": self.factory_name}, self.resource_id)


class DataFactoryProvisioningConfiguration(ComputeTargetProvisioningConfiguration):
    """The arguments of :meth:`DataFactoryCompute.provisioning_configuration`."""


class DataFactoryCompute(_Attached):
    """A data factory; used by steps of pipelines that move data."""

    _compute_type = "DataFactory"

    @staticmethod
    def attach_configuration(resource_group: str | None = None, factory_name: str | None = None,
                             resource_id: str | None = None) -> DataFactoryAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for a data factory."""
        return DataFactoryAttachConfiguration(**locals())

    @staticmethod
    def provisioning_configuration(location: str | None = None) -> DataFactoryProvisioningConfiguration:
        """What :meth:`ComputeTarget.create` takes for a data factory."""
        return DataFactoryProvisioningConfiguration(**locals())


DataFactoryAttachConfiguration._target = DataFactoryCompute
DataFactoryProvisioningConfiguration._target = DataFactoryCompute
