"""Run metrics as TensorBoard's event files."""

from __future__ import annotations

import os
from typing import Any

from azureml.exceptions import UserErrorException

__all__ = ["export_to_tensorboard"]


def export_to_tensorboard(run_data: Any, logsdir: Any, logger: Any = None, recursive: bool = True) -> None:
    """Writes the metrics of a run, or of a list of runs, as event files below ``logsdir``, a folder for each run; with ``recursive`` those
    of their children too. Numbers become scalars by step, rows and tables one scalar for each column."""
    from azureml.core.run import Run
    from ferry import event_files

    given = [run_data] if isinstance(run_data, Run) else run_data
    if not isinstance(given, (list, tuple)) or not all(isinstance(run, Run) for run in given):
        raise UserErrorException(f"run_data must be a Run or a list of Run, not a value of type {type(run_data).__name__}")
    folder = os.path.abspath(os.fsdecode(os.fspath(logsdir)))
    for run in given:
        event_files.export(run, folder if len(given) == 1 else os.path.join(folder, run.id), bool(recursive), logger)
