"""Who may do what: tokens, roles, run tokens."""

import os

import pytest
from ferry_fixture import wait_until

ROUTES = [("GET", "/metrics"), ("GET", "/api/v1/version"), ("GET", "/api/v1/runs"), ("POST", "/api/v1/runs"), ("GET", "/api/v1/runs/x"), ("PATCH", "/api/v1/runs/x"), ("POST", "/api/v1/runs/x/cancel"),
          ("GET", "/api/v1/runs/x/events"), ("GET", "/api/v1/runs/x/logs"), ("GET", "/api/v1/runs/x/metrics"), ("POST", "/api/v1/runs/x/metrics"), ("GET", "/api/v1/runs/x/artifacts"),
          ("POST", "/api/v1/blobs/missing"), ("POST", "/api/v1/blobs/pack"), ("POST", "/api/v1/blobs/fetch"), ("GET", "/api/v1/blobs/" + "0" * 64), ("PUT", "/api/v1/blobs/" + "0" * 64 + "/parts"),
          ("GET", "/api/v1/workspaces"), ("POST", "/api/v1/workspaces"), ("GET", "/api/v1/experiments"), ("GET", "/api/v1/nodes"), ("GET", "/api/v1/users"), ("POST", "/api/v1/users"),
          ("DELETE", "/api/v1/users/x"), ("GET", "/api/v1/tokens"), ("POST", "/api/v1/tokens"), ("DELETE", "/api/v1/tokens/x"), ("POST", "/api/v1/shutdown"),
          ("GET", "/api/v1/agent/commands"), ("POST", "/api/v1/agent/hello"), ("POST", "/api/v1/agent/report"), ("GET", "/api/v1/agent/blobs/" + "0" * 64)]


@pytest.mark.parametrize("token", [None, "ferry_" + "0" * 48, "node/local/" + "0" * 64, "run/x/1/" + "0" * 64, "", "Bearer"])
def test_no_route_without_a_good_token(shared, token):
    for method, path in ROUTES:
        answer = shared.api(method, path, b"{}" if method in ("POST", "PUT", "PATCH") else None, token=" " if token == "" else token)
        assert answer.status == 401, (method, path, answer)
        assert answer.error["slug"].startswith("auth.") and answer.error["message"]
    assert shared.api("GET", "/healthz", token=None).status == 200


def test_not_found_and_not_allowed(shared):
    answer = shared.api("GET", "/api/v1/nothing")
    assert answer.status == 404 and answer.error["slug"] == "route.not_found"
    answer = shared.api("DELETE", "/api/v1/runs")
    assert answer.status == 405 and "GET" in answer.headers["allow"] and answer.error["slug"] == "method.not_allowed"
    assert shared.api("GET", "/api/v1/runs/%zz").status == 400


