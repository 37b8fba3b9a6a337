"""What conda and pip install, as ``conda_dependencies.yml`` holds it."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Iterable, Mapping

from azureml.exceptions import UserErrorException

__all__ = ["CondaDependencies"]

_CHANNELS = ("conda-forge",)
_DEFAULT_SDK = "azureml-defaults"
_NAME = re.compile(r"\s*(?:[\w.-]+::)?([A-Za-z0-9][A-Za-z0-9._-]*)")
_MOST = 20_000


class CondaDependencies:
    """A conda specification: channels, conda's packages, pip's packages and options.

    A new one pins the Python of this process (``python=3.11``) and has ``azureml-defaults``, which Ferry provides itself. The order of
    packages stays as they were added; adding a package again replaces it.
    """

    DEFAULT_NUMBER_OF_CONDA_PACKAGES = 1
    DEFAULT_NUMBER_OF_PIP_PACKAGES = 1

    def __init__(self, conda_dependencies_file_path: Any = None, _underlying_structure: Mapping[str, Any] | None = None) -> None:
        if conda_dependencies_file_path is not None and _underlying_structure is not None:
            raise UserErrorException("conda_dependencies_file_path and _underlying_structure exclude each other; give one of them")
        if conda_dependencies_file_path is not None:
            from ferry import yaml_file

            content, source = yaml_file.load(conda_dependencies_file_path), os.fspath(conda_dependencies_file_path)
        elif _underlying_structure is not None:
            content, source = _underlying_structure, "the conda specification"
        else:
            content, source = {"name": "project_environment", "channels": list(_CHANNELS),
                               "dependencies": [f"python={_this_python()}", {"pip": [_DEFAULT_SDK]}]}, ""
        self._name = "project_environment"
        self._channels: list[str] = []
        self._conda: list[str] = []
        self._pip: list[str] = []
        self._take(content, source)

    @staticmethod
    def create(pip_indexurl: str | None = None, pip_packages: Iterable[str] | None = None,
               conda_packages: Iterable[str] | None = None, python_version: str | None = None,
               pin_sdk_version: bool = True) -> CondaDependencies:
        """A specification with these packages beside the default ones. Without ``python_version`` it is the Python of this process.
        ``pin_sdk_version`` has no effect: the SDK inside of a run is Ferry's own."""
        dependencies = CondaDependencies()
        for package in _texts(conda_packages, "conda_packages"):
            dependencies.add_conda_package(package)
        for package in _texts(pip_packages, "pip_packages"):
            dependencies.add_pip_package(package)
        if pip_indexurl:
            dependencies.set_pip_index_url(pip_indexurl)
        if python_version is not None:
            dependencies.set_python_version(python_version)
        return dependencies

    @staticmethod
    def merge_requirements(requirements: Iterable[str]) -> list[str]:
        """Requirements with one line per package: version clauses of the same package are joined with commas."""
        merged: dict[str, str] = {}
        for line in _texts(requirements, "requirements"):
            match = _NAME.match(line)
            if not match:
                raise UserErrorException(f"requirements: '{line}' does not begin with the name of a package")
            name, clauses = match.group(1), line[match.end():].strip()
            before = merged.get(name, "")
            merged[name] = ",".join(part for part in (before, clauses) if part)
        return [name + clauses for name, clauses in merged.items()]

    # Content

    @property
    def conda_channels(self) -> list[str]:
        """The channels; the first has the highest priority."""
        return list(self._channels)

    @property
    def conda_packages(self) -> list[str]:
        """Conda's packages, without the python pin."""
        return [package for package in self._conda if _package_name(package) != "python"]

    @property
    def pip_packages(self) -> list[str]:
        """Pip's packages, without options."""
        return [line for line in self._pip if not line.startswith("-")]

    @property
    def pip_options(self) -> list[str]:
        """Pip's options, such as ``--pre`` and ``--index-url ...``."""
        return [line for line in self._pip if line.startswith("-")]

    @property
    def python_version(self) -> str | None:
        """The version that the specification pins; None when it pins none."""
        return self.get_python_version()

    def get_python_version(self) -> str | None:
        """The version that the specification pins; None when it pins none."""
        for package in self._conda:
            if _package_name(package) == "python":
                return package.strip()[len("python"):].strip().lstrip("=").strip() or None
        return None

    def get_default_number_of_packages(self) -> int:
        """How many packages a new specification has."""
        return self.DEFAULT_NUMBER_OF_CONDA_PACKAGES + self.DEFAULT_NUMBER_OF_PIP_PACKAGES

    # Changes

    def add_channel(self, channel: str) -> None:
        """Adds a channel behind the others."""
        channel = _text(channel, "channel")
        if channel not in self._channels:
            self._channels.append(channel)

    def remove_channel(self, channel: str) -> None:
        """Removes a channel; one that is not there is no error."""
        self._channels = [other for other in self._channels if other != channel]

    def add_conda_package(self, conda_package: str) -> None:
        """Adds a package of conda's, such as ``numpy=1.26``, in place of the same package in another version."""
        _put(self._conda, _text(conda_package, "conda_package"), "conda_package")

    def remove_conda_package(self, conda_package: str) -> None:
        """Removes a package of conda's, by its name or by exactly what was added."""
        _drop(self._conda, conda_package)

    def add_pip_package(self, pip_package: str) -> None:
        """Adds a package of pip's, such as ``numpy==1.26``, in place of the same package in another version."""
        _put(self._pip, _text(pip_package, "pip_package"), "pip_package")

    def remove_pip_package(self, pip_package: str) -> None:
        """Removes a package of pip's, by its name or by exactly what was added."""
        _drop(self._pip, pip_package)

    def set_pip_requirements(self, pip_requirements: Iterable[str]) -> None:
        """Puts these lines of a requirements file in place of all that pip had."""
        self._pip = _texts(pip_requirements, "pip_requirements")

    def set_pip_option(self, pip_option: str) -> None:
        """Adds an option of pip's, such as ``--pre``, in place of the same option with another value."""
        option = _text(pip_option, "pip_option")
        if not option.startswith("-"):
            raise UserErrorException(f"pip_option: expected an option such as --pre, found '{option}'")
        self.remove_pip_option(option)
        self._pip.insert(len(self.pip_options), option)

    def remove_pip_option(self, pip_option: str) -> None:
        """Removes an option, by its name or whole."""
        name = _option_name(_text(pip_option, "pip_option"))
        self._pip = [line for line in self._pip if not line.startswith("-") or _option_name(line) != name]

    def set_pip_index_url(self, index_url: str) -> None:
        """Sets where pip finds packages: an address, or an option with one (``--extra-index-url ...``)."""
        url = _text(index_url, "index_url")
        self.set_pip_option(url if url.startswith("-") else f"--index-url {url}")

    def set_python_version(self, version: str) -> None:
        """Pins a version of Python."""
        version = _text(version, "version").lstrip("=")
        _put(self._conda, f"python={version}", "version", first=True)

    def add_tensorflow_conda_package(self, core_type: str = "cpu", version: str | None = None) -> None:
        """Adds TensorFlow from conda; ``core_type`` is ``cpu`` or ``gpu``."""
        self._add_framework(self._conda, "tensorflow", core_type, version, "=")

    def add_tensorflow_pip_package(self, core_type: str = "cpu", version: str | None = None) -> None:
        """Adds TensorFlow from pip; ``core_type`` is ``cpu`` or ``gpu``."""
        self._add_framework(self._pip, "tensorflow", core_type, version, "==")

    def add_cntk_package(self, core_type: str = "cpu") -> None:
        """Adds CNTK from pip; ``core_type`` is ``cpu`` or ``gpu``."""
        self._add_framework(self._pip, "cntk", core_type, None, "==")

    def _add_framework(self, to: list[str], name: str, core_type: str, version: str | None, equals: str) -> None:
        if core_type not in ("cpu", "gpu"):
            raise UserErrorException(f"core_type: expected cpu or gpu, found '{core_type}'")
        _drop(to, name)
        _drop(to, name + "-gpu")
        package = name + "-gpu" if core_type == "gpu" else name
        _put(to, package + (f"{equals}{version}" if version else ""), "version")

    # Forms

    def as_dict(self) -> dict[str, Any]:
        """The specification as conda's YAML has it."""
        dependencies: list[Any] = list(self._conda)
        if self._pip:
            dependencies.append({"pip": list(self._pip)})
        return {"name": self._name, "channels": list(self._channels), "dependencies": dependencies}

    def serialize_to_string(self) -> str:
        """The specification as YAML."""
        from ferry import yaml_file

        return yaml_file.dumps(self.as_dict())

    def save(self, path: Any = None) -> str:
        """Writes it to a file, or as ``conda_dependencies.yml`` to a folder (this one without ``path``). Returns the file's path."""
        path = os.fspath(path) if path is not None else os.curdir
        return self.save_to_file(*(("", path) if not os.path.isdir(path) else (path, "conda_dependencies.yml")))

    def save_to_file(self, base_directory: Any, conda_file_path: Any = "conda_dependencies.yml") -> str:
        """Writes it to a file below a folder. Returns the file's path."""
        from ferry import yaml_file

        path = os.path.join(os.fspath(base_directory), os.fspath(conda_file_path))
        yaml_file.write_text(path, "# What conda and pip install.\n" + self.serialize_to_string())
        return path

    def __repr__(self) -> str:
        import json

        return json.dumps(self.as_dict(), indent=4)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, CondaDependencies) and self.as_dict() == other.as_dict()

    __hash__ = None  # type: ignore[assignment]

    def _take(self, content: Any, source: str) -> None:
        where = f"{source}: " if source else ""
        if content is None or content == "":
            content = {}
        if not isinstance(content, Mapping):
            raise UserErrorException(f"{where}expected channels and dependencies, found a value of type {type(content).__name__}")
        if content.get("name") is not None:
            self._name = str(content["name"])
        self._channels = _texts(content.get("channels"), f"{where}channels")
        dependencies = content.get("dependencies")
        if dependencies is None or dependencies == "":
            dependencies = []
        if not isinstance(dependencies, (list, tuple)):
            raise UserErrorException(f"{where}dependencies: expected a list, found a value of type {type(dependencies).__name__}")
        if len(dependencies) > _MOST:
            raise UserErrorException(f"{where}dependencies: more than {_MOST} entries")
        for i, item in enumerate(dependencies):
            at = f"{where}dependencies[{i}]"
            if not isinstance(item, Mapping):
                self._conda.append(_text(item, at))
            elif list(item) == ["pip"]:
                self._pip.extend(_texts(item["pip"], f"{at}.pip"))
            else:
                raise UserErrorException(f"{at}: expected a package such as numpy=1.26, or a pip section, found {dict(item)!r}")


