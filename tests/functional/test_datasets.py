"""The registry of datasets: by id and by name, versions, tags, and what becomes of it all when the server is killed."""

import json
import urllib.parse

import pytest


def definition_of(path, **more):
    return dict({"paths": [{"datastore": "workspaceblobstore", "path": path}]}, **more)


def save(ferry, path, expect=(201,), type="File", **fields):
    return ferry.post("/datasets", dict(fields, type=type, definition=definition_of(path)), expect=expect)


def listed(ferry, **query):
    return [(item["name"], item["version"]) for item in ferry.get("/datasets?" + urllib.parse.urlencode(query, doseq=True))["datasets"]]


def test_without_a_name(shared):
    first = save(shared, "unnamed/*.csv")
    assert (first["name"], first["version"], first["type"]) == ("", None, "File")
    assert first["definition"] == definition_of("unnamed/*.csv")
    assert save(shared, "unnamed/*.csv", expect=(200,)) == first
    assert save(shared, "unnamed/*.csv", type="Tabular")["id"] != first["id"]
    assert save(shared, "unnamed/*.tsv")["id"] != first["id"]
    reordered = shared.post("/datasets", {"definition": {"paths": [{"path": "unnamed/*.csv", "datastore": "workspaceblobstore"}]}, "type": "File"}, expect=(200,))
    assert reordered == first
    assert shared.get("/datasets/by-id/" + first["id"]) == first


def test_versions(shared):
    first = save(shared, "v/1", name="v data", description="one", tags={"a": "b"})
    assert (first["name"], first["version"]) == ("v data", 1)
    assert save(shared, "v/1", name="v data", expect=(200,)) == first
    answer = shared.api("POST", "/api/v1/datasets", {"name": "v data", "type": "File", "definition": definition_of("v/2")})
    assert (answer.status, answer.error["slug"], answer.error["field"]) == (409, "dataset.exists", "name")
    assert "create_new_version" in answer.error["message"]
    second = save(shared, "v/2", name="v data", create_new_version=True)
    assert (second["version"], second["description"], second["tags"]) == (2, "", {})
    assert save(shared, "v/2", name="v data", create_new_version=True, expect=(200,)) == second
    retagged = save(shared, "v/2", name="v data", tags={"x": "y"}, expect=(200,))
    assert (retagged["version"], retagged["tags"], retagged["id"]) == (2, {"x": "y"}, second["id"])
    assert shared.get("/datasets/v%20data") == retagged
    assert shared.get("/datasets/v%20data?version=1") == first == shared.get("/datasets/v%20data:1") == shared.get("/datasets/by-id/" + first["id"])
    assert shared.get("/datasets/v%20data?version=latest")["version"] == 2
    assert [item["version"] for item in shared.get("/datasets/v%20data/versions")["versions"]] == [2, 1]
    page = shared.get("/datasets/v%20data/versions?limit=1")
    assert [item["version"] for item in shared.get("/datasets/v%20data/versions?cursor=" + page["next"])["versions"]] == [1]


def test_lists(shared):
    save(shared, "l/1", name="list-b", tags={"list": "yes", "k": "v"})
    save(shared, "l/1", name="list-a", tags={"list": "yes"})
    save(shared, "l/2", name="list-b", tags={"list": "yes"}, create_new_version=True)
    save(shared, "l/3")
    assert listed(shared, tag="list") == [("list-a", 1), ("list-b", 2)]
    assert listed(shared, tag=["list=yes", "k"]) == []
    assert listed(shared, name="list-b") == [("list-b", 2)]
    page = shared.get("/datasets?tag=list&limit=1")
    assert listed(shared, tag="list", cursor=page["next"]) == [("list-b", 2)]
    assert listed(shared, workspace="elsewhere") == []
    shared.api("PATCH", "/api/v1/datasets/list-a", {"archived": True})
    assert listed(shared, tag="list") == [("list-b", 2)]
    assert listed(shared, tag="list", archived="any") == [("list-a", 1), ("list-b", 2)]


def test_changes(shared):
    other = save(shared, "c/other")["id"]
    before = save(shared, "c/1", name="changed", tags={"a": "1", "b": "2"})
    changed = shared.api("PATCH", "/api/v1/datasets/changed?version=1", {"description": "d", "set_tags": {"a": "3"}, "remove_tags": ["b"], "deprecated_by": other}).json
    assert (changed["description"], changed["tags"], changed["deprecated_by"]) == ("d", {"a": "3"}, other)
    assert changed["modified"] > before["modified"] and changed["created"] == before["created"]
    assert shared.api("PATCH", "/api/v1/datasets/changed", {"deprecated_by": None}).json["deprecated_by"] is None
    assert shared.get("/datasets/changed")["tags"] == {"a": "3"}


def test_unregistered(shared):
    first = save(shared, "u/1", name="unregistered")
    save(shared, "u/2", name="unregistered", create_new_version=True)
    assert shared.api("DELETE", "/api/v1/datasets/unregistered").json == {"name": "unregistered", "versions": 2}
    for path in ("", "?version=1", "/versions"):
        assert shared.api("GET", "/api/v1/datasets/unregistered" + path).status == 404
    assert listed(shared, name="unregistered", archived="any") == []
    assert shared.get("/datasets/by-id/" + first["id"]) == first
    again = save(shared, "u/1", name="unregistered")
    assert again["version"] == 3 and again["id"] != first["id"]
    assert [item["version"] for item in shared.get("/datasets/unregistered/versions")["versions"]] == [3]


