"""Folders that a script fills and that are kept when it has ended."""

from __future__ import annotations

import copy
import re
from typing import Any

from azureml.data import _files
from azureml.data.data_reference import DataReference, put
from azureml.data.dataset_type_definitions import PromoteHeadersBehavior
from azureml.exceptions import UserErrorException
from ferry import values
from ferry.not_yet import not_yet

__all__ = ["HDFSOutputDatasetConfig", "LinkFileOutputDatasetConfig", "LinkTabularOutputDatasetConfig", "OutputDatasetConfig",
           "OutputFileDatasetConfig", "OutputTabularDatasetConfig"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}\Z")
_DESTINATION = ("workspaceblobstore", "dataset/{run-id}/{output-name}")


class OutputDatasetConfig:
    """What outputs share: a name, and what happens when the run has completed. Each method gives a new one."""

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            import uuid

            name = "output_" + uuid.uuid4().hex[:8]
        if not isinstance(name, str) or not _NAME.match(name):
            raise UserErrorException(f"name must have 1 to 255 letters, digits, '_' and '-', not {name!r}")
        self.name = name
        self._register: dict[str, Any] | None = None

    def register_on_complete(self, name: str, description: str | None = None, tags: dict[str, str] | None = None) -> Any:
        """Registers the output as a dataset, a new version when the name is known, once the run has completed."""
        register: dict[str, Any] = {"name": values.check_name(name)}
        if description is not None:
            register["description"] = str(description)
        if tags is not None:
            register["tags"] = {values.check_name(key, "tag"): str(value) for key, value in tags.items()}
        return self._with(_register=register)

    def as_input(self, name: str | None = None) -> Any:
        """The output as the input of a later step of a pipeline."""
        from azureml.data.dataset_consumption_config import DatasetConsumptionConfig

        return DatasetConsumptionConfig(name or re.sub(r"[^A-Za-z0-9_]", "_", "input_" + self.name), self, "mount")

    def _with(self, **changes: Any) -> Any:
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def __str__(self) -> str:
        return "DatasetOutputConfig:" + self.name


class OutputFileDatasetConfig(OutputDatasetConfig):
    """A folder on the node whose files go to a datastore when the script has ended. As an argument it stands for the folder's path.

    ``destination`` is (datastore, path); the path may hold ``{run-id}`` and ``{output-name}``. Without one it is
    ``dataset/{run-id}/{output-name}`` of the workspace's own store. ``source`` is a path on the node; without one a folder is made.
    """

    def __init__(self, name: str | None = None, destination: Any = None, source: str | None = None, partition_format: str | None = None) -> None:
        super().__init__(name)
        self.destination = destination
        self._datastore, self._path = _destination(destination)
        self.source = source
        if partition_format is not None:
            from azureml.data import _partition

            _partition.Format(partition_format)
        self.partition_format = partition_format
        self.mode = "mount"
        self._overwrite = False
        self._globs: list[str] | None = None
        self._read: dict[str, Any] | None = None

    def as_mount(self, disable_metadata_cache: bool = False) -> OutputFileDatasetConfig:
        """Files go to the datastore as the script writes them, or, as here, when it has ended."""
        return self._with(mode="mount", _overwrite=False, _globs=None)

    def as_upload(self, overwrite: bool = False, source_globs: Any = None) -> OutputFileDatasetConfig:
        """Files go to the datastore when the script has ended: those that match ``source_globs``, or all."""
        globs = [source_globs] if isinstance(source_globs, str) else list(source_globs or ()) or None
        return self._with(mode="upload", _overwrite=bool(overwrite), _globs=globs)

    def as_hdfs(self) -> Any:
        """Says that HDFS is not served."""
        raise not_yet("OutputFileDatasetConfig.as_hdfs")

    def read_delimited_files(self, include_path: bool = False, separator: str = ",",
                             header: Any = PromoteHeadersBehavior.ALL_FILES_HAVE_SAME_HEADERS, partition_format: str | None = None,
                             path_glob: str | None = None, set_column_types: dict[str, Any] | None = None) -> OutputTabularDatasetConfig:
        """The output as a table of delimited files."""
        from azureml.data import dataset_factory

        read = dataset_factory.delimited(include_path, True, set_column_types, separator, header, partition_format, False, False, "utf8")
        return OutputTabularDatasetConfig(output_file_dataset_config=self, _read=read, _glob=path_glob)

    def read_parquet_files(self, include_path: bool = False, partition_format: str | None = None, path_glob: str | None = None,
                           set_column_types: dict[str, Any] | None = None) -> OutputTabularDatasetConfig:
        """The output as a table of Parquet files."""
        from azureml.data import dataset_factory

        read = dataset_factory.parquet(include_path, set_column_types, partition_format)
        return OutputTabularDatasetConfig(output_file_dataset_config=self, _read=read, _glob=path_glob)

    def _ferry_argument(self, submission: dict[str, Any]) -> str:
        """Adds the output to a submission and gives the text of the command line."""
        value: dict[str, Any] = {"datastore": self._datastore, "path": self._path, "mode": self.mode, "overwrite": self._overwrite}
        if self.source:
            value["path_on_compute"] = self.source
        if self._globs:
            value["globs"] = self._globs
        if self._register:
            value["register"] = self._register
        put(submission, "outputs", self.name, value)
        return str(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, datastore={self._datastore!r}, path={self._path!r}, mode={self.mode!r})"


