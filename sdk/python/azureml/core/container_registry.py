"""Where images come from that are not public."""

from __future__ import annotations

from typing import Any

from ferry.section import Anything, Field, Section, Text

__all__ = ["ContainerRegistry", "RegistryIdentity"]


class RegistryIdentity(Section):
    """An identity of Azure's; recorded, without an effect here."""

    resource_id: str | None
    client_id: str | None

    _fields = (Field("resource_id", "resourceId", Text()), Field("client_id", "clientId", Text()))


class ContainerRegistry(Section):
    """A registry's address, and the name and password of a user of it. The password is sent to the server, which seals it, and shown to
    nobody."""

    address: str | None
    username: str | None
    password: str | None
    registry_identity: Any

    _fields = (Field("address", "address", Text()), Field("username", "username", Text()), Field("password", "password", Text()),
               Field("registry_identity", "registryIdentity", Anything()))