def test_workspaces_are_apart(shared):
    shared.post("/workspaces", {"name": "data-team"})
    ours, theirs = save(shared, "w/1", name="apart"), save(shared, "w/1", name="apart", workspace="data-team")
    assert ours["id"] != theirs["id"]
    assert shared.api("GET", "/api/v1/datasets/by-id/" + theirs["id"]).status == 404
    assert shared.get("/datasets/by-id/%s?workspace=data-team" % theirs["id"]) == theirs
    assert listed(shared, workspace="data-team") == [("apart", 1)]


def test_what_was_answered_survives_a_kill(ferry):
    for number in range(1, 4):
        named = save(ferry, "k/%d" % number, name="kept", create_new_version=True)
        unnamed = save(ferry, "k/%d" % number)
        ferry.kill_server()
        ferry.start()
        assert ferry.get("/datasets/kept") == named
        assert ferry.get("/datasets/by-id/" + unnamed["id"]) == unnamed
    ferry.api("DELETE", "/api/v1/datasets/kept")
    ferry.kill_server()
    ferry.start()
    assert listed(ferry) == []
    assert save(ferry, "k/3", name="kept")["version"] == 4


def paths(*items):
    return {"definition": {"paths": list(items)}}


GOOD = {"datastore": "workspaceblobstore", "path": "a"}


@pytest.mark.parametrize("body,status,field", [
    ({"type": None}, 400, "type"), ({"type": "file"}, 400, "type"), ({"type": 7}, 400, "type"), ({"definition": None}, 400, "definition"), ({"definition": []}, 400, "definition"),
    ({"definition": {}}, 400, "definition.paths"), (paths(), 400, "definition.paths"), ({"definition": {"paths": GOOD}}, 400, "definition.paths"), (paths(*[GOOD] * 10001), 413, "definition"),
    ({"definition": {"paths": [GOOD], "read": 7}}, 400, "definition.read"), ({"definition": {"paths": [GOOD], "steps": "x"}}, 400, "definition.steps"), ({"definition": {"paths": [GOOD], "more": 1}}, 400, "definition.more"),
    ({"definition": {"paths": [GOOD], "read": {"x": "y" * 300000}}}, 413, "definition"),
    (paths(GOOD, 7), 400, "definition.paths[1]"), (paths({}), 400, "definition.paths[0]"), (paths({"path": "a"}), 400, "definition.paths[0]"), (paths(dict(GOOD, url="http://h")), 400, "definition.paths[0]"),
    (paths({"datastore": "none", "path": "a"}), 404, "definition.paths[0].datastore"), (paths({"datastore": "a/b", "path": ""}), 400, "definition.paths[0].datastore"),
    (paths(dict(GOOD, path="../a")), 400, "definition.paths[0].path"), (paths(dict(GOOD, path="/etc")), 400, "definition.paths[0].path"), (paths(dict(GOOD, path=None)), 400, "definition.paths[0].path"),
    (paths({"url": "file:///etc/passwd"}), 400, "definition.paths[0].url"), (paths({"url": "https://"}), 400, "definition.paths[0].url"), (paths({"url": "http://h/" + "x" * 9000}), 400, "definition.paths[0].url"),
    ({"name": "a/b"}, 400, "name"), ({"name": "x" * 256}, 400, "name"), ({"name": 7}, 400, "name"), ({"name": " a"}, 400, "name"), ({"workspace": "nowhere"}, 404, "workspace"),
    ({"tags": []}, 400, "tags"), ({"tags": {"a": {}}}, 400, "tags.a"), ({"description": 7}, 400, "description"), ({"description": "x" * 70000}, 413, "description"),
    ({"create_new_version": "yes"}, 400, "create_new_version"), ({"defintion": {}}, 400, "defintion"),
], ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else None)
def test_bad_input(shared, body, status, field):
    whole = dict({"name": "bad", "type": "File", "definition": {"paths": [GOOD]}}, **body)
    answer = shared.api("POST", "/api/v1/datasets", {key: value for key, value in whole.items() if value is not None})
    assert (answer.status, answer.error["field"]) == (status, field), answer
    assert answer.error["slug"] and answer.error["message"]
    assert listed(shared, name="bad") == []
    shared.serves()


@pytest.mark.parametrize("method,path,status", [
    ("GET", "/datasets/none", 404), ("GET", "/datasets/none/versions", 404), ("PATCH", "/datasets/none", 404), ("DELETE", "/datasets/none", 404), ("DELETE", "/datasets/none?version=1", 400),
    ("GET", "/datasets/by-id/none", 400), ("GET", "/datasets/by-id/00000000-0000-0000-0000-000000000000", 404), ("GET", "/datasets/a%2Fb", 400), ("GET", "/datasets/a?version=-1", 400),
    ("GET", "/datasets?limit=0", 400), ("GET", "/datasets?archived=no", 400), ("GET", "/datasets?cursor=zz", 400)])
def test_wrong_paths(shared, method, path, status):
    answer = shared.api(method, "/api/v1" + path, {} if method == "PATCH" else None)
    assert answer.status == status, answer
    assert answer.error["slug"] and answer.error["message"]
