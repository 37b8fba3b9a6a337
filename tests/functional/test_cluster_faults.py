"""Clusters when something dies: the server while they grow, shrink, lose a node or serve one run; an agent. No node is left over, no run is lost."""

import os
import signal

import pytest
from ferry_fixture import processes_of, wait_until


def make(ferry, name="cpu", **fields):
    return ferry.post("/computetargets", dict({"name": name, "type": "AmlCompute", "vm_size": "STANDARD_D2_V2", "max_nodes": 3,
                                               "idle_seconds_before_scaledown": 1}, **fields))


def nodes_of(ferry):
    folder = os.path.join(ferry.home, "nodes")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def node_pids(ferry):
    """Every process of a node: agents, supervisors and scripts."""
    found = []
    for pid in processes_of(ferry.home):
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                if b"/nodes/" in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def wait_for_nothing(ferry, name="cpu"):
    wait_until(lambda: "no node is left: %s %s" % (nodes_of(ferry), node_pids(ferry)), lambda: not nodes_of(ferry) and not node_pids(ferry), timeout=60)
    nodes = [node for node in ferry.get("/nodes")["nodes"] if node["target"] != "local"]
    assert nodes == [], nodes


@pytest.mark.parametrize("moment", ["as it grows", "as it works", "as it shrinks"])
def test_the_server_is_killed(ferry, moment):
    make(ferry)
    runs = [ferry.submit("sh", "-c", "sleep 1; echo done %d" % i, target="cpu") for i in range(4)]
    if moment == "as it works":
        wait_until("a run runs", lambda: any(ferry.status(run) == "Running" for run in runs))
    if moment == "as it shrinks":
        for run in runs:
            ferry.wait(run, "Completed")
        wait_until("a node leaves", lambda: any(node["state"] == "leaving" for node in ferry.get("/computetargets/cpu/nodes")["nodes"])
                   or not nodes_of(ferry), timeout=30)
    ferry.kill_server()
    ferry.start()
    for i, run in enumerate(runs):
        view = ferry.wait(run, "Completed", timeout=120)
        assert len(view["attempts"]) == 1
        assert b"done %d\n" % i in ferry.log(run)
    wait_for_nothing(ferry)
    cost = {one["name"]: one for one in ferry.get("/cost")["targets"]}["cpu"]
    assert cost["busy_seconds"] >= 4 and cost["node_seconds"] >= cost["busy_seconds"], cost


def test_a_cluster_of_one_run_goes_with_it_whatever_dies(ferry):
    run = ferry.submit("sh", "-c", "sleep 2; echo done", target="amlcompute", cluster={"vm_size": "STANDARD_D2_V2"})
    name = ferry.show(run)["target"]
    assert ferry.get("/computetargets/" + name)["run"] == run
    ferry.wait(run, "Running")
    ferry.kill_server()
    ferry.start()
    ferry.wait(run, "Completed", timeout=120)
    wait_until("the cluster is gone", lambda: ferry.api("GET", "/api/v1/computetargets/" + name).status == 404, timeout=60)
    wait_for_nothing(ferry)


def test_a_node_is_taken_away_and_the_server_dies(ferry):
    make(ferry, max_nodes=1, idle_seconds_before_scaledown=600)
    run = ferry.submit("sh", "-c", "echo begun; sleep 5; echo done", target="cpu")
    ferry.wait_output(run, "begun")
    taken = ferry.post("/computetargets/cpu/evict", {})
    assert taken["runs"] == [run]
    ferry.kill_server()
    ferry.start()
    view = ferry.wait(run, "Completed", timeout=120)
    assert [attempt["reason"] for attempt in view["attempts"]] == ["preempted", "succeeded"], view["attempts"]
    assert taken["node"] not in [node["name"] for node in ferry.get("/computetargets/cpu/nodes")["nodes"]]
    assert ferry.api("DELETE", "/api/v1/computetargets/cpu").status == 200
    wait_for_nothing(ferry)


def test_a_node_that_loses_its_agent_goes_on(ferry):
    make(ferry, max_nodes=1, idle_seconds_before_scaledown=600)
    run = ferry.submit("sh", "-c", "echo begun; sleep 3; echo done", target="cpu")
    ferry.wait_output(run, "begun")
    with open(os.path.join(ferry.home, "nodes", nodes_of(ferry)[0], "agent.json")) as file:
        pid = int(file.read().split('"pid":')[1].split(",")[0])
    os.kill(pid, signal.SIGKILL)
    ferry.kill_server()  # who starts again looks after its nodes at once
    ferry.start()
    ferry.wait(run, "Completed", timeout=120)
    assert b"done" in ferry.log(run)
    assert ferry.api("DELETE", "/api/v1/computetargets/cpu").status == 200
    wait_for_nothing(ferry)
