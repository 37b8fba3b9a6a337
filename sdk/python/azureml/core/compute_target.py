"""Names that scripts import from here: the exception of compute targets, and the local one."""

from __future__ import annotations

from typing import Any

from azureml.exceptions import ComputeTargetException
from ferry.not_yet import placeholder_function

__all__ = ["AbstractComputeTarget", "ComputeTargetException", "LocalTarget", "attach_legacy_compute_target"]


class AbstractComputeTarget:
    """What has a name and a type and can be a run's target."""

    def __init__(self, compute_type: str, name: str) -> None:
        self.type = compute_type
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, type={self.type!r})"


class LocalTarget(AbstractComputeTarget):
    """The target ``local``: the server's own machine."""

    def __init__(self) -> None:
        super().__init__("local", "local")


attach_legacy_compute_target: Any = placeholder_function("attach_legacy_compute_target", "Attaching compute targets of 2018's form", __name__)
