"""Parameters of stored procedures: names that are there to be imported."""

from __future__ import annotations

from enum import Enum
from typing import Any

__all__ = ["StoredProcedureParameter", "StoredProcedureParameterType"]


class StoredProcedureParameterType(Enum):
    """The type of a parameter."""

    String = "String"
    Int = "Int"
    Decimal = "Decimal"
    Guid = "Guid"
    Boolean = "Boolean"
    Date = "Date"


class StoredProcedureParameter:
    """One parameter: name, value and type. Kept as given."""

    def __init__(self, name: str, value: Any, type: StoredProcedureParameterType | None = None) -> None:
        self.name = name
        self.value = value
        self.type = StoredProcedureParameterType.String if type is None else type