def _this_python() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _text(value: Any, argument: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
        found = f"'{value}'" if isinstance(value, str) else f"a value of type {type(value).__name__}"
        raise UserErrorException(f"{argument}: expected a text, found {found}")
    return str(value).strip()


def _texts(values: Any, argument: str) -> list[str]:
    if values is None or values == "":
        return []
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise UserErrorException(f"{argument}: expected a list of texts, found a value of type {type(values).__name__}")
    values = list(values)
    if len(values) > _MOST:
        raise UserErrorException(f"{argument}: more than {_MOST} entries")
    return [_text(value, f"{argument}[{i}]") for i, value in enumerate(values)]


def _package_name(line: str) -> str:
    match = _NAME.match(line)
    return re.sub(r"[-_.]+", "-", match.group(1)).lower() if match and "://" not in line else line


def _option_name(line: str) -> str:
    return re.split(r"[\s=]", line, maxsplit=1)[0]


def _put(lines: list[str], line: str, argument: str, first: bool = False) -> None:
    """Adds a package, in place of the same one."""
    if line.startswith("-"):
        if line not in lines:
            lines.append(line)
        return
    name = _package_name(line)
    if not name:
        raise UserErrorException(f"{argument}: '{line}' does not begin with the name of a package")
    for i, other in enumerate(lines):
        if not other.startswith("-") and _package_name(other) == name:
            lines[i] = line
            return
    lines.insert(0 if first else len(lines), line)


def _drop(lines: list[str], given: str) -> None:
    """Removes a package by its name alone or by the whole line."""
    given = str(given).strip()
    name = _package_name(given)
    whole = re.sub(r"[-_.]+", "-", given).lower() != name
    lines[:] = [line for line in lines
                if line.startswith("-") or not (line == given or (not whole and _package_name(line) == name))]
