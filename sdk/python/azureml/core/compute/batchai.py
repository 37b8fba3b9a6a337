"""Clusters under their name of 2018."""

from __future__ import annotations

from typing import Any, Mapping

from azureml.core.compute.amlcompute import AmlCompute, AmlComputeProvisioningConfiguration
from azureml.exceptions import ComputeTargetException

__all__ = ["BatchAiCompute", "BatchAiComputeProvisioningConfiguration"]


class BatchAiComputeProvisioningConfiguration(AmlComputeProvisioningConfiguration):
    """The arguments of :meth:`BatchAiCompute.provisioning_configuration`."""


class BatchAiCompute(AmlCompute):
    """A cluster as Azure Batch AI had it; today's name is AmlCompute."""

    _compute_type = "BatchAI"

    @staticmethod
    def provisioning_configuration(vm_size: str = "", vm_priority: str = "dedicated", autoscale_enabled: bool = True,  # type: ignore[override]
                                   cluster_min_nodes: int = 0, cluster_max_nodes: int | None = None, idle_seconds_before_scaledown: int = 1800,
                                   admin_username: str | None = None, admin_user_password: str | None = None, admin_user_ssh_key: str | None = None,
                                   vnet_resourcegroup_name: str | None = None, vnet_name: str | None = None, subnet_name: str | None = None,
                                   tags: Mapping[str, str] | None = None, description: str | None = None,
                                   location: str | None = None) -> BatchAiComputeProvisioningConfiguration:
        """What :meth:`ComputeTarget.create` takes for a cluster. Without ``autoscale_enabled`` it always has ``cluster_max_nodes``."""
        if not isinstance(autoscale_enabled, bool):
            raise ComputeTargetException(f"autoscale_enabled: expected True or False, found {autoscale_enabled!r}")
        least: Any = cluster_min_nodes
        if not autoscale_enabled:
            least = cluster_max_nodes if cluster_max_nodes is not None else cluster_min_nodes
        return BatchAiComputeProvisioningConfiguration(
            vm_size=vm_size, vm_priority=vm_priority, min_nodes=least, max_nodes=cluster_max_nodes,
            idle_seconds_before_scaledown=idle_seconds_before_scaledown, admin_username=admin_username, admin_user_password=admin_user_password,
            admin_user_ssh_key=admin_user_ssh_key, vnet_resourcegroup_name=vnet_resourcegroup_name, vnet_name=vnet_name, subnet_name=subnet_name,
            tags=tags, description=description, remote_login_port_public_access="NotSpecified", identity_type=None, identity_id=None,
            location=location, enable_node_public_ip=True)


BatchAiComputeProvisioningConfiguration._target = BatchAiCompute
