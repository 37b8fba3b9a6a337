"""Every import path that scripts use resolves, `import *` works, and what comes later says so in one sentence."""

import importlib
import os
import pkgutil
import subprocess
import sys

import pytest

import azureml
import ferry
from azureml.exceptions import ScenarioNotSupportedException

SDK = os.path.dirname(os.path.dirname(ferry.__file__))
LATER = "is not part of this version of Ferry yet."
MODULES = {
    "azureml.core": "ComputeTarget Model Datastore Dataset Environment RunConfiguration ScriptRunConfig Webservice LinkedService Workspace Experiment Run "
                    "SynapseWorkspaceLinkedServiceConfiguration VERSION attach_legacy_compute_target",
    "azureml.core.workspace": "Workspace UserErrorException",
    "azureml.core.experiment": "Experiment",
    "azureml.core.run": "Run _OfflineRun",
    "azureml.core.script_run_config": "ScriptRunConfig",
    "azureml.core.authentication": "InteractiveLoginAuthentication AzureCliAuthentication MsiAuthentication ServicePrincipalAuthentication "
                                   "TokenAuthentication Audience",
    "azureml.core.conda_dependencies": "CondaDependencies",
    "azureml.core.environment": "Environment CondaDependencies DEFAULT_CPU_IMAGE DEFAULT_GPU_IMAGE SparkPackage DockerSection PythonSection",
    "azureml.core.runconfig": "RunConfiguration CondaDependencies DataReferenceConfiguration JarLibrary ContainerRegistry DEFAULT_CPU_IMAGE DEFAULT_GPU_IMAGE "
                              "DockerConfiguration MpiConfiguration PyTorchConfiguration TensorflowConfiguration ParallelTaskConfiguration EggLibrary "
                              "MavenLibrary PyPiLibrary RCranLibrary EnvironmentDefinition",
    "azureml.core.container_registry": "ContainerRegistry",
    "azureml.core.compute": "AdlaCompute AksCompute AmlCompute BatchAiCompute BatchCompute ComputeInstance ComputeTarget DataFactoryCompute DatabricksCompute "
                            "DsvmCompute HDInsightCompute KubernetesCompute KustoCompute RemoteCompute SynapseCompute",
    "azureml.core.compute_target": "LocalTarget ComputeTargetException",
    "azureml.core.model": "Model Dataset InferenceConfig",
    "azureml.core.dataset": "Dataset",
    "azureml.core.datastore": "Datastore",
    "azureml.core.keyvault": "Keyvault",
    "azureml.core.resource_configuration": "ResourceConfiguration",
    "azureml.core.webservice": "Webservice AciWebservice AksWebservice",
    "azureml.core.image": "Image ContainerImage",
    "azureml.core.linked_service": "LinkedService SynapseWorkspaceLinkedServiceConfiguration",
    "azureml.data": "OutputFileDatasetConfig HDFSOutputDatasetConfig LinkTabularOutputDatasetConfig TabularDataset DataType dataset_type_definitions",
    "azureml.data.output_dataset_config": "OutputFileDatasetConfig",
    "azureml.data.data_reference": "DataReference",
    "azureml.data.sql_data_reference": "SqlDataReference",
    "azureml.data.datapath": "DataPath DataPathComputeBinding",
    "azureml.data.dataset_consumption_config": "DatasetConsumptionConfig",
    "azureml.data.dataset_factory": "TabularDatasetFactory FileDatasetFactory",
    "azureml.data.azure_storage_datastore": "AzureBlobDatastore AzureFileDatastore",
    "azureml.data.stored_procedure_parameter": "StoredProcedureParameter StoredProcedureParameterType",
    "azureml.data.dataset_error_handling": "DatasetValidationError",
    "azureml.exceptions": "ActivityFailedException WebserviceException DatasetTimestampMissingError ComputeTargetException UserErrorException "
                          "ServiceException ExperimentNotFoundException",
    "azureml.train.estimator": "Estimator",
    "azureml.train.dnn": "PyTorch TensorFlow Chainer Mpi Nccl Gloo ParameterServer",
    "azureml.train.sklearn": "SKLearn",
    "azureml.train.widgets": "RunDetails",
    "azureml.widgets": "RunDetails",
    "azureml.contrib.train.rl": "ReinforcementLearningEstimator Ray WorkerConfiguration ReinforcementLearningRun",
    "azureml.tensorboard": "Tensorboard",
    "azureml.tensorboard.export": "export_to_tensorboard",
    "azureml.contrib.tensorboard": "Tensorboard",
    "azureml.contrib.tensorboard.export": "export_to_tensorboard",
    "azureml.mlflow": "get_portal_url",
    "azureml.project.project": "Project",
    "azureml.telemetry": "set_diagnostics_collection",
    "azureml._restclient.snapshots_client": "SNAPSHOT_MAX_SIZE_BYTES",
}


@pytest.mark.parametrize("module", MODULES)
def test_names(module):
    found = importlib.import_module(module)
    for name in MODULES[module].split():
        assert hasattr(found, name), name


@pytest.mark.parametrize("module", [module for module in MODULES if not module.startswith("azureml._")])
def test_star(module):
    names = {}
    exec(f"from {module} import *", names)
    wanted = {name for name in MODULES[module].split() if not name.startswith("_")}
    assert wanted - set(names) <= {"dataset_type_definitions"}


