"""Databricks workspaces."""

from __future__ import annotations

from typing import Any

from azureml.core.compute import _service
from azureml.core.compute.compute import ComputeTargetAttachConfiguration, _Attached, _checked_text, _one_place

__all__ = ["DatabricksAttachConfiguration", "DatabricksCompute"]


class DatabricksAttachConfiguration(ComputeTargetAttachConfiguration):
    """The arguments of :meth:`DatabricksCompute.attach_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        _one_place({"resource_group": self.resource_group, "workspace_name": self.workspace_name}, self.resource_id)
        _checked_text(self.access_token, "access_token")


class DatabricksCompute(_Attached):
    """A Databricks workspace; used by steps of pipelines."""

    _compute_type = "Databricks"

    @staticmethod
    def attach_configuration(resource_group: str | None = None, workspace_name: str | None = None, access_token: str = "",
                             resource_id: str | None = None) -> DatabricksAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for a Databricks workspace."""
        return DatabricksAttachConfiguration(**locals())

    def get_credentials(self) -> dict[str, Any]:
        """The access token."""
        return _service.act(self.workspace, self.name, "read the credentials of", self._compute_type)


DatabricksAttachConfiguration._target = DatabricksCompute
