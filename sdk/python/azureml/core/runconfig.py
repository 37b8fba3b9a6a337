"""Run configurations: what to run, where, and with what."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry
from azureml.core.environment import (DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, DatabricksSection, DockerBuildContext, DockerSection, EggLibrary,
                                      Environment, JarLibrary, MavenLibrary, PyPiLibrary, PythonSection, RCranLibrary, SparkPackage,
                                      SparkSection, _check_size)
from azureml.exceptions import UserErrorException
from ferry.not_yet import not_yet
from ferry.section import Anything, Field, Flag, Kind, Number, Part, PartMap, Section, Text, TextMap, Texts, Whole, Word, wrong

__all__ = ["AmlComputeConfiguration", "ApacheSparkConfiguration", "AzureContainerInstanceConfiguration", "CondaDependencies", "ContainerRegistry",
           "DEFAULT_CPU_IMAGE", "DEFAULT_GPU_IMAGE", "Data", "DataLocation", "DataPath", "DataReferenceConfiguration", "DatabricksSection",
           "Dataset", "DockerBuildContext", "DockerConfiguration", "DockerSection", "EggLibrary", "Environment", "EnvironmentDefinition",
           "HdiConfiguration", "HistoryConfiguration", "JarLibrary", "KubernetesComputeConfiguration", "MavenLibrary", "MpiConfiguration",
           "OutputData", "ParallelTaskConfiguration", "PyPiLibrary", "PyTorchConfiguration", "PythonEnvironment", "PythonSection",
           "RCranLibrary", "RunConfiguration", "SourceDirectoryDataStoreConfiguration", "SparkConfiguration", "SparkPackage", "SparkSection",
           "TensorflowConfiguration"]

FRAMEWORKS = ("Python", "PySpark", "Cntk", "TensorFlow", "PyTorch", "TensorFlowParameterServer", "PythonMpi", "PythonIntelMpi",
              "PySparkInteractive")
COMMUNICATORS = ("None", "ParameterServer", "OpenMpi", "IntelMpi", "Gloo", "Nccl", "Mpi")
_FOLDERS = (".azureml", "aml_config")
_ENDINGS = ("", ".runconfig", ".yml", ".yaml", ".json")
_NOT_YET_TARGETS = {"amlcompute": "A cluster that is made for one run (target 'amlcompute')",
                    "containerinstance": "A container that is made for one run (target 'containerinstance')"}

# The names of 2018.
EnvironmentDefinition = Environment
PythonEnvironment = PythonSection


class HistoryConfiguration(Section):
    """What is kept with a run: ``outputs/``, the source folder, and the folders whose files are sent while it goes on."""

    _fields = (Field("output_collection", "outputCollection", Flag(), True), Field("snapshot_project", "snapshotProject", Flag(), True),
               Field("directories_to_watch", "directoriesToWatch", Texts(), ["logs"]))

    def _leftover(self, members: Mapping, path: str) -> None:
        pass  # the schema allows further keys


class SparkConfiguration(Section):
    """Settings of Spark."""

    _fields = (Field("configuration", "configuration", TextMap(), {"spark.app.name": "Azure ML Experiment", "spark.yarn.maxAppAttempts": "1"}),)


class ApacheSparkConfiguration(SparkConfiguration):
    """Settings of Spark, under its newer name."""


class HdiConfiguration(Section):
    """How YARN runs the driver: ``cluster``, ``client`` or ``none``."""

    _fields = (Field("yarn_deploy_mode", "yarnDeployMode", Word("None", "Client", "Cluster"), "Cluster"),)


class TensorflowConfiguration(Section):
    """TensorFlow's workers and parameter servers."""

    _fields = (Field("worker_count", "workerCount", Whole(1), 1), Field("parameter_server_count", "parameterServerCount", Whole(0), 1))

    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1) -> None:
        super().__init__()
        self.worker_count, self.parameter_server_count = worker_count, parameter_server_count
        self._write(type(self).__name__)


class MpiConfiguration(Section):
    """MPI's processes on each node, and the nodes."""

    _fields = (Field("process_count_per_node", "processCountPerNode", Whole(1), 1), Field("node_count", "nodeCount", Whole(1), 1))

    def __init__(self, process_count_per_node: int = 1, node_count: int = 1) -> None:
        super().__init__()
        self.process_count_per_node, self.node_count = process_count_per_node, node_count
        self._write(type(self).__name__)


