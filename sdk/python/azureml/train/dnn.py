"""Estimators of deep learning frameworks. They are deprecated; each is a ScriptRunConfig."""

from __future__ import annotations

from typing import Any

from azureml.exceptions import UserErrorException
from azureml.train._distributed import Gloo, Mpi, Nccl, ParameterServer
from azureml.train.estimator import MMLBaseEstimator

__all__ = ["Chainer", "Gloo", "Mpi", "Nccl", "ParameterServer", "PyTorch", "TensorFlow"]


class _Framework(MMLBaseEstimator):
    """An estimator that installs its framework: the version that is asked for, else the newest."""

    _packages: tuple = ()
    FRAMEWORK_NAME = ""

    def __init__(self, source_directory: Any, *, framework_version: str | None = None, _enable_optimized_mode: bool = False, **kwargs: Any) -> None:
        if framework_version is not None and (not isinstance(framework_version, str) or not framework_version.strip()):
            raise UserErrorException(f"framework_version: expected a text such as 1.13, found {framework_version!r}")
        self.framework_version = framework_version
        self._framework_packages = self._pins(framework_version, bool(kwargs.get("use_gpu")))
        super().__init__(source_directory, **kwargs)

    def _pins(self, version: str | None, use_gpu: bool) -> tuple:
        first, *others = self._packages
        return (_pin(first, version), *others)


class PyTorch(_Framework):
    """A script of PyTorch's. Further arguments are those of :class:`Estimator`."""

    _packages = ("torch", "torchvision")
    FRAMEWORK_NAME = "PyTorch"


class TensorFlow(_Framework):
    """A script of TensorFlow's. ``worker_count``, ``parameter_server_count`` and ``distributed_backend`` are the older form of
    ``distributed_training=ParameterServer(...)``; further arguments are those of :class:`Estimator`."""

    _packages = ("tensorflow",)
    FRAMEWORK_NAME = "TensorFlow"

    def __init__(self, source_directory: Any, *, worker_count: int = 1, parameter_server_count: int = 1, **kwargs: Any) -> None:
        super().__init__(source_directory, _worker_count=worker_count, _parameter_server_count=parameter_server_count, **kwargs)


class Chainer(_Framework):
    """A script of Chainer's. Further arguments are those of :class:`Estimator`."""

    _packages = ("chainer",)
    FRAMEWORK_NAME = "Chainer"

    def _pins(self, version: str | None, use_gpu: bool) -> tuple:
        return (*super()._pins(version, use_gpu), *(("cupy",) if use_gpu else ()))


def _pin(package: str, version: str | None) -> str:
    """1.13 is 1.13.*, and 1.13.1 is itself."""
    if version is None:
        return package
    return f"{package}=={version}" if version.count(".") >= 2 else f"{package}=={version}.*"