def test_the_same_objects():
    def get(path):
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)

    for one, *others in (["azureml.core.Environment", "azureml.core.environment.Environment", "azureml.core.runconfig.EnvironmentDefinition"],
                         ["azureml.core.RunConfiguration", "azureml.core.runconfig.RunConfiguration"],
                         ["azureml.core.ComputeTarget", "azureml.core.compute.ComputeTarget", "azureml.core.compute.compute.ComputeTarget"],
                         ["azureml.core.conda_dependencies.CondaDependencies", "azureml.core.runconfig.CondaDependencies",
                          "azureml.core.environment.CondaDependencies"],
                         ["azureml.core.container_registry.ContainerRegistry", "azureml.core.runconfig.ContainerRegistry"],
                         ["azureml.exceptions.ComputeTargetException", "azureml.core.compute_target.ComputeTargetException"],
                         ["azureml.train.dnn.Mpi", "azureml.train.estimator.Mpi"], ["azureml.core.Dataset", "azureml.core.dataset.Dataset"],
                         ["azureml.core.Webservice", "azureml.core.webservice.Webservice"]):
        for other in others:
            assert get(one) is get(other), (one, other)


@pytest.mark.parametrize("module, sentence", [
    ("azureml.train.hyperdrive", "Hyperparameter tuning with HyperDrive (azureml.train.hyperdrive) " + LATER),
    ("azureml.train.hyperdrive.sampling", "Hyperparameter tuning with HyperDrive (azureml.train.hyperdrive) " + LATER),
    ("azureml.train.automl", "Automated machine learning (azureml.train.automl) " + LATER),
    ("azureml.pipeline.core", "Pipelines (azureml.pipeline) " + LATER),
    ("azureml.pipeline.steps", "Pipelines (azureml.pipeline) " + LATER),
])
def test_modules_that_come_later(module, sentence):
    with pytest.raises(ImportError) as caught:
        importlib.import_module(module)
    assert isinstance(caught.value, ScenarioNotSupportedException)
    assert caught.value.message.startswith(sentence) and str(caught.value) == caught.value.message


@pytest.mark.parametrize("call, sentence", [
    ("azureml.core.Webservice()", "Deploying models as web services " + LATER),
    ("azureml.core.webservice.AciWebservice.deploy_configuration(cpu_cores=1)", "Deploying models as web services " + LATER),
    ("azureml.core.image.ContainerImage.image_configuration()", "Packing models into images " + LATER),
    ("azureml.core.LinkedService.list(None)", "Linking Synapse workspaces " + LATER),
    ("azureml.core.attach_legacy_compute_target(1, 2)", "Attaching compute targets of 2018's form " + LATER),
])
def test_names_that_are_only_there_to_be_imported(call, sentence):
    importlib.import_module("azureml.core.image")
    importlib.import_module("azureml.core.webservice")
    with pytest.raises(ScenarioNotSupportedException) as caught:
        eval(call, {"azureml": azureml})
    assert caught.value.message == sentence


def test_modules_are_there_without_an_import_of_their_own():
    program = "import azureml.core\nprint(azureml.core.runconfig.DEFAULT_CPU_IMAGE, azureml.core.compute.AmlCompute, hasattr(azureml.core, 'nothing'))"
    done = subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": SDK}, stdout=subprocess.PIPE, text=True)
    assert done.stdout.startswith("mcr.microsoft.com/") and done.stdout.strip().endswith("False")


def test_telemetry():
    from azureml.telemetry import set_diagnostics_collection

    assert set_diagnostics_collection(send_diagnostics=True) is None


def test_project(tmp_path):
    from types import SimpleNamespace

    from azureml.exceptions import ProjectSystemException
    from azureml.project.project import Project

    project = Project.attach(workspace_object=SimpleNamespace(name="ws"), experiment_name="mine", directory=str(tmp_path / "new"))
    assert (project.project_directory, project.history.name) == (str(tmp_path / "new"), "mine")
    assert Project(tmp_path / "new").history.name == "mine"
    with pytest.raises(ProjectSystemException, match="is not attached to an experiment; use Project.attach"):
        Project(tmp_path)


def test_everything_has_words():
    """Public classes, functions and methods of this package say what they are."""
    silent = []
    for package in (azureml, ferry):
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda name: None):
            if any(part in info.name for part in ("hyperdrive", "automl", "pipeline")):
                continue
            module = importlib.import_module(info.name)
            assert module.__doc__, info.name
            for name in getattr(module, "__all__", ()):
                value = getattr(module, name)
                if isinstance(value, type) and value.__module__ == info.name:
                    members = [f"{name}.{key}" for key, member in vars(value).items()
                               if not key.startswith("_") and callable(getattr(member, "__func__", member)) and not isinstance(member, type)
                               and not (getattr(member, "__func__", member).__doc__ or "").strip()]
                    silent += [f"{info.name}.{member}" for member in members + ([] if value.__doc__ else [name])]
    assert silent == []


def test_what_a_script_imports_is_quick_and_needs_no_package():
    program = ("import sys\nfor heavy in ('yaml', 'requests', 'numpy', 'pandas'): sys.modules[heavy] = None\n"
               "import azureml.core\nfrom azureml.core import Environment, RunConfiguration, ComputeTarget\n"
               "from azureml.core.compute import AmlCompute\nprint(RunConfiguration())\n"
               "heavy = {'http.client', 'ssl', 'subprocess', 'tempfile', 'threading', 'urllib.request', 'difflib'} & set(sys.modules)\n"
               "assert not heavy, heavy\n")
    subprocess.run([sys.executable, "-S", "-c", program], check=True, env={"PYTHONPATH": SDK, "PATH": "/usr/bin:/bin"}, stdout=subprocess.DEVNULL)
