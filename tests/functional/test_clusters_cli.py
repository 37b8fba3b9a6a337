"""Clusters by the command line, against a real server: made, used, changed, looked into, deleted."""

import json

import pytest
from ferry_fixture import PYTHON, wait_until, write_tree

SIZE = "Standard_D2_v2"


@pytest.fixture
def cluster(ferry):
    ferry.ok("compute", "create", "cpu", "--size", SIZE, "--max-instances", "2", "--idle-time-before-scale-down", "600", "--tag", "team=a")
    return ferry


def test_made_used_and_deleted(cluster):
    shown = cluster.json("compute", "show", "cpu")
    assert (shown["name"], shown["type"], shown["provisioning_state"], shown["vm_size"], shown["min_nodes"], shown["max_nodes"], shown["tags"]) == (
        "cpu", "AmlCompute", "Succeeded", SIZE, 0, 2, {"team": "a"})
    done = cluster.run("run", "submit-command", "--target", "cpu", "--", "echo", "on a node")
    assert done.returncode == 0 and done.stdout == "on a node\n", done
    run = cluster.json("run", "list", "--compute-target-name", "cpu")[0]
    assert run["status"] == "Completed" and run["target"] == "cpu"
    nodes = cluster.json("compute", "nodes", "cpu")
    assert len(nodes) == 1 and nodes[0]["runs"] == [] and nodes[0]["state"] == "idle", nodes
    text = cluster.ok("compute", "show", "cpu")
    assert "nodes         1 of 0 to 2" in text and "running       nothing" in text and "waiting       nothing" in text, text
    assert cluster.json("compute", "explain", "cpu")["decisions"]
    assert cluster.ok("compute", "explain", "cpu").startswith("now ")
    table = cluster.ok("compute", "list").splitlines()
    assert table[0].split() == ["TARGET", "TYPE", "SIZE", "PRIORITY", "NODES", "OF", "RUNNING", "WAITING", "STATE"]
    assert table[2].split()[0] == "local" and table[3].split()[:6] == ["cpu", "AmlCompute", SIZE, "dedicated", "1", "0-2"], table
    cost = {one["name"]: one for one in cluster.json("compute", "cost")}["cpu"]
    assert cost["node_seconds"] > 0 and cost["node_seconds"] >= cost["busy_seconds"], cost
    done = cluster.run("compute", "delete", "cpu")
    assert done.returncode == 0 and done.stdout == "deleted cpu\n", done
    assert cluster.run("compute", "show", "cpu").returncode == 5
    assert [one["name"] for one in cluster.json("compute", "list")] == ["local"]


def test_deleted_with_its_runs(cluster):
    run = cluster.ok("run", "submit-command", "--target", "cpu", "--async", "--", "sleep", "600").strip()
    wait_until("it runs", lambda: cluster.get("/runs/" + run)["status"] == "Running")
    assert cluster.json("compute", "show", "cpu")["runs"]["running"] == [run]
    done = cluster.run("compute", "delete", "cpu")
    assert done.returncode == 6 and "ferry compute delete cpu --cancel-runs" in done.stderr, done
    assert cluster.run("computetarget", "delete", "-n", "cpu").returncode == 6
    assert cluster.ok("compute", "delete", "cpu", "--cancel-runs") == "deleted cpu\n"
    assert cluster.get("/runs/" + run)["status"] == "Canceled"


def test_evicted(cluster):
    run = cluster.ok("run", "submit-command", "--target", "cpu", "--async", "--", "sleep", "600").strip()
    wait_until("it runs", lambda: cluster.get("/runs/" + run)["status"] == "Running")
    evicted = cluster.json("compute", "evict", "cpu")
    assert evicted["runs"] == [run]
    wait_until("it runs again", lambda: (lambda view: view["status"] == "Running" and view["attempt"] == 2)(cluster.get("/runs/" + run)), timeout=60)
    cluster.ok("run", "cancel", run)


def test_in_the_words_of_version_one(ferry, tmp_path):
    source = write_tree(tmp_path / "source", {"train.py": "print('trained')\n"})
    ferry.ok("folder", "attach", source)
    done = ferry.run("computetarget", "create", "amlcompute", "-n", "v1", "-s", SIZE, "--max-nodes", "3", "--min-nodes", "0", "-p", "lowpriority", "-l", "westeurope",
                     "--tag", "a=b", "--path", source, "-o", "json")
    assert done.returncode == 0 and "made .azureml/v1.runconfig" in done.stderr and "v1: Succeeded" in done.stderr, done
    made = json.loads(done.stdout)
    assert (made["vm_priority"], made["idle_seconds_before_scaledown"], made["recorded"]) == ("lowpriority", 1800, {"location": "westeurope"})
    assert "target: v1" in (tmp_path / "source" / ".azureml" / "v1.runconfig").read_text()
    done = ferry.run("run", "submit-script", "-c", "v1", "--interpreter", PYTHON, "--source-directory", source, "train.py")
    assert done.returncode == 0 and done.stdout.endswith("\ntrained\n"), done
    assert ferry.json("computetarget", "update", "amlcompute", "-n", "v1", "--max-nodes", "5")["max_nodes"] == 5
    azure = json.loads(ferry.ok("az", "ml", "computetarget", "show", "-n", "v1"))
    assert azure["properties"]["computeType"] == "AmlCompute" and azure["location"] == "westeurope"
    assert azure["properties"]["properties"]["scaleSettings"] == {"minNodeCount": 0, "maxNodeCount": 5, "nodeIdleTimeBeforeScaleDown": "PT1800S"}
    clusters = {one["name"]: one for one in json.loads(ferry.ok("az", "batchai", "cluster", "list"))}
    assert clusters["v1"]["currentNodeCount"] == 1 and clusters["v1"]["provisioningState"] == "succeeded", clusters
    assert ferry.run("computetarget", "detach", "-n", "v1").returncode == 6
    assert ferry.run("computetarget", "get-credentials", "-n", "v1").returncode == 5
    ferry.ok("computetarget", "delete", "-n", "v1")
    assert ferry.run("computetarget", "show", "-n", "v1").returncode == 5


