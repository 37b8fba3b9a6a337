"""Every command and flag of `az ml` v1: known, parsed, named by its help; and what each does."""

import json
import os
import re
import stat

import pytest
from ferry_fixture import BINARY, PYTHON, read_tree, wait_until, write_tree

GLOBAL = "--debug -h/--help --only-show-errors -o/--output=none --query=@ --verbose --subscription=s"
COMMON = "-w/--workspace-name=default -g/--resource-group=g --subscription-id=s --path=."
METADATA = "-t/--output-metadata-file=f"

# The commands of the published reference, with the flags beyond the common ones. "=value" for those that take one.
_VNET = "--vnet-name=v --vnet-resourcegroup-name=v --subnet-name=s --tag=a=b --description=d --no-wait -v"
WORKS = {
    "folder attach": "-e/--experiment-name=e",
    "workspace create": "-l/--location=l --exist-ok --sku=basic --friendly-name=f --storage-account=s --keyvault=k --application-insights=a --container-registry=c -y/--yes",
    "workspace delete": "-y/--yes --all-resources",
    "workspace list": "",
    "workspace share": "--user=u --role=reader",
    "workspace show": "",
    "workspace list-keys": "",
    "workspace sync-keys": "",
    "workspace update": "--friendly-name=f --description=d --tags=a=b --application-insights=a --container-registry=c",
    "workspace update-dependencies": "--storage-account=s --keyvault=k --application-insights=a --container-registry=c",
    "experiment create": "-n/--name=e",
    "experiment list": "",
    "experiment show": "-n/--name=e",
    "run submit-script": "-c/--run-configuration-name=c -e/--experiment-name=e --ct=local --target=local -d/--conda-dependencies=f --source-directory=. --async",
    "run list": "-e/--experiment-name=e --last=10 --minimal --compute-target-name=c --parent-run-id=r --pipeline-run-id=r --status=Running --tags=a",
    "run show": "-r/--run=r -e/--experiment-name=e",
    "run cancel": "-r/--run=r -e/--experiment-name=e",
    "run monitor-logs": "-r/--run=r -e/--experiment-name=e",
    "run monitor-tensorboard": "-r/--run=r -e/--experiment-name=e --local-directory=d",
    "run download-logs": "-r/--run=r -e/--experiment-name=e -d/--output-dir=d",
    "run update": "-r/--run=r -e/--experiment-name=e --add-tag=a=b",
    "computetarget create amlcompute": "-n/--name=n -s/--vm-size=STANDARD_NC6 --max-nodes=4 --min-nodes=0 --idle-seconds-before-scaledown=1800 -p/--vm-priority=lowpriority --admin-username=u --admin-user-password=p --admin-user-ssh-key=k --assign-identity=i --enable-node-public-ip=true --remote-login-port-public-access=Enabled -l/--location=l " + _VNET,
    "computetarget update amlcompute": "-n/--name=n --min-nodes=0 --max-nodes=1 --idle-seconds-before-scaledown=9",
    "computetarget list": "-v",
    "computetarget show": "-n/--name=n -v",
    "computetarget delete": "-n/--name=n -v",
    "computetarget detach": "-n/--name=n -v",
    "computetarget get-credentials": "-n/--name=n -v",
    "environment scaffold": "-n/--name=n -d/--directory=d",
    "environment register": "-d/--directory=d",
    "environment download": "-n/--name=n -v/--version=1 -d/--directory=d --overwrite",
    "environment list": "",
    "environment show": "-n/--name=n -v/--version=1",
    "model register": "-n/--name=n -p/--model-path=p --asset-path=p --cc=1 --cpu-cores=1 --gb=1 --memory-gb=1 --gc=1 --gpu-cores=1 -d/--description=d --experiment-name=e --run-id=r -f/--run-metadata-file=f --tag=a=b --property=a=b --model-framework=m --model-framework-version=1 --sample-input-dataset-id=i --sample-output-dataset-id=i",
    "model list": "-n/--model-name=n --run-id=r --tag=a --property=a --dataset-id=i -l/--latest",
    "model show": "-i/--model-id=m:1 -n/--model-name=m --version=1 --run-id=r",
    "model update": "-i/--model-id=m:1 --add-tag=a=b --remove-tag=a --add-property=a=b --description=d --cc=1 --gb=1 --gc=1",
    "model delete": "-i/--model-id=m:1",
    "model download": "-i/--model-id=m:1 -t/--target-dir=d --overwrite --output-metadata-file=f",
    "dataset register": "-f/--file=f --show-template --skip-validation",
    "dataset list": "",
    "dataset show": "-i/--id=i -n/--name=n -v/--version=latest",
    "dataset archive": "-i/--id=i -n/--name=n -v/--version=1",
    "dataset deprecate": "-i/--id=i -n/--name=n -v/--version=1 -d/--deprecate-by-id=i",
    "dataset reactivate": "-i/--id=i -n/--name=n -v/--version=1",
    "dataset unregister": "-i/--id=i -n/--name=n -v/--version=1",
    "datastore attach-blob": "-n/--name=n -a/--account-name=a -c/--container-name=c -k/--account-key=k --sas-token=s --endpoint=core.windows.net --protocol=https --include-secret",
    "datastore attach-file": "-n/--name=n -a/--account-name=a -c/--share-name=c -k/--account-key=k --sas-token=s --endpoint=e --protocol=https --include-secret",
    "datastore attach-adls": "-n/--name=n -c/--store-name=c --client-id=i --client-secret=s --tenant-id=t --include-secret",
    "datastore attach-adls-gen2": "-n/--name=n -a/--account-name=a -c/--file-system=c --client-id=i --client-secret=s --tenant-id=t --include-secret",
    "datastore detach": "-n/--name=n",
    "datastore list": "",
    "datastore show": "-n/--name=n --include-secret",
    "datastore set-default": "-n/--name=n",
    "datastore show-default": "",
    "datastore upload": "-n/--name=n -p/--src-path=p -u/--target-path=u --overwrite --hide-progress",
    "datastore download": "-n/--name=n -d/--target-path=d -p/--prefix=p --overwrite --hide-progress",
}
LATER = {
    "run submit-hyperdrive": "-c/--run-configuration-name=c -e/--experiment-name=e --ct=local -d/--conda-dependencies=f --source-directory=. --async --hyperdrive-configuration-name=h",
    "run submit-pipeline": "-n/--experiment-name=e -i/--pipeline-id=i -y/--pipeline-yaml=y -p/--parameters=a=b,c=d -d/--datapaths=d -f/--output_file=f",
    "computetarget create computeinstance": "-n/--name=n -s/--vm-size=s --ssh-public-access=true --admin-user-ssh-public-key=k --user-object-id=i --user-tenant-id=t " + _VNET,
    "computetarget create aks": "-n/--name=n -a/--agent-count=3 -s/--vm-size=Standard_D3_v2 --cluster-purpose=DevTest --load-balancer-type=PublicIp --ssl-cname=c --ssl-cert-file=f --ssl-key-file=f",
    "computetarget create datafactory": "-n/--name=n -l/--location=l",
    "computetarget attach remote": "-n/--name=n -a/--address=h -u/--username=u --ssh-port=22 -p/--password=p --private-key-file=f --private-key-passphrase=p",
    "computetarget attach aks": "-n/--name=n -i/--compute-resource-id=i",
    "computetarget attach kubernetes": "-n/--name=n -i/--compute-resource-id=i --amlk8s-config=f",
    "computetarget computeinstance start": "-n/--name=n -v",
    "computetarget computeinstance stop": "-n/--name=n -v",
    "computetarget computeinstance restart": "-n/--name=n -v",
    "computetarget amlcompute identity assign": "-n/--name=n -v",
    "computetarget amlcompute identity remove": "-n/--name=n -v",
    "computetarget amlcompute identity show": "-n/--name=n -v",
    "model deploy": "-n/--name=n -m/--model=m:1 --ic=f --dc=f --ct=t --overwrite --no-wait",
    "model package": "-m/--model=m:1 --ic=f",
    "model profile": "-n/--name=n -m/--model=m:1 --ic=f",
    "pipeline create": "-n/--name=n -y/--pipeline-yaml=y -c/--continue -d/--description=d -v/--version=1 -f/--output-file=f",
    "workspace private-endpoint add": "",
    "workspace private-endpoint delete": "",
    "workspace private-endpoint list": "",
    "workspace private-endpoint list-type": "",
}
for _verb in "create-version delete delete-version get-access-token get-keys get-logs list regen-key run show update update-version".split():
    LATER["endpoint realtime " + _verb] = ("" if _verb == "list" else "-n/--name=n") + (" --version-name=v" if _verb.endswith("-version") else "")
