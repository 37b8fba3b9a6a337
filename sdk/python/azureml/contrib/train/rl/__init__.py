"""Reinforcement learning with Ray: a head, workers, and a script that finds them."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from azureml.core.environment import Environment, check_size
from azureml.core.runconfig import HistoryConfiguration, RunConfiguration
from azureml.core.script_run_config import ScriptRunConfig
from azureml.exceptions import UserErrorException
from azureml.train.estimator import MMLBaseEstimator, script_arguments
from ferry.not_yet import not_yet
from ferry.section import Whole, wrong

__all__ = ["RLFramework", "Ray", "ReinforcementLearningEstimator", "ReinforcementLearningRun", "WorkerConfiguration"]

_STARTING_SECONDS = 600


class RLFramework:
    """What the head and the workers are; Ray is the only one."""


class Ray(RLFramework):
    """Ray from PyPI. Without ``version`` it is the newest that the environment's Python can have. ``framework_arguments`` are further
    arguments of ``ray start`` on the head."""

    name = "ray"

    def __init__(self, version: str | None = None, framework_arguments: Sequence[str] | None = None, *args: Any) -> None:
        if version is not None and (not isinstance(version, str) or not version):
            raise wrong("version", "a version of Ray's such as 2.9.0", version)
        if isinstance(framework_arguments, (str, bytes)):
            raise wrong("framework_arguments", "a list of arguments", framework_arguments)
        self.version = version
        self.framework_arguments = [str(argument) for argument in framework_arguments or ()]

    def _packages(self) -> list[str]:
        return [f"ray[rllib]=={self.version}" if self.version else "ray[rllib]"]

    def __repr__(self) -> str:
        return f"ray-{self.version or 'latest'}"


class WorkerConfiguration:
    """The workers: how many, and what is installed for them. On one node they share the environment of the head."""

    def __init__(self, node_count: int = 1, compute_target: Any = None, environment: Environment | None = None,
                 shm_size: Any = None, history: HistoryConfiguration | None = None, use_gpu: bool | None = None,
                 pip_packages: Sequence[str] | None = None, conda_packages: Sequence[str] | None = None,
                 conda_dependencies_file: Any = None, pip_requirements_file: Any = None, environment_variables: Mapping[str, Any] | None = None,
                 inputs: Sequence[Any] | None = None) -> None:
        self.node_count = Whole(0, 1000).read(node_count, "node_count")
        self.target = self.compute_target = compute_target
        self.environment = environment
        self.shm_size = shm_size
        self.history = history
        self.use_gpu = use_gpu
        self.pip_packages = list(pip_packages or [])
        self.conda_packages = list(conda_packages or [])
        self.conda_dependencies_file = conda_dependencies_file
        self.pip_requirements_file = pip_requirements_file
        self.environment_variables = dict(environment_variables or {})
        self.inputs = list(inputs or [])


class ReinforcementLearningEstimator(MMLBaseEstimator):
    """A script with a Ray cluster around it. The head and the workers are processes of the node that the script runs on; the script finds
    them by ``ray.init()`` or ``ray.init(address="auto")``."""

    def __init__(self, source_directory: Any, *, environment: Environment | None = None, entry_script: Any = None,
                 script_params: Mapping[str, Any] | None = None, compute_target: Any = None, use_gpu: bool | None = None,
                 pip_packages: Sequence[str] | None = None, conda_packages: Sequence[str] | None = None,
                 environment_variables: Mapping[str, Any] | None = None, rl_framework: Any = None,
                 cluster_coordination_timeout_seconds: int | None = None, max_run_duration_seconds: int | None = None,
                 worker_configuration: WorkerConfiguration | None = None, simulator_configuration: Any = None,
                 conda_dependencies_file: Any = None, pip_requirements_file: Any = None, shm_size: Any = None,
                 inputs: Sequence[Any] | None = None) -> None:
        framework = rl_framework if rl_framework is not None else Ray()
        if not isinstance(framework, Ray):
            raise wrong("rl_framework", "Ray()", rl_framework)
        if worker_configuration is not None and not isinstance(worker_configuration, WorkerConfiguration):
            raise wrong("worker_configuration", "a WorkerConfiguration", worker_configuration)
        if entry_script is None:
            raise UserErrorException("entry_script: expected the script to run, found nothing")
        if simulator_configuration is not None:
            raise not_yet("A simulator beside the workers (simulator_configuration)")
        worker = worker_configuration or WorkerConfiguration(0)
        self._same_node(compute_target, worker)
        self._warn()
        timeout = Whole(1, 30 * 86400).read(cluster_coordination_timeout_seconds or _STARTING_SECONDS, "cluster_coordination_timeout_seconds")
        configuration = RunConfiguration()
        configuration.environment = self._head_environment(environment, source_directory, framework, worker, bool(use_gpu), conda_packages,
                                                           pip_packages, conda_dependencies_file, pip_requirements_file)
        if shm_size is not None:
            configuration.environment.docker.shm_size = check_size(str(shm_size), "shm_size")
        configuration.environment_variables = {**worker.environment_variables, **dict(environment_variables or {})}
        for i, one in enumerate([*(inputs or ()), *worker.inputs]):
            self._add_input(configuration, one, f"inputs[{i}]")
        import json

        words = ["python", "-m", "ferry.ray_cluster", "--workers", str(worker.node_count), "--timeout", str(timeout)]
        if framework.framework_arguments:
            words += ["--head", json.dumps(framework.framework_arguments)]
        ScriptRunConfig.__init__(self, source_directory, run_config=configuration, compute_target=compute_target,
                                 command=[*words, "--", str(entry_script), *script_arguments(script_params)],
                                 max_run_duration_seconds=max_run_duration_seconds or self.MAX_DURATION_SECONDS_DEFAULT)
        self.worker_configuration, self.rl_framework = worker_configuration, framework
        self._entry_script = str(entry_script)

    @property
    def entry_script(self) -> str | None:
        """The script."""
        return self._entry_script

    def _submit(self, experiment: Any, *args: Any, **kwargs: Any) -> Any:
        import os

        from ferry.submission import script_inside

        script_inside(os.fspath(self.source_directory), self._entry_script)
        return super()._submit(experiment, *args, **{**kwargs, "type": "azureml.reinforcementlearning"})

    @staticmethod
    def _same_node(compute_target: Any, worker: WorkerConfiguration) -> None:
        head = getattr(compute_target, "name", compute_target) or "local"
        other = getattr(worker.compute_target, "name", worker.compute_target) or head
        if head != "local" or other != head:
            raise not_yet("A Ray cluster over several nodes", "Give the head and the workers the target 'local'.")

    def _head_environment(self, given: Any, source_directory: Any, framework: Ray, worker: WorkerConfiguration, use_gpu: bool, conda_packages: Any,
                          pip_packages: Any, conda_file: Any, pip_file: Any) -> Environment:
        if given is not None:
            if not isinstance(given, Environment):
                raise wrong("environment", "an Environment", given)
            import copy

            environment = copy.deepcopy(given)
            environment.name = None if given._curated else environment.name
            environment._origin = None
        else:
            environment = self._environment(None, source_directory, use_gpu, True, None, None, False, None, None, conda_file, pip_file)
        packages = environment.python.conda_dependencies
        if packages is None or environment.python.user_managed_dependencies:
            return environment
        for package in [*(conda_packages or ()), *worker.conda_packages]:
            packages.add_conda_package(package)
        for package in [*(pip_packages or ()), *worker.pip_packages]:
            packages.add_pip_package(package)
        named = {line.split("[")[0].split("=")[0].split(">")[0].split("<")[0].strip().lower() for line in packages.pip_packages}
        if "ray" not in named:
            for package in framework._packages():
                packages.add_pip_package(package)
        return environment


def __getattr__(name: str) -> Any:
    if name != "ReinforcementLearningRun":
        raise AttributeError(f"module 'azureml.contrib.train.rl' has no attribute '{name}'")
    # The run of a submitted estimator is an ordinary one.
    from azureml.core.run import Run

    return Run
