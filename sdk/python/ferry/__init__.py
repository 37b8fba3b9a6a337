"""What the ``azureml`` names stand on: the channel to the node's supervisor, values and their wire form."""

__version__ = "0.1.0"
