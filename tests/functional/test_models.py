"""The registry of models: from a run and from files, versions, lists, files down again, and what becomes of it all when the server is killed."""

import hashlib
import json
import urllib.parse

import pytest
from ferry_fixture import write_tree


def put_blob(ferry, content):
    """Uploads a content and returns its digest."""
    digest = hashlib.sha256(content).hexdigest()
    answer = ferry.api("PUT", "/api/v1/blobs/%s/parts?offset=0" % digest, content)
    assert answer.status == 200, answer
    ferry.post("/blobs/%s/finish" % digest, {"size": len(content)})
    return digest


def file_of(ferry, path, content):
    return {"path": path, "digest": put_blob(ferry, content), "size": len(content)}


def register(ferry, name, **fields):
    if "path" not in fields and "files" not in fields:
        fields["files"] = [file_of(ferry, "weights.bin", b"weights of " + name.encode())]
    return ferry.post("/models", dict(fields, name=name), expect=(201,))


def listed(ferry, **query):
    return [model["id"] for model in ferry.get("/models?" + urllib.parse.urlencode(query, doseq=True))["models"]]


def files_of(ferry, name):
    return {item["path"]: item for item in ferry.get("/models/%s/files" % name)["files"]}


@pytest.fixture(scope="module")
def trained(shared, tmp_path_factory):
    """A run that left a file, a folder and a log behind."""
    source = write_tree(tmp_path_factory.mktemp("train"), {"train.py": "import os\nos.makedirs('outputs/m/variables')\nfor name in ('model.pkl', 'm/graph.pb', 'm/variables/0'):\n    open('outputs/' + name, 'w').write('content of ' + name)\n"})
    run = shared.submit_script(source, "train.py")
    shared.wait(run, "Completed")
    return run


def test_from_a_run(shared, trained):
    model = register(shared, "from-run", run=trained, path="./outputs/model.pkl", tags={"stage": "test"}, framework="ScikitLearn", framework_version="1.2")
    assert (model["id"], model["version"], model["run"], model["experiment"]) == ("from-run:1", 1, trained, "test")
    assert (model["framework"], model["file_count"], model["size"]) == ("ScikitLearn", 1, len("content of model.pkl"))
    assert list(files_of(shared, "from-run")) == ["model.pkl"]
    assert shared.api("GET", "/api/v1/models/from-run/files/model.pkl").raw == b"content of model.pkl"

    folder = register(shared, "from-run", run=trained, path="outputs/m")
    assert (folder["version"], folder["file_count"]) == (2, 2)
    assert list(files_of(shared, "from-run")) == ["m/graph.pb", "m/variables/0"]
    assert list(files_of(shared, "from-run:1")) == ["model.pkl"]
    assert shared.api("GET", "/api/v1/models/from-run/files/m/variables/0").raw == b"content of m/variables/0"

    answer = shared.api("POST", "/api/v1/models", {"name": "from-run", "run": trained, "path": "outputs/modle.pkl"})
    assert (answer.status, answer.error["slug"], answer.error["field"]) == (404, "model.path", "path")
    assert "outputs/model.pkl" in answer.error["message"] and "outputs/m/graph.pb" in answer.error["message"]
    assert len(listed(shared, name="from-run")) == 2


def test_from_within_the_run(shared, tmp_path):
    """The token of a run is enough to register what the run has made, once the server has it."""
    script = """
import json, os, time, urllib.error, urllib.request
os.makedirs('outputs', exist_ok=True)
open('outputs/inner.txt', 'w').write('inner')
body = json.dumps({'name': 'inner', 'run': os.environ['AZUREML_RUN_ID'], 'path': 'outputs/inner.txt'}).encode()
while True:
    request = urllib.request.Request(os.environ['TEST_URL'] + '/api/v1/models', body, {'Authorization': 'Bearer ' + os.environ['AZUREML_RUN_TOKEN']})
    try:
        print(json.load(urllib.request.urlopen(request))['id'])
        break
    except urllib.error.HTTPError as error:
        assert json.load(error)['error']['slug'] == 'model.path'
        time.sleep(0.05)
"""
    run = shared.submit_python(script, environment={"TEST_URL": shared.url})
    shared.wait(run, "Completed")
    assert shared.output(run).split() == [b"inner:1"]
    assert shared.get("/models/inner")["run"] == run


