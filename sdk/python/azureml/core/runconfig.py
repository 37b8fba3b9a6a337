"""Run configurations: what to run, where, and with what."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from azureml.core._runconfig_sections import (AmlComputeConfiguration, ApacheSparkConfiguration, AzureContainerInstanceConfiguration, Data,
                                              DataLocation, DataPath, DataReferenceConfiguration, Dataset, DockerConfiguration, HdiConfiguration,
                                              HistoryConfiguration, KubernetesComputeConfiguration, MpiConfiguration, OutputData,
                                              ParallelTaskConfiguration, PyTorchConfiguration, SourceDirectoryDataStoreConfiguration,
                                              SparkConfiguration, TensorflowConfiguration)
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry
from azureml.core.environment import (DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, DatabricksSection, DockerBuildContext, DockerSection, EggLibrary,
                                      Environment, JarLibrary, MavenLibrary, PyPiLibrary, PythonSection, RCranLibrary, SparkPackage,
                                      SparkSection)
from azureml.exceptions import UserErrorException
from ferry.not_yet import not_yet
from ferry.section import Anything, Field, Flag, Kind, Part, PartMap, Section, Text, TextMap, Whole, Word, wrong

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
_NOT_YET_TARGETS = {"containerinstance": "A container that is made for one run (target 'containerinstance')"}

# The names of 2018.
EnvironmentDefinition = Environment
PythonEnvironment = PythonSection


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
        return name.lower() if name.lower() in ("local", "amlcompute", *_NOT_YET_TARGETS) else name


class RunConfiguration(Section):
    """What to run, where, and with what. Attributes may be set in any order; they are checked when it is saved or submitted.

    ``target`` takes a name or a compute target. ``print`` shows everything, without passwords.
    """

    script: str | None
    command: Any
    arguments: Sequence[Any]
    target: Any
    framework: str
    communicator: str
    job_name: str | None
    auto_prepare_environment: bool
    prepare_environment: bool | None
    max_run_duration_seconds: int | None
    node_count: int
    priority: int | None
    instance_types: Any
    credential_passthrough: Any
    identity: Any
    environment: Environment
    environment_variables: dict[str, Any]
    history: HistoryConfiguration
    spark: SparkConfiguration
    hdi: HdiConfiguration
    tensorflow: TensorflowConfiguration
    mpi: MpiConfiguration
    pytorch: PyTorchConfiguration
    paralleltask: ParallelTaskConfiguration
    data_references: dict[str, Any]
    data: dict[str, Any]
    output_data: dict[str, Any]
    datacaches: Any
    source_directory_data_store: str | None
    amlcompute: AmlComputeConfiguration
    container_instance: AzureContainerInstanceConfiguration
    kubernetescompute: KubernetesComputeConfiguration
    docker: DockerConfiguration
    exposed_ports: Any

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
        content = self._with_data_as_sections()._write()
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
        for key in ("baseDockerfile", "buildContext"):
            if not docker[key]:
                del docker[key]
        if not docker["preparation"]["commandLine"]:
            del docker["preparation"]
        if docker.get("baseDockerfile") or docker.get("buildContext"):
            if docker["baseImage"] == DEFAULT_CPU_IMAGE:
                docker["baseImage"] = None
        del docker["platform"]
        return content

    def _with_data_as_sections(self) -> RunConfiguration:
        """The same with sections in place of the objects that stand for data, also of those in arguments and command."""
        import copy

        other = copy.copy(self)
        other.data_references, other.data = dict(_mapping(self.data_references, "data_references")), dict(_mapping(self.data, "data"))
        words = [*(self.arguments or ()), *(() if isinstance(self.command, str) else self.command or ())]
        for one in [*other.data_references.values(), *other.data.values(), *words]:
            if not hasattr(one, "_ferry_argument"):
                continue
            if hasattr(one, "to_config"):
                other.data_references[one.data_reference_name] = one.to_config()
            elif hasattr(one, "dataset"):
                other.data[one.name] = _data_section(one)
            else:
                raise UserErrorException(f"{one!r} cannot be written to a file; add it after the configuration was loaded")
        return other

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
        written: dict[str, Any] = {}
        for field in self._fields:
            if field.name not in ("environment", "arguments", "command", "data_references", "data", "output_data"):
                value = getattr(self, field.name)
                if value is None and not field.optional:
                    value = field.initial()
                written[field.key] = None if value is None else field.kind.write(value, field.name)
        self._refuse_later(written)
        submission: dict[str, Any] = {"target": written["target"]}
        if written["target"] == "amlcompute":
            submission["cluster"] = _cluster(written["amlcompute"])
        if workspace is not None:
            submission["workspace"] = workspace.name  # where datasets of URLs are kept
        self._what(submission)
        self._with_environment(submission, os.fspath(source_directory) if source_directory is not None else (self._path or ""), workspace)
        variables = {**self._alone(), **written["environmentVariables"]}
        if variables:
            submission["environment"] = variables
        self._with_data(submission, workspace)
        _with_history(submission, written["history"])
        for key, name in (("max_duration_seconds", "maxRunDurationSeconds"), ("priority", "priority"), ("name", "jobName")):
            if written[name]:
                submission[key] = written[name]
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


def _cluster(section: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster that is made for the run and removed with it."""
    if not section["vmSize"]:
        raise UserErrorException("amlcompute.vm_size: expected the size of its machines, because target is 'amlcompute', found nothing")
    if section["retainCluster"]:
        raise not_yet("Keeping the cluster that was made for a run (amlcompute.retain_cluster)", "Create a compute target and use its name.")
    cluster = {"vm_size": section["vmSize"], "max_nodes": section["clusterMaxNodeCount"]}
    for key, name in (("vm_priority", "vmPriority"), ("name", "name")):
        if section[name]:
            cluster[key] = section[name]
    return cluster


def _with_history(submission: dict[str, Any], history: Mapping[str, Any]) -> None:
    """What is kept with the run, as far as it is not the usual."""
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


def _data_section(one: Any) -> Data:
    """A dataset as an input, in the form of files: by the dataset's id."""
    if getattr(one.dataset, "id", None) is None:
        raise UserErrorException(f"data.{one.name}: only a dataset that is registered can be written to a file; register it first")
    return Data(DataLocation(Dataset(dataset_id=one.dataset.id)), mechanism=one.mode, environment_variable_name=one.name,
                path_on_compute=one.path_on_compute, overwrite=bool(one.path_on_compute))


def _is_own_server(workspace: Any) -> bool:
    """Whether runs on ``local`` are on this very machine: the server is this user's own."""
    located = getattr(getattr(workspace, "_client", None), "_located", None)
    return bool(located and located().home)


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
