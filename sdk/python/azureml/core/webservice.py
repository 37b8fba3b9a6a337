"""Serving models comes later; these names can be imported."""

from __future__ import annotations

from typing import Any

from ferry.not_yet import placeholder

__all__ = ["AciWebservice", "AksEndpoint", "AksWebservice", "LocalWebservice", "Webservice"]

_WHAT = "Deploying models as web services"

Webservice: Any = placeholder("Webservice", _WHAT, __name__)
AciWebservice: Any = placeholder("AciWebservice", _WHAT, __name__)
AksWebservice: Any = placeholder("AksWebservice", _WHAT, __name__)
AksEndpoint: Any = placeholder("AksEndpoint", _WHAT, __name__)
LocalWebservice: Any = placeholder("LocalWebservice", _WHAT, __name__)
