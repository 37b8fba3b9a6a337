"""The server against api/openapi.yaml: the same routes with the same rights, and real answers of the form that the contract says."""
import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
FERRY = ROOT / "build" / "ferry"
CONTRACT = yaml.safe_load((ROOT / "api" / "openapi.yaml").read_text())
METHODS = ("get", "post", "put", "patch", "delete")


# --- a validator for the part of JSON Schema that the contract uses
def resolve(schema):
    while "$ref" in schema:
        node = CONTRACT
        for part in schema["$ref"].removeprefix("#/").split("/"):
            node = node[part]
        schema = node
    return schema


def is_type(value, name):
    if name == "null":
        return value is None
    if name == "boolean":
        return isinstance(value, bool)
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, {"string": str, "array": list, "object": dict}[name])


KNOWN = {"type", "enum", "const", "required", "properties", "additionalProperties", "items", "pattern", "minimum", "maximum", "minLength", "maxLength",
         "maxItems", "description", "default", "format"}


def problems(value, schema, where="answer"):
    schema = resolve(schema)
    unknown = set(schema) - KNOWN
    assert not unknown, f"the validator does not know {unknown}"
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(is_type(value, name) for name in types):
            yield f"{where} is {value!r:.80}, expected {' or '.join(types)}"
            return
    if "const" in schema and value != schema["const"]:
        yield f"{where} is {value!r}, expected {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, expected one of {schema['enum']}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{where} is {value!r:.80}, expected {schema['pattern']}"
    if is_type(value, "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{where} is {value}, out of its bounds"
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from problems(item, schema.get("items", {}), f"{where}[{i}]")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where} lacks {name}"
        for name, item in value.items():
            if name in known:
                yield from problems(item, known[name], f"{where}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{where} has {name}, which the contract does not"
            elif isinstance(schema.get("additionalProperties"), dict):
                yield from problems(item, schema["additionalProperties"], f"{where}.{name}")


def test_validator():
    run = {"$ref": "#/components/schemas/RunStatus"}
    assert not list(problems({"id": "a", "status": "Running"}, run))
    assert len(list(problems({"status": "Happy"}, run))) == 2
    assert list(problems({"error": {"code": "invalid", "slug": "a", "message": "m", "more": 1}}, {"$ref": "#/components/schemas/Error"}))
    assert list(problems([True], {"type": "array", "items": {"type": "integer"}}))


def operations():
    for path, item in CONTRACT["paths"].items():
        for method in METHODS:
            if method in item:
                yield method, path, item[method]


def test_every_reference_leads_somewhere():
    def walk(node):
        if isinstance(node, dict):
            if "$ref" in node:
                resolve(node)
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(CONTRACT)
    used = set(re.findall(r"#/components/\w+/(\w+)", (ROOT / "api" / "openapi.yaml").read_text()))
    for kind in ("parameters", "schemas", "responses"):
        assert set(CONTRACT["components"][kind]) <= used, "defined and never used"


def test_path_parameters_are_declared():
    for method, path, operation in operations():
        declared = {resolve(p)["name"] for p in operation.get("parameters", []) if resolve(p)["in"] == "path"}
        assert declared == set(re.findall(r"\{(\w+)\}", path)), f"{method} {path}"


def test_routes_are_those_of_the_server():
    out = subprocess.run([FERRY, "server", "--routes"], check=True, capture_output=True, text=True).stdout
    served = {}
    for line in out.splitlines():
        route = json.loads(line)
        served[route["method"].lower(), route["path"].replace("...}", "}")] = (route["need"], route["run_token"])
    written = {(m, p): (o["x-need"], o.get("x-run-token", "never")) for m, p, o in operations()}
    assert written == served


class Server:
    def __init__(self, home):
        self.home = home
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("FERRY_")} | {"FERRY_HOME": str(home)}
        self.ferry("server", "start", "--slots", "2")
        self.url = json.loads((home / "server.json").read_text())["url"]
        self.token = (home / "admin.token").read_text().strip()
        self.seen = set()

    def ferry(self, *words, **options):
        return subprocess.run([FERRY, *words], env=self.environment, check=True, capture_output=True, text=True, timeout=60, **options).stdout

    def ask(self, method, path, body=None, token=None, template=None, raw=None, headers=None):
        """The status and the answer, checked against the contract."""
        request = urllib.request.Request(self.url + path, method=method, headers=dict(headers or {}))
        if token is not False:
            request.add_header("Authorization", f"Bearer {token or self.token}")
        if body is not None or raw is not None:
            request.data = json.dumps(body).encode() if raw is None else raw
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                status, kind, data = answer.status, answer.headers.get_content_type(), answer.read()
        except urllib.error.HTTPError as error:
            status, kind, data = error.code, error.headers.get_content_type(), error.read()
        operation = CONTRACT["paths"][template or path.partition("?")[0]][method.lower()]
        if body is not None and status < 300:
            wrong = list(problems(body, operation["requestBody"]["content"]["application/json"]["schema"], "request"))
            assert not wrong, f"{method} {path}: {wrong}"
        assert str(status) in operation["responses"], f"{method} {path} answered {status}, which the contract does not have: {data[:300]}"
        content = resolve(operation["responses"][str(status)])["content"]
        assert kind in content, f"{method} {path} answered {kind}"
        if kind == "application/json":
            data = json.loads(data)
            wrong = list(problems(data, content[kind]["schema"]))
            assert not wrong, f"{method} {path}: {wrong}"
        if status < 300:
            self.seen.add((method.lower(), template or path.partition("?")[0]))
        return status, data


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("ferry"))
    yield server
    server.ferry("server", "stop")


