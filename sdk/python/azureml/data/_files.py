"""The files that paths of datastores and URLs mean: found, fetched and sent. For this package alone."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Iterable, Iterator, Sequence

from azureml.data.dataset_error_handling import DatasetExecutionError, DatasetValidationError
from azureml.exceptions import UserErrorException

_WORKERS = 8
_FILES_PER_COMMIT = 1000
_URL_TIMEOUT = 60.0
_BLOCK = 1 << 20
_GLOB = re.compile(r"[*?]")


class Entry:
    """One file. ``path`` is its path on the datastore, or its URL; ``relative`` its place below the dataset's folder."""

    __slots__ = ("datastore", "path", "relative", "size", "modified")

    def __init__(self, datastore: str | None, path: str, size: int | None = None, modified: str | None = None) -> None:
        self.datastore = datastore
        self.path = path
        self.relative = path
        self.size = size
        self.modified = modified

    @property
    def label(self) -> str:
        """What the column "Path" says."""
        return self.path if self.datastore is None else "/" + self.path


def normal(path: Any, argument: str = "path") -> str:
    """A path of a datastore without slashes at its ends, "." and empty parts. '..' is refused. Nothing is the root, ""."""
    if path is None:
        return ""
    if not isinstance(path, str):
        raise UserErrorException(f"{argument} must be a string, not a value of type {type(path).__name__}")
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        raise UserErrorException(f"{argument} must not contain '..': '{path}'")
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in path):
        raise UserErrorException(f"{argument} must not contain control characters: {path!r}")
    return "/".join(parts)


def join(folder: str | None, path: str | None) -> str:
    """A path below a folder of a datastore."""
    return "/".join(part for part in (normal(folder), normal(path)) if part)


def has_glob(path: str) -> bool:
    """Whether the path is a pattern: ``*`` and ``?`` within a name, ``**`` across folders."""
    return _GLOB.search(path) is not None


def literal_folder(pattern: str) -> str:
    """The longest folder of the pattern in which nothing is a glob."""
    match = _GLOB.search(pattern)
    return pattern if match is None else pattern[:match.start()].rpartition("/")[0]


def glob_regex(pattern: str) -> re.Pattern[str]:
    """What a pattern matches, as a regular expression for whole paths."""
    parts = pattern.split("/")
    out = []
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            out.append(".*" if last else "(?:.*/)?")
        else:
            out.append("".join("[^/]*" if char == "*" else "[^/]" if char == "?" else re.escape(char) for char in part) + ("" if last else "/"))
    return re.compile("".join(out) + r"\Z", re.DOTALL)


def file_url(datastore: str, path: str = "") -> str:
    """The interface's path of a datastore's files, or of one."""
    from ferry.client import quote, quote_path

    base = f"/datastores/{quote(datastore)}/files"
    return base + "/" + quote_path(path) if path else base


def listed(workspace: Any, datastore: str, prefix: str, **query: Any) -> Iterator[Entry]:
    """The files of a datastore whose paths begin with the prefix, ordered."""
    for item in workspace._client.pages(file_url(datastore), "files", prefix=prefix, workspace=workspace.name, **query):
        yield Entry(datastore, item["path"], item.get("size"), item.get("modified"))


def _found(workspace: Any, datastore: str, path: str) -> tuple[str, Iterator[Entry]]:
    """The folder that relative paths begin at, and the files that a path of a datastore means."""
    if has_glob(path):
        wanted = glob_regex(path)
        prefix = path[:_GLOB.search(path).start()]  # type: ignore[union-attr]
        return literal_folder(path), (entry for entry in listed(workspace, datastore, prefix) if wanted.match(entry.path))
    if path:
        first = workspace._client.get(file_url(datastore), prefix=path, limit=1, workspace=workspace.name).get("files") or []
        if first and first[0]["path"] == path:
            return path.rpartition("/")[0], iter([Entry(datastore, path, first[0].get("size"), first[0].get("modified"))])
    return path, listed(workspace, datastore, path + "/" if path else "")


