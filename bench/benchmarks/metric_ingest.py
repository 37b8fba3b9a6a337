"""Metric points over HTTP, acknowledged when durable: in batches, and one a request."""

import json
import os
import random
import time
import urllib.request

from support import ferry, peers

TITLE = "metric points ingested durably over HTTP"
BATCH = 1000
BODIES = 50


def numbers(seed):
    source = random.Random(seed)
    return [source.random() for _ in range(BATCH)]


def run(bench):
    server = bench.keep(ferry.Server(os.path.join(bench.folder, "home")))
    target = server.submit(["true"])
    server.wait(target)
    path = f"/api/v1/runs/{target}/metrics"
    now = int(time.time() * 1e6)
    full = [{"series": [{"metric": "loss", "values": numbers(i), "steps": list(range(BATCH)), "times": [now + j for j in range(BATCH)]}]} for i in range(BODIES)]
    bare = [{"series": [{"metric": "accuracy", "values": numbers(i), "steps": list(range(BATCH))}]} for i in range(BODIES)]
    points = [{"points": [{"metric": "single", "value": value, "step": i}]} for i, value in enumerate(numbers(1))]
    batches, singles = bench.reps(600, 200), bench.reps(20000, 5000)

    def batch(bodies):
        def measure():
            return BATCH * batches / server.load("POST", path, bodies, connections=8, requests=batches)["seconds"]
        return measure

    latencies = []

    def single():
        done = server.load("POST", path, points, connections=32, requests=singles)
        latencies.append(done["p95"] * 1000)
        return singles / done["seconds"]

    subjects = {"ferry": batch(full), "bare": batch(bare), "single": single}
    try:
        mlflow = bench.keep(peers.MlflowServer(os.path.join(bench.folder, "mlflow")))
        bench.versions["mlflow"] = peers.venv_version("mlflow")

        def post(what, body):
            request = urllib.request.Request(f"{mlflow.url}/api/2.0/mlflow/{what}", json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.loads(reply.read())
        experiment = post("experiments/create", {"name": "bench"})["experiment_id"]
        run_id = post("runs/create", {"experiment_id": experiment, "start_time": now // 1000})["run"]["info"]["run_id"]
        headers = ["Content-Type: application/json"]
        state = {"n": 0}

        def peer_batch():
            # Each point is new: MLflow drops what it has.
            state["n"] += 1
            bodies = [{"run_id": run_id, "metrics": [{"key": "loss", "value": value, "timestamp": now // 1000 + state["n"] * 1000 + i, "step": j} for j, value in enumerate(numbers(i))]}
                      for i in range(8)]
            return BATCH * 8 / ferry.load(mlflow.port, "POST", "/api/2.0/mlflow/runs/log-batch", bodies, connections=4, requests=8, headers=headers)["seconds"]

        def peer_single():
            state["n"] += 1
            bodies = [{"run_id": run_id, "key": "single", "value": value, "timestamp": now // 1000 + state["n"] * 1000 + i, "step": i} for i, value in enumerate(numbers(2)[:200])]
            return 200 / ferry.load(mlflow.port, "POST", "/api/2.0/mlflow/runs/log-metric", bodies, connections=32, requests=200, headers=headers)["seconds"]
        subjects.update({"peer batch": peer_batch, "peer single": peer_single})
        bench.note("MLflow: `mlflow server` with SQLite and its standard workers; log-batch takes at most 1,000 points")
    except (RuntimeError, OSError) as error:
        bench.note(f"MLflow could not be measured: {error}")
    rounds = bench.reps(7)
    samples = bench.alternate(rounds, subjects)
    kept = {item["name"]: item["count"] for item in server.call("GET", path)["metrics"]}
    wanted = {"loss": (rounds + 1) * batches * BATCH, "accuracy": (rounds + 1) * batches * BATCH, "single": (rounds + 1) * singles}
    if kept != wanted:
        raise RuntimeError(f"the server acknowledged {wanted} points and has {kept}")
    bench.row("points in batches of 1,000 with step and time, 8 connections", "points/s", samples["ferry"], {"MLflow log-batch": samples.get("peer batch")},
              bar="300,000/s", limit=300000, better="more")
    bench.row("points in batches of 1,000 with step", "points/s", samples["bare"], bar="300,000/s", limit=300000, better="more")
    bench.row("one point a request, 32 connections", "requests/s", samples["single"], {"MLflow log-metric": samples.get("peer single")}, bar="3,000/s", limit=3000, better="more")
    bench.row("p95 of one point a request", "ms", latencies[1:])