for _verb in "delete get-access-token get-keys get-logs list regen-key run show update".split():
    LATER["service " + _verb] = "" if _verb == "list" else "-n/--name=n"
for _verb, _flags in {"list": "", "get": "", "clone": "-i/--pipeline-run-id=r", "list-steps": "-i/--run-id=r", "enable": "-i/--pipeline-id=i", "disable": "-i/--pipeline-id=i", "create-schedule": "-i/--pipeline-id=i",
                      "create-draft": "", "clone-draft": "", "list-drafts": ""}.items():
    LATER["pipeline " + _verb] = _flags
for _verb in "update-schedule show-schedule enable-schedule disable-schedule last-pipeline-run pipeline-runs-list".split():
    LATER["pipeline " + _verb] = "-s/--schedule-id=s"
for _verb in "delete-draft show-draft update-draft submit-draft publish-draft".split():
    LATER["pipeline " + _verb] = "-i/--pipeline-draft-id=i"
for _verb in ("dbfs", "mysqldb", "psqldb", "sqldb"):
    LATER["datastore attach-" + _verb] = "-n/--name=n" + ("" if _verb == "dbfs" else " -s/--server-name=s -d/--database-name=d") + (" -u/--user-id=u" if _verb in ("mysqldb", "psqldb") else "")
