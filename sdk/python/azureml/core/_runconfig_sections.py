"""The sections of a run configuration. Their home for scripts is ``azureml.core.runconfig``."""

from __future__ import annotations

from typing import Any, Mapping

from azureml.core._environment_sections import DEFAULT_CPU_IMAGE, check_size
from azureml.exceptions import UserErrorException
from ferry.not_yet import not_yet
from ferry.section import Anything, Field, Flag, Members, Number, Part, Section, Text, TextMap, Texts, Whole, Word, members


class HistoryConfiguration(Section):
    """What is kept with a run: ``outputs/``, the source folder, and the folders whose files are sent while it goes on."""

    output_collection: bool
    snapshot_project: bool
    directories_to_watch: list[str]

    _fields = (Field("output_collection", "outputCollection", Flag(), True), Field("snapshot_project", "snapshotProject", Flag(), True),
               Field("directories_to_watch", "directoriesToWatch", Texts(), ["logs"]))

    def _leftover(self, members: Mapping, path: str) -> None:
        pass  # the schema allows further keys


class SparkConfiguration(Section):
    """Settings of Spark."""

    configuration: dict[str, Any]

    _fields = (Field("configuration", "configuration", TextMap(), {"spark.app.name": "Azure ML Experiment", "spark.yarn.maxAppAttempts": "1"}),)


class ApacheSparkConfiguration(SparkConfiguration):
    """Settings of Spark, under its newer name."""


class HdiConfiguration(Section):
    """How YARN runs the driver: ``cluster``, ``client`` or ``none``."""

    yarn_deploy_mode: str

    _fields = (Field("yarn_deploy_mode", "yarnDeployMode", Word("None", "Client", "Cluster"), "Cluster"),)


class TensorflowConfiguration(Section):
    """TensorFlow's workers and parameter servers."""

    worker_count: int
    parameter_server_count: int

    _fields = (Field("worker_count", "workerCount", Whole(1), 1), Field("parameter_server_count", "parameterServerCount", Whole(0), 1))

    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1) -> None:
        super().__init__()
        self.worker_count, self.parameter_server_count = worker_count, parameter_server_count
        self._write(type(self).__name__)


class MpiConfiguration(Section):
    """MPI's processes on each node, and the nodes."""

    process_count_per_node: int
    node_count: int

    _fields = (Field("process_count_per_node", "processCountPerNode", Whole(1), 1), Field("node_count", "nodeCount", Whole(1), 1))

    def __init__(self, process_count_per_node: int = 1, node_count: int = 1) -> None:
        super().__init__()
        self.process_count_per_node, self.node_count = process_count_per_node, node_count
        self._write(type(self).__name__)


class PyTorchConfiguration(Section):
    """PyTorch's processes in all (None: one per node), the nodes, and how they talk (``Nccl`` or ``Gloo``)."""

    communication_backend: str
    process_count: int | None
    node_count: int

    _fields = (Field("communication_backend", "communicationBackend", Word("Nccl", "Gloo", "Mpi"), "Nccl"),
               Field("process_count", "processCount", Whole(1)), Field("node_count", "nodeCount", Whole(1), 1))

    def __init__(self, communication_backend: str = "Nccl", process_count: int | None = None, node_count: int = 1) -> None:
        super().__init__()
        self.communication_backend, self.process_count, self.node_count = communication_backend, process_count, node_count
        self._write(type(self).__name__)


class ParallelTaskConfiguration(Section):
    """Many independent workers of one script."""

    max_retries_per_worker: int
    worker_count_per_node: int
    terminal_exit_codes: Any

    _fields = (Field("max_retries_per_worker", "maxRetriesPerWorker", Whole(0), 0),
               Field("worker_count_per_node", "workerCountPerNode", Whole(1), 1), Field("terminal_exit_codes", "terminalExitCodes", Anything()))

    def __init__(self, max_retries_per_worker: int = 0, worker_count_per_node: int = 1, terminal_exit_codes: list[int] | None = None) -> None:
        super().__init__()
        self.max_retries_per_worker, self.worker_count_per_node = max_retries_per_worker, worker_count_per_node
        self.terminal_exit_codes = terminal_exit_codes
        self._write(type(self).__name__)


class AmlComputeConfiguration(Section):
    """The cluster that is made for one run (target ``amlcompute``)."""

    name: str | None
    vm_size: str | None
    vm_priority: str | None
    retain_cluster: bool
    cluster_max_node_count: int

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

    region: str | None
    cpu_cores: float
    memory_gb: float

    _fields = (Field("region", "region", Text()), Field("cpu_cores", "cpuCores", Number(), 2), Field("memory_gb", "memoryGb", Number(), 3.5))


class KubernetesComputeConfiguration(Section):
    """What a run needs of a Kubernetes cluster."""

    instance_type: str | None

    _fields = (Field("instance_type", "instanceType", Text()),)


