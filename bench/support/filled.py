"""A server's home with 100,000 runs, 1,000 of them live: made once for each binary, then copied."""

import hashlib
import os
import shutil
import sys

from . import ferry
from .bench import BUILD, wait_until

RUNS, LIVE, COMPLETED = 100_000, 1_000, 1_000


def home(folder):
    """Copies the filled home to `folder`."""
    with open(ferry.BINARY, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    kept = os.path.join(BUILD, "data", "filled-" + digest)
    if not os.path.exists(kept):
        for name in os.listdir(os.path.join(BUILD, "data")) if os.path.isdir(os.path.join(BUILD, "data")) else []:
            if name.startswith("filled-"):
                shutil.rmtree(os.path.join(BUILD, "data", name))
        print(f"making a server with {RUNS:,} runs, once for this binary", file=sys.stderr, flush=True)
        fill(kept + ".partial")
        os.rename(kept + ".partial", kept)
    shutil.copytree(kept, folder, symlinks=True)
    for name in ("server.json", "server.lock"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    return folder


def fill(folder):
    """Through the public API: a few runs complete, most are canceled before an agent sees them, the rest wait."""
    shutil.rmtree(folder, ignore_errors=True)
    with ferry.Server(folder, keep_home=True) as server:
        server.load("POST", "/api/v1/runs", [{"experiment": "completed", "command": ["true"]}], connections=4, requests=COMPLETED)
        wait_until(lambda: server.counts("completed").get("Completed", 0) == COMPLETED, 300, "the completed runs", 0.2)
    with ferry.Server(folder, ["--agent=false"], keep_home=True) as server:
        canceled = RUNS - LIVE - COMPLETED
        bodies = [{"id": "filled_@N@NNNN", "experiment": f"experiment{i % 20}", "command": ["python", "train.py", "--lr", f"0.{i + 1:03}", "--seed", "@N@NNNN"],
                   "tags": {"team": f"team{i % 10}", "batch": f"batch{i}"}} for i in range(200)]
        server.load("POST", "/api/v1/runs", bodies, connections=32, requests=canceled, timeout=900)
        points = [{"points": [{"metric": "loss", "value": i / 997, "step": 1}, {"metric": "accuracy", "value": 1 - i / 997, "step": 1}]} for i in range(997)]
        server.load("POST", "/api/v1/runs/filled_@N@NNNN/metrics", points, connections=32, requests=canceled, timeout=900)
        server.load("POST", "/api/v1/runs/filled_@N@NNNN/cancel", ["{}"], connections=32, requests=canceled, timeout=900)
        server.load("POST", "/api/v1/runs", [{"experiment": "live", "command": ["sleep", "600"]}], connections=8, requests=LIVE, timeout=300)
        # What a metric's filter sees is written a little later.
        wait_until(lambda: server.call("GET", "/api/v1/runs?limit=1&filter=metrics.loss%20exists%20and%20id%20%3D%20%27filled_" + f"{canceled - 1:07}" + "%27")["runs"],
                   120, "the metrics of the last run in the filter", 0.5)
