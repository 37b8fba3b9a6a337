"""Data Lake Analytics accounts."""

from __future__ import annotations

from azureml.core.compute.compute import (ComputeTargetAttachConfiguration, ComputeTargetProvisioningConfiguration, _Attached,
                                          _one_place)

__all__ = ["AdlaAttachConfiguration", "AdlaCompute", "AdlaProvisioningConfiguration"]


class AdlaAttachConfiguration(ComputeTargetAttachConfiguration):
    """The arguments of :meth:`AdlaCompute.attach_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        _one_place({"resource_group": self.resource_group, "account_name": self.account_name}, self.resource_id)


class AdlaProvisioningConfiguration(ComputeTargetProvisioningConfiguration):
    """The arguments of :meth:`AdlaCompute.provisioning_configuration`."""


class AdlaCompute(_Attached):
    """A Data Lake Analytics account; used by steps of pipelines."""

    _compute_type = "DataLakeAnalytics"

    @staticmethod
    def attach_configuration(resource_group: str | None = None, account_name: str | None = None,
                             resource_id: str | None = None) -> AdlaAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for an account."""
        return AdlaAttachConfiguration(**locals())

    @staticmethod
    def provisioning_configuration(location: str | None = None) -> AdlaProvisioningConfiguration:
        """What :meth:`ComputeTarget.create` takes for an account."""
        return AdlaProvisioningConfiguration(**locals())


AdlaAttachConfiguration._target = AdlaCompute
AdlaProvisioningConfiguration._target = AdlaCompute
