"""What Azure's MLflow plugin has beside MLflow itself."""

from __future__ import annotations

from typing import Any

__all__ = ["get_portal_url"]


def get_portal_url(run: Any) -> str:
    """The address of a run's page."""
    if not hasattr(run, "get_portal_url"):
        from ferry.not_yet import not_yet

        raise not_yet("The page of a run that MLflow made")
    return run.get_portal_url()