class PyTorchConfiguration(Section):
    """PyTorch's processes in all (None: one per node), the nodes, and how they talk (``Nccl`` or ``Gloo``)."""

    _fields = (Field("communication_backend", "communicationBackend", Word("Nccl", "Gloo", "Mpi"), "Nccl"),
               Field("process_count", "processCount", Whole(1)), Field("node_count", "nodeCount", Whole(1), 1))

    def __init__(self, communication_backend: str = "Nccl", process_count: int | None = None, node_count: int = 1) -> None:
        super().__init__()
        self.communication_backend, self.process_count, self.node_count = communication_backend, process_count, node_count
        self._write(type(self).__name__)


class ParallelTaskConfiguration(Section):
    """Many independent workers of one script."""

    _fields = (Field("max_retries_per_worker", "maxRetriesPerWorker", Whole(0), 0),
               Field("worker_count_per_node", "workerCountPerNode", Whole(1), 1), Field("terminal_exit_codes", "terminalExitCodes", Anything()))

    def __init__(self, max_retries_per_worker: int = 0, worker_count_per_node: int = 1, terminal_exit_codes: list[int] | None = None) -> None:
        super().__init__()
        self.max_retries_per_worker, self.worker_count_per_node = max_retries_per_worker, worker_count_per_node
        self.terminal_exit_codes = terminal_exit_codes
        self._write(type(self).__name__)


class AmlComputeConfiguration(Section):
    """The cluster that is made for one run (target ``amlcompute``)."""

    _fields = (Field("name", "name", Text()), Field("vm_size", "vmSize", Text()), Field("vm_priority", "vmPriority", Word("dedicated", "lowpriority")),
               Field("retain_cluster", "retainCluster", Flag(), False), Field("cluster_max_node_count", "clusterMaxNodeCount", Whole(1), 1))

    # The name that the documentation of 2019 uses.
    @property
    def _cluster_max_node_count(self) -> int:
        return self.cluster_max_node_count

    @_cluster_max_node_count.setter
    def _cluster_max_node_count(self, count: int) -> None:
        self.cluster_max_node_count = count


class AzureContainerInstanceConfiguration(Section):
    """The container that is made for one run (target ``containerinstance``)."""

    _fields = (Field("region", "region", Text()), Field("cpu_cores", "cpuCores", Number(), 2), Field("memory_gb", "memoryGb", Number(), 3.5))


class KubernetesComputeConfiguration(Section):
    """What a run needs of a Kubernetes cluster."""

    _fields = (Field("instance_type", "instanceType", Text()),)


class DockerConfiguration(Section):
    """Whether the script runs in a container, and how it is started. It wins over the environment's docker section."""

    _fields = (Field("use_docker", "useDocker", Flag()), Field("shared_volumes", "sharedVolumes", Flag()),
               Field("arguments", "arguments", Texts()), Field("shm_size", "shmSize", Text()))

    def __init__(self, use_docker: bool | None = False, shared_volumes: bool | None = True, arguments: list[str] | None = None,
                 shm_size: str | None = None) -> None:
        super().__init__()
        self.use_docker, self.shared_volumes, self.arguments, self.shm_size = use_docker, shared_volumes, arguments, shm_size
        self._write(type(self).__name__)

    def _change(self, definition: dict[str, Any]) -> None:
        """Says in a definition what this says instead."""
        docker = dict(definition.get("docker") or {})
        if self.use_docker is not None:
            docker.pop("enabled", None)
            if self.use_docker:
                docker["enabled"] = True
                if not any(docker.get(key) for key in ("baseImage", "baseDockerfile", "buildContext")):
                    docker["baseImage"] = DEFAULT_CPU_IMAGE
        if not docker.get("enabled"):
            definition.pop("docker", None)
            if docker:
                definition["docker"] = docker
            return
        if self.shared_volumes is not None:
            docker.pop("sharedVolumes", None)
            if not self.shared_volumes:
                docker["sharedVolumes"] = False
        if self.arguments:
            docker["arguments"] = [*docker.get("arguments", []), *self.arguments]
        docker["shmSize"] = _check_size(str(self.shm_size), "docker.shm_size") if self.shm_size else docker.get("shmSize", "2g")
        definition["docker"] = docker


