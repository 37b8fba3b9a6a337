"""The names scripts import from ``azureml.core``. Each is loaded when it is first used, so that the import itself is free."""

from __future__ import annotations

VERSION = "1.60.0"
__version__ = VERSION

# Name -> module that defines it.
_HOMES = {
    "ComputeTarget": "azureml.core.compute",
    "Dataset": "azureml.core.dataset",
    "Datastore": "azureml.core.datastore",
    "Environment": "azureml.core.environment",
    "Experiment": "azureml.core.experiment",
    "Keyvault": "azureml.core.keyvault",
    "LinkedService": "azureml.core.linked_service",
    "Model": "azureml.core.model",
    "Run": "azureml.core.run",
    "RunConfiguration": "azureml.core.runconfig",
    "ScriptRunConfig": "azureml.core.script_run_config",
    "SynapseWorkspaceLinkedServiceConfiguration": "azureml.core.linked_service",
    "Webservice": "azureml.core.webservice",
    "Workspace": "azureml.core.workspace",
    "attach_legacy_compute_target": "azureml.core.compute_target",
}

# Modules that are there without an import of their own.
_MODULES = ("authentication", "compute", "compute_target", "conda_dependencies", "container_registry", "dataset", "datastore", "environment",
            "experiment", "keyvault", "model", "run", "runconfig", "script_run_config", "webservice", "workspace")

__all__ = ["VERSION", *sorted(_HOMES)]


def __getattr__(name: str) -> object:
    import importlib

    home = _HOMES.get(name)
    if home is None:
        if name in _MODULES:
            return importlib.import_module(f"azureml.core.{name}")
        raise AttributeError(f"module 'azureml.core' has no attribute '{name}'")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