NOT_METADATA = {"workspace create", "workspace update"}  # -t is --tags there


def flags_of(command, text):
    """[(spellings, value or None)] of all flags of a command."""
    found = []
    shared = GLOBAL + " " + COMMON + ("" if command.startswith("model download") else " " + (METADATA if command not in NOT_METADATA else "--output-metadata-file=f"))
    if command in ("pipeline get", "pipeline clone"):
        shared = shared.replace("--path=.", "-p/--path=.")
    for word in (shared + " " + text).split():
        names, _, value = word.partition("=")
        found.append((names.split("/"), value or None))
    return found


@pytest.mark.parametrize("command", sorted({**WORKS, **LATER}))
def test_help_names_every_flag_and_every_flag_is_parsed(home, command):
    flags = flags_of(command, {**WORKS, **LATER}[command])
    shown = home.run(*command.split(), "--help")
    assert shown.returncode == 0, shown
    for spellings, _ in flags:
        for name in spellings:
            assert re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(name), shown.stdout), (name, shown.stdout)
    for at in (0, -1):
        words = command.split()
        for spellings, value in flags:
            if "--help" not in spellings:
                words += [spellings[at]] + ([value] if value is not None else [])
        done = home.run(*words, "--help")
        assert done.returncode == 0 and done.stdout == shown.stdout, done
    assert not os.path.exists(home.home)


@pytest.mark.parametrize("command", sorted(LATER))
def test_what_is_not_there_yet_says_so(home, command):
    words = command.split()
    for spellings, value in flags_of(command, LATER[command]):
        if spellings[-1] in ("--help", "--debug", "--verbose", "--output", "--query", "--output-metadata-file"):
            continue
        words += [spellings[-1]] + ([value] if value is not None else [])
    done = home.run(*words)
    assert done.returncode == 2, done
    assert re.fullmatch(r"ferry: ('ferry %s'|(Creating|Attaching) compute of type \w+) is not part of this version of Ferry yet\.\n" % re.escape(command), done.stderr), done
    assert done.stdout == "" and not os.path.exists(home.home)


def test_every_command_of_the_program_is_in_the_help_of_its_group(shared):
    for command in {**WORKS, **LATER}:
        group, _, verb = command.rpartition(" ")
        assert re.search(r"^  %s  " % re.escape(verb), shared.ok(*group.split(), "--help"), re.M), command


