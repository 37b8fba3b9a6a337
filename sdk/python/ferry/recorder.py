"""Metrics of a run that this process drives over the network: kept in order, sent many at a time by a thread of their own."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from typing import Any

from azureml.exceptions import RunEnvironmentException
from ferry import runs

# So many wait at most; whoever logs more waits with them. One request has at most so many.
_MOST_WAITING = 20_000
_MOST_SENT = 2000
_EXIT_PATIENCE = 60.0


class Recorder:
    """Takes points and sends them. An error of sending is raised by the next call. Safe to use from several threads."""

    def __init__(self, client: Any, run_id: str) -> None:
        self._client = client
        self._path = runs.path(run_id, "/metrics")
        self._reset()
        _recorders.add(self)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._source = os.urandom(8).hex()
        self._waiting: list[dict[str, Any]] = []
        self._put = self._sent = 0
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def put(self, point: dict[str, Any]) -> None:
        """Takes one point."""
        with self._changed:
            self._raise()
            while len(self._waiting) >= _MOST_WAITING and self._error is None:
                self._changed.wait()
            self._raise()
            self._waiting.append(point)
            self._put += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._send, name="ferry-recorder", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> None:
        """Returns once everything that was put is at the server. Raises RunEnvironmentException when the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            wanted = self._put
            while self._sent < wanted and self._error is None:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise RunEnvironmentException(f"{wanted - self._sent} metrics did not reach the server within {timeout:g} s")
                self._changed.wait(left)
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _send(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                points = self._waiting[:_MOST_SENT]
                position = self._sent + len(points)
            error: BaseException | None = None
            try:
                self._client.post(self._path, {"points": points, "source": self._source, "position": position}, repeat=True)
            except Exception as refused:  # noqa: BLE001: whatever it is belongs to who logs, not to this thread.
                error = refused
            with self._changed:
                del self._waiting[:len(points)]
                self._sent = position
                self._error = error or self._error
                self._changed.notify_all()


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _at_exit() -> None:
    for recorder in list(_recorders):
        try:
            recorder.flush(_EXIT_PATIENCE)
        except Exception as error:  # noqa: BLE001: the process ends; all that is left is to say so.
            import sys

            print(f"ferry: some metrics were lost: {error}", file=sys.stderr)


def _after_fork() -> None:
    for recorder in list(_recorders):
        recorder._reset()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
