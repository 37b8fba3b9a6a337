"""Partition formats: columns that are read out of the paths of files, such as ``/{country}/{day:yyyy/MM/dd}/data.csv``."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from azureml.data.dataset_error_handling import DatasetExecutionError
from azureml.exceptions import UserErrorException

_FIELD = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")
_PARTS = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2}
_PART = re.compile("|".join(_PARTS))
_ORDER = ("yyyy", "MM", "dd", "HH", "mm", "ss")


class Format:
    """A partition format, ready to read paths."""

    def __init__(self, text: Any) -> None:
        if not isinstance(text, str) or not text.strip():
            raise UserErrorException(f"partition_format must be a text such as '/{{country}}/data.csv', not {text!r}")
        self.text = text
        self.keys: list[str] = []
        self._times: set[str] = set()
        self._groups: list[tuple[str, str]] = []  # (column, part of a time or "")
        pattern = text.replace("\\", "/").lstrip("/")
        out, at = [], 0
        for field in _FIELD.finditer(pattern):
            out.append(_literal(pattern[at:field.start()]))
            out.append(self._field(field.group(1).strip(), field.group(2)))
            at = field.end()
        out.append(_literal(pattern[at:]))
        if not self.keys:
            raise UserErrorException(f"partition_format has no '{{column}}' in it: '{text}'")
        self._regex = re.compile("(?:^|/)" + "".join(out) + r"\Z", re.DOTALL)

    def _field(self, name: str, form: str | None) -> str:
        known = name in self.keys
        if not known:
            self.keys.append(name)
        if not form:
            if known:
                raise UserErrorException(f"partition_format has '{{{name}}}' twice: '{self.text}'")
            self._groups.append((name, ""))
            return "([^/]+?)"
        self._times.add(name)
        out, at = [], 0
        for part in _PART.finditer(form):
            out.append(re.escape(form[at:part.start()]))
            self._groups.append((name, part.group()))
            out.append(r"(\d{%d})" % _PARTS[part.group()])
            at = part.end()
        if not at:
            raise UserErrorException(f"partition_format: '{form}' of '{{{name}}}' has none of {', '.join(_ORDER)}")
        return "".join(out) + re.escape(form[at:])

    def read(self, path: str) -> dict[str, Any]:
        """The columns of a path: text, or a datetime."""
        match = self._regex.search(path.lstrip("/"))
        if match is None:
            raise DatasetExecutionError(f"the path '{path}' does not fit the partition_format '{self.text}'")
        found: dict[str, Any] = {}
        times: dict[str, dict[str, int]] = {}
        for (name, part), text in zip(self._groups, match.groups()):
            if part:
                times.setdefault(name, {})[part] = int(text)
            else:
                found[name] = text
        for name, parts in times.items():
            try:
                found[name] = datetime(*(parts.get(part, 1 if part in ("MM", "dd") else 0) for part in _ORDER))  # type: ignore[arg-type]
            except ValueError as error:
                raise DatasetExecutionError(f"the path '{path}' has no time where partition_format '{self.text}' says '{name}': {error}") from None
        return {key: found[key] for key in self.keys}


def keys(text: str) -> list[str]:
    """The columns of a format."""
    return Format(text).keys


def _literal(text: str) -> str:
    from azureml.data._files import glob_regex

    return glob_regex(text).pattern[:-2]