# --- what they do

TRAIN = """
import os
os.makedirs("outputs/net", exist_ok=True)
open("outputs/model.pkl", "w").write("weights")
open("outputs/net/a.txt", "w").write("a")
open("outputs/net/b.txt", "w").write("b")
print("trained")
"""


@pytest.fixture(scope="module")
def trained(shared, tmp_path_factory):
    """A finished run, and the file that `-t` wrote."""
    folder = tmp_path_factory.mktemp("trained")
    write_tree(folder, {"src/train.py": TRAIN})
    shared.ok("run", "submit-script", "-e", "cli-v1", "--interpreter", PYTHON, "--source-directory", folder / "src", "-t", folder / "run.json", "train.py")
    return folder


def test_metadata_file(shared, trained):
    run = json.loads((trained / "run.json").read_text())
    assert run["status"] == "Completed" and run["experiment"] == "cli-v1"
    assert stat.S_IMODE(os.stat(trained / "run.json").st_mode) == 0o600
    shared.ok("run", "list", "-e", "cli-v1", "-t", trained / "list.json", "--query", "[].id", "-o", "tsv")
    assert [one["id"] for one in json.loads((trained / "list.json").read_text())] == [run["id"]]
    done = shared.run("run", "list", "-t", trained / "no" / "folder.json")
    assert done.returncode == 5 and "folder.json" in done.stderr, done


def test_run_list(shared, trained):
    run = json.loads((trained / "run.json").read_text())
    minimal = shared.json("run", "list", "-e", "cli-v1", "--minimal")
    assert minimal == [{"id": run["id"], "experiment": "cli-v1", "status": "Completed"}]
    assert shared.json("run", "list", "--pipeline-run-id", run["id"]) == []
    assert shared.run("run", "list", "--pipeline-run-id", "a", "--parent-run-id", "b").returncode == 2


def test_models(shared, trained, tmp_path):
    run = json.loads((trained / "run.json").read_text())["id"]
    one = shared.json("model", "register", "-n", "cli_model", "-f", trained / "run.json", "--asset-path", "./outputs/model.pkl", "--tag", "a=1", "--property", "p=q", "-d", "first", "--model-framework", "ScikitLearn", "--cc", "1", "--gb", "0.5",
                      "-t", tmp_path / "model.json")
    assert one["id"] == "cli_model:1" and one["run"] == run and one["framework"] == "ScikitLearn" and one["resources"]["memory_in_gb"] == 0.5
    assert json.loads((tmp_path / "model.json").read_text())["id"] == "cli_model:1"
    assert shared.ok("model", "register", "-n", "cli_model", "--run-id", run, "--asset-path", "outputs/net") == "cli_model:2\n"
    assert shared.ok("model", "register", "-n", "cli_model", "-p", trained / "src") == "cli_model:3\n"
    assert shared.ok("model", "list", "-n", "cli_model", "-o", "tsv", "--query", "[].id").split() == ["cli_model:3", "cli_model:2", "cli_model:1"]
    assert shared.ok("model", "list", "--run-id", run, "-o", "tsv", "--query", "[].version").split() == ["2", "1"]
    assert shared.ok("model", "list", "--tag", "a=1", "--property", "p", "-o", "tsv", "--query", "[].id") == "cli_model:1\n"
    assert shared.ok("model", "list", "-n", "cli_model", "-l", "-o", "tsv", "--query", "[].id") == "cli_model:3\n"
    assert shared.json("model", "show", "-n", "cli_model", "--version", "1")["tags"] == {"a": "1"}
    assert shared.json("model", "show", "--run-id", run)["id"] == "cli_model:2"
    shared.ok("model", "update", "-i", "cli_model:1", "--add-tag", "b=2", "--remove-tag", "a", "--add-property", "r=s", "--description", "changed")
    changed = shared.json("model", "show", "cli_model:1")
    assert changed["tags"] == {"b": "2"} and changed["properties"] == {"p": "q", "r": "s"} and changed["description"] == "changed"
    shared.ok("model", "download", "-i", "cli_model:2", "-t", tmp_path / "down")
    shared.ok("model", "download", "-i", "cli_model:1", "-t", tmp_path / "down")
    assert read_tree(tmp_path / "down") == {"net/a.txt": b"a", "net/b.txt": b"b", "model.pkl": b"weights"}
    shared.ok("model", "download", "-i", "cli_model:1", "-t", tmp_path / "down")
    write_tree(tmp_path / "down", {"model.pkl": "mine"})
    done = shared.run("model", "download", "-i", "cli_model:1", "-t", tmp_path / "down")
    assert done.returncode == 6 and "--overwrite" in done.stderr and read_tree(tmp_path / "down")["model.pkl"] == b"mine", done
    shared.ok("model", "download", "-i", "cli_model:1", "-t", tmp_path / "down", "--overwrite")
    assert read_tree(tmp_path / "down")["model.pkl"] == b"weights"
    assert shared.run("model", "delete", "-i", "cli_model").returncode == 2
    shared.ok("model", "delete", "-i", "cli_model:1")
    assert shared.run("model", "show", "-i", "cli_model:1").returncode == 5


