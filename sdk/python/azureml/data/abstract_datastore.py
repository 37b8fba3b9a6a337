"""A datastore: files under a name."""

from __future__ import annotations

import os
from typing import Any, Sequence

from azureml.data import _files
from azureml.data.data_reference import DataReference
from azureml.exceptions import UserErrorException

__all__ = ["AbstractDatastore"]


class AbstractDatastore:
    """Files of a workspace, under a name. ``Datastore.get`` gives it; it keeps nothing but what the server said of it."""

    def __init__(self, workspace: Any, view: dict[str, Any]) -> None:
        self._workspace = workspace
        self._view = view

    # Identity

    @property
    def name(self) -> str:
        """The datastore's name."""
        return self._view["name"]

    @property
    def workspace(self) -> Any:
        """Its workspace."""
        return self._workspace

    @property
    def datastore_type(self) -> str:
        """What Azure's users know it as, such as ``AzureBlob``."""
        return self._view.get("type", "")

    @property
    def is_default(self) -> bool:
        """Whether it is the workspace's default."""
        return bool(self._view.get("default"))

    @property
    def description(self) -> str:
        """What was said of it."""
        return self._view.get("description") or ""

    @property
    def tags(self) -> dict[str, str]:
        """Its tags."""
        return dict(self._view.get("tags") or {})

    @property
    def account_name(self) -> str:
        """The storage account it stands for; "" when none was said."""
        return self._azure("account_name")

    @property
    def container_name(self) -> str:
        """The container or share it stands for; of a bucket or the server's own store its name."""
        return self._azure("container_name") or self._view.get("bucket") or self.name

    @property
    def account_key(self) -> None:
        """Always None: the server keeps the keys."""
        return None

    @property
    def sas_token(self) -> None:
        """Always None: the server keeps the keys."""
        return None

    @property
    def protocol(self) -> str:
        """``https``, or what was said."""
        return self._azure("protocol") or "https"

    @property
    def endpoint(self) -> str:
        """The address of an S3-compatible store, or what was said."""
        return self._view.get("endpoint") or self._azure("endpoint")

    @property
    def _kind(self) -> str:
        return self._view.get("kind", "own")

    def _azure(self, key: str) -> str:
        return (self._view.get("azure") or {}).get(key, "")

    # Administration

    def set_as_default(self) -> None:
        """Makes it the workspace's default datastore."""
        from ferry.client import quote

        self._workspace._client.post(f"/datastores/{quote(self.name)}/default", {"workspace": self._workspace.name}, repeat=True)
        self._view = dict(self._view, default=True)

    def unregister(self) -> None:
        """Forgets the datastore. Files of folders and buckets stay where they are."""
        from ferry.client import quote

        self._workspace._client.delete(f"/datastores/{quote(self.name)}", workspace=self._workspace.name)

    # Files

    def upload(self, src_dir: Any, target_path: str | None = None, overwrite: bool = False, show_progress: bool = True) -> DataReference:
        """Uploads all files of a folder and below to ``target_path``. Files that are there stay unless ``overwrite`` is given."""
        from ferry import artifacts

        root = _files.normal(target_path, "target_path")
        pairs = [(path, _files.join(root, relative)) for relative, path in artifacts.files_below(src_dir)]
        return self._upload(pairs, root, overwrite, show_progress)

    def upload_files(self, files: Sequence[Any], relative_root: Any = None, target_path: str | None = None, overwrite: bool = False,
                     show_progress: bool = True) -> DataReference:
        """Uploads files. Their paths below ``relative_root`` are kept; without it all go straight into ``target_path``."""
        if isinstance(files, (str, bytes)) or not hasattr(files, "__iter__"):
            raise UserErrorException(f"files must be a list of paths, not a value of type {type(files).__name__}")
        root = _files.normal(target_path, "target_path")
        base = None if relative_root is None else os.path.abspath(os.fsdecode(os.fspath(relative_root)))
        pairs, seen = [], {}
        for file in files:
            path = os.fsdecode(os.fspath(file))
            if not os.path.isfile(path):
                what = "is a folder, upload takes it" if os.path.isdir(path) else "names no file"
                raise UserErrorException(f"files: '{path}' {what}")
            relative = os.path.basename(path)
            if base is not None:
                relative = os.path.relpath(os.path.abspath(path), base)
                if relative.split(os.sep)[0] == os.pardir:
                    raise UserErrorException(f"files: '{path}' is not below relative_root '{relative_root}'")
            target = _files.join(root, relative.replace(os.sep, "/"))
            if target in seen:
                raise UserErrorException(f"files: '{seen[target]}' and '{path}' would both become '{target}'; pass relative_root")
            seen[target] = path
            pairs.append((path, target))
        return self._upload(pairs, root, overwrite, show_progress)

    def download(self, target_path: Any, prefix: str | None = None, overwrite: bool = False, show_progress: bool = True) -> int:
        """Downloads the files below ``prefix`` into a folder, with their whole paths. Files that are there stay unless ``overwrite``
        is given. Returns how many were downloaded."""
        folder = os.fsdecode(os.fspath(target_path))
        start = _files.normal(prefix, "prefix")
        if start and prefix.endswith("/"):  # type: ignore[union-attr]
            start += "/"
        entries = list(_files.listed(self._workspace, self.name, start))
        say = print if show_progress else _quiet
        say(f"Downloading {len(entries)} files")
        done = 0

        def told(entry: _files.Entry, path: str) -> None:
            nonlocal done
            done += 1
            say(f"Downloaded {entry.path}, {done} files out of a total of {len(entries)}")

        def skip(entry: _files.Entry, path: str) -> bool:
            say(f"Target already exists. Skipping download for {path}")
            return True

        got = _files.fetch_all(self._workspace, entries, folder, overwrite, told, skip)
        say(f"Downloaded {len(got)} files")
        return len(got)

    def _upload(self, pairs: list[tuple[str, str]], root: str, overwrite: bool, show_progress: bool) -> DataReference:
        from ferry import values

        say = print if show_progress else _quiet
        for _, target in pairs:
            values.check_artifact_name(target, "target_path")
        say(f"Uploading an estimated of {len(pairs)} files")
        if not overwrite:
            pairs = self._skip_existing(pairs, root, say)
        total, done = len(pairs), 0

        def told(source: str, target: str) -> None:
            nonlocal done
            done += 1
            say(f"Uploaded {source}, {done} files out of an estimated total of {total}")

        _files.send_all(self._workspace, self, pairs, overwrite, told)
        say(f"Uploaded {done} files")
        return self.path(root or None)

    def _skip_existing(self, pairs: list[tuple[str, str]], root: str, say: Any) -> list[tuple[str, str]]:
        if not pairs:
            return pairs
        there = {entry.path for entry in _files.listed(self._workspace, self.name, root + "/" if root else "")}
        left = []
        for source, target in pairs:
            if target in there:
                say(f"Target already exists. Skipping upload for {target}")
            else:
                left.append((source, target))
        return left

    # References

    def path(self, path: str | None = None, data_reference_name: str | None = None) -> DataReference:
        """A reference to a path of this datastore; ``*``, ``?`` and ``**`` are allowed. None is its root."""
        return DataReference(self, data_reference_name, _files.normal(path) or None)

    def as_mount(self) -> DataReference:
        """The datastore's root, mounted."""
        return self.path().as_mount()

    def as_download(self, path_on_compute: str | None = None) -> DataReference:
        """The datastore's root, downloaded."""
        return self.path().as_download(path_on_compute)

    def as_upload(self, path_on_compute: str | None = None) -> DataReference:
        """A folder on the node whose files are uploaded to the datastore's root."""
        return self.path().as_upload(path_on_compute)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, workspace={self._workspace.name!r}, kind={self._kind!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractDatastore) and (self.name, self._workspace.name) == (other.name, other._workspace.name)

    def __hash__(self) -> int:
        return hash((self.name, self._workspace.name))


def _quiet(*_: Any) -> None:
    pass
