"""Kusto clusters."""

from __future__ import annotations

from azureml.core.compute.compute import ComputeTargetAttachConfiguration, _Attached, _checked_text, _one_place

__all__ = ["KustoAttachConfiguration", "KustoCompute"]


class KustoAttachConfiguration(ComputeTargetAttachConfiguration):
    """The arguments of :meth:`KustoCompute.attach_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        _one_place({"resource_group": self.resource_group, "workspace_name": self.workspace_name}, self.resource_id)
        for name in ("kusto_connection_string", "application_id", "application_key", "tenant_id"):
            _checked_text(getattr(self, name), name)


class KustoCompute(_Attached):
    """A Kusto cluster; used by steps of pipelines."""

    _compute_type = "Kusto"

    @staticmethod
    def attach_configuration(resource_group: str | None = None, workspace_name: str | None = None, resource_id: str | None = None,
                             tenant_id: str | None = None, kusto_connection_string: str | None = None, application_id: str | None = None,
                             application_key: str | None = None) -> KustoAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for a cluster."""
        return KustoAttachConfiguration(**locals())


KustoAttachConfiguration._target = KustoCompute
