"""Compute targets: configurations and what is wrong with them, what is not there, what comes later, and the forms of a target."""

import sys
from types import SimpleNamespace

import pytest

from azureml.core.compute import (AdlaCompute, AksCompute, AmlCompute, BatchAiCompute, BatchCompute, ComputeInstance, ComputeTarget,
                                  DatabricksCompute, DataFactoryCompute, DsvmCompute, HDInsightCompute, KubernetesCompute, KustoCompute,
                                  RemoteCompute, SynapseCompute, _service)
from azureml.core.compute_target import LocalTarget
from azureml.core.workspace import CallableDict
from azureml.exceptions import ComputeTargetException
from ferry.client import Conflict, NotFound, Refused
from ferry_fixture import wait_until, write_tree


class FakeClient:
    """The routes of compute targets in memory. What was asked is kept."""

    def __init__(self):
        self.targets, self.asked, self.states, self.nodes = {}, [], [], 0

    def view(self, name, whole=True):
        if name not in self.targets:
            raise NotFound(f"there is no compute target '{name}'", 404, "target.not_found", "name")
        target = self.targets[name]
        if len(self.states) > 1:
            target["provisioning_state"] = self.states.pop(0)
        elif self.states:
            target["provisioning_state"] = self.states[0]
        return {**target, "status": {
            "current_node_count": self.nodes, "target_node_count": self.nodes, "allocation_state": "Steady",
            "allocation_state_transition_time": "2026-11-15T10:00:00Z",
            "node_state_counts": {"idle": self.nodes, "running": 0, "preparing": 0, "unusable": 0, "leaving": 0, "preempted": 0},
            "errors": None}, "reason": "", "runs": {"running": [], "waiting": 0}} if whole else dict(target)

    def get(self, path, **query):
        self.asked.append(("GET", path, query))
        if path == "/vmsizes":
            return {"vmsizes": [{"name": "STANDARD_D2_V2", "vCPUs": 2, "memoryGB": 7.0, "gpus": 0, "maxResourceVolumeMB": 102400, "price": 0.11}]}
        if path.endswith("/nodes"):
            return {"nodes": [{"name": "cpu-1", "state": "running", "runs": ["r1"], "vm_size": "STANDARD_D2_V2"},
                              {"name": "cpu-2", "state": "idle", "runs": []}]}
        return self.view(path.rsplit("/", 1)[1])

    def pages(self, path, key, **query):
        self.asked.append(("GET", path, query))
        yield {"name": "local", "type": "local"}
        yield from (self.view(name, False) for name in list(self.targets))

    def post(self, path, body, **query):
        self.asked.append(("POST", path, body))
        if body["name"] in self.targets:
            raise Conflict(f"there is a compute target '{body['name']}' already", 409, "target.exists", "name")
        if body["vm_size"] == "STANDARD_D22_V2":
            raise Refused("vm_size is 'STANDARD_D22_V2'; expected a known size such as STANDARD_D2_V2", 400, "target.vm_size", "vm_size")
        self.targets[body["name"]] = {"provider": "process", "provisioning_state": "Creating", "provisioning_errors": None, "slots_per_node": 1,
                                      "created": "2026-11-15T10:00:00Z", "modified": "2026-11-15T10:00:00Z", **body}
        return self.view(body["name"], False)

    def patch(self, path, body, **query):
        self.asked.append(("PATCH", path, body))
        self.targets[path.rsplit("/", 1)[1]].update(body)
        return self.view(path.rsplit("/", 1)[1], False)

    def delete(self, path, **query):
        self.asked.append(("DELETE", path, query))
        self.targets.pop(path.rsplit("/", 1)[1])
        return {}


def workspace():
    return SimpleNamespace(name="default", subscription_id="ferry", resource_group="ferry", _client=FakeClient())


WS = workspace()
CLASSES = (AdlaCompute, AksCompute, AmlCompute, BatchAiCompute, BatchCompute, ComputeInstance, ComputeTarget, DatabricksCompute, DataFactoryCompute,
           DsvmCompute, HDInsightCompute, KubernetesCompute, KustoCompute, RemoteCompute, SynapseCompute)


