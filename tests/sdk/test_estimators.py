"""Estimators: each is a ScriptRunConfig, and says that it is deprecated."""

import pytest

from azureml.contrib.train.rl import Ray, ReinforcementLearningEstimator, WorkerConfiguration
from azureml.core import Experiment, Workspace
from azureml.core.environment import DEFAULT_CPU_IMAGE, Environment
from azureml.core.script_run_config import ScriptRunConfig
from azureml.exceptions import ScenarioNotSupportedException, UserErrorException
from azureml.train.dnn import Chainer, Gloo, Mpi, Nccl, ParameterServer, PyTorch, TensorFlow
from azureml.train.estimator import Estimator
from azureml.train.sklearn import SKLearn
from ferry_fixture import write_tree

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def submitted(estimator):
    return estimator._whole_run_config()._submission()


def pip_of(submission):
    return submission["environment_definition"]["python"]["condaDependencies"]["dependencies"][-1]["pip"]


@pytest.mark.parametrize("kind", [Estimator, PyTorch, TensorFlow, Chainer, SKLearn])
def test_the_warning(kind, tmp_path):
    with pytest.warns(DeprecationWarning, match=f"{kind.__name__} is deprecated since version 1.19.0: use ScriptRunConfig with an Environment") as seen:
        estimator = kind(str(tmp_path), entry_script="train.py")
    assert seen[0].filename == __file__
    assert isinstance(estimator, ScriptRunConfig)


def test_estimator(tmp_path):
    (tmp_path / "r.txt").write_text("idna\n")
    estimator = Estimator(source_directory=str(tmp_path), compute_target="local", entry_script="train.py",
                          script_params={"--rate": 0.1, "--flag": "", "--n": 3}, conda_packages=["numpy"], pip_packages=["six"],
                          pip_requirements_file="r.txt", environment_variables={"A": 1}, max_run_duration_seconds=60)
    got = submitted(estimator)
    assert (got["script"], got["target"], got["max_duration_seconds"], got["environment"]) == ("train.py", "local", 60, {"A": "1"})
    assert got["arguments"] == ["--rate", "0.1", "--flag", "--n", "3"]
    assert pip_of(got) == ["idna", "six"] and not got["environment_definition"].get("docker", {}).get("enabled")
    estimator.conda_dependencies.add_pip_package("chardet")
    estimator.run_config.environment_variables["B"] = "2"
    got = submitted(estimator)
    assert pip_of(got) == ["idna", "six", "chardet"] and got["environment"] == {"A": "1", "B": "2"}


def test_images_and_environments(tmp_path):
    got = submitted(Estimator(str(tmp_path), entry_script="a.py", custom_docker_image="registry.example/i", user_managed=True, shm_size="8g"))
    assert got["environment_definition"]["docker"] == {"enabled": True, "baseImage": "registry.example/i", "shmSize": "8g"}
    environment = Environment("mine")
    assert Estimator(str(tmp_path), entry_script="a.py", environment_definition=environment).run_config.environment is environment
    assert Estimator(str(tmp_path), entry_script="a.py", use_gpu=True).run_config.environment.docker.base_image != DEFAULT_CPU_IMAGE


def test_frameworks(tmp_path):
    def packages(kind, **kwargs):
        return pip_of(submitted(kind(str(tmp_path), entry_script="a.py", **kwargs)))

    assert packages(PyTorch) == ["azureml-defaults", "torch", "torchvision"]
    assert packages(PyTorch, framework_version="1.13", pip_packages=["torchvision==0.14"]) == ["azureml-defaults", "torch==1.13.*", "torchvision==0.14"]
    assert packages(TensorFlow, framework_version="2.12.1") == ["azureml-defaults", "tensorflow==2.12.1"]
    assert packages(Chainer, framework_version="5.1.0", use_gpu=True) == ["azureml-defaults", "chainer==5.1.0", "cupy"]
    assert packages(SKLearn) == ["azureml-defaults", "scikit-learn", "scipy", "joblib"]


