"""Tables in files of datastores and URLs, as one dataset."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from azureml.data import _expression, _files
from azureml.data.abstract_dataset import AbstractDataset
from azureml.exceptions import DatasetTimestampMissingError, UserErrorException
from ferry import values
from ferry.not_yet import not_yet

__all__ = ["TabularDataset"]


class TabularDataset(AbstractDataset):
    """A table. Made by ``Dataset.Tabular.from_delimited_files`` and the like."""

    _TYPE = "Tabular"

    def to_pandas_dataframe(self, on_error: str = "null", out_of_range_datetime: str = "null") -> Any:
        """Reads all of it into a pandas data frame. ``on_error`` and ``out_of_range_datetime`` say what becomes of a value that does not
        fit its column's type: null, or fail."""
        from azureml.data import _frame

        for argument, value in (("on_error", on_error), ("out_of_range_datetime", out_of_range_datetime)):
            if value not in ("null", "fail"):
                raise UserErrorException(f"{argument} must be 'null' or 'fail', not {value!r}")
        return _frame.read(self._workspace, self._definition, on_error == "fail" or out_of_range_datetime == "fail")

    # Columns

    def keep_columns(self, columns: Any, validate: bool = False) -> TabularDataset:
        """A new dataset with these columns alone, in this order: one name or a list."""
        return self._checked(self._then({"op": "keep", "columns": _columns(columns)}), validate)

    def drop_columns(self, columns: Any) -> TabularDataset:
        """A new dataset without these columns: one name or a list."""
        return self._then({"op": "drop", "columns": _columns(columns)})

    # Time

    @property
    def timestamp_columns(self) -> tuple[str | None, str | None]:
        """The columns of the records' times and of the partitions' times."""
        timestamp = partition = None
        for step in self._definition["steps"]:
            if step["op"] == "timestamp":
                timestamp, partition = step["timestamp"], step["partition_timestamp"]
            elif step["op"] in ("keep", "drop"):
                gone = (lambda name, step=step: (name in step["columns"]) != (step["op"] == "keep"))
                timestamp = None if timestamp is not None and gone(timestamp) else timestamp
                partition = None if partition is not None and gone(partition) else partition
        return timestamp, partition

    def with_timestamp_columns(self, timestamp: str | None = None, partition_timestamp: str | None = None, validate: bool = False,
                               **kwargs: Any) -> TabularDataset:
        """A new dataset that knows which columns are times; None clears them."""
        old = {"fine_grain_timestamp": timestamp, "coarse_grain_timestamp": partition_timestamp}
        for name in kwargs:
            if name not in old:
                raise TypeError(f"with_timestamp_columns() got an unexpected keyword argument '{name}'")
        timestamp = kwargs.get("fine_grain_timestamp", timestamp)
        partition_timestamp = kwargs.get("coarse_grain_timestamp", partition_timestamp)
        for name, column in (("timestamp", timestamp), ("partition_timestamp", partition_timestamp)):
            if column is not None:
                values.check_name(column, name)
        if timestamp is None and partition_timestamp is not None:
            raise UserErrorException("partition_timestamp needs timestamp: it is the coarser of the two")
        if timestamp is not None and timestamp == partition_timestamp:
            raise UserErrorException(f"timestamp and partition_timestamp must be two columns; both are '{timestamp}'")
        step = {"op": "timestamp", "timestamp": timestamp, "partition_timestamp": partition_timestamp}
        return self._checked(self._then(step), validate)

    def time_before(self, end_time: datetime, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        """A new dataset of the records up to a time."""
        return self._timed("time_before", None, end_time, include_boundary)

    def time_after(self, start_time: datetime, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        """A new dataset of the records from a time on."""
        return self._timed("time_after", start_time, None, include_boundary)

    def time_between(self, start_time: datetime, end_time: datetime, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        """A new dataset of the records between two times."""
        return self._timed("time_between", start_time, end_time, include_boundary)

    def time_recent(self, time_delta: timedelta, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        """A new dataset of the records of the last so much time."""
        if not isinstance(time_delta, timedelta):
            raise UserErrorException(f"time_delta must be a timedelta, not a value of type {type(time_delta).__name__}")
        now = datetime.now(timezone.utc)
        return self._timed("time_recent", now - time_delta, now, include_boundary)

    def _timed(self, what: str, start: Any, end: Any, include_boundary: bool) -> TabularDataset:
        column = self.timestamp_columns[0]
        if column is None:
            raise DatasetTimestampMissingError(f"{what} needs a dataset with a timestamp column: with_timestamp_columns(timestamp=...) sets it, and it must "
                                               "not have been dropped")
        condition: list[Any] = []
        for compare, argument, time in ((">", "start_time", start), ("<", "end_time", end)):
            if time is None and (start is None) != (end is None):
                continue
            one = [compare + ("=" if include_boundary else ""), column, _expression.constant_of_time(time, argument)]
            condition = ["and", condition, one] if condition else one
        return self._then({"op": "filter", "condition": condition, "time": True})

    # Partitions

    def partition_by(self, partition_keys: Any, target: Any, name: str | None = None, show_progress: bool = True,
                     partition_as_file_dataset: bool = False) -> Any:
        """Copies the table to ``target``, (datastore, path), in a folder for each combination of the columns ``partition_keys``, and
        gives the new dataset, registered when there is a ``name``."""
        from azureml.data import _frame, dataset_factory

        store, root = dataset_factory.target_of(target)
        if not root:
            raise UserErrorException("target must be (datastore, path) with a path of its own")
        keys = _columns(partition_keys)
        if not keys:
            raise UserErrorException("partition_keys must name at least one column")
        read = _frame.write_partitions(self.to_pandas_dataframe(), keys, store, root, show_progress)
        paths = [(store, root)]
        if partition_as_file_dataset:
            made = dataset_factory.FileDatasetFactory.from_files(paths, validate=False, partition_format=read["partition_format"])
        else:
            made = dataset_factory._tabular(paths, False, read)
        return made if name is None else made.register(store.workspace, name, create_new_version=True)

    def get_partition_key_values(self, partition_keys: list[str] | None = None) -> Any:
        """The combinations of partition keys that there are, as a pandas data frame."""
        from azureml.data import _frame

        return _frame.partition_values(self._definition, list(_files.files_of(self._workspace, self._definition["paths"])), partition_keys)

    # What is not served

    def to_spark_dataframe(self) -> Any:
        """Says that Spark is not served."""
        raise _not_yet("to_spark_dataframe", "Use to_pandas_dataframe.")

    def to_dask_dataframe(self, *args: Any, **kwargs: Any) -> Any:
        """Says that Dask is not served."""
        raise _not_yet("to_dask_dataframe", "Use to_pandas_dataframe.")

    def to_csv_files(self, separator: str = ",") -> Any:
        """Says that tables are not turned into files."""
        raise _not_yet("to_csv_files", "Write to_pandas_dataframe().to_csv(...) and upload it.")

    def to_parquet_files(self) -> Any:
        """Says that tables are not turned into files."""
        raise _not_yet("to_parquet_files", "Write to_pandas_dataframe().to_parquet(...) and upload it.")

    def get_profile(self, workspace: Any = None) -> Any:
        """Says that profiles are not served."""
        raise _not_yet("get_profile", "Use to_pandas_dataframe().describe().")

    def get_profile_runs(self, workspace: Any = None) -> Any:
        """Says that profiles are not served."""
        raise _not_yet("get_profile_runs")

    def submit_profile_run(self, compute_target: Any, experiment: Any, cache_datastore_name: str | None = None) -> Any:
        """Says that profiles are not served."""
        raise _not_yet("submit_profile_run", "Use to_pandas_dataframe().describe().")

    def download(self, stream_column: Any = None, target_path: Any = None, overwrite: bool = False, ignore_not_found: bool = True) -> Any:
        """Says that files named by a column are not fetched."""
        raise _not_yet("download", "Dataset.File.from_files makes a dataset of the files.")

    def mount(self, stream_column: Any = None, mount_point: Any = None) -> Any:
        """Says that files named by a column are not fetched."""
        raise _not_yet("mount", "Dataset.File.from_files makes a dataset of the files.")

    @staticmethod
    def _checked(dataset: TabularDataset, validate: bool) -> TabularDataset:
        if validate:
            dataset.take(1).to_pandas_dataframe()
        return dataset


def _not_yet(what: str, instead: str = "") -> Exception:
    return not_yet(f"TabularDataset.{what}", instead)


def _columns(columns: Any) -> list[str]:
    if isinstance(columns, str):
        columns = [columns]
    if not hasattr(columns, "__iter__"):
        raise UserErrorException(f"columns must be a column's name or a list of them, not a value of type {type(columns).__name__}")
    return [values.check_name(column, "columns") for column in columns]
