"""Clusters of process nodes: how fast they grow, how fast a run reaches a free node, and how busy a full queue keeps them."""

import os
import subprocess
import time

from support import ferry
from support.bench import ROOT, output, wait_until

TITLE = "Clusters of process nodes"
NODES = 8


def run(bench):
    server = bench.keep(ferry.Server(os.path.join(bench.folder, "home")))
    connection = server.connect()
    state = {"count": 0}

    def call(method, path, body=None):
        return server.call(method, "/api/v1" + path, body, connection)

    def cluster():
        state["count"] += 1
        name = f"c{state['count']:03}"
        call("POST", "/computetargets", {"name": name, "type": "AmlCompute", "vm_size": "STANDARD_D2_V2", "max_nodes": NODES, "idle_seconds_before_scaledown": 3600})
        return name

    def nodes(name):
        return [node for node in call("GET", f"/computetargets/{name}/nodes")["nodes"] if node["arrived"]]

    def remove(name):
        call("DELETE", f"/computetargets/{name}?cancel=true")
        wait_until(lambda: name not in [t["name"] for t in call("GET", "/computetargets")["computetargets"]], 60, "the end of the cluster", 0.05)

    def grow():
        name = cluster()
        began = time.monotonic()
        for _ in range(NODES):
            call("POST", "/runs", {"experiment": "grow", "target": name, "command": ["sleep", "3"]})
        wait_until(lambda: len(nodes(name)) == NODES, 60, f"{NODES} nodes", 0.005)
        seconds = time.monotonic() - began
        remove(name)
        return seconds
    bench.row(f"from 0 to {NODES} process nodes, from the first submission", "s", [grow() for _ in range(bench.reps(7, 3))], bar="1 s", limit=1)

    name = cluster()
    call("POST", "/runs", {"experiment": "warm", "target": name, "command": ["true"]})
    wait_until(lambda: server.counts("warm").get("Completed") == 1, 30, "a first run", 0.01)

    def dispatch():
        state["count"] += 1
        run = call("POST", "/runs", {"experiment": "dispatch", "target": name, "command": ["true"]})["id"]
        ended = []

        def there():
            view = call("GET", "/runs/" + run)
            if view["status"] == "Completed":
                ended.append(view)
            return bool(ended)
        wait_until(there, 30, "the end of a run", 0.005)
        return (micros(ended[0]["started"]) - micros(ended[0]["created"])) / 1000
    for _ in range(5):
        dispatch()
    bench.row("from the submission to the script's start on a free node", "ms", [dispatch() for _ in range(bench.reps(100, 20))], bar="20 ms", limit=20)
    remove(name)

    count = 200 if bench.quick else 1000
    name = cluster()
    for _ in range(NODES):
        call("POST", "/runs", {"experiment": "fill", "target": name, "command": ["sleep", "2"]})
    wait_until(lambda: server.counts("fill").get("Completed") == NODES, 60, "nodes that are there", 0.05)

    def busy():
        return {one["name"]: one for one in call("GET", "/cost")["targets"]}[name]["busy_seconds"]
    before, began = busy(), time.monotonic()
    server.load("POST", "/api/v1/runs", [{"experiment": "queue", "target": name, "command": ["sleep", "1"]}], connections=2, requests=count)
    wait_until(lambda: server.counts("queue").get("Completed") == count, 600, f"{count} runs", 0.02)
    seconds = time.monotonic() - began
    share = 100 * (busy() - before) / (NODES * seconds)
    remove(name)
    parallel = []
    if output("parallel", "--version"):
        began = time.monotonic()
        subprocess.run(["parallel", f"-j{NODES}", "sleep 1"], input="\n".join(map(str, range(count))), text=True, check=True, timeout=600,
                       env={**os.environ, "PARALLEL_HOME": bench.folder})
        parallel = [100 * count / (NODES * (time.monotonic() - began))]
    bench.row(f"{count} queued runs of 1 s over {NODES} nodes: share of the time that nodes are busy", "%", [share], {"GNU parallel": parallel} if parallel else {},
              bar="95 %", limit=95, better="more")
    bench.row("of this, time asleep in scripts", "%", [100 * count / (NODES * seconds)], better="more")

    program = os.path.join(ROOT, "build", "scheduler_bench")
    subprocess.run(["cmake", "--build", os.path.join(ROOT, "build"), "--target", "scheduler_bench"], check=True, capture_output=True, timeout=600)
    for kind in ("single runs", "with gangs"):
        cold, event = [], []
        for _ in range(bench.reps(5, 3)):
            line = next(line for line in output(program).splitlines() if line.startswith(kind))
            cold.append(float(line.split("cold pass")[1].split()[0]))
            event.append(float(line.split("event")[1].split()[0]))
        bench.row(f"scheduler, 10,000 nodes and 100,000 waiting, {kind}: a cold full pass", "ms", cold, bar="10 ms", limit=10)
        bench.row("the same: an event (a run ends, one is placed, one arrives)", "us", event, bar="20 us", limit=20)


def micros(text):
    import datetime
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1e6
