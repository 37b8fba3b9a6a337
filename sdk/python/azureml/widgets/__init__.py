"""A run to look at: live in a notebook, as text in a terminal."""

from __future__ import annotations

from typing import Any

from azureml.exceptions import UserErrorException

__all__ = ["RunDetails"]


class RunDetails:
    """Shows a run: status, stages, metrics, children and the end of its output. In a notebook :meth:`show` returns at once and what it
    shows is kept up to date until the run has ended; elsewhere it prints how the run stands now."""

    def __init__(self, run_instance: Any) -> None:
        from azureml.core.run import Run, _OfflineRun

        if not isinstance(run_instance, Run) or isinstance(run_instance, _OfflineRun):
            raise UserErrorException(f"run_instance must be a submitted Run, not a value of type {type(run_instance).__name__}")
        self._run = run_instance
        self._thread: Any = None

    def show(self, render_lib: Any = None, widget_settings: Any = None) -> None:
        """Shows the run."""
        display = _notebook_display()
        if display is None:
            from ferry.widget import text

            print(text(self.get_widget_data()))
            return
        from ferry.widget import start

        self._thread = start(self._run, display)

    def get_widget_data(self, widget_settings: Any = None) -> dict[str, Any]:
        """What is shown, as a dict."""
        from ferry.widget import collect

        return collect(self._run)

    def _ipython_display_(self) -> None:
        self.show()

    def __repr__(self) -> str:
        return f"RunDetails(Id: {self._run.id})"


def _notebook_display() -> Any:
    """IPython's display module inside a notebook's kernel; None elsewhere."""
    import sys

    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    import IPython.display

    return IPython.display