def refused(call):
    with pytest.raises(ComputeTargetException) as caught:
        call()
    assert str(caught.value) == caught.value.message
    return caught.value.message


@pytest.mark.parametrize("kind", CLASSES)
def test_one_that_is_not_there(kind):
    assert refused(lambda: kind(workspace=WS, name="x")) == "ComputeTargetNotFound: Compute Target with name x not found in provided workspace"
    assert kind.list(WS) == []


def test_the_exception_is_one():
    from azureml.core import compute_target

    assert compute_target.ComputeTargetException is ComputeTargetException
    assert (LocalTarget().name, LocalTarget().type) == ("local", "local")


def key(tmp_path):
    (tmp_path / "key").write_text("x")
    return str(tmp_path / "key")


def test_creating_comes_later(tmp_path):
    later = "is not part of this version of Ferry yet. Use the target 'local'."
    for name, config in {
            "ComputeInstance": ComputeInstance.provisioning_configuration(vm_size="STANDARD_D3_V2", ssh_public_access=False),
            "VirtualMachine": DsvmCompute.provisioning_configuration(vm_size="Standard_D2_v2"),
            "AKS": AksCompute.provisioning_configuration(cluster_purpose=AksCompute.ClusterPurpose.DEV_TEST, agent_count=1),
            "DataFactory": DataFactoryCompute.provisioning_configuration(),
            "DataLakeAnalytics": AdlaCompute.provisioning_configuration()}.items():
        assert refused(lambda: ComputeTarget.create(WS, "a-name", config)) == f"Creating compute of type {name} {later}"
    assert refused(lambda: DsvmCompute.create(WS, name="mydsvm", provisioning_configuration=DsvmCompute.provisioning_configuration())).startswith(
        "Creating compute of type VirtualMachine")
    for name, config in {
            "VirtualMachine": RemoteCompute.attach_configuration(address="host.example", ssh_port=22, username="u", password="p"),
            "HDInsight": HDInsightCompute.attach_configuration("u", address="host.example", private_key_file=key(tmp_path), private_key_passphrase="s"),
            "Databricks": DatabricksCompute.attach_configuration(resource_group="g", workspace_name="w", access_token="t"),
            "Batch": BatchCompute.attach_configuration(resource_group="g", account_name="a"),
            "DataLakeAnalytics": AdlaCompute.attach_configuration(resource_id="/x"),
            "Kubernetes": KubernetesCompute.attach_configuration(resource_id="/x", namespace="n"),
            "AKS": AksCompute.attach_configuration(resource_group="g", cluster_name="c"),
            "DataFactory": DataFactoryCompute.attach_configuration(resource_id="/x"),
            "SynapseSpark": SynapseCompute.attach_configuration(object(), "SynapseSpark", "pool"),
            "Kusto": KustoCompute.attach_configuration(resource_group="g", workspace_name="w", resource_id=None, tenant_id="t",
                                                       kusto_connection_string="c", application_id="i", application_key="k")}.items():
        assert refused(lambda: ComputeTarget.attach(workspace=WS, name="a-name", attach_configuration=config)) == f"Attaching compute of type {name} {later}"


def test_the_attach_of_2018():
    for kind, name in ((HDInsightCompute, "HDInsight"), (RemoteCompute, "VirtualMachine"), (DsvmCompute, "VirtualMachine")):
        message = refused(lambda: kind.attach(WS, name="myhdi", address="host.example", username="u", password="p"))
        assert message == f"Attaching compute of type {name} is not part of this version of Ferry yet. Use the target 'local'."
        assert refused(lambda: kind.attach(WS, name="myhdi", address="host.example", username="u")) == \
            "password: a password or a private_key_file must be given"