def test_models_that_cannot_be(shared, trained, tmp_path):
    def refused(*words):
        done = shared.run("model", "register", "-n", "never", *words)
        assert done.returncode in (2, 5), done
        return done.stderr

    assert "needs files" in refused()
    assert "both given" in refused("-p", trained, "--asset-path", "outputs")
    assert "--run-id RUN" in refused("--asset-path", "outputs/model.pkl")
    assert "it has: " in refused("-f", trained / "run.json", "--asset-path", "outputs/none")
    assert "no file or folder" in refused("-p", tmp_path / "none")
    write_tree(tmp_path, {"odd.json": "{}", "broken.json": "{", "empty/.keep": ""})
    os.remove(tmp_path / "empty" / ".keep")
    assert "names no run" in refused("-f", tmp_path / "odd.json", "--asset-path", "x")
    assert "broken.json" in refused("-f", tmp_path / "broken.json", "--asset-path", "x")
    assert "no files in" in refused("-p", tmp_path / "empty")
    assert "give one of them" in refused("-f", trained / "run.json", "--run-id", "other", "--asset-path", "x")
    assert shared.json("model", "list", "-n", "never") == []


def test_datastores(shared, tmp_path):
    write_tree(tmp_path, {"up/a.csv": "1\n", "up/deep/b.csv": "2\n"})
    (tmp_path / "real").mkdir()
    assert {one["name"] for one in shared.json("datastore", "list")} >= {"workspaceblobstore", "workspacefilestore", "workspaceworkingdirectory", "workspaceartifactstore"}
    assert shared.ok("datastore", "show-default", "--query", "name", "-o", "tsv") == "workspaceblobstore\n"
    assert shared.json("datastore", "attach-folder", "-n", "cli_folder", "--folder", tmp_path / "real", "-a", "account", "-c", "container", "--tag", "k=v")["tags"] == {"k": "v"}
    done = shared.run("datastore", "attach-folder", "-n", "cli_folder", "--folder", tmp_path / "real")
    assert done.returncode == 6 and "cli_folder" in done.stderr, done
    # Azure's ways to name a store find it.
    for command, flag in (("attach-blob", "-c"), ("attach-file", "--share-name"), ("attach-adls-gen2", "--file-system")):
        done = shared.run("datastore", command, "-n", "mine", "-a", "account", flag, "container", "-o", "json")
        assert done.returncode == 0 and json.loads(done.stdout)["name"] == "cli_folder" and "not as 'mine'" in done.stderr, done
    done = shared.run("datastore", "attach-blob", "-n", "mine", "-a", "account", "-c", "other", "-k", "the-key-itself")
    assert done.returncode == 5 and "'account/container' as 'cli_folder'" in done.stderr and "the-key-itself" not in done.stderr, done
    for store in ("workspaceblobstore", "cli_folder"):
        shared.ok("datastore", "upload", "-n", store, "-p", tmp_path / "up", "-u", "cli/data/")
        write_tree(tmp_path, {"up/a.csv": "3\n"})
        done = shared.run("datastore", "upload", "-n", store, "-p", tmp_path / "up", "-u", "cli/data")
        assert done.returncode == 6 and "cli/data/a.csv" in done.stderr, done
        shared.ok("datastore", "upload", "-n", store, "-p", tmp_path / "up", "-u", "cli/data", "--overwrite", "true", "--hide-progress")
        shared.ok("datastore", "upload", "-n", store, "-p", tmp_path / "up" / "deep" / "b.csv", "-u", "cli")
        assert shared.ok("datastore", "files", "-n", store, "-p", "cli/", "-o", "tsv", "--query", "[].path").split() == ["cli/b.csv", "cli/data/a.csv", "cli/data/deep/b.csv"]
        shared.ok("datastore", "download", "-n", store, "-p", "cli/data", "-d", tmp_path / store)
        assert read_tree(tmp_path / store) == {"cli/data/a.csv": b"3\n", "cli/data/deep/b.csv": b"2\n"}
        write_tree(tmp_path / store, {"cli/data/a.csv": "mine"})
        assert shared.run("datastore", "download", "-n", store, "-p", "cli/data", "-d", tmp_path / store).returncode == 6
        write_tree(tmp_path, {"up/a.csv": "1\n"})
    assert read_tree(tmp_path / "real")["cli/data/a.csv"] == b"3\n"
    shared.ok("datastore", "set-default", "-n", "cli_folder")
    assert shared.json("datastore", "show-default")["name"] == "cli_folder"
    shared.ok("datastore", "set-default", "-n", "workspaceblobstore")
    shared.ok("datastore", "detach", "-n", "cli_folder")
    assert shared.run("datastore", "show", "-n", "cli_folder").returncode == 5
    assert read_tree(tmp_path / "real")
    assert shared.run("datastore", "detach", "-n", "workspaceblobstore").returncode == 6
    assert shared.run("datastore", "upload", "-n", "workspaceblobstore", "-p", tmp_path / "none").returncode == 5
    assert shared.run("datastore", "attach-s3", "-n", "s", "--bucket", "b", "--access-key", "k").returncode == 2