class DataReferenceConfiguration(Section):
    """A path on a datastore that a run gets (``mount``, ``download``) or fills (``upload``)."""

    _fields = (Field("data_store_name", "dataStoreName", Text()), Field("mode", "mode", Word("Mount", "Download", "Upload"), "Mount"),
               Field("path_on_data_store", "pathOnDataStore", Text()), Field("path_on_compute", "pathOnCompute", Text()),
               Field("overwrite", "overwrite", Flag(), False))

    def __init__(self, datastore_name: str | None = None, mode: str = "mount", path_on_datastore: str | None = None,
                 path_on_compute: str | None = None, overwrite: bool = False) -> None:
        super().__init__()
        self.data_store_name, self.mode = getattr(datastore_name, "name", datastore_name), mode
        self.path_on_data_store, self.path_on_compute, self.overwrite = path_on_datastore, path_on_compute, overwrite

    # As the constructor spells them.
    @property
    def datastore_name(self) -> str | None:
        """The datastore's name."""
        return self.data_store_name

    @datastore_name.setter
    def datastore_name(self, name: str | None) -> None:
        self.data_store_name = name

    @property
    def path_on_datastore(self) -> str | None:
        """The path on it; None: all of it."""
        return self.path_on_data_store

    @path_on_datastore.setter
    def path_on_datastore(self, path: str | None) -> None:
        self.path_on_data_store = path

    def _submit(self, name: str, submission: dict[str, Any]) -> None:
        written = self._write(f"data_references.{name}")
        if not written["dataStoreName"]:
            raise UserErrorException(f"data_references.{name}: expected the name of a datastore, found nothing")
        place = {"datastore": written["dataStoreName"], "path": written["pathOnDataStore"] or ""}
        rest = {"path_on_compute": written["pathOnCompute"], "overwrite": written["overwrite"]}
        rest = {key: value for key, value in rest.items() if value}
        if written["mode"] == "Upload":
            submission.setdefault("outputs", {})[name] = {**place, "mode": "upload", **rest}
        else:
            submission.setdefault("data", {})[name] = {"paths": [place], "mode": written["mode"].lower(), **rest}


class SourceDirectoryDataStoreConfiguration(Section):
    """The datastore that holds the source folder."""

    _fields = (Field("data_store_name", "dataStoreName", Text()),)


class Dataset(Section):
    """A dataset as a run configuration names it."""

    _fields = (Field("dataset_id", "id", Text()), Field("dataset_name", "name", Text()), Field("dataset_version", "version", Text()))

    def __init__(self, dataset_id: str | None = None, dataset_name: str | None = None, dataset_version: str | None = None) -> None:
        super().__init__()
        self.dataset_id, self.dataset_name, self.dataset_version = dataset_id, dataset_name, dataset_version


class DataPath(Section):
    """A path on a datastore as a run configuration names it."""

    _fields = (Field("datastore_name", "datastoreName", Text()), Field("relative_path", "relativePath", Text()))

    def __init__(self, datastore_name: str | None = None, relative_path: str | None = None) -> None:
        super().__init__()
        self.datastore_name, self.relative_path = datastore_name, relative_path


class DataLocation(Section):
    """Where data is: a dataset, or a path on a datastore."""

    _fields = (Field("dataset", "dataset", Part(Dataset)), Field("data_path", "datapath", Part(DataPath)))

    def __init__(self, dataset: Dataset | None = None, data_path: DataPath | None = None) -> None:
        super().__init__()
        self.dataset, self.data_path = dataset, data_path


class Data(Section):
    """Data that a run gets, by the name that its arguments use (``DatasetConsumptionConfig:NAME``)."""

    _fields = (Field("data_location", "dataLocation", Part(DataLocation)),
               Field("create_output_directories", "createOutputDirectories", Flag(), False),
               Field("mechanism", "mechanism", Word("Mount", "Download", "Upload", "Direct"), "Mount"),
               Field("environment_variable_name", "environmentVariableName", Text()), Field("path_on_compute", "pathOnCompute", Text()),
               Field("overwrite", "overwrite", Flag(), False))

    def __init__(self, data_location: DataLocation | None = None, create_output_directories: bool = False, mechanism: str | None = None,
                 environment_variable_name: str | None = None, path_on_compute: str | None = None, overwrite: bool = False) -> None:
        super().__init__()
        self.data_location, self.create_output_directories = data_location, create_output_directories
        self.mechanism, self.environment_variable_name = mechanism or "Mount", environment_variable_name
        self.path_on_compute, self.overwrite = path_on_compute, overwrite

    def _submit(self, name: str, submission: dict[str, Any], workspace: Any) -> None:
        written = self._write(f"data.{name}")
        location = written["dataLocation"] or {}
        dataset, place = location.get("dataset") or {}, location.get("datapath") or {}
        one: dict[str, Any] = {"mode": written["mechanism"].lower()}
        if dataset.get("id") or dataset.get("name"):
            if workspace is None:
                raise UserErrorException(f"data.{name}: a dataset can only be looked up in a workspace; submit it to an experiment")
            one.update(_dataset_paths(workspace, dataset, name))
        elif place.get("datastoreName"):
            one["paths"] = [{"datastore": place["datastoreName"], "path": place["relativePath"] or ""}]
        else:
            raise UserErrorException(f"data.{name}.data_location: expected a dataset or a path on a datastore, found nothing")
        for key, field in (("environment_variable", "environmentVariableName"), ("path_on_compute", "pathOnCompute"), ("overwrite", "overwrite")):
            if written[field]:
                one[key] = written[field]
        submission.setdefault("data", {})[name] = one


