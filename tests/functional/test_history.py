"""Finding runs again: filters, orders, groups, pages, archives, experiments, workspaces."""

import urllib.parse

import pytest
from ferry_fixture import PYTHON, write_tree


def listed(ferry, **query):
    return [run["id"] for run in ferry.get("/runs?" + urllib.parse.urlencode(query))["runs"]]


@pytest.fixture(scope="module")
def sweep(shared, tmp_path_factory):
    """Six runs with a parameter, a tag and a metric each."""
    source = write_tree(tmp_path_factory.mktemp("sweep"), {"train.py": "import sys\nfrom azureml.core import Run\nr = Run.get_context()\nlr = float(sys.argv[2])\nfor v in (lr * 4, lr, lr * 2): r.log('loss', v)\n"})
    runs = []
    for number, rate in enumerate((0.1, 0.2, 0.3, 0.4, 0.5, 10)):
        runs.append(shared.ok("run", "submit-script", "--async", "-e", "sweep", "--interpreter", PYTHON, "--source-directory", source, "--tag", "half=%s" % ("low" if number < 3 else "high"), "--tag", "n%d" % number, "train.py", "--lr", rate).strip())
    for run in runs:
        shared.wait(run, "Completed")
    return runs


def test_filter(shared, sweep):
    def found(filter):
        return sorted(listed(shared, experiment="sweep", filter=filter), key=sweep.index)

    assert found("tags.half = 'low'") == sweep[:3]
    assert found("tags.half != 'low'") == sweep[3:]
    assert found("tags.n2 exists") == [sweep[2]]
    assert found("params.lr = '0.2'") == [sweep[1]]
    assert found("params.lr >= 0.4") == sweep[3:]
    assert found("metrics.loss < 0.5") == sweep[:2]
    assert found("metrics.loss.min <= 0.3 and metrics.loss.max > 0.5") == sweep[1:3]
    assert found("tags.half = 'low' and params.lr > 0.15 and status = 'Completed'") == sweep[1:3]
    assert found("params.lr in (0.1, 10)") == [sweep[0], sweep[5]]
    assert found("created > '2999-01-01'") == []
    assert listed(shared, experiment="sweep", tag="half=high,n4") == [sweep[4]]
    assert [run["id"] for run in shared.json("run", "list", "-e", "sweep", "--filter", "params.lr = '0.3'")] == [sweep[2]]


def test_order(shared, sweep):
    assert listed(shared, experiment="sweep", order="metrics.loss") == sweep
    assert listed(shared, experiment="sweep", order="-metrics.loss") == sweep[::-1]
    assert listed(shared, experiment="sweep", order="params.lr") == sweep
    assert listed(shared, experiment="sweep") == sweep[::-1]


def test_group(shared, sweep):
    answer = shared.get("/runs?group=status&experiment=sweep")
    assert answer["groups"] == [{"value": "Completed", "count": 6}]
    counts = {item["value"]: item["count"] for item in shared.get("/runs?group=experiment")["groups"]}
    assert counts["sweep"] == 6


@pytest.mark.parametrize("query,field", [("filter=lr%20~%203", "filter"), ("filter=tags.x%20=", "filter"), ("order=nonsense", "order"), ("limit=0", "limit"), ("limit=abc", "limit"), ("status=Nope", "status"), ("group=tags", "group"), ("archived=maybe", "archived"), ("cursor=xyz", "cursor")])
def test_wrong_queries(shared, query, field):
    answer = shared.api("GET", "/api/v1/runs?" + query)
    assert answer.status == 400, answer
    assert answer.error["field"] == field and answer.error["message"]


def test_pages_lose_and_repeat_nothing(shared):
    runs = [shared.submit("true", experiment="pages") for _ in range(23)]
    for order in ("created", "-created", "key"):
        seen, cursor = [], ""
        while True:
            page = shared.get("/runs?" + urllib.parse.urlencode({"experiment": "pages", "limit": 5, "order": order, "cursor": cursor}))
            seen += [run["id"] for run in page["runs"]]
            # What arrives between two pages moves none of the others.
            if order == "-created" and len(seen) == 10:
                late = shared.submit("true", experiment="pages")
            cursor = page["next"]
            if not cursor:
                break
        assert sorted(set(seen) - ({late} if order == "key" else set())) == sorted(runs) and len(seen) == len(set(seen)), order
    everything = [run["id"] for run in shared.json("run", "list", "-e", "pages", "--all")]
    assert sorted(everything) == sorted(runs + [late])
    for run in everything:
        shared.wait(run, "Completed")


