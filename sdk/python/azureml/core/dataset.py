"""Datasets: made, found and registered."""

from __future__ import annotations

from typing import Any

from azureml.data.abstract_dataset import AbstractDataset
from azureml.data.dataset_factory import FileDatasetFactory, TabularDatasetFactory
from azureml.exceptions import UserErrorException
from ferry.not_yet import not_yet

__all__ = ["Dataset"]


class Dataset(AbstractDataset):
    """The entry to datasets: ``Dataset.File`` and ``Dataset.Tabular`` make them, ``get_by_name``, ``get_by_id`` and ``get_all`` find them."""

    File = FileDatasetFactory
    Tabular = TabularDatasetFactory

    class Scenario:
        """What a dataset is to a model, for ``Model.register(datasets=[(Dataset.Scenario.TRAINING, dataset)])``."""

        TRAINING = "training"
        VALIDATION = "validation"
        TEST = "test"
        INFERENCE = "inference"
        INFERENCING = "inferencing"

    def __init__(self, definition: Any = None, workspace: Any = None, name: str | None = None, id: str | None = None) -> None:
        raise UserErrorException("a dataset is made by Dataset.File.from_files, Dataset.Tabular.from_delimited_files and the like, and found by "
                                 "Dataset.get_by_name")

    @staticmethod
    def get(workspace: Any, name: str | None = None, id: str | None = None) -> Any:
        """The older form of ``get_by_name`` and ``get_by_id``."""
        if (name is None) == (id is None):
            raise UserErrorException("Dataset.get takes either name or id")
        return Dataset.get_by_name(workspace, name) if id is None else Dataset.get_by_id(workspace, id)

    @staticmethod
    def list(workspace: Any) -> Any:
        """The latest version of every registered dataset."""
        return [*Dataset.get_all(workspace).values()]

    @staticmethod
    def auto_read_files(path: Any, include_path: bool = False, **kwargs: Any) -> Any:
        """A table of files, read by what their names end with: ``.parquet``, ``.json`` and ``.jsonl``, else as delimited."""
        from azureml.data.dataset_factory import paths_of

        _, paths = paths_of(path, False)
        ends = {(item.get("url") or item["path"]).split("?")[0].rpartition(".")[2].lower() for item in paths}
        if ends == {"parquet"}:
            return TabularDatasetFactory.from_parquet_files(path, include_path=include_path)
        if ends and ends <= {"json", "jsonl"}:
            return TabularDatasetFactory.from_json_lines_files(path, include_path=include_path)
        return TabularDatasetFactory.from_delimited_files(path, include_path=include_path, separator="\t" if ends == {"tsv"} else ",")

    @staticmethod
    def from_delimited_files(path: Any, separator: str = ",", header: Any = True, encoding: str = "utf8", include_path: bool = False,
                             **kwargs: Any) -> Any:
        """The older form of ``Dataset.Tabular.from_delimited_files``."""
        return TabularDatasetFactory.from_delimited_files(path, separator=separator, header=header, encoding=encoding, include_path=include_path)

    @staticmethod
    def from_parquet_files(path: Any, include_path: bool = False, **kwargs: Any) -> Any:
        """The older form of ``Dataset.Tabular.from_parquet_files``."""
        return TabularDatasetFactory.from_parquet_files(path, include_path=include_path)

    @staticmethod
    def from_json_files(path: Any, encoding: str = "utf8", include_path: bool = False, **kwargs: Any) -> Any:
        """The older form of ``Dataset.Tabular.from_json_lines_files``."""
        return TabularDatasetFactory.from_json_lines_files(path, encoding=encoding, include_path=include_path)

    @staticmethod
    def from_pandas_dataframe(dataframe: Any, path: Any = None, in_memory: bool = False) -> Any:
        """Says what took its place."""
        raise not_yet("Dataset.from_pandas_dataframe", "Use Dataset.Tabular.register_pandas_dataframe.")