def test_files_and_ranges(shared):
    large = bytes(range(256)) * (24 << 10)
    files = [file_of(shared, "large.bin", large), file_of(shared, "dir/a b ä.txt", b"0123456789"), file_of(shared, "empty", b"")]
    model = register(shared, "files", files=files)
    assert (model["file_count"], model["size"], model["run"]) == (3, len(large) + 10, None)
    assert files_of(shared, "files") == {item["path"]: item for item in files}
    assert shared.api("GET", "/api/v1/models/files/files/large.bin").raw == large
    path = "/api/v1/models/files/files/" + urllib.parse.quote("dir/a b ä.txt")
    assert shared.api("GET", path).raw == b"0123456789"
    for header, status, expected in (("bytes=2-4", 206, b"234"), ("bytes=7-", 206, b"789"), ("bytes=-2", 206, b"89"), ("lines=1", 200, b"0123456789")):
        answer = shared.api("GET", path, headers={"Range": header})
        assert (answer.status, answer.raw) == (status, expected), header
    answer = shared.api("GET", "/api/v1/models/files/files/large.bin", headers={"Range": "bytes=%d-%d" % (5 << 20, (5 << 20) + 9)})
    assert answer.raw == large[5 << 20:(5 << 20) + 10]
    assert shared.api("GET", path, headers={"Range": "bytes=10-"}).status == 416
    assert shared.api("GET", "/api/v1/models/files/files/none").error["slug"] == "model.file_not_found"
    assert shared.api("GET", "/api/v1/models/files/files/empty").raw == b""


def test_versions_and_lists(shared, trained):
    dataset = shared.post("/datasets", {"type": "File", "definition": {"paths": [{"url": "https://host/list.csv"}]}})["id"]
    register(shared, "list-a", tags={"list": "yes", "team": "vision"}, properties={"p": "1"})
    register(shared, "list-b", tags={"list": "yes", "team": "text", "odd": "a,b=c&d"}, framework="Onnx")
    register(shared, "list-a", tags={"list": "yes"}, run=trained, datasets=[["training", dataset], ["test", dataset]])
    assert listed(shared, tag="list") == ["list-a:2", "list-b:1", "list-a:1"]
    assert listed(shared, tag="list", latest="true") == ["list-a:2", "list-b:1"]
    assert listed(shared, tag=["list=yes", "team=vision"]) == ["list-a:1"]
    assert listed(shared, tag=["team", "odd=a,b=c&d"]) == ["list-b:1"]
    assert listed(shared, name="list-a") == ["list-a:2", "list-a:1"]
    assert listed(shared, name="list-a", property="p=1") == ["list-a:1"]
    assert listed(shared, run=trained, tag="list") == ["list-a:2"]
    assert listed(shared, framework="Onnx", tag="list") == ["list-b:1"]
    assert listed(shared, dataset=dataset) == ["list-a:2"]
    assert listed(shared, workspace="elsewhere") == []
    first = shared.get("/models?tag=list&limit=2")
    assert listed(shared, tag="list", limit=2, cursor=first["next"]) == ["list-a:1"]
    assert shared.get("/models/list-a")["version"] == 2
    assert shared.get("/models/list-a?version=latest")["datasets"] == [["training", dataset], ["test", dataset]]
    assert shared.get("/models/list-a:1") == shared.get("/models/list-a?version=1")

    changed = shared.api("PATCH", "/api/v1/models/list-a:1", {"description": "d", "set_tags": {"team": "speech"}, "remove_tags": ["list"], "add_properties": {"q": "2"}}).json
    assert (changed["tags"], changed["properties"], changed["description"]) == ({"team": "speech"}, {"p": "1", "q": "2"}, "d")
    assert changed["modified"] > changed["created"]
    assert listed(shared, tag="list") == ["list-a:2", "list-b:1"]
    answer = shared.api("PATCH", "/api/v1/models/list-a:1", {"set_tags": {"x": "y"}, "add_properties": {"q": "3"}})
    assert (answer.status, answer.error["slug"]) == (409, "property.immutable")
    assert "x" not in shared.get("/models/list-a:1")["tags"]


