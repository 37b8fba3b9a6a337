"""The older home of ``azureml.widgets``."""

from azureml.widgets import RunDetails

__all__ = ["RunDetails"]
