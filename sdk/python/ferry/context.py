"""What the environment says about the run this process belongs to."""

from __future__ import annotations

import os


class RunContext:
    """The variables of a submitted run, as they were when it was read."""

    def __init__(self) -> None:
        get = os.environ.get
        self.run_id = get("AZUREML_RUN_ID", "")
        self.token = get("AZUREML_RUN_TOKEN", "")
        self.address = get("FERRY_RUN_SOCKET", "")
        self.artifacts = get("FERRY_ARTIFACTS", "")
        number = get("FERRY_RUN_NUMBER", "")
        self.number = int(number) if number.isdigit() else None

    @property
    def submitted(self) -> bool:
        """Whether this process is inside a submitted run."""
        return bool(self.run_id and self.token and self.address)

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for equal runs."""
        return (self.run_id, self.token, self.address)


class ContextWorkspace:
    """The workspace of the submitted run: its names, without credentials of its own."""

    def __init__(self) -> None:
        self.name = os.environ.get("AZUREML_ARM_WORKSPACE_NAME", "")
        self.subscription_id = os.environ.get("AZUREML_ARM_SUBSCRIPTION", "")
        self.resource_group = os.environ.get("AZUREML_ARM_RESOURCEGROUP", "")

    def __repr__(self) -> str:
        return "Workspace(name=%r, subscription_id=%r, resource_group=%r)" % (
            self.name, self.subscription_id, self.resource_group)


class ContextExperiment:
    """The experiment of the submitted run."""

    def __init__(self) -> None:
        self.name = os.environ.get("AZUREML_ARM_PROJECT_NAME", "")
        self.workspace = ContextWorkspace()

    def __repr__(self) -> str:
        return f"Experiment(Name: {self.name}, Workspace: {self.workspace.name})"