def test_a_deleted_version_is_not_given_again(shared):
    for _ in range(3):
        register(shared, "gone")
    assert shared.api("DELETE", "/api/v1/models/gone").status == 400
    assert shared.api("DELETE", "/api/v1/models/gone?version=3").json["id"] == "gone:3"
    assert shared.api("DELETE", "/api/v1/models/gone?version=3").error["slug"] == "model.not_found"
    assert shared.api("GET", "/api/v1/models/gone:3/files/weights.bin").status == 404
    assert shared.get("/models/gone")["version"] == 2
    assert listed(shared, name="gone", latest="true") == ["gone:2"]
    assert register(shared, "gone")["version"] == 4
    assert listed(shared, name="gone") == ["gone:4", "gone:2", "gone:1"]


def test_workspaces_are_apart(shared):
    shared.post("/workspaces", {"name": "models-team"})
    register(shared, "apart")
    theirs = register(shared, "apart", workspace="models-team", tags={"of": "team"})
    assert (theirs["version"], theirs["workspace"]) == (1, "models-team")
    assert shared.get("/models/apart")["tags"] == {}
    assert listed(shared, workspace="models-team") == ["apart:1"]


def test_what_was_answered_survives_a_kill(ferry):
    for number in range(1, 4):
        model = register(ferry, "kept", files=[file_of(ferry, "part/%d" % number, b"content %d" % number)], tags={"n": str(number)})
        ferry.kill_server()
        ferry.start()
        assert ferry.get("/models/kept:%d" % number) == model
        assert ferry.api("GET", "/api/v1/models/kept/files/part/%d" % number).raw == b"content %d" % number
    assert ferry.api("DELETE", "/api/v1/models/kept:3").status == 200
    ferry.kill_server()
    ferry.start()
    assert listed(ferry, latest="true") == ["kept:2"]
    assert register(ferry, "kept")["version"] == 4


def test_many_at_once(shared):
    """Registrations that come together are versions of their own."""
    import concurrent.futures

    file = file_of(shared, "a", b"same")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(lambda _: register(shared, "many", files=[file])["version"], range(40)))
    assert sorted(versions) == list(range(1, 41))
    assert listed(shared, name="many", latest="true") == ["many:40"]


GOOD = [{"path": "a", "digest": hashlib.sha256(b"good").hexdigest(), "size": 4}]