class OutputTabularDatasetConfig(OutputDatasetConfig):
    """An output whose files are read as a table by what comes after it."""

    def __init__(self, **kwargs: Any) -> None:
        output = kwargs.get("output_file_dataset_config")
        if not isinstance(output, OutputFileDatasetConfig):
            raise UserErrorException("OutputTabularDatasetConfig is made by OutputFileDatasetConfig.read_delimited_files and read_parquet_files")
        super().__init__(output.name)
        self._output = output
        self._definition: dict[str, Any] = {"read": kwargs["_read"], "steps": []}
        if kwargs.get("_glob"):
            self._definition["glob"] = _files.normal(kwargs["_glob"], "path_glob")
        self._register = None

    def keep_columns(self, columns: Any) -> OutputTabularDatasetConfig:
        """The table with these columns alone."""
        return self._then({"op": "keep", "columns": _columns(columns)})

    def drop_columns(self, columns: Any) -> OutputTabularDatasetConfig:
        """The table without these columns."""
        return self._then({"op": "drop", "columns": _columns(columns)})

    def as_mount(self) -> OutputTabularDatasetConfig:
        """As :meth:`OutputFileDatasetConfig.as_mount`."""
        return self._with(_output=self._output.as_mount())

    def as_upload(self, overwrite: bool = False, source_globs: Any = None) -> OutputTabularDatasetConfig:
        """As :meth:`OutputFileDatasetConfig.as_upload`."""
        return self._with(_output=self._output.as_upload(overwrite, source_globs))

    def _then(self, step: dict[str, Any]) -> OutputTabularDatasetConfig:
        return self._with(_definition=dict(self._definition, steps=[*self._definition["steps"], step]))

    def _ferry_argument(self, submission: dict[str, Any]) -> str:
        """Adds the output to a submission and gives the text of the command line."""
        if not self._register:
            return self._output._ferry_argument(submission)
        if "glob" in self._definition:
            raise not_yet("register_on_complete of a table with path_glob", "Register the output itself, and make the table of it with "
                          "Dataset.Tabular when the run has completed.")
        register = dict(self._register, type="Tabular", read=self._definition["read"], steps=self._definition["steps"])
        return self._output._with(_register=register)._ferry_argument(submission)


class HDFSOutputDatasetConfig(OutputDatasetConfig):
    """An output of a Spark run. As an argument it says that Spark is not served yet."""

    def __init__(self, name: str | None = None, destination: Any = None) -> None:
        super().__init__(name)
        self.destination = destination
        self._datastore, self._path = _destination(destination)

    def _ferry_argument(self, submission: dict[str, Any]) -> str:
        raise not_yet("HDFSOutputDatasetConfig", "Use OutputFileDatasetConfig.")


class _LinkOutput(OutputDatasetConfig):
    """An output that is a dataset which the script itself made and linked."""

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(name)

    def _ferry_argument(self, submission: dict[str, Any]) -> str:
        raise not_yet(type(self).__name__, "Use OutputFileDatasetConfig, or register the dataset in the script.")


class LinkFileOutputDatasetConfig(_LinkOutput):
    """An output that is linked to a file dataset. As an argument it says that it is not served yet."""


class LinkTabularOutputDatasetConfig(_LinkOutput):
    """An output that is linked to a tabular dataset. As an argument it says that it is not served yet."""


def _destination(destination: Any) -> tuple[str, str]:
    """Names of the datastore and path of a destination."""
    if destination is None:
        return _DESTINATION
    if isinstance(destination, DataReference):
        return destination.datastore.name, _files.normal(destination.path_on_datastore) or _DESTINATION[1]
    store, path = destination if isinstance(destination, (tuple, list)) and len(destination) == 2 else (destination, None)
    name = getattr(store, "name", store)
    if not isinstance(name, str):
        raise UserErrorException(f"destination must be (datastore, path), not a value of type {type(destination).__name__}")
    return name, _files.normal(path, "destination") or _DESTINATION[1]


def _columns(columns: Any) -> list[str]:
    listed = [columns] if isinstance(columns, str) else list(columns)
    return [values.check_name(column, "columns") for column in listed]
