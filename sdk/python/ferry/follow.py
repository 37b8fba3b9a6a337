"""Waiting for a run, and showing what it does meanwhile."""

from __future__ import annotations

import sys
from typing import Any

from azureml.exceptions import ActivityFailedException, ExperimentExecutionException
from ferry import details, run_files, runs


def wait(run: Any, show_output: bool, raise_on_error: bool) -> dict[str, Any]:
    """Returns the details of the run once it has ended. Raises ActivityFailedException for one that failed."""
    workspace = run.experiment.workspace
    try:
        if show_output:
            _show(workspace._client, run)
        else:
            for event, _, _ in workspace._client.events(runs.path(run.id, "/events"), logs=0):
                if event == "end":
                    break
    except KeyboardInterrupt:
        raise ExperimentExecutionException(
            "The output streaming for the run was interrupted, but the run goes on. run.cancel() ends it; run.wait_for_completion(show_output=True) "
            "shows it again.") from None
    found = details.details(workspace, run.id)
    if show_output:
        _summary(run, found)
    if raise_on_error and "error" in found:
        raise failure(found, run_files.tail(workspace._client, run.id))
    return found


def failure(found: dict[str, Any], tail: str) -> ActivityFailedException:
    """The exception for a run that failed, with the whole error as text and the end of what the script printed."""
    import json

    said = f"\n\nThe last lines of its output:\n{tail}" if tail else ""
    return ActivityFailedException("Activity Failed:\n" + json.dumps(found["error"], indent=4) + said)


class Printer:
    """Prints the events of a run: its stages by name, each log stream under a heading, no byte twice."""

    def __init__(self, write: Any = None) -> None:
        self._write = write or _to_stdout
        self._stages = 0
        self._attempt = 0
        self._printed: dict[tuple[int, str], int] = {}
        self._stream = ""
        self._open_line = False

    def take(self, event: str, data: dict[str, Any]) -> None:
        """Takes one event."""
        if event == "status":
            self._take_status(data)
        elif event == "log":
            self._take_log(data)

    def _take_status(self, view: dict[str, Any]) -> None:
        attempt = view.get("attempt", 1)
        if self._attempt and attempt > self._attempt:
            ended = (view.get("attempts") or [{}])[self._attempt - 1]
            self._line(f"Attempt {self._attempt} ended: {ended.get('detail') or ended.get('reason')}; trying again")
            self._stream = ""
        self._attempt = attempt
        for stage in (view.get("stages") or ())[self._stages:]:
            self._stages += 1
            self._line(f"Stage: {stage['name']}" + (f" ({stage['cause']})" if stage.get("cause") else ""))

    def _take_log(self, data: dict[str, Any]) -> None:
        text, stream = data.get("data") or "", data.get("stream", "")
        key = (data.get("attempt", 1), stream)
        offset = data.get("offset", 0)
        after = data.get("next", offset + len(text.encode("utf-8")))
        printed = self._printed.get(key, 0)
        if after <= printed or not text:
            return
        raw = text.encode("utf-8")
        # Bytes that are no text were replaced, so the text may be longer than the bytes that it stands for.
        if offset < printed and after - offset == len(raw):
            text = raw[printed - offset:].decode("utf-8", "replace")
        self._printed[key] = after
        if stream != self._stream:
            self._stream = stream
            heading = f"Streaming {stream}"
            self._line(f"\n{heading}\n{'=' * len(heading)}\n")
        self._write(text)
        self._open_line = not text.endswith("\n")

    def _line(self, text: str) -> None:
        self._write(("\n" if self._open_line else "") + text + "\n")
        self._open_line = False

    def finish(self) -> None:
        """Ends a line that has no end yet."""
        if self._open_line:
            self._write("\n")
            self._open_line = False


def _show(client: Any, run: Any) -> None:
    print(f"RunId: {run.id}\nWeb View: {run.get_portal_url()}\n", flush=True)
    printer = Printer()
    try:
        for event, data, _ in client.events(runs.path(run.id, "/events")):
            printer.take(event, data)
    finally:
        printer.finish()


def _summary(run: Any, found: dict[str, Any]) -> None:
    import json

    print(f"\nExecution Summary\n=================\nRunId: {run.id}\nWeb View: {run.get_portal_url()}")
    for title, told in (("Warnings", found.get("warnings")), ("Error", found.get("error"))):
        if told:
            print(f"\n{title}:\n{json.dumps(told, indent=2)}")
    print(flush=True)


def _to_stdout(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