@pytest.mark.parametrize("body,status,field", [
    ({}, 400, "name"), ({"name": ""}, 400, "name"), ({"name": "a b"}, 400, "name"), ({"name": "a/b"}, 400, "name"), ({"name": "ä"}, 400, "name"), ({"name": ".."}, 400, "name"),
    ({"name": "x" * 256}, 400, "name"), ({"name": 7}, 400, "name"), ({"name": ["m"]}, 400, "name"),
    ({"files": None}, 400, "path"), ({"files": []}, 400, "files"), ({"files": "a"}, 400, "files"), ({"files": [None]}, 400, "files[0].path"), ({"files": GOOD * 2}, 400, "files[1].path"),
    ({"files": [dict(GOOD[0], path="../a")]}, 400, "files[0].path"), ({"files": [dict(GOOD[0], path="/a")]}, 400, "files[0].path"), ({"files": [dict(GOOD[0], path="a\nb")]}, 400, "files[0].path"),
    ({"files": [dict(GOOD[0], digest="A" * 64)]}, 400, "files[0].digest"), ({"files": [dict(GOOD[0], digest="0" * 64)]}, 404, "files[0].digest"),
    ({"files": [dict(GOOD[0], size=5)]}, 400, "files[0].size"), ({"files": [dict(GOOD[0], size="4")]}, 400, "files[0].size"),
    ({"files": GOOD + [dict(GOOD[0], path="a/b")]}, 400, "files"), ({"path": "outputs"}, 400, "files"), ({"files": None, "path": "outputs"}, 400, "run"),
    ({"files": GOOD * 20001}, 413, "files"),
    ({"files": None, "path": "outputs", "run": "none"}, 404, "run"), ({"run": 7}, 400, "run"), ({"run": "../x"}, 404, "run"),
    ({"workspace": "nowhere"}, 404, "workspace"), ({"workspace": "a/b"}, 400, "workspace"), ({"workspace": 7}, 400, "workspace"),
    ({"description": {}}, 400, "description"), ({"description": "x" * 70000}, 413, "description"),
    ({"tags": "a"}, 400, "tags"), ({"tags": {"a": []}}, 400, "tags.a"), ({"tags": {"": "x"}}, 400, "tags."), ({"tags": {str(n): "" for n in range(501)}}, 413, "tags"),
    ({"properties": []}, 400, "properties"), ({"framework": 1}, 400, "framework"), ({"framework_version": "x" * 256}, 413, "framework_version"), ({"experiment": "a b"}, 400, "experiment"),
    ({"datasets": "x"}, 400, "datasets"), ({"datasets": [["training", "x", "y"]]}, 400, "datasets[0]"), ({"datasets": [["", "x"]]}, 400, "datasets[0]"),
    ({"datasets": [["training", "0" * 8 + "-0000" * 3 + "-" + "0" * 12]]}, 404, "datasets[0]"), ({"sample_input_dataset": "x"}, 400, "sample_input_dataset"),
    ({"resources": 7}, 400, "resources"), ({"resources": {"cpu": "one"}}, 400, "resources.cpu"), ({"resources": {"gpu": -1}}, 400, "resources.gpu"), ({"resources": {"disk": 1}}, 400, "resources.disk"),
    ({"nmae": "x"}, 400, "nmae"),
], ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else None)
def test_bad_input(shared, body, status, field):
    put_blob(shared, b"good")
    whole = dict({"name": "bad", "files": GOOD}, **body) if body else {"files": GOOD}
    answer = shared.api("POST", "/api/v1/models", {key: value for key, value in whole.items() if value is not None})
    assert (answer.status, answer.error["field"]) == (status, field), answer
    assert answer.error["slug"] and answer.error["message"]
    assert listed(shared, name="bad") == []
    shared.serves()


@pytest.mark.parametrize("method,path,status", [
    ("GET", "/models/none", 404), ("GET", "/models/none/files", 404), ("GET", "/models/none/files/a", 404), ("PATCH", "/models/none", 404), ("DELETE", "/models/none:1", 404),
    ("GET", "/models/a%20b", 400), ("GET", "/models/a?version=0", 400), ("GET", "/models/a?version=one", 400), ("GET", "/models/a:1?version=2", 400), ("GET", "/models?limit=x", 400),
    ("GET", "/models?latest=maybe", 400), ("GET", "/models?cursor=00", 400), ("GET", "/models?workspace=a%2Fb", 400), ("GET", "/models?" + "&".join("tag=%d" % n for n in range(60)), 400),
    ("POST", "/models/none", 405), ("GET", "/models/a/files/%", 400)])
def test_wrong_paths(shared, method, path, status):
    answer = shared.api(method, "/api/v1" + path, {} if method == "PATCH" else None)
    assert answer.status == status, answer
    assert answer.error["slug"] and answer.error["message"]


def test_readers_only_read(shared):
    shared.post("/users", {"name": "models-reader", "role": "reader"})
    token = shared.post("/tokens", {"user": "models-reader"})["token"]
    register(shared, "readable")
    assert shared.api("GET", "/api/v1/models/readable/files/weights.bin", token=token).raw == b"weights of readable"
    for method, path in (("POST", "/models"), ("PATCH", "/models/readable"), ("DELETE", "/models/readable:1")):
        assert shared.api(method, "/api/v1" + path, {}, token=token).status == 403
    assert shared.api("GET", "/api/v1/models", token=None).status == 401
