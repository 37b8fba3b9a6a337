"""Datastores, datasets and what carries them into runs. Each name is loaded when it is first used."""

from __future__ import annotations

# Name -> module that defines it.
_HOMES = {
    "DataType": "azureml.data.dataset_factory",
    "DatasetConsumptionConfig": "azureml.data.dataset_consumption_config",
    "FileDataset": "azureml.data.file_dataset",
    "HDFSOutputDatasetConfig": "azureml.data.output_dataset_config",
    "LinkFileOutputDatasetConfig": "azureml.data.output_dataset_config",
    "LinkTabularOutputDatasetConfig": "azureml.data.output_dataset_config",
    "OutputDatasetConfig": "azureml.data.output_dataset_config",
    "OutputFileDatasetConfig": "azureml.data.output_dataset_config",
    "OutputTabularDatasetConfig": "azureml.data.output_dataset_config",
    "TabularDataset": "azureml.data.tabular_dataset",
    "dataset_type_definitions": "",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'azureml.data' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(home), name) if home else importlib.import_module("azureml.data." + name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
