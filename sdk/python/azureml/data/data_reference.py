"""Data of a datastore as a run's argument."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

from azureml.data.datapath import check_mode
from azureml.exceptions import UserErrorException

if TYPE_CHECKING:
    from azureml.data.abstract_datastore import AbstractDatastore

__all__ = ["DataReference"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}\Z")


def check_reference_name(name: Any, argument: str = "name") -> str:
    """A name that an environment variable can carry, too."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise UserErrorException(f"{argument} must have 1 to 255 letters, digits, '_' and '-', not {name!r}")
    return name


def put(submission: dict[str, Any], key: str, name: str, value: dict[str, Any]) -> None:
    """Adds an input ("data") or output ("outputs") to a submission; the same one twice is one."""
    known = submission.setdefault(key, {})
    other = submission.get("outputs" if key == "data" else "data") or {}
    if name in other or known.get(name, value) != value:
        raise UserErrorException(f"two different inputs or outputs of the run have the name '{name}'; give each its own")
    known[name] = value


class DataReference:
    """A path on a datastore that a run gets as a local path. As an argument it stands for that path, on the node.

    ``mode`` is mount or download for what the script reads, upload for a folder that the script fills.
    """

    def __init__(self, datastore: AbstractDatastore | None = None, data_reference_name: str | None = None, path_on_datastore: str | None = None,
                 mode: str = "mount", path_on_compute: str | None = None, overwrite: bool = False) -> None:
        if datastore is None:
            raise UserErrorException("datastore must be a datastore, as Datastore.get(workspace, name) gives it")
        self.datastore = datastore
        if data_reference_name is None:
            import uuid

            data_reference_name = uuid.uuid4().hex
        self.data_reference_name = check_reference_name(data_reference_name, "data_reference_name")
        self.path_on_datastore = path_on_datastore
        self.mode = check_mode(mode)
        self.path_on_compute = path_on_compute
        self.overwrite = bool(overwrite)

    def path(self, path: str | None = None, data_reference_name: str | None = None) -> DataReference:
        """A reference to a path below this one."""
        from azureml.data._files import join

        return DataReference(self.datastore, data_reference_name, join(self.path_on_datastore, path) or None)

    def as_mount(self) -> DataReference:
        """The same data, mounted (where it cannot be: downloaded, and the run says so)."""
        return self._with(mode="mount", path_on_compute=None, overwrite=False)

    def as_download(self, path_on_compute: str | None = None, overwrite: bool = False) -> DataReference:
        """The same data, downloaded before the script starts."""
        return self._with(mode="download", path_on_compute=path_on_compute, overwrite=bool(overwrite))

    def as_upload(self, path_on_compute: str | None = None, overwrite: bool = False) -> DataReference:
        """A folder on the node whose files are uploaded to this path when the script has ended."""
        return self._with(mode="upload", path_on_compute=path_on_compute, overwrite=bool(overwrite))

    def to_config(self) -> Any:
        """The record for ``RunConfiguration.data_references``."""
        from azureml.core.runconfig import DataReferenceConfiguration

        return DataReferenceConfiguration(datastore_name=self.datastore.name, mode=self.mode, path_on_datastore=self.path_on_datastore,
                                          path_on_compute=self.path_on_compute, overwrite=self.overwrite)

    def _with(self, **changes: Any) -> DataReference:
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def _ferry_argument(self, submission: dict[str, Any]) -> str:
        """Adds the data to a submission and gives the text of the command line."""
        from azureml.data._files import normal

        path = normal(self.path_on_datastore, "path_on_datastore")
        if self.mode == "upload":
            if not path:
                raise UserErrorException("as_upload needs a folder of the datastore: datastore.path('folder').as_upload()")
            value: dict[str, Any] = {"datastore": self.datastore.name, "path": path, "mode": "upload", "overwrite": self.overwrite}
            key = "outputs"
        else:
            value = {"paths": [{"datastore": self.datastore.name, "path": path}], "mode": self.mode, "overwrite": self.overwrite}
            key = "data"
        if self.path_on_compute:
            value["path_on_compute"] = self.path_on_compute
        put(submission, key, self.data_reference_name, value)
        return str(self)

    def __str__(self) -> str:
        return "$AZUREML_DATAREFERENCE_" + self.data_reference_name

    def __repr__(self) -> str:
        return (f"DataReference(datastore={self.datastore.name!r}, data_reference_name={self.data_reference_name!r}, "
                f"path_on_datastore={self.path_on_datastore!r}, mode={self.mode!r})")
