"""The registry of environments by the command line and the interface: versions, folders, curated names, differences, reruns, secrets."""

import hashlib
import hmac
import json
import os
import sqlite3

import pytest
from ferry_fixture import write_tree

CONDA = "channels:\n- conda-forge\ndependencies:\n- python=3.11\n- pip:\n  - six==1.17.0\n"


def environment_folder(folder, name, conda=CONDA, **more):
    definition = dict({"name": name, "python": {"userManagedDependencies": False, "condaDependenciesFile": "conda_dependencies.yml"}}, **more)
    return write_tree(folder, {"azureml_environment.json": json.dumps(definition), "conda_dependencies.yml": conda})


def node_token(ferry):
    """The token of the node "local", made as the server makes it."""
    with open(os.path.join(ferry.home, "secret"), "rb") as file:
        return "node/local/" + hmac.new(file.read(), b"node/local", hashlib.sha256).hexdigest()


def test_scaffold_register_download(shared, tmp_path):
    shared.ok("environment", "scaffold", "-n", "round", "-d", tmp_path / "a")
    assert sorted(os.listdir(tmp_path / "a")) == ["BaseDockerfile", "azureml_environment.json", "conda_dependencies.yml"]
    assert shared.json("environment", "register", "-d", tmp_path / "a")["version"] == "1"
    assert shared.ok("environment", "register", "-d", tmp_path / "a") == "round version 1 (unchanged)\n"
    shared.ok("environment", "download", "-n", "round", "-d", tmp_path / "b ü")
    assert shared.ok("environment", "register", "-d", tmp_path / "b ü") == "round version 1 (unchanged)\n"
    assert shared.run("environment", "download", "-n", "round", "-d", tmp_path / "b ü").returncode == 6
    # Cloned under a new name.
    assert shared.ok("environment", "register", "-d", tmp_path / "b ü", "-n", "round-2") == "round-2 version 1\n"
    shown = shared.json("environment", "show", "-n", "round-2")
    assert shown["definition"]["name"] == "round-2" and shown["hash"] == shared.json("environment", "show", "-n", "round")["hash"]


def test_versions(shared, tmp_path):
    def register(conda):
        return shared.json("environment", "register", "-d", environment_folder(tmp_path / "v", "versions", conda))["version"]

    assert register(CONDA) == "1"
    assert register("# a comment\ndependencies:\n  - pip: [ 'six == 1.17.0' ]\n  -   python = 3.11\nchannels: [conda-forge]\n") == "1"
    assert register(CONDA.replace("1.17.0", "1.16.0")) == "2"
    assert shared.json("environment", "show", "-n", "versions@1")["version"] == "1"
    assert shared.json("environment", "show", "-n", "versions", "-v", "latest")["version"] == "2"
    assert [v["version"] for v in shared.get("/environments/versions/versions")["versions"]] == ["2", "1"]
    difference = shared.json("environment", "diff", "versions@1", "versions@2")
    assert difference["lock"] is None and any("six" in line for line in difference["definition"]), difference
    assert shared.ok("environment", "delete", "-n", "versions", "-v", "2") == "deleted versions version 2\n"
    assert shared.json("environment", "show", "-n", "versions")["version"] == "1"
    assert register(CONDA.replace("1.17.0", "1.16.0")) == "3"
    shared.ok("environment", "delete", "-n", "versions")
    assert "versions" not in [one["name"] for one in shared.json("environment", "list")]
    assert shared.run("environment", "show", "-n", "versions").returncode == 5


@pytest.mark.parametrize("name,slug", [("AzureML-Mine", "environment.reserved"), ("microsoft-x", "environment.reserved"), ("a/b", "environment.name"), ("a@1", "environment.name")])
def test_names(shared, tmp_path, name, slug):
    done = shared.run("environment", "register", "-d", environment_folder(tmp_path / "n", "fine"), "-n", name)
    assert done.returncode == 2 and name in done.stderr, done
    answer = shared.api("PUT", "/api/v1/environments/" + name.replace("/", "%2F"), {"definition": {}})
    assert answer.status == 400 and answer.error["slug"] == slug, answer


