"""How the processes of a distributed training talk, as estimators take it."""

from __future__ import annotations

from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from azureml.exceptions import UserErrorException

__all__ = ["Gloo", "Mpi", "Nccl", "ParameterServer"]


class Mpi(MpiConfiguration):
    """MPI, with so many processes on each node."""

    def __init__(self, process_count_per_node: int = 1) -> None:
        super().__init__(process_count_per_node)


class Gloo(PyTorchConfiguration):
    """PyTorch's Gloo."""

    def __init__(self) -> None:
        super().__init__("Gloo")


class Nccl(PyTorchConfiguration):
    """PyTorch's NCCL."""

    def __init__(self) -> None:
        super().__init__("Nccl")


class ParameterServer(TensorflowConfiguration):
    """TensorFlow's parameter servers and workers."""

    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1) -> None:
        super().__init__(worker_count, parameter_server_count)


def named(backend: object, process_count_per_node: int = 1, worker_count: int = 1, parameter_server_count: int = 1) -> object:
    """The older form: a word (``mpi``, ``ps``, ``gloo``, ``nccl``) with counts beside it."""
    word = str(backend).lower()
    if word == "mpi":
        return Mpi(process_count_per_node)
    if word in ("ps", "parameterserver"):
        return ParameterServer(worker_count, parameter_server_count)
    if word in ("gloo", "nccl"):
        return Gloo() if word == "gloo" else Nccl()
    raise UserErrorException(f"distributed_backend: expected mpi, ps, gloo or nccl, found '{backend}'")
