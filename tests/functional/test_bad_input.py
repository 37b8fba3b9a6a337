"""What users and strangers get wrong: one clear error each, nothing half-made, and the server goes on."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import urllib.parse

import pytest
from ferry_fixture import BINARY, PYTHON, wait_until, write_tree


@pytest.fixture(autouse=True)
def nothing_half_made(shared):
    before = {run["id"] for run in shared.get("/runs?limit=1000&archived=any")["runs"]}
    yield
    shared.serves()
    after = {run["id"] for run in shared.get("/runs?limit=1000&archived=any")["runs"]}
    assert {run for run in after - before if not run.startswith("good")} == set()


def refused(ferry, body, status, field=None, slug=None, path="/api/v1/runs", method="POST"):
    answer = ferry.api(method, path, body)
    assert answer.status == status, answer
    error = answer.error
    assert error["slug"] and error["message"] and error["code"]
    if field:
        assert error["field"] == field, error
    if slug:
        assert error["slug"] == slug, error
    return error


def fails(ferry, status, *arguments, says=(), **options):
    done = ferry.run(*arguments, **options)
    assert done.returncode == status, done
    assert done.stdout == "" and done.stderr.startswith("ferry: ") and len(done.stderr.splitlines()) <= 2, done
    for word in says:
        assert word in done.stderr, done
    return done


# --- the command line

def test_missing_script(shared, tmp_path):
    write_tree(tmp_path, {"train.py": ""})
    fails(shared, 5, "run", "submit-script", "-e", "e", "--source-directory", tmp_path, "no.py", says=["no.py"])


def test_folder_that_does_not_exist(shared, tmp_path):
    fails(shared, 5, "run", "submit-script", "-e", "e", "--source-directory", tmp_path / "nowhere", "t.py", says=["nowhere"])
    write_tree(tmp_path, {"file": ""})
    fails(shared, 2, "run", "submit-script", "-e", "e", "--source-directory", tmp_path / "file", "t.py", says=["not a folder"])


@pytest.mark.parametrize("script", ["../secret.py", "/etc/passwd", "a/../../secret.py", "", "sub"])
def test_script_outside_of_the_folder(shared, tmp_path, script):
    write_tree(tmp_path, {"secret.py": "", "src/train.py": "", "src/sub/x": ""})
    done = shared.run("run", "submit-script", "-e", "e", "--source-directory", tmp_path / "src", script)
    assert done.returncode in (2, 5) and done.stderr.startswith("ferry: "), done


def test_script_left_out_by_the_ignore_file(shared, tmp_path):
    write_tree(tmp_path, {"train.py": "", ".amlignore": "*.py\n"})
    fails(shared, 2, "run", "submit-script", "-e", "e", "--source-directory", tmp_path, "train.py", says=["train.py", ".amlignore"])


def test_unreadable_file(shared, tmp_path):
    # A folder that everybody can reach, since the fixture's own are private.
    folder = "/tmp/ferry-unreadable-%d" % os.getpid()
    try:
        write_tree(folder, {"train.py": "", "secret.key": "x"})
        os.chmod(folder, 0o755)
        os.chmod(os.path.join(folder, "secret.key"), 0)
        program = shutil.copy(BINARY, os.path.join(folder, "ferry-program"))
        os.chmod(program, 0o755)
        environment = dict(shared.environment, FERRY_URL=shared.url, FERRY_TOKEN=shared.token, FERRY_HOME=os.path.join(folder, "home"))
        # Root may read everything and becomes another user.
        other = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        done = subprocess.run([*other, program, "run", "submit-script", "-e", "e", "--source-directory", folder, "train.py"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30)
        assert done.returncode == 2 and "secret.key" in done.stderr and done.stderr.startswith("ferry: "), done
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "a b", "", "x" * 300, "-x", "n\u00e4me"])
def test_names(shared, tmp_path, name):
    write_tree(tmp_path, {"t.py": ""})
    if name:
        fails(shared, 2, "run", "submit-script", "--experiment-name=" + name, "--source-directory", tmp_path, "t.py")
        fails(shared, 2, "run", "submit-script", "-e", "e", "--run-id=" + name, "--source-directory", tmp_path, "t.py")
        refused(shared, {"experiment": "e", "command": ["true"], "id": name}, 400, "id")
        refused(shared, {"name": name, "role": "reader"}, 400, path="/api/v1/users")
    refused(shared, {"experiment": name, "command": ["true"]}, 400, "experiment")
    refused(shared, {"name": name}, 400, path="/api/v1/workspaces")
    refused(shared, {"name": name}, 400, path="/api/v1/experiments")


def test_wrong_words_on_the_command_line(shared):
    fails(shared, 2, "run", "lst", says=["list"])
    fails(shared, 2, "run", "show", "--nope", "x", says=["--nope"])
    fails(shared, 2, "run", "list", "--last", "many", says=["many"])
    fails(shared, 2, "run", "submit-command", "-e", "e", "--env", "novalue", "--", "true", says=["novalue"])
    fails(shared, 2, "run", "list", "--query", "[?", "-o", "json")
    fails(shared, 5, "run", "submit-command", "-e", "e", "--target", "moon", "--", "true", says=["moon"])


def test_unknown_run(shared, tmp_path):
    for verb in ("show", "cancel", "monitor-logs", "explain", "archive", "metrics", "files"):
        fails(shared, 5, "run", verb, "-r", "nobody", says=["nobody"])
    for path in ("", "/logs", "/logs/user_logs/std_log.txt", "/metrics", "/artifacts", "/artifacts/outputs/x", "/explain", "/events"):
        refused(shared, None, 404, slug="run.not_found", path="/api/v1/runs/nobody" + path, method="GET")


def test_wrong_token(shared):
    fails(shared, 3, "run", "list", env={"FERRY_TOKEN": "ferry_wrong"}, says=["token"])
    fails(shared, 8, "run", "list", env={"FERRY_URL": "http://127.0.0.1:1", "FERRY_TOKEN": "x"}, says=["127.0.0.1:1"])
    fails(shared, 2, "run", "list", env={"FERRY_URL": "gopher://x"}, says=["FERRY_URL"])


def test_interpreter_and_program_that_are_not_there(shared, tmp_path):
    write_tree(tmp_path, {"t.py": ""})
    run = shared.ok("run", "submit-script", "--async", "--run-id", "good-interpreter", "-e", "e", "--interpreter", "/no/such/python", "--source-directory", tmp_path, "t.py").strip()
    assert "/no/such/python" in shared.wait(run, "Failed")["end"]["text"]
    run = shared.submit("no-such-program", id="good-program")
    assert "no-such-program" in shared.wait(run, "Failed")["end"]["text"]


def test_file_names_that_are_no_text(shared):
    run = shared.submit_python("import os\nfor d in (b'outputs', b'logs'):\n os.mkdir(d)\n open(d + b'/\\xff\\xfe.txt', 'w').write('x')", id="good-names")
    shared.wait(run, "Completed")
    (path,) = shared.artifacts(run)
    assert path == "outputs/\ufffd\ufffd.txt"
    assert shared.artifact(run, urllib.parse.quote(path)).raw == b"x"
    assert "logs/\ufffd\ufffd.txt" in [stream["name"] for stream in shared.get("/runs/%s/logs" % run)["streams"]]


# --- the interface

RUN = {"experiment": "e", "command": ["true"]}


@pytest.mark.parametrize("change,field", [
    ({"command": None}, "script"), ({"script": "t.py"}, "script"), ({"command": "true"}, "command"), ({"command": [["x"]]}, "command[0]"), ({"command": [""]}, "command[0]"),
    ({"command": ["a\0b"]}, "command[0]"), ({"experiment": 5}, "experiment"), ({"max_duration_seconds": -1}, "max_duration_seconds"), ({"max_duration_seconds": "5"}, "max_duration_seconds"),
    ({"gpus": 1 << 40}, "gpus"), ({"max_attempts": 0}, "max_attempts"), ({"tags": []}, "tags"), ({"tags": {"a": {}}}, "tags.a"), ({"environment": {"A=B": "x"}}, "environment"),
    ({"snapshot": "xyz"}, "snapshot"), ({"comand": ["true"]}, "comand"), ({"priority": 1e99}, "priority"), ({"workspace": "../etc"}, "workspace")])
def test_wrong_fields(shared, change, field):
    refused(shared, dict(RUN, **change), 400, field)


def test_scripts_that_escape(shared):
    for script in ("../x.py", "/etc/passwd", "a/../../b.py", "a//../..", "./../x"):
        refused(shared, {"experiment": "e", "script": script, "snapshot": "0" * 64}, 400, "script")
    refused(shared, {"experiment": "e", "script": "t.py", "snapshot": "0" * 64}, 404, "snapshot")
    refused(shared, {"experiment": "e", "script": "t.py"}, 400, "snapshot")


@pytest.mark.parametrize("body", [b"{", b"", b"[]", b"null", b'{"a":}', b'{"experiment": "e", "command": ["true"]', b"\xff\xfe", b'{"experiment": "\xff", "command": ["true"]}', b'{"a":1}{"b":2}', b"nonsense" * 1000])
def test_malformed_json(shared, body):
    assert refused(shared, body, 400)


def test_deep_nesting(shared):
    refused(shared, b'{"tags":' * 100000 + b"1" + b"}" * 100000, 400)
    refused(shared, b"[" * 1000000, 400)


def test_too_long(shared):
    refused(shared, dict(RUN, description="x" * 70000), 413, "description")
    refused(shared, dict(RUN, description="x" * (9 << 20)), 413)
    refused(shared, dict(RUN, tags={"t%d" % n: "" for n in range(600)}), 413, "tags")
    refused(shared, {"tags": {"t": "x" * (2 << 20)}}, 413, path="/api/v1/runs/x", method="PATCH")
    assert shared.api("GET", "/api/v1/" + "x" * 100000).status in (400, 404, 414, 431)
    assert shared.api("GET", "/healthz", headers={"X-Long": "x" * 1000000}).status in (400, 431)


def test_two_submissions_with_one_id(shared):
    assert shared.api("POST", "/api/v1/runs", dict(RUN, id="good-one")).status == 201
    refused(shared, dict(RUN, id="good-one", command=["false"]), 409, "id")
    assert shared.wait("good-one")["status"] == "Completed"


def test_paths_of_artifacts_and_logs(shared):
    run = shared.submit("true", id="good-paths")
    shared.wait(run, "Completed")
    for path in ("../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/secret", "%00", "/etc/passwd"):
        for kind in ("logs", "artifacts"):
            answer = shared.api("GET", "/api/v1/runs/%s/%s/%s" % (run, kind, path))
            assert answer.status in (400, 404) and b"root:" not in answer.raw, (kind, path, answer)


def raw(ferry, data, timeout=10):
    """Sends bytes to the server as they are and returns what it says until it closes."""
    host, port = ferry.url.split("//")[1].split(":")
    with socket.create_connection((host, int(port)), timeout=timeout) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        said = b""
        while True:
            piece = connection.recv(65536)
            if not piece:
                return said
            said += piece


def test_no_http_at_all(shared):
    for data in (b"\0" * 5000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /api/v1/runs HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1\r\nA: b\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"):
        said = raw(shared, data)
        assert said == b"" or said.startswith(b"HTTP/1.1 4") or said.startswith(b"HTTP/1.1 5"), (data, said)


def test_large_upload_cut_and_resumed(shared):
    content = os.urandom(24 << 20)
    digest = hashlib.sha256(content).hexdigest()
    path = "/api/v1/blobs/%s" % digest
    host, port = shared.url.split("//")[1].split(":")
    head = "PUT %s/parts?offset=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (path, shared.token, len(content))
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head.encode() + content[: 10 << 20])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        wait_until("some of it has arrived", lambda: shared.get(path[7:] + "/parts")["size"] > 4 << 20)
    shared.serves()
    assert shared.api("GET", path).status == 404
    refused(shared, {"size": len(content)}, 409, path=path + "/finish")
    have = shared.get(path[7:] + "/parts")["size"]
    assert 4 << 20 < have <= 10 << 20
    refused(shared, b"x" * 100, 409, path=path + "/parts?offset=%d" % (have + 50), method="PUT")

    def goes_on():  # what the cut connection still held may arrive after the size was asked
        have = shared.get(path[7:] + "/parts")["size"]
        return shared.api("PUT", path + "/parts?offset=%d" % have, content[have:]).status == 200

    wait_until("the upload goes on", goes_on)
    assert shared.api("POST", path + "/finish", {"size": len(content)}).status == 200
    assert shared.api("GET", path).raw == content


def test_upload_of_other_content(shared):
    digest = hashlib.sha256(b"right").hexdigest()
    assert shared.api("PUT", "/api/v1/blobs/%s/parts?offset=0" % digest, b"wrong").status == 200
    answer = shared.api("POST", "/api/v1/blobs/%s/finish" % digest, {"size": 5})
    assert answer.status in (400, 409) and answer.error["message"]
    assert shared.api("GET", "/api/v1/blobs/" + digest).status == 404
    assert shared.api("PUT", "/api/v1/blobs/%s/parts?offset=0" % digest, b"right").status == 200
    assert shared.api("POST", "/api/v1/blobs/%s/finish" % digest, {"size": 5}).status == 200
    refused(shared, b"no pack at all", 400, path="/api/v1/blobs/pack")
    refused(shared, None, 400, path="/api/v1/blobs/nothex", method="GET")
    refused(shared, {"digests": ["zz"]}, 400, path="/api/v1/blobs/missing")


def test_snapshot_that_is_none(shared):
    """A blob that is no manifest, and a manifest that climbs out of its folder, end as a failed run that says so."""
    for number, content in enumerate((b"not a manifest", json.dumps({"entries": [{"path": "../../evil", "digest": "0" * 64}]}).encode())):
        digest = hashlib.sha256(content).hexdigest()
        assert shared.api("PUT", "/api/v1/blobs/%s/parts?offset=0" % digest, content).status == 200
        assert shared.api("POST", "/api/v1/blobs/%s/finish" % digest, {"size": len(content)}).status == 200
        answer = shared.api("POST", "/api/v1/runs", {"id": "good-manifest-%d" % number, "experiment": "e", "script": "t.py", "snapshot": digest, "interpreter": PYTHON})
        assert answer.status in (201, 400), answer
        if answer.status == 201:
            assert shared.wait("good-manifest-%d" % number, "Failed")["end"]["text"]


def test_metrics_that_are_none(shared):
    run = shared.submit("true", id="good-metrics")
    path = "/api/v1/runs/%s/metrics" % run
    for body, status in (({"points": 5}, 400), ({"points": [{}]}, 400), ({"points": [{"metric": "", "value": 1}]}, 400), ({"points": [{"metric": "m", "value": "x"}]}, 400), ({"points": [{"metric": "m" * 300, "value": 1}]}, 400), ({"points": [{"metric": "m", "value": 1, "kind": "odd"}]}, 400)):
        refused(shared, body, status, path=path)
    assert shared.get("/runs/%s/metrics" % run)["metrics"] == []
    refused(shared, {"points": [{"metric": "m", "value": 1}]}, 404, path="/api/v1/runs/nobody/metrics")