def test_inputs(tmp_path):
    class Reference:
        data_reference_name = "d"

        def _ferry_argument(self, submission):
            submission.setdefault("data", {})["d"] = {"paths": [{"datastore": "mine", "path": ""}], "mode": "mount"}
            return "$AZUREML_DATAREFERENCE_d"

    got = submitted(Estimator(str(tmp_path), entry_script="a.py", inputs=[Reference()], script_params={"--in": Reference()}))
    assert got["arguments"] == ["--in", "$AZUREML_DATAREFERENCE_d"] and list(got["data"]) == ["d"]


def test_a_cluster_for_one_run(tmp_path):
    got = submitted(Estimator(str(tmp_path), entry_script="a.py", vm_size="STANDARD_D2_V2", vm_priority="lowpriority"))
    assert (got["target"], got["cluster"]) == ("amlcompute", {"vm_size": "STANDARD_D2_V2", "max_nodes": 1, "vm_priority": "lowpriority"})


@pytest.mark.parametrize("kwargs, sentence", [
    (dict(distributed_training=Mpi(process_count_per_node=4)), "Distributed training over 4 processes is not part of this version of Ferry yet."),
    (dict(distributed_training=Nccl(), node_count=2), "Running on 2 nodes at once (node_count) is not part of this version of Ferry yet."),
    (dict(distributed_training=Gloo(), node_count=3), "Running on 3 nodes at once (node_count) is not part of this version of Ferry yet."),
    (dict(distributed_training=ParameterServer(worker_count=2)), "Distributed training over 3 processes is not part of this version of Ferry yet."),
    (dict(distributed_backend="mpi", process_count_per_node=2), "Distributed training over 2 processes is not part of this version of Ferry yet."),
])
def test_what_comes_later(tmp_path, kwargs, sentence):
    estimator = Estimator(str(tmp_path), entry_script="a.py", **kwargs)
    with pytest.raises(ScenarioNotSupportedException) as caught:
        submitted(estimator)
    assert caught.value.message == sentence


def test_the_older_form_of_tensorflow(tmp_path):
    estimator = TensorFlow(str(tmp_path), entry_script="a.py", worker_count=2, parameter_server_count=1, distributed_backend="ps")
    assert (estimator.run_config.tensorflow.worker_count, estimator.run_config.communicator) == (2, "ParameterServer")


@pytest.mark.parametrize("kwargs, message", [
    (dict(script_params=["--a", 1]), "script_params: expected a dict of flags and values"),
    (dict(pip_packages="numpy"), "pip_packages: expected a list of packages, found 'numpy'"),
    (dict(conda_dependencies_file="gone.yml"), "'gone.yml' cannot be read"),
    (dict(conda_dependencies_file="a", pip_requirements_file="b"), "exclude each other"),
    (dict(environment_definition="x"), "environment_definition: expected an Environment, found 'x'"),
    (dict(environment_definition=Environment("x"), pip_packages=["six"]), "environment_definition and packages exclude each other"),
    (dict(distributed_training="mpi"), r"distributed_training: expected Mpi\(\), Nccl\(\), Gloo\(\) or ParameterServer\(\), found 'mpi'"),
    (dict(distributed_backend="pigeon"), "distributed_backend: expected mpi, ps, gloo or nccl, found 'pigeon'"),
    (dict(inputs=[3]), r"inputs\[0\]: expected a DataReference or a DatasetConsumptionConfig, found 3"),
    (dict(use_gpu="yes"), "use_gpu: expected True or False, found 'yes'"),
    (dict(shm_size="much"), "shm_size: expected a size such as 2g or 512m, found 'much'"),
])
def test_wrong_arguments(tmp_path, kwargs, message):
    with pytest.raises(UserErrorException, match=message):
        Estimator(str(tmp_path), entry_script="a.py", **kwargs)
    with pytest.raises(UserErrorException, match="framework_version: expected a text such as 1.13, found 1.6"):
        PyTorch(str(tmp_path), entry_script="a.py", framework_version=1.6)


# Reinforcement learning


