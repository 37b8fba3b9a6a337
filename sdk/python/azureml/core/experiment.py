"""The experiment: runs under one name."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

from azureml.exceptions import ExperimentNotFoundException, UserErrorException

__all__ = ["Experiment"]

# What submit() takes beside the configuration and its tags. Those behind the first two mean something to pipelines alone.
_SUBMIT_WORDS = ("run_id", "show_output", "pipeline_parameters", "pipeline_params", "regenerate_outputs", "pipeline_version",
                 "continue_on_step_failure", "credential_passthrough", "parent_run_id")


class Experiment:
    """The experiment of this name in a workspace. It is made with its first run, or when its id is asked for."""

    def __init__(self, workspace: Any, name: str, _skip_name_validation: bool = False, _id: str | None = None,
                 _archived_time: str | None = None, _create_in_cloud: bool = True, _experiment_dto: Any = None, **kwargs: Any) -> None:
        from azureml.core.workspace import Workspace

        if not isinstance(workspace, Workspace):
            raise UserErrorException(f"workspace must be a Workspace, not a value of type {type(workspace).__name__}")
        self._workspace = workspace
        self._name = name if _skip_name_validation else _check_name(name)
        self._record: dict[str, Any] | None = _experiment_dto

    # Identity

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def workspace(self) -> Any:
        """The workspace."""
        return self._workspace

    @property
    def workspace_object(self) -> Any:
        """An older name of :attr:`workspace`."""
        return self._workspace

    @property
    def id(self) -> str:
        """The id. Makes the experiment when it is not there yet."""
        return self._details()["id"]

    @property
    def tags(self) -> dict[str, str]:
        """The tags."""
        return dict(self._details().get("tags") or {})

    @property
    def archived_time(self) -> str | None:
        """When it was archived; None for one that is in use."""
        details = self._details()
        return details.get("archived_time") if details.get("archived") else None

    @property
    def description(self) -> str:
        """What was said about it."""
        return self._details().get("description") or ""

    def get_portal_url(self) -> str:
        """The experiment in a browser."""
        from ferry.client import quote

        return f"{self._workspace._client.url}/#/experiments/{quote(self._name)}?workspace={quote(self._workspace.name)}"

    # Runs

    def submit(self, config: Any, tags: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        """Submits a ScriptRunConfig, or anything else that can be run, and gives its Run. What is wrong raises before anything is sent."""
        return self._submit(config, tags, **kwargs)

    def _submit(self, config: Any, tags: Mapping[str, Any] | None = None, parent: str | None = None, **kwargs: Any) -> Any:
        for word in kwargs:
            if word not in _SUBMIT_WORDS:
                raise UserErrorException(f"submit has no argument '{word}'; expected config, tags, {', '.join(_SUBMIT_WORDS)}")
        submit = getattr(config, "_submit", None)
        if submit is None or isinstance(config, type):
            raise UserErrorException(f"config must be a ScriptRunConfig or another configuration of a run, not a value of type {type(config).__name__}")
        if tags is not None:
            tags = _tags(tags)
        if parent is None:
            parent = kwargs.pop("parent_run_id", None)
        return submit(self, tags=tags, parent=parent, **kwargs)

    def start_logging(self, outputs: Any = None, snapshot_directory: Any = ".", *, display_name: str | None = None,
                      run_id: str | None = None, tags: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        """Starts an interactive run: this process drives it until complete(), fail() or the end of its ``with`` block. Files of the folder
        ``outputs`` (``./outputs`` without it; False: none) are kept when it ends; ``snapshot_directory`` None takes no snapshot."""
        from ferry import interactive

        return interactive.start(self, name=display_name, run_id=run_id, outputs=outputs, snapshot_directory=snapshot_directory,
                                 tags=None if tags is None else _tags(tags))

    def get_runs(self, type: str | None = None, tags: Any = None, properties: Any = None, include_children: bool = False) -> Iterator[Any]:
        """The runs, newest first. ``tags`` and ``properties`` are a dict whose values must match, or one key that must be there."""
        from azureml.core.run import Run

        return Run.list(self, type=type, tags=tags, properties=properties, include_children=include_children)

    # The experiment itself

    @staticmethod
    def list(workspace: Any, experiment_name: str | None = None, view_type: str = "ActiveOnly", tags: Any = None) -> Any:
        """The experiments of a workspace; ``view_type`` is ActiveOnly, ArchivedOnly or All."""
        from ferry.runs import matches

        if view_type not in ("ActiveOnly", "ArchivedOnly", "All"):
            raise UserErrorException(f"view_type is '{view_type}'; expected ActiveOnly, ArchivedOnly or All")
        found = []
        for record in workspace._client.pages("/experiments", "experiments", workspace=workspace.name):
            if view_type != "All" and bool(record.get("archived")) != (view_type == "ArchivedOnly"):
                continue
            if (experiment_name is None or record["name"] == experiment_name) and matches(record.get("tags") or {}, tags, "tags"):
                found.append(Experiment(workspace, record["name"], _skip_name_validation=True, _experiment_dto=record))
        return found

    def tag(self, key: str, value: Any = None) -> None:
        """Sets a tag, replacing an earlier one of the same key."""
        self.set_tags({key: value})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Sets several tags; others stay."""
        self._change({"set_tags": _tags(tags)})

    def remove_tags(self, tags: Sequence[str]) -> dict[str, str]:
        """Removes tags by their keys and gives those that are left."""
        if isinstance(tags, str):
            raise UserErrorException("tags must be a list of keys")
        self._change({"remove_tags": [str(tag) for tag in tags]})
        return self.tags

    def archive(self) -> None:
        """Takes it out of the lists. Its runs stay."""
        self._change({"archived": True})

    def reactivate(self, new_name: str | None = None) -> None:
        """Puts it back into the lists, under another name when one is given."""
        body: dict[str, Any] = {"archived": False}
        if new_name is not None:
            body["new_name"] = _check_name(new_name)
        self._change(body)
        self._name = new_name or self._name

    def refresh(self) -> None:
        """Asks the server for what is known of it."""
        self._record = None
        self._details()

    @staticmethod
    def delete(workspace: Any, experiment_id: str) -> None:
        """Removes the experiment of this id, which must have no runs."""
        from ferry.client import quote

        for record in workspace._client.pages("/experiments", "experiments", workspace=workspace.name):
            if record["id"] == experiment_id:
                workspace._client.delete("/experiments/" + quote(record["name"]), workspace=workspace.name)
                return
        raise ExperimentNotFoundException(f"there is no experiment with the id '{experiment_id}' in workspace '{workspace.name}'")

    def _details(self) -> dict[str, Any]:
        if self._record is None:
            self._record = self._workspace._client.post("/experiments", {"name": self._name, "workspace": self._workspace.name}, repeat=True)
        return self._record

    def _change(self, body: dict[str, Any]) -> None:
        from ferry.client import quote

        self._details()
        self._record = self._workspace._client.patch("/experiments/" + quote(self._name), dict(body, workspace=self._workspace.name))

    def __repr__(self) -> str:
        return f"Experiment(Name: {self._name}, Workspace: {self._workspace.name})"

    def _repr_html_(self) -> str:
        from ferry.html import Markup, link, table

        return table({"Name": self._name, "Workspace": self._workspace.name,
                      "Report Page": Markup(link(self.get_portal_url(), "Link to the portal"))})


def _check_name(name: Any) -> str:
    import re

    if not isinstance(name, str):
        raise UserErrorException(f"name must be a string, not a value of type {type(name).__name__}")
    if not re.match(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}\Z", name) or ".." in name:
        raise UserErrorException(f"name is '{name[:80]}'; expected 1 to 255 letters, digits, '-', '_' and '.', beginning with a letter or digit")
    return name


def _tags(tags: Any) -> dict[str, str]:
    if not hasattr(tags, "items"):
        raise UserErrorException(f"tags must be a dict, not a value of type {type(tags).__name__}")
    return {str(key): "" if value is None else str(value) for key, value in tags.items()}
