"""What a run brings back when nothing goes wrong."""

import hashlib
import os
import subprocess
import time

from ferry_fixture import PYTHON, ROOT, is_alive, read_tree, wait_until, write_tree


def test_hello(shared, tmp_path):
    done = shared.run("run", "submit-script", "-e", "hello", "--interpreter", PYTHON, "--run-id", "hello-1", "--source-directory", os.path.join(ROOT, "examples", "hello"), "hello.py")
    assert done.returncode == 0, done
    assert "hello from hello-1\n" in done.stdout
    view = shared.show("hello-1")
    assert view["status"] == "Completed" and view["tags"] == {"kind": "example"}
    assert shared.metrics("hello-1") == {"greeting": "hello", "square": [n * n for n in range(10)]}
    shared.ok("run", "download", "-r", "hello-1", "-d", tmp_path / "down")
    assert read_tree(tmp_path / "down") == {"outputs/hello.txt": b"hello\n"}
    assert [stage["name"] for stage in view["stages"]] and all(stage["start"] and stage["end"] for stage in view["stages"])
    explained = shared.ok("run", "explain", "-r", "hello-1")
    assert "ended" in explained


def test_first_run_after_the_start_does_not_wait(home):
    for _ in range(4):
        home.start()
        began = time.monotonic()
        run = home.submit("true")
        home.wait(run, "Completed")
        assert time.monotonic() - began < 4
        home.stop()


def test_sklearn(shared, tmp_path):
    run = shared.submit_script(os.path.join(ROOT, "examples", "sklearn"), "train.py", "--alphas", "5")
    view = shared.wait(run, timeout=90)
    assert view["status"] == "Completed", shared.log(run)
    metrics = shared.metrics(run)
    assert len(metrics["alpha"]) == len(metrics["mse"]) == 5 and metrics["best_mse"] == min(metrics["mse"])
    assert view["tags"]["best_alpha"] == "%.2f" % metrics["best_alpha"]
    shared.ok("run", "download", "-r", run, "-d", tmp_path / "down")
    model = read_tree(tmp_path / "down")["outputs/ridge_best.pkl"]
    assert hashlib.sha256(model).hexdigest() == shared.artifacts(run)["outputs/ridge_best.pkl"]["digest"]


def test_output_is_seen_while_the_script_runs(shared):
    follower = shared.popen("run", "submit-command", "-e", "live", "--run-id", "live-1", "--", "sh", "-c", "echo begun; sleep 4; echo done")
    began = time.monotonic()
    line = follower.stdout.readline()
    assert line == "begun\n" and time.monotonic() - began < 3
    shared.wait("live-1", "Running", timeout=1)
    rest, _ = follower.communicate(timeout=20)
    assert rest.startswith("done\n") and follower.returncode == 0


def test_stdout_and_stderr_stay_in_order(shared):
    run = shared.submit_python("import os\nfor i in range(300): os.write(1 + i % 2, b'line %d\\n' % i)")
    shared.wait(run, "Completed")
    assert shared.output(run) == b"".join(b"line %d\n" % i for i in range(300))


def test_output_bytes_are_kept_exactly(shared):
    run = shared.submit_python("import os\nos.write(1, bytes(range(256)) * 40 + b'\\xff\\xfe\\r\\n\\x00end')")
    shared.wait(run, "Completed")
    assert shared.output(run) == bytes(range(256)) * 40 + b"\xff\xfe\r\n\x00end"


def test_large_output_is_whole(shared, tmp_path):
    run = shared.submit_python("for i in range(400000): print('%07d %s' % (i, 'x' * 40))")
    shared.wait(run, "Completed")
    shared.ok("run", "download-logs", "-r", run, "-d", tmp_path / "logs")
    expected = b"".join(b"%07d %s\n" % (i, b"x" * 40) for i in range(400000))
    assert read_tree(tmp_path / "logs")["user_logs/std_log.txt"] == expected


def test_files_under_logs_are_streamed_while_written(shared):
    text = "import os, time\nos.makedirs('logs/deep')\nf = open('logs/deep/train.log', 'w')\nfor i in range(100):\n f.write('step %d\\n' % i); f.flush(); time.sleep(0.05)"
    run = shared.submit_python(text)
    wait_until("the log streams", lambda: b"step 3\n" in shared.log(run, "logs/deep/train.log"), timeout=4)
    assert shared.status(run) == "Running"
    shared.wait(run, "Completed")
    assert shared.log(run, "logs/deep/train.log") == b"".join(b"step %d\n" % i for i in range(100))


