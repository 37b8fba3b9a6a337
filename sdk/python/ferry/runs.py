"""Runs of the server as values: one run's view, and lists of them."""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping

from azureml.exceptions import UserErrorException

TERMINAL = ("Completed", "Failed", "Canceled", "NotResponding")
STATUSES = ("NotStarted", "Starting", "Provisioning", "Preparing", "Queued", "Running", "Finalizing", "CancelRequested", *TERMINAL, "Paused",
            "Unknown")
_PAGE = 200
_PLAIN = re.compile(r"[A-Za-z0-9_]+\Z")


def path(run_id: str, below: str = "") -> str:
    """The run's path on the server."""
    from ferry.client import quote

    return "/runs/" + quote(run_id) + below


def matches(found: Mapping[str, Any], wanted: Any, argument: str) -> bool:
    """Whether tags or properties are as wanted: a dict whose values match, or one key, or keys, that are there."""
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return wanted in found
    if isinstance(wanted, Mapping):
        return all(key in found and (value is None or str(found[key]) == str(value)) for key, value in wanted.items())
    if isinstance(wanted, (list, tuple, set)):
        return all(key in found for key in wanted)
    raise UserErrorException(f"{argument} must be a dict or a key, not a value of type {type(wanted).__name__}")


def views(workspace: Any, experiment: str | None = None, type: str | None = None, tags: Any = None, properties: Any = None,
          status: str | None = None, parent: str | None = None, include_children: bool = True) -> Iterator[dict[str, Any]]:
    """The views of the runs that fit, newest first. What is wrong raises at once, not with the first of them."""
    matches({}, tags, "tags")
    matches({}, properties, "properties")
    if status is not None and status not in STATUSES:
        raise UserErrorException(f"status is '{status}'; expected one of {', '.join(STATUSES)}")
    conditions = [] if include_children or parent else ["parent absent"]
    for field, wanted in (("tags", tags), ("properties", properties)):
        # Only names that the filter language takes as they are; the rest is compared here.
        if isinstance(wanted, str):
            wanted = {wanted: None}
        for key, value in (wanted.items() if isinstance(wanted, Mapping) else ()):
            if _PLAIN.match(str(key)):
                conditions.append(f"{field}.{key} exists" if value is None else "%s.%s = '%s'" % (field, key, str(value).replace("'", "''")))
    query = {"workspace": workspace.name, "experiment": experiment, "type": type, "status": status, "parent": parent,
             "filter": " and ".join(conditions) or None, "limit": _PAGE}

    def go_on() -> Iterator[dict[str, Any]]:
        for view in workspace._client.pages("/runs", "runs", **query):
            if matches(view["tags"], tags, "tags") and matches(view["properties"], properties, "properties"):
                yield view

    return go_on()


def descendants(workspace: Any, parent: str, recursive: bool, **filters: Any) -> Iterator[dict[str, Any]]:
    """The views of a run's children, newest first, and with ``recursive`` of theirs; a child that does not fit is gone through."""
    fitting = views(workspace, parent=parent, **filters)
    if not recursive:
        yield from fitting
        return
    yield from fitting
    for child in views(workspace, parent=parent):
        yield from descendants(workspace, child["id"], True, **filters)
