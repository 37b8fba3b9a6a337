"""The run: as the training script inside of it sees it, and as everybody else does."""

from __future__ import annotations

import os
import time
from math import isfinite
from typing import Any, Iterable, Iterator, Mapping, Sequence

from azureml.exceptions import MissingAttributeException, RunEnvironmentException, UserErrorException
from ferry import values
from ferry.channel import Channel
from ferry.context import RunContext

__all__ = ["Run"]

_MAX_CACHED_NAMES = 10_000


class Run:
    """A run. :meth:`get_context` gives the one this process belongs to; ``Run(experiment, run_id)`` is any other.

    For the run of this process every call that records something returns once it is on the disk of the node's supervisor; for any other
    run it goes to the server, metrics through a queue that :meth:`flush` and the end of the run wait for. Safe to call from several
    threads and after a fork. A wrong argument raises UserErrorException and names it, a record that is refused raises ServiceException, a
    supervisor that cannot be reached for a minute RunEnvironmentException.
    """

    def __init__(self, experiment: Any, run_id: str, outputs: Any = None, **kwargs: Any) -> None:
        self._experiment = experiment
        self._run_id = values.check_name(run_id, "run_id")
        self._outputs = outputs
        self._properties: dict[str, str] = {}
        self._tags: dict[str, str | None] = {}
        self._heads: dict[str, str] = {}
        context = kwargs.get("_context") or RunContext()
        here = context.submitted and context.run_id == run_id
        self._number = context.number if here else kwargs.get("_number")
        self._artifacts = context.artifacts if here else ""
        self._channel = Channel(context.address, context.token) if here else None
        self._driven = kwargs.get("_driven")  # What becomes of the outputs of an interactive run that this process started.
        self._record: dict[str, Any] | None = kwargs.get("_view")
        self._recorder: Any = None

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
            _current, _current_key = Run(None, context.run_id, _context=context), context.key
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
        """The run's number within its experiment."""
        if self._number is None and self._channel is None:
            self._number = self._view()["number"]
        return self._number

    @property
    def experiment(self) -> Any:
        """The experiment, with ``name`` and ``workspace``. Inside a run they need no other credentials than the run's own."""
        if self._experiment is None:
            from azureml.core.experiment import Experiment
            from azureml.core.workspace import Workspace

            self._experiment = Experiment(Workspace._of_context(), os.environ.get("AZUREML_ARM_PROJECT_NAME", ""), _skip_name_validation=True)
        return self._experiment

    @property
    def type(self) -> str:
        """What kind of run it is: ``azureml.scriptrun`` and the like."""
        return self._view()["type"]

    @property
    def display_name(self) -> str:
        """The name for people; the id when it was given none."""
        return self._view(fresh=True)["name"]

    @display_name.setter
    def display_name(self, name: str) -> None:
        self._change({"name": values.check_name(name, "display_name")})

    @property
    def name(self) -> str:
        """An older name of :attr:`display_name`."""
        return self.display_name

    @name.setter
    def name(self, name: str) -> None:
        self.display_name = name

    @property
    def description(self) -> str:
        """What was said about it."""
        return self._view(fresh=True)["description"]

    @description.setter
    def description(self, text: str) -> None:
        if not isinstance(text, str):
            raise UserErrorException(f"description must be a string, not a value of type {type(text).__name__}")
        self._change({"description": text})

    def get_portal_url(self) -> str:
        """The run in a browser."""
        from ferry.client import quote

        return f"{self._client.url}/#/runs/{quote(self._run_id)}"

    # Finding runs

    @staticmethod
    def get(workspace: Any, run_id: str) -> Run:
        """The run of this id, of whichever experiment of the workspace."""
        from azureml.core.experiment import Experiment
        from ferry import runs
        from ferry.client import NotFound

        view = workspace._client.get(runs.path(values.check_name(run_id, "run_id")), workspace=workspace.name)
        if view["workspace"] != workspace.name:
            raise NotFound(f"there is no run '{run_id}' in workspace '{workspace.name}'", 404, "run.not_found", "run")
        return Run(Experiment(workspace, view["experiment"], _skip_name_validation=True), view["id"], _view=view)

    @staticmethod
    def list(experiment: Any, type: str | None = None, tags: Any = None, properties: Any = None, status: str | None = None,
             include_children: bool = False, _rehydrate_runs: bool = True) -> Iterator[Run]:
        """The runs of an experiment, newest first. ``tags`` and ``properties`` are a dict whose values must match, or one key that must be
        there."""
        from ferry import runs

        found = runs.views(experiment.workspace, experiment.name, type, tags, properties, status, include_children=include_children)
        return (Run(experiment, view["id"], _view=view) for view in found)

    @staticmethod
    def start_logging(experiment: Any, outputs: Any = None, snapshot_directory: Any = ".", **kwargs: Any) -> Run:
        """The same as ``experiment.start_logging``."""
        return experiment.start_logging(outputs=outputs, snapshot_directory=snapshot_directory, **kwargs)

    # Status

    @property
    def status(self) -> str:
        """The status, as the server has it now."""
        return self.get_status()

    def get_status(self) -> str:
        """The status, as the server has it now: Queued, Preparing, Running, Completed, Failed and so on."""
        return self._view(fresh=True)["status"]

    def get_details(self) -> dict[str, Any]:
        """What is known of the run, under Azure's names; ``logFiles`` are addresses."""
        from ferry import details

        return details.details(self.experiment.workspace, self._run_id)

    def get_details_with_logs(self) -> dict[str, Any]:
        """The same, with the texts of the log files."""
        from ferry import details

        return details.details(self.experiment.workspace, self._run_id, with_logs=True)

    def wait_for_completion(self, show_output: bool = False, wait_post_processing: bool = False, raise_on_error: bool = True) -> dict[str, Any]:
        """Waits for the end and gives the details. With ``show_output`` it prints the stages and what the script prints, as it comes.
        Raises ActivityFailedException for a run that failed."""
        from ferry import follow

        return follow.wait(self, show_output, raise_on_error)

    def cancel(self) -> None:
        """Asks for the end of the run. One that has ended stays as it is."""
        from ferry import runs
        from ferry.client import Conflict

        try:
            self._client.post(runs.path(self._run_id, "/cancel"), {}, repeat=True)
        except Conflict as error:
            if error.slug != "run.ended":
                raise

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
        """Returns once everything that was logged is safe: at once for the run of this process, whose calls have waited for it."""
        if self._recorder is not None:
            self._recorder.flush(timeout_seconds)

    def get_metrics(self, name: str | None = None, recursive: bool = False, run_type: str | None = None, populate: bool = False) -> dict[str, Any]:
        """The metrics by name: a value that was logged once, a list of those that were logged repeatedly, a dict of columns for rows and
        tables. ``recursive`` gives those of the children too, by run id; ``populate`` what tables and charts hold."""
        from ferry import metrics

        self.flush()
        return metrics.read(self, name, recursive, run_type, populate)

    # Tags and properties

    def tag(self, key: str, value: Any = None) -> None:
        """Sets a tag, replacing an earlier one of the same key. Values become text; None is a bare key."""
        values.check_name(key, "key")
        text = None if value is None else str(value)
        self._put('"tag":%s,"value":%s' % (values.to_json(key), values.to_json(text)), "tag run with", {key: text})
        if self._channel is not None:
            self._tags[key] = text

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Sets several tags; others stay."""
        for key in _mapping(tags, "tags"):
            values.check_name(key, "key")
        for key, value in tags.items():
            self.tag(key, value)

    def get_tags(self) -> dict[str, Any]:
        """The tags."""
        # What this process has set may not have reached the server yet.
        return {**self._view(fresh=True)["tags"], **{key: value or "" for key, value in self._tags.items()}}

    @property
    def tags(self) -> dict[str, Any]:
        """The tags."""
        return self.get_tags()

    def remove_tags(self, tags: Sequence[str]) -> dict[str, Any]:
        """Removes tags by their keys and gives those that are left."""
        if isinstance(tags, str):
            tags = [tags]
        keys = [values.check_name(key, "tags") for key in tags]
        for key in keys:
            self._tags.pop(key, None)
        self._change({"remove_tags": keys})
        return self.get_tags()

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

    def get_properties(self) -> dict[str, str]:
        """The properties, with those that Azure adds."""
        from ferry import details

        view = self._view(fresh=True)
        return {**details.properties(view, view.get("spec") or {}), **self._properties}

    @property
    def properties(self) -> dict[str, str]:
        """The properties."""
        return self.get_properties()

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
        self._upload_many(list(zip(names, paths)))

    def upload_folder(self, name: str, path: Any, datastore_name: str | None = None) -> None:
        """Keeps all files of a folder and below under the prefix ``name``."""
        from ferry import artifacts

        _no_datastore(datastore_name)
        prefix = values.check_artifact_name(name)
        self._upload_many([(values.check_artifact_name(prefix + "/" + relative), file) for relative, file in artifacts.files_below(path)])

    def get_file_names(self) -> Any:
        """The names of the run's files: artifacts and logs."""
        from ferry import run_files

        return run_files.names(self._client, self._run_id)

    def download_file(self, name: str, output_file_path: Any = None, _validate_checksum: bool = False) -> None:
        """Writes a file of the run to ``output_file_path``: a file, or a folder that it goes into; the current one without it."""
        from ferry import run_files

        name = values.check_artifact_name(name)
        target = os.fsdecode(os.fspath(output_file_path)) if output_file_path is not None else os.curdir
        if os.path.isdir(target) or target.endswith(("/", os.sep)):
            target = os.path.join(target, name.rpartition("/")[2])
        run_files.download(self._client, self._run_id, name, target)

    def download_files(self, prefix: str | None = None, output_directory: Any = None, output_paths: Sequence[Any] | None = None,
                       batch_size: int = 100, append_prefix: bool = True, timeout_seconds: float | None = None) -> None:
        """Writes all files whose names begin with ``prefix`` below ``output_directory``, under their whole names or, without
        ``append_prefix``, under what follows the prefix. ``output_paths`` names the files to write instead."""
        from ferry import run_files

        prefix = prefix[2:] if prefix is not None and prefix.startswith("./") else prefix or ""
        names = run_files.names(self._client, self._run_id, prefix)
        folder = os.fsdecode(os.fspath(output_directory)) if output_directory is not None else os.curdir
        if output_paths is not None:
            paths = [os.fsdecode(os.fspath(path)) for path in ([output_paths] if isinstance(output_paths, str) else output_paths)]
            if len(paths) != len(names):
                raise UserErrorException(f"output_paths has {len(paths)} paths for {len(names)} files: {', '.join(names[:20])}")
            targets = [os.path.join(folder, path) for path in paths]
        else:
            cut = 0 if append_prefix else len(prefix)
            targets = [run_files.place(folder, name[cut:].lstrip("/") or name.rpartition("/")[2]) for name in names]
        for name, target in zip(names, targets):
            run_files.download(self._client, self._run_id, name, target)

    def get_all_logs(self, destination: Any = None) -> Any:
        """Writes all logs below ``destination`` (a folder named like the run without it) and gives their paths."""
        from ferry import run_files

        folder = os.fsdecode(os.fspath(destination)) if destination is not None else self._run_id
        written = []
        for stream in run_files.logs(self._client, self._run_id):
            target = run_files.place(folder, stream["name"])
            run_files.download(self._client, self._run_id, stream["name"], target)
            written.append(target)
        return written

    def get_snapshot_id(self) -> str | None:
        """The id of the source directory as it was submitted; None when there is none."""
        from ferry import details

        return details.definition_of(self._client, self._run_id).get("snapshot") or None

    def restore_snapshot(self, snapshot_id: str | None = None, path: Any = None) -> str:
        """Writes the source directory as a zip file into the folder ``path`` (the current one without it) and gives the file's path."""
        from ferry import snapshot

        wanted = snapshot_id or self.get_snapshot_id()
        if not wanted:
            raise UserErrorException(f"run '{self._run_id}' has no snapshot")
        return snapshot.restore_zip(self._client, wanted, path if path is not None else os.curdir)

    def take_snapshot(self, file_or_folder_path: Any) -> str:
        """Keeps a folder or a file at the server and gives its snapshot id. It becomes the run's when that is interactive and has none."""
        from ferry import snapshot
        from ferry.client import ServerError

        taken = snapshot.scan(file_or_folder_path)
        taken.upload(self._client)
        if self._channel is None:
            try:
                self._change({"snapshot": taken.id})
            except ServerError as error:
                # One that has a snapshot already keeps it; the content is at the server all the same.
                if error.status not in (400, 409):
                    raise
        return taken.id

    # The tree

    @property
    def parent(self) -> Run | None:
        """The run that this one is a child of; None when it is none's."""
        above = self._view().get("parent")
        return Run.get(self.experiment.workspace, above) if above else None

    def child_run(self, name: str | None = None, run_id: str | None = None, outputs: Any = None) -> Run:
        """Starts a child that this process drives."""
        from ferry import interactive

        return interactive.start(self.experiment, name=name, run_id=run_id, outputs=False if outputs is None else outputs, parent=self._run_id)

    def create_children(self, count: int | None = None, tag_key: str | None = None, tag_values: Sequence[Any] | None = None) -> Any:
        """Starts several children: ``count`` of them, or one for each of ``tag_values``, which becomes its tag ``tag_key``."""
        from ferry import interactive

        if (count is None) == (tag_key is None and tag_values is None):
            raise UserErrorException("create_children takes either count, or tag_key and tag_values")
        if count is None and (tag_key is None or tag_values is None or isinstance(tag_values, str)):
            raise UserErrorException("tag_key and a list of tag_values go together")
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise UserErrorException(f"count must be a whole number above 0, not {count!r}")
        tags = [None] * count if count is not None else [{values.check_name(tag_key, "tag_key"): str(value)} for value in tag_values or ()]
        return [interactive.start(self.experiment, outputs=False, parent=self._run_id, tags=one) for one in tags]

    def get_children(self, recursive: bool = False, tags: Any = None, properties: Any = None, type: str | None = None,
                     status: str | None = None, _rehydrate_runs: bool = True) -> Iterator[Run]:
        """The children, newest first; with ``recursive`` theirs too. Filters as in :meth:`list`."""
        from azureml.core.experiment import Experiment
        from ferry import runs

        workspace = self.experiment.workspace
        found = runs.descendants(workspace, self._run_id, recursive, tags=tags, properties=properties, type=type, status=status)
        return (Run(Experiment(workspace, view["experiment"], _skip_name_validation=True), view["id"], _view=view) for view in found)

    def submit_child(self, config: Any, tags: Mapping[str, Any] | None = None, **kwargs: Any) -> Run:
        """Submits a configuration as a child of this run."""
        return self.experiment._submit(config, tags, parent=self._run_id, **kwargs)

    # What it has to do with other things

    def get_environment(self) -> Any:
        """The environment it ran in."""
        from azureml.core.environment import Environment
        from ferry import details

        found = details.definition_of(self._client, self._run_id).get("environment") or {}
        if not found.get("definition"):
            raise UserErrorException(f"run '{self._run_id}' was submitted without an environment")
        return Environment._from_definition({**found["definition"], "name": found.get("name"), "version": found.get("version")})

    def get_secret(self, name: str) -> str | None:
        """A secret of the workspace; None when there is none of this name."""
        return self.experiment.workspace.get_default_keyvault().get_secret(name)

    def get_secrets(self, secrets: Sequence[str]) -> dict[str, str | None]:
        """Several secrets of the workspace by name; None for those that are not there."""
        return self.experiment.workspace.get_default_keyvault().get_secrets(secrets)

    @property
    def input_datasets(self) -> Any:
        """The inputs by name: the path of one that was mounted or downloaded, the dataset itself otherwise."""
        if self._channel is not None:
            from azureml.data._context import input_datasets

            return input_datasets(self.experiment.workspace)
        return {item["consumptionDetails"]["inputName"]: item["dataset"] for item in self.get_details()["inputDatasets"]}

    @property
    def output_datasets(self) -> Any:
        """The outputs that became datasets, by name."""
        return {item["outputDetails"]["outputName"]: item["dataset"] for item in self.get_details()["outputDatasets"]}

    def _get_outputs_datapath(self) -> Any:
        from azureml.core.datastore import Datastore
        from azureml.data.datapath import DataPath

        return DataPath(Datastore.get(self.experiment.workspace, "workspaceartifactstore"), f"ExperimentRun/dcid.{self._run_id}/outputs")

    def register_model(self, model_name: str, model_path: str | None = None, tags: Mapping[str, Any] | None = None,
                       properties: Mapping[str, Any] | None = None, model_framework: str | None = None,
                       model_framework_version: str | None = None, description: str | None = None, datasets: Any = None,
                       sample_input_dataset: Any = None, sample_output_dataset: Any = None, resource_configuration: Any = None,
                       **kwargs: Any) -> Any:
        """Registers a file or folder of the run as a model; the files named like the model without ``model_path``."""
        from ferry import register

        return register.from_run(self, model_name, model_path, tags=tags, properties=properties, model_framework=model_framework,
                                 model_framework_version=model_framework_version, description=description, datasets=datasets,
                                 sample_input_dataset=sample_input_dataset, sample_output_dataset=sample_output_dataset,
                                 resource_configuration=resource_configuration)

    # The end

    def complete(self, _set_status: bool = True) -> None:
        """Marks the run completed. A submitted run needs no such call: the end of its process is enough."""
        if _set_status:
            self._finish()
            self._put('"complete":true', "complete run", None)

    def fail(self, error_details: Any = None, error_code: str | None = None, _set_status: bool = True) -> None:
        """Marks the run failed, with a message (text or exception) and a code."""
        if _set_status:
            failure = {"message": "" if error_details is None else str(error_details),
                       "code": None if error_code is None else str(error_code)}
            self._finish()
            self._put('"fail":' + values.to_json(failure), "fail run", failure)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.complete()
        else:
            self.fail(f"{kind.__name__}: {error}", error_code=kind.__name__)

    def __repr__(self) -> str:
        name = os.environ.get("AZUREML_ARM_PROJECT_NAME") if self._experiment is None else self._experiment.name
        return "Run(Experiment: %s, Id: %s)" % (name, self._run_id)

    def _repr_html_(self) -> str:
        from ferry.html import Markup, link, table

        view = self._view(fresh=True)
        return table({"Experiment": view["experiment"], "Id": self._run_id, "Type": view["type"], "Status": view["status"],
                      "Details Page": Markup(link(self.get_portal_url(), "Link to the portal"))})

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Run) and self._run_id == other._run_id

    def __hash__(self) -> int:
        return hash(self._run_id)

    def __reduce__(self) -> Any:
        # In another process the run is found again by that process's own environment.
        if self._channel is not None:
            return Run.get_context, ()
        return Run, (self._experiment, self._run_id)

    # The server's side

    @property
    def _client(self) -> Any:
        return self.experiment.workspace._client

    def _view(self, fresh: bool = False) -> dict[str, Any]:
        """What the server shows of the run; an earlier answer will do unless it has to be ``fresh``."""
        if self._record is None or fresh:
            from ferry import runs

            self._record = self._client.get(runs.path(self._run_id))
        return self._record

    def _change(self, body: dict[str, Any]) -> None:
        from ferry import runs

        self._record = self._client.patch(runs.path(self._run_id), body)

    def _finish(self) -> None:
        """What has to be at the server before the run ends."""
        if self._recorder is not None:
            self._recorder.flush()
        if self._driven is not None:
            self._driven.collect(self._client, self._run_id)

    def _send(self, record: dict[str, Any]) -> None:
        """Records at the server what the run of this process gives its supervisor."""
        if "metric" in record:
            if self._recorder is None:
                from ferry.recorder import Recorder

                self._recorder = Recorder(self._client, self._run_id)
            self._recorder.put(record)
        elif "tag" in record:
            self._change({"tags": {record["tag"]: record["value"]}})
        elif "properties" in record:
            there = self._view(fresh=True)["properties"]
            for key in record["properties"]:
                if key in there:
                    raise UserErrorException(f"properties cannot be changed once set: '{key}' is '{there[key]}'")
            self._change({"properties": record["properties"]})
        elif "artifact" not in record:
            from ferry import interactive

            interactive.end(self._client, self._run_id, record.get("fail"))

    # What an offline run does differently

    def _put(self, members: str, doing: str, value: Any) -> None:
        """Records ``members``. ``doing`` and ``value`` say the same to people."""
        if self._channel is None:
            import json

            self._send(json.loads("{%s}" % members))
            return
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
        if self._channel is None:
            import tempfile

            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "file")
                write(path)
                self._upload(name, path)
            return
        from ferry import artifacts

        artifacts.store_with(self._artifact_folder(), name, write)
        self._put('"artifact":' + values.to_json(name), "upload file", name)

    def _upload(self, name: str, source: Any) -> None:
        """Keeps a path's or a stream's bytes as the artifact ``name``."""
        if self._channel is None:
            from ferry import run_files

            run_files.upload(self._client, self._run_id, name, source)
            return
        from ferry import artifacts

        artifacts.store(self._artifact_folder(), name, source)
        self._put('"artifact":' + values.to_json(name), "upload file", name)

    def _upload_many(self, pairs: Sequence[tuple[str, Any]]) -> None:
        """Keeps several files, given as (name, path)."""
        if self._channel is None and not isinstance(self, _OfflineRun) and not any(hasattr(path, "read") for _, path in pairs):
            from ferry import run_files

            run_files.upload_many(self._client, self._run_id, [*pairs])
            return
        for name, path in pairs:
            self._upload(name, path)

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
        if not self._artifacts:
            raise RunEnvironmentException("FERRY_ARTIFACTS is not set: this run keeps no files")
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

    def child_run(self, name: str | None = None, run_id: str | None = None, outputs: Any = None) -> Run:
        """Another offline run."""
        return _OfflineRun(run_id)

    def create_children(self, count: int | None = None, tag_key: str | None = None, tag_values: Sequence[Any] | None = None) -> Any:
        """Other offline runs."""
        return [_OfflineRun() for _ in (range(count) if count is not None else tag_values or ())]

    def get_children(self, *_: Any, **__: Any) -> Iterator[Run]:
        """None."""
        return iter(())

    @property
    def parent(self) -> None:
        """None."""
        return None

    def __repr__(self) -> str:
        return f"Run(Experiment: None, Id: {self._run_id})"

    def _repr_html_(self) -> str:
        from ferry.html import escape

        return f"<code>{escape(repr(self))}</code>"

    def __reduce__(self) -> Any:
        return _OfflineRun, (self._run_id,)

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
    """An attribute of Azure's Run that this one does not have."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        raise MissingAttributeException(f"Run.{self._name} is not part of this version of Ferry yet.")


for _name in ("explanation_manager", "counterfactual_manager"):
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