def test_wrong_specifications_name_file_and_line(shared, tmp_path):
    done = shared.run("environment", "register", "-d", environment_folder(tmp_path / "a", "wrong", "channels:\n- x\ndependencies:\n- [1]\n"))
    assert done.returncode == 2 and "conda_dependencies.yml:4" in done.stderr, done
    done = shared.run("environment", "register", "-d", environment_folder(tmp_path / "b", "wrong", docker={"enabled": "yes"}))
    assert done.returncode == 2 and "azureml_environment.json" in done.stderr and "docker.enabled" in done.stderr, done
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join("%s: &%s [%s]\n" % (b, b, ",".join(["*" + a] * 9)) for a, b in zip("abcdefgh", "bcdefghi"))
    done = shared.run("environment", "register", "-d", environment_folder(tmp_path / "c", "wrong", bomb))
    assert done.returncode in (2, 7), done
    answer = shared.api("PUT", "/api/v1/environments/wrong", {"definition": {"python": {"condaDependencies": {"dependencies": ["a", 7, []]}}}})
    assert answer.status == 400 and answer.error["field"] == "definition.python.condaDependencies.dependencies[2]", answer


def test_a_specification_of_ten_thousand_lines(shared, tmp_path):
    conda = "dependencies:\n- python=3.11\n- pip:\n" + "".join("  - package-%d==1.0\n" % n for n in range(10000))
    folder = environment_folder(tmp_path / "large", "large", conda)
    assert shared.json("environment", "register", "-d", folder)["created"]
    assert not shared.json("environment", "register", "-d", folder)["created"]
    shared.ok("environment", "download", "-n", "large", "-d", tmp_path / "back")
    assert (tmp_path / "back" / "conda_dependencies.yml").read_text().count("package-") == 10000


def test_a_thousand_unchanged_ones_take_no_commit(shared):
    def commits():
        text = shared.api("GET", "/metrics").raw.decode()
        return int(text.split("\nferry_engine_inputs_total ")[1].split()[0])

    for n in range(20):
        shared.api("PUT", "/api/v1/environments/many-%d" % n, {"definition": {"python": {"pipRequirements": ["six", "numpy==%d" % n]}}})
    before = commits()
    for n in range(20):
        answer = shared.api("PUT", "/api/v1/environments/many-%d" % n, {"definition": {"python": {"pipRequirements": ["numpy==%d" % n, "six"]}}})
        assert answer.status == 200 and not answer.json["created"]
    # The engine's own clock ticks now and then; registrations do not reach it.
    assert commits() - before < 20


def test_curated(shared, tmp_path):
    listed = {one["name"]: one for one in shared.json("environment", "list", "--curated")}
    assert {"AzureML-Minimal", "AzureML-Sklearn", "AzureML-PyTorch-CPU", "AzureML-PyTorch-1.6-GPU", "AzureML-sklearn-0.24-ubuntu18.04-py37-cpu"} <= set(listed)
    assert "AzureML-PyTorch-1.6-GPU" not in [one["name"] for one in shared.json("environment", "list")], "Azure's names are for those who ask"
    done = shared.run("environment", "download", "-n", "AzureML-PyTorch-1.6-GPU", "-d", tmp_path / "pt")
    assert done.returncode == 0 and "is not Azure's: here it is 'AzureML-PyTorch-CPU' version 1" in done.stderr, done
    assert "torch==" in (tmp_path / "pt" / "conda_dependencies.yml").read_text()
    # As the article goes on: saved, changed, registered under another name.
    assert shared.ok("environment", "register", "-d", tmp_path / "pt", "-n", "pytorch-mine") == "pytorch-mine version 1\n"
    done = shared.run("environment", "show", "-n", "AzureML-Nothing")
    assert done.returncode == 5 and "ferry environment list --curated" in done.stderr, done


def test_an_alias_says_what_it_is(shared):
    run = shared.submit("true", environment_name="AzureML-sklearn-0.24-ubuntu18.04-py37-cpu@latest", auto_prepare=False)
    view = shared.show(run)
    note = view["environment"]["note"]
    assert "is not Azure's: here it is 'AzureML-Sklearn' version 1 with python=3.11" in note
    assert view["properties"]["ferry.environment.alias"] == note
    assert note in shared.ok("run", "show", run)
    assert note in shared.run("run", "monitor-logs", run).stderr


def test_definitions_are_registered_under_the_experiment(shared):
    user = {"python": {"userManagedDependencies": True}, "environmentVariables": {"A": "1"}}
    first = shared.submit("true", experiment="auto", environment_definition=user)
    second = shared.submit("true", experiment="auto", environment_definition=user)
    third = shared.submit("true", experiment="auto", environment_definition=dict(user, environmentVariables={"A": "2"}))
    found = [(shared.show(run)["environment"]["name"], shared.show(run)["environment"]["version"]) for run in (first, second, third)]
    assert found == [("Experiment auto Environment", "1"), ("Experiment auto Environment", "1"), ("Experiment auto Environment", "2")]
    assert shared.json("environment", "show", "-n", "Experiment auto Environment@1")["definition"]["environmentVariables"] == {"A": "1"}
    assert "environment   Experiment auto Environment version 1" in shared.ok("run", "show", first)
    difference = shared.ok("environment", "diff", first, third)
    assert difference.startswith("definition\n"), difference


