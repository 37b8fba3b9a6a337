"""The program ``tensorboard``, started over the logs of runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any, Sequence

from azureml.exceptions import AzureMLException, UserErrorException
from ferry import run_files, runs

_PREFIX = "logs/"
# How often the logs of runs that have not ended are looked at.
_PAUSE = 5.0
_STOP_PATIENCE = 10.0
_MOST_SAID = 50


class Board:
    """A running TensorBoard. ``url`` is its address."""

    def __init__(self, given: Sequence[Any], folder: str | None, port: int) -> None:
        command = _program()
        self._made = None if folder is not None else tempfile.mkdtemp(prefix="ferry-tensorboard-")
        self._folder = folder or self._made or ""
        os.makedirs(self._folder, exist_ok=True)
        self._there: dict[tuple[str, str], str] = {}
        self._stopped = threading.Event()
        self._runs = list(given)
        self._live = [run for run in self._runs if self._bring(run)]
        self._process = subprocess.Popen([*command, "--logdir", self._folder, "--port", str(port)], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.url = self._await_address()
        self._threads = [threading.Thread(target=target, name="ferry-tensorboard", daemon=True) for target in (self._drain, self._follow)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends the program."""
        self._stopped.set()
        self._process.terminate()
        try:
            self._process.wait(_STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(_STOP_PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)

    def _bring(self, run: Any) -> bool:
        """Brings what is new of the run's logs. Whether there may be more later."""
        client = run._client
        live = client.get(runs.path(run.id))["status"] not in runs.TERMINAL
        for item in run_files.artifacts(client, run.id, _PREFIX):
            key = (run.id, item["path"])
            if self._there.get(key) != item["digest"]:
                run_files.download(client, run.id, item["path"], self._place(run, item["path"]))
                self._there[key] = item["digest"]
        # What a script is still writing is a log, and grows where it lies: TensorBoard keeps it open.
        for stream in run_files.logs(client, run.id):
            if stream["name"].startswith(_PREFIX) and (run.id, stream["name"]) not in self._there:
                path = self._place(run, stream["name"])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "ab") as file:
                    for piece in run_files.log_bytes(client, run.id, stream, start=file.tell()):
                        file.write(piece)
        return live

    def _place(self, run: Any, name: str) -> str:
        return run_files.place(os.path.join(self._folder, run.id), name[len(_PREFIX):])

    def _await_address(self) -> str:
        said: list[str] = []
        assert self._process.stdout is not None
        for raw in self._process.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            said = [*said, line][-_MOST_SAID:]
            found = re.search(r"\bat (http://\S+)", line)
            if found:
                return found.group(1)
        self._process.wait()
        self._process.stdout.close()
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)
        raise AzureMLException("tensorboard ended before it served: " + ("\n".join(said) or "it said nothing"))

    def _drain(self) -> None:
        assert self._process.stdout is not None
        for _ in self._process.stdout:
            pass

    def _follow(self) -> None:
        while self._live and not self._stopped.wait(_PAUSE):
            try:
                self._live = [run for run in self._live if self._bring(run)]
            except AzureMLException:
                continue  # The server is away; the next look may find it.


def _program() -> list[str]:
    found = shutil.which("tensorboard")
    if found:
        return [found]
    from importlib.util import find_spec

    if find_spec("tensorboard") is not None:
        return [sys.executable, "-m", "tensorboard.main"]
    raise UserErrorException("there is no program 'tensorboard'; install it with: pip install tensorboard")
