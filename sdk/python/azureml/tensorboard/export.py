"""Run metrics as TensorBoard's event files: comes later."""

from __future__ import annotations

from typing import Any

from ferry.not_yet import placeholder_function

__all__ = ["export_to_tensorboard"]

export_to_tensorboard: Any = placeholder_function("export_to_tensorboard", "Exporting metrics to TensorBoard", __name__)
