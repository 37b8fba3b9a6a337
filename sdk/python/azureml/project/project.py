"""A folder of an experiment, as 2018 had it."""

from __future__ import annotations

import os
from typing import Any

from azureml.exceptions import ProjectSystemException, UserErrorException

__all__ = ["Project"]


class _History:
    """The experiment's name, where old scripts read it."""

    def __init__(self, name: str) -> None:
        self.name = name


class Project:
    """A folder that belongs to an experiment. It is passed on as ``project_object=``."""

    def __init__(self, directory: Any = ".", _workspace: Any = None, _experiment_name: str | None = None) -> None:
        folder = os.path.abspath(os.fspath(directory))
        name = _experiment_name or self._read(folder)
        if not name:
            raise ProjectSystemException(f"'{folder}' is not attached to an experiment; use Project.attach")
        self.project_directory = folder
        self.workspace_object = _workspace
        self.history = _History(name)

    @staticmethod
    def attach(workspace_object: Any, experiment_name: str, directory: Any = ".") -> Project:
        """Attaches a folder, which is made when it is not there: writes ``.azureml/project.json``."""
        import json

        from ferry import yaml_file

        if not isinstance(experiment_name, str) or not experiment_name:
            raise UserErrorException(f"experiment_name: expected the name of an experiment, found {experiment_name!r}")
        folder = os.path.abspath(os.fspath(directory))
        scope = "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.MachineLearningServices/workspaces/{}/projects/{}".format(
            getattr(workspace_object, "subscription_id", "ferry") or "ferry", getattr(workspace_object, "resource_group", "ferry") or "ferry",
            workspace_object.name, experiment_name)
        yaml_file.write_text(os.path.join(folder, ".azureml", "project.json"), json.dumps({"Id": experiment_name, "Scope": scope}, indent=4) + "\n")
        return Project(folder, workspace_object, experiment_name)

    @staticmethod
    def _read(folder: str) -> str | None:
        import json

        for place in (".azureml", "aml_config"):
            try:
                with open(os.path.join(folder, place, "project.json"), encoding="utf-8") as file:
                    return json.load(file).get("Id")
            except (OSError, ValueError, AttributeError):
                continue
        return None

    def __repr__(self) -> str:
        return f"Project(directory={self.project_directory!r}, experiment={self.history.name!r})"
