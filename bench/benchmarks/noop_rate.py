"""2,000 runs of `true`, each its own submission, until all have ended."""

import os
import subprocess
import time

from support import ferry, peers
from support.bench import output, wait_until

TITLE = "2,000 no-op runs submitted and completed"
COUNT = 2000
BATCH_JOBS = 20


def run(bench):
    server = bench.keep(ferry.Server(os.path.join(bench.folder, "home")))
    state = {"round": 0}

    def ferry_rate():
        state["round"] += 1
        experiment = f"noop{state['round']}"
        began = time.monotonic()
        load = server.load("POST", "/api/v1/runs", [{"experiment": experiment, "command": ["true"]}], connections=4, requests=COUNT)
        submitted = time.monotonic() - began
        connection = server.connect()

        def ended():
            return server.counts(experiment, connection).get("Completed", 0) == COUNT
        wait_until(ended, 300, f"{COUNT} completed runs", 0.1)
        state.setdefault("submits", []).append(COUNT / load["seconds"])
        state["submitted"] = submitted
        return COUNT / (time.monotonic() - began)

    def parallel_rate():
        began = time.monotonic()
        subprocess.run(["parallel", "-j2", "true"], input="\n".join(map(str, range(COUNT))), text=True, check=True, timeout=300, env={**os.environ, "PARALLEL_HOME": bench.folder})
        return COUNT / (time.monotonic() - began)

    subjects = {"ferry": ferry_rate, "GNU parallel -j2": parallel_rate}
    try:
        slurm = bench.keep(peers.Slurm(os.path.join(bench.folder, "slurm")))
        bench.versions["slurm"] = peers.slurm_version()
        script = os.path.join(bench.folder, "true.sh")
        with open(script, "w") as file:
            file.write("#!/bin/sh\ntrue\n")

        def sbatch_rate():
            began = time.monotonic()
            for _ in range(BATCH_JOBS):
                subprocess.run(["sbatch", "-n1", "--output=/dev/null", script], env=slurm.env, check=True, capture_output=True, timeout=30)
            wait_until(lambda: not output("squeue", "-h", env=slurm.env), 300, "the end of the batch jobs", 0.05)
            return BATCH_JOBS / (time.monotonic() - began)
        subjects["sbatch"] = sbatch_rate
        bench.note(f"sbatch: {BATCH_JOBS} jobs, the rate taken to hold for {COUNT}")
    except (RuntimeError, OSError) as error:
        bench.note(f"sbatch could not be measured: {error}")
    bench.versions["parallel"] = (output("parallel", "--version").split("\n")[0] or "missing").replace("GNU parallel ", "")
    samples = bench.alternate(bench.reps(5, 3), subjects, every={"sbatch": 5})
    mine = samples.pop("ferry")
    bench.row("2,000 runs of `true`, submitted and completed", "/s", mine, samples, bar="the rate of GNU parallel `-j2 true`", better="more", beat={"GNU parallel -j2": 1})
    bench.row("of this, submissions acknowledged as durable over 4 connections", "/s", state["submits"][1:], better="more")
