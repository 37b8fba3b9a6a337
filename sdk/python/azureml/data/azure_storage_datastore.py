"""The classes that scripts know datastores by. What is behind one is said by the server, not by its class."""

from __future__ import annotations

from azureml.data.abstract_datastore import AbstractDatastore

__all__ = ["AbstractAzureStorageDatastore", "AzureBlobDatastore", "AzureFileDatastore"]


class AbstractAzureStorageDatastore(AbstractDatastore):
    """A datastore that holds files."""


class AzureBlobDatastore(AbstractAzureStorageDatastore):
    """A datastore of the type ``AzureBlob``: the server's own store, a folder or a bucket."""


class AzureFileDatastore(AbstractAzureStorageDatastore):
    """A datastore of the type ``AzureFile``."""