def _url_parts(url: str) -> tuple[str, str]:
    """Folder and name of a URL, with its host as the first folder."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    segments = [segment for segment in unquote(parts.path).split("/") if segment not in ("", ".", "..")] or ["index"]
    return "/".join([parts.netloc, *segments[:-1]]), segments[-1]


def files_of(workspace: Any, paths: Sequence[dict[str, str]]) -> Iterator[Entry]:
    """The files that the paths of a definition mean, in their order. One that means nothing raises DatasetExecutionError.

    Relative paths begin below the longest folder that all the paths share.
    """
    roots: list[list[str]] = []
    groups: list[tuple[dict[str, str], str, Iterator[Entry]]] = []
    for item in paths:
        if "url" in item:
            folder, name = _url_parts(item["url"])
            roots.append(folder.split("/"))
            groups.append((item, folder + "/" + name, iter([Entry(None, item["url"])])))
        else:
            root, entries = _found(_required(workspace), item["datastore"], item["path"])
            roots.append([item["datastore"], *(root.split("/") if root else [])])
            groups.append((item, "", entries))
    shared = os.path.commonprefix(roots) if roots else []
    for item, whole, entries in groups:
        nothing = True
        for entry in entries:
            nothing = False
            full = whole or entry.datastore + "/" + entry.path  # type: ignore[operator]
            entry.relative = "/".join(full.split("/")[len(shared):])
            yield entry
        if nothing:
            raise DatasetExecutionError(f"'{item['path']}' matches no file on datastore '{item['datastore']}'")


def check_there(workspace: Any, paths: Sequence[dict[str, str]]) -> None:
    """Raises DatasetValidationError for the first path that means no file."""
    for item in paths:
        if "url" in item:
            url_head(item["url"], DatasetValidationError)
            continue
        _, entries = _found(_required(workspace), item["datastore"], item["path"])
        if next(entries, None) is None:
            raise DatasetValidationError(f"'{item['path']}' matches no file on datastore '{item['datastore']}'; upload the files first, or "
                                         "pass validate=False")


def _required(workspace: Any) -> Any:
    if workspace is None:
        raise UserErrorException("the dataset belongs to no workspace: make it from a datastore of one, or get it by name or id")
    return workspace


def _open_url(url: str, method: str, error: Callable[..., Exception]) -> Any:
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    try:
        return urlopen(Request(url, method=method, headers={"User-Agent": "ferry-sdk"}), timeout=_URL_TIMEOUT)
    except HTTPError as bad:
        with bad:
            raise error(f"'{url}' answers {bad.code} {bad.reason}", bad) from None
    except (URLError, OSError, ValueError) as bad:
        raise error(f"'{url}' cannot be read: {getattr(bad, 'reason', bad)}", bad) from None


def url_head(url: str, error: Callable[..., Exception] = DatasetExecutionError) -> Any:
    """The headers of a URL. Raises ``error`` when it cannot be had."""
    with _open_url(url, "GET", error) as reply:
        return reply.headers


def fetch(workspace: Any, entry: Entry, target: str) -> None:
    """Writes a file's bytes to ``target``: beside it first, then renamed."""
    if entry.datastore is not None:
        workspace._client.download(file_url(entry.datastore, entry.path), target, workspace=workspace.name)
        return
    from ferry import artifacts

    def write(part: str) -> None:
        with _open_url(entry.path, "GET", DatasetExecutionError) as reply, open(part, "wb") as file:
            length = reply.headers.get("Content-Length")
            size = 0
            try:
                for block in iter(lambda: reply.read(_BLOCK), b""):
                    file.write(block)
                    size += len(block)
            except OSError as bad:
                raise DatasetExecutionError(f"'{entry.path}' broke off after {size} bytes: {bad}", bad) from None
            if length is not None and size < int(length):
                raise DatasetExecutionError(f"'{entry.path}' broke off after {size} of {length} bytes")

    artifacts.store_with(os.path.dirname(target), os.path.basename(target), write)


def fetch_all(workspace: Any, entries: Iterable[Entry], folder: str, overwrite: bool, told: Callable[[Entry, str], None] | None = None,
              on_existing: Callable[[Entry, str], bool] | None = None) -> list[str]:
    """Fetches files to their relative paths below a folder, several at a time, and gives the paths in the same order.

    A file that is there already is fetched anew with ``overwrite``; else ``on_existing(entry, path)`` may skip it by answering True,
    and UserErrorException is raised where it does not. ``told`` hears of every file that arrived.
    """
    from ferry import values

    targets: list[str] = []
    wanted: dict[str, Entry] = {}
    for entry in entries:
        target = os.path.join(folder, *values.check_artifact_name(entry.relative, "the path of a file").split("/"))
        if target in wanted:
            raise UserErrorException(f"two files of the dataset would be '{entry.relative}': {wanted[target].label} and {entry.label}")
        if os.path.lexists(target) and not overwrite:
            if on_existing is None or not on_existing(entry, target):
                raise UserErrorException(f"'{target}' exists; pass overwrite=True to replace it")
            continue
        wanted[target] = entry
        targets.append(target)

    def one(target: str) -> None:
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        fetch(workspace, wanted[target], target)

    for target in at_once(one, targets):
        if told is not None:
            told(wanted[target], target)
    return targets


def at_once(work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    """Does the work for the items, several at a time, and gives each item, in order, when it is done. The first error ends it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_WORKERS) as pool:
        jobs = [(item, pool.submit(work, item)) for item in items]
        try:
            for item, job in jobs:
                job.result()
                yield item
        finally:
            for _, job in jobs:
                job.cancel()


def send_all(workspace: Any, datastore: Any, files: Sequence[tuple[str, str]], overwrite: bool,
             told: Callable[[str, str], None] | None = None) -> None:
    """Sends files, given as (path here, path on the datastore). Content that the server has is not sent again. ``told`` hears of each."""
    client = workspace._client
    if datastore._kind != "own":
        def send(file: tuple[str, str]) -> None:
            with open(file[0], "rb") as stream:
                client.upload(file_url(datastore.name, file[1]), stream, workspace=workspace.name, overwrite="true" if overwrite else "false")

        for source, path in at_once(send, files):
            if told is not None:
                told(source, path)
        return
    for at in range(0, len(files), _FILES_PER_COMMIT):
        part = files[at:at + _FILES_PER_COMMIT]
        blobs = client.put_blobs([source for source, _ in part])
        body = {"workspace": workspace.name, "overwrite": overwrite,
                "files": [{"path": path, "digest": digest, "size": size} for (_, path), (digest, size) in zip(part, blobs)]}
        client.post(file_url(datastore.name), body)
        for source, path in part:
            if told is not None:
                told(source, path)
