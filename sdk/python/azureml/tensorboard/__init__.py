"""TensorBoard over the logs of runs."""

from __future__ import annotations

import os
from typing import Any, Sequence

from azureml.exceptions import UserErrorException

__all__ = ["Tensorboard"]


class Tensorboard:
    """TensorBoard over what runs write into their folder ``logs``, which is brought to ``local_root`` (a temporary folder without it)
    and kept up to date while it is shown. Needs the program ``tensorboard``: ``pip install tensorboard``."""

    def __init__(self, runs: Any, local_root: Any = None, port: int = 6006) -> None:
        from azureml.core.run import Run

        given = [runs] if isinstance(runs, Run) else list(runs)
        for run in given:
            if not isinstance(run, Run):
                raise UserErrorException(f"runs must be a list of Run, not of values of type {type(run).__name__}")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
            raise UserErrorException(f"port must be a whole number from 0 to 65535, not {port!r}")
        if not given and local_root is None:
            raise UserErrorException("without runs a local_root is needed")
        self._runs: Sequence[Any] = given
        self._local_root = None if local_root is None else os.path.abspath(os.fsdecode(os.fspath(local_root)))
        self._port = port
        self._board: Any = None

    def start(self, start_browser: bool = False) -> str:
        """Brings the logs, starts TensorBoard and gives its address."""
        from ferry.board import Board

        if self._board is None:
            self._board = Board(self._runs, self._local_root, self._port)
        if start_browser:
            import webbrowser

            webbrowser.open(self._board.url)
        return self._board.url

    def stop(self) -> None:
        """Ends TensorBoard. What was brought to ``local_root`` stays."""
        if self._board is not None:
            self._board.stop()
            self._board = None
