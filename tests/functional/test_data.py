"""Data of runs: datastores of each kind, mount, download and upload with real scripts, and what happens when agent or server die in the middle."""

import http.server
import json
import os
import subprocess
import threading
import urllib.parse

import pytest
from ferry_fixture import PYTHON, ROOT, processes_of, read_tree, wait_until, write_tree

# Prints {relative path: content} of each argument, or the content of a file.
SHOW = """
import json, os, sys
out = {}
for at in sys.argv[1:]:
    if os.path.isfile(at):
        out[os.path.basename(at)] = open(at).read()
    for base, _, names in os.walk(at, followlinks=True):
        for name in names:
            path = os.path.join(base, name)
            out[os.path.relpath(path, at)] = open(path).read()
print(json.dumps({"files": out, "argv": sys.argv[1:], "env": {k: v for k, v in os.environ.items() if "DATA" in k}}))
"""

FILES = {"train/a.csv": "a", "train/b.csv": "b", "train/deep/c.csv": "c", "train/notes.txt": "n", "single.txt": "one", "test/a.csv": "t"}


def put(ferry, datastore, files):
    for path, content in files.items():
        answer = ferry.api("PUT", "/api/v1/datastores/%s/files/%s?overwrite=true" % (datastore, urllib.parse.quote(path)), content.encode())
        assert answer.status == 201, answer


def register_folder(ferry, name, folder):
    os.makedirs(str(folder), exist_ok=True)
    answer = ferry.api("PUT", "/api/v1/datastores/" + name, {"kind": "folder", "folder": str(folder)})
    assert answer.status == 201, answer
    return name


def listed(ferry, datastore, prefix=""):
    files = ferry.get("/datastores/%s/files?%s" % (datastore, urllib.parse.urlencode({"prefix": prefix})))["files"]
    return {file["path"][len(prefix):]: ferry.api("GET", "/api/v1/datastores/%s/files/%s" % (datastore, urllib.parse.quote(file["path"]))).raw.decode() for file in files}


SECRET = "wJalrXUtnFEMIvery0secret0key"