def test_of_a_file(ferry, tmp_path):
    write_tree(tmp_path, {"c.yml": "name: of-file\ntype: amlcompute\nsize: %s\nmin_instances: 0\nmax_instances: 2\nidle_time_before_scale_down: 60\ntier: low_priority\n" % SIZE})
    made = ferry.json("compute", "create", "-f", tmp_path / "c.yml", "--max-instances", "4")
    assert (made["name"], made["max_nodes"], made["idle_seconds_before_scaledown"], made["vm_priority"]) == ("of-file", 4, 60, "lowpriority")
    write_tree(tmp_path, {"c.yml": "name: of-file\ntype: amlcompute\nsize: %s\nmax_instances: 6\n" % SIZE})
    assert ferry.json("compute", "update", "-f", tmp_path / "c.yml")["max_nodes"] == 6
    write_tree(tmp_path, {"c.yml": "name: of-file\ntype: amlcompute\nsize: STANDARD_NC6\nmax_instances: 6\n"})
    done = ferry.run("compute", "update", "-f", tmp_path / "c.yml")
    assert done.returncode == 6 and "cannot be changed" in done.stderr, done


@pytest.mark.parametrize("words, status, said", [
    (["cpu", "--size", "STANDARD_D22_V2"], 2, "did you mean 'Standard_D2_v2'?"),
    (["x", "--size", SIZE], 2, "name"),
    (["local", "--size", SIZE], 2, "name"),
    (["cpu", "--size", SIZE, "--min-instances", "5", "--max-instances", "2"], 2, "min_nodes"),
    (["cpu", "--size", SIZE, "--provider", "carrier-pigeon"], 2, "provider"),
    (["cpu", "--size", SIZE, "-t", "kubernetes"], 2, "Creating compute of type Kubernetes is not part of this version of Ferry yet."),
])
def test_refused(shared, words, status, said):
    done = shared.run("compute", "create", *words)
    assert done.returncode == status and said in done.stderr, done
    assert [one["name"] for one in shared.json("compute", "list")] == ["local"]


def test_of_another_workspace(ferry):
    ferry.ok("workspace", "create", "-w", "other")
    ferry.ok("compute", "create", "cpu", "--size", SIZE, "-w", "other")
    assert ferry.run("compute", "update", "cpu", "--max-instances", "7").returncode == 5
    assert ferry.json("compute", "update", "cpu", "--max-instances", "7", "-w", "other")["max_nodes"] == 7
    assert [one["name"] for one in ferry.json("compute", "list")] == ["local"]
    assert ferry.run("compute", "delete", "cpu").returncode == 5
    ferry.ok("compute", "delete", "cpu", "-w", "other")


def test_there_already(cluster):
    done = cluster.run("compute", "create", "cpu", "--size", SIZE)
    assert done.returncode == 6 and "'cpu'" in done.stderr, done


def test_a_cluster_for_one_run(ferry, tmp_path):
    source = write_tree(tmp_path / "source", {"train.py": "print('trained')\n", ".azureml/once.runconfig": (
        "script: train.py\ntarget: amlcompute\namlCompute: {vmSize: %s}\nenvironment: {python: {userManagedDependencies: true, interpreterPath: %s}}\n" % (SIZE, PYTHON))})
    done = ferry.run("run", "submit-script", "-c", "once", "--source-directory", source)
    assert done.returncode == 0 and done.stdout.endswith("\ntrained\n"), done
    wait_until("the cluster is gone", lambda: [one["name"] for one in ferry.json("compute", "list")] == ["local"])


def test_tables(shared):
    sizes = shared.json("compute", "sizes")
    assert {"name", "vCPUs", "memoryGB", "gpus", "maxResourceVolumeMB", "price"} <= set(sizes[0]) and SIZE in [one["name"] for one in sizes]
    assert shared.ok("compute", "sizes").splitlines()[0].split() == ["SIZE", "CORES", "MEMORY", "GB", "GPUS", "PRICE", "AN", "HOUR"]
    rows = shared.ok("compute", "capabilities").splitlines()
    assert rows[0].split() == ["TARGET", "GPU", "HYPERDRIVE", "AUTOML", "PIPELINES"] and len(rows) > 3


def test_a_folder_gets_a_template_for_each_target(cluster, tmp_path):
    made = cluster.ok("folder", "attach", write_tree(tmp_path / "project", {"train.py": ""}))
    assert "made .azureml/cpu.runconfig\n" in made, made
    assert "target: cpu" in (tmp_path / "project" / ".azureml" / "cpu.runconfig").read_text()
    assert "kept .azureml/cpu.runconfig\n" in cluster.ok("folder", "attach", tmp_path / "project")
