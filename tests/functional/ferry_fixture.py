"""A real Ferry server in a folder of its own, with what tests do to it: ask, submit, wait, kill."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("FERRY_BINARY") or os.path.join(ROOT, "build", "ferry")
PYTHON = sys.executable
TERMINAL = ("Completed", "Failed", "Canceled", "NotResponding")


def wait_until(what, condition, timeout=20.0, pause=0.02):
    """Polls until condition() is true and returns its value; fails with `what` at the deadline."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("not within %.0f s: %s" % (timeout, what() if callable(what) else what))
        time.sleep(pause)


def is_alive(pid):
    """Whether the process runs; a zombie does not."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_of(folder):
    """Every live process whose command line or environment names the folder."""
    needle = os.fsencode(folder)
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            text = b""
            for part in ("cmdline", "environ"):
                with open("/proc/%s/%s" % (name, part), "rb") as file:
                    text += file.read()
            if needle in text and is_alive(int(name)):
                found.append(int(name))
    return found


class Answer:
    """A status with a JSON body (or its raw bytes)."""

    def __init__(self, status, headers, raw):
        self.status, self.headers, self.raw = status, headers, raw

    @property
    def json(self):
        return json.loads(self.raw)

    @property
    def error(self):
        return self.json["error"]

    def __repr__(self):
        return "<%d %r>" % (self.status, self.raw[:300])


class Ferry:
    def __init__(self, home, settings=()):
        self.home = str(home)
        self.settings = list(settings)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("FERRY_")}
        self.environment["FERRY_HOME"] = self.home
        self.token = None
        self.url = None
        self.pid = None

    # --- the server

    def start(self, *settings):
        done = self.run("server", "start", *self.settings, *settings)
        assert done.returncode == 0, done
        return self.attach()

    def attach(self):
        """Reads where the server is."""
        status = json.loads(self.run("server", "status", "-o", "json").stdout)
        assert status["status"] == "running", status
        self.url, self.pid = status["url"], status["pid"]
        with open(os.path.join(self.home, "admin.token")) as file:
            self.token = file.read().strip()
        return self

    def stop(self):
        return self.run("server", "stop")

    def kill_server(self):
        os.kill(self.pid, signal.SIGKILL)
        wait_until("the server is gone", lambda: not is_alive(self.pid))

    def agent_pid(self):
        def read():
            with contextlib.suppress(OSError, ValueError):
                with open(os.path.join(self.home, "agent", "agent.json")) as file:
                    pid = json.load(file)["pid"]
                return pid if is_alive(pid) else None

        return wait_until("an agent runs", read)

    def agent_program(self):
        """The static agent that the server has unpacked."""
        return os.readlink("/proc/%d/exe" % self.agent_pid())

    def kill_agent(self):
        pid = self.agent_pid()
        os.kill(pid, signal.SIGKILL)
        wait_until("the agent is gone", lambda: not is_alive(pid))
        return pid

    def supervisor_of(self, run, attempt=1):
        """{"pid", "script"} of the run's supervisor."""
        folder = os.path.join(self.home, "agent", "attempts")

        def read():
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                if name.startswith(run):
                    with contextlib.suppress(OSError, ValueError):
                        with open(os.path.join(folder, name, "supervisor.json")) as file:
                            pid = json.load(file)["pid"]
                        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
                            children = file.read().split()
                        return {"pid": pid, "script": int(children[0])} if children else None

        return wait_until("run %s has a supervisor" % run, read)

    def clean_up(self):
        with contextlib.suppress(Exception):
            self.stop()
        for _ in range(3):
            for pid in processes_of(self.home):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not processes_of(self.home):
                break
            time.sleep(0.05)

    # --- the command line

    def popen(self, *arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("env", self.environment)
        options.setdefault("text", True)
        return subprocess.Popen([BINARY, *map(str, arguments)], **options)

    def run(self, *arguments, timeout=60, env=None, **options):
        environment = dict(self.environment, **(env or {}))
        return subprocess.run([BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True, timeout=timeout, **options)

    def ok(self, *arguments, **options):
        done = self.run(*arguments, **options)
        assert done.returncode == 0, done
        return done.stdout

    def json(self, *arguments, **options):
        return json.loads(self.ok(*arguments, "-o", "json", **options))

    # --- the interface

    def api(self, method, path, body=None, token="", headers=None, timeout=30):
        """token: "" the admin's, None none at all."""
        request = urllib.request.Request(self.url + path, method=method)
        token = self.token if token == "" else token
        if token is not None:
            request.add_header("Authorization", "Bearer " + token)
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        if body is not None:
            request.data = body if isinstance(body, bytes) else json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return Answer(reply.status, reply.headers, reply.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())

    def get(self, path, **options):
        answer = self.api("GET", "/api/v1" + path, **options)
        assert answer.status == 200, (path, answer)
        return answer.json

    def post(self, path, body=None, expect=(200, 201), **options):
        answer = self.api("POST", "/api/v1" + path, {} if body is None else body, **options)
        assert answer.status in expect, (path, answer)
        return answer.json

    def serves(self):
        assert self.api("GET", "/healthz", token=None).status == 200
        assert self.api("GET", "/api/v1/runs?limit=1").status == 200

    # --- runs

    def submit(self, *command, experiment="test", **fields):
        """A run of a program, by the interface. Returns its id."""
        return self.post("/runs", dict(fields, experiment=experiment, command=[str(word) for word in command]))["id"]

    def submit_python(self, text, *arguments, **fields):
        return self.submit(PYTHON, "-c", text, *arguments, **fields)

    def submit_script(self, folder, script, *arguments, options=()):
        """A script of a folder, by the command line, not waited for. Returns its id."""
        return self.ok("run", "submit-script", "--async", "-e", "test", "--interpreter", PYTHON, "--source-directory", folder, *options, script, *arguments).strip()

    def show(self, run):
        return self.get("/runs/" + run)

    def status(self, run):
        return self.show(run)["status"]

    def wait(self, run, *statuses, timeout=40):
        statuses = statuses or TERMINAL
        seen = []

        def there():
            try:
                view = self.show(run)
            except (OSError, http.client.HTTPException):
                return None
            seen[:] = [view]
            assert view["status"] in statuses or view["status"] not in TERMINAL, view
            return view if view["status"] in statuses else None

        return wait_until(lambda: "run %s is %s: %s" % (run, "/".join(statuses), seen), there, timeout)

    def log(self, run, stream="user_logs/std_log.txt", **query):
        answer = self.api("GET", "/api/v1/runs/%s/logs/%s?%s" % (run, stream, urllib.parse.urlencode(query)))
        return answer.raw if answer.status == 200 else b""

    def output(self, run):
        """What the script wrote, without the line that names the interpreter."""
        raw = self.log(run)
        return raw.partition(b"\n")[2] if raw.startswith(b"ferry: ") else raw

    def wait_output(self, run, piece, timeout=20):
        piece = piece if isinstance(piece, bytes) else piece.encode()
        return wait_until(lambda: "the output has %r: %r" % (piece, self.log(run)), lambda: piece in self.log(run) and self.log(run), timeout)

    def metrics(self, run):
        return self.get("/runs/%s/metrics?values=1" % run)["values"]

    def points(self, run, metric, limit=1000000):
        return [point["value"] for point in self.get("/runs/%s/metrics/%s?limit=%d" % (run, metric, limit))["points"]]

    def artifacts(self, run):
        return {item["path"]: item for item in self.get("/runs/%s/artifacts" % run)["artifacts"]}

    def artifact(self, run, path, **options):
        return self.api("GET", "/api/v1/runs/%s/artifacts/%s" % (run, path), **options)


def write_tree(folder, files):
    """Writes {relative path: text or bytes} below the folder and returns it."""
    for name, content in files.items():
        path = os.path.join(str(folder), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    return str(folder)


def read_tree(folder):
    tree = {}
    for base, _, names in os.walk(str(folder)):
        for name in names:
            path = os.path.join(base, name)
            with open(path, "rb") as file:
                tree[os.path.relpath(path, str(folder))] = file.read()
    return tree