def test_datasets(shared, tmp_path):
    template = json.loads(shared.ok("dataset", "register", "--show-template"))
    template["registration"]["name"] = "cli_dataset"
    template["parameters"]["path"][0]["relativePath"] = "cli-datasets/*.csv"
    write_tree(tmp_path, {"a.json": json.dumps(template), "data/a.csv": "x,y\n1,2\n"})
    done = shared.run("dataset", "register", "-f", tmp_path / "a.json")
    assert done.returncode == 5 and "parameters.path[0]" in done.stderr and "cli-datasets/*.csv" in done.stderr, done
    shared.ok("datastore", "upload", "-n", "workspaceblobstore", "-p", tmp_path / "data", "-u", "cli-datasets")
    assert shared.ok("dataset", "register", "-f", tmp_path / "a.json") == "cli_dataset version 1\n"
    template["parameters"]["separator"] = "\t"
    write_tree(tmp_path, {"a.json": json.dumps(template)})
    assert shared.ok("dataset", "register", "-f", tmp_path / "a.json", "--skip-validation") == "cli_dataset version 2\n"
    assert shared.json("dataset", "show", "-n", "cli_dataset")["version"] == 2
    first = shared.json("dataset", "show", "-n", "cli_dataset", "-v", "1")
    assert first["definition"]["paths"] == [{"datastore": "workspaceblobstore", "path": "cli-datasets/*.csv"}]
    assert shared.json("dataset", "show", "-i", first["id"])["id"] == first["id"]
    shared.ok("dataset", "deprecate", "-n", "cli_dataset", "-v", "2", "-d", first["id"])
    assert shared.json("dataset", "show", "-n", "cli_dataset")["deprecated_by"] == first["id"]
    shared.ok("dataset", "archive", "-n", "cli_dataset")
    shared.ok("dataset", "reactivate", "-n", "cli_dataset")
    shown = shared.json("dataset", "show", "-n", "cli_dataset")
    assert not shown["archived"] and not shown["deprecated_by"]
    assert "cli_dataset" in {one["name"] for one in shared.json("dataset", "list")}
    shared.ok("dataset", "unregister", "-n", "cli_dataset")
    assert shared.run("dataset", "show", "-n", "cli_dataset").returncode == 5
    assert shared.json("dataset", "show", "-i", first["id"])["id"] == first["id"]


