"""Conditions on the columns of a dataset: ``dataset['age'] > 3``, kept as plain lists."""

from __future__ import annotations

import operator
from datetime import date, datetime
from typing import Any, Callable

from azureml.data import _time
from azureml.exceptions import UserErrorException

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}
_TEXT = ("contains", "starts_with", "ends_with")


class Expression:
    """A condition. ``&``, ``|`` and ``~`` combine them; Python's ``and``, ``or`` and ``not`` cannot."""

    def __init__(self, plain: list[Any]) -> None:
        self._plain = plain

    def __and__(self, other: Any) -> Expression:
        return Expression(["and", self._plain, plain_of(other)])

    def __or__(self, other: Any) -> Expression:
        return Expression(["or", self._plain, plain_of(other)])

    def __invert__(self) -> Expression:
        return Expression(["not", self._plain])

    def __bool__(self) -> bool:
        raise UserErrorException("a condition on a dataset has no value of its own: combine conditions with &, | and ~, in parentheses")

    def __repr__(self) -> str:
        return f"Expression({self._plain!r})"


class Column:
    """A column of a dataset, to be compared with a value. Gives an :class:`Expression`."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self._name = name

    def _than(self, compare: str, value: Any) -> Expression:
        return Expression([compare, self._name, _constant(value)])

    def __eq__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._than("==", other)

    def __ne__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._than("!=", other)

    def __gt__(self, other: Any) -> Expression:
        return self._than(">", other)

    def __ge__(self, other: Any) -> Expression:
        return self._than(">=", other)

    def __lt__(self, other: Any) -> Expression:
        return self._than("<", other)

    def __le__(self, other: Any) -> Expression:
        return self._than("<=", other)

    def contains(self, text: str) -> Expression:
        """Whether the value has this text in it."""
        return self._than("contains", text)

    def starts_with(self, text: str) -> Expression:
        """Whether the value begins with this text."""
        return self._than("starts_with", text)

    def ends_with(self, text: str) -> Expression:
        """Whether the value ends with this text."""
        return self._than("ends_with", text)

    def is_null(self) -> Expression:
        """Whether there is no value."""
        return Expression(["null", self._name])

    def __bool__(self) -> bool:
        raise UserErrorException("a column of a dataset has no value of its own: compare it with one")


def plain_of(condition: Any) -> list[Any]:
    """The plain form of a condition."""
    if not isinstance(condition, Expression):
        raise UserErrorException(f"a condition is made by comparing columns, such as dataset['age'] > 3; this is a value of type {type(condition).__name__}")
    return condition._plain


def columns(plain: list[Any]) -> set[str]:
    """The columns that a condition needs."""
    if plain[0] in ("and", "or", "not"):
        return set().union(*(columns(part) for part in plain[1:]))
    return {plain[1]}


def holds(plain: list[Any], record: dict[str, Any]) -> bool:
    """Whether a record, given as a dict, meets the condition. A value that is missing meets none but ``is_null``."""
    op = plain[0]
    if op == "and":
        return holds(plain[1], record) and holds(plain[2], record)
    if op == "or":
        return holds(plain[1], record) or holds(plain[2], record)
    if op == "not":
        return not holds(plain[1], record)
    if plain[1] not in record:
        raise UserErrorException(f"there is no '{plain[1]}' to filter by; there is {', '.join(sorted(record))}")
    value = record[plain[1]]
    if op == "null":
        return value is None
    if value is None:
        return False
    other = value_of(plain[2])
    if op in _TEXT:
        return {"contains": other in str(value), "starts_with": str(value).startswith(other), "ends_with": str(value).endswith(other)}[op]
    if isinstance(value, datetime) and isinstance(other, datetime) and (value.tzinfo is None) != (other.tzinfo is None):
        value, other = value.replace(tzinfo=None), other.replace(tzinfo=None)
    try:
        return bool(_COMPARE[op](value, other))
    except TypeError:
        raise UserErrorException(f"'{plain[1]}' is a value of type {type(value).__name__} and cannot be compared with {other!r}") from None


def mask(plain: list[Any], frame: Any) -> Any:
    """Which rows of a pandas frame meet the condition."""
    op = plain[0]
    if op == "and":
        return mask(plain[1], frame) & mask(plain[2], frame)
    if op == "or":
        return mask(plain[1], frame) | mask(plain[2], frame)
    if op == "not":
        return ~mask(plain[1], frame)
    series = frame[plain[1]]
    if op == "null":
        return series.isna()
    other = value_of(plain[2])
    if op in _TEXT:
        text = series.astype("string").str
        found = text.contains(other, regex=False) if op == "contains" else text.startswith(other) if op == "starts_with" else text.endswith(other)
        return found.fillna(False).astype(bool)
    zone = getattr(series.dtype, "tz", None)
    if isinstance(other, datetime) and (zone is None) != (other.tzinfo is None):
        from datetime import timezone

        other = other.replace(tzinfo=timezone.utc) if zone is not None else other.astimezone(timezone.utc).replace(tzinfo=None)
    try:
        return _COMPARE[op](series, other) & series.notna()
    except TypeError:
        raise UserErrorException(f"column '{plain[1]}' has the type {series.dtype} and cannot be compared with {other!r}") from None


def constant_of_time(value: Any, argument: str) -> dict[str, str]:
    """The plain form of a time."""
    if not isinstance(value, datetime):
        raise UserErrorException(f"{argument} must be a datetime, not a value of type {type(value).__name__}")
    return {"time": value.isoformat(timespec="microseconds")}


def value_of(constant: Any) -> Any:
    """The value of a plain form."""
    return _time.parse(constant["time"]) if isinstance(constant, dict) else constant


def _constant(value: Any) -> Any:
    if isinstance(value, (Column, Expression)):
        raise UserErrorException("a column can be compared with a value only, not with another column")
    if isinstance(value, datetime):
        return constant_of_time(value, "the value")
    if isinstance(value, date):
        return constant_of_time(datetime(value.year, value.month, value.day), "the value")
    if hasattr(value, "item") and not isinstance(value, (str, int, float)):
        value = value.item()
    if value is not None and not isinstance(value, (str, int, float, bool)):
        raise UserErrorException(f"a column can be compared with text, numbers, truth values and times, not with a value of type {type(value).__name__}")
    return value
