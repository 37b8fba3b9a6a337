"""Environments: what a script needs, kept under names and versions by the workspace."""

from __future__ import annotations

import os
from typing import Any, Mapping

from azureml.core._environment_build import ImageBuildDetails, ImageDetails
from azureml.core._environment_sections import (DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, DatabricksSection, DockerBuildContext, DockerImagePlatform,
                                                DockerSection, EggLibrary, JarLibrary, MavenLibrary, PyPiLibrary, PythonSection, RCranLibrary,
                                                RSection, SparkPackage, SparkSection, check_size, dockerfile_text, requirements)
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry, RegistryIdentity
from azureml.exceptions import UserErrorException
from ferry.not_yet import not_yet
from ferry.section import Anything, Field, Part, Section, Text, TextMap, wrong

__all__ = ["CondaDependencies", "ContainerRegistry", "DEFAULT_CPU_IMAGE", "DEFAULT_GPU_IMAGE", "DatabricksSection", "DockerBuildContext",
           "DockerImagePlatform", "DockerSection", "EggLibrary", "Environment", "EnvironmentReference", "ImageBuildDetails", "JarLibrary",
           "MavenLibrary", "PyPiLibrary", "PythonSection", "RCranLibrary", "RSection", "RegistryIdentity", "SparkPackage", "SparkSection"]


_DEFINITION_FILE = "azureml_environment.json"
_CONDA_FILE = "conda_dependencies.yml"
_DOCKERFILE = "BaseDockerfile"
_RESERVED = ("azureml", "microsoft")
_LONGEST_NAME = 300


class EnvironmentReference:
    """The name of a registered environment, and its version."""

    def __init__(self, name: str, version: str | None = None) -> None:
        self.name, self.version = name, version

    def get_environment(self, workspace: Any) -> Environment:
        """The environment itself."""
        return Environment.get(workspace, self.name, self.version)


