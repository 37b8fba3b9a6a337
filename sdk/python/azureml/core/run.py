"""The run as a training script sees it: metrics, tags, properties and files."""

from __future__ import annotations

import os
import time
from math import isfinite
from typing import Any, Iterable, Mapping, Sequence

from azureml.exceptions import MissingAttributeException, RunEnvironmentException, UserErrorException
from ferry import values
from ferry.channel import Channel
from ferry.context import ContextExperiment, RunContext

__all__ = ["Run"]

_MAX_CACHED_NAMES = 10_000


class Run:
    """A run. :meth:`get_context` gives the one this process belongs to.

    Every call returns once its record is on the disk of the node's supervisor. Safe to call from several threads and after a fork.
    A wrong argument raises UserErrorException and names it, a record that is refused raises ServiceException, a supervisor that
    cannot be reached for a minute RunEnvironmentException.
    """

    def __init__(self, experiment: Any, run_id: str, outputs: Any = None, **kwargs: Any) -> None:
        self._experiment = experiment
        self._run_id = values.check_name(run_id, "run_id")
        self._outputs = outputs
        self._properties: dict[str, str] = {}
        self._heads: dict[str, str] = {}
        context = kwargs.get("_context") or RunContext()
        here = context.submitted and context.run_id == run_id
        self._number = context.number if here else None
        self._artifacts = context.artifacts if here else ""
        self._channel = Channel(context.address, context.token) if here else None

    @classmethod
    def get_context(cls, allow_offline: bool = True, used_for_context_manager: bool = False) -> Run:
        """The run this process was submitted as; outside of one an ``_OfflineRun``, or RunEnvironmentException when that is not
        allowed. The same object each time."""
        global _current, _current_key
        context = RunContext()
        if not context.submitted:
            if not allow_offline:
                raise RunEnvironmentException(
                    "this process is not inside a submitted run: AZUREML_RUN_ID, AZUREML_RUN_TOKEN and FERRY_RUN_SOCKET are not set")
            if not isinstance(_current, _OfflineRun):
                _current, _current_key = _OfflineRun(), None
        elif _current is None or _current_key != context.key:
            _current, _current_key = Run(ContextExperiment(), context.run_id, _context=context), context.key
        return _current

    @classmethod
    def get_submitted_run(cls) -> Run:
        """The older name of :meth:`get_context` without the offline run."""
        return cls.get_context(allow_offline=False)

    # Identity

    @property
    def id(self) -> str:
        """The run's id."""
        return self._run_id

    @property
    def number(self) -> int | None:
        """The run's number within its experiment, where it is known."""
        return self._number

    @property
    def experiment(self) -> Any:
        """The experiment, with ``name`` and ``workspace``."""
        return self._experiment

    # Metrics

    def log(self, name: str, value: Any, description: str = "", step: int | None = None) -> None:
        """Logs one number or text. Repeated calls under one name build a series."""
        if type(value) is float and isfinite(value):
            text, kind = float.__repr__(value), "scalar"
        else:
            plain = values.to_scalar(value)
            if isinstance(plain, str):
                text, kind = values.to_json(plain), "text"
            else:
                text, kind = values.number_text(plain) if isinstance(plain, float) else str(plain), "scalar"
        if step is not None:
            text += ',"step":%d' % values.check_step(step)
        self._put_metric(name, kind, text, value)

    def log_list(self, name: str, value: Iterable[Any], description: str = "") -> None:
        """Logs a list of numbers or texts; any iterable will do."""
        values.check_name(name)
        plain = values.to_plain(value)
        if not isinstance(plain, list):
            raise UserErrorException(f"value must be a list, not a value of type {type(value).__name__}")
        self._put_metric(name, "list", values.to_json(plain), plain)

    def log_row(self, name: str, description: str | None = None, **kwargs: Any) -> None:
        """Logs one row; each keyword is a column. Repeated calls under one name build a table."""
        values.check_name(name)
        if not kwargs:
            raise UserErrorException("log_row needs at least one column, given as a keyword")
        plain = {values.check_name(column, "column"): values.to_plain(value, column) for column, value in kwargs.items()}
        self._put_metric(name, "row", values.to_json(plain), plain)

    def log_table(self, name: str, value: Mapping[str, Iterable[Any]], description: str = "") -> None:
        """Logs a whole table: a dict of columns, each a list."""
        values.check_name(name)
        plain = values.to_plain(value)
        if not isinstance(plain, dict):
            raise UserErrorException(f"value must be a dict of columns, not a value of type {type(value).__name__}")
        table = {values.check_name(column, "column"): cells if isinstance(cells, list) else [cells]
                 for column, cells in plain.items()}
        self._put_metric(name, "table", values.to_json(table), plain)

    def log_image(self, name: str, path: Any = None, plot: Any = None, description: str = "") -> None:
        """Logs an image: a file (``path``), or what matplotlib draws (``plot``: the pyplot module, a figure or axes)."""
        values.check_name(name)
        if (path is None) == (plot is None):
            raise UserErrorException("log_image takes either path or plot")
        if plot is not None:
            figure = plot if hasattr(plot, "savefig") else getattr(plot, "figure", None)
            if not hasattr(figure, "savefig"):
                raise UserErrorException(
                    f"plot must be matplotlib.pyplot, a figure or axes, not a value of type {type(plot).__name__}")
            artifact = _artifact_name(name, ".png")
            self._put_artifact(artifact, lambda target: figure.savefig(target, format="png"))
        else:
            artifact = _artifact_name(name, os.path.splitext(os.fsdecode(path))[1] or ".png")
            self._upload(artifact, path)
        self._put_metric(name, "image", values.to_json({"artifact": artifact}), path if plot is None else plot)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        """Logs an accuracy table: a dict with ``schema_type``, ``schema_version`` and ``data``, its JSON text, or a JSON file."""
        self._log_document(name, "accuracy_table", value)

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        """Logs a confusion matrix; ``value`` as in :meth:`log_accuracy_table`."""
        self._log_document(name, "confusion_matrix", value)

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        """Logs predictions of a regression; ``value`` as in :meth:`log_accuracy_table`."""
        self._log_document(name, "predictions", value)

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        """Logs residuals of a regression; ``value`` as in :meth:`log_accuracy_table`."""
        self._log_document(name, "residuals", value)

    def flush(self, timeout_seconds: float = 300) -> None:
        """Returns at once: every call has waited for its own acknowledgement."""

    # Tags and properties

    def tag(self, key: str, value: Any = None) -> None:
        """Sets a tag, replacing an earlier one of the same key. Values become text; None is a bare key."""
        values.check_name(key, "key")
        text = None if value is None else str(value)
        self._put('"tag":%s,"value":%s' % (values.to_json(key), values.to_json(text)), "tag run with", {key: text})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Sets several tags; others stay."""
        for key in _mapping(tags, "tags"):
            values.check_name(key, "key")
        for key, value in tags.items():
            self.tag(key, value)

    def add_properties(self, properties: Mapping[str, Any]) -> None:
        """Adds properties, which can never be changed: a key that is set already raises and nothing is added."""
        added = {values.check_name(key, "key"): "" if value is None else str(value)
                 for key, value in _mapping(properties, "properties").items()}
        for key in added:
            if key in self._properties:
                raise UserErrorException(f"properties cannot be changed once set: '{key}' is '{self._properties[key]}'")
        if added:
            self._put('"properties":' + values.to_json(added), "add properties", added)
            self._properties.update(added)

    # Files

    def upload_file(self, name: str, path_or_stream: Any, datastore_name: str | None = None) -> None:
        """Keeps a file, or what is left in an open stream, as the run's artifact ``name``."""
        _no_datastore(datastore_name)
        self._upload(values.check_artifact_name(name), path_or_stream)

    def upload_files(self, names: Sequence[str], paths: Sequence[Any], return_artifacts: bool = False,
                     timeout_seconds: float | None = None, datastore_name: str | None = None) -> None:
        """Keeps several files: ``paths[i]`` as ``names[i]``."""
        _no_datastore(datastore_name)
        if isinstance(names, str) or isinstance(paths, (str, bytes)):
            raise UserErrorException("names and paths must be lists")
        names, paths = [values.check_artifact_name(name, "names") for name in names], list(paths)
        if len(names) != len(paths):
            raise UserErrorException(f"names and paths must have the same length: {len(names)} and {len(paths)}")
        for name, path in zip(names, paths):
            self._upload(name, path)

    def upload_folder(self, name: str, path: Any, datastore_name: str | None = None) -> None:
        """Keeps all files of a folder and below under the prefix ``name``."""
        from ferry import artifacts

        _no_datastore(datastore_name)
        prefix = values.check_artifact_name(name)
        for relative, file in list(artifacts.files_below(path)):
            self._upload(values.check_artifact_name(prefix + "/" + relative), file)

    # The end

    def complete(self, _set_status: bool = True) -> None:
        """Marks the run completed. A submitted run needs no such call: the end of its process is enough."""
        if _set_status:
            self._put('"complete":true', "complete run", None)

    def fail(self, error_details: Any = None, error_code: str | None = None, _set_status: bool = True) -> None:
        """Marks the run failed, with a message (text or exception) and a code."""
        if _set_status:
            failure = {"message": "" if error_details is None else str(error_details),
                       "code": None if error_code is None else str(error_code)}
            self._put('"fail":' + values.to_json(failure), "fail run", failure)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.complete()
        else:
            self.fail(f"{kind.__name__}: {error}", error_code=kind.__name__)

    def __repr__(self) -> str:
        return "Run(Experiment: %s, Id: %s)" % (getattr(self._experiment, "name", None), self._run_id)

    def __reduce__(self) -> Any:
        # In another process the run is found again by that process's own environment.
        return Run.get_context, ()

    # What an offline run does differently

    def _put(self, members: str, doing: str, value: Any) -> None:
        """Records ``members``. ``doing`` and ``value`` say the same to people."""
        if self._channel is None:
            raise RunEnvironmentException(f"run '{self._run_id}' is not the run of this process: cannot {doing}")
        self._channel.request(members)

    def _put_metric(self, name: str, kind: str, text: str, value: Any) -> None:
        """Records one value of a metric; ``text`` is its JSON, followed by further members."""
        try:
            head = self._heads[kind + name]
        except (KeyError, TypeError):
            values.check_name(name)
            head = '"metric":%s,"kind":"%s","value":' % (values.to_json(name), kind)
            if len(self._heads) >= _MAX_CACHED_NAMES:
                self._heads.clear()
            self._heads[kind + name] = head
        self._put('%s%s,"time":%d' % (head, text, time.time_ns() // 1000), "log metric", name)

    def _put_artifact(self, name: str, write: Any) -> None:
        """Keeps what ``write(path)`` writes as the artifact ``name``."""
        from ferry import artifacts

        artifacts.store_with(self._artifact_folder(), name, write)
        self._put('"artifact":' + values.to_json(name), "upload file", name)

    def _upload(self, name: str, source: Any) -> None:
        """Keeps a path's or a stream's bytes as the artifact ``name``."""
        from ferry import artifacts

        artifacts.store(self._artifact_folder(), name, source)
        self._put('"artifact":' + values.to_json(name), "upload file", name)

    def _log_document(self, name: str, schema: str, value: Any) -> None:
        values.check_name(name)
        document = _read_document(value)
        if "data" not in document:
            raise UserErrorException("value must have 'schema_type', 'schema_version' and 'data': 'data' is missing")
        found = document.get("schema_type", schema)
        if found != schema:
            raise UserErrorException(f"value has schema_type '{found}', not '{schema}'")
        artifact = _artifact_name(name, ".json")
        text = values.to_json(document)
        self._put_artifact(artifact, lambda target: _write_text(target, text))
        row = {"schema_type": schema, "schema_version": str(document.get("schema_version", "v1")), "artifact": artifact}
        self._put_metric(name, "row", values.to_json(row), document)

    def _artifact_folder(self) -> str:
        if self._channel is not None and not self._artifacts:
            raise RunEnvironmentException("FERRY_ARTIFACTS is not set: this run keeps no files")
        if not self._artifacts:
            raise RunEnvironmentException(f"run '{self._run_id}' is not the run of this process: cannot upload file")
        return self._artifacts


class _OfflineRun(Run):
    """What :meth:`Run.get_context` gives outside a submitted run: it prints what would have been logged."""

    _WORDS = {"text": "scalar"}

    def __init__(self, run_id: str | None = None) -> None:
        super().__init__(None, run_id or "OfflineRun_" + os.urandom(16).hex(), _context=_Nowhere)

    @property
    def experiment(self) -> Any:
        """Always an AttributeError: there is no experiment outside a run."""
        raise AttributeError("'_OfflineRun' object has no attribute 'experiment': this process is not inside a submitted run")

    def _put(self, members: str, doing: str, value: Any) -> None:
        print(f"Attempted to {doing}" if value is None else f"Attempted to {doing}:\n{value}")

    def _put_metric(self, name: str, kind: str, text: str, value: Any) -> None:
        values.check_name(name)
        print(f"Attempted to log {self._WORDS.get(kind, kind)} metric {name}:\n{value}")

    def _put_artifact(self, name: str, write: Any) -> None:
        pass

    def _upload(self, name: str, source: Any) -> None:
        print(f"Attempted to upload file {name}:\n{source}")

    def _log_document(self, name: str, schema: str, value: Any) -> None:
        values.check_name(name)
        print(f"Attempted to log {schema.replace('_', ' ')} metric {name}:\n{value}")


class _Later:
    """An attribute of Azure's Run that this one does not have yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        raise MissingAttributeException(f"Run.{self._name} is not available inside scripts in this version of Ferry")


for _name in (
        "get", "list", "get_metrics", "get_status", "status", "get_details", "get_details_with_logs", "get_portal_url",
        "wait_for_completion", "cancel", "download_file", "download_files", "get_file_names", "get_all_logs", "take_snapshot",
        "restore_snapshot", "get_snapshot_id", "child_run", "create_children", "get_children", "parent", "submit_child",
        "start_logging", "get_tags", "remove_tags", "tags", "get_properties", "properties", "display_name", "description", "type",
        "name", "input_datasets", "output_datasets", "get_environment", "get_secret", "get_secrets", "register_model",
        "_get_outputs_datapath", "explanation_manager", "counterfactual_manager"):
    setattr(Run, _name, _Later(_name))
del _name


class _Nowhere:
    """The context of no run."""

    submitted = False


_current: Run | None = None
_current_key: tuple[str, str, str] | None = None


def _mapping(value: Any, argument: str) -> Mapping[str, Any]:
    if not hasattr(value, "items"):
        raise UserErrorException(f"{argument} must be a dict, not a value of type {type(value).__name__}")
    return value


def _no_datastore(name: str | None) -> None:
    if name is not None:
        raise UserErrorException("datastore_name: uploads to a chosen datastore are not supported; leave it out")


def _artifact_name(name: str, suffix: str) -> str:
    stem = "".join(c if c.isalnum() or c in "-_. " else "_" for c in name).strip(". ")[:60] or "value"
    return "%s_%d%s" % (stem, time.time_ns() // 1000, suffix)


def _read_document(value: Any) -> dict[str, Any]:
    """A JSON object, given as a dict, as JSON text or as the path of a file."""
    import json

    if hasattr(value, "keys"):
        return values.to_plain(value)
    try:
        if isinstance(value, str) and value.lstrip()[:1] == "{":
            document = json.loads(value)
        else:
            with open(os.fspath(value), encoding="utf-8") as file:
                document = json.load(file)
    except (OSError, TypeError, ValueError) as error:
        raise UserErrorException(f"value must be a dict, JSON text or the path of a JSON file: {error}", error) from None
    if not isinstance(document, dict):
        raise UserErrorException("value must be a JSON object")
    return values.to_plain(document)


def _write_text(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
