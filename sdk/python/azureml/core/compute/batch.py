"""Azure Batch accounts."""

from __future__ import annotations

from azureml.core.compute.compute import ComputeTargetAttachConfiguration, _Attached, _one_place

__all__ = ["BatchAttachConfiguration", "BatchCompute"]


class BatchAttachConfiguration(ComputeTargetAttachConfiguration):
    """The arguments of :meth:`BatchCompute.attach_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        _one_place({"resource_group": self.resource_group, "account_name": self.account_name}, self.resource_id)


class BatchCompute(_Attached):
    """An Azure Batch account; used by steps of pipelines."""

    _compute_type = "Batch"

    @staticmethod
    def attach_configuration(resource_group: str | None = None, account_name: str | None = None,
                             resource_id: str | None = None) -> BatchAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for an account."""
        return BatchAttachConfiguration(**locals())


BatchAttachConfiguration._target = BatchCompute