class OutputData(Section):
    """Data that a run leaves on a datastore."""

    _fields = (Field("output_location", "outputLocation", Anything()), Field("mechanism", "mechanism", Word("Upload", "Mount", "Hdfs"), "Upload"),
               Field("additional_options", "additionalOptions", Anything()), Field("environment_variable_name", "environmentVariableName", Text()))

    def _submit(self, name: str, submission: dict[str, Any]) -> None:
        written = self._write(f"output_data.{name}")
        location = written["outputLocation"] or {}
        place = location.get("datapath") or location.get("dataPath") or {}
        if not place.get("datastoreName"):
            raise UserErrorException(f"output_data.{name}.output_location: expected a datapath with a datastoreName, found nothing")
        if written["mechanism"] == "Hdfs":
            raise not_yet("Output to HDFS (output_data)")
        options = written["additionalOptions"] or {}
        one: dict[str, Any] = {"datastore": place["datastoreName"], "path": place.get("relativePath") or "", "mode": written["mechanism"].lower()}
        if options.get("pathOnCompute"):
            one["path_on_compute"] = options["pathOnCompute"]
        upload = options.get("uploadOptions") or {}
        if upload.get("overwrite"):
            one["overwrite"] = True
        globs = (upload.get("sourceGlobs") or {}).get("globPatterns")
        if globs:
            one["globs"] = list(globs)
        register = (options.get("registrationOptions") or {})
        if register.get("name"):
            one["register"] = {"name": register["name"], "description": register.get("description") or "", "tags": register.get("tags") or {}}
        submission.setdefault("outputs", {})[name] = one


class _Arguments(Kind):
    """Texts and numbers; objects that stand for data write themselves."""

    def write(self, value: Any, path: str) -> Any:
        return argument_texts(value, None, path)

    def read(self, value: Any, path: str) -> Any:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
            raise wrong(path, "a list", value)
        return ["" if item is None else str(item) for item in value]


class _Command(Kind):
    def read(self, value: Any, path: str) -> Any:
        return value if isinstance(value, str) else _Arguments().write(value, path)


class _Target(Kind):
    """A name, or an object that has one."""

    def read(self, value: Any, path: str) -> Any:
        name = getattr(value, "name", value)
        if not isinstance(name, str) or not name:
            raise wrong(path, "a compute target or its name", value)
        return name.lower() if name.lower() in ("local", *_NOT_YET_TARGETS) else name


