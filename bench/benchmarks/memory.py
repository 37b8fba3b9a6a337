"""Memory of the server and its local agent: idle, and with 100,000 runs."""

import os
import time

from support import ferry, filled, peers

TITLE = "memory: proportional set size of all processes"


def run(bench):
    def idle():
        with ferry.Server(os.path.join(bench.folder, "idle")) as server:
            server.wait(server.submit(["true"]))
            time.sleep(3)
            return peers.pss_mb(server.pids())

    def large():
        with ferry.Server(filled.home(os.path.join(bench.folder, "large"))) as server:
            for path in ("?limit=50", "?status=Canceled", "?filter=metrics.loss%20%3C%200.01", "?group=status"):
                server.call("GET", "/api/v1/runs" + path)
            time.sleep(3)
            return peers.pss_mb(server.pids())

    def mlflow():
        with peers.MlflowServer(os.path.join(bench.folder, "mlflow")) as server:
            time.sleep(3)
            return peers.pss_mb(peers.process_tree(server.process.pid))

    def ray():
        with peers.RayHead(os.path.join(bench.folder, "ray")) as head:
            time.sleep(10)
            return peers.pss_mb(head.pids())

    subjects = {"ferry": idle, "large": large}
    for name, peer, what in (("mlflow", mlflow, "mlflow server"), ("ray", ray, "Ray head")):
        if peers.venv(name):
            subjects[what] = peer
            bench.versions[name] = peers.venv_version(name)
        else:
            bench.note(f"{what} could not be measured: run bench/install")
    samples = bench.alternate(bench.reps(5, 3), subjects, warm_up=0)
    bench.row("idle", "MB", samples["ferry"], {name: samples[name] for name in ("mlflow server", "Ray head") if samples.get(name)}, bar="30 MB", limit=30)
    bench.note("Ferry: the server, its agent and the supervisors of the runs that are running")
    bench.row("with 100,000 runs, 1,000 of them live", "MB", samples["large"], bar="80 MB", limit=80)