@pytest.fixture(scope="session")
def s3():
    """The address of an S3 server with a bucket "data"."""
    process = subprocess.Popen(["/usr/bin/python3", os.path.join(ROOT, "tests", "s3_server.py")], stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    assert url, "the S3 server did not start"
    yield url
    process.kill()
    process.wait()


def register_s3(ferry, name, url, prefix):
    body = {"kind": "s3", "endpoint": url, "bucket": "data", "prefix": prefix, "access_key": "AKIAIOSFODNN7EXAMPLE", "secret_key": SECRET}
    answer = ferry.api("PUT", "/api/v1/datastores/" + name, body)
    assert answer.status == 201, answer
    return name


@pytest.fixture(params=["own", "folder", "s3"])
def datastore(request, shared, tmp_path):
    """The name of a datastore of each kind, empty."""
    name = "store_" + os.path.basename(str(tmp_path)).replace("-", "_").replace("[", "_").replace("]", "_")
    if request.param == "folder":
        return register_folder(shared, name, tmp_path / "store")
    if request.param == "s3":
        return register_s3(shared, name, request.getfixturevalue("s3"), name)
    assert shared.api("PUT", "/api/v1/datastores/" + name, {"kind": "own"}).status == 201
    return name


def shown(ferry, paths, mode="download", expect="Completed", **fields):
    """What a script sees of an input with these paths, and its run."""
    run = ferry.submit(PYTHON, "-c", SHOW, "DatasetConsumptionConfig:train", data={"train": dict(fields, paths=paths, mode=mode)})
    view = ferry.wait(run, expect)
    return (json.loads(ferry.output(run)) if expect == "Completed" else None), view


@pytest.mark.parametrize("mode", ["mount", "download"])
def test_a_folder_a_file_and_globs(shared, datastore, mode):
    put(shared, datastore, FILES)
    train = {"a.csv": "a", "b.csv": "b", "deep/c.csv": "c", "notes.txt": "n"}
    seen, view = shown(shared, [{"datastore": datastore, "path": "train"}], mode)
    assert seen["files"] == train
    entry = view["inputDatasets"][0]
    assert entry["mode"] == mode and entry["path"] == seen["argv"][0]
    assert seen["env"]["AZUREML_DATAREFERENCE_train"] == seen["argv"][0]
    own = shared.get("/datastores/" + datastore)["kind"] != "folder"
    assert entry["how"] == ("downloaded" if own or mode == "download" else "linked")
    if mode == "mount" and own:
        assert "downloaded" in entry["note"]
        assert b"downloaded" in shared.log(view["id"], "azureml-logs/30_data_log.txt")
    assert os.path.islink(seen["argv"][0]) is False  # gone with the attempt
    assert [clock["name"] for clock in view["clocks"] if clock["name"] == "data"] == ["data"]

    seen, _ = shown(shared, [{"datastore": datastore, "path": "single.txt"}], mode)
    assert seen["files"] == {"single.txt": "one"} and seen["argv"][0].endswith("/single.txt")
    seen, _ = shown(shared, [{"datastore": datastore, "path": "train/*.csv"}], mode)
    assert seen["files"] == {"a.csv": "a", "b.csv": "b"}
    seen, _ = shown(shared, [{"datastore": datastore, "path": "**/*.csv"}], mode)
    assert seen["files"] == {"train/a.csv": "a", "train/b.csv": "b", "train/deep/c.csv": "c", "test/a.csv": "t"}
    # Two paths keep what sets them apart.
    seen, _ = shown(shared, [{"datastore": datastore, "path": "train/a.csv"}, {"datastore": datastore, "path": "test/"}], mode)
    assert seen["files"] == {"train/a.csv": "a", "test/a.csv": "t"}
    seen, _ = shown(shared, [{"datastore": datastore, "path": ""}], mode)
    assert seen["files"] == FILES


def test_names_in_arguments_and_environment(shared, datastore):
    put(shared, datastore, {"d/x": "x"})
    data = {"first-one": {"paths": [{"datastore": datastore, "path": "d"}], "mode": "download", "environment_variable": "MY_DATA"},
            "second": {"mode": "direct", "dataset": "the-id", "environment_variable": "DATA_ID"}}
    run = shared.submit(PYTHON, "-c", SHOW, "--in=DatasetConsumptionConfig:first-one/x", "$AZUREML_DATAREFERENCE_first-one", "DatasetConsumptionConfig:second",
                        data=data, environment={"OTHER_DATA": "at ${AZUREML_DATAREFERENCE_first-one}"})
    view = shared.wait(run, "Completed")
    seen = json.loads(shared.output(run))
    path = seen["env"]["MY_DATA"]
    assert seen["argv"] == ["--in=%s/x" % path, path, "the-id"]
    assert seen["env"]["OTHER_DATA"] == "at " + path
    assert seen["env"]["DATA_ID"] == seen["env"]["AZUREML_DATAREFERENCE_second"] == "the-id"
    assert [d["dataset"] for d in view["inputDatasets"]] == [None, "the-id"]


def test_where_the_script_wants_it(shared, datastore, tmp_path):
    put(shared, datastore, {"d/x": "x"})
    paths = [{"datastore": datastore, "path": "d"}]
    for mode in ("mount", "download"):
        run = shared.submit(PYTHON, "-c", SHOW, "inputs/here", data={"train": {"paths": paths, "mode": mode, "path_on_compute": "inputs/here"}})
        shared.wait(run, "Completed")
        seen = json.loads(shared.output(run))
        assert seen["files"] == {"x": "x"} and seen["env"]["AZUREML_DATAREFERENCE_train"].endswith("/work/inputs/here")
    place = "/tmp/ferry_test_%s/data" % datastore
    for _ in range(2):
        seen, _ = shown(shared, paths, "mount", path_on_compute=place)
        assert seen["argv"] == [place] and seen["files"] == {"x": "x"}
        wait_until("the link is removed", lambda: not os.path.lexists(place))
    os.makedirs(place)
    try:
        write_tree(place, {"mine": "mine"})
        _, view = shown(shared, paths, "download", "Failed", path_on_compute=place, overwrite=True)
        assert view["end"]["reason"] == "preparation_failed" and place in view["end"]["text"]
        assert read_tree(place) == {"mine": b"mine"}
    finally:
        os.remove(place + "/mine")
        os.removedirs(place)
    # What the snapshot has gives way only when told so.
    source = write_tree(tmp_path / "source", {"inputs/old": "old", "show.py": SHOW})
    manifest = shared.submit_script(source, "show.py", "inputs")
    snapshot = shared.wait(manifest, "Completed")["spec"]["snapshot"]
    for overwrite, status in ((False, "Failed"), (True, "Completed")):
        body = {"experiment": "test", "script": "show.py", "arguments": ["inputs"], "snapshot": snapshot, "interpreter": PYTHON,
                "data": {"train": {"paths": paths, "mode": "download", "path_on_compute": "inputs", "overwrite": overwrite}}}
        run = shared.post("/runs", body)["id"]
        view = shared.wait(run, status)
        if overwrite:
            assert json.loads(shared.output(run))["files"] == {"x": "x"}
        else:
            assert "overwrite" in view["end"]["text"]


def test_what_is_not_there_fails_the_preparation(shared, datastore):
    put(shared, datastore, {"d/x": "x"})
    for path in ("nothing", "d/*.csv", "d/x/below", "**/nothing?"):
        _, view = shown(shared, [{"datastore": datastore, "path": "d"}, {"datastore": datastore, "path": path}], "mount", "Failed")
        assert view["end"]["reason"] == "preparation_failed"
        assert "'train'" in view["end"]["text"] and path in view["end"]["text"] and datastore in view["end"]["text"], view["end"]


def test_bad_submissions_start_nothing(shared, datastore):
    before = len(shared.get("/runs?limit=1000")["runs"])

    def refused(slug, field, **fields):
        answer = shared.api("POST", "/api/v1/runs", dict({"experiment": "test", "command": ["true"]}, **fields))
        assert answer.status in (400, 404) and answer.error["slug"] == slug and answer.error["field"] == field, answer

    one = [{"datastore": datastore, "path": "d"}]
    refused("datastore.not_found", "data.a.paths[0].datastore", data={"a": {"paths": [{"datastore": "nothing", "path": "x"}]}})
    refused("data.no_path", "data.a.paths", data={"a": {"paths": []}})
    refused("data.path", "data.a.paths[0].path", data={"a": {"paths": [{"datastore": datastore, "path": "../x"}]}})
    refused("data.path", "data.a.paths[1].path", data={"a": {"paths": one + [{"datastore": datastore, "path": "x/../../y"}]}})
    refused("data.name", "data.a b", data={"a b": {"paths": one}})
    refused("data.mode", "data.a.mode", data={"a": {"paths": one, "mode": "sideways"}})
    refused("data.path_on_compute", "data.a.path_on_compute", data={"a": {"paths": one, "path_on_compute": "/etc/cron.d"}})
    refused("data.path", "data.a.path_on_compute", data={"a": {"paths": one, "path_on_compute": "../../x"}})
    refused("data.url", "data.a.paths[0].url", data={"a": {"paths": [{"url": "file:///etc/passwd"}]}})
    refused("data.unknown", "command[1]", command=["echo", "DatasetConsumptionConfig:b"], data={"a": {"paths": one}})
    refused("data.name", "outputs.a", data={"a": {"paths": one}}, outputs={"a": {"datastore": datastore}})
    refused("datastore.not_found", "outputs.a.datastore", outputs={"a": {"datastore": "nothing"}})
    refused("datastore.read_only", "outputs.a.datastore", outputs={"a": {"datastore": "workspaceartifactstore"}})
    refused("data.path", "outputs.a.path", outputs={"a": {"datastore": datastore, "path": "../x"}})
    assert len(shared.get("/runs?limit=1000")["runs"]) == before


def test_no_way_out_of_a_folder(shared, tmp_path):
    outside = write_tree(tmp_path / "outside", {"secret": "secret"})
    root = write_tree(tmp_path / "root", {"d/x": "x"})
    os.symlink(outside + "/secret", root + "/d/file_out")
    os.symlink(outside, root + "/folder_out")
    os.symlink("x", root + "/d/inside")
    name = register_folder(shared, "no_way_out", root)
    assert shared.api("GET", "/api/v1/datastores/%s/files/d/file_out" % name).status == 403
    assert shared.api("GET", "/api/v1/datastores/%s/files/folder_out/secret" % name).status == 403
    assert shared.api("PUT", "/api/v1/datastores/%s/files/folder_out/new" % name, b"x").status == 403
    for path in ("..%2foutside%2fsecret", "%2fetc%2fpasswd", "d/../../outside/secret"):
        assert shared.api("GET", "/api/v1/datastores/%s/files/%s" % (name, path)).status == 400
    for path in ("d/file_out", "folder_out", "folder_out/secret", "folder_out/*"):
        for mode in ("mount", "download"):
            _, view = shown(shared, [{"datastore": name, "path": path}], mode, "Failed")
            assert view["end"]["reason"] == "preparation_failed", view
    seen, _ = shown(shared, [{"datastore": name, "path": "d"}], "download")
    assert seen["files"] == {"x": "x", "inside": "x"}
    run = shared.submit("sh", "-c", "echo y > DatasetOutputConfig:o/f", outputs={"o": {"datastore": name, "path": "folder_out/sub"}})
    assert shared.wait(run, "Failed")["end"]["reason"] == "output_failed"
    assert read_tree(outside) == {"secret": b"secret"}


def test_outputs_go_to_the_datastore(shared, datastore):
    script = "import os, sys; os.makedirs(sys.argv[1] + '/sub'); open(sys.argv[1] + '/a.txt', 'w').write('A'); open(sys.argv[1] + '/sub/b.bin', 'w').write('B' * 6000000)"
    run = shared.submit(PYTHON, "-c", script, "DatasetOutputConfig:model", outputs={"model": {"datastore": datastore, "path": "m/{run-id}/{output-name}"}})
    view = shared.wait(run, "Completed")
    assert listed(shared, datastore, "m/%s/model/" % run) == {"a.txt": "A", "sub/b.bin": "B" * 6000000}
    entry = view["outputDatasets"][0]
    made = shared.get("/datasets/by-id/" + entry.pop("dataset"))
    assert made["type"] == "File" and made["definition"]["paths"] == [{"datastore": datastore, "path": "m/%s/model/**" % run}]
    assert entry == {"name": "model", "datastore": datastore, "path": "m/%s/model" % run, "how": "uploaded", "files": 2, "bytes": 6000001}
    assert b"uploaded" in shared.log(run, "azureml-logs/30_data_log.txt")
    # The next run reads it.
    seen, _ = shown(shared, [{"datastore": datastore, "path": "m/%s/model/a.txt" % run}])
    assert seen["files"] == {"a.txt": "A"}
    # Globs, a place in the working folder, and a script that fails.
    run = shared.submit("sh", "-c", "echo 1 > out/x.txt; echo 2 > out/y.log; exit 3",
                        outputs={"o": {"datastore": datastore, "path": "f", "path_on_compute": "out", "globs": ["*.txt"]}})
    assert shared.wait(run, "Failed")["end"]["reason"] == "script_failed"
    assert listed(shared, datastore, "f/") == {"x.txt": "1\n"}


def test_links_in_an_output(shared, tmp_path):
    """A copy of a mounted input is links: they are its files. Links elsewhere are nobody's data."""
    name = register_folder(shared, "links_in_output", write_tree(tmp_path / "store", {"in/x": "x", "in/y": "y"}))
    secret = write_tree(tmp_path / "elsewhere", {"secret": "secret"})
    run = shared.submit("sh", "-c", "cp -r DatasetConsumptionConfig:i/. DatasetOutputConfig:o; ln -s %s/secret DatasetOutputConfig:o/s; ln -s x DatasetOutputConfig:o/z" % secret,
                        data={"i": {"paths": [{"datastore": name, "path": "in/?"}]}}, outputs={"o": {"datastore": name, "path": "out"}})
    shared.wait(run, "Completed")
    assert listed(shared, name, "out/") == {"x": "x", "y": "y", "z": "x"}
    assert b"left out 1 symbolic link" in shared.log(run, "azureml-logs/30_data_log.txt")


def test_overwriting(shared, datastore):
    put(shared, datastore, {"o/same": "same\n", "o/other": "before"})
    write = "echo same > $AZUREML_DATAREFERENCE_o/same; echo %s > $AZUREML_DATAREFERENCE_o/%s"
    run = shared.submit("sh", "-c", write % ("new", "new"), outputs={"o": {"datastore": datastore, "path": "o"}})
    shared.wait(run, "Completed")
    run = shared.submit("sh", "-c", write % ("after", "other"), outputs={"o": {"datastore": datastore, "path": "o"}})
    view = shared.wait(run, "Failed")
    assert view["end"]["reason"] == "output_failed" and "o/other" in view["end"]["text"] and datastore in view["end"]["text"], view["end"]
    assert listed(shared, datastore, "o/")["other"] == "before"
    run = shared.submit("sh", "-c", write % ("after", "other"), outputs={"o": {"datastore": datastore, "path": "o", "overwrite": True}})
    shared.wait(run, "Completed")
    assert listed(shared, datastore, "o/") == {"same": "same\n", "new": "new\n", "other": "after\n"}


def test_sections_of_a_run_configuration(shared, datastore, tmp_path):
    put(shared, datastore, FILES)
    script = SHOW + "\nopen(os.environ['AZUREML_DATAREFERENCE_old_out'] + '/f', 'w').write('f')\nopen(os.environ['AZUREML_DATAREFERENCE_new'] + '/g', 'w').write('g')\n"
    config = """
script: show.py
arguments: [DatasetConsumptionConfig:train, $AZUREML_DATAREFERENCE_old]
environment: {python: {userManagedDependencies: true, interpreterPath: %s}}
dataReferences:
  old: {dataStoreName: %s, mode: Download, pathOnDataStore: single.txt}
  old_out: {dataStoreName: %s, mode: Upload, pathOnDataStore: up/old, pathOnCompute: here}
data:
  train: {dataLocation: {dataPath: {datastoreName: %s, relativePath: train/*.csv}}, mechanism: Mount, environmentVariableName: TRAIN_DATA}
outputData:
  new: {outputLocation: {dataPath: {datastoreName: %s, relativePath: "up/{run-id}"}}, mechanism: Upload}
""" % (PYTHON, datastore, datastore, datastore, datastore)
    source = write_tree(tmp_path / "source", {"show.py": script, ".azureml/data.runconfig": config})
    run = shared.ok("run", "submit-script", "--async", "-e", "test", "--source-directory", source, "-c", "data").strip()
    shared.wait(run, "Completed")
    seen = json.loads(shared.output(run))
    assert seen["files"] == {"a.csv": "a", "b.csv": "b", "single.txt": "one"}
    assert seen["env"]["TRAIN_DATA"] == seen["argv"][0]
    assert listed(shared, datastore, "up/") == {"old/f": "f", run + "/g": "g"}


def test_what_a_run_produced_is_an_input(shared):
    run = shared.submit("sh", "-c", "mkdir outputs; echo 1 > outputs/model.txt")
    shared.wait(run, "Completed")
    seen, _ = shown(shared, [{"datastore": "workspaceartifactstore", "path": "ExperimentRun/dcid.%s/outputs" % run}], "mount")
    assert seen["files"] == {"model.txt": "1\n"}


class Web(http.server.BaseHTTPRequestHandler):
    gate = threading.Event()
    asked = threading.Event()

    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "files/data.csv?x=1")
            self.end_headers()
            return
        if not self.path.startswith("/files/"):
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        if self.path.startswith("/files/slow"):
            self.wfile.write(b"be")
            self.wfile.flush()
            Web.asked.set()
            Web.gate.wait(30)
            self.wfile.write(b"gun")
            return
        self.wfile.write(b"from the web")

    def log_message(self, *_):
        pass


