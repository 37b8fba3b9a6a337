"""Environments: every way to make one, folders, the registry, and building."""

import json
import os
import re
import shutil
import sys
from types import SimpleNamespace

import pytest

from azureml.core.container_registry import ContainerRegistry
from azureml.core.environment import DEFAULT_CPU_IMAGE, DockerBuildContext, Environment, SparkPackage
from azureml.core.runconfig import RunConfiguration
from azureml.exceptions import ActivityFailedException, ScenarioNotSupportedException, ServiceException, UserErrorException
from conftest import ROOT
from ferry_fixture import wait_until

VERSION = "%d.%d" % sys.version_info[:2]


@pytest.fixture
def workspace(client):
    return SimpleNamespace(name="default", _client=client)


def pip_only(name, *packages):
    environment = Environment(name)
    environment.python.conda_dependencies.set_pip_requirements(list(packages))
    return environment


# Making


def test_a_new_one():
    new = Environment(name="mine")
    assert (new.name, new.version, new.environment_variables, new.inferencing_stack_version, new.r) == ("mine", None, {}, None, None)
    assert (new.docker.enabled, new.docker.base_image, new.docker.base_dockerfile, new.docker.build_context) == (False, DEFAULT_CPU_IMAGE, None, None)
    assert new._definition() == {"name": "mine", "python": {"userManagedDependencies": False, "interpreterPath": "python", "condaDependencies": {
        "channels": ["conda-forge"], "dependencies": ["python=" + VERSION, {"pip": ["azureml-defaults"]}]}}}


def test_from_conda_specification(tmp_path):
    (tmp_path / "c.yml").write_text("channels: [conda-forge]\ndependencies:\n- python=3.8\n- pip: [torch==1.6]\n")
    made = Environment.from_conda_specification(name="pytorch-env", file_path=str(tmp_path / "c.yml"))
    assert made.python.conda_dependencies.pip_packages == ["torch==1.6"]
    with pytest.raises(UserErrorException, match="cannot be read"):
        Environment.from_conda_specification("x", tmp_path / "gone.yml")


def test_from_pip_requirements(tmp_path):
    (tmp_path / "more.txt").write_text("idna\n")
    (tmp_path / "r.txt").write_text("# what it needs\nsix==1.16.0  # old\n\n-r more.txt\n--extra-index-url https://host.example/simple\n")
    made = Environment.from_pip_requirements("r", tmp_path / "r.txt", pip_version="20.1")
    packages = made.python.conda_dependencies
    assert packages.pip_packages == ["six==1.16.0", "idna", "azureml-defaults"]
    assert packages.pip_options == ["--extra-index-url https://host.example/simple"] and packages.conda_packages == ["pip=20.1"]
    (tmp_path / "loop.txt").write_text("-r loop.txt\n")
    with pytest.raises(UserErrorException, match="is included over more than 8 files; does one include itself?"):
        Environment.from_pip_requirements("r", str(tmp_path / "loop.txt"))


def test_from_images(tmp_path):
    registry = ContainerRegistry()
    registry.address, registry.username, registry.password = "registry.example", "me", "geheim"
    made = Environment.from_docker_image("i", "registry.example/image:1", container_registry=registry)
    assert made._definition()["docker"] == {"enabled": True, "baseImage": "registry.example/image:1", "shmSize": "2g", "baseImageRegistry": {
        "address": "registry.example", "username": "me", "password": "geheim"}}
    assert made.python.user_managed_dependencies and "geheim" not in str(made)
    (tmp_path / "Dockerfile").write_text("FROM debian:12\n")
    (tmp_path / "r.txt").write_text("six\n")
    for given in (str(tmp_path / "Dockerfile"), "FROM debian:12\n"):
        made = Environment.from_dockerfile("d", given, pip_requirements=tmp_path / "r.txt")
        assert made._definition()["docker"] == {"enabled": True, "baseDockerfile": "FROM debian:12\n", "shmSize": "2g"}
        assert made.python.conda_dependencies.pip_packages == ["six"] and not made.python.user_managed_dependencies
    with pytest.raises(UserErrorException, match="exclude each other"):
        Environment.from_dockerfile("d", "FROM debian:12\n", conda_specification="a.yml", pip_requirements="b.txt")


