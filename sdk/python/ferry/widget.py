"""What RunDetails shows, and how it is kept up to date."""

from __future__ import annotations

import threading
import time
from typing import Any

from azureml.exceptions import AzureMLException
from ferry import run_files, runs
from ferry.html import Markup, escape, link, table

_MOST_METRICS, _MOST_CHILDREN = 50, 50
# A notebook need not be told more often.
_PAUSE = 0.5


def collect(run: Any) -> dict[str, Any]:
    """How the run stands: ``run`` (the server's view), ``metrics``, ``children``, ``log`` (the end of its output), ``url``."""
    client = run._client
    view = client.get(runs.path(run.id))
    metrics = client.get(runs.path(run.id, "/metrics"))["metrics"][:_MOST_METRICS]
    children = []
    for child in runs.views(run.experiment.workspace, parent=run.id):
        children.append({"id": child["id"], "status": child["status"]})
        if len(children) == _MOST_CHILDREN:
            break
    return {"run": view, "metrics": metrics, "children": children, "log": run_files.tail(client, run.id), "url": run.get_portal_url()}


def text(data: dict[str, Any]) -> str:
    """For a terminal."""
    view = data["run"]
    lines = [f"Run {view['id']} of {view['experiment']}: {view['status']}", f"  {data['url']}"]
    lines += [f"  {name}: {seconds:.1f} s" for name, seconds in _stages(view)]
    if view.get("end") and view["status"] != "Completed":
        lines.append(f"  {view['end'].get('text', '')}")
    lines += [f"  {metric['name']} = {_short(metric['latest'])}" for metric in data["metrics"]]
    lines += [f"  child {child['id']}: {child['status']}" for child in data["children"]]
    if data["log"]:
        lines += ["", data["log"].rstrip("\n")]
    return "\n".join(lines)


def html(data: dict[str, Any]) -> str:
    """For a notebook."""
    view = data["run"]
    parts = [table({"Experiment": view["experiment"], "Id": view["id"], "Status": view["status"],
                    "Details": Markup(link(data["url"], "Link to the portal"))})]
    if view.get("end") and view["status"] != "Completed":
        parts.append(f"<p>{escape(view['end'].get('text'))}</p>")
    stages = dict((name, f"{seconds:.1f} s") for name, seconds in _stages(view))
    if stages:
        parts.append(table(stages))
    if data["metrics"]:
        parts.append(table({metric["name"]: _short(metric["latest"]) for metric in data["metrics"]}))
    if data["children"]:
        parts.append(table({child["id"]: child["status"] for child in data["children"]}))
    if data["log"]:
        parts.append(f'<pre style="max-height:24em;overflow:auto">{escape(data["log"])}</pre>')
    return "<div>" + "".join(f'<div style="margin:4px 0">{part}</div>' for part in parts) + "</div>"


def start(run: Any, display: Any) -> threading.Thread:
    """Displays the run and goes on until it has ended. ``display`` is IPython's module."""
    handle = display.display(display.HTML(html(collect(run))), display_id=True)
    thread = threading.Thread(target=_follow, args=(run, handle, display.HTML), name="ferry-widget", daemon=True)
    thread.start()
    return thread


def _follow(run: Any, handle: Any, make: Any) -> None:
    shown = 0.0
    try:
        for event, _, _ in run._client.events(runs.path(run.id, "/events"), metrics=1):
            if event == "end":
                break
            if time.monotonic() - shown >= _PAUSE:
                handle.update(make(html(collect(run))))
                shown = time.monotonic()
        handle.update(make(html(collect(run))))
    except AzureMLException as error:
        handle.update(make(f"<p>{escape(error)}</p>"))


def _stages(view: dict[str, Any]) -> list[tuple[str, float]]:
    from datetime import datetime, timezone

    def at(text: str | None) -> float:
        if not text:
            return time.time()
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp()

    spent: dict[str, float] = {}
    for stage in view.get("stages") or ():
        spent[stage["name"]] = spent.get(stage["name"], 0.0) + max(0.0, at(stage.get("end")) - at(stage["start"]))
    return list(spent.items())


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    shown = str(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
