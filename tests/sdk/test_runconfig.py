"""Run configurations: the attribute tree, files that the program reads the same way, and what is submitted."""

import json
import os
import random
import subprocess
import sys
from types import SimpleNamespace

import pytest

from azureml.core import Experiment, ScriptRunConfig, Workspace
from azureml.core.compute_target import LocalTarget
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.environment import Environment
from azureml.core.runconfig import (DEFAULT_CPU_IMAGE, DataReferenceConfiguration, DockerConfiguration, JarLibrary, MpiConfiguration,
                                    ParallelTaskConfiguration, PyTorchConfiguration, RunConfiguration, TensorflowConfiguration)
from azureml.exceptions import ScenarioNotSupportedException, UserErrorException
from ferry import yaml_file
from ferry_fixture import BINARY, write_tree

PYTHON = "python=%d.%d" % sys.version_info[:2]


def resolved(folder, name):
    """What the program makes of a file."""
    done = subprocess.run([BINARY, "runconfig", "show", name, "--resolved", "-o", "json"], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done
    assert "warning" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def full():
    """A configuration in which everything is set."""
    config = RunConfiguration(script="train.py", arguments=["--rate", 0.1, "--steps", 3, "$HOME", "007", "yes"], framework="python")
    config.target = LocalTarget()
    config.environment.python.conda_dependencies = CondaDependencies.create(conda_packages=["scikit-learn"], pip_packages=["six==1.16.0"])
    config.environment.docker.enabled = True
    config.environment.docker.base_image = DEFAULT_CPU_IMAGE
    config.environment.docker.base_image_registry.address = "registry.example"
    config.environment.docker.base_image_registry.username = "someone"
    config.environment.docker.base_image_registry.password = "geheim"
    config.environment.docker.arguments = ["--cpus", "2"]
    config.environment.docker.shm_size = "1g"
    config.environment.environment_variables = {"A": 1}
    config.environment.databricks.jar_libraries = [JarLibrary("dbfs:/a.jar")]
    config.environment_variables = {"B": "two", "C": True}
    config.history.directories_to_watch = ["logs", "more"]
    config.history.output_collection = False
    config.auto_prepare_environment = False
    config.prepare_environment = True
    config.max_run_duration_seconds = 3600
    config.priority = 7
    config.spark.configuration["spark.app.name"] = "mine"
    config.amlcompute.vm_size = "STANDARD_D2_V2"
    config.amlcompute._cluster_max_node_count = 5
    config.container_instance.region = "eastus"
    config.container_instance.cpu_cores = 1
    config.data_references = {"d": DataReferenceConfiguration("workspaceblobstore", "download", "a/b", path_on_compute="in", overwrite=True)}
    return config


def test_defaults():
    config = RunConfiguration()
    assert (config.script, config.command, config.arguments, config.target) == (None, "", [], "local")
    assert (config.framework, config.communicator, config.node_count, config.max_run_duration_seconds) == ("Python", "None", 1, None)
    assert config.auto_prepare_environment is True
    assert config.spark.configuration == {"spark.app.name": "Azure ML Experiment", "spark.yarn.maxAppAttempts": "1"}
    assert (config.hdi.yarn_deploy_mode, config.tensorflow.worker_count, config.tensorflow.parameter_server_count) == ("Cluster", 1, 1)
    assert (config.mpi.process_count_per_node, config.pytorch.communication_backend, config.pytorch.process_count) == (1, "Nccl", None)
    assert (config.amlcompute.vm_size, config.amlcompute.retain_cluster, config.amlcompute.cluster_max_node_count) == (None, False, 1)
    assert (config.container_instance.cpu_cores, config.container_instance.memory_gb) == (2, 3.5)
    assert (config.history.output_collection, config.history.snapshot_project, config.history.directories_to_watch) == (True, True, ["logs"])
    python = config.environment.python
    assert (python.user_managed_dependencies, python.interpreter_path, python.conda_dependencies_file) == (False, "python", None)
    assert (config.environment.docker.enabled, config.environment.docker.shm_size) == (False, "2g")
    assert (config.data_references, config.data, config.output_data, config.environment_variables) == ({}, {}, {}, {})


def test_configurations_share_nothing():
    one, other = RunConfiguration(), RunConfiguration()
    one.environment_variables["A"] = "1"
    one.history.directories_to_watch.append("more")
    one.spark.configuration["x"] = "y"
    assert (other.environment_variables, other.history.directories_to_watch, "x" in other.spark.configuration) == ({}, ["logs"], False)


def test_an_attribute_that_is_not_there():
    with pytest.raises(AttributeError, match="RunConfiguration has no attribute 'enviroment'; did you mean 'environment'?"):
        RunConfiguration().enviroment = None
    with pytest.raises(AttributeError, match="DockerSection has no attribute 'base_imgae'; did you mean 'base_image'?"):
        RunConfiguration().environment.docker.base_imgae = "x"


def test_print():
    shown = str(full())
    assert "geheim" not in shown and '"password": "***"' in shown
    assert json.loads(shown)["environment"]["python"]["condaDependencies"]["dependencies"][1] == "scikit-learn"
    wrong = RunConfiguration()
    wrong.node_count, wrong.history = "two", None
    assert json.loads(str(wrong))["nodeCount"] == "two"  # what is wrong can be looked at, too


@pytest.mark.parametrize("separate", [False, True])
def test_the_program_reads_what_is_saved(tmp_path, separate):
    config = full()
    config.save(tmp_path, "cfg", separate_environment_yaml=separate)
    file = tmp_path / ".azureml" / "cfg.runconfig"
    assert file.stat().st_mode & 0o777 == 0o600  # it holds a password
    assert (tmp_path / ".azureml" / "environment.yml").exists() == separate
    seen = resolved(tmp_path, "cfg")
    assert seen["arguments"] == ["--rate", "0.1", "--steps", "3", "$HOME", "007", "yes"]
    assert (seen["script"], seen["target"], seen["framework"], seen["communicator"], seen["nodeCount"]) == ("train.py", "local", "Python", "None", 1)
    assert (seen["maxRunDurationSeconds"], seen["priority"], seen["autoPrepareEnvironment"]) == (3600, 7, False)
    assert seen["environment"]["python"]["condaDependencies"] == {
        "channels": ["conda-forge"], "dependencies": [PYTHON, "scikit-learn", {"pip": ["azureml-defaults", "six==1.16.0"]}]}
    docker = seen["environment"]["docker"]
    assert (docker["enabled"], docker["baseImage"], docker["arguments"], docker["shmSize"]) == (True, DEFAULT_CPU_IMAGE, ["--cpus", "2"], "1g")
    assert docker["baseImageRegistry"] == {"address": "registry.example", "username": "someone"}
    assert seen["environment"]["environmentVariables"] == {"A": "1", "B": "two", "C": "True"}
    assert seen["environment"]["databricks"]["jarLibraries"] == [{"library": "dbfs:/a.jar"}]
    assert seen["history"] == {"outputCollection": False, "snapshotProject": True, "directoriesToWatch": ["logs", "more"]}
    assert seen["spark"]["configuration"]["spark.app.name"] == "mine"
    assert seen["amlCompute"] == {"name": None, "vmSize": "STANDARD_D2_V2", "vmPriority": None, "retainCluster": False, "clusterMaxNodeCount": 5}
    assert seen["containerInstance"] == {"region": "eastus", "cpuCores": 1, "memoryGb": 3.5}
    assert seen["dataReferences"] == {"d": {"dataStoreName": "workspaceblobstore", "mode": "Download", "pathOnDataStore": "a/b",
                                            "pathOnCompute": "in", "overwrite": True}}
    assert RunConfiguration.load(tmp_path, "cfg")._write() == config._write()


def test_defaults_are_the_same_for_the_program(tmp_path):
    config = RunConfiguration(script="train.py")
    config.save(tmp_path, "cfg")
    seen = resolved(tmp_path, "cfg")
    assert seen["environment"]["docker"]["enabled"] is False
    assert seen["environment"]["python"]["condaDependencies"]["dependencies"] == [PYTHON, {"pip": ["azureml-defaults"]}]
    assert RunConfiguration.load(str(tmp_path), "cfg")._write() == config._write()
    config.command, config.script = "echo $HOME && ls", None
    config.save(tmp_path, "other")
    assert resolved(tmp_path, "other")["command"] == ["sh", "-c", "echo $HOME && ls"]


def test_files_of_the_program_load(tmp_path, shared):
    shared.ok("folder", "attach", "--path", tmp_path)
    local, docker = RunConfiguration.load(tmp_path, "local"), RunConfiguration.load(tmp_path, name="docker")
    assert (local.target, local.environment.docker.enabled, docker.environment.docker.enabled) == ("local", False, True)
    assert local.environment.python.conda_dependencies.pip_packages == ["azureml-defaults"]
    assert local.script == resolved(tmp_path, "local")["script"]


def test_old_files_and_old_keywords(tmp_path):
    (tmp_path / "aml_config").mkdir()
    (tmp_path / "aml_config" / "conda_dependencies.yml").write_text("dependencies:\n- python=3.6.2\n- scikit-learn\n")
    (tmp_path / "aml_config" / "myhdi.runconfig").write_text(
        "# An old file\nscript: train.py\narguments: []\ntarget: myhdi\nframework: pyspark\ncommunicator: None\nprepareEnvironment: true\n"
        "nodeCount:\nspark:\n  configuration:\n    spark.app.name: Old\n    spark.yarn.maxAppAttempts: 1\nhdi:\n  yarnDeployMode: cluster\n"
        "batchai:\n  nodeCount: 1\namlCompute:\n  vmSize: STANDARD_D2\n"
        "environment:\n  python:\n    userManagedDependencies: false\n    interpreterPath: python\n"
        "    condaDependenciesFile: aml_config/conda_dependencies.yml\n  docker:\n    enabled: false\n    baseImage: mcr.microsoft.com/azureml/base:0.2.0\n"
        "    sharedVolumes: true\n    gpuSupport: false\n    arguments: []\n    baseImageRegistry:\n      address:\n      username:\n      password:\n"
        "  inferencingStackVersion:\nhistory:\n  outputCollection: true\n  further: 1\n")
    project = SimpleNamespace(project_directory=str(tmp_path))
    for config in (RunConfiguration.load(project_object=project, run_config_name="myhdi"),
                   RunConfiguration.load(project_object=project, run_name="myhdi"), RunConfiguration.load(str(tmp_path), "myhdi"),
                   RunConfiguration.load(tmp_path / "aml_config" / "myhdi.runconfig")):
        assert (config.target, config.framework, config.prepare_environment, config.node_count) == ("myhdi", "PySpark", True, 1)
        assert config.environment.python.conda_dependencies.conda_packages == ["scikit-learn"]
        assert (config.hdi.yarn_deploy_mode, config.amlcompute.vm_size) == ("Cluster", "STANDARD_D2")
        assert config.spark.configuration == {"spark.app.name": "Old", "spark.yarn.maxAppAttempts": "1"}


def test_deleting(tmp_path):
    RunConfiguration(script="a.py").save(tmp_path, "cfg")
    RunConfiguration.delete(tmp_path, "cfg")
    assert os.listdir(tmp_path / ".azureml") == []
    with pytest.raises(UserErrorException, match="there is no run configuration 'cfg' in .azureml or aml_config of .*; there are none there"):
        RunConfiguration.delete(tmp_path, "cfg")


def test_saving_where_it_cannot_be(tmp_path):
    config = RunConfiguration(script="a.py")
    with pytest.raises(UserErrorException, match="name: expected the name of the run configuration, found nothing"):
        config.save(tmp_path)
    with pytest.raises(UserErrorException, match="name: expected a name without '/', found '../x'"):
        config.save(tmp_path, "../x")
    with pytest.raises(UserErrorException, match="path: there is no folder"):
        config.save(tmp_path / "no" / "file")
    config.save(tmp_path / "here.runconfig")
    assert RunConfiguration.load(tmp_path / "here.runconfig").script == "a.py"
    config.node_count = "two"
    with pytest.raises(UserErrorException, match="node_count: expected a whole number from 1 to 2147483647, found 'two'"):
        config.save(tmp_path, "cfg")


@pytest.mark.parametrize("text, message", [
    ("nodeCount: two", "nodeCount: expected a whole number from 1 to 2147483647, found 'two'"),
    ("framework: R", "framework: expected one of Python, PySpark, .*, found 'R'"),
    ("arguments: --a 1", "arguments: expected a list, found '--a 1'"),
    ("environment:\n  docker: yes", "environment.docker: expected a section with keys of its own, found 'yes'"),
    ("environment:\n  docker:\n    enabled: perhaps", "environment.docker.enabled: expected True or False, found 'perhaps'"),
    ("script: a\nScript: b", "Script: stands twice"),
    ("environment:\n  python:\n    condaDependenciesFile: gone.yml", "'.*gone.yml' cannot be read: No such file or directory"),
    ("just a text", "expected a run configuration: keys such as script and environment"),
    ("a: [", r":\d+:\d+: "),
])
def test_wrong_files(tmp_path, text, message):
    (tmp_path / "x.runconfig").write_text(text)
    with pytest.raises(UserErrorException, match="x.runconfig.*" + message):
        RunConfiguration.load(tmp_path, "x")


def test_an_unknown_key_is_warned_of(tmp_path):
    (tmp_path / "x.runconfig").write_text("script: a.py\nnodecont: 2\n")
    with pytest.warns(UserWarning, match="nodecont is not a key that Ferry knows"):
        RunConfiguration.load(tmp_path, "x")


@pytest.mark.filterwarnings("ignore")
def test_whatever_a_file_holds(tmp_path):
    """A configuration, or one of the SDK's own errors."""
    full().save(tmp_path, "cfg")
    tree = json.loads(json.dumps(yaml_file.load(tmp_path / ".azureml" / "cfg.runconfig")))
    chance = random.Random(7)

    def changed(value):
        if chance.random() < 0.03:
            return chance.choice([None, 3, -1, 1.5, True, "x", "", [], {}, [1, None, {"a": 1}], {"pip": "x"}, {"a": {"b": []}}, 10**400])
        if isinstance(value, dict):
            return {name: changed(item) for name, item in value.items()}
        return [changed(item) for item in value] if isinstance(value, list) else value

    for _ in range(300):
        (tmp_path / "x.runconfig").write_text(json.dumps(changed(tree)))
        try:
            config = RunConfiguration.load(tmp_path, "x")
            assert str(config)
            config._submission()
        except (UserErrorException, ScenarioNotSupportedException):
            pass


# Submitting


def test_submission():
    got = full()._submission()
    assert got == {
        "target": "local", "script": "train.py", "arguments": ["--rate", "0.1", "--steps", "3", "$HOME", "007", "yes"],
        "environment": {"B": "two", "C": "True"}, "watch": ["logs", "more"], "collect_outputs": False, "auto_prepare": False,
        "max_duration_seconds": 3600, "priority": 7,
        "data": {"d": {"paths": [{"datastore": "workspaceblobstore", "path": "a/b"}], "mode": "download", "path_on_compute": "in", "overwrite": True}},
        "environment_definition": {
            "python": {"userManagedDependencies": False, "interpreterPath": "python", "condaDependencies": {
                "channels": ["conda-forge"], "dependencies": [PYTHON, "scikit-learn", {"pip": ["azureml-defaults", "six==1.16.0"]}]}},
            "docker": {"enabled": True, "baseImage": DEFAULT_CPU_IMAGE, "arguments": ["--cpus", "2"], "shmSize": "1g",
                       "baseImageRegistry": {"address": "registry.example", "username": "someone", "password": "geheim"}},
            "environmentVariables": {"A": "1"}}}


def test_submission_of_commands_and_user_managed_environments():
    config = RunConfiguration(command=["python", "train.py", "--n", 3])
    config.environment.python.user_managed_dependencies = True
    config.environment.python.interpreter_path = "/opt/python"
    got = config._submission()
    assert got["command"] == ["python", "train.py", "--n", "3"] and got["interpreter"] == "/opt/python"
    assert got["environment_definition"]["python"]["userManagedDependencies"] is True
    config.command = "echo $HOME"
    assert config._submission()["command"] == ["sh", "-c", "echo $HOME"]


def test_docker_configuration_wins():
    config = RunConfiguration(script="a.py")
    config.docker = DockerConfiguration(use_docker=True, shared_volumes=False, arguments=["--ipc=host"], shm_size="4g")
    assert config._submission()["environment_definition"]["docker"] == {
        "enabled": True, "baseImage": DEFAULT_CPU_IMAGE, "sharedVolumes": False, "arguments": ["--ipc=host"], "shmSize": "4g"}
    config.environment.docker.enabled = True
    config.docker = DockerConfiguration()
    assert not config._submission()["environment_definition"].get("docker", {}).get("enabled")


def test_arguments_that_stand_for_data():
    class Input:
        def _ferry_argument(self, submission):
            submission.setdefault("data", {})["in"] = {"paths": [{"url": "https://host.example/x"}], "mode": "download"}
            return "DatasetConsumptionConfig:in"

        def __str__(self):
            return "DatasetConsumptionConfig:in"

    config = RunConfiguration(script="a.py", arguments=["--in", Input()])
    got = config._submission()
    assert got["arguments"] == ["--in", "DatasetConsumptionConfig:in"] and list(got["data"]) == ["in"]
    assert json.loads(str(config))["arguments"] == ["--in", "DatasetConsumptionConfig:in"]
    config = RunConfiguration(script="a.py")
    config.data["in"] = Input()
    assert list(config._submission()["data"]) == ["in"]


def test_saving_what_stands_for_data(tmp_path):
    class Reference:
        data_reference_name = "r"
        _ferry_argument = None

        def to_config(self):
            return DataReferenceConfiguration("mine", "download", "a")

        def __str__(self):
            return "$AZUREML_DATAREFERENCE_r"

    input_ = SimpleNamespace(name="in", mode="download", path_on_compute=None, dataset=SimpleNamespace(id="an-id"), _ferry_argument=None)
    config = RunConfiguration(script="a.py", arguments=["--r", Reference()])
    config.data["in"] = input_
    config.save(tmp_path, "cfg")
    seen = resolved(tmp_path, "cfg")
    assert seen["arguments"] == ["--r", "$AZUREML_DATAREFERENCE_r"] and seen["dataReferences"]["r"]["dataStoreName"] == "mine"
    assert (seen["data"]["in"]["dataLocation"]["dataset"]["id"], seen["data"]["in"]["mechanism"]) == ("an-id", "Download")
    input_.dataset.id = None
    with pytest.raises(UserErrorException, match="data.in: only a dataset that is registered can be written to a file; register it first"):
        config.save(tmp_path, "cfg")


def test_data_sections_of_files(tmp_path):
    (tmp_path / "x.runconfig").write_text(
        "script: a.py\nenvironment:\n  python:\n    userManagedDependencies: true\n"
        "data:\n  d:\n    dataLocation:\n      datapath:\n        datastoreName: mine\n        relativePath: a/*.csv\n    mechanism: download\n"
        "    environmentVariableName: D\noutputData:\n  o:\n    outputLocation:\n      datapath:\n        datastoreName: mine\n        relativePath: out\n"
        "    mechanism: upload\n    additionalOptions:\n      registrationOptions:\n        name: made\ndataReferences:\n  up:\n    dataStoreName: mine\n    mode: upload\n")
    got = RunConfiguration.load(tmp_path, "x")._submission()
    assert got["data"] == {"d": {"mode": "download", "paths": [{"datastore": "mine", "path": "a/*.csv"}], "environment_variable": "D"}}
    assert got["outputs"] == {"o": {"datastore": "mine", "path": "out", "mode": "upload", "register": {"name": "made", "description": "", "tags": {}}},
                              "up": {"datastore": "mine", "path": "", "mode": "upload"}}
    assert got["run_configuration"] == "x"


def test_one_process_of_a_distributed_script():
    config = RunConfiguration(script="a.py", framework="PyTorch", communicator="Nccl")
    config.pytorch = PyTorchConfiguration(process_count=1)
    assert config._submission()["environment"]["WORLD_SIZE"] == "1"
    config = RunConfiguration(script="a.py", communicator="Mpi")
    config.mpi = MpiConfiguration()
    assert config._submission()["environment"]["OMPI_COMM_WORLD_RANK"] == "0"


def test_a_cluster_for_one_run():
    config = RunConfiguration(script="a.py")
    config.target = "AmlCompute"
    with pytest.raises(UserErrorException) as caught:
        config._submission()
    assert caught.value.message == "amlcompute.vm_size: expected the size of its machines, because target is 'amlcompute', found nothing"
    config.amlcompute.vm_size = "STANDARD_D2_V2"
    got = config._submission()
    assert (got["target"], got["cluster"]) == ("amlcompute", {"vm_size": "STANDARD_D2_V2", "max_nodes": 1})
    config.amlcompute.vm_priority, config.amlcompute.name, config.amlcompute._cluster_max_node_count = "LowPriority", "mine", 3
    assert config._submission()["cluster"] == {"vm_size": "STANDARD_D2_V2", "max_nodes": 3, "vm_priority": "lowpriority", "name": "mine"}
    config.amlcompute.retain_cluster = True
    with pytest.raises(ScenarioNotSupportedException):
        config._submission()
    config.target = "local"
    assert "cluster" not in config._submission()


@pytest.mark.parametrize("change, sentence", [
    (dict(target="containerinstance"),
     "A container that is made for one run (target 'containerinstance') is not part of this version of Ferry yet. Use the target 'local'."),
    (dict(node_count=4), "Running on 4 nodes at once (node_count) is not part of this version of Ferry yet."),
    (dict(framework="PySpark"), "The framework PySpark is not part of this version of Ferry yet."),
    (dict(framework="PyTorch", communicator="Gloo", pytorch=PyTorchConfiguration("Gloo", process_count=4)),
     "Distributed training over 4 processes is not part of this version of Ferry yet."),
    (dict(communicator="Mpi", mpi=MpiConfiguration(node_count=2)), "Running on 2 nodes at once (node_count) is not part of this version of Ferry yet."),
    (dict(framework="TensorFlow", communicator="ParameterServer", tensorflow=TensorflowConfiguration(2, 1)),
     "Distributed training over 3 processes is not part of this version of Ferry yet."),
    (dict(source_directory_data_store="mine"),
     "A source folder on a datastore (source_directory_data_store) is not part of this version of Ferry yet."),
])
def test_what_comes_later(change, sentence):
    config = RunConfiguration(script="a.py")
    for name, value in change.items():
        setattr(config, name, value)
    with pytest.raises(ScenarioNotSupportedException) as caught:
        config._submission()
    assert caught.value.message == sentence


@pytest.mark.parametrize("change, message", [
    (dict(script=None), "script: expected the script to run, or a command, found nothing"),
    (dict(command="ls"), "script and command exclude each other"),
    (dict(arguments="--a 1"), "arguments: expected a list, found '--a 1'"),
    (dict(arguments=["a", None]), r"arguments\[1\]: expected a text or a number, found a value of type NoneType"),
    (dict(target=3), "target: expected a compute target or its name, found 3"),
    (dict(node_count=0), "node_count: expected a whole number from 1"),
    (dict(framework="fortran"), "framework: expected one of"),
    (dict(environment="sklearn"), "environment: expected an Environment, found 'sklearn'"),
    (dict(environment_variables=["A=1"]), "environment_variables: expected a dict of texts"),
    (dict(environment_variables={"A=B": 1}), "environment_variables: expected names of variables without '=', found 'A=B'"),
    (dict(max_run_duration_seconds=-1), "max_run_duration_seconds: expected a whole number from 0"),
    (dict(data={"d": 3}), "data.d: expected a DatasetConsumptionConfig or a Data"),
    (dict(data_references=[1]), "data_references: expected a dict"),
    (dict(data_references={"d": DataReferenceConfiguration()}), "data_references.d: expected the name of a datastore, found nothing"),
    (dict(history="logs"), "history: expected a HistoryConfiguration, found 'logs'"),
])
def test_wrong_values(change, message):
    config = RunConfiguration(script="a.py")
    for name, value in change.items():
        setattr(config, name, value)
    with pytest.raises(UserErrorException, match=message):
        config._submission()


def test_wrong_sections():
    config = RunConfiguration(script="a.py")
    config.history.directories_to_watch = ["../up"]
    with pytest.raises(UserErrorException, match=r"history.directories_to_watch\[0\]: expected a folder inside of the source folder, found '../up'"):
        config._submission()
    config = RunConfiguration(script="a.py")
    config.environment.docker.base_image, config.environment.docker.base_dockerfile = "python:3", "FROM python:3\n"
    with pytest.raises(UserErrorException, match="base_image, base_dockerfile and build_context exclude each other"):
        config._submission()
    for make, message in ((lambda: MpiConfiguration(0), "process_count_per_node: expected a whole number from 1"),
                          (lambda: PyTorchConfiguration("Carrier pigeon"), "communication_backend: expected one of Nccl, Gloo, Mpi"),
                          (lambda: TensorflowConfiguration(worker_count="x"), "worker_count: expected a whole number"),
                          (lambda: ParallelTaskConfiguration(worker_count_per_node=0), "worker_count_per_node"),
                          (lambda: DockerConfiguration(use_docker="perhaps"), "use_docker: expected True or False, found 'perhaps'"),
                          (lambda: RunConfiguration(framework="fortran"), "framework: expected one of"),
                          (lambda: RunConfiguration(conda_dependencies={}), "conda_dependencies: expected CondaDependencies")):
        with pytest.raises(UserErrorException, match=message):
            make()


def test_a_named_environment_is_sent_by_its_name(tmp_path):
    (tmp_path / "x.runconfig").write_text("script: a.py\nenvironment:\n  name: mine\n  version: 3\n")
    config = RunConfiguration.load(tmp_path, "x")
    assert config._submission()["environment_name"] == "mine@3"
    config.environment.python.conda_dependencies.add_pip_package("six")
    assert config._submission()["environment_definition"]["name"] == "mine"


def test_a_reserved_environment_name():
    config = RunConfiguration(script="a.py")
    config.environment = Environment("AzureML-Mine")
    with pytest.raises(UserErrorException, match="environment name 'AzureML-Mine' begins with a reserved word"):
        config._submission()


# Runs


TRAIN = """
import os, sys
from azureml.core import Run
print("python", sys.executable, sys.argv[1:], os.environ.get("A"))
Run.get_context().log("answer", 42)
"""


def output(run):
    return run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]


