"""Images of models come later; these names can be imported."""

from __future__ import annotations

from typing import Any

from ferry.not_yet import placeholder

__all__ = ["ContainerImage", "Image"]

_WHAT = "Packing models into images"

Image: Any = placeholder("Image", _WHAT, __name__)
ContainerImage: Any = placeholder("ContainerImage", _WHAT, __name__)