def test_ray(tmp_path):
    (tmp_path / "train.py").write_text("")
    estimator = ReinforcementLearningEstimator(
        source_directory=str(tmp_path), entry_script="train.py", script_params={"--run": "IMPALA", "--stop": 3}, compute_target="local",
        pip_packages=["gymnasium"], use_gpu=False, rl_framework=Ray(version="2.9.0", framework_arguments=["--num-cpus=2"]),
        worker_configuration=WorkerConfiguration(compute_target="local", node_count=2, use_gpu=False, pip_packages=["six"]),
        cluster_coordination_timeout_seconds=120, max_run_duration_seconds=600, shm_size=24 * 1024 * 1024)
    got = submitted(estimator)
    assert got["command"] == ["python", "-m", "ferry.ray_cluster", "--workers", "2", "--timeout", "120", "--head", '["--num-cpus=2"]', "--", "train.py",
                              "--run", "IMPALA", "--stop", "3"]
    assert pip_of(got) == ["azureml-defaults", "gymnasium", "six", "ray[rllib]==2.9.0"] and got["max_duration_seconds"] == 600
    given = ReinforcementLearningEstimator(str(tmp_path), entry_script="train.py", pip_packages=["ray==2.1"])
    assert pip_of(submitted(given)) == ["azureml-defaults", "ray==2.1"]
    assert str(Ray("0.8.0")) == "ray-0.8.0"


def test_ray_over_several_nodes_comes_later(tmp_path):
    for head, worker in (("gpu-cluster", None), ("local", "cpu-cluster")):
        with pytest.raises(ScenarioNotSupportedException) as caught:
            ReinforcementLearningEstimator(str(tmp_path), entry_script="a.py", compute_target=head,
                                           worker_configuration=WorkerConfiguration(compute_target=worker, node_count=2))
        assert caught.value.message == ("A Ray cluster over several nodes is not part of this version of Ferry yet. "
                                        "Give the head and the workers the target 'local'.")


def test_wrong_ray(tmp_path):
    for kwargs, message in ((dict(rl_framework="ray"), r"rl_framework: expected Ray\(\), found 'ray'"), (dict(entry_script=None), "entry_script: expected"),
                            (dict(worker_configuration={}), "worker_configuration: expected a WorkerConfiguration"),
                            (dict(cluster_coordination_timeout_seconds="soon"), "cluster_coordination_timeout_seconds: expected a whole number")):
        with pytest.raises(UserErrorException, match=message):
            ReinforcementLearningEstimator(str(tmp_path), **{"entry_script": "a.py", **kwargs})
    with pytest.raises(UserErrorException, match="node_count: expected a whole number from 0 to 1000, found -1"):
        WorkerConfiguration(node_count=-1)


# Runs


def test_an_estimator_runs(client, tmp_path):
    source = write_tree(tmp_path / "source", {"train.py": "import sys, six\nprint('six', six.__version__, sys.argv[1:])\n"})
    estimator = Estimator(source_directory=source, entry_script="train.py", script_params={"--rate": 0.5}, pip_packages=["six==1.16.0"])
    run = Experiment(Workspace("s", "g", "default"), "estimators").submit(estimator)
    assert run.wait_for_completion()["status"] == "Completed"
    assert "six 1.16.0 ['--rate', '0.5']" in run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]


RAY = """
import ray
ray.init(address="auto")

@ray.remote
def node():
    return ray.get_runtime_context().get_node_id()

print("nodes", len(ray.nodes()), ray.get(node.remote()) != "")
"""


@pytest.mark.slow
def test_ray_runs(client, tmp_path):
    """A head and two workers, with Ray as PyPI has it."""
    source = write_tree(tmp_path / "source", {"train.py": RAY})
    estimator = ReinforcementLearningEstimator(source, entry_script="train.py", rl_framework=Ray(), pip_packages=["ray"],
                                               worker_configuration=WorkerConfiguration(node_count=2))
    run = Experiment(Workspace("s", "g", "default"), "ray").submit(estimator)
    assert run.wait_for_completion(raise_on_error=False)["status"] == "Completed", run.get_details_with_logs()["logFiles"]
    assert "nodes 3 True" in run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]


def test_a_script_that_is_not_there(client, tmp_path):
    source = write_tree(tmp_path / "source", {"train.py": ""})
    experiment = Experiment(Workspace("s", "g", "default"), "nothing-there")
    for estimator in (Estimator(source, entry_script="gone.py"), ReinforcementLearningEstimator(source, entry_script="gone.py")):
        with pytest.raises(UserErrorException, match="there is no 'gone.py' in the source directory"):
            experiment.submit(estimator)
