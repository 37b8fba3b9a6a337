"""Compute targets and their configurations. Each class is loaded when it is first used."""

from __future__ import annotations

# Name -> module of this package that defines it.
_HOMES = {
    "AdlaCompute": "adla", "AksCompute": "aks", "AmlCompute": "amlcompute", "BatchAiCompute": "batchai", "BatchCompute": "batch",
    "ComputeInstance": "computeinstance", "ComputeTarget": "compute", "DataFactoryCompute": "datafactory", "DatabricksCompute": "databricks",
    "DsvmCompute": "dsvm", "HDInsightCompute": "hdinsight", "KubernetesCompute": "kubernetescompute", "KustoCompute": "kusto",
    "RemoteCompute": "remote", "SynapseCompute": "synapse",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'azureml.core.compute' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(f"azureml.core.compute.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