class RunConfiguration(Section):
    """What to run, where, and with what. Attributes may be set in any order; they are checked when it is saved or submitted.

    ``target`` takes a name or a compute target. ``print`` shows everything, without passwords.
    """

    _fields = (
        Field("script", "script", Text()),
        Field("command", "command", _Command(), ""),
        Field("arguments", "arguments", _Arguments(), []),
        Field("target", "target", _Target(), "local"),
        Field("framework", "framework", Word(*FRAMEWORKS), "Python"),
        Field("communicator", "communicator", Word(*COMMUNICATORS), "None"),
        Field("job_name", "jobName", Text()),
        Field("auto_prepare_environment", "autoPrepareEnvironment", Flag(), True),
        Field("prepare_environment", "prepareEnvironment", Flag()),
        Field("max_run_duration_seconds", "maxRunDurationSeconds", Whole(0, 100 * 365 * 86400)),
        Field("node_count", "nodeCount", Whole(1), 1),
        Field("priority", "priority", Whole(-1000, 1000)),
        Field("instance_types", "instanceTypes", Anything()),
        Field("credential_passthrough", "credentialPassthrough", Anything()),
        Field("identity", "identity", Anything()),
        Field("environment", "environment", Part(Environment)),
        Field("environment_variables", "environmentVariables", TextMap(), {}),
        Field("history", "history", Part(HistoryConfiguration)),
        Field("spark", "spark", Part(SparkConfiguration)),
        Field("hdi", "hdi", Part(HdiConfiguration)),
        Field("tensorflow", "tensorflow", Part(TensorflowConfiguration)),
        Field("mpi", "mpi", Part(MpiConfiguration)),
        Field("pytorch", "pytorch", Part(PyTorchConfiguration)),
        Field("paralleltask", "paralleltask", Part(ParallelTaskConfiguration)),
        Field("data_references", "dataReferences", PartMap(DataReferenceConfiguration), {}),
        Field("data", "data", PartMap(Data), {}),
        Field("output_data", "outputData", PartMap(OutputData), {}),
        Field("datacaches", "datacaches", Anything(), []),
        Field("source_directory_data_store", "sourceDirectoryDataStore", Text()),
        Field("amlcompute", "amlcompute", Part(AmlComputeConfiguration)),
        Field("container_instance", "containerInstance", Part(AzureContainerInstanceConfiguration)),
        Field("kubernetescompute", "kubernetescompute", Part(KubernetesComputeConfiguration)),
        Field("docker", "docker", Part(DockerConfiguration)),
        Field("exposed_ports", "exposedPorts", Anything()),
    )

    def __init__(self, script: str | None = None, arguments: Sequence[Any] | None = None, framework: str | None = None,
                 communicator: str | None = None, conda_dependencies: CondaDependencies | None = None, _history_enabled: bool | None = None,
                 _path: str | None = None, _name: str | None = None, command: Any = None) -> None:
        super().__init__()
        self.docker = DockerConfiguration(use_docker=None, shared_volumes=None)
        self.script = script
        self.arguments = arguments if arguments is not None else []
        self.command = command if command is not None else ""
        if framework is not None:
            self.framework = Word(*FRAMEWORKS).read(framework, "framework")
        if communicator is not None:
            self.communicator = Word(*COMMUNICATORS).read(communicator, "communicator")
        if conda_dependencies is not None:
            if not isinstance(conda_dependencies, CondaDependencies):
                raise wrong("conda_dependencies", "CondaDependencies", conda_dependencies)
            self.environment.python.conda_dependencies = conda_dependencies
        if _history_enabled is not None:
            self.history.output_collection = bool(_history_enabled)
        self._path = _path
        self._name = _name

    # Files

    @staticmethod
    def load(path: Any = None, name: str | None = None, *, project_object: Any = None, run_config_name: str | None = None,
             run_name: str | None = None) -> RunConfiguration:
        """The configuration ``name`` of a folder: in ``.azureml`` or ``aml_config`` below it, else in it; or the file at ``path``. The older
        keywords name the folder by a project."""
        folder = path if path is not None else getattr(project_object, "project_directory", project_object)
        name = name or run_config_name or run_name
        file = _find_file(os.fspath(folder) if folder is not None else os.curdir, name)
        from ferry import yaml_file

        content = yaml_file.load(file)
        if not isinstance(content, Mapping):
            raise UserErrorException(f"{file}: expected a run configuration: keys such as script and environment")
        configuration = RunConfiguration()
        known = {key: value for key, value in content.items()
                 if str(key).lower() not in ("batchai", "useabsolutepath")}
        # Both spellings are in use.
        known = {"amlcompute" if str(key).lower() == "amlcompute" else key: value for key, value in known.items()}
        source = _source_of(file)
        try:
            configuration._read(known)
            configuration._named(known)
            configuration.environment._read_conda_file(source)
        except UserErrorException as error:
            raise UserErrorException(f"{file}: {error.message}") from None
        configuration._path, configuration._name = source, _bare_name(file)
        return configuration

    def save(self, path: Any = None, name: str | None = None, separate_environment_yaml: bool = False) -> None:
        """Writes ``<path>/.azureml/<name>.runconfig``; a path that names a file to be writes that file. With ``separate_environment_yaml``
        the conda specification goes into ``environment.yml`` beside it. Arguments that stand for data are written as their texts."""
        from ferry import yaml_file

        folder = os.fspath(path) if path is not None else (self._path or os.curdir)
        name = name or self._name
        if os.path.isdir(folder):
            if not name:
                raise UserErrorException("name: expected the name of the run configuration, found nothing")
            if os.sep in name or name in (".", ".."):
                raise UserErrorException(f"name: expected a name without '{os.sep}', found '{name}'")
            file = os.path.join(folder, ".azureml", name if name.endswith(".runconfig") else f"{name}.runconfig")
        elif os.path.isdir(os.path.dirname(folder) or os.curdir):
            file = folder
        else:
            raise UserErrorException(f"path: there is no folder '{os.path.dirname(folder)}'")
        content = self._content()
        if separate_environment_yaml and content["environment"].get("python", {}).get("condaDependencies"):
            beside = os.path.join(os.path.dirname(file), "environment.yml")
            conda = content["environment"]["python"].pop("condaDependencies")
            content["environment"]["python"]["condaDependenciesFile"] = os.path.relpath(beside, _source_of(file))
            yaml_file.write_text(beside, yaml_file.dumps({"name": "project_environment", **conda}))
        password = content["environment"].get("docker", {}).get("baseImageRegistry", {}).get("password")
        yaml_file.write_text(file, _HEAD + yaml_file.dumps(content), private=bool(password))
        self._path, self._name = _source_of(file), _bare_name(file)

    @staticmethod
    def delete(path: Any, name: str | None = None) -> None:
        """Removes the file of the configuration ``name``; one that is not there raises UserErrorException."""
        file = _find_file(os.fspath(path), name)
        try:
            os.unlink(file)
        except OSError as error:
            raise UserErrorException(f"'{file}' cannot be removed: {error.strerror}", error) from None

    def _content(self) -> dict[str, Any]:
        """What goes into a file: everything but what says nothing."""
        content = self._write()
        if not content["command"]:
            del content["command"]
        for key in ("jobName", "prepareEnvironment", "instanceTypes", "credentialPassthrough", "identity", "exposedPorts", "priority",
                    "sourceDirectoryDataStore", "environmentVariables", "datacaches", "dataReferences", "data", "outputData"):
            if not content[key]:
                del content[key]
        if not any(value is not None for value in content["docker"].values()):
            del content["docker"]
        else:
            content["docker"] = {key: value for key, value in content["docker"].items() if value is not None}
        environment = content["environment"]
        if self.environment._origin is not None and self.environment._definition() == self.environment._origin:
            content["environment"] = {"name": environment["name"], "version": environment["version"]}
            return content
        del environment["version"]
        for key in ("r", "inferencingStackVersion", "name"):
            if not environment[key]:
                del environment[key]
        python, docker = environment["python"], environment["docker"]
        for key in ("condaDependenciesFile", "pipRequirements"):
            if not python[key]:
                del python[key]
        if python.get("condaDependenciesFile"):
            del python["condaDependencies"]
        for key in ("baseDockerfile", "buildContext", "preparation"):
            if not docker[key]:
                del docker[key]
        if docker.get("baseDockerfile") or docker.get("buildContext"):
            if docker["baseImage"] == DEFAULT_CPU_IMAGE:
                docker["baseImage"] = None
        del docker["platform"]
        return content

    def _named(self, content: Mapping[str, Any]) -> None:
        """An environment of nothing but name and version is a registered one."""
        section = next((value for key, value in content.items() if str(key).lower() == "environment"), None)
        if not isinstance(section, Mapping) or not self.environment.name:
            return
        given = {str(key).lower() for key, value in section.items() if value is not None}
        if given <= {"name", "version"}:
            self.environment._reference = True

    # Submitting

    def _submission(self, workspace: Any = None, source_directory: Any = None) -> dict[str, Any]:
        """The fields of a run that the configuration decides. Everything is checked first. ``workspace`` is asked for datasets that are
        named by their ids, ``source_directory`` is where files that the environment names are looked for."""
        written = {field.key: field.kind.write(getattr(self, field.name), field.name) for field in self._fields
                   if field.name not in ("environment", "arguments", "command", "data_references", "data", "output_data")
                   and getattr(self, field.name) is not None}
        self._refuse_later(written)
        submission: dict[str, Any] = {"target": written["target"]}
        if workspace is not None:
            submission["workspace"] = workspace.name  # where datasets of URLs are kept
        if workspace is not None:
            submission["workspace"] = workspace.name
        self._what(submission)
        self._with_environment(submission, os.fspath(source_directory) if source_directory is not None else (self._path or ""), workspace)
        variables = {**self._alone(), **written["environmentVariables"]}
        if variables:
            submission["environment"] = variables
        self._with_data(submission, workspace)
        self._with_history(submission)
        for key, field in (("max_duration_seconds", "maxRunDurationSeconds"), ("priority", "priority"), ("name", "jobName")):
            if written.get(field):
                submission[key] = written[field]
        if written["autoPrepareEnvironment"] is False:
            submission["auto_prepare"] = False
        if self._name:
            submission["run_configuration"] = self._name
        return submission

    def _what(self, submission: dict[str, Any]) -> None:
        """Script or command."""
        if self.command and (self.script or self.arguments):
            raise UserErrorException("script and command exclude each other; give one of them (arguments belong to script)"
                                     if self.script else "command and arguments exclude each other; write the arguments into the command")
        if self.command:
            submission["command"] = ["sh", "-c", self.command] if isinstance(self.command, str) \
                else argument_texts(self.command, submission, "command")
        elif self.script:
            submission["script"] = Text().read(self.script, "script")
            arguments = argument_texts(self.arguments if self.arguments is not None else [], submission, "arguments")
            if arguments:
                submission["arguments"] = arguments
        else:
            raise UserErrorException("script: expected the script to run, or a command, found nothing")

    def _with_environment(self, submission: dict[str, Any], folder: str, workspace: Any) -> None:
        environment = self.environment
        if not isinstance(environment, Environment):
            raise wrong("environment", "an Environment", environment)
        if getattr(environment, "_reference", False) and environment == _bare(environment):
            if self.docker is not None and self.docker.use_docker:
                raise not_yet("A container for an environment that is only named (docker.use_docker)", "Take the environment with Environment.get.")
            submission["environment_name"] = f"{environment.name}@{environment.version}" if environment.version else environment.name
            return
        context = environment.docker.build_context
        if context is not None and context.location and context.location_type is None and workspace is not None:
            import copy

            environment = copy.deepcopy(environment)
            environment.docker.build_context = DockerBuildContext.from_local_directory(workspace, os.path.join(folder, context.location),
                                                                                       context.dockerfile_path or "Dockerfile")
        environment._refer(submission, folder, self.docker._change if self.docker is not None else None)
        definition = submission.get("environment_definition", {})
        if submission["target"] == "local" and environment.python.user_managed_dependencies and "interpreter" not in submission \
                and definition and not definition.get("docker", {}).get("enabled") and _is_own_server(workspace):
            # The Python that "runs in your own environment" means on this machine is this one, not the first one on the agent's PATH.
            import sys

            submission["interpreter"] = definition["python"]["interpreterPath"] = sys.executable or "python"

    def _with_data(self, submission: dict[str, Any], workspace: Any) -> None:
        for name, one in _mapping(self.data_references, "data_references").items():
            if hasattr(one, "_ferry_argument"):
                one._ferry_argument(submission)
            elif isinstance(one, DataReferenceConfiguration):
                one._submit(name, submission)
            else:
                raise wrong(f"data_references.{name}", "a DataReference or a DataReferenceConfiguration", one)
        for name, one in _mapping(self.data, "data").items():
            if hasattr(one, "_ferry_argument"):
                one._ferry_argument(submission)
            elif isinstance(one, Data):
                one._submit(name, submission, workspace)
            else:
                raise wrong(f"data.{name}", "a DatasetConsumptionConfig or a Data", one)
        for name, one in _mapping(self.output_data, "output_data").items():
            if hasattr(one, "_ferry_argument"):
                one._ferry_argument(submission)
            elif isinstance(one, OutputData):
                one._submit(name, submission)
            else:
                raise wrong(f"output_data.{name}", "an OutputFileDatasetConfig or an OutputData", one)

    def _with_history(self, submission: dict[str, Any]) -> None:
        history = self.history._write("history")
        folders = history["directoriesToWatch"]
        for i, folder in enumerate(folders):
            if not folder or folder.startswith("/") or ".." in folder.split("/"):
                raise wrong(f"history.directories_to_watch[{i}]", "a folder inside of the source folder", folder)
        if folders != ["logs"]:
            submission["watch"] = folders
        if not history["outputCollection"]:
            submission["collect_outputs"] = False
        if not history["snapshotProject"]:
            submission["keep_snapshot"] = False

    def _refuse_later(self, written: Mapping[str, Any]) -> None:
        """What is right and comes in a later version."""
        if written["target"] in _NOT_YET_TARGETS:
            raise not_yet(_NOT_YET_TARGETS[written["target"]], "Use the target 'local'.")
        nodes, processes = self._width(written)
        if nodes > 1:
            raise not_yet(f"Running on {nodes} nodes at once (node_count)")
        if written["framework"] in ("PySpark", "PySparkInteractive", "Cntk"):
            raise not_yet(f"The framework {written['framework']}")
        if processes > 1:
            raise not_yet(f"Distributed training over {processes} processes")
        if written.get("sourceDirectoryDataStore"):
            raise not_yet("A source folder on a datastore (source_directory_data_store)")
        if written.get("datacaches"):
            raise not_yet("Data caches (datacaches)")

    def _width(self, written: Mapping[str, Any]) -> tuple[int, int]:
        """Nodes, and processes in all."""
        nodes, framework, communicator = written["nodeCount"], written["framework"], written["communicator"]
        if framework == "TensorFlow" or communicator == "ParameterServer":
            part = written["tensorflow"]
            return nodes, part["workerCount"] + (part["parameterServerCount"] if communicator == "ParameterServer" else 0)
        if framework == "PyTorch" or communicator in ("Nccl", "Gloo"):
            part = written["pytorch"]
            nodes = max(nodes, part["nodeCount"])
            return nodes, part["processCount"] or nodes
        if communicator != "None" or framework in ("PythonMpi", "PythonIntelMpi"):
            part = written["mpi"]
            nodes = max(nodes, part["nodeCount"])
            return nodes, nodes * part["processCountPerNode"]
        return nodes, 1

    def _alone(self) -> dict[str, str]:
        """What a distributed script with one process on one node finds in its environment."""
        framework, communicator = str(self.framework).lower(), str(self.communicator).lower()
        if framework == "tensorflow" or communicator == "parameterserver":
            if communicator == "none":
                return {}
            return {"TF_CONFIG": '{"cluster": {"worker": ["localhost:2222"]}, "task": {"type": "worker", "index": 0}, "environment": "cloud"}'}
        if communicator in ("nccl", "gloo"):
            return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "6105", "WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0", "NODE_RANK": "0"}
        if communicator != "none" or framework in ("pythonmpi", "pythonintelmpi"):
            names = ("RANK", "LOCAL_RANK", "SIZE", "LOCAL_SIZE")
            return {f"OMPI_COMM_WORLD_{name}": "1" if "SIZE" in name else "0" for name in names}
        return {}


