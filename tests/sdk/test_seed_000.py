"""The calls of the article of 2018: local, virtual machine, Batch AI, container instance, HDInsight."""

import subprocess

import pytest
from ferry_fixture import BINARY
from seed_fixture import LATER, USE_LOCAL, absent, no_target, script_folder, trained, ws  # noqa: F401


@pytest.fixture
def exp(ws):
    from azureml.core import Experiment

    return Experiment(ws, "seed-000")


def test_user_managed(exp, script_folder, capsys):
    from azureml.core.runconfig import RunConfiguration

    run_config_user_managed = RunConfiguration()
    run_config_user_managed.environment.python.user_managed_dependencies = True

    from azureml.core import ScriptRunConfig

    src = ScriptRunConfig(source_directory=script_folder, script="train.py", run_config=run_config_user_managed)
    run = exp.submit(src)
    run.wait_for_completion(show_output=True)

    out = capsys.readouterr().out
    assert run.id in out and "alpha is 0.95" in out and "Execution Summary" in out
    assert trained(run)


@pytest.mark.slow
def test_system_managed(exp, script_folder, capsys):
    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import RunConfiguration

    run_config_system_managed = RunConfiguration()
    run_config_system_managed.environment.python.user_managed_dependencies = False
    run_config_system_managed.prepare_environment = True
    run_config_system_managed.environment.python.conda_dependencies = CondaDependencies.create(conda_packages=["scikit-learn"])

    from azureml.core import ScriptRunConfig

    src = ScriptRunConfig(source_directory=script_folder, script="train.py", run_config=run_config_system_managed)
    run = exp.submit(src)
    run.wait_for_completion(show_output=True)

    assert trained(run)
    made = run.get_environment().python
    assert not made.user_managed_dependencies and made.conda_dependencies.conda_packages == ["scikit-learn"]
    assert " in the environment " in capsys.readouterr().out, "the interpreter is the one of an environment that was made"


def test_virtual_machine(ws, exp, script_folder, capsys):
    from azureml.core.compute import DsvmCompute
    from azureml.core.compute_target import ComputeTargetException

    compute_target_name = "mydsvm"
    with pytest.raises(ComputeTargetException) as later:
        try:
            dsvm_compute = DsvmCompute(workspace=ws, name=compute_target_name)
            print("found", dsvm_compute.name)
        except ComputeTargetException as error:
            assert error.message == absent("mydsvm")
            dsvm_config = DsvmCompute.provisioning_configuration(vm_size="Standard_D2_v2")
            assert dsvm_config.vm_size == "Standard_D2_v2"
            dsvm_compute = DsvmCompute.create(ws, name=compute_target_name, provisioning_configuration=dsvm_config)
            dsvm_compute.wait_for_completion(show_output=True)
    assert later.value.message == "Creating compute of type VirtualMachine" + LATER + USE_LOCAL

    import azureml.core
    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import RunConfiguration

    run_config = RunConfiguration(framework="python")
    run_config.target = compute_target_name
    run_config.environment.docker.enabled = True
    run_config.environment.docker.base_image = azureml.core.runconfig.DEFAULT_CPU_IMAGE
    print("image", run_config.environment.docker.base_image)
    run_config.environment.python.user_managed_dependencies = False
    run_config.prepare_environment = True
    run_config.environment.python.conda_dependencies = CondaDependencies.create(conda_packages=["scikit-learn"])

    from azureml.core import Run, ScriptRunConfig

    src = ScriptRunConfig(source_directory=script_folder, script="train.py", run_config=run_config)
    with pytest.raises(ComputeTargetException) as unknown:
        run = exp.submit(src)
        run.wait_for_completion(show_output=True)
    assert unknown.value.message == no_target("mydsvm")
    assert "image mcr.microsoft.com/azureml/" in capsys.readouterr().out
    assert not any(run.get_details()["target"] == "mydsvm" for run in Run.list(exp))


