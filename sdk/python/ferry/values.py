"""Python values and their wire form: JSON text, with NaN and the infinities as strings."""

from __future__ import annotations

import math
import operator
from typing import Any

from azureml.exceptions import UserErrorException

MAX_NAME = 255
_MAX_ARTIFACT_NAME = 1024
_MIN_INT, _MAX_INT = -(2**63), 2**63 - 1


def check_name(name: Any, argument: str = "name") -> str:
    """The name, if it is text of 1 to 255 characters. ``argument`` names it in the error."""
    if not isinstance(name, str):
        raise UserErrorException(f"{argument} must be a string, not {_type_name(name)}")
    if not name.strip():
        raise UserErrorException(f"{argument} must not be empty")
    if len(name) > MAX_NAME:
        raise UserErrorException(f"{argument} must have at most {MAX_NAME} characters; it has {len(name)}")
    return name


def check_artifact_name(name: Any, argument: str = "name") -> str:
    """The normalised relative path: '/' between the parts, no '.' and no empty part. '..' and absolute paths are refused."""
    if not isinstance(name, str):
        raise UserErrorException(f"{argument} must be a string, not {_type_name(name)}")
    path = name.replace("\\", "/")
    if path.startswith("/") or path[1:3] == ":/":
        raise UserErrorException(f"{argument} must be a relative path: '{name}'")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        raise UserErrorException(f"{argument} must not be empty")
    if ".." in parts:
        raise UserErrorException(f"{argument} must not contain '..': '{name}'")
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in path):
        raise UserErrorException(f"{argument} must not contain control characters: {name!r}")
    path = "/".join(parts)
    if len(path) > _MAX_ARTIFACT_NAME or any(len(part.encode("utf-8", "replace")) > 255 for part in parts):
        raise UserErrorException(
            f"{argument} must have at most {_MAX_ARTIFACT_NAME} characters and 255 bytes between two '/'")
    return path


def check_step(step: Any) -> int:
    """The step as an integer of 64 bits; a float counts when it is whole."""
    try:
        whole = operator.index(step)
    except TypeError:
        try:
            number = float(step)
        except (TypeError, ValueError):
            number = math.nan
        if not number.is_integer():
            raise UserErrorException(f"step must be a whole number, not {step!r}") from None
        whole = int(number)
    if not _MIN_INT <= whole <= _MAX_INT:
        raise UserErrorException(f"step must fit into 64 bits: {whole}")
    return whole


def number_text(value: float) -> str:
    """The JSON text of a float."""
    if math.isfinite(value):
        return float.__repr__(value)
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def to_scalar(value: Any, argument: str = "value") -> int | float | str:
    """One number or text. Numpy scalars, tensors of one element, Decimal and the like become what they hold."""
    plain = _leaf(value, unwrap=True)
    if plain is None or plain is _NOT_A_LEAF:
        raise UserErrorException(
            f"{argument} must be one number or string, not {_type_name(value)}; log_list, log_row and log_table take more")
    return int(plain) if isinstance(plain, bool) else plain


def to_plain(value: Any, argument: str = "value") -> Any:
    """The value as JSON has it: lists of any iterable, objects of any mapping, scalars as :func:`to_scalar`."""
    plain = _leaf(value)
    if plain is None or isinstance(plain, str):
        return plain
    if plain is not _NOT_A_LEAF:
        if isinstance(plain, float) and not math.isfinite(plain):
            return number_text(plain)[1:-1]
        return plain
    if hasattr(value, "keys") and hasattr(value, "__getitem__"):
        return {str(key): to_plain(value[key], f"{argument}[{key!r}]") for key in value.keys()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    try:
        items = iter(value)
    except TypeError:
        raise UserErrorException(f"{argument} cannot be logged: {_type_name(value)}") from None
    return [to_plain(item, argument) for item in items]


def to_json(plain: Any) -> str:
    """The JSON text of what :func:`to_plain` gave."""
    import json

    return json.dumps(plain, separators=(",", ":"), allow_nan=False)


_NOT_A_LEAF: Any = object()


def _leaf(value: Any, unwrap: bool = False) -> Any:
    """The number or text that the value is, None for None. With ``unwrap`` an array of one element is that element."""
    if value is None or type(value) is float or type(value) is str or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        whole = int(value)
        return whole if _MIN_INT <= whole <= _MAX_INT else _as_float(whole)
    if isinstance(value, (bytes, bytearray, complex)):
        return _NOT_A_LEAF
    if hasattr(value, "item") and hasattr(value, "shape"):
        if len(value.shape) > 0 and not unwrap:
            return _NOT_A_LEAF
        try:
            item = value.item()
        except (TypeError, ValueError, RuntimeError):
            return _NOT_A_LEAF
        return _leaf(item) if type(item) is not type(value) else _NOT_A_LEAF
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "__float__"):
        return _as_float(value)
    return _NOT_A_LEAF


def _as_float(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return _NOT_A_LEAF
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _type_name(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
