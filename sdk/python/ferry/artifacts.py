"""Files of the run: copied into the run's artifact folder, beside their final name and then renamed."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterator

from azureml.exceptions import UserErrorException


def store(folder: str, name: str, source: Any) -> None:
    """Copies ``source``, a path or an open stream, to ``folder/name``. REQUIRES: ``name`` is normalised."""
    if hasattr(source, "read"):
        _write(folder, name, lambda path: _copy_stream(source, path))
        return
    path = _path(source, "path_or_stream")
    if os.path.isdir(path):
        raise UserErrorException(f"path_or_stream is a folder, upload_folder takes it: '{path}'")
    if not os.path.exists(path):
        raise UserErrorException(f"path_or_stream names no file: '{path}'")
    import shutil

    _write(folder, name, lambda target: shutil.copyfile(path, target))


def store_with(folder: str, name: str, write: Callable[[str], Any]) -> None:
    """Lets ``write(path)`` make the file ``folder/name``. REQUIRES: ``name`` is normalised."""
    _write(folder, name, write)


def files_below(path: Any) -> Iterator[tuple[str, str]]:
    """The files of a folder as (path relative to it with '/', path), ordered. Links to folders are not followed."""
    root = _path(path, "path")
    if not os.path.isdir(root):
        raise UserErrorException(f"path names no folder: '{root}'")
    for parent, folders, files in os.walk(root):
        folders.sort()
        for file in sorted(files):
            full = os.path.join(parent, file)
            yield os.path.relpath(full, root).replace(os.sep, "/"), full


def _path(value: Any, argument: str) -> str:
    try:
        path = os.fspath(value)
    except TypeError:
        raise UserErrorException(f"{argument} must be a path, not a value of type {type(value).__name__}") from None
    return os.fsdecode(path)


def _write(folder: str, name: str, write: Callable[[str], Any]) -> None:
    target = os.path.join(folder, *name.split("/"))
    parent = os.path.dirname(target)
    os.makedirs(parent, exist_ok=True)
    part = os.path.join(parent, ".ferry-" + os.urandom(8).hex() + ".part")
    try:
        write(part)
        os.replace(part, target)
    except BaseException:
        try:
            os.unlink(part)
        except FileNotFoundError:
            pass
        raise


def _copy_stream(source: Any, path: str) -> None:
    with open(path, "wb") as file:
        while True:
            block = source.read(1 << 20)
            if not block:
                return
            file.write(block.encode("utf-8") if isinstance(block, str) else block)