def test_defaults():
    config = AmlCompute.provisioning_configuration()
    assert (config.vm_size, config.vm_priority, config.min_nodes, config.max_nodes, config.idle_seconds_before_scaledown) == (
        "Standard_NC6", "dedicated", 0, 4, 1800)
    config = AmlCompute.provisioning_configuration("standard_nc6", "LowPriority", idle_seconds_before_scaledown="300", identity_type="UserAssigned",
                                                   identity_id=["/x"], remote_login_port_public_access="enabled", location="westeurope")
    assert (config.vm_priority, config.idle_seconds_before_scaledown, config.remote_login_port_public_access) == ("lowpriority", 300, "Enabled")
    assert AksCompute.provisioning_configuration().agent_count == 3
    assert BatchAiCompute.provisioning_configuration(autoscale_enabled=False, cluster_max_nodes=3).min_nodes == 3
    assert "geheim" not in repr(RemoteCompute.attach_configuration("u", "a", password="geheim"))


@pytest.mark.parametrize("kwargs, message", [
    (dict(vm_size=3), "vm_size: expected a text such as STANDARD_D2_V2, found 3"),
    (dict(vm_priority="urgent"), "vm_priority: expected one of dedicated, lowpriority, found 'urgent'"),
    (dict(min_nodes=-1), "min_nodes: expected a whole number from 0 to 1000000, found -1"),
    (dict(max_nodes=0), "max_nodes: expected a whole number from 1 to 1000000, found 0"),
    (dict(min_nodes=5, max_nodes=2), "min_nodes: is 5, more than max_nodes 2"),
    (dict(idle_seconds_before_scaledown="soon"), "idle_seconds_before_scaledown: expected a whole number from 0 to 2592000, found 'soon'"),
    (dict(admin_user_password="p"), "admin_username: must be given with admin_user_password or admin_user_ssh_key"),
    (dict(admin_username="p"), "admin_user_password: must be given with admin_username, or admin_user_ssh_key"),
    (dict(vnet_name="v"), "vnet_resourcegroup_name: must be given, because vnet_name is; vnet_resourcegroup_name, vnet_name, subnet_name belong together"),
    (dict(tags=["a"]), "tags: expected a dict of texts, found ['a']"),
    (dict(identity_type="None"), "identity_type: expected one of SystemAssigned, UserAssigned, found 'None'"),
    (dict(identity_id=["x"]), "identity_id: has a meaning with identity_type 'UserAssigned' alone"),
    (dict(identity_type="UserAssigned"), "identity_id: must be given, because identity_type is 'UserAssigned'"),
    (dict(remote_login_port_public_access="sometimes"),
     "remote_login_port_public_access: expected one of Enabled, Disabled, NotSpecified, found 'sometimes'"),
    (dict(enable_node_public_ip="no"), "enable_node_public_ip: expected True or False, found 'no'"),
])
def test_wrong_clusters(kwargs, message):
    assert refused(lambda: AmlCompute.provisioning_configuration(**kwargs)) == message


def test_wrong_others(tmp_path):
    for call, message in (
            (lambda: RemoteCompute.attach_configuration("", "a", password="p"), "username: expected a text, found ''"),
            (lambda: RemoteCompute.attach_configuration("u", password="p"), "address: must be given: the name or the IP address of the machine"),
            (lambda: RemoteCompute.attach_configuration("u", "a", password="p", resource_id="r"), "address and resource_id exclude each other; give one of them"),
            (lambda: RemoteCompute.attach_configuration("u", "a", ssh_port=70000, password="p"), "ssh_port: expected a whole number from 1 to 65535, found 70000"),
            (lambda: RemoteCompute.attach_configuration("u", "a", password="p", private_key_file=key(tmp_path)),
             "password and private_key_file exclude each other; give one of them"),
            (lambda: RemoteCompute.attach_configuration("u", "a", private_key_file="/nowhere"), "private_key_file: there is no file '/nowhere'"),
            (lambda: RemoteCompute.attach_configuration("u", "a", password="p", private_key_passphrase="s"),
             "private_key_passphrase: has a meaning with a private_key_file alone"),
            (lambda: ComputeInstance.provisioning_configuration(ssh_public_access=True), "admin_user_ssh_public_key: must be given, because ssh_public_access is True"),
            (lambda: DatabricksCompute.attach_configuration(resource_group="g", access_token="t"),
             "workspace_name: must be given, or resource_id instead of resource_group, workspace_name"),
            (lambda: BatchCompute.attach_configuration("g", "a", "/r"), "resource_id and resource_group exclude each other; give one of them"),
            (lambda: KubernetesCompute.attach_configuration(), "resource_id: expected a text, found None"),
            (lambda: AksCompute.provisioning_configuration(agent_count=1), "agent_count: expected a whole number from 3 to 1000000, found 1"),
            (lambda: AksCompute.provisioning_configuration(cluster_purpose="Play"), "cluster_purpose: expected one of FastProd, DevTest, found 'Play'"),
            (lambda: BatchAiCompute.provisioning_configuration(autoscale_enabled="yes"), "autoscale_enabled: expected True or False, found 'yes'"),
            (lambda: DsvmCompute.provisioning_configuration(ssh_port="x"), "ssh_port: expected a whole number from 1 to 65535, found 'x'"),
            (lambda: SynapseCompute.attach_configuration(None, "SynapseSpark", "p"), "linked_service: must be given"),
            (lambda: KustoCompute.attach_configuration("g", "w"), "kusto_connection_string: expected a text, found None"),
            (lambda: ComputeTarget(WS, None), "name: expected a text, found None"),
            (lambda: ComputeTarget.create(WS, "ok", {"vm_size": "x"}),
             "provisioning_configuration: expected what provisioning_configuration() of a compute class gives, found a value of type dict"),
            (lambda: ComputeTarget.attach(WS, "ok", AmlCompute.provisioning_configuration()),
             "attach_configuration: expected what attach_configuration() of a compute class gives, found a value of type AmlComputeProvisioningConfiguration")):
        assert refused(call) == message


