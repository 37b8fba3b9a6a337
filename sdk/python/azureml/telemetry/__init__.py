"""Ferry sends no telemetry. The switches are accepted and change nothing."""

from __future__ import annotations

from typing import Any

__all__ = ["set_diagnostics_collection"]


def set_diagnostics_collection(send_diagnostics: bool = True, verbosity: Any = None, reason: str = "", path: Any = None) -> None:
    """Accepted; nothing is collected either way."""