def test_from_existing_conda_environment(tmp_path, monkeypatch, capsys):
    program = tmp_path / "conda"
    program.write_text('#!/bin/sh\n[ "$5" = there ] || { echo "no $5" >&2; exit 1; }\nprintf "name: there\\nchannels: [conda-forge]\\n'
                       'dependencies:\\n- numpy=1.26\\nprefix: /opt/there\\n"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert Environment.from_existing_conda_environment("e", "there").python.conda_dependencies.conda_packages == ["numpy=1.26"]
    assert Environment.from_existing_conda_environment("e", "gone") is None
    assert "conda cannot export 'gone': no gone" in capsys.readouterr().out
    monkeypatch.setenv("PATH", "/nowhere")
    assert Environment.from_existing_conda_environment("e", "there") is None


def test_clone():
    one = Environment("one")
    other = one.clone("other")
    other.python.conda_dependencies.add_pip_package("six")
    other.environment_variables["A"] = "1"
    assert (other.name, other.version) == ("other", None)
    assert one.python.conda_dependencies.pip_packages == ["azureml-defaults"] and one.environment_variables == {}


def test_wrong_ones():
    for name in ("", None, 3, "x" * 301):
        with pytest.raises(UserErrorException, match="name: expected a name"):
            Environment("ok").clone(name)
    with pytest.raises(AttributeError, match="Environment has no attribute 'pyton'; did you mean 'python'?"):
        Environment("x").pyton = 1
    broken = Environment("x")
    broken.python.conda_dependencies = ["numpy"]
    with pytest.raises(UserErrorException, match="environment.python.conda_dependencies: expected CondaDependencies"):
        broken._definition()
    broken = Environment("x")
    broken.python.conda_dependencies = None
    with pytest.raises(UserErrorException, match="environment.python: expected conda_dependencies"):
        broken._definition()
    broken = Environment("x")
    broken.docker.enabled, broken.docker.shm_size = True, "much"
    with pytest.raises(UserErrorException, match="environment.docker.shm_size: expected a size such as 2g or 512m, found 'much'"):
        broken._definition()
    broken = Environment("x")
    broken.python.base_conda_environment = "base"
    with pytest.raises(ScenarioNotSupportedException, match="is not part of this version of Ferry yet."):
        broken._definition()


# Folders


def test_round_trip_of_a_folder(tmp_path):
    one = Environment("folder")
    one.python.conda_dependencies.add_conda_package("numpy")
    one.environment_variables = {"A": "1"}
    one.docker.enabled, one.docker.base_image, one.docker.base_dockerfile = True, None, "FROM debian:12\nRUN true\n"
    one.docker.base_image_registry.password = "geheim"
    one.spark.packages = [SparkPackage("g", "a", "1")]
    one.inferencing_stack_version = "latest"
    one.save_to_directory(tmp_path / "e")
    assert sorted(os.listdir(tmp_path / "e")) == ["BaseDockerfile", "azureml_environment.json", "conda_dependencies.yml"]
    assert "geheim" not in (tmp_path / "e" / "azureml_environment.json").read_text()
    keys = json.loads((tmp_path / "e" / "azureml_environment.json").read_text())
    assert keys["python"]["condaDependenciesFile"] == "conda_dependencies.yml" and keys["spark"]["packages"] == [
        {"group": "g", "artifact": "a", "version": "1"}]
    other = Environment.load_from_directory(tmp_path / "e")
    one.docker.base_image_registry.password = None
    assert other == one
    with pytest.raises(UserErrorException, match="exists already; give another folder, or overwrite=True"):
        one.save_to_directory(str(tmp_path / "e"))
    one.save_to_directory(str(tmp_path / "e"), overwrite=True)


def test_folders_of_the_program(tmp_path, shared, workspace):
    shared.ok("environment", "scaffold", "-n", "scaffolded", "-d", tmp_path / "s")
    loaded = Environment.load_from_directory(tmp_path / "s")
    assert (loaded.name, loaded.docker.enabled, loaded.docker.base_image) == ("scaffolded", False, None)
    loaded.register(workspace)
    loaded.save_to_directory(tmp_path / "t")
    assert "unchanged" in shared.ok("environment", "register", "-d", tmp_path / "t")


@pytest.mark.parametrize("text, message", [
    ("{", "azureml_environment.json: "), ("[]", "azureml_environment.json: expected an object"),
    ('{"python": 3}', "azureml_environment.json: python: expected a section"),
    ('{"name": "x", "python": {"condaDependenciesFile": "gone.yml"}}', "gone.yml' cannot be read"),
])
def test_wrong_folders(tmp_path, text, message):
    (tmp_path / "azureml_environment.json").write_text(text)
    with pytest.raises(UserErrorException, match=message):
        Environment.load_from_directory(tmp_path)
    with pytest.raises(UserErrorException, match="there is no azureml_environment.json in"):
        Environment.load_from_directory(tmp_path / "nowhere")


# The registry


def test_versions(workspace):
    one = Environment("versions")
    one.environment_variables["A"] = "1"
    first = one.register(workspace)
    assert (first.name, first.version, one.version) == ("versions", "1", None)
    assert one.register(workspace=workspace).version == "1"
    one.python.conda_dependencies.add_pip_package("six")
    second = one.register(workspace)
    assert second.version == "2" and second.python.conda_dependencies.pip_packages == ["azureml-defaults", "six"]
    assert Environment.get(workspace, "versions").version == "2"
    assert Environment.get(workspace, name="versions", label="Latest").version == "2"
    old = Environment.get(workspace=workspace, name="versions", version="1")
    assert (old.version, old.environment_variables, old.python.conda_dependencies.pip_packages) == ("1", {"A": "1"}, ["azureml-defaults"])
    assert old._definition() == first._definition()


def test_list(workspace):
    Environment("listed").register(workspace)
    listed = Environment.list(workspace)
    assert listed["listed"].version == "1" and "AzureML-Minimal" in listed
    for name, environment in listed.items():
        assert environment.name == name
        if name.startswith("AzureML"):
            assert environment.python.conda_dependencies.serialize_to_string()


def test_what_is_not_there(workspace):
    with pytest.raises(ServiceException, match="there is no environment 'nobody' in workspace 'default'"):
        Environment.get(workspace, "nobody")
    Environment("some").register(workspace)
    with pytest.raises(ServiceException, match="there is no environment 'some' with version 9 in workspace 'default'"):
        Environment.get(workspace, "some", 9)
    with pytest.raises(UserErrorException, match="label: expected Latest, found 'oldest'"):
        Environment.get(workspace, "some", label="oldest")
    with pytest.raises(UserErrorException, match="version and label exclude each other"):
        Environment.get(workspace, "some", version=1, label="Latest")


def test_reserved_names(workspace):
    for name in ("AzureML-mine", "microsoft-mine"):
        with pytest.raises(UserErrorException, match=f"environment name '{name}' begins with a reserved word"):
            Environment(name).register(workspace)
    with pytest.raises(UserErrorException, match="needs a name"):
        Environment().register(workspace)
    with pytest.raises(UserErrorException, match="environment name 'a/b' has another character"):
        Environment("a/b").register(workspace)


def test_curated_ones(workspace):
    curated = Environment.get(workspace, "AzureML-PyTorch-1.6-GPU")
    assert curated.name == "AzureML-PyTorch-1.6-GPU" and curated.docker.base_image is None
    config = RunConfiguration(script="a.py")
    config.environment = curated
    assert config._submission()["environment_name"] == "AzureML-PyTorch-1.6-GPU@1"
    # As seed 004 goes on: a copy of one's own.
    mine = curated.clone("pytorch-mine")
    mine.docker.enabled = True
    mine.docker.base_image = "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04"
    assert mine.register(workspace).docker.base_image.endswith("ubuntu18.04")
    curated.python.conda_dependencies.add_pip_package("six")
    assert "name" not in config._submission()["environment_definition"]


def test_an_old_version_stays_that_version(workspace):
    one = pip_only("pinned", "six")
    one.register(workspace)
    one.python.conda_dependencies.add_pip_package("idna")
    one.register(workspace)
    config = RunConfiguration(script="a.py")
    config.environment = Environment.get(workspace, "pinned", 1)
    assert config._submission()["environment_name"] == "pinned@1"
    config.environment.environment_variables["A"] = "1"
    assert config._submission()["environment_definition"]["name"] == "pinned"


def test_passwords_are_not_shown(workspace):
    registry = ContainerRegistry()
    registry.address, registry.username, registry.password = "registry.example", "me", "geheim"
    kept = Environment.from_docker_image("sealed", "registry.example/i", registry).register(workspace)
    assert (kept.docker.base_image_registry.username, kept.docker.base_image_registry.password) == ("me", None)
    config = RunConfiguration(script="a.py")
    config.environment = kept
    # By its name, so that the server takes the password that it has.
    assert config._submission()["environment_name"] == "sealed@1"


def test_a_build_context(tmp_path, workspace):
    (tmp_path / "Dockerfile").write_text("FROM debian:12\n")
    (tmp_path / "more").write_text("x")
    context = DockerBuildContext.from_local_directory(workspace, tmp_path)
    kept = Environment.from_docker_build_context("context", context).register(workspace)
    assert kept.docker.build_context.location == context.location and len(context.location) == 64
    with pytest.raises(UserErrorException, match="path: there is no file 'other' in"):
        DockerBuildContext.from_local_directory(workspace, tmp_path, "other")


def test_a_build_context_of_a_run_configuration(tmp_path, workspace):
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "Dockerfile").write_text("FROM debian:12\n")
    (tmp_path / "x.runconfig").write_text("script: a.py\nenvironment:\n  python:\n    userManagedDependencies: true\n"
                                          "  docker:\n    enabled: true\n    buildContext:\n      location: image\n")
    submission = RunConfiguration.load(tmp_path, "x")._submission(workspace, tmp_path)
    assert len(submission["environment_definition"]["docker"]["buildContext"]["snapshot"]) == 64