def test_outputs_are_collected_during_the_run_and_after(shared):
    text = "import os, time\nos.makedirs('outputs/sub')\nopen('outputs/sub/early.bin', 'wb').write(b'early' * 1000)\nwhile not os.path.exists('outputs/go'): time.sleep(0.1)\nopen('outputs/late.txt', 'w').write('late')\nopen('outputs/sub/early.bin', 'ab').write(b'more')"
    run = shared.submit_python(text)
    wait_until("the settled file is there", lambda: "outputs/sub/early.bin" in shared.artifacts(run), timeout=20)
    assert shared.status(run) == "Running"
    assert shared.artifact(run, "outputs/sub/early.bin").raw == b"early" * 1000
    attempts = os.path.join(shared.home, "agent", "attempts")
    folder = next(name for name in os.listdir(attempts) if name.startswith(run))
    open(os.path.join(attempts, folder, "work", "outputs", "go"), "w").close()
    shared.wait(run, "Completed")
    assert shared.artifact(run, "outputs/late.txt").raw == b"late"
    assert shared.artifact(run, "outputs/sub/early.bin").raw == b"early" * 1000 + b"more"


def test_outputs_equal_and_ranges(shared, tmp_path):
    run = shared.submit_python("import os\nos.makedirs('outputs')\nopen('outputs/big.bin', 'wb').write(bytes(range(256)) * 50000)\nopen('outputs/empty', 'w')\nopen('outputs/n\\u00e4me x.txt', 'w').write('a')")
    shared.wait(run, "Completed")
    shared.ok("run", "download", "-r", run, "-d", tmp_path / "down")
    assert read_tree(tmp_path / "down") == {"outputs/big.bin": bytes(range(256)) * 50000, "outputs/empty": b"", "outputs/n\u00e4me x.txt": b"a"}
    part = shared.artifact(run, "outputs/big.bin", headers={"Range": "bytes=300-304"})
    assert part.status == 206 and part.raw == bytes([44, 45, 46, 47, 48])
    assert shared.artifact(run, "outputs/big.bin", headers={"Range": "bytes=99999999-"}).status == 416


def test_snapshot_is_restored_equal_and_the_source_is_left_alone(shared, tmp_path):
    files = {"train.py": "open('new.txt', 'w').write('x'); open('data/a.txt', 'w').write('changed')", "data/a.txt": "a", "data/b.bin": bytes(range(256)) * 9000, "skip/me.txt": "no", ".amlignore": "skip/\n"}
    source = write_tree(tmp_path / "src", files)
    os.chmod(os.path.join(source, "train.py"), 0o755)
    run = shared.submit_script(source, "train.py")
    shared.wait(run, "Completed")
    assert read_tree(source) == {name: content if isinstance(content, bytes) else content.encode() for name, content in files.items()}
    shared.ok("run", "restore-snapshot", "-r", run, "-d", tmp_path / "back")
    expected = read_tree(source)
    del expected["skip/me.txt"]
    assert read_tree(tmp_path / "back") == expected
    assert os.access(tmp_path / "back" / "train.py", os.X_OK) and not os.access(tmp_path / "back" / "data" / "a.txt", os.X_OK)


