"""Kubernetes clusters."""

from __future__ import annotations

from azureml.core.compute.compute import ComputeTargetAttachConfiguration, _Attached, _checked_text, _word
from azureml.exceptions import ComputeTargetException

__all__ = ["KubernetesCompute", "KubernetesComputeAttachConfiguration"]


class KubernetesComputeAttachConfiguration(ComputeTargetAttachConfiguration):
    """The arguments of :meth:`KubernetesCompute.attach_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        _checked_text(self.resource_id, "resource_id")
        if self.namespace is not None:
            _checked_text(self.namespace, "namespace")
        if self.identity_type is not None:
            self.identity_type = _word(self.identity_type, "identity_type", ("SystemAssigned", "UserAssigned", "None"))
        if self.identity_ids and self.identity_type != "UserAssigned":
            raise ComputeTargetException("identity_ids: has a meaning with identity_type 'UserAssigned' alone")


class KubernetesCompute(_Attached):
    """A Kubernetes cluster that is there already."""

    _compute_type = "Kubernetes"

    @staticmethod
    def attach_configuration(resource_id: str | None = None, namespace: str | None = None, identity_type: str | None = None,
                             identity_ids: list[str] | None = None) -> KubernetesComputeAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for a cluster."""
        return KubernetesComputeAttachConfiguration(**locals())

    @property
    def namespace(self) -> str | None:
        """The namespace that runs are in."""
        return self._inner.get("namespace")


KubernetesComputeAttachConfiguration._target = KubernetesCompute
