"""What to run: a script or a command of a folder, with where and in what it runs."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from azureml.exceptions import UserErrorException

__all__ = ["ScriptRunConfig"]


class ScriptRunConfig:
    """A script (or a command) of ``source_directory`` and its run configuration, which is always there as ``run_config`` and may be
    changed until it is submitted. What is given here wins over what it says. Raises UserErrorException for arguments that contradict each other."""

    MAX_DURATION_SECONDS_DEFAULT = 2592000

    def __init__(self, source_directory: Any, script: Any = None, arguments: Sequence[Any] | None = None, run_config: Any = None,
                 _telemetry_values: Any = None, compute_target: Any = None, environment: Any = None, distributed_job_config: Any = None,
                 resume_from: Any = None, max_run_duration_seconds: int | None = 2592000, command: Any = None,
                 docker_runtime_config: Any = None) -> None:
        _check(source_directory, script, arguments, command, compute_target, max_run_duration_seconds)
        if run_config is None:
            from azureml.core.runconfig import RunConfiguration

            run_config = RunConfiguration()
        elif isinstance(run_config, (str, dict)) or not hasattr(run_config, "_submission"):
            raise UserErrorException(f"run_config must be a RunConfiguration, not a value of type {type(run_config).__name__}")
        self.source_directory = source_directory if source_directory else "."
        self.script = None if script is None else os.fspath(script)
        self.arguments = None if arguments is None else list(arguments)
        self.command = command
        self.max_run_duration_seconds = max_run_duration_seconds
        self.resume_from = resume_from
        self.run_config = run_config
        if compute_target is not None:
            run_config.target = compute_target
        if environment is not None:
            run_config.environment = environment
        if docker_runtime_config is not None:
            run_config.docker = docker_runtime_config
        if distributed_job_config is not None:
            _distribute(run_config, distributed_job_config)

    def _whole_run_config(self) -> Any:
        """The run configuration with what was said here. Several of these may share one, so it is a copy."""
        import copy

        whole = copy.copy(self.run_config)
        if self.script is not None:
            whole.script, whole.command = self.script, None
        if self.command is not None:
            whole.script, whole.command, whole.arguments = None, self.command, []
        if self.arguments is not None:
            whole.arguments = self.arguments
        seconds = self.max_run_duration_seconds
        if seconds != self.MAX_DURATION_SECONDS_DEFAULT or not getattr(whole, "max_run_duration_seconds", None):
            whole.max_run_duration_seconds = seconds
        return whole

    def _submit(self, experiment: Any, tags: Mapping[str, str] | None = None, parent: str | None = None, run_id: str | None = None,
                type: str | None = None, properties: Mapping[str, str] | None = None, **_: Any) -> Any:
        from ferry import submission

        return submission.submit(experiment, self.source_directory, self._whole_run_config(), tags=tags, parent=parent, run_id=run_id, type=type,
                                 properties=properties, resume_from=self.resume_from)

    def __repr__(self) -> str:
        what = self.command or self.script
        return f"ScriptRunConfig(source_directory={self.source_directory!r}, {'command' if self.command else 'script'}={what!r})"


def _check(source_directory: Any, script: Any, arguments: Any, command: Any, compute_target: Any, seconds: Any) -> None:
    if source_directory is not None and not isinstance(source_directory, (str, os.PathLike)):
        raise UserErrorException(f"source_directory must be a path, not a value of type {type(source_directory).__name__}")
    if script is not None and not isinstance(script, (str, os.PathLike)):
        raise UserErrorException(f"script must be a path, not a value of type {type(script).__name__}")
    if script is not None and command is not None:
        raise UserErrorException("script and command cannot both be given: take one of them")
    if command is not None and arguments is not None:
        raise UserErrorException("arguments go with a script; with a command they are part of the command")
    if arguments is not None and (isinstance(arguments, (str, bytes, Mapping)) or not hasattr(arguments, "__iter__")):
        raise UserErrorException(f"arguments must be a list, not a value of type {type(arguments).__name__}")
    if command is not None and (not isinstance(command, (str, list, tuple)) or not command):
        raise UserErrorException("command must be a text or a list of words, and not empty")
    if compute_target is not None and not isinstance(compute_target, str) and not isinstance(getattr(compute_target, "name", None), str):
        raise UserErrorException(f"compute_target must be a name or a ComputeTarget, not a value of type {type(compute_target).__name__}")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int) or seconds < 0):
        raise UserErrorException(f"max_run_duration_seconds must be a whole number of seconds, not {seconds!r}")


def _distribute(run_config: Any, job: Any) -> None:
    """Puts a distributed configuration (MpiConfiguration and its like) where the run configuration has it."""
    homes = {"MpiConfiguration": ("mpi", "Python", "Mpi"), "PyTorchConfiguration": ("pytorch", "PyTorch", None),
             "TensorflowConfiguration": ("tensorflow", "TensorFlow", "ParameterServer"),
             "ParallelTaskConfiguration": ("paralleltask", "Python", None)}
    home = homes.get(type(job).__name__)
    if home is None:
        raise UserErrorException("distributed_job_config must be an MpiConfiguration, a PyTorchConfiguration, a TensorflowConfiguration or a "
                                 f"ParallelTaskConfiguration, not a value of type {type(job).__name__}")
    setattr(run_config, home[0], job)
    run_config.framework = home[1]
    run_config.communicator = home[2] or getattr(job, "communication_backend", None) or "None"
    nodes = getattr(job, "node_count", None)
    if nodes:
        run_config.node_count = nodes
