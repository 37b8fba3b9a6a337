"""Ray on one node: ``python -m ferry.ray_cluster [options] -- SCRIPT ARGUMENTS...`` starts a head and workers, runs the script, and ends them.

The script finds the cluster by RAY_ADDRESS, which ``ray.init()`` and ``ray.init(address="auto")`` read.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """A head and so many workers, as processes of this one."""

    def __init__(self, workers: int, head_arguments: list[str], worker_arguments: list[str], folder: str) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self._workers = workers
        self._head_arguments, self._worker_arguments = head_arguments, worker_arguments
        self._folder = folder
        self._processes: list[Any] = []

    def start(self, seconds: float) -> None:
        """Returns when all of them have joined. Raises RuntimeError when one ends, or when it takes longer."""
        port = self.address.rpartition(":")[2]
        shared = ["--block", "--node-ip-address=127.0.0.1"]
        # What a version of Ray does not know is left out. Several raylets share this machine: the ports that Ray fixes are left to chance.
        known = self._ray("--help", stdout=subprocess.PIPE).communicate()[0].decode("utf-8", "replace")
        shared += [option for option in ("--disable-usage-stats", "--dashboard-agent-listen-port=0") if option.partition("=")[0] in known]
        head = [option for option in ("--include-dashboard=false", f"--temp-dir={self._folder}") if option.partition("=")[0] in known]
        self._run(["--head", f"--port={port}", *head, *shared, *self._head_arguments])
        deadline = time.monotonic() + seconds
        self._wait(1, deadline)
        # One after the other: raylets that start at once on a busy machine time each other out.
        for number in range(self._workers):
            self._run([f"--address={self.address}", *shared, *self._worker_arguments])
            self._wait(2 + number, deadline)

    def stop(self) -> None:
        """Ends all of them."""
        for process in reversed(self._processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in reversed(self._processes):
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _run(self, arguments: list[str]) -> None:
        self._processes.append(self._ray(*arguments, stdout=sys.stderr))

    @staticmethod
    def _ray(*arguments: str, stdout: Any) -> Any:
        program = os.path.join(os.path.dirname(sys.executable), "ray")
        command = [program] if os.access(program, os.X_OK) else [sys.executable, "-m", "ray.scripts.scripts"]
        return subprocess.Popen([*command, "start", *arguments], stdin=subprocess.DEVNULL, stdout=stdout)

    def _wait(self, nodes: int, deadline: float) -> None:
        alive = 0
        while alive < nodes:
            for process in self._processes:
                if process.poll() is not None:
                    raise RuntimeError(f"a process of Ray ended with status {process.returncode} before the cluster was there; its words are above")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{alive} of {nodes} nodes of Ray had joined when the time for it was over (cluster_coordination_timeout_seconds)")
            alive = self._alive()
            if alive < nodes:
                time.sleep(0.3)

    def _alive(self) -> int:
        """How many nodes have joined. Asked in a process of its own: a connection here would hold the cluster."""
        program = ("import json, ray, sys\n"
                   "ray.init(address=sys.argv[1], logging_level='error', log_to_driver=False)\n"
                   "print(json.dumps(sum(1 for node in ray.nodes() if node['Alive'])))\n")
        try:
            done = subprocess.run([sys.executable, "-c", program, self.address], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  stdin=subprocess.DEVNULL, timeout=60)
            return int(json.loads(done.stdout.decode().strip().splitlines()[-1])) if done.returncode == 0 else 0
        except (subprocess.TimeoutExpired, ValueError, IndexError):
            return 0


def main(arguments: list[str] | None = None) -> int:
    """Runs the script within a cluster; its exit status is this one's."""
    parser = argparse.ArgumentParser(prog="ferry.ray_cluster")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("--head", default="[]", help="further arguments of the head, as JSON")
    parser.add_argument("--worker", default="[]", help="further arguments of each worker, as JSON")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    words = given.script[1:] if given.script[:1] == ["--"] else given.script
    if not words:
        parser.error("the script is missing")
    # Ray keeps sockets there, whose paths must be short.
    folder = tempfile.mkdtemp(prefix="ray")
    cluster = Cluster(given.workers, json.loads(given.head), json.loads(given.worker), folder)
    try:
        cluster.start(given.timeout)
        print(f"ferry: Ray has a head and {given.workers} workers at {cluster.address}", flush=True)
        script = subprocess.Popen([sys.executable, *words], env={**os.environ, "RAY_ADDRESS": cluster.address})
        signal.signal(signal.SIGTERM, lambda *_: script.send_signal(signal.SIGTERM))
        status = script.wait()
        return status if status >= 0 else 128 - status
    except RuntimeError as error:
        print(f"ferry: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        cluster.stop()
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
