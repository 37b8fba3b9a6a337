"""`ferry server start` until it is healthy: fresh, and after kill -9 with 100,000 runs."""

import os
import shutil
import time

from support import ferry, filled, peers

TITLE = "`ferry server start` until healthy"


def run(bench):
    def fresh():
        server = ferry.Server(os.path.join(bench.folder, "fresh"))
        os.makedirs(server.home)
        began = time.monotonic()
        server.start()
        spent = time.monotonic() - began
        server.__exit__()
        return spent

    large = ferry.Server(filled.home(os.path.join(bench.folder, "large")))
    bench.keep(large)

    def after_kill():
        large.kill()
        began = time.monotonic()
        large.start()
        spent = time.monotonic() - began
        counts = large.call("GET", "/api/v1/runs?group=status")["groups"]
        if sum(group["count"] for group in counts) != filled.RUNS:
            raise RuntimeError(f"runs were lost: {counts}")
        time.sleep(0.5)
        return spent

    folder = os.path.join(bench.folder, "mlflow")

    def mlflow():
        shutil.rmtree(folder, ignore_errors=True)
        server = peers.MlflowServer(folder)
        began = time.monotonic()
        server.__enter__()
        spent = time.monotonic() - began
        server.__exit__()
        return spent

    subjects = {"ferry": fresh, "after kill": after_kill}
    if peers.venv("mlflow"):
        subjects["mlflow server"] = mlflow
        bench.versions["mlflow"] = peers.venv_version("mlflow")
    else:
        bench.note("MLflow could not be measured: run bench/install")
    samples = bench.alternate(bench.reps(9), subjects, every={"mlflow server": 5})
    bench.row("fresh", "s", samples["ferry"], {"mlflow server": samples.get("mlflow server")}, bar="0.3 s", limit=0.3)
    bench.row("after kill -9 with 100,000 runs, 1,000 of them live", "s", samples["after kill"], bar="1 s", limit=1)