def test_prometheus(shared):
    run = shared.submit("true", experiment="prom")
    shared.wait(run, "Completed")
    text = shared.api("GET", "/metrics").raw.decode()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")
    assert float(values["ferry_engine_commits_total"]) > 0 and float(values['ferry_runs{status="Completed"}']) >= 1
    for name in {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"}:
        assert "# TYPE %s " % name in text


def test_roles(shared):
    tokens = {}
    for role in ("reader", "contributor", "owner"):
        shared.ok("user", "add", "role-" + role, "--role", role)
        tokens[role] = shared.json("token", "create", "--user", "role-" + role)["token"]
    run = {"experiment": "roles", "command": ["true"]}
    assert [shared.api("GET", "/api/v1/runs", token=tokens[role]).status for role in tokens] == [200, 200, 200]
    assert [shared.api("POST", "/api/v1/runs", run, token=tokens[role]).status for role in tokens] == [403, 201, 201]
    assert [shared.api("GET", "/api/v1/users", token=tokens[role]).status for role in tokens] == [403, 403, 200]
    assert [shared.api("POST", "/api/v1/agent/hello", {}, token=tokens[role]).status for role in tokens] == [403, 403, 403]
    # A role that changes counts at once; a user who goes takes the tokens along.
    shared.ok("user", "add", "role-reader", "--role", "contributor")
    assert shared.api("POST", "/api/v1/runs", run, token=tokens["reader"]).status == 201
    shared.ok("user", "remove", "role-reader")
    assert shared.api("GET", "/api/v1/runs", token=tokens["reader"]).status == 401
    assert shared.api("POST", "/api/v1/tokens", {"user": "admin"}, token=tokens["contributor"]).status == 403
    for role in ("contributor", "owner"):
        shared.ok("user", "remove", "role-" + role)
    assert shared.api("DELETE", "/api/v1/users/admin").error["slug"] == "user.last_owner"
    assert shared.api("POST", "/api/v1/users", {"name": "admin", "role": "reader"}).error["slug"] == "user.last_owner"
    assert shared.api("POST", "/api/v1/users", {"name": "../x", "role": "reader"}).status == 400


def test_expiry_and_revocation(shared):
    shared.ok("user", "add", "brief", "--role", "reader")
    short = shared.post("/tokens", {"user": "brief", "expires_in_seconds": 1})["token"]
    long = shared.json("token", "create", "--user", "brief", "--expires", "30d", "--label", "laptop")
    assert shared.api("GET", "/api/v1/runs", token=short).status == 200
    wait_until("the token expires", lambda: shared.api("GET", "/api/v1/runs", token=short).status == 401, timeout=4)
    assert shared.api("GET", "/api/v1/runs", token=short).error["slug"] == "auth.expired"
    assert shared.run("run", "list", env={"FERRY_TOKEN": long["token"]}).returncode == 0
    listed = [token for token in shared.json("token", "list") if token["id"] == long["id"]]
    assert listed and listed[0]["label"] == "laptop" and "digest" not in listed[0] and "token" not in listed[0]
    shared.ok("token", "revoke", long["id"])
    answer = shared.api("GET", "/api/v1/runs", token=long["token"])
    assert answer.status == 401 and answer.error["slug"] == "auth.revoked"
    done = shared.run("run", "list", env={"FERRY_TOKEN": long["token"]})
    assert done.returncode == 3 and "revoked" in done.stderr


def test_tokens_survive_a_restart_and_are_hashed_at_rest(ferry):
    ferry.post("/users", {"name": "ann", "role": "contributor"})
    token = ferry.post("/tokens", {"user": "ann"})["token"]
    ferry.kill_server()
    ferry.start()
    assert ferry.api("GET", "/api/v1/runs", token=token).status == 200
    assert os.stat(os.path.join(ferry.home, "admin.token")).st_mode & 0o777 == 0o600
    assert os.stat(os.path.join(ferry.home, "secret")).st_mode & 0o777 == 0o600
    assert os.stat(ferry.home).st_mode & 0o777 == 0o700
    for base, _, names in os.walk(ferry.home):
        for name in names:
            path = os.path.join(base, name)
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                content = file.read()
            assert token.encode() not in content, path
            if name != "admin.token":
                assert ferry.token.encode() not in content, path


def test_a_run_token_is_good_for_its_workspace_and_dies_with_its_run(shared):
    run = shared.submit("sh", "-c", "env | grep ^FERRY_URL=; env | grep ^FERRY_TOKEN; env | grep ^AZUREML_RUN_TOKEN=; sleep 60")
    other = shared.submit("true")
    shared.post("/workspaces", {"name": "elsewhere", "exist_ok": True})
    far = shared.submit("true", workspace="elsewhere")
    text = shared.wait_output(run, "AZUREML_RUN_TOKEN=").decode()
    token = [line for line in text.splitlines() if line.startswith("AZUREML_RUN_TOKEN=")][0].partition("=")[2]
    assert "FERRY_URL=%s\n" % shared.url in text and "FERRY_TOKEN" not in text
    assert shared.api("GET", "/api/v1/runs/" + run, token=token).status == 200
    assert shared.api("POST", "/api/v1/runs/%s/metrics" % run, {"points": [{"metric": "m", "value": 1}]}, token=token).status == 200
    assert shared.api("GET", "/api/v1/runs/" + other, token=token).status == 200
    assert {view["workspace"] for view in shared.api("GET", "/api/v1/runs", token=token).json["runs"]} == {"default"}
    child = shared.api("POST", "/api/v1/runs", {"experiment": "e", "command": ["true"], "parent": run}, token=token)
    assert child.status == 201 and shared.wait(child.json["id"], "Completed")["user"] == "admin"
    assert shared.api("GET", "/api/v1/runs/" + far, token=token).status == 404
    assert shared.api("POST", "/api/v1/runs", {"experiment": "e", "command": ["true"], "workspace": "elsewhere"}, token=token).status == 403
    assert shared.api("GET", "/api/v1/users", token=token).status == 403
    shared.post("/runs/%s/cancel" % run)
    shared.wait(run, "Canceled")
    answer = shared.api("GET", "/api/v1/runs/" + run, token=token)
    assert answer.status == 401 and answer.error["slug"] == "auth.run_ended"
