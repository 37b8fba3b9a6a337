"""What file and tabular datasets share: a definition that never changes, a name in a workspace, and the way into a run."""

from __future__ import annotations

import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any, Iterator

from azureml.data import _steps, _time
from azureml.exceptions import UserErrorException
from ferry import values

if TYPE_CHECKING:
    from azureml.data.dataset_consumption_config import DatasetConsumptionConfig

__all__ = ["AbstractDataset"]


class AbstractDataset:
    """A dataset: where data is and how it is read. Nothing is read before it is asked for, and what changes one gives a new one."""

    _TYPE = ""

    def __init__(self) -> None:
        raise UserErrorException("datasets are made by Dataset.File.from_files, Dataset.Tabular.from_delimited_files and the like")

    @classmethod
    def _make(cls, workspace: Any, definition: dict[str, Any], view: dict[str, Any] | None = None) -> Any:
        self = object.__new__(cls)
        self._workspace = workspace
        self._definition = definition
        self._view = view or {}
        return self

    # By name and id

    @staticmethod
    def get_by_name(workspace: Any, name: str, version: int | str = "latest") -> Any:
        """The registered dataset of this name: a version, or the latest."""
        from ferry.client import NotFound, quote

        values.check_name(name)
        query = {} if version in (None, "latest") else {"version": _version(version)}
        try:
            return opened(workspace, workspace._client.get(f"/datasets/{quote(name)}", workspace=workspace.name, **query))
        except NotFound as error:
            which = "" if not query else f" of version {version}"
            raise UserErrorException(f"workspace '{workspace.name}' has no dataset '{name}'{which}: {error.message}", error) from None

    @staticmethod
    def get_by_id(workspace: Any, id: str, **kwargs: Any) -> Any:
        """The dataset of this id, registered or not."""
        from ferry.client import NotFound, quote

        values.check_name(id, "id")
        try:
            return opened(workspace, workspace._client.get(f"/datasets/by-id/{quote(id)}", workspace=workspace.name))
        except NotFound as error:
            raise UserErrorException(f"workspace '{workspace.name}' has no dataset with the id '{id}'", error) from None

    @staticmethod
    def get_all(workspace: Any) -> dict[str, Any]:
        """The latest version of every registered dataset, by name."""
        return {view["name"]: opened(workspace, view) for view in workspace._client.pages("/datasets", "datasets", workspace=workspace.name)}

    # Identity

    @property
    def id(self) -> str | None:
        """The id in the workspace; None for a dataset that was not kept there yet."""
        return self._view.get("id")

    @property
    def name(self) -> str | None:
        """The name it is registered under, or None."""
        return self._view.get("name") or None

    @property
    def version(self) -> int | None:
        """The version it is registered as, or None."""
        return self._view.get("version") if self.name else None

    @property
    def description(self) -> str | None:
        """What was said of it."""
        return self._view.get("description") or None

    @property
    def tags(self) -> dict[str, str]:
        """Its tags; a copy."""
        return dict(self._view.get("tags") or {})

    @property
    def workspace(self) -> Any:
        """The workspace it belongs to; None for one made of URLs that was not kept yet."""
        return self._workspace

    @property
    def partition_keys(self) -> list[str]:
        """The columns that its ``partition_format`` reads out of paths."""
        from azureml.data import _partition

        form = self._definition["read"].get("partition_format")
        return _partition.keys(form) if form else []

    @property
    def data_changed_time(self) -> datetime | None:
        """When a file of the data was changed last; None when no source says so."""
        from email.utils import parsedate_to_datetime

        from azureml.data import _files

        latest = None
        for entry in _files.files_of(self._workspace, self._definition["paths"]):
            if entry.datastore is not None:
                changed = _time.parse(entry.modified)
            else:
                said = _files.url_head(entry.path).get("Last-Modified")
                changed = parsedate_to_datetime(said) if said else None
            latest = changed if latest is None or (changed is not None and changed > latest) else latest
        return latest

    # Registration

    def register(self, workspace: Any, name: str, description: str | None = None, tags: dict[str, str] | None = None,
                 create_new_version: bool = False) -> Any:
        """Registers it and gives the registered dataset. A name that is taken by other data needs ``create_new_version``."""
        from ferry.client import Conflict

        body = {"workspace": workspace.name, "name": values.check_name(name), "type": self._TYPE, "definition": self._definition,
                "create_new_version": bool(create_new_version), "tags": _tags(tags)}
        if description is not None:
            body["description"] = str(description)
        try:
            return opened(workspace, workspace._client.post("/datasets", body))
        except Conflict as error:
            if error.slug != "dataset.exists":
                raise
            raise UserErrorException(f'There is already a dataset registered under name "{name}". Specify `create_new_version=True` to register '
                                     "the dataset as a new version.", error) from None

    def unregister_all_versions(self) -> None:
        """Forgets the name with all its versions. The data stays."""
        from ferry.client import quote

        if self.name is None:
            raise UserErrorException("the dataset is not registered")
        self._workspace._client.delete(f"/datasets/{quote(self.name)}", workspace=self._workspace.name)

    def add_tags(self, tags: dict[str, str] | None = None) -> None:
        """Adds or replaces tags of the registered dataset."""
        self._patch({"set_tags": _tags(tags)})

    def remove_tags(self, tags: list[str] | None = None) -> None:
        """Removes tags of the registered dataset."""
        self._patch({"remove_tags": [str(key) for key in tags or ()]})

    def update(self, description: str | None = None, tags: dict[str, str] | None = None) -> Any:
        """Changes the description and replaces the tags of the registered dataset; None leaves them."""
        body: dict[str, Any] = {}
        if description is not None:
            body["description"] = str(description)
        if tags is not None:
            body["set_tags"] = _tags(tags)
            body["remove_tags"] = [key for key in self.tags if key not in tags]
        self._patch(body)
        return self

    def _patch(self, body: dict[str, Any]) -> None:
        from ferry.client import quote

        if self.name is None:
            raise UserErrorException("the dataset is not registered; register(workspace, name) takes description and tags")
        self._view = self._workspace._client.patch(f"/datasets/{quote(self.name)}", dict(body, workspace=self._workspace.name),
                                                   version=self.version)

    def _kept(self, workspace: Any = None) -> str:
        """The id, after the server has got the definition."""
        if self.id is None:
            home = self._workspace or workspace
            if home is None:
                raise UserErrorException("the dataset belongs to no workspace: register it first")
            body = {"workspace": home.name, "type": self._TYPE, "definition": self._definition}
            self._view = {key: value for key, value in home._client.post("/datasets", body, repeat=True).items() if key != "definition"}
        return self._view["id"]

    # Other datasets

    def take(self, count: int) -> Any:
        """The first records, as a new dataset."""
        return self._then(_steps.take(count))

    def skip(self, count: int) -> Any:
        """All but the first records, as a new dataset."""
        return self._then(_steps.skip(count))

    def take_sample(self, probability: float, seed: int | None = None) -> Any:
        """Each record with a probability, as a new dataset."""
        return self._then(_steps.sample(probability, seed))

    def random_split(self, percentage: float, seed: int | None = None) -> tuple[Any, Any]:
        """Two new datasets: about ``percentage`` (0.0 to 1.0) of the records, and the others. The same seed splits the same way."""
        first, second = _steps.split(percentage, seed)
        return self._then(first), self._then(second)

    def filter(self, expression: Any) -> Any:
        """The records that meet a condition such as ``dataset['age'] > 3``, as a new dataset."""
        from azureml.data import _expression

        return self._then({"op": "filter", "condition": _expression.plain_of(expression)})

    def __getitem__(self, key: str) -> Any:
        from azureml.data import _expression

        return _expression.Column(values.check_name(key, "column"))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"a {type(self).__name__} cannot be iterated; to_path() and to_pandas_dataframe() give what is in it")

    def _then(self, step: dict[str, Any]) -> Any:
        return self._make(self._workspace, dict(self._definition, steps=[*self._definition["steps"], step]))

    def _read_as(self, **changes: Any) -> Any:
        return self._make(self._workspace, dict(self._definition, read=dict(self._definition["read"], **changes)))

    # Into a run

    def as_named_input(self, name: str) -> DatasetConsumptionConfig:
        """The dataset as an input of a run, under a name."""
        from azureml.data.dataset_consumption_config import DatasetConsumptionConfig

        return DatasetConsumptionConfig(name, self, "direct")

    def _named(self) -> DatasetConsumptionConfig:
        import uuid

        return self.as_named_input("input_" + uuid.uuid4().hex[:8])

    def __repr__(self) -> str:
        import json

        said = {"source": [item.get("url") or f"{item['datastore']}/{item['path']}" for item in self._definition["paths"]],
                "definition": [self._definition["read"].get("format", "files"), *(step["op"] for step in self._definition["steps"])]}
        if self.id:
            said["registration"] = {key: getattr(self, key) for key in ("id", "name", "version") if getattr(self, key) is not None}
        return f"{type(self).__name__}\n{json.dumps(said, indent=2)}"

    def __copy__(self) -> Any:
        return self._make(self._workspace, self._definition, self._view)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._make(self._workspace, copy.deepcopy(self._definition, memo), copy.deepcopy(self._view, memo))


def opened(workspace: Any, view: dict[str, Any]) -> Any:
    """The dataset of a server's answer."""
    if view.get("type") == "Tabular":
        from azureml.data.tabular_dataset import TabularDataset as kind
    else:
        from azureml.data.file_dataset import FileDataset as kind  # type: ignore[assignment]
    given = view.get("definition") or {}
    definition = {"paths": given.get("paths") or [], "read": given.get("read") or {}, "steps": given.get("steps") or []}
    return kind._make(workspace, definition, {key: value for key, value in view.items() if key != "definition"})


def _tags(tags: Any) -> dict[str, str]:
    if tags is None:
        return {}
    if not hasattr(tags, "items"):
        raise UserErrorException(f"tags must be a dict, not a value of type {type(tags).__name__}")
    return {values.check_name(key, "tag"): "" if value is None else str(value) for key, value in tags.items()}


def _version(version: Any) -> int:
    try:
        number = int(version)
    except (TypeError, ValueError):
        number = 0
    if isinstance(version, bool) or number < 1:
        raise UserErrorException(f"version must be 'latest' or a whole number from 1, not {version!r}")
    return number
