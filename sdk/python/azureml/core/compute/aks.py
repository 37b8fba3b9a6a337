"""Kubernetes clusters that serve models."""

from __future__ import annotations

from typing import Any, Mapping

from azureml.core.compute import _service
from azureml.core.compute.compute import (ComputeTargetAttachConfiguration, ComputeTargetProvisioningConfiguration, _Attached, _one_place, _tags,
                                          _together, _whole, _word)
from azureml.exceptions import ComputeTargetException

__all__ = ["AksAttachConfiguration", "AksCompute", "AksProvisioningConfiguration"]

_PURPOSES = ("FastProd", "DevTest")


class _ClusterPurpose:
    """What a cluster is for."""

    FAST_PROD = "FastProd"
    DEV_TEST = "DevTest"


class AksProvisioningConfiguration(ComputeTargetProvisioningConfiguration):
    """The arguments of :meth:`AksCompute.provisioning_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        self.cluster_purpose = _word(self.cluster_purpose, "cluster_purpose", _PURPOSES) if self.cluster_purpose is not None else "FastProd"
        if self.agent_count is not None:
            self.agent_count = _whole(self.agent_count, "agent_count", 1 if self.cluster_purpose == "DevTest" else 3)
        self.load_balancer_type = _word(self.load_balancer_type or "PublicIp", "load_balancer_type", ("PublicIp", "InternalLoadBalancer"))
        _together({"vnet_resourcegroup_name": self.vnet_resourcegroup_name, "vnet_name": self.vnet_name, "subnet_name": self.subnet_name})
        files = {"ssl_cname": self.ssl_cname, "ssl_cert_pem_file": self.ssl_cert_pem_file, "ssl_key_pem_file": self.ssl_key_pem_file}
        if self.leaf_domain_label and any(files.values()):
            raise ComputeTargetException("leaf_domain_label and the ssl_* arguments exclude each other; give one of them")
        _together(files)
        _tags(self.tags)


class AksAttachConfiguration(ComputeTargetAttachConfiguration):
    """The arguments of :meth:`AksCompute.attach_configuration`."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""
        _one_place({"resource_group": self.resource_group, "cluster_name": self.cluster_name}, self.resource_id)
        if self.cluster_purpose is not None:
            self.cluster_purpose = _word(self.cluster_purpose, "cluster_purpose", _PURPOSES)


class AksCompute(_Attached):
    """A cluster that models are served on; nothing trains there."""

    _compute_type = "AKS"
    ClusterPurpose = _ClusterPurpose

    @staticmethod
    def provisioning_configuration(agent_count: int | None = None, vm_size: str | None = None, ssl_cname: str | None = None,
                                   ssl_cert_pem_file: str | None = None, ssl_key_pem_file: str | None = None, location: str | None = None,
                                   vnet_resourcegroup_name: str | None = None, vnet_name: str | None = None, subnet_name: str | None = None,
                                   service_cidr: str | None = None, dns_service_ip: str | None = None, docker_bridge_cidr: str | None = None,
                                   cluster_purpose: str | None = None, load_balancer_type: str | None = None,
                                   load_balancer_subnet: str | None = None, leaf_domain_label: str | None = None,
                                   overwrite_existing_domain: bool = False,
                                   tags: Mapping[str, str] | None = None) -> AksProvisioningConfiguration:
        """What :meth:`ComputeTarget.create` takes for a cluster: 3 nodes of Standard_D3_v2 unless told otherwise."""
        given = dict(locals())
        given["agent_count"] = 3 if agent_count is None else agent_count
        given["vm_size"] = vm_size or "Standard_D3_v2"
        return AksProvisioningConfiguration(**given)

    @staticmethod
    def attach_configuration(resource_group: str | None = None, cluster_name: str | None = None, resource_id: str | None = None,
                             cluster_purpose: str | None = None, load_balancer_type: str | None = None,
                             load_balancer_subnet: str | None = None) -> AksAttachConfiguration:
        """What :meth:`ComputeTarget.attach` takes for a cluster."""
        return AksAttachConfiguration(**locals())

    def get_credentials(self) -> dict[str, Any]:
        """How kubectl reaches the cluster."""
        return _service.act(self.workspace, self.name, "read the credentials of", self._compute_type)


AksProvisioningConfiguration._target = AksCompute
AksAttachConfiguration._target = AksCompute
