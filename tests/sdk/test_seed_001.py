"""The calls of the article of 2020: run configurations for every kind of target, and the same from the command line."""

import json
import os
import subprocess
import tempfile
import zipfile

import pytest
from ferry_fixture import BINARY, PYTHON, write_tree
from seed_fixture import LATER, USE_LOCAL, absent, no_target, script_folder, trained, ws  # noqa: F401


def local():
    from azureml.core.runconfig import RunConfiguration

    run_local = RunConfiguration()
    run_local.environment.python.user_managed_dependencies = True
    return run_local


def experiment(ws):
    from azureml.core import Experiment

    return Experiment(workspace=ws, name="my_experiment")


def names_in(run):
    """The files of the run's snapshot."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(run.restore_snapshot(path=folder)) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_local_submit(ws, capsys):
    run_local = local()
    exp = experiment(ws)
    from azureml.core import ScriptRunConfig

    src = ScriptRunConfig(source_directory=os.getcwd(), script="train.py", run_config=run_local)
    run = exp.submit(src)
    run.wait_for_completion(show_output=True)
    assert trained(run) and exp.name == "my_experiment" and run.id in capsys.readouterr().out
    assert names_in(run) == {".azureml/config.json", "train.py"}


def test_cluster(ws):
    from azureml.core import ScriptRunConfig
    from azureml.core.compute import AmlCompute, ComputeTarget
    from azureml.core.compute_target import ComputeTargetException
    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import DEFAULT_CPU_IMAGE, RunConfiguration

    for time in ("first", "second"):
        try:
            cpu_cluster = ComputeTarget(workspace=ws, name="cpucluster")
            assert time == "second"
        except ComputeTargetException as error:
            assert time == "first" and error.message == absent("cpucluster")
            compute_config = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=4)
            cpu_cluster = ComputeTarget.create(ws, "cpucluster", compute_config)
            cpu_cluster.wait_for_completion(show_output=True)
    assert cpu_cluster.provisioning_state == "Succeeded" and cpu_cluster.get_status().current_node_count == 0

    run_amlcompute = RunConfiguration()
    run_amlcompute.target = cpu_cluster
    run_amlcompute.environment.docker.enabled = True
    run_amlcompute.environment.docker.base_image = DEFAULT_CPU_IMAGE
    run_amlcompute.environment.python.user_managed_dependencies = False
    run_amlcompute.environment.python.conda_dependencies = CondaDependencies.create(conda_packages=["scikit-learn"])

    src = ScriptRunConfig(source_directory=os.getcwd(), script="train.py", run_config=run_amlcompute)
    exp = experiment(ws)
    assert src.run_config.target is cpu_cluster
    # Azure's image cannot be had everywhere: the cluster trains with what this machine has.
    run_amlcompute.environment = local().environment
    run_amlcompute.environment.python.interpreter_path = PYTHON
    run = exp.submit(src)
    run.wait_for_completion(show_output=True)
    assert trained(run) and run.get_details()["target"] == "cpucluster"
    cpu_cluster.delete()


def test_four_nodes(ws):
    from azureml.core import ScriptRunConfig
    from azureml.exceptions import ScenarioNotSupportedException

    src = ScriptRunConfig(source_directory=os.getcwd(), script="train.py", run_config=local())
    src.run_config.node_count = 4
    with pytest.raises(ScenarioNotSupportedException) as later:
        experiment(ws).submit(src)
    assert later.value.message == "Running on 4 nodes at once (node_count)" + LATER


def test_compute_instance(ws):
    from azureml.core import Environment, ScriptRunConfig
    from azureml.core.compute import ComputeInstance, ComputeTarget
    from azureml.core.runconfig import DEFAULT_CPU_IMAGE
    from azureml.exceptions import ComputeTargetException

    with pytest.raises(ComputeTargetException) as later:
        ComputeTarget.create(ws, "instance", ComputeInstance.provisioning_configuration(vm_size="STANDARD_D2_V2"))
    assert later.value.message == "Creating compute of type ComputeInstance" + LATER + USE_LOCAL
    instance = ComputeTarget.deserialize(ws, {"name": "instance", "properties": {"computeType": "ComputeInstance"}})
    myenv = Environment("myenv")
    myenv.python.user_managed_dependencies = True

    src = ScriptRunConfig(source_directory="", script="train.py")
    src.run_config.target = instance
    src.run_config.environment = myenv
    assert DEFAULT_CPU_IMAGE
    with pytest.raises(ComputeTargetException) as unknown:
        experiment(ws).submit(config=src)
    assert unknown.value.message == no_target("instance")
    # The same configuration on the target that there is.
    src.run_config.target = "local"
    run = experiment(ws).submit(config=src)
    run.wait_for_completion()
    assert trained(run)


def test_virtual_machine(ws, capsys):
    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import DEFAULT_CPU_IMAGE, RunConfiguration

    run_dsvm = RunConfiguration(framework="python")
    run_dsvm.target = "mydsvm"
    run_dsvm.environment.docker.enabled = True
    run_dsvm.environment.docker.base_image = DEFAULT_CPU_IMAGE
    run_dsvm.environment.python.conda_dependencies = CondaDependencies.create(conda_packages=["scikit-learn"])
    print(run_dsvm)
    shown = json.loads(capsys.readouterr().out)
    assert shown["target"] == "mydsvm" and shown["environment"]["docker"]["baseImage"] == DEFAULT_CPU_IMAGE
    assert "scikit-learn" in shown["environment"]["python"]["condaDependencies"]["dependencies"]


def test_hdinsight(ws, capsys):
    from azureml.core.compute import ComputeTarget
    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import RunConfiguration
    from azureml.exceptions import ComputeTargetException

    with pytest.raises(ComputeTargetException) as none:
        ComputeTarget(workspace=ws, name="myhdi")
    assert none.value.message == absent("myhdi")
    hdi_compute = ComputeTarget.deserialize(ws, {"name": "myhdi", "properties": {"computeType": "HDInsight"}})

    run_hdi = RunConfiguration(framework="pyspark")
    run_hdi.target = hdi_compute.name
    cd = CondaDependencies()
    cd.add_conda_package("numpy")
    run_hdi.environment.python.conda_dependencies = cd
    print(run_hdi)
    shown = json.loads(capsys.readouterr().out)
    assert (shown["target"], shown["framework"]) == ("myhdi", "PySpark")
    assert "numpy" in shown["environment"]["python"]["condaDependencies"]["dependencies"]


def test_a_second_submission_sends_what_changed(ws, monkeypatch):
    from azureml.core import ScriptRunConfig
    from ferry import blobs

    sent, lacking = [], blobs._lacking

    def counted(client, contents):
        found = lacking(client, contents)
        sent.append({os.path.basename(content.source) for content in found if isinstance(content.source, str)})
        return found

    monkeypatch.setattr(blobs, "_lacking", counted)
    write_tree(os.getcwd(), {".amlignore": "*.csv\n", "left_out.csv": "1\n", "large.bin": os.urandom(1000)})
    for number in range(2):
        write_tree(os.getcwd(), {"changed.txt": "now %d" % number})
        run = experiment(ws).submit(ScriptRunConfig(os.getcwd(), "train.py", run_config=local()))
        assert {"changed.txt", "large.bin", "train.py"} <= names_in(run) and "left_out.csv" not in names_in(run)
        run.cancel()
    first, second = (names for names in sent if names)  # what is no file is the manifest
    assert {"changed.txt", "large.bin"} <= first and second == {"changed.txt"}


def test_git_is_recorded(ws, script_folder):
    from azureml.core import ScriptRunConfig

    def git(*words):
        return subprocess.run(["git", "-c", "user.name=me", "-c", "user.email=me@host.example", *words], check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q", "-b", "trunk")
    git("remote", "add", "origin", "https://host.example/project.git")
    git("add", "train.py")
    git("commit", "-q", "-m", "first")
    run = experiment(ws).submit(ScriptRunConfig(script_folder, "train.py", run_config=local()))
    properties = run.get_properties()
    assert properties["azureml.git.commit"] == properties["mlflow.source.git.commit"] == git("rev-parse", "HEAD")
    assert properties["azureml.git.branch"] == "trunk" and properties["azureml.git.repository_uri"] == "https://host.example/project.git"
    run.cancel()


# The command line


HYPERDRIVE = """\
sampling:
    type: random
    parameter_space:
    - name: --penalty
      expression: choice
      values: [0.5, 1, 1.5]
