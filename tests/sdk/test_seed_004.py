"""The calls of the PyTorch article of 2020. PyTorch itself is not needed to see that each call does what it says; the run trains with scikit-learn."""

import os
import shutil
import sys

import pytest
from ferry_fixture import write_tree
from seed_fixture import LATER, USE_LOCAL, absent, no_target, script_folder, ws  # noqa: F401

CONDA = """\
channels:
- conda-forge
dependencies:
- python=3.6.2
- pip:
  - azureml-defaults
  - torch==1.6.0
  - torchvision==0.7.0
  - future==0.17.1
  - pillow
"""
GPU_IMAGE = "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04"
TRAIN = """\
import argparse, os, pickle
from azureml.core import Run
from sklearn.datasets import load_iris
from sklearn.linear_model import SGDClassifier
parser = argparse.ArgumentParser()
parser.add_argument("--num_epochs", type=int)
parser.add_argument("--output_dir")
given = parser.parse_args()
X, y = load_iris(return_X_y=True)
model, run = SGDClassifier(random_state=0), Run.get_context()
for epoch in range(given.num_epochs):
    model.partial_fit(X, y, classes=[0, 1, 2])
    run.log("accuracy", model.score(X, y))
os.makedirs(given.output_dir, exist_ok=True)
pickle.dump(model, open(os.path.join(given.output_dir, "model.pt"), "wb"))
print("trained", given.num_epochs, "epochs")
"""


@pytest.fixture
def project_folder(script_folder):
    write_tree(script_folder, {"pytorch_train.py": TRAIN, "conda_dependencies.yml": CONDA})
    project_folder = "./pytorch-birds"
    os.makedirs(project_folder, exist_ok=True)
    shutil.copy("pytorch_train.py", project_folder)
    return project_folder


@pytest.fixture
def compute_target(ws):
    from azureml.core.compute import AmlCompute, ComputeTarget

    made = ComputeTarget.create(ws, "gpu-cluster-" + os.urandom(2).hex(), AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=4))
    yield made
    made.delete()


def test_imports(script_folder):
    from azureml.core import Environment, Experiment, Workspace
    from azureml.core.compute import AmlCompute, ComputeTarget
    from azureml.core.compute_target import ComputeTargetException
    from azureml.core.workspace import Workspace as Same

    assert Workspace is Same and issubclass(AmlCompute, ComputeTarget) and issubclass(ComputeTargetException, Exception) and Environment and Experiment


def test_workspace(ws):
    from azureml.core import Workspace

    assert Workspace.from_config().name == ws.name == "default"


def test_cluster(ws, capsys):
    from azureml.core.compute import AmlCompute, ComputeTarget
    from azureml.core.compute_target import ComputeTargetException

    cluster_name = "gpu-cluster"
    try:
        compute_target = ComputeTarget(workspace=ws, name=cluster_name)
    except ComputeTargetException as error:
        assert error.message == absent(cluster_name)
        compute_config = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=4)
        compute_target = ComputeTarget.create(ws, cluster_name, compute_config)
        compute_target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
    status = compute_target.get_status().serialize()
    assert (status["vmSize"], status["scaleSettings"]["maxNodeCount"], status["currentNodeCount"]) == ("Standard_NC6", 4, 0), status
    compute_target.delete()


def test_curated_environment(ws, project_folder):
    from azureml.core import Environment
    from azureml.exceptions import UserErrorException

    curated_env_name = "AzureML-PyTorch-1.6-GPU"
    pytorch_env = Environment.get(workspace=ws, name=curated_env_name)
    assert pytorch_env.name == curated_env_name and any(line.startswith("torch==") for line in pytorch_env.python.conda_dependencies.pip_packages)

    pytorch_env.save_to_directory(path=curated_env_name)
    assert sorted(os.listdir(curated_env_name)) == ["azureml_environment.json", "conda_dependencies.yml"]
    with open(os.path.join(curated_env_name, "conda_dependencies.yml")) as file:
        assert "torch==" in file.read()

    changed = Environment.from_conda_specification(name="pytorch-1.6-gpu", file_path="./conda_dependencies.yml")
    assert changed.python.conda_dependencies.pip_packages == ["azureml-defaults", "torch==1.6.0", "torchvision==0.7.0", "future==0.17.1", "pillow"]
    assert changed.python.conda_dependencies.python_version == "3.6.2"

    with pytest.raises(UserErrorException, match="reserved"):
        pytorch_env.register(ws)
    pytorch_env = pytorch_env.clone(new_name="pytorch-1.6-gpu")
    assert pytorch_env.name == "pytorch-1.6-gpu" and pytorch_env.register(ws).version


