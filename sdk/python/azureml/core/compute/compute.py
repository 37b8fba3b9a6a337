"""Compute targets: what they have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Iterable, Mapping

from azureml.core.compute import _service
from azureml.exceptions import ComputeTargetException

__all__ = ["ComputeTarget", "ComputeTargetAttachConfiguration", "ComputeTargetProvisioningConfiguration"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,30}[A-Za-z0-9]")
_RUNNING = ("Creating", "Deleting", "Scaling", "Updating", "Provisioning", "Starting", "Stopping", "Restarting", "CreateRequested", "SettingUp")


class _Configuration:
    """Arguments of one kind of compute, checked when they are given."""

    _target: ClassVar[Any] = None

    def __init__(self, **values: Any) -> None:
        self._values = values
        for name, value in values.items():
            setattr(self, name, value)
        self.validate_configuration()

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            """Its arguments are its attributes."""

    def validate_configuration(self) -> None:
        """Raises ComputeTargetException for an argument that is wrong."""

    def _properties(self) -> dict[str, Any]:
        """What goes to the server."""
        return {name: getattr(self, name) for name in self._values if getattr(self, name) not in (None, "")}

    def __repr__(self) -> str:
        shown = {name: "***" if value and ("password" in name or "passphrase" in name or "key" in name or "token" in name) else value
                 for name, value in self._values.items()}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class ComputeTargetProvisioningConfiguration(_Configuration):
    """The base of configurations for :meth:`ComputeTarget.create`."""


class ComputeTargetAttachConfiguration(_Configuration):
    """The base of configurations for :meth:`ComputeTarget.attach`."""


class ComputeTarget:
    """Where runs run. ``ComputeTarget(workspace, name)`` gives the target of that name as an object of its own class, and raises
    ComputeTargetException when there is none."""

    _compute_type: ClassVar[str] = ""
    _types: ClassVar[tuple] = ()  # further values of `type` that this class stands for
    _status_class: ClassVar[Any] = None

    def __new__(cls, workspace: Any, name: str) -> ComputeTarget:
        view = _service.view(workspace, _checked_text(name, "name"))
        target = object.__new__(_class_of(view.get("properties", {}).get("computeType", "")))
        if not isinstance(target, cls):
            raise ComputeTargetException(f"compute target '{name}' is of type {target._compute_type}, not {cls._compute_type}")
        target._take(workspace, view)
        return target

    def __init__(self, workspace: Any, name: str) -> None:
        pass  # __new__ has taken everything

    @classmethod
    def _of(cls, workspace: Any, view: Mapping[str, Any]) -> ComputeTarget:
        """The object of a view."""
        found = _class_of((view.get("properties") or {}).get("computeType", ""))
        if not issubclass(found, cls):
            raise ComputeTargetException(f"a compute target of type {found._compute_type} is none of type {cls._compute_type}")
        target = object.__new__(found)
        target._take(workspace, view)
        return target

    def _take(self, workspace: Any, view: Mapping[str, Any]) -> None:
        properties = view.get("properties") or {}
        self.workspace = workspace
        self.name: str = view["name"]
        self.id: str | None = view.get("id")
        self.tags: dict[str, str] | None = view.get("tags")
        self.location: str | None = view.get("location")
        self.type: str = properties.get("computeType") or self._compute_type
        self.provisioning_state: str | None = properties.get("provisioningState")
        self.provisioning_errors: Any = properties.get("provisioningErrors")
        self.cluster_resource_id: str | None = properties.get("resourceId")
        self.created_on: str | None = properties.get("createdOn")
        self.modified_on: str | None = properties.get("modifiedOn")
        self.description: str | None = properties.get("description")
        self.cluster_location: str | None = properties.get("computeLocation")
        self.is_attached: bool = bool(properties.get("isAttachedCompute", False))
        self._inner: dict[str, Any] = dict(properties.get("properties") or {})

    # Making

    @staticmethod
    def create(workspace: Any, name: str, provisioning_configuration: Any) -> ComputeTarget:
        """Makes a compute target. Returns before it is there; ``wait_for_completion`` waits."""
        _check_name(name)
        kind = getattr(provisioning_configuration, "_target", None)
        if not isinstance(provisioning_configuration, ComputeTargetProvisioningConfiguration) or kind is None:
            raise ComputeTargetException("provisioning_configuration: expected what provisioning_configuration() of a compute class gives, "
                                         f"found a value of type {type(provisioning_configuration).__name__}")
        provisioning_configuration.validate_configuration()
        view = _service.create(workspace, name, kind._compute_type, provisioning_configuration._properties())
        return ComputeTarget._of(workspace, view)

    @staticmethod
    def attach(workspace: Any, name: str, attach_configuration: Any) -> ComputeTarget:
        """Takes what is there already as a compute target."""
        _check_name(name)
        kind = getattr(attach_configuration, "_target", None)
        if not isinstance(attach_configuration, ComputeTargetAttachConfiguration) or kind is None:
            raise ComputeTargetException("attach_configuration: expected what attach_configuration() of a compute class gives, "
                                         f"found a value of type {type(attach_configuration).__name__}")
        attach_configuration.validate_configuration()
        view = _service.attach(workspace, name, kind._compute_type, attach_configuration._properties())
        return ComputeTarget._of(workspace, view)

    @classmethod
    def list(cls, workspace: Any) -> list[ComputeTarget]:
        """The compute targets of the workspace; of a kind's own class, those of that kind."""
        targets = [ComputeTarget._of(workspace, view) for view in _service.views(workspace)]
        return [target for target in targets if isinstance(target, cls)]

    # Its state

    def refresh_state(self) -> None:
        """Asks the server anew."""
        self._take(self.workspace, _service.view(self.workspace, self.name))

    def get_status(self) -> Any:
        """The state, asked anew: a text, or an object with ``serialize()`` for the kinds that have one."""
        self.refresh_state()
        return self.status

    @property
    def status(self) -> Any:
        """The state as it was last asked for."""
        if self._status_class is not None:
            return self._status_class(self._inner.get("status") or self._inner, self.provisioning_state)
        return self.provisioning_state

    def wait_for_completion(self, show_output: bool = False, is_delete_operation: bool = False, min_node_count: int | None = None,
                            timeout_in_minutes: float = 25, **kwargs: Any) -> None:
        """Waits until the operation under way is over, for a cluster until it has ``min_node_count`` nodes (without it: its own minimum). One
        that is under way after ``timeout_in_minutes`` is an error; nodes that are missing then are not."""
        import time

        deadline = time.monotonic() + _number(timeout_in_minutes, "timeout_in_minutes") * 60
        if min_node_count is not None:
            min_node_count = _whole(min_node_count, "min_node_count", 0)
        pause, shown, in_time = 0.1, None, True
        while True:
            try:
                self.refresh_state()
            except ComputeTargetException:
                if is_delete_operation:
                    return
                raise
            if show_output and self.provisioning_state != shown:
                shown = self.provisioning_state
                print(shown, flush=True)
            if not is_delete_operation and self._is_over(min_node_count):
                break
            in_time = time.monotonic() <= deadline
            if not in_time:
                break
            time.sleep(pause)
            pause = min(pause * 2, 5.0)
        if self.provisioning_state == "Failed":
            raise ComputeTargetException(f"compute target '{self.name}' failed: {self.provisioning_errors}")
        if not in_time and (is_delete_operation or self.provisioning_state in _RUNNING):
            raise ComputeTargetException(f"compute target '{self.name}' is still {self.provisioning_state} after {timeout_in_minutes} minutes")
        if show_output:
            self._tell_end(in_time)

    def _tell_end(self, in_time: bool) -> None:
        print(f"{self._compute_type or 'Compute'} wait for completion finished", flush=True)

    def wait_for_provisioning(self, show_output: bool = False) -> None:
        """The older name of :meth:`wait_for_completion`."""
        self.wait_for_completion(show_output)

    def _is_over(self, min_node_count: int | None) -> bool:
        return self.provisioning_state not in _RUNNING

    def get_active_runs(self, type: str | None = None, tags: Any = None, properties: Any = None, status: Any = None) -> Iterable[Any]:
        """The runs on this target that are not over yet."""
        from azureml.core.experiment import Experiment
        from azureml.core.run import Run

        wanted = [status] if isinstance(status, str) else list(status or ("NotStarted", "Queued", "Preparing", "Starting", "Running", "Finalizing"))
        for one in wanted:
            for view in self.workspace._client.pages("/runs", "runs", workspace=self.workspace.name, target=self.name, status=one,
                                                     **({"type": type} if type else {})):
                mine = view.get("tags") or {}
                if isinstance(tags, str) and tags not in mine or isinstance(tags, Mapping) and any(mine.get(k) != v for k, v in tags.items()):
                    continue
                if properties and any((view.get("properties") or {}).get(k) != v for k, v in dict(properties).items()):
                    continue
                yield Run(Experiment(self.workspace, view["experiment"]), view["id"])

    # Its end

    def delete(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        """Removes the target."""
        _service.act(self.workspace, self.name, "delete", self._compute_type)
        if wait_for_completion:
            self.wait_for_completion(show_output, is_delete_operation=True)

    def detach(self) -> None:
        """Forgets the target; what it stands for stays as it is."""
        _service.act(self.workspace, self.name, "detach", self._compute_type)

    # Forms

    def serialize(self) -> dict[str, Any]:
        """The target as a dict. Secrets are not in it."""
        return {"id": self.id, "name": self.name, "tags": self.tags, "location": self.location,
                "properties": {"computeType": self.type, "computeLocation": self.cluster_location, "description": self.description,
                               "resourceId": self.cluster_resource_id, "createdOn": self.created_on, "modifiedOn": self.modified_on,
                               "isAttachedCompute": self.is_attached, "provisioningErrors": self.provisioning_errors,
                               "provisioningState": self.provisioning_state, "properties": dict(self._inner)}}

    @classmethod
    def deserialize(cls, workspace: Any, object_dict: Mapping[str, Any]) -> ComputeTarget:
        """What :meth:`serialize` gave."""
        if not isinstance(object_dict, Mapping) or not isinstance(object_dict.get("name"), str):
            raise ComputeTargetException("object_dict: expected what serialize() gives, with a name")
        return cls._of(workspace, object_dict)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(workspace={getattr(self.workspace, 'name', None)!r}, name={self.name!r}, id={self.id!r}, "
                f"type={self.type!r}, provisioning_state={self.provisioning_state!r}, location={self.location!r}, tags={self.tags!r})")


class _Attached(ComputeTarget):
    """Targets that can be attached by a call of their own class, with the arguments of their configuration."""

    @classmethod
    def attach(cls, workspace: Any, name: str, attach_configuration: Any = None, **kwargs: Any) -> ComputeTarget:  # type: ignore[override]
        """``attach(workspace, name, attach_configuration)``, or the arguments of the configuration as keywords, as in 2018."""
        if attach_configuration is None or not isinstance(attach_configuration, ComputeTargetAttachConfiguration):
            if attach_configuration is not None:
                raise ComputeTargetException("attach_configuration: expected what attach_configuration() gives, "
                                             f"found a value of type {type(attach_configuration).__name__}")
            attach_configuration = cls.attach_configuration(**kwargs)  # type: ignore[attr-defined]
        return ComputeTarget.attach(workspace, name, attach_configuration)


# Value of `computeType` -> (module, class).
_CLASSES = {
    "AmlCompute": ("amlcompute", "AmlCompute"), "BatchAI": ("batchai", "BatchAiCompute"), "ComputeInstance": ("computeinstance", "ComputeInstance"),
    "VirtualMachine": ("remote", "RemoteCompute"), "HDInsight": ("hdinsight", "HDInsightCompute"), "Databricks": ("databricks", "DatabricksCompute"),
    "DataLakeAnalytics": ("adla", "AdlaCompute"), "Batch": ("batch", "BatchCompute"), "DataFactory": ("datafactory", "DataFactoryCompute"),
    "Kubernetes": ("kubernetescompute", "KubernetesCompute"), "AKS": ("aks", "AksCompute"), "SynapseSpark": ("synapse", "SynapseCompute"),
    "Kusto": ("kusto", "KustoCompute"), "DSVM": ("dsvm", "DsvmCompute"),
}


def _class_of(kind: str) -> Any:
    import importlib

    if kind not in _CLASSES:
        return ComputeTarget
    module, name = _CLASSES[kind]
    return getattr(importlib.import_module(f"azureml.core.compute.{module}"), name)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        found = f"'{name}'" if isinstance(name, str) else f"a value of type {type(name).__name__}"
        raise ComputeTargetException("name: expected 2 to 32 letters, digits and '-', beginning with a letter and not ending in '-', "
                                     f"found {found}")


def _checked_text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise ComputeTargetException(f"{name}: expected a text, found {value!r}")
    return value


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number < 1e9:
        raise ComputeTargetException(f"{name}: expected a number from 0, found {value!r}")
    return number


def _whole(value: Any, name: str, low: int, high: int = 1_000_000) -> int:
    """A whole number; a text that holds one will do."""
    try:
        number = int(value) if not isinstance(value, float) or value.is_integer() else low - 1
    except (TypeError, ValueError):
        number = low - 1
    if isinstance(value, bool) or not low <= number <= high:
        raise ComputeTargetException(f"{name}: expected a whole number from {low} to {high}, found {value!r}")
    return number


def _word(value: Any, name: str, words: Iterable[str]) -> str:
    for word in words:
        if isinstance(value, str) and value.lower() == word.lower():
            return word
    raise ComputeTargetException(f"{name}: expected one of {', '.join(words)}, found {value!r}")


def _together(values: Mapping[str, Any]) -> None:
    """All or none."""
    given = [name for name, value in values.items() if value]
    if given and len(given) < len(values):
        missing = next(name for name in values if name not in given)
        raise ComputeTargetException(f"{missing}: must be given, because {given[0]} is; {', '.join(values)} belong together")


def _tags(tags: Any) -> None:
    if tags is not None and (not isinstance(tags, Mapping) or any(not isinstance(key, str) for key in tags)):
        raise ComputeTargetException(f"tags: expected a dict of texts, found {tags!r}")


def _one_place(values: Mapping[str, Any], resource_id: Any) -> None:
    """A resource by its id, or by its names."""
    given = [name for name, value in values.items() if value]
    if resource_id and given:
        raise ComputeTargetException(f"resource_id and {given[0]} exclude each other; give one of them")
    if not resource_id:
        for name, value in values.items():
            if not value:
                raise ComputeTargetException(f"{name}: must be given, or resource_id instead of {', '.join(values)}")


class _SshConfiguration(ComputeTargetAttachConfiguration):
    """A machine that is reached by SSH: by its address, with a password or a private key."""

    def validate_configuration(self) -> None:
        _checked_text(self.username, "username")
        if bool(self.address) == bool(self.resource_id):
            raise ComputeTargetException("address and resource_id exclude each other; give one of them" if self.address
                                         else "address: must be given: the name or the IP address of the machine")
        self.ssh_port = _whole(self.ssh_port, "ssh_port", 1, 65535)
        if not self.password and not self.private_key_file:
            raise ComputeTargetException("password: a password or a private_key_file must be given")
        if self.password and self.private_key_file:
            raise ComputeTargetException("password and private_key_file exclude each other; give one of them")
        if self.private_key_passphrase and not self.private_key_file:
            raise ComputeTargetException("private_key_passphrase: has a meaning with a private_key_file alone")
        if self.private_key_file:
            import os

            if not os.path.isfile(os.path.expanduser(self.private_key_file)):
                raise ComputeTargetException(f"private_key_file: there is no file '{self.private_key_file}'")