def test_archive_and_restore(shared):
    run = shared.submit("true", experiment="attic")
    shared.wait(run, "Completed")
    shared.ok("run", "archive", "-r", run)
    assert listed(shared, experiment="attic") == [] and listed(shared, experiment="attic", archived="true") == [run]
    assert [item["id"] for item in shared.json("run", "list", "-e", "attic", "--archived")] == [run]
    shared.ok("run", "restore", "-r", run)
    assert listed(shared, experiment="attic") == [run] and listed(shared, experiment="attic", archived="true") == []


def test_tags_change_and_properties_do_not(shared):
    run = shared.submit("true", tags={"a": "1"}, properties={"p": "1"})
    shared.ok("run", "update", "-r", run, "--add-tag", "a=2", "--add-tag", "b", "--set-property", "q=1", "--name", "shown", "--description", "why")
    view = shared.show(run)
    assert view["tags"] == {"a": "2", "b": ""} and view["properties"]["q"] == "1" and view["name"] == "shown" and view["description"] == "why"
    shared.ok("run", "update", "-r", run, "--remove-tag", "a")
    assert shared.show(run)["tags"] == {"b": ""}
    answer = shared.api("PATCH", "/api/v1/runs/" + run, {"properties": {"p": "2"}})
    assert answer.status == 409 and shared.show(run)["properties"]["p"] == "1"
    assert shared.api("PATCH", "/api/v1/runs/" + run, {"properties": {"p": "1"}}).status == 200
    assert shared.api("PATCH", "/api/v1/runs/" + run, {"status": "Completed"}).error["field"] == "status"


def test_experiments_and_workspaces(shared):
    shared.ok("workspace", "create", "-w", "team")
    assert shared.run("workspace", "create", "-w", "team").returncode == 6
    shared.ok("workspace", "create", "-w", "team", "--exist-ok")
    shared.ok("experiment", "create", "-n", "exp-1", "-w", "team")
    assert "team" in [item["name"] for item in shared.json("workspace", "list")]
    assert [item["name"] for item in shared.json("experiment", "list", "-w", "team")] == ["exp-1"]
    assert shared.json("experiment", "show", "-n", "exp-1", "-w", "team")["workspace"] == "team"
    assert shared.run("experiment", "show", "-n", "exp-1").returncode == 5
    run = shared.submit("true", experiment="exp-2", workspace="team")
    assert shared.wait(run, "Completed")["workspace"] == "team"
    assert [item["name"] for item in shared.json("experiment", "list", "-w", "team")] == ["exp-1", "exp-2"]
    answer = shared.api("POST", "/api/v1/runs", {"experiment": "e", "command": ["true"], "workspace": "nowhere"})
    assert answer.status == 404 and answer.error["field"] == "workspace"


def test_bytes_that_are_no_text_are_shown_and_kept(shared):
    written = b"caf\xc3\xa9 \xff \xe2\x82\xac\n"
    # One byte a write, so that characters arrive in pieces.
    script = "import sys, time\nfor b in %r:\n    sys.stdout.buffer.write(bytes([b])); sys.stdout.buffer.flush(); time.sleep(0.03)" % written
    run = shared.submit(PYTHON, "-c", script)
    shown = shared.ok("run", "monitor-logs", "-r", run)
    assert "caf\u00e9 \ufffd \u20ac\n" in shown
    assert shared.log(run) == written


def test_a_follower_resumes_where_it_stopped(shared):
    run = shared.submit("sh", "-c", "echo one; echo two; echo three")
    shared.wait(run, "Completed")
    events = shared.api("GET", "/api/v1/runs/%s/events" % run).raw.decode()
    assert "event: end" in events and "event: status" in events
    import json
    import re

    blocks = [dict(line.split(": ", 1) for line in block.splitlines() if ": " in line) for block in re.split("\n\n", events) if block.strip()]
    logs = [(block["id"], json.loads(block["data"])) for block in blocks if block.get("event") == "log"]
    assert "".join(item["data"] for _, item in logs) == shared.log(run).decode()
    again = shared.api("GET", "/api/v1/runs/%s/events" % run, headers={"Last-Event-ID": logs[-1][0]}).raw.decode()
    assert "event: log" not in again and "event: end" in again