@pytest.mark.parametrize("change, said", [
    ({"datasetType": "Picture"}, "datasetType: expected File or Tabular, found 'Picture'"),
    ({"parameters": {"path": []}}, "parameters.path: expected at least one path"),
    ({"parameters": {"path": "folder/*.csv"}}, "parameters.path: expected a URL"),
    ({"parameters": {"path": "https://example.org/a", "seperator": ","}}, "parameters.seperator is not known; did you mean separator?"),
    ({"parameters": {"path": [{"relativePath": "x"}]}}, "parameters.path[0].datastoreName"),
    ({"registration": {}}, "registration.name: expected a text, found nothing"),
    ({"extra": 1}, "extra is not known"),
])
def test_dataset_descriptions_that_are_wrong(shared, tmp_path, change, said):
    template = json.loads(shared.ok("dataset", "register", "--show-template"))
    template.update(change)
    write_tree(tmp_path, {"a.json": json.dumps(template)})
    done = shared.run("dataset", "register", "-f", tmp_path / "a.json")
    assert done.returncode == 2 and "a.json: " + said in done.stderr, done


def test_compute_targets(shared):
    assert [one["name"] for one in shared.json("computetarget", "list")] == ["local"]
    shared.agent_pid()
    wait_until("the machine's agent has come", lambda: shared.json("computetarget", "show", "-n", "local")["status"]["current_node_count"] == 1)
    assert shared.json("computetarget", "show", "-n", "local")["type"] == "local"
    done = shared.run("computetarget", "show", "-n", "gpu-cluster")
    assert done.returncode == 5 and done.stderr.startswith("ferry: there is no compute target 'gpu-cluster'\n"), done
    assert shared.run("computetarget", "delete", "-n", "local").returncode == 6
    assert shared.run("computetarget", "detach", "-n", "local").returncode == 6
    assert shared.run("computetarget", "get-credentials", "-n", "local").returncode == 5


def test_workspaces(shared):
    made = shared.run("workspace", "create", "-w", "cli-w", "-g", "group", "-l", "westeurope", "--sku", "enterprise", "--friendly-name", "Mine", "--storage-account", "store", "--exist-ok", "--yes", "-o", "json")
    assert made.returncode == 0 and "recorded and not enforced: --location, --sku, --resource-group, --storage-account" in made.stderr, made
    shown = shared.json("workspace", "show", "-w", "cli-w")
    assert shown["properties"]["location"] == "westeurope" and shown["friendly_name"] == "Mine"
    assert "cli-w" in {one["name"] for one in shared.json("workspace", "list")}
    shared.ok("workspace", "update", "-w", "cli-w", "--description", "changed", "--tags", "a=b")
    shared.ok("workspace", "update-dependencies", "-w", "cli-w", "--container-registry", "registry")
    shown = shared.json("workspace", "show", "-w", "cli-w")
    assert shown["description"] == "changed" and shown["tags"] == {"a": "b"} and shown["properties"]["container_registry"] == "registry"
    assert shared.run("workspace", "update", "-w", "cli-w").returncode == 2
    for command in ("list-keys", "sync-keys"):
        done = shared.run("workspace", command, "-w", "cli-w")
        assert done.returncode == 0 and "no keys" in done.stderr, done
    assert shared.run("workspace", "share", "-w", "cli-w", "--user", "admin", "--role", "Contributor").returncode == 0
    done = shared.run("workspace", "share", "-w", "cli-w", "--user", "nobody", "--role", "reader")
    assert done.returncode == 6 and "ferry user add nobody --role reader" in done.stderr, done
    assert shared.run("workspace", "delete", "-w", "cli-w").returncode == 2
    shared.ok("workspace", "delete", "-w", "cli-w", "-y", "--all-resources")
    assert shared.run("workspace", "show", "-w", "cli-w").returncode == 5
    assert shared.run("workspace", "delete", "-w", "default", "-y").returncode == 6