@pytest.mark.parametrize("name", ["a", "", "1a", "a_b", "a b", "a-", "x" * 33, None, 3, "a/../b"])
def test_wrong_names(name):
    assert refused(lambda: ComputeTarget.create(WS, name, AmlCompute.provisioning_configuration())).startswith(
        "name: expected 2 to 32 letters, digits and '-', beginning with a letter and not ending in '-', found")


CLUSTER = {
    "id": "i", "name": "cpu-cluster", "tags": {"a": "b"}, "location": "here", "properties": {
        "computeType": "AmlCompute", "computeLocation": "here", "description": "d", "resourceId": "r", "createdOn": "c", "modifiedOn": "m",
        "isAttachedCompute": False, "provisioningErrors": None, "provisioningState": "Succeeded", "properties": {
            "vmSize": "STANDARD_D2_V2", "vmPriority": "dedicated", "status": {
                "currentNodeCount": 1, "targetNodeCount": 2, "allocationState": "Resizing", "vmSize": "STANDARD_D2_V2", "vmPriority": "dedicated",
                "nodeStateCounts": {"idleNodeCount": 1}, "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 4, "nodeIdleTimeBeforeScaleDown": "PT30M"}}}}}


def test_forms_of_a_cluster():
    target = ComputeTarget.deserialize(WS, CLUSTER)
    assert type(target) is AmlCompute and target.serialize() == CLUSTER
    assert (target.name, target.type, target.provisioning_state, target.provisioning_errors, target.cluster_resource_id, target.location, target.created_on,
            target.modified_on, target.tags, target.description, target.id) == (
        "cpu-cluster", "AmlCompute", "Succeeded", None, "r", "here", "c", "m", {"a": "b"}, "d", "i")
    assert target.vm_size == "STANDARD_D2_V2" and "cpu-cluster" in repr(target)
    status = target.status
    assert (status.current_node_count, status.target_node_count, status.allocation_state, status.node_state_counts.idle, status.provisioning_state,
            status.scale_settings.maximum_node_count, status.scale_settings.idle_seconds_before_scaledown) == (1, 2, "Resizing", 1, "Succeeded", 4, 1800)
    assert status.serialize()["scaleSettings"] == {"minNodeCount": 0, "maxNodeCount": 4, "nodeIdleTimeBeforeScaleDown": "PT1800S"}
    assert refused(lambda: ComputeInstance.deserialize(WS, CLUSTER)) == "a compute target of type AmlCompute is none of type ComputeInstance"
    assert refused(lambda: ComputeTarget.deserialize(WS, {})) == "object_dict: expected what serialize() gives, with a name"


def test_a_cluster_from_beginning_to_end(monkeypatch, capsys):
    ws = workspace()
    config = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=4, tags={"a": "b", "n": 1}, admin_username="me",
                                                   admin_user_password="geheim", location="westeurope", identity_type="UserAssigned",
                                                   identity_id=["/x", "/y"], enable_node_public_ip=False)
    target = ComputeTarget.create(ws, "cpu-cluster", config)
    assert ws._client.asked[-1] == ("POST", "/computetargets", {
        "workspace": "default", "name": "cpu-cluster", "type": "AmlCompute", "vm_size": "STANDARD_D2_V2", "vm_priority": "dedicated", "min_nodes": 0,
        "max_nodes": 4, "idle_seconds_before_scaledown": 1800, "tags": {"a": "b", "n": "1"},
        "recorded": {"location": "westeurope", "admin_username": "me", "identity_type": "UserAssigned", "identity_id": "/x,/y",
                     "enable_node_public_ip": "false"}})
    assert (type(target), target.name, target.type, target.provisioning_state, target.tags, target.location) == (
        AmlCompute, "cpu-cluster", "AmlCompute", "Creating", {"a": "b", "n": "1"}, "westeurope")
    ws._client.states[:] = ["Creating", "Creating", "Succeeded"]
    target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
    assert capsys.readouterr().out.splitlines() == ["Creating", "Succeeded", "AmlCompute wait for completion finished", "",
                                                    "Minimum number of nodes requested have been provisioned"]
    assert refused(lambda: ComputeTarget.create(ws, "cpu-cluster", config)) == "there is a compute target 'cpu-cluster' already"
    assert refused(lambda: ComputeInstance(ws, "cpu-cluster")) == "compute target 'cpu-cluster' is of type AmlCompute, not ComputeInstance"
    status = AmlCompute(workspace=ws, name="cpu-cluster").get_status()
    assert status.serialize() == {
        "currentNodeCount": 0, "targetNodeCount": 0,
        "nodeStateCounts": {"preparingNodeCount": 0, "runningNodeCount": 0, "idleNodeCount": 0, "unusableNodeCount": 0, "leavingNodeCount": 0,
                            "preemptedNodeCount": 0},
        "allocationState": "Steady", "allocationStateTransitionTime": "2026-11-15T10:00:00Z", "errors": None, "creationTime": "2026-11-15T10:00:00Z",
        "modifiedTime": "2026-11-15T10:00:00Z", "provisioningState": "Succeeded", "provisioningStateTransitionTime": None,
        "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 4, "nodeIdleTimeBeforeScaleDown": "PT1800S"}, "vmPriority": "Dedicated",
        "vmSize": "STANDARD_D2_V2"}
    target.update(min_nodes=1, idle_seconds_before_scaledown="60")
    assert ws._client.asked[-1] == ("PATCH", "/computetargets/cpu-cluster",
                                    {"min_nodes": 1, "idle_seconds_before_scaledown": 60})
    assert (target.scale_settings.minimum_node_count, target.scale_settings.idle_seconds_before_scaledown) == (1, 60)
    assert [(one["nodeId"], one["nodeState"], one["runId"]) for one in target.list_nodes()] == [("cpu-1", "running", "r1"), ("cpu-2", "idle", None)]
    assert AmlCompute.supported_vmsizes(workspace=ws) == [
        {"name": "STANDARD_D2_V2", "vCPUs": 2, "gpus": 0, "memoryGB": 7.0, "maxResourceVolumeMB": 102400}]
    assert ComputeTarget.deserialize(ws, target.serialize()).serialize() == target.serialize()
    assert "geheim" not in repr(ws._client.asked) + repr(target.serialize())
    assert refused(target.detach) == "compute target 'cpu-cluster' cannot be detached: it was made here. Use delete() instead."
    target.delete()
    assert ws._client.asked[-1] == ("DELETE", "/computetargets/cpu-cluster", {"workspace": "default"})
    assert refused(target.refresh_state).startswith("ComputeTargetNotFound: Compute Target with name cpu-cluster not found")
    target.wait_for_completion(is_delete_operation=True)


def test_refusals_of_the_server():
    ws = workspace()
    config = AmlCompute.provisioning_configuration(vm_size="STANDARD_D22_V2")
    assert refused(lambda: ComputeTarget.create(ws, "cpu", config)) == "vm_size is 'STANDARD_D22_V2'; expected a known size such as STANDARD_D2_V2"
    assert refused(lambda: ComputeTarget(ws, "local")).startswith("ComputeTargetNotFound")
    target = ComputeTarget.create(ws, "cpu", AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2"))
    assert refused(lambda: target.update()) == "update: min_nodes, max_nodes or idle_seconds_before_scaledown must be given"
    assert refused(lambda: target.update(min_nodes=3, max_nodes=1)) == "min_nodes: is 3, more than max_nodes 1"
    assert refused(lambda: target.add_identity("SystemAssigned")) == \
        "To add an identity to compute of type AmlCompute is not part of this version of Ferry yet. Use the target 'local'."


def test_waiting_has_an_end(capsys):
    ws = workspace()
    target = ComputeTarget.create(ws, "cpu", AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2"))
    assert refused(lambda: target.wait_for_completion(timeout_in_minutes=0)) == "compute target 'cpu' is still Creating after 0 minutes"
    ws._client.states[:] = ["Succeeded"]
    target.wait_for_completion(show_output=True, min_node_count=1, timeout_in_minutes=0)
    assert capsys.readouterr().out.splitlines() == [
        "Succeeded", "AmlCompute wait for completion finished", "", "Wait timeout has been reached",
        'Current provisioning state of AmlCompute is "Succeeded" and current node count is "0"']
    ws._client.nodes = 1
    target.wait_for_completion(min_node_count=1)
    ws._client.states[:] = ["Failed"]
    assert refused(target.wait_for_completion) == "compute target 'cpu' failed: None"
    assert refused(lambda: target.wait_for_completion(min_node_count=-1)).startswith("min_node_count: expected a whole number from 0")


def test_the_flow_of_2018(capsys):
    """Seed 000: a cluster is made by the first run and found by the second."""
    ws = workspace()
    ws._client.states[:] = ["Succeeded"]

    def flow():
        found = False
        compute_targets = CallableDict((one.name, one) for one in ComputeTarget.list(ws))  # as Workspace.compute_targets
        for ct in compute_targets():
            if ct.name == "cpu" and ct.type == "BatchAI":
                found = True
                print("found compute target. just use it.")
                compute_target = ct
                break
        if not found:
            config = BatchAiCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", vm_priority="lowpriority", autoscale_enabled=True,
                                                               cluster_min_nodes=0, cluster_max_nodes=4)
            compute_target = ComputeTarget.create(ws, "cpu", config)
            compute_target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
        return compute_target.status.serialize()

    assert flow()["vmPriority"] == "LowPriority"
    assert capsys.readouterr().out.splitlines() == ["Succeeded", "BatchAI wait for completion finished", "",
                                                    "Minimum number of nodes requested have been provisioned"]
    # What a list gives has no counts; they are asked for.
    assert flow()["currentNodeCount"] == 0
    assert capsys.readouterr().out == "found compute target. just use it.\n"


def test_other_kinds_in_lists(monkeypatch):
    machine = {"name": "machine", "properties": {"computeType": "VirtualMachine", "properties": {"address": "host.example", "sshPort": 22, "username": "u"}}}
    monkeypatch.setattr(_service, "views", lambda workspace: [CLUSTER, machine])
    monkeypatch.setattr(_service, "view", lambda workspace, name: {"cpu-cluster": CLUSTER, "machine": machine}[name])
    assert (RemoteCompute(WS, "machine").address, RemoteCompute(WS, "machine").ssh_port, RemoteCompute(WS, "machine").username) == ("host.example", 22, "u")
    assert [one.name for one in ComputeTarget.list(WS)] == ["cpu-cluster", "machine"] and [one.name for one in RemoteCompute.list(WS)] == ["machine"]
    assert refused(RemoteCompute(WS, "machine").delete) == \
        "To delete compute of type VirtualMachine is not part of this version of Ferry yet. Use the target 'local'."


# Against a real server


@pytest.fixture
def ws(own, outside, monkeypatch):
    from azureml.core import Workspace

    monkeypatch.setenv("FERRY_URL", own.url)
    monkeypatch.setenv("FERRY_TOKEN", own.token)
    return Workspace("sub", "rg", "default")


def configuration(target):
    from azureml.core.runconfig import RunConfiguration

    config = RunConfiguration(script="train.py")
    config.target = target
    config.environment.python.user_managed_dependencies = True
    config.environment.python.interpreter_path = sys.executable
    return config


def test_a_script_on_a_cluster(ws, tmp_path, capsys):
    from azureml.core import Experiment, ScriptRunConfig

    source = write_tree(tmp_path / "source", {"train.py": "print('on a node')\n"})
    with pytest.raises(ComputeTargetException):
        ComputeTarget(workspace=ws, name="cpu-cluster")
    target = ComputeTarget.create(ws, "cpu-cluster", AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=2, tags={"a": "b"}))
    target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
    assert capsys.readouterr().out.splitlines()[-4:] == ["Succeeded", "AmlCompute wait for completion finished", "",
                                                         "Minimum number of nodes requested have been provisioned"]
    for one in (target, "cpu-cluster"):
        run = Experiment(ws, "clusters").submit(ScriptRunConfig(source, run_config=configuration(one)))
        assert run.wait_for_completion()["status"] == "Completed"
        assert run.get_details()["target"] == "cpu-cluster"
    assert list(target.get_active_runs()) == []
    status = target.get_status()
    assert (status.current_node_count, status.scale_settings.maximum_node_count, status.errors) == (1, 2, None)
    assert [one["nodeState"] for one in target.list_nodes()] == ["idle"]
    assert list(ws.compute_targets) == ["cpu-cluster"] and type(ws.compute_targets["cpu-cluster"]) is AmlCompute
    assert refused(lambda: ComputeTarget.create(ws, "cpu-cluster", AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2")))
    target.update(min_nodes=2, idle_seconds_before_scaledown="300")
    target.wait_for_completion(min_node_count=2, timeout_in_minutes=1)
    assert target.get_status().current_node_count == 2
    assert "STANDARD_D2_V2" in [one["name"].upper() for one in AmlCompute.supported_vmsizes(workspace=ws)]
    target.delete(wait_for_completion=True)
    assert ws.compute_targets() == []


def test_a_cluster_for_one_run_is_gone_with_it(ws, tmp_path):
    from azureml.core import Experiment, ScriptRunConfig

    source = write_tree(tmp_path / "source", {"train.py": "print('on a node')\n"})
    config = configuration("amlcompute")
    config.amlcompute.vm_size = "STANDARD_D2_V2"
    config.amlcompute._cluster_max_node_count = 2
    run = Experiment(ws, "clusters").submit(ScriptRunConfig(source, run_config=config))
    assert run.wait_for_completion()["status"] == "Completed"
    wait_until("the cluster is gone", lambda: ws.compute_targets() == [])


def test_the_flow_of_2018_against_a_server(ws, capsys):
    config = BatchAiCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", vm_priority="lowpriority", autoscale_enabled=True, cluster_min_nodes=1,
                                                       cluster_max_nodes=4)
    assert ws.compute_targets() == []
    ComputeTarget.create(ws, ws.name + "cpu", config).wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
    found = [ct for ct in ws.compute_targets() if ct.name == ws.name + "cpu" and ct.type == "BatchAI"]
    assert type(found[0]) is BatchAiCompute
    assert found[0].status.serialize()["currentNodeCount"] == 1 and found[0].status.serialize()["vmPriority"] == "LowPriority"


def test_what_the_server_refuses(ws):
    message = refused(lambda: ComputeTarget.create(ws, "cpu", AmlCompute.provisioning_configuration(vm_size="STANDARD_D22_V2")))
    assert message == "vm_size 'STANDARD_D22_V2' is not known; did you mean 'Standard_D2_v2'?; see: ferry compute sizes"
    assert ComputeTarget.list(ws) == []
