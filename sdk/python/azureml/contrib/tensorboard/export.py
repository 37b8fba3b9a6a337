"""The older home of ``azureml.tensorboard.export``."""

from azureml.tensorboard.export import export_to_tensorboard

__all__ = ["export_to_tensorboard"]
