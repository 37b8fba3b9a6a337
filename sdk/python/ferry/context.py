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