def test_batch_ai(ws, shared):
    from azureml.core.compute import BatchAiCompute, ComputeTarget
    from azureml.exceptions import ComputeTargetException

    batchai_cluster_name = ws.name + "cpu"
    found = False
    for ct in ws.compute_targets():
        found = found or (ct.name == batchai_cluster_name and ct.type == "BatchAI")
    assert not found
    provisioning_config = BatchAiCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", autoscale_enabled=True, cluster_min_nodes=1, cluster_max_nodes=4)
    assert (provisioning_config.min_nodes, provisioning_config.max_nodes) == (1, 4)
    compute_target = ComputeTarget.create(ws, batchai_cluster_name, provisioning_config)
    compute_target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
    status = compute_target.status.serialize()
    assert status["currentNodeCount"] == 1 and status["scaleSettings"]["maxNodeCount"] == 4, status
    # The second time it is found.
    for ct in ws.compute_targets():
        if ct.name == batchai_cluster_name and ct.type == "BatchAI":
            found = True
            compute_target = ct
    assert found and compute_target.provisioning_state == "Succeeded"
    with pytest.raises(ComputeTargetException, match="exists already"):
        ComputeTarget.create(ws, batchai_cluster_name, provisioning_config)

    line = 'eval "$("$FERRY" az-alias)"; az batchai cluster list -o table && az batchai job list -o none'
    done = subprocess.run(["bash", "-euc", line], env=dict(shared.environment, FERRY=BINARY), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    assert any(row.split()[:1] == [batchai_cluster_name] for row in done.stdout.splitlines()), done
    compute_target.delete()


def test_container_instance(ws, exp, script_folder):
    import azureml.core
    from azureml.core.conda_dependencies import CondaDependencies
    from azureml.core.runconfig import RunConfiguration
    from azureml.exceptions import ScenarioNotSupportedException

    run_config = RunConfiguration()
    run_config.target = "containerinstance"
    run_config.container_instance.region = "eastus"
    run_config.container_instance.cpu_cores = 1
    run_config.container_instance.memory_gb = 2
    run_config.environment.docker.enabled = True
    run_config.environment.docker.base_image = azureml.core.runconfig.DEFAULT_CPU_IMAGE
    run_config.environment.python.user_managed_dependencies = False
    run_config.auto_prepare_environment = True
    run_config.environment.python.conda_dependencies = CondaDependencies.create(conda_packages=["scikit-learn"])

    from azureml.core.script_run_config import ScriptRunConfig

    script_run_config = ScriptRunConfig(source_directory=script_folder, script="train.py", run_config=run_config)
    with pytest.raises(ScenarioNotSupportedException) as later:
        exp.submit(script_run_config)
    assert later.value.message == "A container that is made for one run (target 'containerinstance')" + LATER + USE_LOCAL


def test_hdinsight(ws, script_folder):
    from azureml.core.compute import HDInsightCompute
    from azureml.core.runconfig import RunConfiguration
    from azureml.exceptions import ComputeTargetException, UserErrorException
    from azureml.project.project import Project

    with pytest.raises(ComputeTargetException) as later:
        try:
            HDInsightCompute.attach(ws, name="myhdi", address="hdi.example", username="me", password="geheim")
        except UserErrorException as e:
            pytest.fail(e.message)
    assert later.value.message == "Attaching compute of type HDInsight" + LATER + USE_LOCAL
    assert "geheim" not in str(later.value)

    project = Project.attach(workspace_object=ws, experiment_name="seed-000", directory=script_folder)
    with pytest.raises(UserErrorException, match="there is no run configuration 'myhdi'"):
        RunConfiguration.load(project_object=project, run_config_name="myhdi")
    # The file that attaching is to write.
    RunConfiguration(framework="pyspark").save(script_folder, "myhdi")
    run_config = RunConfiguration.load(project_object=project, run_config_name="myhdi")
    run_config.auto_prepare_environment = True
    assert run_config.framework == "PySpark"
    assert RunConfiguration.load(project_object=project, run_name="myhdi").framework == "PySpark"