# Building


def test_build(workspace, capsys):
    one = pip_only("built", "six==1.16.0")
    registered = one.register(workspace)
    assert registered.get_image_details(workspace)["imageExistsInRegistry"] is False
    details = registered.build(workspace)
    assert details.status in ("Queued", "Running", "Succeeded")
    assert details.wait_for_completion(show_output=True).status == "Succeeded"
    assert "six" in capsys.readouterr().out and "six" in details.image_build_log
    # The node tells of the build in its own time.
    found = wait_until("the build is known", lambda: (lambda one: one["imageExistsInRegistry"] and one)(registered.get_image_details(workspace)))
    assert found["ingredients"]["condaEnvSpec"]["dependencies"] == [
        "python=" + VERSION, {"pip": ["six==1.16.0"]}]
    assert "six" in [package["name"] for package in found["build"]["lock"]["packages"]]
    assert workspace._client.get(f"/runs/{details.run_id}")["experiment"] == "prepare_environments"


def test_build_local_and_a_failure(workspace, capsys):
    assert pip_only("local-build", "six==1.16.0").build_local(workspace).status == "Succeeded"
    with pytest.raises(ActivityFailedException, match="environment 'cannot-be' was not built: .*six"):
        pip_only("cannot-be", "six==0.0.99").build(workspace).wait_for_completion(show_output=False)
    with pytest.raises(UserErrorException, match="usePodman: expected useDocker or pushImageToWorkspaceAcr"):
        Environment("x").build_local(workspace, usePodman=True)


