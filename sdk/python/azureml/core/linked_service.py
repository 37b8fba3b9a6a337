"""Linked Synapse workspaces come later; these names can be imported."""

from __future__ import annotations

from typing import Any

from ferry.not_yet import placeholder

__all__ = ["LinkedService", "SynapseWorkspaceLinkedServiceConfiguration"]

_WHAT = "Linking Synapse workspaces"

LinkedService: Any = placeholder("LinkedService", _WHAT, __name__)
SynapseWorkspaceLinkedServiceConfiguration: Any = placeholder("SynapseWorkspaceLinkedServiceConfiguration", _WHAT, __name__)
