"""The sections of an environment. Their home for scripts is ``azureml.core.environment``."""

from __future__ import annotations

import os
from typing import Any

from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry
from azureml.exceptions import UserErrorException
from ferry.section import Anything, Field, Flag, Kind, Part, Parts, Section, Text, Texts, wrong

DEFAULT_CPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu20.04"
DEFAULT_GPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-cuda11.1-cudnn8-ubuntu20.04"


class _Conda(Kind):
    """Conda dependencies within a section."""

    def read(self, value: Any, path: str) -> Any:
        try:
            return CondaDependencies(_underlying_structure=value)
        except UserErrorException as error:
            raise UserErrorException(f"{path}: {error.message}") from None

    def write(self, value: Any, path: str) -> Any:
        if not isinstance(value, CondaDependencies):
            raise wrong(path, "CondaDependencies", value)
        specification = value.as_dict()
        specification.pop("name")
        return specification


class PythonSection(Section):
    """Which Python runs the script. With ``user_managed_dependencies`` it is the one at ``interpreter_path`` as it is; without, one
    is built from ``conda_dependencies``. ``conda_dependencies_file`` names a file that is read instead of them."""

    interpreter_path: str
    user_managed_dependencies: bool
    conda_dependencies: CondaDependencies | None
    conda_dependencies_file: str | None
    base_conda_environment: str | None
    pip_requirements: list[str] | None

    _fields = (Field("interpreter_path", "interpreterPath", Text(), "python"),
               Field("user_managed_dependencies", "userManagedDependencies", Flag(), False),
               Field("conda_dependencies", "condaDependencies", _Conda()),
               Field("conda_dependencies_file", "condaDependenciesFile", Text()),
               Field("base_conda_environment", "baseCondaEnvironment", Text()),
               Field("pip_requirements", "pipRequirements", Texts()))

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        self.conda_dependencies = CondaDependencies()
        for name, value in kwargs.items():
            setattr(self, name, value)


class DockerImagePlatform(Section):
    """For which machines an image is; recorded."""

    os: str
    architecture: str

    _fields = (Field("os", "os", Text(), "Linux"), Field("architecture", "architecture", Text(), "amd64"))

    def __init__(self, os: str = "Linux", architecture: str = "amd64") -> None:
        super().__init__()
        self.os, self.architecture = os, architecture


class DockerBuildContext(Section):
    """A folder with a Dockerfile, from which an image is built."""

    location_type: str | None
    location: str | None
    dockerfile_path: str

    _fields = (Field("location_type", "locationType", Text()), Field("location", "location", Text()),
               Field("dockerfile_path", "dockerfilePath", Text(), "Dockerfile"))

    def __init__(self, location_type: str | None = None, location: str | None = None, dockerfile_path: str = "Dockerfile") -> None:
        super().__init__()
        self.location_type, self.location, self.dockerfile_path = location_type, location, dockerfile_path

    @staticmethod
    def from_local_directory(workspace: Any, path: Any, dockerfile_path: str = "Dockerfile") -> DockerBuildContext:
        """Sends the folder to the server."""
        folder = os.fspath(path)
        if not os.path.isfile(os.path.join(folder, dockerfile_path)):
            raise UserErrorException(f"path: there is no file '{dockerfile_path}' in '{folder}'")
        from ferry import snapshot

        return DockerBuildContext("snapshot", snapshot.scan(folder).upload(workspace._client), dockerfile_path)


class DockerPreparation(Section):
    """A command that prepares an image, of old files."""

    command_line: str | None

    _fields = (Field("command_line", "commandLine", Text()),)


class DockerSection(Section):
    """The image that a script runs in. ``base_image``, ``base_dockerfile`` (a Dockerfile's text or path) and ``build_context`` exclude
    each other. ``enabled`` decides whether an image is used at all; the newer place for it is DockerConfiguration."""

    enabled: bool
    base_image: str | None
    base_dockerfile: str | None
    build_context: DockerBuildContext | None
    base_image_registry: ContainerRegistry
    platform: DockerImagePlatform
    shared_volumes: bool
    gpu_support: bool
    arguments: list[str]
    shm_size: str
    preparation: DockerPreparation

    _fields = (Field("enabled", "enabled", Flag(), False), Field("base_image", "baseImage", Text()),
               Field("base_dockerfile", "baseDockerfile", Text()), Field("build_context", "buildContext", Part(DockerBuildContext), optional=True),
               Field("base_image_registry", "baseImageRegistry", Part(ContainerRegistry)),
               Field("platform", "platform", Part(DockerImagePlatform)), Field("shared_volumes", "sharedVolumes", Flag(), True),
               Field("gpu_support", "gpuSupport", Flag(), False), Field("arguments", "arguments", Texts(), []),
               Field("shm_size", "shmSize", Text(), "2g"), Field("preparation", "preparation", Part(DockerPreparation)))

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        self.base_image = DEFAULT_CPU_IMAGE
        for name, value in kwargs.items():
            setattr(self, name, value)


class SparkPackage(Section):
    """A package of Spark's, by its Maven coordinates."""

    group: str | None
    artifact: str | None
    version: str | None

    _fields = (Field("group", "group", Text()), Field("artifact", "artifact", Text()), Field("version", "version", Text()))

    def __init__(self, group: str | None = None, artifact: str | None = None, version: str | None = None) -> None:
        super().__init__()
        self.group, self.artifact, self.version = group, artifact, version


