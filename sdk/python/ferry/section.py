"""Sections of configurations: attributes in Python's spelling, members in the spelling of Azure's files.

A class derives from :class:`Section` and lists its fields. What an attribute may hold is checked when the section is written or used,
so that it can be set in any order; what a file holds is checked when it is read.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping

from azureml.exceptions import UserErrorException

_MOST = 100_000


def wrong(path: str, expected: str, found: Any) -> UserErrorException:
    """The error for a value that is not what it must be."""
    shown = f"'{found[:80]}'" if isinstance(found, str) else f"a value of type {type(found).__name__}"
    if isinstance(found, (bool, int, float)):
        shown = repr(found)
    return UserErrorException(f"{path}: expected {expected}, found {shown}")


def is_absent(value: Any) -> bool:
    """Nothing, an empty text, or the word None."""
    return value is None or (isinstance(value, str) and value.strip().lower() in ("", "~", "none", "null"))


class Kind:
    """What a field may hold: :meth:`read` takes it from a file, :meth:`write` gives what goes into one."""

    def read(self, value: Any, path: str) -> Any:
        return value

    def write(self, value: Any, path: str) -> Any:
        return self.read(value, path)


class Text(Kind):
    def read(self, value: Any, path: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise wrong(path, "a text", value)
        return str(value)


class Flag(Kind):
    def read(self, value: Any, path: str) -> Any:
        if isinstance(value, bool):
            return value
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in ("true", "false", "yes", "no", "on", "off"):
            raise wrong(path, "True or False", value)
        return word in ("true", "yes", "on")


class Whole(Kind):
    def __init__(self, low: int = 1, high: int = 2147483647) -> None:
        self._low, self._high = low, high

    def read(self, value: Any, path: str) -> Any:
        number = value
        if isinstance(value, str):
            try:
                number = int(value.strip())
            except ValueError:
                number = None
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int) or not self._low <= number <= self._high:
            raise wrong(path, f"a whole number from {self._low} to {self._high}", value)
        return number


class Number(Kind):
    def read(self, value: Any, path: str) -> Any:
        try:
            number = float(value) if not isinstance(value, bool) else 0.0
        except (TypeError, ValueError):
            number = 0.0
        if not 0 < number < 1e9:
            raise wrong(path, "a number over 0", value)
        return int(number) if number.is_integer() else number


class Word(Kind):
    """One of a few words, in any case; kept as they are spelt here."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def read(self, value: Any, path: str) -> Any:
        for word in self._words:
            if isinstance(value, str) and value.strip().lower() == word.lower():
                return word
        raise wrong(path, "one of " + ", ".join(self._words), value)


class Texts(Kind):
    def read(self, value: Any, path: str) -> Any:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise wrong(path, "a list of texts", value)
        return [_text(item, f"{path}[{i}]") for i, item in enumerate(value)]


class TextMap(Kind):
    def read(self, value: Any, path: str) -> Any:
        if not isinstance(value, Mapping):
            raise wrong(path, "a dict of texts", value)
        out = {}
        for name, item in value.items():
            if not isinstance(name, str) or not name or "=" in name:
                raise wrong(path, "names of variables without '='", name)
            out[name] = "" if item is None else str(item) if isinstance(item, bool) else _text(item, f"{path}.{name}")
        return out


class Anything(Kind):
    """Kept as it is: lists, dicts and plain values."""


class Members(Kind):
    """A dict of anything."""

    def read(self, value: Any, path: str) -> Any:
        return members(value, path)


class Part(Kind):
    """A section within a section."""

    def __init__(self, make: Callable[[], "Section"]) -> None:
        self._make = make

    def new(self) -> "Section":
        return self._make()

    def read(self, value: Any, path: str) -> Any:
        part = self._make()
        part._read(value, path)
        return part

    def write(self, value: Any, path: str) -> Any:
        if not isinstance(value, Section):
            raise wrong(path, f"a {type(self._make()).__name__}", value)
        return value._write(path)


class Parts(Kind):
    """A list of sections."""

    def __init__(self, make: Callable[[], "Section"]) -> None:
        self._part = Part(make)

    def read(self, value: Any, path: str) -> Any:
        if not isinstance(value, (list, tuple)):
            raise wrong(path, "a list", value)
        return [self._part.read(item, f"{path}[{i}]") for i, item in enumerate(value)]

    def write(self, value: Any, path: str) -> Any:
        if not isinstance(value, (list, tuple)):
            raise wrong(path, "a list", value)
        return [self._part.write(item, f"{path}[{i}]") for i, item in enumerate(value)]