@pytest.fixture
def web():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    server.daemon_threads = True
    Web.gate.clear()
    Web.asked.clear()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield "http://127.0.0.1:%d" % server.server_port
    Web.gate.set()
    server.shutdown()


def test_files_of_the_web(shared, web):
    seen, _ = shown(shared, [{"url": web + "/files/data.csv?sig=1"}], "mount")
    assert seen["files"] == {"data.csv": "from the web"}
    seen, _ = shown(shared, [{"url": web + "/moved"}, {"url": web + "/files/other"}])
    assert seen["files"] == {"moved": "from the web", "other": "from the web"}
    _, view = shown(shared, [{"url": web + "/nothing"}], "download", "Failed")
    assert web + "/nothing" in view["end"]["text"] and "404" in view["end"]["text"]


def test_agent_killed_while_staging(ferry, web):
    run = ferry.submit(PYTHON, "-c", SHOW, "DatasetConsumptionConfig:train", data={"train": {"paths": [{"url": web + "/files/slow"}], "mode": "download"}})
    assert Web.asked.wait(20)
    Web.asked.clear()
    wait_until("the run says so", lambda: "stages its data" in ferry.show(run).get("waiting", ""))
    ferry.kill_agent()
    assert Web.asked.wait(20), "another agent begins anew"
    Web.gate.set()
    view = ferry.wait(run, "Completed")
    assert json.loads(ferry.output(run))["files"] == {"slow": "begun"} and view["attempt"] == 1


