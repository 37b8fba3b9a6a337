"""kill -9, cut lines, full disks: nothing that was acknowledged is lost, nothing happens twice, and every run says what happened."""

import contextlib
import glob
import functools
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from ferry_fixture import PYTHON, Ferry, is_alive, processes_of, read_tree, wait_until, write_tree

LOGGER = """
import sys, time
from azureml.core import Run
run = Run.get_context()
longest = 0
for i in range(int(sys.argv[1])):
    began = time.monotonic()
    run.log('n', i)
    longest = max(longest, time.monotonic() - began)
    print('line %06d' % i)
    time.sleep(float(sys.argv[2]))
print('longest %.3f' % longest)
"""


def logger(ferry, tmp_path, count, pause):
    return ferry.submit_script(write_tree(tmp_path / "logger", {"log.py": LOGGER}), "log.py", count, pause)


def check_logger(ferry, run, count):
    """Every line and every point, once, in order. Returns the longest time that a call of run.log() took."""
    view = ferry.wait(run, "Completed")
    lines = ferry.output(run).decode().splitlines()
    assert lines[:-1] == ["line %06d" % i for i in range(count)], lines
    assert ferry.points(run, "n") == list(range(count))
    assert view["attempt"] == 1
    return float(lines[-1].split()[1])


def test_kill_server_while_a_script_runs(ferry, tmp_path):
    run = logger(ferry, tmp_path, 150, 0.03)
    ferry.wait_output(run, "line 000010")
    supervisor = ferry.supervisor_of(run)
    ferry.kill_server()
    assert is_alive(supervisor["script"])
    time.sleep(1)
    ferry.start()
    ferry.wait_output(run, "line 000090")
    ferry.kill_server()
    ferry.start()
    assert check_logger(ferry, run, 150) < 0.5


def test_script_ends_while_the_server_is_away(ferry, tmp_path):
    run = logger(ferry, tmp_path, 30, 0.02)
    ferry.wait_output(run, "line 000003")
    script = ferry.supervisor_of(run)["script"]
    ferry.kill_server()
    wait_until("the script ends", lambda: not is_alive(script))
    ferry.start()
    check_logger(ferry, run, 30)


def test_server_stop_leaves_scripts_alone(ferry, tmp_path):
    run = logger(ferry, tmp_path, 120, 0.03)
    ferry.wait_output(run, "line 000005")
    script = ferry.supervisor_of(run)["script"]
    assert ferry.stop().returncode == 0
    assert is_alive(script) and not is_alive(ferry.pid)
    ferry.start()
    check_logger(ferry, run, 120)


def test_kill_agent_while_a_script_runs(ferry, tmp_path):
    run = logger(ferry, tmp_path, 150, 0.03)
    for line in ("line 000010", "line 000050", "line 000090"):
        ferry.wait_output(run, line)
        ferry.kill_agent()
    check_logger(ferry, run, 150)


def test_kill_server_and_agent_together(ferry, tmp_path):
    run = logger(ferry, tmp_path, 150, 0.03)
    ferry.wait_output(run, "line 000020")
    agent = ferry.agent_pid()
    os.kill(agent, signal.SIGKILL)
    ferry.kill_server()
    ferry.start()
    assert ferry.agent_pid() != agent
    check_logger(ferry, run, 150)


def test_script_ends_while_the_agent_is_away(ferry, tmp_path):
    source = write_tree(tmp_path / "src", {"a.py": "import os, time\nfrom azureml.core import Run\nrun = Run.get_context()\nprint('begun')\ntime.sleep(1)\nfor i in range(100): run.log('n', i)\nos.makedirs('outputs')\nopen('outputs/o.txt', 'w').write('o')\nprint('done')\nraise SystemExit(5)"})
    run = ferry.submit_script(source, "a.py")
    ferry.wait_output(run, "begun")
    script = ferry.supervisor_of(run)["script"]
    # Stopped, the server does not start another.
    os.kill(ferry.pid, signal.SIGSTOP)
    ferry.kill_agent()
    wait_until("the script ends", lambda: not is_alive(script))
    os.kill(ferry.pid, signal.SIGCONT)
    view = ferry.wait(run, "Failed")
    assert view["end"]["exit"]["code"] == 5 and view["attempt"] == 1
    assert ferry.output(run) == b"begun\ndone\n" and ferry.points(run, "n") == list(range(100))
    assert ferry.artifact(run, "outputs/o.txt").raw == b"o"