def test_environments_in_runs(client, tmp_path):
    """The default, a Python that is there, one of packages, and a registered one."""
    ws, source = Workspace("s", "g", "default"), write_tree(tmp_path / "source", {"train.py": TRAIN})
    experiment = Experiment(workspace=ws, name="environment-kinds")
    managed = RunConfiguration()
    managed.environment_variables = {"A": 7}
    existing = RunConfiguration()
    existing.environment.python.user_managed_dependencies = True
    existing.environment.python.interpreter_path = "/usr/bin/python3"
    packages = RunConfiguration(conda_dependencies=CondaDependencies.create(pip_packages=["six==1.16.0"]))
    named = RunConfiguration()
    kept = Environment("kept")
    kept.environment_variables["A"] = "of the environment"
    named.environment = kept.register(ws)
    runs = {name: experiment.submit(ScriptRunConfig(source_directory=source, script="train.py", arguments=[name, 1, 0.5], run_config=config))
            for name, config in (("managed", managed), ("existing", existing), ("packages", packages), ("named", named))}
    for name, run in runs.items():
        run.wait_for_completion(show_output=False)
        assert run.get_metrics() == {"answer": 42}
        assert f"['{name}', '1', '0.5']" in output(run)
    assert "0.5'] 7" in output(runs["managed"]) and "0.5'] of the environment" in output(runs["named"])
    assert "python /usr/bin/python3 " in output(runs["existing"])
    assert client.get("/runs/" + runs["named"].id)["environment"]["name"] == "kept"


def test_ones_own_python_on_ones_own_server(own, outside, monkeypatch, tmp_path):
    """A user-managed environment means the Python that submits, not whatever the agent finds first."""
    monkeypatch.setenv("FERRY_HOME", own.home)
    ws, source = Workspace("s", "g", "default"), write_tree(tmp_path / "source", {"train.py": TRAIN})
    config = RunConfiguration()
    config.environment.python.user_managed_dependencies = True
    run = Experiment(ws, "mine").submit(ScriptRunConfig(source, "train.py", run_config=config))
    run.wait_for_completion()
    assert f"python {sys.executable} " in output(run)


def test_a_saved_configuration_is_submitted_by_the_program(shared, client, tmp_path):
    source = write_tree(tmp_path / "source", {"train.py": TRAIN})
    config = RunConfiguration(script="train.py", arguments=["--n", 3])
    config.environment.python.user_managed_dependencies = True
    config.environment.python.interpreter_path = sys.executable
    config.save(source, "saved")
    said = shared.ok("run", "submit-script", "-e", "saved", "-c", "saved", "--source-directory", source)
    assert "['--n', '3']" in said