def test_cancel_while_staging(ferry, web):
    run = ferry.submit("true", data={"train": {"paths": [{"url": web + "/files/slow"}], "mode": "download"}})
    assert Web.asked.wait(20)
    ferry.post("/runs/%s/cancel" % run)
    Web.gate.set()
    ferry.wait(run, "Canceled")


MANY = "import sys\nfor i in range(1500): open(sys.argv[1] + '/%04d' % i, 'w').write(str(i))"


@pytest.mark.parametrize("killed", ["agent", "server", "stopped"])
@pytest.mark.parametrize("kind", ["folder", "own", "s3"])
def test_killed_while_uploading(request, ferry, tmp_path, killed, kind):
    name = register_folder(ferry, "there", tmp_path / "there") if kind == "folder" else "workspaceblobstore"
    if kind == "s3":
        name = register_s3(ferry, "bucket", request.getfixturevalue("s3"), "killed/" + killed)
    run = ferry.submit(PYTHON, "-c", MANY, "DatasetOutputConfig:o", outputs={"o": {"datastore": name, "path": "up"}})
    up = tmp_path / "there" / "up"
    if kind == "folder":
        wait_until("some are there", lambda: os.path.isdir(str(up)) and len(os.listdir(str(up))) > 20, pause=0.001)
    elif kind == "s3":
        wait_until("some are there", lambda: len(ferry.get("/datastores/bucket/files")["files"]) > 20, pause=0.001)
    else:
        wait_until("it uploads", lambda: ferry.status(run) == "Finalizing", pause=0.001)
    if killed == "agent":
        ferry.kill_agent()
    else:
        ferry.kill_server() if killed == "server" else ferry.stop()
        ferry.start()
    view = ferry.wait(run, "Completed", timeout=60)
    assert view["attempt"] == 1
    files = ferry.get("/datastores/%s/files?limit=10000" % name)["files"]
    assert [file["path"] for file in files] == ["up/%04d" % i for i in range(1500)]
    assert all(file["size"] == len(str(int(file["path"][3:]))) for file in files)
    assert view["outputDatasets"][0]["files"] == 1500
    assert os.listdir(os.path.join(ferry.home, "agent", "attempts")) == [] or wait_until("it is tidied", lambda: os.listdir(os.path.join(ferry.home, "agent", "attempts")) == [])


