"""The classes that scripts know data lakes by."""

from __future__ import annotations

from azureml.data.azure_storage_datastore import AbstractAzureStorageDatastore

__all__ = ["AzureDataLakeDatastore", "AzureDataLakeGen2Datastore"]


class AzureDataLakeDatastore(AbstractAzureStorageDatastore):
    """A datastore of the type ``AzureDataLake``."""

    @property
    def store_name(self) -> str:
        """The store it stands for."""
        return self.account_name


class AzureDataLakeGen2Datastore(AbstractAzureStorageDatastore):
    """A datastore of the type ``AzureDataLakeGen2``."""

    @property
    def filesystem(self) -> str:
        """The file system it stands for."""
        return self.container_name
