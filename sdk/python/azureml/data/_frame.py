"""Tables as pandas data frames, in and out. pandas is loaded here alone, when it is first needed."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Sequence

from azureml.data import _expression, _files, _partition, _steps
from azureml.data.dataset_error_handling import DatasetExecutionError
from azureml.data.dataset_factory import python_encoding
from azureml.exceptions import UserErrorException

_PATH_COLUMN = "Path"
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d{1,9})?)?( ?Z| ?[+-]\d{2}:?\d{2})?)?\Z")
_DATES_LOOKED_AT = 200
_NO_VALUE = ["", "NaN", "nan"]
_TRUE, _FALSE = {"true", "1", "yes"}, {"false", "0", "no"}
_WRITTEN_TYPES = {"i": "long", "u": "long", "f": "float", "b": "bool", "M": "datetime"}


def pandas(what: str) -> Any:
    """The module. UserErrorException says who needs it when it is not there."""
    try:
        import pandas as module
    except ImportError as error:
        raise UserErrorException(f"{what} needs pandas, which this Python does not have; install it with: pip install pandas", error) from None
    return module


def _pyarrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


# Reading


def read(workspace: Any, definition: dict[str, Any], fail: bool) -> Any:
    """The whole table. With ``fail`` a value that does not fit its type raises; else it is null."""
    import shutil
    import tempfile

    pd = pandas("to_pandas_dataframe")
    given = definition["read"]
    reader = _READERS.get(given.get("format", ""))
    if reader is None:
        raise UserErrorException(f"this version cannot read the format '{given.get('format')}' of the dataset; it was made by a later one")
    with _plain_text(pd):
        folder = tempfile.mkdtemp(prefix="ferry-table-")
        try:
            rows = _rows_needed(definition["steps"])
            tables = reader(pd, given, _fetched(workspace, definition, folder, rows is not None), rows)
            frame = pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0].reset_index(drop=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        types = given.get("column_types") or {}
        _require(frame, types, "set_column_types")
        for column, kind in types.items():
            frame[column] = _converted(pd, frame[column], column, kind, fail)
        if given.get("infer_column_types"):
            _infer_times(pd, frame, types)
        if given.get("empty_as_string"):
            for column in frame.columns[[dtype == object for dtype in frame.dtypes]]:
                frame[column] = frame[column].where(frame[column].notna(), "")
        return _applied(pd, frame, definition["steps"])


class _File:
    """A file of the table on this machine, with the columns that its path gives."""

    def __init__(self, entry: _files.Entry, path: str, columns: dict[str, Any]) -> None:
        self.label = entry.label
        self.path = path
        self.columns = columns

    def whole(self, frame: Any) -> Any:
        """The frame with the columns of the path before its own."""
        for at, (name, value) in enumerate((n, v) for n, v in self.columns.items() if n not in frame.columns):
            frame.insert(at, name, [value] * len(frame))
        return frame

    def failed(self, error: BaseException) -> DatasetExecutionError:
        return DatasetExecutionError(f"'{self.label}' cannot be read: {error}", error)


def _fetched(workspace: Any, definition: dict[str, Any], folder: str, some: bool) -> list[Callable[[], _File]]:
    """Every file of the table, as a function that gives it. With ``some`` it is fetched only then; else all are here already."""
    given = definition["read"]
    form = _partition.Format(given["partition_format"]) if given.get("partition_format") else None
    entries = list(enumerate(_files.files_of(workspace, definition["paths"])))

    def path_of(item: tuple[int, _files.Entry]) -> str:
        return os.path.join(folder, str(item[0]) + "-" + (item[1].relative.rpartition("/")[2] or "file"))

    def fetch(item: tuple[int, _files.Entry]) -> None:
        if not os.path.exists(path_of(item)):
            _files.fetch(workspace, item[1], path_of(item))

    def bring(item: tuple[int, _files.Entry]) -> _File:
        columns: dict[str, Any] = {_PATH_COLUMN: item[1].label} if given.get("include_path") else {}
        if form is not None:
            columns.update(form.read(item[1].path))
        fetch(item)
        return _File(item[1], path_of(item), columns)

    if not some:
        for _ in _files.at_once(fetch, entries):
            pass
    return [lambda item=item: bring(item) for item in entries]


def _rows_needed(steps: Sequence[dict[str, Any]]) -> int | None:
    """How many rows are enough, where that is known before they are read."""
    skipped = 0
    for step in steps:
        if step["op"] == "take":
            return skipped + step["count"]
        if step["op"] == "skip":
            skipped += step["count"]
        elif step["op"] not in ("keep", "drop", "timestamp"):
            return None
    return None


def _each(files: Sequence[Callable[[], _File]], rows: int | None, one: Callable[[_File, int, int | None], Any]) -> list[Any]:
    """The frames of the files, as many as are needed."""
    frames: list[Any] = []
    have = 0
    for at, bring in enumerate(files):
        if rows is not None and frames and have >= rows:
            break
        file = bring()
        frames.append(file.whole(one(file, at, None if rows is None else max(0, rows - have))))
        have += len(frames[-1])
    return frames


def _delimited(pd: Any, given: dict[str, Any], files: Sequence[Callable[[], _File]], rows: int | None) -> list[Any]:
    header = given["header"]
    as_text = {column: str for column, kind in given["column_types"].items()}
    options = {"sep": given["separator"], "encoding": python_encoding(given["encoding"]), "keep_default_na": False, "na_values": _NO_VALUE,
               "index_col": False}
    options.update({"engine": "python"} if len(given["separator"]) > 1 else {"low_memory": False})

    def load(as_text: Any) -> list[Any]:
        names: list[str] = []

        def one(file: _File, at: int, limit: int | None) -> Any:
            nonlocal names
            titled = header in ("ALL_FILES_HAVE_SAME_HEADERS", "COMBINE_ALL_FILES_HEADERS") or (header == "ONLY_FIRST_FILE_HAS_HEADERS" and at == 0)
            dtype = str if not given["infer_column_types"] else as_text
            try:
                frame = pd.read_csv(file.path, header=0 if titled else None, dtype=dtype if titled or dtype is str else None, nrows=limit, **options)
            except pd.errors.EmptyDataError:
                return pd.DataFrame(columns=names)
            except (ValueError, OSError, pd.errors.ParserError) as error:
                raise file.failed(error) from None
            if not titled:
                known = names if header == "ONLY_FIRST_FILE_HAS_HEADERS" else [f"Column{n + 1}" for n in range(len(frame.columns))]
                if len(known) != len(frame.columns):
                    raise file.failed(ValueError(f"it has {len(frame.columns)} columns and the first file has {len(known)}"))
                frame.columns = known
            frame.columns = [str(column) for column in frame.columns]
            if not titled and isinstance(as_text, dict) and dtype is not str and set(as_text) & set(frame.columns):
                chosen = {n: str for n, name in enumerate(frame.columns) if name in as_text}
                frame = pd.read_csv(file.path, header=None, dtype=chosen, nrows=limit, **options).set_axis(list(frame.columns), axis=1)
            if header == "ALL_FILES_HAVE_SAME_HEADERS" and names and list(frame.columns) != names:
                if set(frame.columns) != set(names):
                    raise file.failed(ValueError(f"its columns are {_some(frame.columns)} and those of the first file are {_some(names)}; "
                                                 "header=PromoteHeadersBehavior.COMBINE_ALL_FILES_HEADERS takes both"))
                frame = frame[names]
            names = names or list(frame.columns)
            return frame

        return _each(files, rows, one)

    frames = load(as_text)
    mixed = _mixed(frames) - set(as_text)
    if mixed:
        frames = load({**as_text, **{column: str for column in mixed}})
    return frames


def _mixed(frames: Sequence[Any]) -> set[str]:
    """Columns that are text in one file and something else in another."""
    kinds: dict[str, set[str]] = {}
    for frame in frames:
        for column, dtype in frame.dtypes.items():
            if len(frame) and frame[column].notna().any():
                kinds.setdefault(column, set()).add("number" if dtype.kind in "iuf" else dtype.kind)
    return {column for column, found in kinds.items() if len(found) > 1}


def _parquet(pd: Any, given: dict[str, Any], files: Sequence[Callable[[], _File]], rows: int | None) -> list[Any]:
    if not _pyarrow():
        raise UserErrorException("reading Parquet files needs pyarrow, which this Python does not have; install it with: pip install pyarrow")

    def one(file: _File, at: int, limit: int | None) -> Any:
        try:
            return pd.read_parquet(file.path, engine="pyarrow").reset_index(drop=True)
        except (ValueError, OSError) as error:
            raise file.failed(error) from None

    return _each(files, rows, one)


def _json_lines(pd: Any, given: dict[str, Any], files: Sequence[Callable[[], _File]], rows: int | None) -> list[Any]:
    import json

    def one(file: _File, at: int, limit: int | None) -> Any:
        records = []
        try:
            with open(file.path, encoding=python_encoding(given["encoding"])) as lines:
                for number, line in enumerate(lines, 1):
                    if limit is not None and len(records) >= limit:
                        break
                    if not line.strip():
                        continue
                    try:
                        record = json.loads(line)
                        if not isinstance(record, dict):
                            raise ValueError("it is no object")
                    except ValueError as error:
                        if given["invalid_lines"] == "drop":
                            continue
                        raise DatasetExecutionError(f"'{file.label}' line {number} is no JSON object: {error}; invalid_lines='drop' leaves such lines "
                                                    "out", error) from None
                    records.append(record)
        except UnicodeError as error:
            raise file.failed(error) from None
        return pd.DataFrame.from_records(records)

    return _each(files, rows, one)


_READERS = {"delimited": _delimited, "parquet": _parquet, "jsonlines": _json_lines}


# Types


def _converted(pd: Any, series: Any, column: str, kind: dict[str, Any], fail: bool) -> Any:
    what = kind["type"]
    there = series.notna()
    if what in ("string", "stream"):
        return series.where(~there, series.astype(str)).astype(object)
    if what == "bool":
        true, false = set(kind.get("true", ())) or _TRUE, set(kind.get("false", ())) or _FALSE
        texts = series.astype(str) if "true" in kind else series.astype(str).str.lower()
        found = texts.map(lambda text: True if text in true else False if text in false else None).where(there, None)
    elif what == "datetime":
        found = pd.Series(pd.NaT, index=series.index)
        for form in kind.get("formats") or [None]:
            more = _times(pd, series, form, "coerce")
            found = more if not found.notna().any() else found.where(found.notna(), more)
    else:
        texts = series.astype(str).str.strip().where(there) if series.dtype == object else series
        if kind.get("decimal_mark") == "," and texts.dtype == object:
            texts = texts.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
        found = pd.to_numeric(texts, errors="coerce")
        if what == "long":
            found = found.where(found == found.round())
        elif found.dtype.kind in "iu":
            found = found.astype("float64")
    wrong = series[there & found.isna()]
    if fail and len(wrong):
        raise DatasetExecutionError(f"column '{column}' has values that are no {what}, such as {wrong.iloc[0]!r}; on_error='null' makes them null")
    if not found.isna().any():
        if what == "long":
            return found.astype("int64")
        if what == "bool":
            return found.astype(bool)
    return found


def _times(pd: Any, series: Any, form: str | None = None, errors: str = "raise") -> Any:
    # Since its second version pandas wants to be told that dates need not all have the form of the first.
    if form is None and not pd.__version__.startswith(("0.", "1.")):
        form = "mixed"
    return pd.to_datetime(series, format=form, errors=errors)


def _plain_text(pd: Any) -> Any:
    """A context in which text is read as objects, as every version of pandas before the third does by itself."""
    import contextlib

    return contextlib.nullcontext() if int(pd.__version__.split(".")[0]) < 3 else pd.option_context("future.infer_string", False)


def _infer_times(pd: Any, frame: Any, types: dict[str, Any]) -> None:
    """Columns of text that has the form of dates become times."""
    for column in frame.columns:
        if frame[column].dtype != object or column in types or column == _PATH_COLUMN:
            continue
        known = frame[column].dropna()
        if not len(known) or not all(isinstance(text, str) and _DATE.match(text) for text in known[:_DATES_LOOKED_AT]):
            continue
        if not known.astype(str).str.match(_DATE.pattern).all():
            continue
        try:
            frame[column] = _times(pd, frame[column])
        except (ValueError, OverflowError):
            continue


def _require(frame: Any, columns: Any, what: str) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise UserErrorException(f"{what}: the table has no column {_some(missing)}; it has {_some(frame.columns)}")


def _some(names: Any) -> str:
    listed = [f"'{name}'" for name in names]
    return ", ".join(listed[:20]) + (f" and {len(listed) - 20} more" if len(listed) > 20 else "")


# Steps


def _applied(pd: Any, frame: Any, steps: Sequence[dict[str, Any]]) -> Any:
    for step in steps:
        op = step["op"]
        if op == "take":
            frame = frame.iloc[:step["count"]]
        elif op == "skip":
            frame = frame.iloc[step["count"]:]
        elif op == "sample":
            frame = frame[_steps.chosen(step, len(frame))]
        elif op == "keep":
            _require(frame, step["columns"], "keep_columns")
            frame = frame[step["columns"]]
        elif op == "drop":
            _require(frame, step["columns"], "drop_columns")
            frame = frame.drop(columns=step["columns"])
        elif op == "timestamp":
            columns = [step[key] for key in ("timestamp", "partition_timestamp") if step[key] is not None]
            _require(frame, columns, "with_timestamp_columns")
            for column in columns:
                frame = frame.assign(**{column: _time_column(pd, frame[column], column)})
        elif op == "filter":
            _require(frame, _expression.columns(step["condition"]), "filter")
            frame = frame[_expression.mask(step["condition"], frame)]
        else:
            raise UserErrorException(f"this version does not know the step '{op}' of the dataset; it was made by a later one")
    return frame.reset_index(drop=True)


def _time_column(pd: Any, series: Any, column: str) -> Any:
    if series.dtype.kind == "M" or hasattr(series.dtype, "tz"):
        return series
    try:
        return _times(pd, series)
    except (ValueError, TypeError, OverflowError) as error:
        raise DatasetExecutionError(f"column '{column}' has no times: {error}", error) from None


# Partitions


def partition_values(definition: dict[str, Any], entries: Sequence[_files.Entry], wanted: Any) -> Any:
    """The combinations of partition keys of the files."""
    pd = pandas("get_partition_key_values")
    text = definition["read"].get("partition_format")
    if not text:
        raise UserErrorException("the dataset has no partition keys: it was made without partition_format")
    form = _partition.Format(text)
    keys = [wanted] if isinstance(wanted, str) else list(wanted or form.keys)
    unknown = [key for key in keys if key not in form.keys]
    if unknown:
        raise UserErrorException(f"partition_keys: {_some(unknown)} is not among {_some(form.keys)}")
    return pd.DataFrame([form.read(entry.path) for entry in entries], columns=form.keys)[keys].drop_duplicates().reset_index(drop=True)


# Writing


def write(frame: Any, store: Any, folder: str, show_progress: bool, row_group_size: int | None = None) -> dict[str, Any]:
    """Writes a data frame to a folder of a datastore and gives the way to read it."""
    import shutil
    import tempfile

    pd = pandas("register_pandas_dataframe")
    _check_frame(pd, frame)
    here = tempfile.mkdtemp(prefix="ferry-table-")
    try:
        name, given = _save(frame, here, "part-00000", row_group_size)
        store._upload([(os.path.join(here, name), _files.join(folder, name))], folder, True, show_progress)
    finally:
        shutil.rmtree(here, ignore_errors=True)
    return given


def write_partitions(frame: Any, keys: list[str], store: Any, folder: str, show_progress: bool) -> dict[str, Any]:
    """Writes a data frame to one file for each combination of keys and gives the way to read them. The files keep the keys, with their
    types; the folders are named by them."""
    import shutil
    import tempfile

    _require(frame, keys, "partition_keys")
    here = tempfile.mkdtemp(prefix="ferry-table-")
    pairs, given, name = [], {}, ""
    try:
        for at, (group, part) in enumerate(frame.groupby(keys if len(keys) > 1 else keys[0], sort=True, dropna=False)):
            parts = [_segment(value) for value in (group if isinstance(group, tuple) else (group,))]
            os.mkdir(os.path.join(here, str(at)))
            name, given = _save(part, os.path.join(here, str(at)), "data", None)
            pairs.append((os.path.join(here, str(at), name), _files.join(folder, "/".join([*parts, name]))))
        if not pairs:
            raise UserErrorException("the table has no row: there is nothing to partition")
        store._upload(pairs, folder, True, show_progress)
    finally:
        shutil.rmtree(here, ignore_errors=True)
    return dict(given, partition_format="/" + "/".join("{%s}" % key for key in keys) + "/" + name)


def _segment(value: Any) -> str:
    from urllib.parse import quote

    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    quoted = quote(text, safe=" :+@=,")
    return quoted if quoted.strip(".") else f"__{quoted}__"  # "", "." and ".." are no names of folders


def _check_frame(pd: Any, frame: Any) -> None:
    if not isinstance(frame, pd.DataFrame):
        raise UserErrorException(f"dataframe must be a pandas data frame, not a value of type {type(frame).__name__}")
    names = [column for column in frame.columns if not isinstance(column, str)]
    if names:
        raise UserErrorException(f"dataframe: every column needs a name that is a text; {names[0]!r} is none")
    if len(set(frame.columns)) != len(frame.columns):
        raise UserErrorException("dataframe: two columns have the same name")


def _save(frame: Any, folder: str, stem: str, row_group_size: int | None) -> tuple[str, dict[str, Any]]:
    """Writes the rows to a file of a folder; its name, and the way to read it."""
    if _pyarrow():
        name = stem + ".parquet"
        options = {} if row_group_size is None else {"row_group_size": row_group_size}
        frame.to_parquet(os.path.join(folder, name), engine="pyarrow", index=False, **options)
        return name, {"format": "parquet", "include_path": False, "column_types": {}}
    name = stem + ".jsonl"
    _write_lines(frame, os.path.join(folder, name))
    types = {column: {"type": _WRITTEN_TYPES[dtype.kind]} for column, dtype in frame.dtypes.items() if dtype.kind in _WRITTEN_TYPES}
    return name, {"format": "jsonlines", "include_path": False, "column_types": types, "invalid_lines": "error", "encoding": "utf8"}


def _write_lines(frame: Any, path: str) -> None:
    import json

    columns = list(frame.columns)
    missing = [frame[column].isna().tolist() for column in columns]
    with open(path, "w", encoding="utf-8") as file:
        for at, row in enumerate(frame.itertuples(index=False, name=None)):
            record = {column: None if missing[n][at] else _plain(value) for n, (column, value) in enumerate(zip(columns, row))}
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item") and getattr(value, "shape", ()) == ():
        return value.item()
    return value if isinstance(value, (str, int, float, bool, list, dict)) else str(value)
