"""Spark pools of Synapse."""

from __future__ import annotations

from typing import Any

from azureml.core.compute.compute import ComputeTargetAttachConfiguration, _Attached, _checked_text, _word
from azureml.exceptions import ComputeTargetException

__all__ = ["SynapseCompute", "SynapseAttachConfiguration"]


class SynapseAttachConfiguration(ComputeTargetAttachConfiguration):
    """The arguments of :meth:`SynapseCompute.attach_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        if self.linked_service is None:
            raise ComputeTargetException("linked_service: must be given")
        self.type = _word(self.type, "type", ("SynapseSpark",))
        _checked_text(self.pool_name, "pool_name")


class SynapseCompute(_Attached):
    """A Spark pool of Synapse; used by steps of pipelines."""

    _compute_type = "SynapseSpark"

    @staticmethod
    def attach_configuration(linked_service: Any = None, type: str = "SynapseSpark", pool_name: str | None = None) -> SynapseAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for a pool."""
        return SynapseAttachConfiguration(**locals())


SynapseAttachConfiguration._target = SynapseCompute
