"""HDInsight clusters."""

from __future__ import annotations

from azureml.core.compute.compute import _SshConfiguration
from azureml.core.compute.remote import RemoteCompute

__all__ = ["HDInsightAttachConfiguration", "HDInsightCompute"]


class HDInsightAttachConfiguration(_SshConfiguration):
    """The arguments of :meth:`HDInsightCompute.attach_configuration`."""


class HDInsightCompute(RemoteCompute):
    """A Spark cluster that is there already, reached by SSH. It can be attached and not be created."""

    _compute_type = "HDInsight"

    @staticmethod
    def attach_configuration(username: str = "", address: str | None = None, ssh_port: int = 22, password: str | None = "",  # type: ignore[override]
                             private_key_file: str | None = "", private_key_passphrase: str | None = "",
                             resource_id: str | None = None) -> HDInsightAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for a cluster."""
        return HDInsightAttachConfiguration(**locals())


HDInsightAttachConfiguration._target = HDInsightCompute
