"""run.log() in a loop inside a submitted script, each call acknowledged; also while the server is killed and comes back."""

import json
import os
import subprocess
import time

from support import ferry, peers
from support.bench import PYTHON, wait_until

TITLE = "`run.log()` in a loop inside a script, each call acknowledged"
SCRIPT = """import json, sys, time
from azureml.core import Run
run = Run.get_context()
run.log("warm", 1.0)
seconds = float(sys.argv[1])
calls = int(sys.argv[2])
print("LOOP", flush=True)
spent = []
clock = time.perf_counter
start = before = clock()
while len(spent) < calls and before - start < seconds:
    run.log("loss", 0.5)
    after = clock()
    spent.append(after - before)
    before = after
spent.sort()
print("RESULT", json.dumps({"calls": len(spent), "rate": len(spent) / (before - start), "p50": spent[len(spent) // 2], "p99": spent[len(spent) * 99 // 100], "max": spent[-1]}), flush=True)
"""
PEER = """import json, sys, time
import mlflow
mlflow.set_experiment("bench")
with mlflow.start_run():
    mlflow.log_metric("warm", 1.0)
    spent = []
    start = before = time.perf_counter()
    for i in range(int(sys.argv[1])):
        mlflow.log_metric("loss", 0.5, step=i)
        after = time.perf_counter()
        spent.append(after - before)
        before = after
spent.sort()
print("RESULT", json.dumps({"calls": len(spent), "rate": len(spent) / (before - start), "p50": spent[len(spent) // 2], "p99": spent[len(spent) * 99 // 100], "max": spent[-1]}), flush=True)
"""


def result_in(text):
    for line in text.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line[7:])
    raise RuntimeError(f"the script gave no result: {text[-500:]}")


def run(bench):
    source = os.path.join(bench.folder, "source")
    os.makedirs(source)
    with open(os.path.join(source, "log.py"), "w") as file:
        file.write(SCRIPT)
    server = bench.keep(ferry.Server(os.path.join(bench.folder, "home")))
    command = [ferry.BINARY, "run", "submit-script", "--interpreter", PYTHON, "log.py"]

    def plain():
        done = subprocess.run(command + ["60", "60000"], env=server.env, cwd=source, capture_output=True, text=True, timeout=120)
        return result_in(done.stdout)

    def with_restart():
        process = subprocess.Popen(command + ["6", "100000000"], env=server.env, cwd=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            process.stdout.readline()
            time.sleep(1)
            server.kill()
            time.sleep(1)
            server.start()
            return result_in(process.communicate(timeout=60)[0])
        finally:
            process.kill()
            process.wait()

    subjects = {"ferry": plain, "restart": with_restart}
    try:
        mlflow = bench.keep(peers.MlflowServer(os.path.join(bench.folder, "mlflow")))
        bench.versions["mlflow"] = peers.venv_version("mlflow")
        env = peers.clean_environment(MLFLOW_TRACKING_URI=mlflow.url)

        def peer():
            done = subprocess.run([peers.venv("mlflow", "python"), "-c", PEER, "50"], env=env, cwd=bench.folder, capture_output=True, text=True, timeout=180)
            return result_in(done.stdout + done.stderr)
        subjects["mlflow"] = peer
    except (RuntimeError, OSError) as error:
        bench.note(f"MLflow could not be measured: {error}")
    samples = bench.alternate(bench.reps(7, 3), subjects)
    theirs = samples.get("mlflow") or []
    bench.row("calls", "/s", [s["rate"] for s in samples["ferry"]], {"mlflow.log_metric": [s["rate"] for s in theirs]}, bar="15,000/s", limit=15000, better="more")
    bench.row("p99 of a call", "ms", [s["p99"] * 1e3 for s in samples["ferry"]], {"mlflow.log_metric": [s["p99"] * 1e3 for s in theirs]}, bar="1 ms", limit=1)
    bench.row("longest call while the server is killed and comes back", "ms", [s["max"] * 1e3 for s in samples["restart"]], bar="never blocked: under 100 ms", limit=100)
    bench.row("longest call otherwise", "ms", [s["max"] * 1e3 for s in samples["ferry"]])
    bench.row("calls while the server is killed and comes back", "/s", [s["rate"] for s in samples["restart"]], better="more")
    wanted = samples["restart"][-1]["calls"]

    def kept():
        runs = [item["id"] for item in server.call("GET", "/api/v1/runs?limit=2")["runs"]]
        found = [m["count"] for r in runs for m in server.call("GET", f"/api/v1/runs/{r}/metrics")["metrics"] if m["name"] == "loss"]
        return wanted in found
    wait_until(kept, 60, "every acknowledged point of the run during which the server was killed", 0.5)