def node_token(server):
    """The token of the node "local", made as the server makes it."""
    import hashlib
    import hmac

    secret = (server.home / "secret").read_bytes()
    return "node/local/" + hmac.new(secret, b"node/local", hashlib.sha256).hexdigest()


def wait_for(server, run, status):
    import time

    deadline = time.monotonic() + 30
    while True:
        view = server.ask("GET", f"/api/v1/runs/{run}", template="/api/v1/runs/{id}")[1]
        if view["status"] == status:
            return view
        assert time.monotonic() < deadline, view
        time.sleep(0.05)


def test_answers(server, tmp_path):
    ask = server.ask
    ask("GET", "/healthz", token=False)
    ask("GET", "/", token=False)
    ask("GET", "/metrics")
    ask("GET", "/api/v1/version")
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(
        "import os, pathlib\nfrom azureml.core import Run\nrun = Run.get_context()\nrun.log('loss', 0.5)\nrun.log('loss', 0.25)\n"
        "run.log_row('row', x=1)\nrun.tag('a', 'b')\npathlib.Path('outputs').mkdir(exist_ok=True)\n"
        "pathlib.Path('outputs/model.txt').write_text('0123456789')\nprint('hello')\n")
    server.ferry("run", "submit-script", "-e", "contract", "--run-id", "r1", "--source-directory", str(source), "train.py")
    run = wait_for(server, "r1", "Completed")
    assert run["tags"] == {"a": "b"}
    status, again = ask("POST", "/api/v1/runs", {"id": "r2", "experiment": "contract", "command": ["sleep", "60"], "tags": {"n": "1"}})
    assert status == 201 and again["created"]
    assert ask("POST", "/api/v1/runs", {"id": "r2", "experiment": "contract", "command": ["sleep", "60"], "tags": {"n": "1"}})[0] == 200
    assert ask("POST", "/api/v1/runs", {"id": "r2", "experiment": "contract", "command": ["true"]})[0] == 409
    wait_for(server, "r2", "Running")
    assert ask("POST", "/api/v1/runs", {"experiment": "contract"})[0] == 400
    assert ask("POST", "/api/v1/runs", {"experiment": "contract", "command": ["true"], "target": "moon"})[0] == 404
    assert ask("GET", "/api/v1/runs", token="wrong")[0] == 401
    assert len(ask("GET", "/api/v1/runs?limit=1")[1]["runs"]) == 1
    ask("GET", "/api/v1/runs?group=status")
    one = "/api/v1/runs/{id}"
    assert ask("GET", "/api/v1/runs/none", template=one)[0] == 404
    ask("PATCH", "/api/v1/runs/r1", {"name": "x", "tags": {"c": "d"}}, template=one)
    for run in ("r1", "r2"):
        ask("GET", f"/api/v1/runs/{run}/explain", template=one + "/explain")
        ask("GET", f"/api/v1/runs/{run}/logs", template=one + "/logs")
    assert b"hello" in ask("GET", "/api/v1/runs/r1/logs/user_logs/std_log.txt", template=one + "/logs/{path}")[1]
    assert ask("GET", "/api/v1/runs/r1/logs/none", template=one + "/logs/{path}")[0] == 404
    assert b"event: end" in ask("GET", "/api/v1/runs/r1/events", template=one + "/events")[1]
    assert ask("GET", "/api/v1/runs/r1/metrics?values=1&system=1", template=one + "/metrics")[1]["values"]["loss"] == [0.5, 0.25]
    ask("GET", "/api/v1/runs/r1/metrics/loss", template=one + "/metrics/{path}")
    ask("POST", "/api/v1/runs/r2/metrics", {"points": [{"metric": "m", "value": 1}], "series": [{"metric": "n", "values": [1, 2], "steps": [1, 2]}]},
        template=one + "/metrics")
    artifacts = ask("GET", "/api/v1/runs/r1/artifacts", template=one + "/artifacts")[1]["artifacts"]
    model = next(a for a in artifacts if a["path"] == "outputs/model.txt")
    path = one + "/artifacts/{path}"
    assert ask("GET", "/api/v1/runs/r1/artifacts/outputs/model.txt", template=path)[1] == b"0123456789"
    assert ask("GET", "/api/v1/runs/r1/artifacts/outputs/model.txt", template=path, headers={"Range": "bytes=2-3"}) == (206, b"23")
    assert ask("GET", "/api/v1/runs/r1/artifacts/outputs/model.txt", template=path, headers={"Range": "bytes=99-"})[0] == 416
    digest = model["digest"]
    blob = "/api/v1/blobs/{digest}"
    assert ask("GET", f"/api/v1/blobs/{digest}", template=blob)[1] == b"0123456789"
    assert ask("POST", "/api/v1/blobs/missing", {"digests": [digest, "0" * 64]})[1]["missing"] == ["0" * 64]
    pack = ask("POST", "/api/v1/blobs/fetch", {"digests": [digest]})[1]
    assert pack.startswith(b"FPK1")
    assert ask("POST", "/api/v1/blobs/pack", raw=pack)[1] == {"added": 0}
    assert ask("POST", "/api/v1/blobs/pack", raw=b"rubbish")[0] == 400
    import hashlib

    content = b"in parts"
    digest = hashlib.sha256(content).hexdigest()
    ask("PUT", f"/api/v1/blobs/{digest}/parts?offset=0", raw=content, template=blob + "/parts")
    assert ask("GET", f"/api/v1/blobs/{digest}/parts", template=blob + "/parts")[1] == {"size": len(content)}
    ask("POST", f"/api/v1/blobs/{digest}/finish", {"size": len(content)}, template=blob + "/finish")
    ask("POST", "/api/v1/runs/r2/evict", template=one + "/evict")
    ask("POST", "/api/v1/runs/r2/cancel", template=one + "/cancel")
    wait_for(server, "r2", "Canceled")
    assert ask("POST", "/api/v1/runs/r2/cancel", template=one + "/cancel")[0] == 409

    # A run that its client drives.
    assert ask("POST", "/api/v1/runs", {"id": "i1", "experiment": "contract", "interactive": True, "type": "azureml.interactive"})[1]["status"] == "Running"
    assert ask("POST", "/api/v1/runs", {"experiment": "contract", "interactive": True, "command": ["true"]})[0] == 400
    assert ask("GET", "/api/v1/runs?type=azureml.interactive")[1]["runs"][0]["id"] == "i1"
    ask("PATCH", "/api/v1/runs/i1", {"snapshot": digest}, template=one)
    assert ask("POST", "/api/v1/runs/i1/complete", template=one + "/complete")[1] == {"id": "i1", "status": "Completed"}
    assert ask("POST", "/api/v1/runs/i1/fail", {"message": "late"}, template=one + "/fail")[0] == 409
    ask("POST", "/api/v1/runs", {"id": "i2", "experiment": "contract", "interactive": True, "parent": "i1"})
    ask("POST", "/api/v1/runs/i2/fail", {"message": "no data", "code": "NoData"}, template=one + "/fail")
    assert ask("GET", "/api/v1/runs/i2", template=one)[1]["end"]["code"] == "NoData"

    upload = {"digest": digest, "size": len(content)}
    assert ask("PUT", "/api/v1/runs/i1/artifacts/outputs/late.txt", upload, template=path)[0] == 201
    assert ask("PUT", "/api/v1/runs/i1/artifacts/outputs/late.txt", upload, template=path)[0] == 200
    assert ask("PUT", "/api/v1/runs/i1/artifacts/outputs/late.txt", {"digest": model["digest"]}, template=path)[0] == 409
    assert ask("GET", "/api/v1/runs/i1/artifacts/outputs/late.txt", template=path)[1] == content
    assert ask("GET", "/api/v1/runs/r1/definition", template=one + "/definition")[1]["script"] == "train.py"

    # Environments: what is registered, what is built, and runs that need one.
    env = "/api/v1/environments/{name}"
    definition = {"python": {"condaDependencies": {"channels": ["conda-forge"], "dependencies": ["python=3.11", {"pip": ["six"]}]}}}
    assert ask("PUT", "/api/v1/environments/mine", {"definition": definition, "description": "d", "tags": {"a": "b"}}, template=env)[0] == 201
    assert ask("PUT", "/api/v1/environments/mine", {"definition": definition}, template=env)[0] == 200
    assert ask("PUT", "/api/v1/environments/AzureML-Mine", {"definition": definition}, template=env)[0] == 400
    assert any(e["name"] == "mine" for e in ask("GET", "/api/v1/environments")[1]["environments"])
    key = ask("GET", "/api/v1/environments/mine?version=1", template=env)[1]["key"]
    ask("GET", "/api/v1/environments/AzureML-PyTorch-1.6-GPU", template=env)
    assert ask("GET", "/api/v1/environments/none", template=env)[0] == 404
    ask("GET", "/api/v1/environments/mine/versions", template=env + "/versions")
    node = node_token(server)
    build = {"lock": {"kind": "venv", "python": "3.11.2", "platform": "linux-64", "packages": [{"name": "six", "version": "1.17.0", "source": "pypi"}]},
             "seconds": 1.5, "path": "/somewhere", "archive": digest}
    of_agents = "/api/v1/agent/environments/{key}"
    ask("POST", f"/api/v1/agent/environments/{key}/build", build, token=node, template=of_agents + "/build")
    assert ask("GET", f"/api/v1/agent/environments/{key}", token=node, template=of_agents)[1]["archive"] == digest
    assert ask("GET", f"/api/v1/agent/environments/{'0' * 64}", token=node, template=of_agents)[0] == 404
    ask("GET", "/api/v1/builds")
    assert ask("GET", f"/api/v1/builds/{key}", template="/api/v1/builds/{key}")[1]["lock"]["packages"][0]["name"] == "six"
    assert len(ask("POST", "/api/v1/builds/prune", {"keep_bytes": 0, "older_than_days": 1, "dry_run": True})[1]["pruned"]) == 1
    assert ask("DELETE", "/api/v1/environments/mine?version=1", template=env)[1] == {"name": "mine", "versions": ["1"]}
    ask("POST", "/api/v1/runs/r1/rerun", {"id": "r1-again"}, template=one + "/rerun")
    ask("POST", "/api/v1/runs", {"id": "r3", "experiment": "contract", "command": ["true"], "watch": ["logs"], "auto_prepare": True,
                                 "environment_definition": {"python": {"userManagedDependencies": True}}})
    assert ask("GET", "/api/v1/runs/r3", template=one)[1]["environment"]["name"] == "Experiment contract Environment"
    assert ask("GET", "/api/v1/runs/r3/definition", template=one + "/definition")[1]["environment"]["version"] == "1"
    assert ask("GET", "/api/v1/runs/r2/lock", template=one + "/lock")[0] == 404

    one = "/api/v1/models/{name}"
    files = [{"path": "m/a.txt", "digest": model["digest"], "size": 10}]
    made = ask("POST", "/api/v1/models", {"name": "contract", "run": "r1", "path": "./outputs/model.txt", "tags": {"a": "b"}, "resources": {"cpu": 1, "memory_in_gb": 0.5}})[1]
    assert (made["id"], made["file_count"], made["experiment"]) == ("contract:1", 1, "contract")
    assert ask("POST", "/api/v1/models", {"name": "contract", "run": "r1", "path": "outputs/none"})[0] == 404
    assert ask("POST", "/api/v1/models", {"name": "contract"})[0] == 400
    assert ask("POST", "/api/v1/models", {"name": "contract", "files": files, "framework": "Custom"})[1]["version"] == 2
    assert len(ask("GET", "/api/v1/models?latest=true&limit=1")[1]["models"]) == 1
    ask("GET", "/api/v1/models/contract:1", template=one)
    ask("PATCH", "/api/v1/models/contract?version=1", {"set_tags": {"c": "d"}, "add_properties": {"p": "q"}}, template=one)
    assert ask("PATCH", "/api/v1/models/contract?version=1", {"add_properties": {"p": "other"}}, template=one)[0] == 409
    assert ask("GET", "/api/v1/models/contract/files", template=one + "/files")[1] == {"files": files}
    assert ask("GET", "/api/v1/models/contract/files/m/a.txt", template=one + "/files/{path}")[1] == b"0123456789"
    assert ask("GET", "/api/v1/models/contract/files/m/a.txt", template=one + "/files/{path}", headers={"Range": "bytes=2-4"})[1] == b"234"
    assert ask("DELETE", "/api/v1/models/contract?version=2", template=one)[1]["id"] == "contract:2"
    one = "/api/v1/datasets/{name}"
    definition = {"paths": [{"datastore": "workspaceblobstore", "path": "data/*.csv"}, {"url": "https://host/a.csv"}], "read": {"kind": "delimited"}, "steps": []}
    saved = ask("POST", "/api/v1/datasets", {"type": "Tabular", "definition": definition})[1]
    assert ask("POST", "/api/v1/datasets", {"name": "contract", "type": "Tabular", "definition": definition, "tags": {"a": "b"}})[0] == 201
    assert ask("POST", "/api/v1/datasets", {"name": "contract", "type": "Tabular", "definition": definition})[0] == 200
    assert ask("POST", "/api/v1/datasets", {"name": "contract", "type": "File", "definition": definition})[0] == 409
    assert ask("POST", "/api/v1/datasets", {"type": "File", "definition": {"paths": [{"datastore": "none", "path": ""}]}})[0] == 404
    assert len(ask("GET", "/api/v1/datasets?tag=a%3Db")[1]["datasets"]) == 1
    ask("GET", "/api/v1/datasets/contract?version=1", template=one)
    ask("GET", "/api/v1/datasets/contract/versions", template=one + "/versions")
    ask("GET", f"/api/v1/datasets/by-id/{saved['id']}", template="/api/v1/datasets/by-id/{dataset}")
    ask("PATCH", "/api/v1/datasets/contract", {"description": "d", "deprecated_by": saved["id"]}, template=one)
    assert ask("DELETE", "/api/v1/datasets/contract", template=one)[1] == {"name": "contract", "versions": 1}

    ask("GET", "/api/v1/workspaces")
    ask("POST", "/api/v1/workspaces", {"name": "team"})
    assert ask("POST", "/api/v1/workspaces", {"name": "team"})[0] == 409
    ask("GET", "/api/v1/workspaces/team", template="/api/v1/workspaces/{name}")
    ask("POST", "/api/v1/experiments", {"name": "e", "workspace": "team"})
    ask("GET", "/api/v1/experiments")
    ask("GET", "/api/v1/experiments/e?workspace=team", template="/api/v1/experiments/{name}")
    # Datastores and their files.
    stores = "/api/v1/datastores/{name}"
    folder = tmp_path / "folder"
    folder.mkdir()
    assert ask("PUT", "/api/v1/datastores/here", {"kind": "folder", "folder": str(folder), "tags": {"a": "b"}}, template=stores)[0] == 201
    assert ask("PUT", "/api/v1/datastores/here", {"kind": "folder", "folder": str(folder), "overwrite": True}, template=stores)[0] == 200
    assert ask("PUT", "/api/v1/datastores/here", {"kind": "folder", "folder": str(folder)}, template=stores)[0] == 409
    assert ask("PUT", "/api/v1/datastores/home", {"kind": "folder", "folder": str(server.home)}, template=stores)[0] == 403
    assert ask("GET", "/api/v1/datastores/here", template=stores)[1]["folder"] == str(folder)
    ask("POST", "/api/v1/datastores/here/default", {}, template=stores + "/default")
    assert [d["name"] for d in ask("GET", "/api/v1/datastores")[1]["datastores"] if d["default"]] == ["here"]
    for name in ("here", "workspaceblobstore"):
        at = f"/api/v1/datastores/{name}/files"
        assert ask("PUT", at + "/a/b.txt", raw=b"0123456789", template=stores + "/files/{path}")[0] == 201
        assert ask("PUT", at + "/a/b.txt", raw=b"other", template=stores + "/files/{path}")[0] == 409
        assert ask("PUT", at + "/a/b.txt?overwrite=true", raw=b"0123456789", template=stores + "/files/{path}")[0] == 201
        assert ask("GET", at + "/a/b.txt", template=stores + "/files/{path}")[1] == b"0123456789"
        assert ask("GET", at + "/a/b.txt", template=stores + "/files/{path}", headers={"Range": "bytes=2-3"}) == (206, b"23")
        assert ask("GET", at + "/a/c.txt", template=stores + "/files/{path}")[0] == 404
        assert [f["path"] for f in ask("GET", at + "?prefix=a/", template=stores + "/files")[1]["files"]] == ["a/b.txt"]
    added = {"files": [{"path": "c.txt", "digest": digest, "size": len(content)}]}
    assert ask("POST", "/api/v1/datastores/workspaceblobstore/files", added, template=stores + "/files")[1] == {"added": 1, "files": 1}
    assert ask("GET", "/api/v1/datastores/workspaceartifactstore/files?prefix=ExperimentRun/dcid.r1/outputs/", template=stores + "/files")[1]["files"]
    ask("POST", "/api/v1/runs", {"id": "r4", "experiment": "contract", "command": ["cp", "-r", "DatasetConsumptionConfig:in/.", "DatasetOutputConfig:out"],
                                 "data": {"in": {"paths": [{"datastore": "here", "path": "a/*.txt"}], "mode": "mount", "environment_variable": "IN"}},
                                 "outputs": {"out": {"datastore": "here", "path": "out/{run-id}"}}})
    view = wait_for(server, "r4", "Completed")
    assert view["inputDatasets"][0]["how"] == "linked" and view["outputDatasets"][0]["files"] == 1
    ask("DELETE", "/api/v1/datastores/here", template=stores)

    ask("PATCH", "/api/v1/experiments/e", {"workspace": "team", "set_tags": {"a": "b"}, "archived": True}, template="/api/v1/experiments/{name}")
    assert ask("DELETE", "/api/v1/experiments/contract", template="/api/v1/experiments/{name}")[0] == 409
    ask("DELETE", "/api/v1/experiments/e?workspace=team", template="/api/v1/experiments/{name}")
    ask("PATCH", "/api/v1/workspaces/team", {"friendly_name": "The team", "properties": {"location": "here"}}, template="/api/v1/workspaces/{name}")
    assert ask("DELETE", "/api/v1/workspaces/default", template="/api/v1/workspaces/{name}")[0] == 409
    ask("DELETE", "/api/v1/workspaces/team", template="/api/v1/workspaces/{name}")
    secret = "/api/v1/secrets/{name}"
    assert ask("PUT", "/api/v1/secrets/key", {"value": "hush", "content_type": "text/plain"}, template=secret)[0] == 201
    assert ask("PUT", "/api/v1/secrets/key", {"value": "hush"}, template=secret)[0] == 200
    assert ask("GET", "/api/v1/secrets/key", template=secret)[1]["value"] == "hush"
    assert "hush" not in json.dumps(ask("GET", "/api/v1/secrets")[1])
    ask("DELETE", "/api/v1/secrets/key", template=secret)
    assert ask("GET", "/api/v1/secrets/key", template=secret)[0] == 404
    ask("GET", "/api/v1/nodes")
    ask("POST", "/api/v1/users", {"name": "rita", "role": "reader"})
    ask("GET", "/api/v1/users")
    made = ask("POST", "/api/v1/tokens", {"user": "rita", "expires_in_seconds": 60})[1]
    assert ask("POST", "/api/v1/runs", {"experiment": "e", "command": ["true"]}, token=made["token"])[0] == 403
    ask("GET", "/api/v1/tokens")
    ask("DELETE", f"/api/v1/tokens/{made['id']}", template="/api/v1/tokens/{id}")
    ask("DELETE", "/api/v1/users/rita", template="/api/v1/users/{name}")
    assert ask("DELETE", "/api/v1/users/admin", template="/api/v1/users/{name}")[0] == 409

    # Everything was asked but what ends the server, never ends, or is the agent's.
    missed = {(m, p) for m, p, o in operations() if o["x-need"] != "node"} - server.seen
    assert missed == {("post", "/api/v1/shutdown"), ("get", "/api/v1/events"), ("get", "/api/v1/runs/{id}/lock")}


def test_agents_blobs_are_the_same_as_users():
    """The agent's routes for blobs are the users' routes behind another token."""
    for method, path, operation in operations():
        if path.startswith("/api/v1/agent/blobs"):
            other = CONTRACT["paths"][path.replace("/agent", "")][method]
            ours, theirs = ({k: v for k, v in o.items() if k not in ("x-need", "x-run-token")} for o in (operation, other))
            assert ours == theirs, path