class PartMap(Kind):
    """Sections by name."""

    def __init__(self, make: Callable[[], "Section"]) -> None:
        self._part = Part(make)

    def read(self, value: Any, path: str) -> Any:
        if not isinstance(value, Mapping):
            raise wrong(path, "a dict", value)
        return {str(name): self._part.read(item, f"{path}.{name}") for name, item in value.items()}

    def write(self, value: Any, path: str) -> Any:
        if not isinstance(value, Mapping):
            raise wrong(path, "a dict", value)
        return {str(name): self._part.write(item, f"{path}.{name}") for name, item in value.items()}


class Field:
    """One attribute: its name, its name in files, what it may hold, and what it is when nobody sets it. None means the default, unless the
    field is optional: without a default, or said to be."""

    __slots__ = ("name", "key", "kind", "default", "optional")

    def __init__(self, name: str, key: str, kind: Kind, default: Any = None, optional: bool | None = None) -> None:
        self.name, self.key, self.kind, self.default = name, key, kind, default
        self.optional = optional if optional is not None else default is None and not isinstance(kind, Part)

    def initial(self) -> Any:
        if isinstance(self.kind, Part):
            return None if self.optional else self.kind.new()
        if isinstance(self.default, (list, dict)):
            return type(self.default)(self.default)
        return self.default


class Section:
    """The base of all sections. Setting an attribute that it does not have raises AttributeError and names the nearest one."""

    _fields: tuple = ()
    _also: tuple = ()  # further attributes, which are in no file

    def __init__(self) -> None:
        for field in self._fields:
            object.__setattr__(self, field.name, field.initial())

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in self._also and all(field.name != name for field in self._fields) \
                and not isinstance(getattr(type(self), name, None), property):
            import difflib

            close = difflib.get_close_matches(name, [field.name for field in self._fields], 1)
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'" + (f"; did you mean '{close[0]}'?" if close else ""))
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        import json

        return json.dumps(shown(self), indent=4, default=str)

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and all(getattr(self, field.name) == getattr(other, field.name) for field in self._fields)

    __hash__ = None  # type: ignore[assignment]

    def _write(self, path: str = "") -> dict:
        """The members as they go into a file. A value that is wrong raises UserErrorException and is named by its path."""
        out = {}
        for field in self._fields:
            value, at = getattr(self, field.name), f"{path}.{field.name}" if path else field.name
            if value is None and not field.optional:
                value = field.initial()
            out[field.key] = None if value is None else field.kind.write(value, at)
        return out

    def _read(self, value: Any, path: str = "") -> None:
        """Takes the members of a file. Keys stand in any case; absent values leave the defaults; unknown keys are warned of."""
        if is_absent(value):
            return
        if not isinstance(value, Mapping):
            raise wrong(path or type(self).__name__, "a section with keys of its own", value)
        if len(value) > _MOST:
            raise UserErrorException(f"{path}: more than {_MOST} keys")
        found: dict = {}
        for key, member in value.items():
            low = str(key).lower()
            if low in found:
                raise UserErrorException(f"{path + '.' if path else ''}{key}: stands twice")
            found[low] = (key, member)
        for field in self._fields:
            if field.key.lower() not in found:
                continue
            key, member = found.pop(field.key.lower())
            if is_absent(member) and not (isinstance(field.kind, Word) and isinstance(member, str) and "None" in field.kind._words):
                continue
            if is_absent(member) and not member:
                continue
            setattr(self, field.name, field.kind.read(member, f"{path}.{key}" if path else str(key)))
        self._leftover(found, path)

    def _leftover(self, members: Mapping, path: str) -> None:
        """Keys that no field has."""
        import warnings

        for key, _ in members.values():
            warnings.warn(f"{path + '.' if path else ''}{key} is not a key that Ferry knows", stacklevel=4)


def members(value: Any, path: str) -> dict:
    """A dict; nothing is an empty one."""
    if is_absent(value):
        return {}
    if not isinstance(value, Mapping):
        raise wrong(path, "a dict", value)
    return dict(value)


def shown(value: Any) -> Any:
    """A value for people to read: as it is, right or wrong, under the names of files and without passwords."""
    if isinstance(value, Section):
        return {field.key: "***" if field.key == "password" and getattr(value, field.name) else shown(getattr(value, field.name))
                for field in value._fields}
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if isinstance(value, Mapping):
        return {str(name): shown(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value if hasattr(value, "_ferry_argument") else getattr(value, "name", None) or value)


def _text(item: Any, path: str) -> str:
    if isinstance(item, bool) or not isinstance(item, (str, int, float)):
        raise wrong(path, "a text", item)
    return str(item)
