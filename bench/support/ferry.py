"""A Ferry server of the benchmark's own, its command line, and load on it."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile

from . import peers
from .bench import BUILD, ROOT, output, run, wait_until

BINARY = os.environ.get("FERRY_BINARY") or os.path.join(ROOT, "build", "ferry")


def version():
    text = output(BINARY, "version")
    return text.splitlines()[0].replace("ferry ", "") if text else "unknown"


def environment(home):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("FERRY_", "AZUREML_", "MLFLOW_"))}
    env["FERRY_HOME"] = home
    return env


class Server:
    """`with Server(folder) as server`: started, and stopped with everything below its home at the end."""

    def __init__(self, home, settings=(), keep_home=False):
        self.home, self.settings, self.keep_home = home, list(settings), keep_home
        self.env = environment(home)

    def __enter__(self):
        os.makedirs(self.home, exist_ok=True)
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        # Scripts outlive their server, as they should; here they end with it.
        left = set()
        for pid in self.pids():
            left.update(peers.process_tree(pid))
        if left:
            peers.end_processes(sorted(left), grace=3)
        if not self.keep_home:
            shutil.rmtree(self.home, ignore_errors=True)

    def start(self):
        run([BINARY, "server", "start", "--quiet"] + self.settings, env=self.env, timeout=60)
        with open(os.path.join(self.home, "server.json")) as file:
            facts = json.load(file)
        self.url, self.pid = facts["url"], facts["pid"]
        self.port = int(self.url.rsplit(":", 1)[1])
        with open(os.path.join(self.home, "admin.token")) as file:
            self.token = file.read().strip()

    def stop(self):
        subprocess.run([BINARY, "server", "stop"], env=self.env, timeout=60, capture_output=True)

    def kill(self):
        """kill -9 of the server alone; its agent and the scripts go on."""
        os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not alive(self.pid), 10, "the end of the killed server", 0.001)

    def pids(self):
        """Every process of this server: itself, its agent, and the supervisors, which carry its home in their arguments."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read()
            except OSError:
                continue
            if (self.home + "/agent").encode() in words or (self.home + "/nodes").encode() in words or int(name) == self.pid and alive(self.pid):
                found.append(int(name))
        return found

    # --- requests
    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def call(self, method, path, body=None, connection=None):
        connection = connection or self.connect()
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {text[:300].decode(errors='replace')}")
        return json.loads(text)

    def submit(self, command, **fields):
        """Submits a command and returns the run's id."""
        return self.call("POST", "/api/v1/runs", {"experiment": "bench", "command": command, **fields})["id"]

    def wait(self, run_id, statuses=("Completed", "Failed", "Canceled"), timeout=60):
        def look():
            found = self.call("GET", f"/api/v1/runs/{run_id}")
            return found if found["status"] in statuses else None
        return wait_until(look, timeout, f"{run_id} as {statuses[0]}")

    def counts(self, experiment, connection=None):
        groups = self.call("GET", f"/api/v1/runs?group=status&experiment={experiment}", connection=connection)["groups"]
        return {group["value"]: group["count"] for group in groups}

    def load(self, *args, **kwargs):
        return load(self.port, *args, headers=[f"Authorization: Bearer {self.token}", "Content-Type: application/json"], **kwargs)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def program_of(name):
    """bench/support/NAME.c, compiled when it is newer than its program."""
    source = os.path.join(ROOT, "bench", "support", name + ".c")
    program = os.path.join(BUILD, name)
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        os.makedirs(BUILD, exist_ok=True)
        run(["gcc", "-O2", "-o", program, source])
    return program


def load(port, method, path, bodies=(), connections=4, requests=1000, timeout=120, headers=()):
    """Sends requests as fast as they are answered; see load.c. Every one must succeed."""
    with tempfile.TemporaryDirectory() as folder:
        heads, texts = os.path.join(folder, "headers"), "-"
        with open(heads, "w") as file:
            file.write("\n".join(headers))
        if bodies:
            texts = os.path.join(folder, "bodies")
            with open(texts, "w") as file:
                file.write("\n".join(body if isinstance(body, str) else json.dumps(body, separators=(",", ":")) for body in bodies))
        done = subprocess.run([program_of("load"), str(port), str(connections), str(requests), str(timeout), method, path, heads, texts],
                              capture_output=True, text=True, timeout=timeout + 30)
    if done.returncode:
        raise RuntimeError(f"the load on {method} {path} failed: {done.stderr.strip()} {done.stdout.strip()}")
    result = json.loads(done.stdout)
    if result["failed"]:
        raise RuntimeError(f"{result['failed']} of {result['requests']} requests to {method} {path} failed: {result['last_status']} {result['last_reply']}")
    return result