def test_secrets(shared, tmp_path):
    def keep(value, *words):
        process = shared.popen("secret", "set", *words, stdin=-1)
        out, err = process.communicate(value, timeout=30)
        return process.returncode, out, err

    assert keep("of standard input\n", "cli-one") == (0, "kept cli-one\n", "")
    assert shared.ok("secret", "show", "cli-one") == "of standard input\n"
    write_tree(tmp_path, {"value": "of a file\nwith lines\n"})
    shared.ok("secret", "set", "cli-two", "-f", tmp_path / "value", "--content-type", "text/plain")
    assert shared.json("secret", "show", "cli-two")["value"] == "of a file\nwith lines"
    listed = shared.ok("secret", "list") + json.dumps(shared.json("secret", "list"))
    assert "cli-one" in listed and "cli-two" in listed and "of a file" not in listed and "standard input" not in listed
    status, _, err = keep("", "cli-three")
    assert status == 2 and "no value" in err
    status, _, err = keep("x" * (64 * 1024 + 1), "cli-three")
    assert status == 7, err
    assert keep("x", "not a name")[0] == 2
    shared.ok("secret", "delete", "cli-one")
    assert shared.run("secret", "show", "cli-one").returncode == 5
    assert shared.run("secret", "set", "cli-one", "in-the-history").returncode == 2
    done = shared.run("--debug", "secret", "show", "cli-two")
    assert "of a file" not in done.stderr


def test_a_secret_that_is_typed_is_not_shown(shared):
    import pty

    main, side = pty.openpty()
    process = shared.popen("secret", "set", "cli-typed", stdin=side, stdout=side, stderr=side)
    os.close(side)
    seen = b""
    while b"Ctrl-D" not in seen:
        seen += os.read(main, 1000)
    os.write(main, b"typed by hand\n\x04")
    assert process.wait(timeout=30) == 0
    while True:
        try:
            piece = os.read(main, 1000)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(main)
    assert b"typed by hand" not in seen and b"kept cli-typed" in seen
    assert shared.ok("secret", "show", "cli-typed") == "typed by hand\n"


def test_tensorboard(shared, tmp_path):
    # A program that plays TensorBoard: it waits for the file and ends.
    write_tree(tmp_path, {"bin/tensorboard": "#!/bin/sh\ntest \"$1\" = --logdir || exit 9\nfor i in $(seq 200); do if grep -qs seen \"$2/logs/events.txt\"; then echo found; exit 0; fi; sleep 0.1; done\nexit 8\n"})
    os.chmod(tmp_path / "bin" / "tensorboard", 0o755)
    run = shared.submit_python("import os, time\nos.makedirs('logs')\nwith open('logs/events.txt', 'w') as f:\n f.write('seen\\n')\n f.flush()\n time.sleep(20)")
    shared.wait(run, "Running")
    path = "%s:%s" % (tmp_path / "bin", os.environ["PATH"])
    done = shared.run("run", "monitor-tensorboard", "-r", run, "--local-directory", tmp_path / "board", env={"PATH": path})
    assert done.returncode == 0 and "found" in done.stdout, done
    shared.ok("run", "cancel", "-r", run)
    assert read_tree(tmp_path / "board")["logs/events.txt"] == b"seen\n"
    done = shared.run("run", "monitor-tensorboard", "-r", run, env={"PATH": str(tmp_path)})
    assert done.returncode == 5 and "pip install tensorboard" in done.stderr, done
    shared.wait(run, "Canceled")


def test_inside_a_run_the_token_is_the_runs(shared):
    """The script's own environment is enough for the command line."""
    run = shared.submit("sh", "-c", 'unset FERRY_TOKEN FERRY_TOKEN_FILE; export FERRY_URL="${FERRY_URL:-%s}"; %s run show -r "$AZUREML_RUN_ID" --query id -o tsv' % (shared.url, BINARY))
    shared.wait(run, "Completed")
    assert shared.output(run).decode().split() == [run]
