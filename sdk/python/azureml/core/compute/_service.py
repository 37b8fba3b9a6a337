"""Compute targets as the server keeps them. The classes of this package ask here and nowhere else.

The server of this version knows the target ``local`` alone, which is in no list. Everything that would change a target raises the
sentence that says so, after its arguments were checked.
"""

from __future__ import annotations

from typing import Any

from azureml.exceptions import ComputeTargetException
from ferry.not_yet import sentence

_NEXT = "Use the target 'local'."


def views(workspace: Any) -> list[dict[str, Any]]:
    """All compute targets of the workspace, in the form of :meth:`ComputeTarget.serialize`."""
    return []


def view(workspace: Any, name: str) -> dict[str, Any]:
    """One compute target; ComputeTargetException when it is not there."""
    for one in views(workspace):
        if one["name"] == name:
            return one
    raise ComputeTargetException(f"ComputeTargetNotFound: Compute Target with name {name} not found in provided workspace")


def create(workspace: Any, name: str, kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Makes a compute target and returns its view; does not wait for it."""
    raise ComputeTargetException(sentence(f"Creating compute of type {kind}", _NEXT))


def attach(workspace: Any, name: str, kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Takes what is there already as a compute target and returns its view; does not wait for it."""
    raise ComputeTargetException(sentence(f"Attaching compute of type {kind}", _NEXT))


def act(workspace: Any, name: str, verb: str, kind: str, properties: dict[str, Any] | None = None) -> dict[str, Any]:
    """Does what a verb says (delete, detach, update, start, stop, restart) and returns the view that is left."""
    raise ComputeTargetException(sentence(f"To {verb} compute of type {kind}", _NEXT))


def sizes(workspace: Any) -> list[dict[str, Any]]:
    """The sizes of machines that can be asked for, as Azure lists them: name, vCPUs, gpus, memoryGB, maxResourceVolumeMB."""
    return []
