"""The workspace's secrets."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from azureml.exceptions import UserErrorException

__all__ = ["Keyvault"]


class Keyvault:
    """The secrets of a workspace. Values are sealed at rest and only ever sent to who asks for one by its name."""

    def __init__(self, workspace: Any) -> None:
        self.workspace = workspace

    def set_secret(self, name: str, value: str, content_type: str | None = None) -> None:
        """Keeps a secret; one of the same name is replaced."""
        body = {"workspace": self.workspace.name, "value": _text(value, "value")}
        if content_type is not None:
            body["content_type"] = _text(content_type, "content_type")
        self.workspace._client.put("/secrets/" + _segment(name), body)

    def set_secrets(self, secrets_batch: Mapping[str, str]) -> None:
        """Keeps several secrets."""
        if not hasattr(secrets_batch, "items"):
            raise UserErrorException(f"secrets_batch must be a dict, not a value of type {type(secrets_batch).__name__}")
        for name, value in secrets_batch.items():
            _segment(name)
            _text(value, f"the value of '{name}'")
        for name, value in secrets_batch.items():
            self.set_secret(name, value)

    def get_secret(self, name: str) -> str | None:
        """The value of a secret; None when there is no such secret."""
        found = self._find(name)
        return None if found is None else found["value"]

    def get_secrets(self, secrets: Sequence[str]) -> dict[str, str | None]:
        """The values of several secrets by name; None for those that are not there."""
        if isinstance(secrets, str):
            raise UserErrorException("secrets must be a list of names")
        return {name: self.get_secret(name) for name in secrets}

    def get_secret_content_type(self, name: str) -> str | None:
        """What kind of text a secret is, as it was said when it was set."""
        found = self._find(name)
        return None if found is None else found.get("content_type") or None

    def list_secrets(self) -> list[dict[str, Any]]:
        """The secrets as ``{"name": ...}``, never their values."""
        return [{"name": item["name"], "content_type": item.get("content_type") or None}
                for item in self.workspace._client.pages("/secrets", "secrets", workspace=self.workspace.name)]

    def delete_secret(self, name: str) -> None:
        """Removes a secret."""
        self.workspace._client.delete("/secrets/" + _segment(name), workspace=self.workspace.name)

    def delete_secrets(self, secrets: Sequence[str]) -> None:
        """Removes several secrets."""
        if isinstance(secrets, str):
            raise UserErrorException("secrets must be a list of names")
        for name in secrets:
            self.delete_secret(name)

    def _find(self, name: str) -> dict[str, Any] | None:
        from ferry.client import NotFound

        try:
            return self.workspace._client.get("/secrets/" + _segment(name), workspace=self.workspace.name)
        except NotFound:
            return None

    def __repr__(self) -> str:
        return f"Keyvault(Workspace: {self.workspace.name})"


def _text(value: Any, argument: str) -> str:
    if not isinstance(value, str):
        raise UserErrorException(f"{argument} must be a string, not a value of type {type(value).__name__}")
    return value


def _segment(name: Any) -> str:
    from ferry.client import quote

    if not _text(name, "name"):
        raise UserErrorException("name must not be empty")
    return quote(name)