def test_kill_supervisor(ferry, tmp_path):
    pids = tmp_path / "pids"
    run = ferry.submit_python("import os, sys, time\nos.fork()\nopen(sys.argv[1], 'a').write('%d\\n' % os.getpid())\nprint('ready', flush=True)\ntime.sleep(100)", pids)
    wait_until("both run", lambda: pids.exists() and len(pids.read_text().split()) == 2)
    ferry.wait_output(run, "ready")
    os.kill(ferry.supervisor_of(run)["pid"], signal.SIGKILL)
    view = ferry.wait(run, "Failed", timeout=15)
    assert "supervisor" in view["end"]["text"], view["end"]
    wait_until("everything of the run is gone", lambda: not [pid for pid in map(int, pids.read_text().split()) if is_alive(pid)], timeout=5)
    assert ferry.log(run).count(b"ready") == 2
    wait_until("its control group is gone", lambda: not glob.glob("/sys/fs/cgroup/**/ferry-" + run, recursive=True))
    ferry.serves()


def test_metric_survives_kill_of_the_script(ferry, tmp_path):
    source = write_tree(tmp_path / "src", {"k.py": "import os, signal\nfrom azureml.core import Run\nrun = Run.get_context()\nfor i in range(20): run.log('n', i)\nrun.log('last', 42)\nos.kill(os.getpid(), signal.SIGKILL)"})
    runs = [ferry.submit_script(source, "k.py") for _ in range(5)]
    for run in runs:
        view = ferry.wait(run, "Failed")
        assert view["end"]["exit"]["signal"] == 9
        assert ferry.points(run, "n") == list(range(20)) and ferry.points(run, "last") == [42]


