"""print() in a script to a follower's screen: one follower, and 1,000 of them."""

import json
import os
import re
import subprocess
import time

from support import ferry, report
from support.bench import PYTHON, quiet_kill

TITLE = "`print` to a follower's screen"
FOLLOWERS = 1000
SCRIPT = """import sys, time
lines = int(sys.argv[1])
time.sleep(float(sys.argv[2]))
start = time.perf_counter()
for i in range(lines):
    sys.stdout.write(f"T {time.time_ns()}\\n")
    sys.stdout.flush()
    time.sleep(0.05)
spent = time.perf_counter() - start
time.sleep(1)
print("SPENT", spent, flush=True)
"""


def run(bench):
    source = os.path.join(bench.folder, "source")
    os.makedirs(source)
    with open(os.path.join(source, "talk.py"), "w") as file:
        file.write(SCRIPT)
    server = bench.keep(ferry.Server(os.path.join(bench.folder, "home")))
    command = [ferry.BINARY, "run", "submit-script", "--interpreter", PYTHON]
    lines = bench.reps(200, 100)

    def one():
        """Every line's way to the output of an attached command."""
        process = subprocess.Popen(command + ["talk.py", str(lines), "1"], env=server.env, cwd=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        times, spent, kept = [], None, b""
        with quiet_kill(process, 120):
            while piece := process.stdout.read(65536):
                now = time.time_ns()
                *whole, kept = (kept + piece).split(b"\n")
                for line in whole:
                    if line.startswith(b"T "):
                        times.append((now - int(line[2:])) / 1e6)
                    if line.startswith(b"SPENT "):
                        spent = float(line[6:])
        process.wait()
        if len(times) != lines or spent is None:
            raise RuntimeError(f"{len(times)} of {lines} lines came")
        return report.quantile(times, 0.5), report.quantile(times, 0.95), spent

    def crowd():
        name = subprocess.run(command + ["--async", "talk.py", str(lines), "4"], env=server.env, cwd=source, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        done = subprocess.run([ferry.program_of("follow"), str(server.port), str(FOLLOWERS), "120", f"/api/v1/runs/{name}/events", server.token], capture_output=True, text=True, timeout=180)
        if done.returncode:
            raise RuntimeError(done.stderr)
        found = json.loads(done.stdout.splitlines()[-1])
        if found["samples"] != FOLLOWERS * lines:
            raise RuntimeError(f"{found['samples']:,} of {FOLLOWERS * lines:,} lines came: {found}")
        connection = server.connect()
        connection.request("GET", f"/api/v1/runs/{name}/logs/user_logs/std_log.txt", headers={"Authorization": f"Bearer {server.token}"})
        text = connection.getresponse().read().decode()
        return found["p50"], found["p95"], float(re.search(r"SPENT ([\d.]+)", text).group(1)), found["max"]

    samples = bench.alternate(bench.reps(5, 3), {"ferry": one, "crowd": crowd})
    alone, many = samples["ferry"], samples["crowd"]
    bench.row("one follower: p95 of the lines", "ms", [s[1] for s in alone], bar="p95 200 ms", limit=200)
    bench.row("one follower: median of the lines", "ms", [s[0] for s in alone])
    bench.row(f"{FOLLOWERS:,} followers at 20 lines/s: p95 over all of them", "ms", [s[1] for s in many], bar="p95 500 ms", limit=500)
    bench.row(f"{FOLLOWERS:,} followers: the slowest line of any", "ms", [s[3] for s in many])
    bench.row(f"{FOLLOWERS:,} followers: the producer's slowdown", "%", [100 * (m[2] / a[2] - 1) for a, m in zip(alone, many)], bar="5 %", limit=5)
