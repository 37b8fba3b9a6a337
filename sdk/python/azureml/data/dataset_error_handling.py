"""What datasets raise."""

from __future__ import annotations

from azureml.exceptions import AzureMLException, UserErrorException

__all__ = ["DatasetExecutionError", "DatasetValidationError"]


class DatasetValidationError(UserErrorException):
    """The data that a dataset names is not there, or is not what its definition says."""


class DatasetExecutionError(AzureMLException):
    """The data of a dataset could not be read. The message names the file."""
