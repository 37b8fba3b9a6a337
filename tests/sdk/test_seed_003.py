"""The calls of the article of 2019: environments, clusters for one run and for many, machines, HDInsight and Batch."""

import json
import os
import sys

import pytest
from seed_fixture import LATER, USE_LOCAL, absent, no_target, script_folder, trained, ws  # noqa: F401


def test_environments(ws):
    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import RunConfiguration

    run_system_managed = RunConfiguration()
    run_system_managed.environment.python.conda_dependencies = CondaDependencies.create(conda_packages=["scikit-learn"])
    assert not run_system_managed.environment.python.user_managed_dependencies
    assert run_system_managed.environment.python.conda_dependencies.conda_packages == ["scikit-learn"]

    run_user_managed = RunConfiguration()
    run_user_managed.environment.python.user_managed_dependencies = True
    run_user_managed.environment.python.interpreter_path = sys.executable
    from azureml.core import Experiment, ScriptRunConfig

    run = Experiment(ws, "seed-003").submit(ScriptRunConfig(os.getcwd(), "train.py", run_config=run_user_managed))
    run.wait_for_completion()
    assert trained(run) and run.get_environment().python.interpreter_path == sys.executable


def test_local(ws, capsys):
    from azureml.core import Experiment, ScriptRunConfig
    from azureml.core.runconfig import RunConfiguration

    run_local = RunConfiguration()
    run_local.environment.python.user_managed_dependencies = True
    exp = Experiment(workspace=ws, name="my_experiment")
    src = ScriptRunConfig(source_directory=os.getcwd(), script="train.py", run_config=run_local)
    run = exp.submit(src)
    run.wait_for_completion(show_output=True)
    assert trained(run)
    shown = capsys.readouterr().out
    stages = [line.split()[1] for line in shown.splitlines() if line.startswith("Stage: ")]
    assert stages[-2:] == ["Running", "Post-Processing"], shown


def test_cluster_for_one_run(ws, capsys):
    from azureml.core import Experiment, ScriptRunConfig
    from azureml.core.compute import AmlCompute
    from azureml.core.runconfig import RunConfiguration

    print(AmlCompute.supported_vmsizes(workspace=ws))
    assert "'name': 'Standard_D2_v2', 'vCPUs': 2" in capsys.readouterr().out
    run_temp_compute = RunConfiguration()
    run_temp_compute.target = "amlcompute"
    run_temp_compute.amlcompute.vm_size = "STANDARD_D2_V2"
    run_temp_compute.amlcompute._cluster_max_node_count = 5
    assert run_temp_compute.amlcompute.cluster_max_node_count == 5
    src = ScriptRunConfig(source_directory=os.getcwd(), script="train.py", run_config=run_temp_compute)
    run_temp_compute.environment.python.user_managed_dependencies = True
    run_temp_compute.environment.python.interpreter_path = sys.executable
    run = Experiment(ws, "seed-003").submit(src)
    run.wait_for_completion(show_output=True)
    assert trained(run)
    assert run.get_details()["target"] not in ws.compute_targets or ws.compute_targets[run.get_details()["target"]].provisioning_state == "Deleting"


def test_cluster(ws):
    from azureml.core import Experiment, ScriptRunConfig
    from azureml.core.compute import AmlCompute, ComputeTarget
    from azureml.core.compute_target import ComputeTargetException
    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import DEFAULT_CPU_IMAGE, RunConfiguration

    try:
        cpu_cluster = ComputeTarget(workspace=ws, name="cpucluster")
    except ComputeTargetException:
        compute_config = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=4, location="westus2")
        cpu_cluster = ComputeTarget.create(ws, "cpucluster", compute_config)
        cpu_cluster.wait_for_completion(show_output=True)

    run_amlcompute = RunConfiguration()
    run_amlcompute.target = cpu_cluster
    run_amlcompute.environment.docker.enabled = True
    run_amlcompute.environment.docker.base_image = DEFAULT_CPU_IMAGE
    run_amlcompute.environment.python.user_managed_dependencies = False
    run_amlcompute.environment.python.conda_dependencies = CondaDependencies.create(conda_packages=["scikit-learn"])
    src = ScriptRunConfig(source_directory=os.getcwd(), script="train.py", run_config=run_amlcompute)
    # Azure's image cannot be had everywhere: the cluster trains with what this machine has.
    run_amlcompute.environment.docker.enabled = False
    run_amlcompute.environment.python.user_managed_dependencies = True
    run_amlcompute.environment.python.interpreter_path = sys.executable
    run = Experiment(workspace=ws, name="my_experiment").submit(src)
    run.wait_for_completion(show_output=True)
    assert trained(run)
    cpu_cluster.delete()