class Environment(Section):
    """What a script needs: a Python that is there already, packages by conda and pip, or an image.

    It is a value of this process until :meth:`register` keeps it. A run keeps what it was given.
    """

    name: str | None
    version: str | None
    python: PythonSection
    environment_variables: dict[str, Any]
    docker: DockerSection
    spark: SparkSection
    databricks: DatabricksSection
    r: Any
    inferencing_stack_version: str | None

    _fields = (Field("name", "name", Text()), Field("version", "version", Text()), Field("python", "python", Part(PythonSection)),
               Field("environment_variables", "environmentVariables", TextMap(), {}), Field("docker", "docker", Part(DockerSection)),
               Field("spark", "spark", Part(SparkSection)), Field("databricks", "databricks", Part(DatabricksSection)),
               Field("r", "r", Anything()), Field("inferencing_stack_version", "inferencingStackVersion", Text()))

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        super().__init__()
        if name is not None:
            _check_name(name)
        self.name = name
        # The definition that the server gave, and how it is referred to: an unchanged one is sent by its name.
        self._origin: dict[str, Any] | None = None
        self._curated = False
        for key, value in kwargs.items():
            if not key.startswith("_"):
                setattr(self, key, value)

    # Making

    @staticmethod
    def from_conda_specification(name: str, file_path: Any) -> Environment:
        """An environment of a conda specification file."""
        environment = Environment(name)
        environment.python.conda_dependencies = CondaDependencies(file_path)
        return environment

    @staticmethod
    def from_pip_requirements(name: str, file_path: Any, pip_version: str | None = None) -> Environment:
        """An environment of a requirements file, with the Python of this process. ``-r FILE`` within it is read in."""
        environment = Environment(name)
        environment.python.conda_dependencies.set_pip_requirements(requirements(os.fspath(file_path)))
        environment.python.conda_dependencies.add_pip_package("azureml-defaults")
        if pip_version is not None:
            environment.python.conda_dependencies.add_conda_package(f"pip={pip_version}")
        return environment

    @staticmethod
    def from_dockerfile(name: str, dockerfile: Any, conda_specification: Any = None, pip_requirements: Any = None) -> Environment:
        """An environment of a Dockerfile, given as a path or as its text. Without packages the image's own Python is used."""
        environment = Environment(name)
        environment.docker.enabled = True
        environment.docker.base_image = None
        environment.docker.base_dockerfile = dockerfile_text(dockerfile)
        environment._packages_on_image(conda_specification, pip_requirements)
        return environment

    @staticmethod
    def from_docker_image(name: str, image: str, container_registry: ContainerRegistry | None = None, conda_specification: Any = None,
                          pip_requirements: Any = None) -> Environment:
        """An environment of an image. Without packages the image's own Python is used."""
        if not isinstance(image, str) or not image.strip():
            raise wrong("image", "the name of an image", image)
        environment = Environment(name)
        environment.docker.enabled = True
        environment.docker.base_image = image
        if container_registry is not None:
            environment.docker.base_image_registry = container_registry
        environment._packages_on_image(conda_specification, pip_requirements)
        return environment

    @staticmethod
    def from_docker_build_context(name: str, docker_build_context: DockerBuildContext) -> Environment:
        """An environment of an image that is built from a folder. The image's own Python is used."""
        if not isinstance(docker_build_context, DockerBuildContext):
            raise wrong("docker_build_context", "a DockerBuildContext", docker_build_context)
        environment = Environment(name)
        environment.docker.enabled = True
        environment.docker.base_image = None
        environment.docker.build_context = docker_build_context
        environment.python.user_managed_dependencies = True
        return environment

    @staticmethod
    def from_existing_conda_environment(name: str, conda_environment_name: str) -> Environment | None:
        """An environment of what a conda environment of this machine holds; None, and the reason printed, when conda cannot say."""
        import subprocess

        from ferry import yaml_file

        if not isinstance(conda_environment_name, str) or not conda_environment_name or conda_environment_name.startswith("-"):
            raise wrong("conda_environment_name", "the name of a conda environment", conda_environment_name)
        command = ["conda", "env", "export", "--no-builds", "--name", conda_environment_name]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"conda cannot be asked for '{conda_environment_name}': {error}")
            return None
        if done.returncode:
            print(f"conda cannot export '{conda_environment_name}': {done.stderr.decode(errors='replace').strip()}")
            return None
        content = yaml_file.loads(done.stdout.decode("utf-8", "replace"), "conda env export")
        environment = Environment(name)
        environment.python.conda_dependencies = CondaDependencies(_underlying_structure=content)
        return environment

    def clone(self, new_name: str) -> Environment:
        """A copy under another name, not registered yet."""
        import copy

        _check_name(new_name)
        other = copy.deepcopy(self)
        other.name, other.version, other._origin, other._curated = new_name, None, None, False
        return other

    def _packages_on_image(self, conda_specification: Any, pip_requirements: Any) -> None:
        if conda_specification is not None and pip_requirements is not None:
            raise UserErrorException("conda_specification and pip_requirements exclude each other; give one of them")
        if conda_specification is not None:
            given = conda_specification
            self.python.conda_dependencies = given if isinstance(given, CondaDependencies) else CondaDependencies(given)
        elif pip_requirements is not None:
            given = pip_requirements
            lines = requirements(os.fspath(given)) if isinstance(given, (str, os.PathLike)) else given
            self.python.conda_dependencies.set_pip_requirements(lines)
        else:
            self.python.user_managed_dependencies = True

    # Folders

    def save_to_directory(self, path: Any, overwrite: bool = False) -> None:
        """Writes ``azureml_environment.json``, ``conda_dependencies.yml`` and, where there is one, ``BaseDockerfile`` to a folder.
        Passwords are left out."""
        import json

        from ferry import yaml_file

        folder = os.fspath(path)
        definition = self._write("environment")
        conda = definition["python"].pop("condaDependencies")
        if definition["python"]["condaDependenciesFile"]:
            conda = CondaDependencies(definition["python"]["condaDependenciesFile"]).as_dict()
        definition["python"]["condaDependenciesFile"] = _CONDA_FILE if conda else None
        if definition["python"]["pipRequirements"] is None:
            del definition["python"]["pipRequirements"]
        dockerfile = definition["docker"]["baseDockerfile"]
        definition["docker"]["baseImageRegistry"]["password"] = None
        files = {_DEFINITION_FILE: ""}
        if conda:
            files[_CONDA_FILE] = yaml_file.dumps({"name": "project_environment", **conda})
        if dockerfile:
            files[_DOCKERFILE] = dockerfile_text(dockerfile)
            definition["docker"]["baseDockerfile"] = None
        files[_DEFINITION_FILE] = json.dumps(definition, indent=4) + "\n"
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise UserErrorException(f"path: '{folder}' is not a folder")
        for name in files:
            if not overwrite and os.path.exists(os.path.join(folder, name)):
                raise UserErrorException(f"path: '{os.path.join(folder, name)}' exists already; give another folder, or overwrite=True")
        for name, text in files.items():
            yaml_file.write_text(os.path.join(folder, name), text)

    @staticmethod
    def load_from_directory(path: Any) -> Environment:
        """The environment that a folder holds: what :meth:`save_to_directory` or ``ferry environment scaffold`` wrote."""
        import json

        from ferry import yaml_file

        folder = os.fspath(path)
        file = os.path.join(folder, _DEFINITION_FILE)
        if not os.path.isfile(file):
            raise UserErrorException(f"path: there is no {_DEFINITION_FILE} in '{folder}'")
        try:
            definition = json.loads(yaml_file.read_text(file))
        except (ValueError, RecursionError) as error:
            raise UserErrorException(f"{file}: {error}", error) from None
        if not isinstance(definition, dict):
            raise UserErrorException(f"{file}: expected an object, found a value of type {type(definition).__name__}")
        environment = Environment()
        try:
            environment._read(definition)
        except UserErrorException as error:
            raise UserErrorException(f"{file}: {error.message}") from None
        environment._read_conda_file(folder, _CONDA_FILE)
        dockerfile = os.path.join(folder, _DOCKERFILE)
        if os.path.isfile(dockerfile) and not environment.docker.base_dockerfile:
            text = yaml_file.read_text(dockerfile)
            if any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
                environment.docker.base_dockerfile = text
                environment.docker.base_image = None
        return environment

    def _read(self, value: Any, path: str = "") -> None:
        super()._read(value, path)
        docker = value.get("docker") if isinstance(value, Mapping) else None
        # A file that says nothing of an image means none; the default stands for environments that are made here.
        if isinstance(docker, Mapping) and not any(key.lower() == "baseimage" and docker[key] for key in docker):
            self.docker.base_image = None

    def _read_conda_file(self, folder: str, usual: str | None = None) -> None:
        """Takes the conda file that the section names in place of its name."""
        name = self.python.conda_dependencies_file
        given = name or usual
        if given is None:
            return
        file = os.path.join(folder, given)
        if not name and not os.path.isfile(file):
            return
        if file.endswith(".txt"):
            self.python.conda_dependencies.set_pip_requirements(requirements(file))
        else:
            self.python.conda_dependencies = CondaDependencies(file)
        self.python.conda_dependencies_file = None

    # The server

    def register(self, workspace: Any) -> Environment:
        """Keeps the environment in the workspace. Returns it as it is kept: a new version when the definition differs from the latest."""
        from ferry.client import quote

        if not self.name:
            raise UserErrorException("name: an environment needs a name to be registered")
        _refuse_reserved(self.name)
        answer = workspace._client.put(f"/environments/{quote(self.name)}", {"definition": self._definition()}, workspace=workspace.name)
        return Environment.get(workspace, self.name, answer["version"])

    @staticmethod
    def get(workspace: Any, name: str, version: Any = None, label: str | None = None) -> Environment:
        """The environment of this name, in this version or the latest one. ``label`` can only be ``Latest``."""
        from ferry.client import NotFound, quote

        if label is not None:
            if version is not None:
                raise UserErrorException("version and label exclude each other; give one of them")
            if str(label).lower() != "latest":
                raise UserErrorException(f"label: expected Latest, found '{label}'")
        if not isinstance(name, str) or not name:
            raise wrong("name", "the name of an environment", name)
        query = {"workspace": workspace.name}
        if version is not None and str(version).lower() != "latest":
            query["version"] = str(version)
        try:
            view = workspace._client.get(f"/environments/{quote(name)}", **query)
        except NotFound as error:
            raise _not_found(name, version, workspace, error) from None
        return Environment._from_view(view)

    @staticmethod
    def list(workspace: Any) -> dict[str, Environment]:
        """The latest version of every environment, by name: those of the workspace, and those that Ferry brings along."""
        names = [view["name"] for view in workspace._client.pages("/environments", "environments", workspace=workspace.name)]
        return {name: Environment.get(workspace, name) for name in names}

    def build(self, workspace: Any, image_build_compute: Any = None) -> ImageBuildDetails:
        """Builds the environment on a node, by a run that does nothing else, in the experiment ``prepare_environments``. Returns at once;
        ``wait_for_completion`` of what it returns waits. ``image_build_compute`` is the target to build on; None: ``local``."""
        import time

        submission: dict[str, Any] = {"target": getattr(image_build_compute, "name", image_build_compute) or "local"}
        self._refer(submission)
        if self.python.user_managed_dependencies and not self.docker.enabled:
            return ImageBuildDetails(workspace, None, self)
        run = f"prepare_environments_{int(time.time())}_{os.urandom(4).hex()}"
        submission.update({"id": run, "workspace": workspace.name, "experiment": "prepare_environments",
                           "name": f"build {self.name or 'environment'}", "command": ["true"]})
        workspace._client.post("/runs", submission, repeat=True)
        return ImageBuildDetails(workspace, run, self)

    def build_local(self, workspace: Any, platform: Any = None, **kwargs: Any) -> ImageBuildDetails:
        """Builds the environment on the target ``local``, shows the build's log, and waits for it. ``useDocker=True`` builds an image even
        when the environment asks for none; ``pushImageToWorkspaceAcr`` has no effect: the server keeps what its nodes build."""
        unknown = sorted(set(kwargs) - {"useDocker", "pushImageToWorkspaceAcr"})
        if unknown:
            raise UserErrorException(f"{unknown[0]}: expected useDocker or pushImageToWorkspaceAcr")
        environment = self
        if kwargs.get("useDocker") and not self.docker.enabled:
            environment = self.clone(self.name) if self.name else self.clone("environment")
            environment.docker.enabled = True
        details = environment.build(workspace)
        details.wait_for_completion(show_output=True)
        return details

    def get_image_details(self, workspace: Any) -> ImageDetails:
        """What was built for the registered environment: ``imageExistsInRegistry``, ``dockerImage``, ``ingredients`` and ``build``."""
        from ferry.client import NotFound, quote

        if not self.name:
            raise UserErrorException("name: only a registered environment has details of an image; register it first")
        query = {"workspace": workspace.name}
        if self.version:
            query["version"] = self.version
        try:
            view = workspace._client.get(f"/environments/{quote(self.name)}", **query)
        except NotFound as error:
            raise _not_found(self.name, self.version, workspace, error) from None
        build = None
        if view.get("key"):
            try:
                build = workspace._client.get(f"/builds/{quote(view['key'])}")
            except NotFound:
                pass
        definition = view["definition"]
        docker = definition.get("docker") or {}
        return ImageDetails({
            "imageExistsInRegistry": build is not None,
            "dockerImage": {"name": ((build or {}).get("lock") or {}).get("image") or docker.get("baseImage"),
                            "registry": {"address": (docker.get("baseImageRegistry") or {}).get("address"), "username": None,
                                         "password": None}},
            "ingredients": {"dockerfile": docker.get("baseDockerfile"),
                            "condaEnvSpec": (definition.get("python") or {}).get("condaDependencies")},
            "key": view.get("key"),
            "build": build})

    @staticmethod
    def add_private_pip_wheel(workspace: Any, file_path: Any, exist_ok: bool = False) -> str:
        """Keeping wheels of one's own for environments comes later; a build context with the wheel in it does the same today."""
        path = os.fspath(file_path)
        if not path.endswith(".whl"):
            raise UserErrorException(f"file_path: expected a wheel (*.whl), found '{path}'")
        if not os.path.isfile(path):
            raise UserErrorException(f"file_path: there is no file '{path}'")
        raise not_yet("Keeping private wheels (Environment.add_private_pip_wheel)",
                      "Put the wheel into a folder with a Dockerfile and use Environment.from_docker_build_context.")

    # What the server takes

    def _definition(self, folder: str = "") -> dict[str, Any]:
        """The definition as the server takes it, password included. ``folder``: where files that it names are looked for."""
        whole = self._write("environment")
        python, docker = whole["python"], whole["docker"]
        if python["baseCondaEnvironment"]:
            raise not_yet("Building on a conda environment (environment.python.base_conda_environment)",
                          "Use Environment.from_existing_conda_environment.")
        section: dict[str, Any] = {"userManagedDependencies": python["userManagedDependencies"],
                                   "interpreterPath": python["interpreterPath"] or "python"}
        conda = python["condaDependencies"]
        if python["condaDependenciesFile"]:
            conda = CondaDependencies(os.path.join(folder, python["condaDependenciesFile"])).as_dict()
            conda.pop("name")
        if conda:
            section["condaDependencies"] = conda
        elif not python["userManagedDependencies"] and not python["pipRequirements"]:
            raise UserErrorException("environment.python: expected conda_dependencies, because user_managed_dependencies is False")
        if python["pipRequirements"]:
            section["pipRequirements"] = python["pipRequirements"]
        definition: dict[str, Any] = {"python": section}
        image = self._image(docker, folder)
        if image:
            definition["docker"] = image
        if whole["environmentVariables"]:
            definition["environmentVariables"] = whole["environmentVariables"]
        if self.name:
            definition["name"] = self.name
        return definition

    def _image(self, docker: dict[str, Any], folder: str) -> dict[str, Any]:
        """The docker section as the server takes it; empty when it says nothing."""
        image, dockerfile, context = docker["baseImage"], docker["baseDockerfile"], docker["buildContext"]
        if image == DEFAULT_CPU_IMAGE and (dockerfile or context):
            image = None  # it was never chosen
        if bool(image) + bool(dockerfile) + bool(context) > 1:
            raise UserErrorException("environment.docker: base_image, base_dockerfile and build_context exclude each other; give one of them")
        registry = {key: value for key, value in docker["baseImageRegistry"].items() if value and key != "registryIdentity"}
        if docker["preparation"]["commandLine"]:
            raise not_yet("Preparing an image by a command (environment.docker.preparation)")
        out: dict[str, Any] = {}
        if docker["enabled"]:
            out["enabled"] = True
            if not (image or dockerfile or context):
                image = DEFAULT_CPU_IMAGE
        if image and (docker["enabled"] or image != DEFAULT_CPU_IMAGE):
            out["baseImage"] = image
        if dockerfile:
            out["baseDockerfile"] = dockerfile_text(dockerfile, folder)
        if context:
            if context["locationType"] != "snapshot":
                raise not_yet("A build context that is not a folder sent by DockerBuildContext.from_local_directory")
            out["buildContext"] = {"snapshot": context["location"], "dockerfilePath": context["dockerfilePath"] or "Dockerfile"}
        if registry:
            out["baseImageRegistry"] = registry
        if docker["arguments"]:
            out["arguments"] = docker["arguments"]
        if docker["shmSize"] and (docker["enabled"] or docker["shmSize"] != "2g"):
            out["shmSize"] = check_size(docker["shmSize"], "environment.docker.shm_size")
        if not docker["sharedVolumes"]:
            out["sharedVolumes"] = False
        if docker["gpuSupport"]:
            out["gpuSupport"] = True
        return out

    def _refer(self, submission: dict[str, Any], folder: str = "", change: Any = None) -> None:
        """Puts the environment into the fields of a run: by name and version when it is as the server gave it, else whole. ``change``
        (definition -> None) is what the run says instead of the environment."""
        definition = self._definition(folder)
        if change is not None:
            change(definition)
        if self._origin is not None and definition == self._origin:
            submission["environment_name"] = f"{self.name}@{self.version}" if self.version else self.name
            return
        if self.name and _is_reserved(self.name):
            if not self._curated:
                _refuse_reserved(self.name)
            # One of Ferry's own, changed: it goes under the experiment's name.
            definition.pop("name")
        submission["environment_definition"] = definition
        if self.python.user_managed_dependencies and not definition.get("docker", {}).get("enabled") and self.python.interpreter_path != "python":
            submission["interpreter"] = self.python.interpreter_path

    @classmethod
    def _from_definition(cls, definition: Mapping[str, Any]) -> Environment:
        """The environment of a definition as the server shows it."""
        environment = cls()
        context = dict((definition.get("docker") or {}).get("buildContext") or {})
        known = {key: value for key, value in definition.items() if key != "lock"}
        if context:
            known["docker"] = {**known["docker"], "buildContext": {"locationType": "snapshot", "location": context.get("snapshot"),
                                                                   "dockerfilePath": context.get("dockerfilePath", "Dockerfile")}}
        if "docker" not in known:
            known["docker"] = {"enabled": False}
        environment._read(known)
        if not (definition.get("python") or {}).get("condaDependencies"):
            environment.python.conda_dependencies = None
        return environment

    @classmethod
    def _from_view(cls, view: Mapping[str, Any]) -> Environment:
        environment = cls._from_definition(view["definition"])
        environment.name, environment.version = view["name"], str(view["version"])
        environment._curated = bool(view.get("curated"))
        environment._origin = environment._definition()
        return environment


def _is_reserved(name: str) -> bool:
    return name.lower().startswith(_RESERVED)


def _refuse_reserved(name: str) -> None:
    if _is_reserved(name):
        raise UserErrorException(f"environment name '{name}' begins with a reserved word: names that begin with 'AzureML' or 'Microsoft' "
                                 "are those of the environments that come with the service; give it another name, for example with clone()")


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
        raise wrong("name", f"a name of 1 to {_LONGEST_NAME} characters", name)


def _not_found(name: str, version: Any, workspace: Any, error: Any) -> Exception:
    error.message = f"there is no environment '{name}'{f' with version {version}' if version else ''} in workspace '{workspace.name}'"
    return error