def holds(folder, needle):
    """The files below the folder that hold the bytes."""
    found = []
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    if needle in file.read():
                        found.append(path)
    return found


def test_a_secret_is_nowhere_in_plain(ferry, tmp_path, s3):
    name = register_s3(ferry, "bucket", s3, "secret")
    put(ferry, name, {"d/x": "x"})
    gate = tmp_path / "gate"
    script = SHOW + "\nimport time\nopen(os.environ['AZUREML_DATAREFERENCE_o'] + '/f', 'w').write('f')\nwhile not os.path.exists(%r): time.sleep(0.05)\n" % str(gate)
    run = ferry.submit(PYTHON, "-c", script, "DatasetConsumptionConfig:i", data={"i": {"paths": [{"datastore": name, "path": "d"}]}}, outputs={"o": {"datastore": name, "path": "o"}})
    ferry.wait_output(run, "files")
    pids = processes_of(ferry.home)
    assert len(pids) >= 3, "server, agent and script"
    for pid in pids:
        for part in ("cmdline", "environ"):
            with open("/proc/%d/%s" % (pid, part), "rb") as file:
                assert SECRET.encode() not in file.read(), (pid, part)
    assert holds(ferry.home, SECRET.encode()) == []
    gate.write_text("")
    ferry.wait(run, "Completed")
    assert listed(ferry, name, "o/") == {"f": "f"}
    assert SECRET not in json.dumps([ferry.get("/datastores"), ferry.get("/datastores/" + name), ferry.show(run)])
    # Also when the service refuses or has gone.
    answer = ferry.api("PUT", "/api/v1/datastores/gone", {"kind": "s3", "endpoint": "http://127.0.0.1:1", "bucket": "data", "access_key": "a", "secret_key": SECRET})
    assert answer.status == 503 and SECRET.encode() not in answer.raw
    answer = ferry.api("PUT", "/api/v1/datastores/gone", {"kind": "s3", "endpoint": s3, "bucket": "nothing", "access_key": "a", "secret_key": SECRET})
    assert answer.status == 404 and SECRET.encode() not in answer.raw
    ferry.stop()
    assert holds(ferry.home, SECRET.encode()) == []
    assert holds(ferry.home, b"AKIAIOSFODNN7EXAMPLE") != [], "the search itself works"


def test_a_datastore_that_has_gone(ferry, tmp_path):
    name = register_folder(ferry, "there", tmp_path / "there")
    gate = tmp_path / "gate"
    run = ferry.submit("sh", "-c", "while [ ! -e %s ]; do sleep 0.05; done; echo 1 > DatasetOutputConfig:o/f" % gate, outputs={"o": {"datastore": name, "path": "up"}})
    ferry.wait(run, "Running")
    os.rmdir(str(tmp_path / "there"))
    gate.write_text("")
    view = ferry.wait(run, "Failed")
    assert view["end"]["reason"] == "output_failed" and "there" in view["end"]["text"]