def test_git_facts(shared, tmp_path):
    source = write_tree(tmp_path / "repo", {"train.py": "print('hi')"})
    identity = dict(os.environ, GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@example.org", GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@example.org", GIT_CONFIG_GLOBAL="/dev/null")
    for command in ("git init -q -b trunk", "git remote add origin https://example.org/team/repo.git", "git add .", "git commit -q -m one"):
        subprocess.run(command.split(), cwd=source, env=identity, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    clean = shared.submit_script(source, "train.py")
    write_tree(source, {"train.py": "print('changed')"})
    dirty = shared.submit_script(source, "train.py")
    for run, is_dirty in ((clean, "False"), (dirty, "True")):
        facts = shared.wait(run, "Completed")["properties"]
        assert facts["azureml.git.branch"] == facts["mlflow.source.git.branch"] == "trunk"
        assert facts["azureml.git.commit"] == facts["mlflow.source.git.commit"] == commit
        assert facts["azureml.git.repository_uri"] == facts["mlflow.source.git.repoURL"] == "https://example.org/team/repo.git"
        assert facts["azureml.git.dirty"].lower() == is_dirty.lower()


def test_names_in_arguments_are_expanded_on_the_node(shared, tmp_path):
    source = write_tree(tmp_path / "src", {"show.py": "import sys\nprint(sys.argv[1:])"})
    run = shared.submit_script(source, "show.py", "--id", "$AZUREML_RUN_ID", "${WHERE}/x", "$$WHERE", "$NO_SUCH_NAME", "a$", options=("--env", "WHERE=/data"))
    shared.wait(run, "Completed")
    assert shared.output(run).decode() == "%r\n" % ["--id", run, "/data/x", "$WHERE", "$NO_SUCH_NAME", "a$"]


def test_azureml_variables(shared):
    run = shared.submit_python("import os, json\nprint(json.dumps(dict(os.environ)))", environment={"MINE": "yes"})
    shared.wait(run, "Completed")
    import json

    variables = json.loads(shared.output(run))
    assert variables["AZUREML_RUN_ID"] == run and variables["MINE"] == "yes" and variables["AZUREML_ARM_PROJECT_NAME"] == "test"
    for name in ("RUN_TOKEN", "RUN_TOKEN_EXPIRY", "ARM_SUBSCRIPTION", "ARM_RESOURCEGROUP", "ARM_WORKSPACE_NAME", "SERVICE_ENDPOINT", "DISCOVERY_SERVICE_ENDPOINT", "WORKSPACE_ID", "EXPERIMENT_ID", "WORKSPACE_SCOPE", "EXPERIMENT_SCOPE"):
        assert variables.get("AZUREML_" + name), name
    assert not [name for name in variables if name.startswith("MLFLOW_")] and "FERRY_TOKEN" not in variables


def test_exit_codes_and_signals_are_told_apart(shared):
    code = shared.submit("sh", "-c", "exit 7")
    signalled = shared.submit("sh", "-c", "kill -SEGV $$$$")
    raised = shared.submit_python("raise ValueError('so')")
    end = shared.wait(code, "Failed")["end"]
    assert end["exit"]["code"] == 7 and "7" in end["text"]
    end = shared.wait(signalled, "Failed")["end"]
    assert end["exit"]["signal"] == 11 and end["reason"] != shared.show(code)["end"]["reason"], end
    assert shared.wait(raised, "Failed")["end"]["exit"]["code"] == 1
    assert b"ValueError: so" in shared.log(raised)
    follow = shared.run("run", "monitor-logs", "-r", code)
    assert follow.returncode == 1


def test_max_duration(shared):
    began = time.monotonic()
    run = shared.submit("sleep", "60", max_duration_seconds=1)
    view = shared.wait(run, "Failed", "Canceled", timeout=15)
    assert time.monotonic() - began < 10
    assert "time" in view["end"]["text"] or "long" in view["end"]["text"] or "duration" in view["end"]["text"], view["end"]


def test_cancel_asks_first(shared):
    run = shared.submit_python("import signal, sys, time\ndef end(*_):\n print('saved', flush=True); sys.exit(0)\nsignal.signal(signal.SIGTERM, end)\nprint('ready', flush=True)\ntime.sleep(60)")
    shared.wait_output(run, "ready")
    shared.ok("run", "cancel", "-r", run)
    view = shared.wait(run, "Canceled", timeout=8)
    assert b"saved" in shared.log(run), view
    again = shared.api("POST", "/api/v1/runs/%s/cancel" % run)
    assert again.status == 409 and again.error["slug"] == "run.ended"


def test_cancel_kills_what_ignores_it_and_every_descendant(shared, tmp_path):
    pids = tmp_path / "pids"
    text = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def note():
    with open(sys.argv[1], 'a') as f: f.write('%d\\n' % os.getpid())
note()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        for fd in range(3): os.close(fd)
        os.environ.clear()
        note()
        time.sleep(120)
    os._exit(0)
os.wait()
print('ready', flush=True)
time.sleep(120)
"""
    run = shared.submit_python(text, pids)
    shared.wait_output(run, "ready")
    wait_until("both wrote their number", lambda: len(pids.read_text().split()) == 2)
    all_pids = [int(pid) for pid in pids.read_text().split()]
    began = time.monotonic()
    shared.post("/runs/%s/cancel" % run)
    assert shared.status(run) == "CancelRequested"
    shared.wait(run, "Canceled", timeout=20)
    assert time.monotonic() - began > 8, "SIGKILL came before the grace was over"
    assert not [pid for pid in all_pids if is_alive(pid)]


def test_no_daemon_outlives_a_script_that_ended(shared, tmp_path):
    pids = tmp_path / "pids"
    run = shared.submit("sh", "-c", "setsid sh -c 'setsid sleep 120 & echo $! > %s' >/dev/null 2>&1; exit 3" % str(pids).replace("$", "$$"))
    view = shared.wait(run, "Failed", timeout=15)
    assert view["end"]["exit"]["code"] == 3
    pid = int(pids.read_text())
    assert not is_alive(pid)


def test_cancel_of_a_waiting_run(shared):
    blockers = [shared.submit("sleep", "60") for _ in range(4)]
    for run in blockers:
        shared.wait(run, "Running")
    waiting = shared.submit("echo", "never")
    assert shared.status(waiting) == "Queued"
    assert shared.get("/runs/%s/explain" % waiting)["explanation"]
    shared.post("/runs/%s/cancel" % waiting)
    shared.wait(waiting, "Canceled", timeout=5)
    assert shared.log(waiting) == b""
    for run in blockers:
        shared.post("/runs/%s/cancel" % run)
    for run in blockers:
        shared.wait(run, "Canceled")


def test_run_fails_with_its_own_words(shared, tmp_path):
    source = write_tree(tmp_path / "src", {"f.py": "from azureml.core import Run\nrun = Run.get_context()\nrun.fail('no data today')"})
    run = shared.submit_script(source, "f.py")
    assert "no data today" in shared.wait(run, "Failed")["end"]["text"]


def test_every_kind_of_metric(shared, tmp_path):
    source = write_tree(tmp_path / "src", {"m.py": "from azureml.core import Run\nr = Run.get_context()\nr.log('one', 1.5)\nfor i in range(3): r.log('many', i)\nr.log_list('list', [1, 2, 3])\nr.log_row('row', x=1, y='a')\nr.log_table('table', {'a': [1, 2], 'b': [3, 4]})\nr.log('nan', float('nan'))\nr.tag('t', 'v')\n"})
    run = shared.submit_script(source, "m.py")
    shared.wait(run, "Completed")
    values = shared.metrics(run)
    assert values["one"] == 1.5 and values["many"] == [0, 1, 2] and values["list"] == [1, 2, 3]
    assert values["row"] == {"x": 1, "y": "a"} and values["table"] == {"a": [1, 2], "b": [3, 4]}
    assert "nan" in values and shared.show(run)["tags"] == {"t": "v"}


def test_system_metrics_are_sampled(shared):
    run = shared.submit("sleep", "60")
    wait_until("there is a system metric of the run", lambda: shared.get("/runs/%s/metrics?system=1" % run)["metrics"])
    assert shared.get("/runs/%s/metrics" % run)["metrics"] == []
    shared.post("/runs/%s/cancel" % run)
    shared.wait(run, "Canceled")


def test_a_run_never_sees_what_an_earlier_one_did_to_its_working_copy(ferry, tmp_path):
    # Large enough that its working copy serves the next run.
    files = {"part%d/file%03d.txt" % (number % 7, number): "content %d\n" % number for number in range(300)}
    script = """
import os, sys
found = {}
for folder, _, names in os.walk("."):
    for name in names:
        path = os.path.relpath(os.path.join(folder, name), ".")
        found[path] = open(path).read() if path.endswith(".txt") else ""
wrong = [path for path in found if path.endswith(".txt") and found[path] != "content %d\\n" % int(path[-7:-4])]
assert not wrong and len(found) == 301, (wrong, len(found))
os.rename("part0", "elsewhere"); os.rename("part1", "part0"); os.rename("elsewhere", "part1")
stat = os.stat("part2/file002.txt")
open("part2/file002.txt", "r+").write("CONTENT")
os.utime("part2/file002.txt", ns=(stat.st_atime_ns, stat.st_mtime_ns))
os.remove("part3/file003.txt"); os.symlink("/etc/passwd", "part3/file003.txt")
os.makedirs("new/deep"); open("new/deep/file", "w").write("left behind")
os.chmod("part4/file004.txt", 0)
print("done")
"""
    source = write_tree(tmp_path / "src", {"vandal.py": script, **files})
    spares = os.path.join(ferry.home, "agent", "spares")
    for _ in range(4):
        run = ferry.submit_script(source, "vandal.py")
        ferry.wait(run, "Completed")
        wait_until("its working copy is kept for the next", lambda: os.path.isdir(spares) and os.listdir(spares))
