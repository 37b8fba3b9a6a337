"""Builds of environments. Their home for scripts is ``azureml.core.environment``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azureml.core.environment import Environment


class ImageDetails(dict):
    """What :meth:`Environment.get_image_details` gives: a dict."""


class ImageBuildDetails:
    """A build under way. ``status`` is Queued, Running, Succeeded, Failed or Canceled."""

    _WORDS = {"Completed": "Succeeded", "Failed": "Failed", "Canceled": "Canceled", "NotResponding": "Failed", "NotStarted": "Queued",
              "Queued": "Queued"}

    def __init__(self, workspace: Any, run_id: str | None, environment: Environment) -> None:
        self._workspace = workspace
        self._run_id = run_id
        self._environment = environment

    @property
    def run_id(self) -> str | None:
        """The run that builds; None when nothing has to be built: a Python that is there already."""
        return self._run_id

    @property
    def environment(self) -> Environment:
        """What is built."""
        return self._environment

    @property
    def status(self) -> str:
        """How far it is, asked anew each time."""
        return self._word(self._view()["status"]) if self._run_id else "Succeeded"

    @property
    def image_build_log(self) -> str:
        """The log so far."""
        if not self._run_id:
            return ""
        from ferry.client import quote, quote_path

        base = f"/runs/{quote(self._run_id)}/logs"
        streams = [entry["name"] for entry in self._workspace._client.get(base).get("streams", [])]
        return "".join(self._workspace._client.read(f"{base}/{quote_path(stream)}").decode("utf-8", "replace")
                       for stream in streams if "build" in stream)

    def wait_for_completion(self, show_output: bool = True) -> ImageBuildDetails:
        """Waits for the end, with the build's log on the output unless told otherwise. A build that fails raises ActivityFailedException
        with its reason."""
        if not self._run_id:
            return self
        from azureml.exceptions import ActivityFailedException
        from ferry.client import quote

        for event, data, _ in self._workspace._client.events(f"/runs/{quote(self._run_id)}/events", streams="all"):
            if event == "log" and show_output and "build" in data.get("stream", ""):
                print(data["data"], end="", flush=True)
            elif event == "end":
                break
        view = self._view()
        if self._word(view["status"]) != "Succeeded":
            reason = (view.get("end") or {}).get("text") or view["status"]
            raise ActivityFailedException(f"environment '{self._environment.name}' was not built: {reason}")
        return self

    def _view(self) -> dict[str, Any]:
        from ferry.client import quote

        return self._workspace._client.get(f"/runs/{quote(self._run_id)}")

    def _word(self, status: str) -> str:
        return self._WORDS.get(status, "Running")

    def __repr__(self) -> str:
        return f"ImageBuildDetails(run_id={self._run_id!r}, environment={self._environment.name!r})"