def test_builds_archives_and_prune(shared, tmp_path):
    shared.ok("environment", "register", "-d", environment_folder(tmp_path / "p", "pruned"))
    key = shared.json("environment", "show", "-n", "pruned")["key"]
    token = node_token(shared)
    content = os.urandom(300000)
    digest = hashlib.sha256(content).hexdigest()
    assert shared.api("PUT", "/api/v1/agent/blobs/%s/parts?offset=0" % digest, content, token=token).status == 200
    assert shared.api("POST", "/api/v1/agent/blobs/%s/finish" % digest, {"size": len(content)}, token=token).status == 200
    lock = {"kind": "venv", "python": "3.11.2", "platform": "linux-64", "packages": [{"name": "six", "version": "1.17.0", "source": "pypi"}]}
    build = shared.api("POST", "/api/v1/agent/environments/%s/build" % key, {"lock": lock, "seconds": 2.5, "path": "/e", "archive": digest}, token=token)
    assert build.status == 200 and build.json["size"] == 300000, build
    assert "built         on local in 2.5 s, 1 packages, kept (300.0 KB)" in shared.ok("environment", "show", "-n", "pruned")
    assert shared.api("GET", "/api/v1/agent/environments/" + key, token=token).json["archive"] == digest
    assert shared.run("environment", "prune").returncode == 2
    assert "would free 300.0 KB" in shared.run("environment", "prune", "--dry-run", "--keep-bytes", "1000").stderr
    assert not shared.json("environment", "prune", "--older-than", "1")["pruned"], "it was used just now"
    assert shared.json("environment", "prune", "--keep-bytes", "1000")["bytes"] == 300000
    assert shared.api("GET", "/api/v1/agent/environments/" + key, token=token).json["archive"] is None
    assert shared.api("GET", "/api/v1/blobs/" + digest).status == 404
    # What was in it is still known.
    assert shared.get("/builds/" + key)["lock"]["packages"][0]["version"] == "1.17.0"


def test_rerun(shared, tmp_path):
    source = write_tree(tmp_path / "source", {"t.py": "import sys\nprint('arguments', *sys.argv[1:])\n"})
    run = shared.submit_script(source, "t.py", "--lr", "0.5", options=("--tag", "a=b"))
    shared.wait(run, "Completed")
    done = shared.run("run", "rerun", "-r", run)
    assert done.returncode == 0 and "arguments --lr 0.5" in done.stdout, done
    again = shared.json("run", "rerun", "-r", run, "--async", "--run-id", run + "-again")
    assert again["id"] == run + "-again" and again["created"]
    view = shared.wait(again["id"], "Completed")
    assert view["properties"]["ferry.rerun_of"] == run and view["tags"] == {"a": "b"} and view["spec"] == shared.show(run)["spec"]
    once = shared.submit("true", keep_snapshot=False, snapshot=shared.show(run)["spec"]["snapshot"])
    done = shared.run("run", "rerun", once)
    assert done.returncode == 6 and "snapshotProject false" in done.stderr, done


def test_a_registry_password_is_kept_from_everybody(ferry, tmp_path):
    secret = "hunter2-" + os.urandom(8).hex()
    docker = {"enabled": True, "baseImage": "base", "baseImageRegistry": {"address": "registry", "username": "me", "password": secret}}
    ferry.ok("environment", "register", "-d", environment_folder(tmp_path / "d", "private", docker=docker))
    run = ferry.submit("true", environment_name="private", auto_prepare=False)
    for path in ("/runs/" + run, "/runs", "/environments/private", "/environments", "/environments/private/versions"):
        assert secret not in json.dumps(ferry.get(path)), path
    ferry.ok("environment", "download", "-n", "private", "-d", tmp_path / "back")
    assert secret not in (tmp_path / "back" / "azureml_environment.json").read_text()
    ferry.stop()
    with sqlite3.connect(os.path.join(ferry.home, "ferry.db")) as database:
        for table in ("run", "environment"):
            bodies = [bytes(body) for (body,) in database.execute("select body from " + table)]
            assert any(b"sealed:1:" in body for body in bodies) and not any(secret.encode() in body for body in bodies), table
    for name in os.listdir(ferry.home):
        path = os.path.join(ferry.home, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                assert secret.encode() not in file.read(), name