def test_nothing_to_build(workspace):
    one = Environment("existing")
    one.python.user_managed_dependencies = True
    details = one.build(workspace)
    assert (details.run_id, details.status, details.wait_for_completion().status) == (None, "Succeeded", "Succeeded")


def test_private_wheels_come_later(workspace, tmp_path):
    (tmp_path / "a.whl").write_text("")
    with pytest.raises(UserErrorException, match="file_path: expected a wheel"):
        Environment.add_private_pip_wheel(workspace, file_path=tmp_path / "a.txt")
    with pytest.raises(UserErrorException, match="file_path: there is no file"):
        Environment.add_private_pip_wheel(workspace, tmp_path / "b.whl")
    with pytest.raises(ScenarioNotSupportedException) as caught:
        Environment.add_private_pip_wheel(workspace, tmp_path / "a.whl", exist_ok=True)
    assert caught.value.message.startswith("Keeping private wheels (Environment.add_private_pip_wheel) is not part of this version of Ferry yet.")


def test_the_page_runs(client, tmp_path, monkeypatch, capsys):
    """The code of docs/how-to/python-environments.md."""
    with open(os.path.join(ROOT, "docs", "how-to", "python-environments.md")) as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.S | re.M)
    assert len(blocks) == 2
    shutil.copytree(os.path.join(ROOT, "examples"), tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, "python-environments.md", "exec"), names)
    assert "small 1" in capsys.readouterr().out and os.path.isfile(".azureml/small.runconfig")