def test_cut_connection_blocks_no_call(ferry, tmp_path):
    run = logger(ferry, tmp_path, 200, 0.02)
    ferry.wait_output(run, "line 000010")
    os.kill(ferry.pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(ferry.pid, signal.SIGCONT)
    assert check_logger(ferry, run, 200) < 0.5


def test_submissions_while_the_server_is_killed_again_and_again(ferry, tmp_path):
    journal = tmp_path / "journal"
    acknowledged, stop = [], threading.Event()
    lock = threading.Lock()

    def submit(worker):
        number = 0
        while not stop.is_set():
            run = "load-%d-%d" % (worker, number)
            body = {"id": run, "experiment": "load", "command": ["sh", "-c", "echo $AZUREML_RUN_ID >> %s" % journal]}
            with contextlib.suppress(OSError, http.client.HTTPException):
                answer = ferry.api("POST", "/api/v1/runs", body, timeout=5)
                assert answer.status in (200, 201), answer
                assert answer.json["id"] == run
                with lock:
                    acknowledged.append(run)
                number += 1

    # The port stays the same over restarts, so the address does.
    workers = [threading.Thread(target=submit, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for round in range(6):
        before = len(acknowledged)
        wait_until("submissions go on", lambda: len(acknowledged) > before + 10, timeout=20)
        ferry.kill_server()
        if round % 2:
            ferry.kill_agent()
        ferry.start()
    stop.set()
    for worker in workers:
        worker.join()
    for run in acknowledged:
        ferry.wait(run, "Completed", timeout=60)
    wait_until("no run is left", lambda: not [run for status in ("Queued", "Starting", "Preparing", "Running", "Finalizing") for run in ferry.get("/runs?status=" + status)["runs"]])
    ran = journal.read_text().split()
    assert len(ran) == len(set(ran)), "a run ran twice"
    assert set(acknowledged) <= set(ran)
    # What was taken but not acknowledged exists once, too.
    listed = [run["id"] for run in ferry.get("/runs?limit=1000&experiment=load")["runs"]]
    assert sorted(listed) == sorted(ran)


def test_agent_killed_again_and_again_while_runs_start(ferry, tmp_path):
    journal = tmp_path / "journal"
    runs = [ferry.submit("sh", "-c", "echo $AZUREML_RUN_ID >> %s; sleep 0.05" % journal) for _ in range(150)]
    attempts = os.path.join(ferry.home, "agent", "attempts")
    for number in range(8):
        agent = ferry.kill_agent()
        agent = ferry.agent_pid()
        seen = set(os.listdir(attempts))
        wait_until("the agent takes up something new", lambda: not is_alive(agent) or set(os.listdir(attempts)) - seen, pause=0.0005)
        time.sleep(0.001 * number)
    for run in runs:
        assert ferry.wait(run, "Completed", timeout=60)["attempt"] == 1
    assert sorted(journal.read_text().split()) == sorted(runs)


def test_kill_server_during_the_upload_of_a_snapshot(ferry, tmp_path):
    source = write_tree(tmp_path / "src", {"t.py": "import hashlib\nprint(hashlib.sha256(open('big.bin', 'rb').read()).hexdigest())"})
    with open(os.path.join(source, "big.bin"), "wb") as file:
        for _ in range(60):
            file.write(os.urandom(1 << 20))
    for number in range(300):
        write_tree(source, {"small/%d.txt" % number: os.urandom(2000)})
    blobs = os.path.join(ferry.home, "blobs")

    def size():
        total = 0
        for base, _, names in os.walk(blobs):
            for name in names:
                with contextlib.suppress(OSError):
                    total += os.path.getsize(os.path.join(base, name))
        return total

    client = ferry.popen("run", "submit-script", "-e", "up", "--run-id", "up-1", "--interpreter", PYTHON, "--source-directory", source, "t.py")
    for part in (5 << 20, 25 << 20):
        wait_until("some of it has arrived", lambda: size() > part or client.poll() is not None, timeout=30, pause=0.002)
        ferry.kill_server()
        ferry.start()
    out, error = client.communicate(timeout=60)
    assert client.returncode == 0, (out, error)
    import hashlib

    with open(os.path.join(source, "big.bin"), "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() in out
    ferry.ok("run", "restore-snapshot", "-r", "up-1", "-d", tmp_path / "back")
    assert read_tree(tmp_path / "back") == read_tree(source)


def test_kill_server_during_the_upload_of_outputs(ferry, tmp_path):
    run = ferry.submit_python("import os\nos.makedirs('outputs')\nfor n in range(3): open('outputs/%d.bin' % n, 'wb').write(os.urandom(20 << 20))\nfor n in range(500): open('outputs/s%d' % n, 'w').write(str(n))\nimport hashlib\nfor n in range(3): print(hashlib.sha256(open('outputs/%d.bin' % n, 'rb').read()).hexdigest())")
    for round in range(3):
        wait_until("it is collected", lambda: ferry.status(run) in ("Finalizing", "Completed"), timeout=30, pause=0.001)
        ferry.kill_server()
        if round == 1:
            ferry.kill_agent()
        ferry.start()
    ferry.wait(run, "Completed")
    files = ferry.artifacts(run)
    assert len(files) == 503
    assert [files["outputs/%d.bin" % n]["digest"] for n in range(3)] == ferry.output(run).decode().split()
    assert all(ferry.artifact(run, "outputs/s%d" % n).raw == str(n).encode() for n in range(0, 500, 50))


def test_same_submission_twice_is_one_run(ferry, tmp_path):
    body = {"id": "twice", "experiment": "e", "command": ["sh", "-c", "echo x >> %s" % (tmp_path / "journal")]}
    first, second = ferry.api("POST", "/api/v1/runs", body), ferry.api("POST", "/api/v1/runs", body)
    assert (first.status, second.status) == (201, 200) and first.json["id"] == second.json["id"] == "twice"
    ferry.wait("twice", "Completed")
    assert ferry.api("POST", "/api/v1/runs", body).status == 200
    other = ferry.api("POST", "/api/v1/runs", dict(body, command=["true"]))
    assert other.status == 409 and other.error["field"] == "id"
    assert (tmp_path / "journal").read_text() == "x\n"
    assert len(ferry.get("/runs")["runs"]) == 1


class Agent:
    """An agent of the test's own on node local, which says everything twice."""

    def __init__(self, ferry):
        self.ferry, self.sequence = ferry, 10
        with open(os.path.join(ferry.home, "agent", "token")) as file:
            self.token = file.read().strip()
        protocol = ferry.get("/version")["protocol"]
        self.connection = http.client.HTTPConnection(ferry.url.split("//")[1])
        self.connection.request("GET", "/api/v1/agent/commands?node=local&protocol=%d" % protocol, headers={"Authorization": "Bearer " + self.token})
        self.commands = self.connection.getresponse()
        assert self.commands.status == 200
        self.generation = self.hello(1, 0)
        if self.hello(2, self.generation) != self.generation:
            self.generation = self.hello(3, self.generation)

    def hello(self, sequence, generation):
        return self.ferry.post("/agent/hello", {"node": "local", "target": "local", "generation": generation, "slots": 2, "gpus": [], "inventory": [], "session": 99, "sequence": sequence}, token=self.token)["generation"]

    def wait_assign(self, run):
        while True:
            line = self.commands.readline().decode()
            if line.startswith("data: ") and "assign" in line and run in line:
                return

    def upload(self, content):
        digest = hashlib.sha256(content).hexdigest()
        path = "/api/v1/agent/blobs/" + digest
        assert self.ferry.api("PUT", path + "/parts?offset=0", content, token=self.token).status == 200
        assert self.ferry.api("POST", path + "/finish", {"size": len(content)}, token=self.token).status == 200
        return digest

    def report(self, **parts):
        """Twice, as a repetition after a lost answer. Returns what was sent, to be sent again later."""
        self.sequence += 1
        body = dict({"node": "local", "generation": self.generation, "session": 99, "sequence": self.sequence, "logs": [], "records": [], "artifacts": [], "events": []}, **parts)
        answers = [self.say(body) for _ in range(2)]
        assert answers == [200, 409], answers
        return body

    def say(self, body):
        return self.ferry.api("POST", "/api/v1/agent/report", body, token=self.token).status

    def close(self):
        self.connection.close()


@pytest.fixture
def agent(ferry):
    ferry.stop()
    ferry.start("--agent", "false")
    own = Agent(ferry)
    yield own
    own.close()


def test_replayed_logs_and_metrics_are_harmless(ferry, agent):
    run = ferry.submit("true")
    agent.wait_assign(run)
    logs = [{"run": run, "attempt": 1, "stream": "user_logs/std_log.txt", "offset": 0, "data": "hello\n"}]
    text = "".join(json.dumps({"metric": "n", "value": n}) + "\n" for n in range(5))
    records = [{"run": run, "attempt": 1, "offset": 0, "text": text}]
    agent.report(logs=logs)
    agent.report(records=records)
    agent.report(logs=logs, records=records)
    assert ferry.log(run) == b"hello\n" and ferry.points(run, "n") == [0, 1, 2, 3, 4]
    # A node that was replaced may not write.
    stale = {"node": "local", "generation": agent.generation - 1, "session": 99, "sequence": 99, "logs": [dict(logs[0], offset=6, data="ghost\n")], "records": [], "artifacts": [], "events": []}
    agent.say(stale)
    assert ferry.log(run) == b"hello\n"


def test_replayed_events_and_artifacts_are_harmless(ferry, agent):
    run = ferry.submit("true")
    agent.wait_assign(run)

    def event(name, **fields):
        return [dict(fields, run=run, attempt=1, event=name)]

    def artifact(digest, content):
        return [{"run": run, "attempt": 1, "path": "outputs/model.bin", "digest": digest, "size": len(content)}]

    def state():
        view = ferry.show(run)
        files = {path: (item["digest"], item["size"]) for path, item in ferry.artifacts(run).items()}
        return {name: view.get(name) for name in ("status", "attempt", "attempts", "created", "started", "ended", "end")}, files

    said = [agent.report(events=event("Accepted")), agent.report(events=event("Started"))]
    assert ferry.status(run) == "Running"
    old, new = agent.upload(b"old"), agent.upload(b"newer")
    said.append(agent.report(artifacts=artifact(old, b"old")))
    said.append(agent.report(artifacts=artifact(new, b"newer")))
    assert ferry.artifact(run, "outputs/model.bin").raw == b"newer"
    said.append(agent.report(events=event("Exited", exit={"code": 3})))
    before = state()
    assert before[0]["status"] == "Finalizing" and before[1] == {"outputs/model.bin": (new, 5)}
    # An old report after a newer one: as it was, and as an agent would say the same again.
    for body in said:
        assert agent.say(body) == 409
        assert state() == before, body
    for again in ("Accepted", "Started"):
        agent.report(events=event(again))
        assert state() == before, again
    agent.report(events=event("Exited", exit={"code": 0}))
    assert state() == before
    said.append(agent.report(events=event("Collected")))
    before = state()
    assert before[0]["status"] == "Failed" and "3" in before[0]["end"]["text"]
    for body in said:
        agent.say(body)
        agent.report(artifacts=body["artifacts"], events=body["events"])
        assert state() == before, body
    # And none of it comes back with a restart.
    ferry.kill_server()
    ferry.start("--agent", "false")
    assert state() == before


def may_mount(test):
    """Root runs the test as it is; everybody else in namespaces of its own, where they may mount."""

    @functools.wraps(test)
    def run(**fixtures):
        if os.geteuid() == 0:
            return test(**fixtures)
        name = "%s::%s" % (__file__, test.__name__)
        done = subprocess.run(["unshare", "--map-root-user", "--mount", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout

    return run


@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0:
        yield None
        return
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "ferry-test", str(folder)], check=True)
    ferry = Ferry(folder / "home", ["--slots", "2"])
    yield ferry
    ferry.clean_up()
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder):
    """Leaves not one byte."""
    path = os.path.join(folder, "filler")
    with open(path, "ab", buffering=0) as file:
        piece = 1 << 20
        while piece:
            try:
                if file.write(b"\0" * piece) < piece:
                    piece //= 2
            except OSError:
                piece //= 2
    return path


@may_mount
def test_full_disk(small_disk, tmp_path):
    ferry = small_disk
    ferry.start()
    before = ferry.submit("true")
    ferry.wait(before, "Completed")
    running = ferry.submit_python("import time\nprint('a', flush=True)\ntime.sleep(4)\nprint('b', flush=True)")
    ferry.wait_output(running, "a")
    filler = fill(os.path.dirname(ferry.home))
    refused, taken = [], []
    for number in range(40):
        answer = ferry.api("POST", "/api/v1/runs", {"id": "full-%d" % number, "experiment": "e", "command": ["true"], "description": "x" * 30000})
        (taken if answer.status == 201 else refused).append(number)
        if answer.status != 201:
            assert answer.status == 507 and answer.error["message"], answer
    assert refused, "the disk is full and every submission was taken"
    big = write_tree(tmp_path / "src", {"t.py": "print(1)", "big.bin": os.urandom(8 << 20)})
    done = ferry.run("run", "submit-script", "-e", "e", "--run-id", "full-snapshot", "--source-directory", big, "t.py")
    assert done.returncode == 10 and done.stderr.count("\n") <= 2, done
    ferry.serves()
    for number in refused:
        assert ferry.api("GET", "/api/v1/runs/full-%d" % number).status == 404
    assert ferry.api("GET", "/api/v1/runs/full-snapshot").status == 404
    os.remove(filler)
    for number in refused[:3]:
        ferry.post("/runs", {"id": "full-%d" % number, "experiment": "e", "command": ["true"]})
    for number in taken + refused[:3]:
        ferry.wait("full-%d" % number, "Completed")
    ferry.wait(running, "Completed")
    assert ferry.run("run", "submit-script", "-e", "e", "--interpreter", PYTHON, "--run-id", "full-snapshot", "--source-directory", big, "t.py").returncode == 0
    ferry.kill_server()
    ferry.start()
    assert ferry.status("full-snapshot") == "Completed"


@may_mount
def test_full_disk_while_scripts_log_and_write(small_disk, tmp_path):
    ferry = small_disk
    ferry.start()
    source = write_tree(tmp_path / "src", {"a.py": "import os, time\nfrom azureml.core import Run\nrun = Run.get_context()\nprint('ready', flush=True)\nwhile not os.path.exists(os.environ['GO']): time.sleep(0.05)\nkept = 0\nfor i in range(2000):\n    try:\n        run.log('n', i)\n        kept += 1\n    except Exception: pass\nopen(os.environ['GO'] + '.kept', 'w').write(str(kept))\nwhile os.path.exists(os.environ['GO']): time.sleep(0.05)\nrun.log('after', 1)\n"})
    go = tmp_path / "go"
    run = ferry.submit_script(source, "a.py", options=("--env", "GO=%s" % go))
    ferry.wait_output(run, "ready")
    filler = fill(os.path.dirname(ferry.home))
    go.touch()
    kept = tmp_path / "go.kept"
    wait_until("the script goes on", kept.exists, timeout=60)
    ferry.serves()
    os.remove(filler)
    go.unlink()
    view = ferry.wait(run, "Completed", "Failed")
    assert view["status"] == "Completed", (view["end"], ferry.log(run))
    assert int(kept.read_text()) < 2000, "the disk was not full"
    assert ferry.points(run, "after") == [1]
    names = [item["name"] for item in ferry.get("/runs/%s/metrics" % run)["metrics"]]
    points = ferry.points(run, "n") if "n" in names else []
    assert len(points) >= int(kept.read_text() or 0) and len(points) == len(set(points))


@may_mount
def test_outputs_wait_for_room(small_disk, tmp_path):
    ferry = small_disk
    ferry.start()
    source = write_tree(tmp_path / "src", {"a.py": "import os\nos.makedirs('outputs')\nopen('outputs/x.bin', 'wb').write(os.urandom(20 << 20))\nprint('written', flush=True)\nimport time\nwhile not os.path.exists(os.environ['GO']): time.sleep(0.05)\n"})
    go = tmp_path / "go"
    run = ferry.submit_script(source, "a.py", options=("--env", "GO=%s" % go))
    ferry.wait_output(run, "written")
    filler = fill(os.path.dirname(ferry.home))
    go.touch()
    time.sleep(3)
    assert ferry.status(run) in ("Running", "Finalizing")
    assert ferry.get("/runs/%s/explain" % run)["explanation"]
    os.remove(filler)
    ferry.wait(run, "Completed")
    assert ferry.artifacts(run)["outputs/x.bin"]["size"] == 20 << 20


def test_nothing_is_left_behind(ferry, tmp_path):
    runs = [ferry.submit("sh", "-c", "mkdir outputs; echo x > outputs/x; sleep 0.2") for _ in range(6)]
    for run in runs:
        ferry.wait(run, "Completed")
    attempts = os.path.join(ferry.home, "agent", "attempts")
    wait_until("attempt folders are removed", lambda: not os.listdir(attempts))
    ferry.stop()
    wait_until("no process is left", lambda: not processes_of(ferry.home))


@may_mount
def test_a_full_disk_spoils_no_record_of_the_spool(ferry, tmp_path):
    """The supervisor alone, on a disk of 256 kB: what it says "ok" to is in the spool once, whole, whatever was refused in between."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "ferry-test", str(folder)], check=True)
    try:
        launch = {"name": "spool-1", "argv": ["sleep", "100"], "environment": {"PATH": os.environ["PATH"], "HERE": str(folder)}, "folder": str(folder), "token": "secret", "sample_seconds": 0, "stop_grace_seconds": 1}
        with subprocess.Popen([ferry.agent_program(), "nursery", str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
            assert nursery.stdout.readline() == "\n"
            nursery.stdin.write(json.dumps({"folder": str(folder), "launch": launch}) + "\n")
            nursery.stdin.flush()
            assert json.loads(nursery.stdout.readline())["error"] == ""
            nursery.stdin.close()
        supervisor = json.loads((folder / "supervisor.json").read_text())["pid"]
        with open("/proc/%d/task/%d/children" % (supervisor, supervisor)) as file:
            script = int(file.read().split()[0])
        with open("/proc/%d/environ" % script, "rb") as file:
            address = dict(part.split(b"=", 1) for part in file.read().split(b"\0") if part)[b"FERRY_RUN_SOCKET"].decode()
        kept, number, channel = [], 0, None
        filler = None
        # Some before it is full, so that the last page ends within a record.
        for count in (20, 300, 300):
            for _ in range(count):
                if channel is None:
                    channel = socket.create_connection(address.split(":"), timeout=10)
                    answers = channel.makefile("r")
                    channel.sendall(b"FERRY1 secret\n")
                    assert answers.readline() == "ok\n"
                number += 1
                record = json.dumps({"id": "me:%d" % number, "metric": "m", "value": number, "pad": "x" * (number % 97)})
                channel.sendall(record.encode() + b"\n")
                answer = answers.readline()
                if answer == "ok\n":
                    kept.append(record)
                else:
                    assert answer.startswith("error ") and "space" in answer, answer
                    number -= 1
                    channel.close()
                    channel = None
            if count == 20:
                filler = fill(str(folder))
            elif os.path.exists(filler):
                assert 20 < len(kept) < 300, "the disk was not full"
                os.remove(filler)
        assert (folder / "spool").read_text().splitlines() == kept and number == len(kept) > 300
        os.kill(supervisor, signal.SIGTERM)
        wait_until("the supervisor ends", lambda: not is_alive(supervisor), timeout=10)
        assert json.loads((folder / "exit.json").read_text())["signal"] == 15
    finally:
        for pid in processes_of(str(folder)):
            os.kill(pid, signal.SIGKILL)
        subprocess.run(["umount", "-l", str(folder)], check=True)