class DockerConfiguration(Section):
    """Whether the script runs in a container, and how it is started. It wins over the environment's docker section."""

    use_docker: bool | None
    shared_volumes: bool | None
    arguments: list[str] | None
    shm_size: str | None

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
        docker["shmSize"] = check_size(str(self.shm_size), "docker.shm_size") if self.shm_size else docker.get("shmSize", "2g")
        definition["docker"] = docker


class DataReferenceConfiguration(Section):
    """A path on a datastore that a run gets (``mount``, ``download``) or fills (``upload``)."""

    data_store_name: str | None
    mode: str
    path_on_data_store: str | None
    path_on_compute: str | None
    overwrite: bool

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

    data_store_name: str | None

    _fields = (Field("data_store_name", "dataStoreName", Text()),)


class Dataset(Section):
    """A dataset as a run configuration names it."""

    dataset_id: str | None
    dataset_name: str | None
    dataset_version: str | None

    _fields = (Field("dataset_id", "id", Text()), Field("dataset_name", "name", Text()), Field("dataset_version", "version", Text()))

    def __init__(self, dataset_id: str | None = None, dataset_name: str | None = None, dataset_version: str | None = None) -> None:
        super().__init__()
        self.dataset_id, self.dataset_name, self.dataset_version = dataset_id, dataset_name, dataset_version


class DataPath(Section):
    """A path on a datastore as a run configuration names it."""

    datastore_name: str | None
    relative_path: str | None

    _fields = (Field("datastore_name", "datastoreName", Text()), Field("relative_path", "relativePath", Text()))

    def __init__(self, datastore_name: str | None = None, relative_path: str | None = None) -> None:
        super().__init__()
        self.datastore_name, self.relative_path = datastore_name, relative_path


class DataLocation(Section):
    """Where data is: a dataset, or a path on a datastore."""

    dataset: Dataset | None
    data_path: DataPath | None

    _fields = (Field("dataset", "dataset", Part(Dataset), optional=True), Field("data_path", "datapath", Part(DataPath), optional=True))

    def __init__(self, dataset: Dataset | None = None, data_path: DataPath | None = None) -> None:
        super().__init__()
        self.dataset, self.data_path = dataset, data_path


class Data(Section):
    """Data that a run gets, by the name that its arguments use (``DatasetConsumptionConfig:NAME``)."""

    data_location: DataLocation | None
    create_output_directories: bool
    mechanism: str
    environment_variable_name: str | None
    path_on_compute: str | None
    overwrite: bool

    _fields = (Field("data_location", "dataLocation", Part(DataLocation), optional=True),
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

    output_location: dict[str, Any] | None
    mechanism: str
    additional_options: dict[str, Any] | None
    environment_variable_name: str | None

    _fields = (Field("output_location", "outputLocation", Members()), Field("mechanism", "mechanism", Word("Upload", "Mount", "Hdfs"), "Upload"),
               Field("additional_options", "additionalOptions", Members()), Field("environment_variable_name", "environmentVariableName", Text()))

    def _submit(self, name: str, submission: dict[str, Any]) -> None:
        path = f"output_data.{name}"
        written = self._write(path)
        if written["mechanism"] == "Hdfs":
            raise not_yet("Output to HDFS (output_data)")
        location = written["outputLocation"] or {}
        place = members(location.get("datapath") or location.get("dataPath"), f"{path}.output_location.datapath")
        if not place.get("datastoreName"):
            raise UserErrorException(f"{path}.output_location: expected a datapath with a datastoreName, found nothing")
        options = written["additionalOptions"] or {}
        upload = members(options.get("uploadOptions"), f"{path}.additional_options.uploadOptions")
        register = members(options.get("registrationOptions"), f"{path}.additional_options.registrationOptions")
        one: dict[str, Any] = {"datastore": str(place["datastoreName"]), "path": str(place.get("relativePath") or ""), "mode": written["mechanism"].lower()}
        if options.get("pathOnCompute"):
            one["path_on_compute"] = str(options["pathOnCompute"])
        if Flag().read(upload.get("overwrite") or False, f"{path}.additional_options.uploadOptions.overwrite"):
            one["overwrite"] = True
        globs = members(upload.get("sourceGlobs"), f"{path}.additional_options.uploadOptions.sourceGlobs").get("globPatterns")
        if globs:
            one["globs"] = Texts().read(globs, f"{path}.additional_options.uploadOptions.sourceGlobs.globPatterns")
        if register.get("name"):
            one["register"] = {"name": str(register["name"]), "description": str(register.get("description") or ""),
                               "tags": TextMap().read(register.get("tags") or {}, f"{path}.additional_options.registrationOptions.tags")}
        submission.setdefault("outputs", {})[name] = one


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
