"""A dataset as an input of a run."""

from __future__ import annotations

import copy
import re
from typing import Any

from azureml.data.data_reference import put
from azureml.exceptions import UserErrorException
from ferry.not_yet import not_yet

__all__ = ["DatasetConsumptionConfig"]

_MODES = ("direct", "mount", "download", "hdfs")
# The script finds the path in the variable of the input's name.
_TAKEN = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LD_PRELOAD")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}\Z")


class DatasetConsumptionConfig:
    """A dataset under the name by which a script finds it: in ``Run.input_datasets``, in the environment, and as an argument.

    ``mode`` is mount or download for files, which the script gets as a path, or direct, with which it gets the dataset itself.
    """

    def __init__(self, name: str, dataset: Any, mode: str = "direct", path_on_compute: str | None = None) -> None:
        if not isinstance(name, str) or not _NAME.match(name):
            raise UserErrorException(f"name must have letters, digits and '_', begin with a letter or '_', and have at most 255 characters; it is {name!r}")
        if name in _TAKEN:
            raise UserErrorException(f"name must not be '{name}': the variable of this name holds something that every program needs")
        lower = mode.lower() if isinstance(mode, str) else mode
        if lower not in _MODES:
            raise UserErrorException(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
        self.name = name
        self.dataset = _dataset_of(dataset)
        self.mode = lower
        self.path_on_compute = path_on_compute

    def as_mount(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        """The same input, mounted (where it cannot be: downloaded, and the run says so)."""
        return self._with("mount", path_on_compute)

    def as_download(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        """The same input, downloaded before the script starts."""
        return self._with("download", path_on_compute)

    def as_direct(self) -> DatasetConsumptionConfig:
        """The same input, given to the script as a dataset."""
        return self._with("direct", None)

    def as_hdfs(self) -> DatasetConsumptionConfig:
        """The same input, for a Spark run."""
        return self._with("hdfs", None)

    def _with(self, mode: str, path_on_compute: str | None) -> DatasetConsumptionConfig:
        from azureml.data.tabular_dataset import TabularDataset

        if mode in ("mount", "download") and isinstance(self.dataset, TabularDataset):
            raise UserErrorException(f"a tabular dataset cannot be used as {mode}: the script gets it by run.input_datasets['{self.name}'] and reads "
                                     "it with to_pandas_dataframe(); Dataset.File.from_files makes a dataset of the files themselves")
        other = copy.copy(self)
        other.mode, other.path_on_compute = mode, path_on_compute
        return other

    def _ferry_argument(self, submission: dict[str, Any]) -> str:
        """Adds the input to a submission and gives the text of the command line."""
        from azureml.data._context import workspace_of

        if self.mode == "hdfs":
            raise not_yet("as_hdfs", "Use as_mount or as_download.")
        dataset = self.dataset
        if not hasattr(dataset, "_kept"):
            raise UserErrorException(f"input '{self.name}' is the output of another run, which only a pipeline can order; register it with "
                                     "register_on_complete and get it by name")
        value: dict[str, Any] = {"mode": self.mode, "environment_variable": self.name, "dataset": dataset._kept(workspace_of(submission)),
                                 "paths": dataset._definition["paths"] if self.mode == "direct" else dataset._staged_paths()}
        if self.path_on_compute:
            value["path_on_compute"] = self.path_on_compute
        put(submission, "data", self.name, value)
        return str(self)

    def __str__(self) -> str:
        return "DatasetConsumptionConfig:" + self.name

    def __repr__(self) -> str:
        return f"DatasetConsumptionConfig(name={self.name!r}, mode={self.mode!r}, path_on_compute={self.path_on_compute!r})"


def _dataset_of(dataset: Any) -> Any:
    from azureml.data.abstract_dataset import AbstractDataset
    from azureml.data.output_dataset_config import OutputDatasetConfig

    if isinstance(dataset, (AbstractDataset, OutputDatasetConfig)):
        return dataset
    default = getattr(dataset, "default_value", None)
    if isinstance(default, AbstractDataset):
        raise not_yet("A PipelineParameter as a dataset")
    raise UserErrorException(f"dataset must be a dataset, not a value of type {type(dataset).__name__}")
