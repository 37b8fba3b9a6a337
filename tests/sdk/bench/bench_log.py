"""Acknowledged log() calls per second against a trivial supervisor, and the import time. Run: python3 bench_log.py"""

import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SDK = os.path.join(HERE, "..", "..", "..", "sdk", "python")
CALLS = 60_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        echo = os.path.join(folder, "echo")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", echo, os.path.join(HERE, "echo.c")], check=True)
        with subprocess.Popen([echo], stdout=subprocess.PIPE, text=True) as server:
            try:
                measure(server.stdout.readline().strip())
            finally:
                server.kill()
    for what in ("import azureml.core", "from azureml.core import Run"):
        code = f"import time; t = time.perf_counter(); {what}; print((time.perf_counter() - t) * 1e3)"
        times = sorted(float(subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": SDK}, check=True,
                                            capture_output=True, text=True).stdout) for _ in range(9))
        print(f"{what}: {times[4]:.1f} ms")


def measure(port: str) -> None:
    os.environ.update(FERRY_RUN_SOCKET="127.0.0.1:" + port, AZUREML_RUN_ID="bench", AZUREML_RUN_TOKEN="t")
    sys.path.insert(0, SDK)
    from azureml.core import Run

    run = Run.get_context()
    run.log("loss", 0.5)
    spent = []
    start = before = time.perf_counter()
    for i in range(CALLS):
        run.log("loss", 0.5 / (i + 1), step=i)
        after = time.perf_counter()
        spent.append(after - before)
        before = after
    total = before - start
    spent.sort()
    print(f"{CALLS / total:,.0f} calls/s, p50 {spent[CALLS // 2] * 1e6:.0f} us, p99 {spent[CALLS * 99 // 100] * 1e6:.0f} us, "
          f"max {spent[-1] * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