policy:
    type: BanditPolicy
    evaluation_interval: 1
    slack_factor: 0.2
primary_metric_name: Accuracy
primary_metric_goal: Maximize
max_total_runs: 8
max_concurrent_runs: 2
max_duration_minutes: 100
"""


def bash(shared, line):
    script = 'eval "$("$FERRY" az-alias)"\n' + line
    return subprocess.run(["bash", "-c", script], env=dict(shared.environment, FERRY=BINARY, PATH="/usr/bin:/bin"), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120)


def ok(done):
    assert done.returncode == 0, done
    return done


def test_command_line(shared, ws, script_folder):
    os.rename("train.py", "my_train.py")
    ok(bash(shared, "az login && az account set -s 00000000-0000-0000-0000-000000000000"))
    ok(bash(shared, "az ml folder attach"))
    assert {"config.json", "local.runconfig", "docker.runconfig"} <= set(os.listdir(".azureml"))
    # The template is edited, as the article says: the Python that has scikit-learn.
    with open(".azureml/local.runconfig") as file:
        text = file.read()
    for before, after in (("userManagedDependencies: false", "userManagedDependencies: true"), ("interpreterPath: python\n", "interpreterPath: %s\n" % PYTHON)):
        assert text.count(before) == 1
        text = text.replace(before, after)
    write_tree(script_folder, {".azureml/local.runconfig": text})
    made = json.loads(ok(bash(shared, "az ml experiment create -n from-the-shell")).stdout)
    assert made["name"] == "from-the-shell"

    done = ok(bash(shared, "az ml run submit-script -e from-the-shell -c local my_train.py"))
    run = json.loads(done.stdout)
    assert run["status"] == "Completed" and "alpha is 0.95" in done.stderr
    from azureml.core import Run

    assert trained(Run.get(ws, run["runId"]))

    write_tree(os.path.join(script_folder, ".azureml"), {"hdconfig.yml": HYPERDRIVE})
    done = bash(shared, "az ml run submit-hyperdrive -e from-the-shell -c local --hyperdrive-configuration-name hdconfig my_train.py")
    assert (done.returncode, done.stderr) == (1, "ERROR: 'az ml run submit-hyperdrive'" + LATER + "\n")
