"""How datasets are made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from azureml.data import _files
from azureml.data.data_reference import DataReference
from azureml.data.datapath import DataPath
from azureml.data.dataset_type_definitions import PromoteHeadersBehavior
from azureml.exceptions import UserErrorException
from ferry import values
from ferry.not_yet import not_yet

if TYPE_CHECKING:
    from azureml.data.file_dataset import FileDataset
    from azureml.data.tabular_dataset import TabularDataset

__all__ = ["DataType", "FileDatasetFactory", "TabularDatasetFactory"]

_ENCODINGS = {"utf8": "utf-8", "iso88591": "iso-8859-1", "latin1": "latin-1", "ascii": "ascii", "utf16": "utf-16", "utf32": "utf-32",
              "utf8bom": "utf-8-sig", "windows1252": "cp1252"}


class DataType:
    """The type of a column, for ``set_column_types``."""

    def __init__(self, plain: dict[str, Any]) -> None:
        self._plain = plain

    @staticmethod
    def to_string() -> DataType:
        """Text, as it is written."""
        return DataType({"type": "string"})

    @staticmethod
    def to_long() -> DataType:
        """Whole numbers."""
        return DataType({"type": "long"})

    @staticmethod
    def to_float(decimal_mark: str = ".") -> DataType:
        """Numbers, with ``.`` or ``,`` before the fraction."""
        if decimal_mark not in (".", ","):
            raise UserErrorException(f"decimal_mark must be '.' or ',', not {decimal_mark!r}")
        return DataType({"type": "float", "decimal_mark": decimal_mark})

    @staticmethod
    def to_bool(true_values: Any = None, false_values: Any = None) -> DataType:
        """Truth values: ``true`` and ``false``, ``1`` and ``0``, or the texts that are given."""
        if (true_values is None) != (false_values is None):
            raise UserErrorException("true_values and false_values must be given together")
        plain: dict[str, Any] = {"type": "bool"}
        if true_values is not None:
            plain.update(true=_texts(true_values, "true_values"), false=_texts(false_values, "false_values"))
        return DataType(plain)

    @staticmethod
    def to_datetime(formats: Any = None) -> DataType:
        """Times, by the formats given (as in ``strptime``), or as they are recognised."""
        plain: dict[str, Any] = {"type": "datetime"}
        if formats is not None:
            plain["formats"] = _texts(formats, "formats")
        return DataType(plain)

    @staticmethod
    def to_stream(workspace: Any = None, escaped: bool = False) -> DataType:
        """Paths of files, kept as text."""
        return DataType({"type": "stream"})

    def __repr__(self) -> str:
        return f"DataType({self._plain!r})"


class FileDatasetFactory:
    """Makes file datasets; ``Dataset.File``."""

    @staticmethod
    def from_files(path: Any, validate: bool = True, partition_format: str | None = None, is_file: bool = False) -> FileDataset:
        """A dataset of the files that ``path`` means: a URL, ``datastore.path(...)``, ``(datastore, path)``, or a list of these. A path
        may hold ``*``, ``?`` and ``**``; a folder means all below it."""
        from azureml.data.file_dataset import FileDataset

        workspace, paths = paths_of(path, validate)
        return FileDataset._make(workspace, {"paths": paths, "read": _partitioned({}, partition_format), "steps": []})

    @staticmethod
    def upload_directory(src_dir: Any, target: Any, pattern: str | None = None, overwrite: bool = False,
                         show_progress: bool = True) -> FileDataset:
        """Uploads the files of a folder (those that match ``pattern``) to ``target``, a datastore or (datastore, path), and makes a
        dataset of them. Files that are there already must be replaced with ``overwrite``."""
        from ferry import artifacts

        store, root = target_of(target)
        pairs = [(path, relative) for relative, path in artifacts.files_below(src_dir)]
        if pattern is not None:
            wanted = _files.glob_regex(_files.normal(pattern, "pattern"))
            pairs = [(path, relative) for path, relative in pairs if wanted.match(relative)]
        if not pairs:
            raise UserErrorException(f"'{os.fspath(src_dir)}' has no file" + (f" that matches '{pattern}'" if pattern is not None else ""))
        pairs = [(path, _files.join(root, relative)) for path, relative in pairs]
        if not overwrite:
            left = store._skip_existing(pairs, root, lambda text: None)
            taken = sorted({target for _, target in pairs} - {target for _, target in left})
            if taken:
                raise UserErrorException(f"{len(taken)} of {len(pairs)} files are on datastore '{store.name}' already, such as '{taken[0]}'; pass "
                                         "overwrite=True to replace them")
        store._upload(pairs, root, True, show_progress)
        return FileDatasetFactory.from_files([(store, root)], validate=False)


class TabularDatasetFactory:
    """Makes tabular datasets; ``Dataset.Tabular``."""

    @staticmethod
    def from_delimited_files(path: Any, validate: bool = True, include_path: bool = False, infer_column_types: bool = True,
                             set_column_types: dict[str, DataType] | None = None, separator: str = ",", header: Any = True,
                             partition_format: str | None = None, support_multi_line: bool = False, empty_as_string: bool = False,
                             encoding: str = "utf8") -> TabularDataset:
        """A table of delimited files (CSV, TSV). ``path`` as in :meth:`FileDatasetFactory.from_files`."""
        read = delimited(include_path, infer_column_types, set_column_types, separator, header, partition_format, support_multi_line,
                         empty_as_string, encoding)
        return _tabular(path, validate, read)

    @staticmethod
    def from_parquet_files(path: Any, validate: bool = True, include_path: bool = False, set_column_types: dict[str, DataType] | None = None,
                           partition_format: str | None = None) -> TabularDataset:
        """A table of Parquet files."""
        return _tabular(path, validate, parquet(include_path, set_column_types, partition_format))

    @staticmethod
    def from_json_lines_files(path: Any, validate: bool = True, include_path: bool = False, set_column_types: dict[str, DataType] | None = None,
                              partition_format: str | None = None, invalid_lines: str = "error", encoding: str = "utf8") -> TabularDataset:
        """A table of files with one JSON object a line. ``invalid_lines`` is error or drop."""
        if invalid_lines not in ("error", "drop"):
            raise UserErrorException(f"invalid_lines must be 'error' or 'drop', not {invalid_lines!r}")
        read = {"format": "jsonlines", "include_path": bool(include_path), "column_types": _types(set_column_types),
                "invalid_lines": invalid_lines, "encoding": _encoding(encoding)}
        return _tabular(path, validate, _partitioned(read, partition_format))

    @staticmethod
    def from_sql_query(query: Any, validate: bool = True, set_column_types: Any = None, query_timeout: int = 30) -> TabularDataset:
        """Says that databases are not served."""
        raise not_yet("Dataset.Tabular.from_sql_query", "Export the query's result to files and use from_delimited_files or from_parquet_files.")

    @staticmethod
    def register_pandas_dataframe(dataframe: Any, target: Any, name: str, description: str | None = None, tags: dict[str, str] | None = None,
                                  show_progress: bool = True, row_group_size: int | None = None, make_target_path_unique: bool = True) -> TabularDataset:
        """Writes a data frame to ``target``, a datastore or (datastore, path), and registers it under ``name``: as Parquet where pyarrow
        is there, else as JSON lines, which keep every value too."""
        from azureml.data import _frame

        store, root = target_of(target)
        values.check_name(name)
        folder = root
        if make_target_path_unique:
            import uuid

            folder = _files.join(root or "managed-dataset", str(uuid.uuid4()))
        written = _frame.write(dataframe, store, folder, show_progress, row_group_size)
        return _tabular([(store, folder)], False, written).register(store.workspace, name, description, tags, create_new_version=True)

    @staticmethod
    def register_spark_dataframe(dataframe: Any, target: Any, name: str, *args: Any, **kwargs: Any) -> TabularDataset:
        """Says that Spark is not served."""
        raise not_yet("Dataset.Tabular.register_spark_dataframe")

    @staticmethod
    def register_dask_dataframe(dataframe: Any, target: Any, name: str, *args: Any, **kwargs: Any) -> TabularDataset:
        """Says that Dask is not served."""
        raise not_yet("Dataset.Tabular.register_dask_dataframe", "Use register_pandas_dataframe.")


def delimited(include_path: bool, infer_column_types: bool, set_column_types: Any, separator: str, header: Any, partition_format: str | None,
              support_multi_line: bool, empty_as_string: bool, encoding: str) -> dict[str, Any]:
    """How delimited files are read, as a plain value."""
    if not isinstance(separator, str) or not separator:
        raise UserErrorException(f"separator must be a text, not {separator!r}")
    if isinstance(header, bool):
        header = PromoteHeadersBehavior.ALL_FILES_HAVE_SAME_HEADERS if header else PromoteHeadersBehavior.NO_HEADERS
    if isinstance(header, str) and header in PromoteHeadersBehavior.__members__:
        header = PromoteHeadersBehavior[header]
    if not isinstance(header, PromoteHeadersBehavior):
        raise UserErrorException(f"header must be True, False or a PromoteHeadersBehavior, not {header!r}")
    read = {"format": "delimited", "include_path": bool(include_path), "infer_column_types": bool(infer_column_types),
            "column_types": _types(set_column_types), "separator": separator, "header": header.name,
            "support_multi_line": bool(support_multi_line), "empty_as_string": bool(empty_as_string), "encoding": _encoding(encoding)}
    return _partitioned(read, partition_format)


def parquet(include_path: bool, set_column_types: Any, partition_format: str | None) -> dict[str, Any]:
    """How Parquet files are read, as a plain value."""
    return _partitioned({"format": "parquet", "include_path": bool(include_path), "column_types": _types(set_column_types)}, partition_format)


def paths_of(path: Any, validate: bool) -> tuple[Any, list[dict[str, str]]]:
    """The workspace (None for URLs) and the plain paths of what a factory was given."""
    items = list(path) if isinstance(path, (list, set, frozenset)) or (isinstance(path, tuple) and not _is_pair(path)) else [path]
    if not items:
        raise UserErrorException("path must not be empty")
    workspace, paths = None, []
    for item in items:
        if isinstance(item, str):
            paths.append(_url(item))
            continue
        store, below = _place(item)
        if workspace is not None and store.workspace.name != workspace.name:
            raise UserErrorException("path: all datastores of a dataset must be of the same workspace")
        workspace = store.workspace
        paths.append({"datastore": store.name, "path": _files.normal(below)})
    if workspace is not None and any("url" in item for item in paths):
        raise UserErrorException("path: URLs and datastores must not be mixed in one dataset")
    if validate:
        _files.check_there(workspace, paths)
    return workspace, paths


def target_of(target: Any) -> tuple[Any, str]:
    """Datastore and path of a place to write to."""
    from azureml.data.abstract_datastore import AbstractDatastore

    if isinstance(target, AbstractDatastore):
        return target, ""
    try:
        store, path = _place(target)
    except UserErrorException:
        raise UserErrorException("target must be a datastore, (datastore, path) or datastore.path(...), not "
                                 f"a value of type {type(target).__name__}") from None
    below = _files.normal(path, "target")
    if _files.has_glob(below):
        raise UserErrorException(f"target must be a folder, not a pattern: '{below}'")
    return store, below


def _is_pair(path: Any) -> bool:
    from azureml.data.abstract_datastore import AbstractDatastore

    return len(path) == 2 and isinstance(path[0], AbstractDatastore) and isinstance(path[1], (str, type(None)))


def _place(item: Any) -> tuple[Any, str | None]:
    from azureml.data.abstract_datastore import AbstractDatastore

    if isinstance(item, DataReference):
        return item.datastore, item.path_on_datastore
    if isinstance(item, DataPath) and isinstance(item._datastore, AbstractDatastore):
        return item._datastore, item.path_on_datastore
    if isinstance(item, AbstractDatastore):
        return item, None
    if isinstance(item, tuple) and _is_pair(item):
        return item
    raise UserErrorException("path must be a URL, datastore.path(...), (datastore, path), or a list of these, not "
                             f"a value of type {type(item).__name__}")


def _url(text: str) -> dict[str, str]:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserErrorException(f"path: '{text}' is no http or https URL; a file of this machine is uploaded to a datastore first, with "
                                 "datastore.upload_files or Dataset.File.upload_directory")
    if "*" in parts.path:
        raise UserErrorException(f"path: a URL cannot hold a pattern: '{text}'")
    return {"url": text}


def _tabular(path: Any, validate: bool, read: dict[str, Any]) -> TabularDataset:
    from azureml.data.tabular_dataset import TabularDataset

    workspace, paths = paths_of(path, validate)
    return TabularDataset._make(workspace, {"paths": paths, "read": read, "steps": []})


def _partitioned(read: dict[str, Any], partition_format: str | None) -> dict[str, Any]:
    if partition_format is not None:
        from azureml.data import _partition

        _partition.Format(partition_format)
        read["partition_format"] = partition_format
    return read


def _types(types: Any) -> dict[str, Any]:
    if types is None:
        return {}
    if not hasattr(types, "items"):
        raise UserErrorException(f"set_column_types must be a dict of column names and DataTypes, not a value of type {type(types).__name__}")
    plain = {}
    for column, kind in types.items():
        if not isinstance(kind, DataType):
            raise UserErrorException(f"set_column_types: column '{column}' must have a DataType such as DataType.to_string(), not {kind!r}")
        plain[values.check_name(column, "column")] = kind._plain
    return plain


def _encoding(encoding: Any) -> str:
    key = str(encoding).lower().replace("-", "").replace("_", "")
    if key not in _ENCODINGS:
        raise UserErrorException(f"encoding must be one of {', '.join(_ENCODINGS)}, not {encoding!r}")
    return key


def python_encoding(encoding: str) -> str:
    """Python's name of an encoding of a definition."""
    return _ENCODINGS.get(encoding, "utf-8")


def _texts(given: Any, argument: str) -> list[str]:
    listed = [given] if isinstance(given, str) else list(given)
    if not listed or not all(isinstance(item, str) for item in listed):
        raise UserErrorException(f"{argument} must be a text or a list of texts, not {given!r}")
    return listed