def test_environment_with_an_image(ws, project_folder):
    from azureml.core import Environment

    pytorch_env = Environment.from_conda_specification(name="pytorch-gpu-image", file_path="./conda_dependencies.yml")
    pytorch_env.docker.enabled = True
    pytorch_env.docker.base_image = GPU_IMAGE
    kept = pytorch_env.register(ws)
    again = Environment.get(ws, "pytorch-gpu-image")
    assert (again.docker.enabled, again.docker.base_image, again.version) == (True, GPU_IMAGE, kept.version)
    assert again.python.conda_dependencies.pip_packages == pytorch_env.python.conda_dependencies.pip_packages


def test_train_register_and_download(ws, project_folder, compute_target, capsys):
    from azureml.core import Environment, Experiment, ScriptRunConfig

    pytorch_env = Environment("pytorch-birds")
    pytorch_env.python.user_managed_dependencies = True
    pytorch_env.python.interpreter_path = sys.executable
    src = ScriptRunConfig(source_directory=project_folder, script="pytorch_train.py", arguments=["--num_epochs", 30, "--output_dir", "./outputs"],
                          compute_target=compute_target, environment=pytorch_env)
    run = Experiment(ws, name="pytorch-birds").submit(src)
    run.wait_for_completion(show_output=True)
    assert "trained 30 epochs" in capsys.readouterr().out and len(run.get_metrics()["accuracy"]) == 30
    assert run.get_details()["runDefinition"]["arguments"] == ["--num_epochs", "30", "--output_dir", "./outputs"]

    model = run.register_model(model_name="pytorch-birds", model_path="outputs/model.pt")
    assert (model.name, model.version, model.run_id) == ("pytorch-birds", 1, run.id)

    os.makedirs("./model", exist_ok=True)
    run.download_file(name="outputs/model.pt", output_file_path="./model/model.pt")
    assert os.path.getsize("./model/model.pt") > 100
    assert os.path.getsize(model.download("elsewhere")) == os.path.getsize("./model/model.pt")


def test_horovod(ws, project_folder, compute_target):
    from azureml.core import Environment, Experiment, ScriptRunConfig
    from azureml.core.runconfig import MpiConfiguration
    from azureml.exceptions import ScenarioNotSupportedException

    write_tree(project_folder, {"pytorch_horovod_mnist.py": "", "horovod.yml": CONDA.replace("  - future==0.17.1\n  - pillow\n", "  - horovod==0.19.5\n")})
    pytorch_env = Environment.from_conda_specification("horovod", os.path.join(project_folder, "horovod.yml"))
    assert "horovod==0.19.5" in pytorch_env.python.conda_dependencies.pip_packages
    src = ScriptRunConfig(source_directory=project_folder, script="pytorch_horovod_mnist.py", compute_target=compute_target, environment=pytorch_env,
                          distributed_job_config=MpiConfiguration(node_count=2))
    assert (src.run_config.node_count, src.run_config.mpi.process_count_per_node, src.run_config.communicator) == (2, 1, "Mpi")
    with pytest.raises(ScenarioNotSupportedException) as later:
        Experiment(ws, "pytorch-birds").submit(src)
    assert later.value.message == "Running on 2 nodes at once (node_count)" + LATER


@pytest.mark.parametrize("backend", ["Nccl", "Gloo"])
def test_distributed_data_parallel(ws, project_folder, compute_target, backend):
    from azureml.core import Environment, Experiment, ScriptRunConfig
    from azureml.core.runconfig import PyTorchConfiguration
    from azureml.exceptions import ScenarioNotSupportedException

    write_tree(project_folder, {"pytorch_mnist.py": ""})
    args = ["--dist-backend", backend.lower(), "--dist-url", "$AZ_BATCHAI_PYTORCH_INIT_METHOD", "--rank", "$AZ_BATCHAI_TASK_INDEX", "--world-size", 2]
    src = ScriptRunConfig(source_directory=project_folder, script="pytorch_mnist.py", arguments=args, compute_target=compute_target,
                          environment=Environment("ddp"), distributed_job_config=PyTorchConfiguration(communication_backend=backend, node_count=2))
    assert src.arguments == args and (src.run_config.framework, src.run_config.communicator, src.run_config.node_count) == ("PyTorch", backend, 2)
    with pytest.raises(ScenarioNotSupportedException) as later:
        Experiment(ws, "pytorch-birds").submit(src)
    assert later.value.message == "Running on 2 nodes at once (node_count)" + LATER


def test_variables_in_arguments(ws, project_folder):
    """What the distributed script is given is filled in on the node."""
    from azureml.core import Experiment, ScriptRunConfig
    from azureml.core.runconfig import RunConfiguration

    write_tree(project_folder, {"show.py": "import sys\nprint('given', sys.argv[1:])\n"})
    alone = RunConfiguration()
    alone.environment.python.user_managed_dependencies = True
    alone.environment_variables = {"AZ_BATCHAI_TASK_INDEX": "0"}
    run = Experiment(ws, "pytorch-birds").submit(ScriptRunConfig(project_folder, "show.py", ["--rank", "$AZ_BATCHAI_TASK_INDEX", 2], run_config=alone))
    run.wait_for_completion()
    assert "given ['--rank', '0', '2']" in run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
