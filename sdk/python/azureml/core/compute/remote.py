"""Machines that are reached by SSH."""

from __future__ import annotations

from azureml.core.compute.compute import _Attached, _SshConfiguration

__all__ = ["RemoteCompute", "RemoteComputeAttachConfiguration"]


class RemoteComputeAttachConfiguration(_SshConfiguration):
    """The arguments of :meth:`RemoteCompute.attach_configuration`."""


class RemoteCompute(_Attached):
    """A machine that is there already, with Ubuntu or Debian on it. Attach one machine once."""

    _compute_type = "VirtualMachine"

    @staticmethod
    def attach_configuration(username: str = "", address: str | None = None, ssh_port: int = 22, password: str | None = "",
                             private_key_file: str | None = "", private_key_passphrase: str | None = "",
                             resource_id: str | None = None) -> RemoteComputeAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for a machine."""
        return RemoteComputeAttachConfiguration(**locals())

    @property
    def address(self) -> str | None:
        """Its name or IP address."""
        return self._inner.get("address")

    @property
    def ssh_port(self) -> int | None:
        """The port of its SSH server."""
        return self._inner.get("sshPort")

    @property
    def username(self) -> str | None:
        """Who logs in."""
        return (self._inner.get("administratorAccount") or {}).get("username") or self._inner.get("username")


RemoteComputeAttachConfiguration._target = RemoteCompute
