"""What a model needs when it is served; recorded with the model."""

from __future__ import annotations

from typing import Any, Mapping

from azureml.exceptions import UserErrorException

__all__ = ["ResourceConfiguration"]


class ResourceConfiguration:
    """CPU cores, gigabytes of memory, and GPUs."""

    def __init__(self, cpu: float | None = None, memory_in_gb: float | None = None, gpu: int | None = None) -> None:
        for name, value in (("cpu", cpu), ("memory_in_gb", memory_in_gb), ("gpu", gpu)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0):
                raise UserErrorException(f"{name}: expected a number from 0, found {value!r}")
        self.cpu = cpu
        self.memory_in_gb = memory_in_gb
        self.gpu = gpu

    def serialize(self) -> dict[str, Any]:
        """The form that is kept with a model."""
        return {"cpu": self.cpu, "memoryInGB": self.memory_in_gb, "gpu": self.gpu}

    @staticmethod
    def deserialize(payload_obj: Mapping[str, Any] | None) -> ResourceConfiguration | None:
        """What :meth:`serialize` gave; None for nothing."""
        if not payload_obj:
            return None
        memory = payload_obj.get("memoryInGB", payload_obj.get("memory_in_gb"))
        return ResourceConfiguration(payload_obj.get("cpu"), memory, payload_obj.get("gpu"))

    def __repr__(self) -> str:
        return f"ResourceConfiguration(cpu={self.cpu}, memory_in_gb={self.memory_in_gb}, gpu={self.gpu})"
