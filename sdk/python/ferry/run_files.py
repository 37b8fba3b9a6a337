"""The files of a run over the network: artifacts up and down, and logs, which are files of it too."""

from __future__ import annotations

import os
from typing import Any, Iterator

from azureml.exceptions import UserErrorException
from ferry import runs, values

_LOG_PIECE = 4 << 20
_MOST_NAMED = 20
# Where Azure kept what the script prints, in its older days.
_OLD_NAMES = {"azureml-logs/70_driver_log.txt": "user_logs/std_log.txt"}
_MAIN_LOG = "user_logs/std_log.txt"
_TAIL_BYTES, _TAIL_LINES = 16 << 10, 30


def artifacts(client: Any, run_id: str, prefix: str = "") -> Iterator[dict[str, Any]]:
    """The run's artifacts whose paths begin with the prefix."""
    return client.pages(runs.path(run_id, "/artifacts"), "artifacts", prefix=prefix or None)


def logs(client: Any, run_id: str) -> list[dict[str, Any]]:
    """The run's log streams, those of its latest attempt."""
    streams: dict[str, dict[str, Any]] = {}
    for stream in client.get(runs.path(run_id, "/logs")).get("streams", ()):
        if stream["name"] not in streams or stream["attempt"] > streams[stream["name"]]["attempt"]:
            streams[stream["name"]] = stream
    return sorted(streams.values(), key=lambda stream: stream["name"])


def names(client: Any, run_id: str, prefix: str = "") -> list[str]:
    """The names of all files."""
    found = {item["path"] for item in artifacts(client, run_id, prefix)}
    found.update(stream["name"] for stream in logs(client, run_id) if stream["name"].startswith(prefix))
    return sorted(found)


def upload(client: Any, run_id: str, name: str, source: Any) -> None:
    """Keeps a path's or a stream's bytes as the artifact ``name``. The same content twice is no error, another one is."""
    if hasattr(source, "read"):
        import tempfile

        with tempfile.NamedTemporaryFile() as copy:
            while True:
                block = source.read(1 << 20)
                if not block:
                    break
                copy.write(block.encode("utf-8") if isinstance(block, str) else block)
            copy.flush()
            upload(client, run_id, name, copy.name)
        return
    path = check_file(source)
    ((digest, size),) = client.put_blobs([path])
    declare(client, run_id, name, digest, size)


def upload_many(client: Any, run_id: str, pairs: list[tuple[str, Any]]) -> None:
    """Keeps several files, given as (name, path). All of them are there before anything is sent."""
    contents = client.put_blobs([check_file(path, "paths") for _, path in pairs])
    for (name, _), (digest, size) in zip(pairs, contents):
        declare(client, run_id, name, digest, size)


def declare(client: Any, run_id: str, name: str, digest: str, size: int) -> None:
    """Makes a content that is at the server an artifact of the run."""
    from ferry.client import Conflict, quote_path

    try:
        client.put(runs.path(run_id, "/artifacts/" + quote_path(name)), {"digest": digest, "size": size, "overwrite": False})
    except Conflict as error:
        if error.slug == "artifact.exists":
            raise UserErrorException(f"the run has a file '{name}' with another content already; files of a run are never changed", error) from None
        raise


def check_file(source: Any, argument: str = "path_or_stream") -> str:
    """The path of a file that is there."""
    try:
        path = os.fsdecode(os.fspath(source))
    except TypeError:
        raise UserErrorException(f"{argument} must be a path or an open stream, not a value of type {type(source).__name__}") from None
    if os.path.isdir(path):
        raise UserErrorException(f"{argument} is a folder, upload_folder takes it: '{path}'")
    if not os.path.exists(path):
        raise UserErrorException(f"{argument} names no file: '{path}'")
    return path


def download(client: Any, run_id: str, name: str, target: str) -> None:
    """Writes an artifact or a log to a file. Raises UserErrorException naming what there is when there is no such file."""
    from ferry.client import NotFound, quote_path

    name = values.check_artifact_name(name)
    try:
        client.download(runs.path(run_id, "/artifacts/" + quote_path(name)), target)
        return
    except NotFound as error:
        if error.slug == "run.not_found":
            raise
    if not _download_log(client, run_id, name, target) and not _download_log(client, run_id, _OLD_NAMES.get(name, ""), target):
        there = names(client, run_id)
        more = f" and {len(there) - _MOST_NAMED} more" if len(there) > _MOST_NAMED else ""
        raise UserErrorException(f"File with path {name} was not found,\navailable files include: {', '.join(there[:_MOST_NAMED])}{more}.")


def tail(client: Any, run_id: str) -> str:
    """The last lines of what the script printed."""
    for stream in logs(client, run_id):
        if stream["name"] == _MAIN_LOG:
            raw = b"".join(log_bytes(client, run_id, stream, start=max(0, stream["size"] - _TAIL_BYTES)))
            return "\n".join(raw.decode("utf-8", "replace").splitlines()[-_TAIL_LINES:])
    return ""


def log_bytes(client: Any, run_id: str, stream: dict[str, Any], limit: int | None = None, start: int = 0) -> Iterator[bytes]:
    """The bytes of a log from ``start`` up to ``limit``, piece by piece."""
    from ferry.client import quote_path

    at = start
    path = runs.path(run_id, "/logs/" + quote_path(stream["name"]))
    while limit is None or at < limit:
        piece = client.read(path, attempt=stream["attempt"], offset=at, limit=_LOG_PIECE)
        if not piece:
            return
        at += len(piece)
        yield piece


def _download_log(client: Any, run_id: str, name: str, target: str) -> bool:
    for stream in logs(client, run_id) if name else ():
        if stream["name"] == name:
            from ferry import artifacts as local

            folder, base = os.path.split(os.path.abspath(target))

            def write(path: str) -> None:
                with open(path, "wb") as file:
                    for piece in log_bytes(client, run_id, stream):
                        file.write(piece)

            local.store_with(folder, base, write)
            return True
    return False


def place(folder: str, name: str) -> str:
    """Where the file of this name goes below the folder. A link that stands in the way is refused."""
    at = folder
    for part in values.check_artifact_name(name).split("/"):
        at = os.path.join(at, part)
        if os.path.islink(at):
            raise UserErrorException(f"'{name}' is not written: there is a link at '{at}'")
    return at
