"""TensorBoard: names that can be imported; the rest comes later."""

from __future__ import annotations

from typing import Any

from ferry.not_yet import placeholder

__all__ = ["Tensorboard"]

Tensorboard: Any = placeholder("Tensorboard", "TensorBoard (azureml.tensorboard)", __name__)