class SparkSection(Section):
    """What Spark loads before the script."""

    repositories: list[str]
    packages: list[SparkPackage]
    precache_packages: bool

    _fields = (Field("repositories", "repositories", Texts(), []), Field("packages", "packages", Parts(SparkPackage), []),
               Field("precache_packages", "precachePackages", Flag(), True))

    def __init__(self, repositories: list[str] | None = None, packages: list[SparkPackage] | None = None,
                 precache_packages: bool = True) -> None:
        super().__init__()
        self.repositories, self.packages, self.precache_packages = repositories or [], packages or [], precache_packages


class MavenLibrary(Section):
    """A Maven library of a Databricks cluster."""

    coordinates: str | None
    repo: str | None
    exclusions: list[str]

    _fields = (Field("coordinates", "coordinates", Text()), Field("repo", "repo", Text()), Field("exclusions", "exclusions", Texts(), []))

    def __init__(self, coordinates: str | None = None, repo: str | None = None, exclusions: list[str] | None = None) -> None:
        super().__init__()
        self.coordinates, self.repo, self.exclusions = coordinates, repo, exclusions or []


class PyPiLibrary(Section):
    """A PyPI library of a Databricks cluster."""

    package: str | None
    repo: str | None

    _fields = (Field("package", "package", Text()), Field("repo", "repo", Text()))

    def __init__(self, package: str | None = None, repo: str | None = None) -> None:
        super().__init__()
        self.package, self.repo = package, repo


class RCranLibrary(PyPiLibrary):
    """A CRAN library of a Databricks cluster."""


class JarLibrary(Section):
    """A JAR of a Databricks cluster, by its place in DBFS."""

    library: str | None

    _fields = (Field("library", "library", Text()),)

    def __init__(self, library: str | None = None) -> None:
        super().__init__()
        self.library = library


class EggLibrary(JarLibrary):
    """An egg of a Databricks cluster, by its place in DBFS."""


class DatabricksSection(Section):
    """Libraries of a Databricks cluster; recorded."""

    maven_libraries: list[MavenLibrary]
    pypi_libraries: list[PyPiLibrary]
    rcran_libraries: list[RCranLibrary]
    jar_libraries: list[JarLibrary]
    egg_libraries: list[EggLibrary]

    _fields = (Field("maven_libraries", "mavenLibraries", Parts(MavenLibrary), []),
               Field("pypi_libraries", "pypiLibraries", Parts(PyPiLibrary), []),
               Field("rcran_libraries", "rcranLibraries", Parts(RCranLibrary), []),
               Field("jar_libraries", "jarLibraries", Parts(JarLibrary), []),
               Field("egg_libraries", "eggLibraries", Parts(EggLibrary), []))

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, value in kwargs.items():
            setattr(self, name, value)


class RSection(Section):
    """What R needs; recorded."""

    r_version: str | None
    user_managed: bool
    rscript_path: str | None
    snapshot_date: str | None
    cran_packages: Any
    github_packages: Any
    custom_url_packages: Any
    bioconductor_packages: Any

    _fields = (Field("r_version", "rVersion", Text()), Field("user_managed", "userManaged", Flag(), False),
               Field("rscript_path", "rscriptPath", Text()), Field("snapshot_date", "snapshotDate", Text()),
               Field("cran_packages", "cranPackages", Anything()), Field("github_packages", "githubPackages", Anything()),
               Field("custom_url_packages", "customUrlPackages", Anything()), Field("bioconductor_packages", "bioConductorPackages", Anything()))


def check_size(value: str, path: str) -> str:
    digits = value[:-1] if value[-1:].lower() in ("b", "k", "m", "g") else value
    if not digits.isdigit() or int(digits) == 0:
        raise wrong(path, "a size such as 2g or 512m", value)
    return value


def dockerfile_text(dockerfile: Any, folder: str = "") -> str:
    """A Dockerfile's text, given as such or as the path of a file."""
    from ferry import yaml_file

    text = os.fspath(dockerfile)
    start = text.lstrip()[:5].lower()
    if isinstance(dockerfile, str) and ("\n" in text or start.startswith(("from ", "#", "arg "))):
        return text
    return yaml_file.read_text(os.path.join(folder, text))


def requirements(path: str, depth: int = 0) -> list[str]:
    """The lines of a requirements file, without comments; those of files that it includes are read in."""
    from ferry import yaml_file

    if depth > 8:
        raise UserErrorException(f"{path}: is included over more than 8 files; does one include itself?")
    lines: list[str] = []
    for number, line in enumerate(yaml_file.read_text(path).replace("\\\n", " ").splitlines(), 1):
        line = line.strip() if not line.lstrip().startswith("#") else ""
        line = line.split(" #", 1)[0].strip()
        if not line:
            continue
        words = line.replace("=", " ", 1).split() if line.startswith("--requirement") else line.split()
        if words[0] in ("-r", "--requirement") or (line.startswith("-r") and not line.startswith("--")):
            included = words[1] if len(words) > 1 else words[0][2:]
            if not included:
                raise UserErrorException(f"{path}:{number}: expected the name of a requirements file behind '{words[0]}'")
            lines.extend(requirements(os.path.join(os.path.dirname(path), included), depth + 1))
        else:
            lines.append(line)
    return lines