_HEAD = "# A run configuration: what to run, where, and with what. Submit it with: ferry run submit-script -c NAME\n"


def argument_texts(arguments: Any, submission: dict[str, Any] | None, path: str = "arguments") -> list[str]:
    """Arguments as texts. One that stands for data adds what it needs to ``submission``, where there is one."""
    if isinstance(arguments, (str, bytes, Mapping)) or not isinstance(arguments, Sequence):
        raise wrong(path, "a list", arguments)
    texts = []
    for i, item in enumerate(arguments):
        if item is None:
            raise wrong(f"{path}[{i}]", "a text or a number", item)
        texts.append(item._ferry_argument(submission) if submission is not None and hasattr(item, "_ferry_argument") else str(item))
    return texts


def _mapping(value: Any, path: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(path, "a dict", value)
    return value


def _bare(environment: Environment) -> Environment:
    """An environment of nothing but this name and version."""
    bare = Environment(environment.name)
    bare.version = environment.version
    return bare


def _is_own_server(workspace: Any) -> bool:
    """Whether runs on ``local`` are on this very machine: the server is this user's own."""
    located = getattr(getattr(workspace, "_client", None), "_located", None)
    return bool(located and located().home)


def _dataset_paths(workspace: Any, dataset: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The paths of a registered dataset."""
    from ferry.client import NotFound, quote

    try:
        if dataset.get("id"):
            view = workspace._client.get(f"/datasets/by-id/{quote(dataset['id'])}", workspace=workspace.name)
        else:
            query = {"version": dataset["version"]} if dataset.get("version") else {}
            view = workspace._client.get(f"/datasets/{quote(dataset['name'])}", workspace=workspace.name, **query)
    except NotFound as error:
        error.message = f"data.{name}: there is no dataset '{dataset.get('id') or dataset['name']}' in workspace '{workspace.name}'"
        raise
    return {"paths": view["definition"]["paths"], "dataset": view["id"]}


def _find_file(path: str, name: str | None) -> str:
    """The file of a configuration."""
    if name is None:
        if os.path.isfile(path):
            return path
        raise UserErrorException(f"name: expected the name of a run configuration in '{path}', found nothing" if os.path.isdir(path)
                                 else f"path: there is no file '{path}'")
    for folder in (*_FOLDERS, ""):
        for ending in _ENDINGS:
            file = os.path.join(path, folder, name + ending)
            if os.path.isfile(file):
                return file
    there = sorted({_bare_name(file) for folder in _FOLDERS if os.path.isdir(os.path.join(path, folder))
                    for file in os.listdir(os.path.join(path, folder)) if file.endswith(".runconfig")})
    raise UserErrorException(f"there is no run configuration '{name}' in .azureml or aml_config of '{path}'; "
                             + (f"there are: {', '.join(there)}" if there else "there are none there"))


def _bare_name(file: str) -> str:
    base = os.path.basename(file)
    for ending in _ENDINGS[1:]:
        if base.endswith(ending) and len(base) > len(ending):
            return base[:-len(ending)]
    return base


def _source_of(file: str) -> str:
    """The folder that a file's paths start from: the one above .azureml or aml_config, else its own."""
    folder = os.path.dirname(os.path.abspath(file))
    return os.path.dirname(folder) if os.path.basename(folder) in _FOLDERS else folder
