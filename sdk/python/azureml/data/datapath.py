"""A place on a datastore, and how it is brought to a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azureml.exceptions import UserErrorException

if TYPE_CHECKING:
    from azureml.data.abstract_datastore import AbstractDatastore
    from azureml.data.data_reference import DataReference

__all__ = ["DataPath", "DataPathComputeBinding"]

_MODES = ("mount", "download", "upload")


def check_mode(mode: Any) -> str:
    """The mode, in lower case."""
    lower = mode.lower() if isinstance(mode, str) else mode
    if lower not in _MODES:
        raise UserErrorException(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
    return lower


class DataPathComputeBinding:
    """How data is brought to a node: ``mode`` is mount, download or upload; ``path_on_compute`` is the place there."""

    def __init__(self, mode: str = "mount", path_on_compute: str | None = None, overwrite: bool = False) -> None:
        self.mode = check_mode(mode)
        self.path_on_compute = path_on_compute
        self.overwrite = bool(overwrite)


class DataPath:
    """A path on a datastore."""

    def __init__(self, datastore: AbstractDatastore | None = None, path_on_datastore: str | None = None, name: str | None = None) -> None:
        self._datastore = datastore
        self.path_on_datastore = path_on_datastore
        self._name = name

    @property
    def datastore_name(self) -> str | None:
        """The datastore's name."""
        return getattr(self._datastore, "name", self._datastore)

    def create_data_reference(self, data_reference_name: str | None = None,
                              datapath_compute_binding: DataPathComputeBinding | None = None) -> DataReference:
        """A reference for a run: this path, brought to the node as the binding says (mounted when there is none)."""
        from azureml.data.data_reference import DataReference

        binding = datapath_compute_binding or DataPathComputeBinding()
        return DataReference(self._datastore, data_reference_name or self._name, self.path_on_datastore, binding.mode,
                             binding.path_on_compute, binding.overwrite)

    def __repr__(self) -> str:
        return f"DataPath(datastore={self.datastore_name!r}, path_on_datastore={self.path_on_datastore!r})"
