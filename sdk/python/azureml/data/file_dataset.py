"""Files of datastores and URLs, as one dataset."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterator

from azureml.data import _files, _steps, _time
from azureml.data.abstract_dataset import AbstractDataset
from azureml.exceptions import UserErrorException
from ferry.not_yet import not_yet

if TYPE_CHECKING:
    from azureml.data.dataset_consumption_config import DatasetConsumptionConfig

__all__ = ["FileDataset"]

_MOST_PATHS = 10_000
_METADATA = ("Size", "LastModifiedTime", "CreationTime", "Extension", "CanSeek")


class FileDataset(AbstractDataset):
    """A collection of files. Made by ``Dataset.File.from_files``."""

    _TYPE = "File"

    def to_path(self) -> list[str]:
        """The paths of the files below the dataset's folder, each with a slash at its begin."""
        return ["/" + entry.relative for entry in self._entries()]

    def download(self, target_path: Any = None, overwrite: bool = False, ignore_not_found: bool = False) -> list[str]:
        """Downloads the files into a folder (a new temporary one without ``target_path``) and gives their paths."""
        if target_path is None:
            import tempfile

            target_path = tempfile.mkdtemp(prefix="ferry-dataset-")
        folder = os.path.abspath(os.fsdecode(os.fspath(target_path)))
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise UserErrorException(f"target_path is no folder: '{folder}'")
        return _files.fetch_all(self._workspace, list(self._entries()), folder, overwrite)

    def mount(self, mount_point: Any = None, **kwargs: Any) -> MountContext:
        """A context manager with the files below ``mount_point``. They are downloaded when it starts, and it says so."""
        return MountContext(self, mount_point)

    def as_mount(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        """The files as an input of a run, mounted, under a name that is made up."""
        return self._named().as_mount(path_on_compute)

    def as_download(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        """The files as an input of a run, downloaded, under a name that is made up."""
        return self._named().as_download(path_on_compute)

    def as_hdfs(self) -> DatasetConsumptionConfig:
        """The files as an input of a Spark run."""
        return self._named().as_hdfs()

    def as_cache(self, datacache_store: Any) -> Any:
        """Says that data caches are not served."""
        raise not_yet("FileDataset.as_cache", "as_mount and as_download keep what they fetched on the node.")

    def file_metadata(self, col: str) -> Any:
        """A property of each file, to be compared in :meth:`filter`: ``Size``, ``LastModifiedTime``, ``CreationTime``, ``Extension`` or
        ``CanSeek``."""
        if col not in _METADATA:
            raise UserErrorException(f"col must be one of {', '.join(_METADATA)}, not {col!r}")
        return self["FileMetadata." + col]

    def get_partition_key_values(self, partition_keys: list[str] | None = None) -> Any:
        """The combinations of partition keys that there are, as a pandas data frame."""
        from azureml.data import _frame

        return _frame.partition_values(self._definition, list(self._entries()), partition_keys)

    def hydrate(self, *args: Any, **kwargs: Any) -> Any:
        """Says that data caches are not served."""
        raise not_yet("FileDataset.hydrate")

    def _entries(self) -> Iterator[_files.Entry]:
        return _steps.applied(self._definition["steps"], _files.files_of(self._workspace, self._definition["paths"]), self._test())

    def _test(self) -> Any:
        from azureml.data import _expression, _partition

        text = self._definition["read"].get("partition_format")
        form = _partition.Format(text) if text else None

        def test(condition: list[Any], entry: _files.Entry) -> bool:
            modified = _time.parse(entry.modified)
            record: dict[str, Any] = {"FileMetadata.Size": entry.size, "FileMetadata.LastModifiedTime": modified,
                                      "FileMetadata.CreationTime": modified, "FileMetadata.CanSeek": True,
                                      "FileMetadata.Extension": os.path.splitext(entry.relative)[1]}
            if form is not None:
                record.update(form.read(entry.path))
            return _expression.holds(condition, record)

        return test

    def _staged_paths(self) -> list[dict[str, str]]:
        """The paths for a node: those of the definition, or each file where steps have chosen some."""
        if not self._definition["steps"]:
            return self._definition["paths"]
        paths = []
        for entry in self._entries():
            paths.append({"url": entry.path} if entry.datastore is None else {"datastore": entry.datastore, "path": entry.path})
            if len(paths) > _MOST_PATHS:
                raise UserErrorException(f"the dataset chooses more than {_MOST_PATHS} single files: put them into a folder of their own first")
        if not paths:
            raise UserErrorException("the dataset has no file left: its steps chose none")
        return paths


class MountContext:
    """The files of a dataset below a folder, from :meth:`start` to :meth:`stop`, or inside ``with``."""

    def __init__(self, dataset: FileDataset, mount_point: Any = None) -> None:
        import tempfile

        self._dataset = dataset
        self._made = mount_point is None
        self._started = False
        self.mount_point = tempfile.mkdtemp(prefix="ferry-mount-") if mount_point is None else os.path.abspath(os.fsdecode(os.fspath(mount_point)))

    def start(self) -> None:
        """Downloads the files."""
        if self._started:
            return
        if not os.path.isdir(self.mount_point):
            os.makedirs(self.mount_point)
            self._made = True
        elif os.listdir(self.mount_point):
            raise UserErrorException(f"mount_point must be an empty folder, or none yet: '{self.mount_point}'")
        self._started = True
        try:
            paths = self._dataset.download(self.mount_point)
        except BaseException:
            self.stop()
            raise
        print(f"Downloaded {len(paths)} files to {self.mount_point} in place of a mount; they are removed when it stops")

    def stop(self) -> None:
        """Removes the files again."""
        import shutil

        if not self._started:
            return
        self._started = False
        if self._made:
            shutil.rmtree(self.mount_point, ignore_errors=True)
            return
        for name in os.listdir(self.mount_point):
            path = os.path.join(self.mount_point, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)

    def __enter__(self) -> MountContext:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()