def test_virtual_machine(ws, capsys):
    from azureml.core.compute import ComputeTarget, RemoteCompute
    from azureml.exceptions import ComputeTargetException

    compute_target_name = "attach-dsvm"
    attach_config = RemoteCompute.attach_configuration(address="machine.example", ssh_port=22, username="me", password="geheim")
    with pytest.raises(ComputeTargetException) as later:
        compute = ComputeTarget.attach(ws, compute_target_name, attach_config)
        compute.wait_for_completion(show_output=True)
    assert later.value.message == "Attaching compute of type VirtualMachine" + LATER + USE_LOCAL
    # The same with a key.
    with open("key", "w") as file:
        file.write("a key\n")
    attach_config = RemoteCompute.attach_configuration(address="machine.example", ssh_port=22, username="me", password=None, private_key_file="key",
                                                       private_key_passphrase="geheim")
    with pytest.raises(ComputeTargetException) as later:
        ComputeTarget.attach(ws, compute_target_name, attach_config)
    assert later.value.message == "Attaching compute of type VirtualMachine" + LATER + USE_LOCAL and "geheim" not in repr(attach_config)

    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import DEFAULT_CPU_IMAGE, RunConfiguration

    run_dsvm = RunConfiguration(framework="python")
    run_dsvm.target = compute_target_name
    run_dsvm.environment.docker.enabled = True
    run_dsvm.environment.docker.base_image = DEFAULT_CPU_IMAGE
    run_dsvm.environment.python.conda_dependencies = CondaDependencies.create(conda_packages=["scikit-learn"])
    print(run_dsvm)
    assert json.loads(capsys.readouterr().out)["target"] == "attach-dsvm"


def test_hdinsight(ws, capsys):
    from azureml.core.compute import ComputeTarget, HDInsightCompute
    from azureml.exceptions import ComputeTargetException

    hdi_compute = None
    try:
        attach_config = HDInsightCompute.attach_configuration(address="cluster-ssh.example", ssh_port=22, username="me", password="geheim")
        hdi_compute = ComputeTarget.attach(workspace=ws, name="myhdi", attach_configuration=attach_config)
    except ComputeTargetException as e:
        print("caught", e.message)
    assert hdi_compute is None and capsys.readouterr().out == "caught Attaching compute of type HDInsight" + LATER + USE_LOCAL + "\n"
    hdi_compute = ComputeTarget.deserialize(ws, {"name": "myhdi", "properties": {"computeType": "HDInsight"}})

    from azureml.core import Experiment, ScriptRunConfig
    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import RunConfiguration
    from azureml.exceptions import ScenarioNotSupportedException

    run_hdi = RunConfiguration(framework="pyspark")
    run_hdi.target = hdi_compute.name
    cd = CondaDependencies()
    cd.add_conda_package("numpy")
    run_hdi.environment.python.conda_dependencies = cd
    print(run_hdi)
    assert json.loads(capsys.readouterr().out)["hdi"]["yarnDeployMode"].lower() == "cluster"
    with pytest.raises(ScenarioNotSupportedException) as later:
        Experiment(ws, "seed-003").submit(ScriptRunConfig(os.getcwd(), "train.py", run_config=run_hdi))
    assert later.value.message == "The framework PySpark" + LATER


def test_batch(ws):
    from azureml.core.compute import BatchCompute, ComputeTarget
    from azureml.exceptions import ComputeTargetException

    with pytest.raises(ComputeTargetException) as later:
        try:
            batch_compute = BatchCompute(ws, "mybatchcompute")
        except ComputeTargetException as error:
            assert error.message == absent("mybatchcompute")
            provisioning_config = BatchCompute.attach_configuration(resource_group="group", account_name="account")
            batch_compute = ComputeTarget.attach(ws, "mybatchcompute", provisioning_config)
            batch_compute.wait_for_completion()
    assert later.value.message == "Attaching compute of type Batch" + LATER + USE_LOCAL
    batch_compute = ComputeTarget.deserialize(ws, {"name": "mybatchcompute", "properties": {"computeType": "Batch", "provisioningState": "Succeeded", "resourceId": "r"}})
    assert (batch_compute.provisioning_state, batch_compute.provisioning_errors, batch_compute.cluster_resource_id) == ("Succeeded", None, "r")


def test_a_target_by_its_name(ws):
    from azureml.core.compute import ComputeTarget
    from azureml.exceptions import ComputeTargetException

    with pytest.raises(ComputeTargetException) as none:
        ComputeTarget(workspace=ws, name="my-vm-name")
    assert none.value.message == absent("my-vm-name")
