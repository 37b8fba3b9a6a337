"""Datasets as the environment of a run names them."""

from __future__ import annotations

import os
import re
from typing import Any, Iterator, Mapping

_PREFIX = "AZUREML_DATAREFERENCE_"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)


class _Workspace:
    """As much of a workspace as datasets need: a name and a client."""

    def __init__(self, name: str) -> None:
        from ferry.client import Client

        self.name = name
        self._client = Client.find()


class InputDatasets(Mapping[str, Any]):
    """The inputs of this process's run by name: the path of one that was mounted or downloaded, the dataset itself otherwise."""

    def __init__(self, found: dict[str, str], workspace: Any) -> None:
        self._found = found
        self._workspace = workspace
        self._opened: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self._found[name]
        if not _ID.match(value):
            return value
        if name not in self._opened:
            from azureml.data.abstract_dataset import AbstractDataset

            if self._workspace is None:
                self._workspace = _Workspace(os.environ.get("AZUREML_ARM_WORKSPACE_NAME", ""))
            self._opened[name] = AbstractDataset.get_by_id(self._workspace, value)
        return self._opened[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"InputDatasets({self._found!r})"


def input_datasets(workspace: Any = None) -> InputDatasets:
    """The inputs that this process's environment names. ``workspace`` is that of the run where the caller has it."""
    found = {}
    for variable, value in os.environ.items():
        name = variable[len(_PREFIX):]
        # Outputs and plain references have no variable of their own name.
        if variable.startswith(_PREFIX) and os.environ.get(name) == value:
            found[name] = value
    return InputDatasets(found, workspace)


def workspace_of(submission: dict[str, Any]) -> Any:
    """The workspace that a submission is for; None when it does not say."""
    name = submission.get("workspace")
    return _Workspace(name) if isinstance(name, str) and name else None
