"""Estimators: a script with its packages in one call. They are deprecated; each is a ScriptRunConfig."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.environment import DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, Environment, check_size, requirements
from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration, RunConfiguration, TensorflowConfiguration
from azureml.core.script_run_config import ScriptRunConfig
from azureml.exceptions import UserErrorException
from azureml.train._distributed import Gloo, Mpi, Nccl, ParameterServer, named
from ferry.section import wrong

__all__ = ["Estimator", "Gloo", "MMLBaseEstimator", "Mpi", "Nccl", "ParameterServer"]

_LONGEST = 2592000


class MMLBaseEstimator(ScriptRunConfig):
    """What all estimators have in common: ``run_config``, ``source_directory`` and ``conda_dependencies``, all of which may be changed until
    the estimator is submitted."""

    # What a framework's own estimator adds to the packages.
    _framework_packages: tuple = ()

    def __init__(self, source_directory: Any, *, compute_target: Any = None, vm_size: str | None = None, vm_priority: str | None = None,
                 entry_script: Any = None, script_params: Mapping[str, Any] | None = None, node_count: int = 1,
                 process_count_per_node: int = 1, distributed_backend: str | None = None, distributed_training: Any = None,
                 use_gpu: bool = False, use_docker: bool = True, custom_docker_base_image: str | None = None,
                 custom_docker_image: str | None = None, image_registry_details: Any = None, user_managed: bool = False,
                 conda_packages: Sequence[str] | None = None, pip_packages: Sequence[str] | None = None,
                 conda_dependencies_file_path: Any = None, pip_requirements_file_path: Any = None, conda_dependencies_file: Any = None,
                 pip_requirements_file: Any = None, environment_variables: Mapping[str, Any] | None = None,
                 environment_definition: Environment | None = None, inputs: Sequence[Any] | None = None,
                 source_directory_data_store: Any = None, shm_size: str | None = None, resume_from: Any = None,
                 max_run_duration_seconds: int | None = None, _worker_count: int = 1, _parameter_server_count: int = 1) -> None:
        self._warn()
        configuration = RunConfiguration()
        configuration.environment = self._environment(
            environment_definition, source_directory, use_gpu, use_docker, custom_docker_image or custom_docker_base_image,
            image_registry_details, user_managed, conda_packages, pip_packages, conda_dependencies_file or conda_dependencies_file_path,
            pip_requirements_file or pip_requirements_file_path)
        if environment_variables:
            configuration.environment_variables = dict(environment_variables)
        if shm_size is not None:
            configuration.environment.docker.shm_size = check_size(str(shm_size), "shm_size")
        if vm_size is not None or vm_priority is not None:
            configuration.amlcompute.vm_size, configuration.amlcompute.vm_priority = vm_size, vm_priority
            if compute_target is None:
                compute_target = "amlcompute"
        configuration.node_count = node_count
        if source_directory_data_store is not None:
            configuration.source_directory_data_store = getattr(source_directory_data_store, "name", source_directory_data_store)
        for i, one in enumerate(inputs or ()):
            self._add_input(configuration, one, f"inputs[{i}]")
        if distributed_backend is not None and distributed_training is not None:
            raise UserErrorException("distributed_backend and distributed_training exclude each other; give distributed_training")
        if distributed_backend is not None:
            distributed_training = named(distributed_backend, process_count_per_node, _worker_count, _parameter_server_count)
        super().__init__(source_directory, script=entry_script, arguments=script_arguments(script_params), run_config=configuration,
                         compute_target=compute_target, max_run_duration_seconds=max_run_duration_seconds or _LONGEST, resume_from=resume_from)
        if distributed_training is not None:
            self._distribute(distributed_training, node_count)
        elif process_count_per_node != 1:
            self._distribute(Mpi(process_count_per_node), node_count)

    @property
    def conda_dependencies(self) -> CondaDependencies:
        """The packages, which may be changed."""
        return self.run_config.environment.python.conda_dependencies

    @property
    def entry_script(self) -> str | None:
        """The script."""
        return self.script

    def _warn(self) -> None:
        import sys
        import warnings

        # The line that is to be changed is the first one outside of this package.
        level, frame = 2, sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("azureml."):
            level, frame = level + 1, frame.f_back
        warnings.warn(f"{type(self).__name__} is deprecated since version 1.19.0: use ScriptRunConfig with an Environment", DeprecationWarning,
                      stacklevel=level)

    def _distribute(self, training: Any, node_count: int) -> None:
        configuration = self.run_config
        if isinstance(training, MpiConfiguration):
            configuration.mpi, configuration.communicator = MpiConfiguration(training.process_count_per_node, node_count), "Mpi"
        elif isinstance(training, PyTorchConfiguration):
            configuration.pytorch = PyTorchConfiguration(training.communication_backend, training.process_count, node_count)
            configuration.framework, configuration.communicator = "PyTorch", training.communication_backend
        elif isinstance(training, TensorflowConfiguration):
            configuration.tensorflow = TensorflowConfiguration(training.worker_count, training.parameter_server_count)
            configuration.framework, configuration.communicator = "TensorFlow", "ParameterServer"
        else:
            raise wrong("distributed_training", "Mpi(), Nccl(), Gloo() or ParameterServer()", training)

    def _environment(self, given: Any, source_directory: Any, use_gpu: bool, use_docker: bool, image: str | None, registry: Any,
                     user_managed: bool, conda_packages: Any, pip_packages: Any, conda_file: Any, pip_file: Any) -> Environment:
        """The environment of the arguments."""
        for name, flag in (("use_gpu", use_gpu), ("use_docker", use_docker), ("user_managed", user_managed)):
            if flag is not None and not isinstance(flag, bool):
                raise wrong(name, "True or False", flag)
        if given is not None:
            if not isinstance(given, Environment):
                raise wrong("environment_definition", "an Environment", given)
            if conda_packages or pip_packages or conda_file or pip_file:
                raise UserErrorException("environment_definition and packages exclude each other; put the packages into the environment")
            return given
        environment = Environment()
        environment.python.user_managed_dependencies = bool(user_managed)
        folder = os.fspath(source_directory) if source_directory else os.curdir
        if conda_file is not None and pip_file is not None:
            raise UserErrorException("conda_dependencies_file and pip_requirements_file exclude each other; give one of them")
        if conda_file is not None:
            environment.python.conda_dependencies = CondaDependencies(_beside(conda_file, folder))
        elif pip_file is not None:
            environment.python.conda_dependencies.set_pip_requirements(requirements(_beside(pip_file, folder)))
        packages = environment.python.conda_dependencies
        if not user_managed and conda_file is None:
            for package in self._framework_packages:
                packages.add_pip_package(package)
        for package in _list(conda_packages, "conda_packages"):
            packages.add_conda_package(package)
        for package in _list(pip_packages, "pip_packages"):
            packages.add_pip_package(package)
        docker = environment.docker
        # On the target 'local' an image is used where one is named; everywhere else Azure always used one.
        docker.base_image = image or (DEFAULT_GPU_IMAGE if use_gpu else DEFAULT_CPU_IMAGE)
        docker.enabled = bool(use_docker and image)
        docker.gpu_support = bool(use_gpu)
        if registry is not None:
            docker.base_image_registry = registry
        return environment

    @staticmethod
    def _add_input(configuration: RunConfiguration, one: Any, path: str) -> None:
        if not hasattr(one, "_ferry_argument"):
            raise wrong(path, "a DataReference or a DatasetConsumptionConfig", one)
        name = getattr(one, "data_reference_name", None)
        if name is not None:
            configuration.data_references[name] = one
        else:
            configuration.data[getattr(one, "name", path)] = one


class Estimator(MMLBaseEstimator):
    """A script of any framework. ``script_params`` maps flags to values; an empty text is a bare flag."""


def script_arguments(script_params: Mapping[str, Any] | None) -> list[Any]:
    """A dict of flags as a list of arguments."""
    if script_params is None:
        return []
    if not isinstance(script_params, Mapping):
        raise wrong("script_params", "a dict of flags and values", script_params)
    arguments: list[Any] = []
    for flag, value in script_params.items():
        arguments.append(str(flag))
        if value is not None and not (isinstance(value, str) and value == ""):
            arguments.append(value)
    return arguments


def _list(values: Any, argument: str) -> list[str]:
    if values is None:
        return []
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise wrong(argument, "a list of packages", values)
    return list(values)


def _beside(path: Any, folder: str) -> str:
    """A file named from the source folder, or from here."""
    inside = os.path.join(folder, os.fspath(path))
    return inside if os.path.isfile(inside) else os.fspath(path)
