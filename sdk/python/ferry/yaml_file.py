"""Reading and writing small YAML files. PyYAML is imported here and nowhere else."""

from __future__ import annotations

import os
from typing import Any

from azureml.exceptions import UserErrorException

_LONGEST = 4 << 20
_DEEPEST = 64


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise UserErrorException("PyYAML is needed to read and write YAML files: pip install PyYAML", error) from None
    return yaml


def loads(text: str, name: str) -> Any:
    """The value of a text, every scalar as the text that stands there: 1e3 and yes are no numbers and truths of YAML's. What is no YAML
    raises UserErrorException with file, line and column."""
    if len(text) > _LONGEST:
        raise UserErrorException(f"{name}: is longer than 4 MB")
    yaml = _yaml()
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    depth = 0
    try:
        # Aliases could make a small file a huge value; no file of Azure's has them.
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise UserErrorException(f"{name}:{event.start_mark.line + 1}: aliases (*{event.anchor}) are not taken here")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _DEEPEST:
                    raise UserErrorException(f"{name}:{event.start_mark.line + 1}: more than {_DEEPEST} levels")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
        return yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise UserErrorException(f"{name}{where}: {error.problem or error}", error) from None
    except yaml.YAMLError as error:
        raise UserErrorException(f"{name}: {error}", error) from None
    except ValueError as error:
        raise UserErrorException(f"{name}: {error}", error) from None


def load(path: Any) -> Any:
    """The value of a file."""
    return loads(read_text(path), os.fspath(path))


def read_text(path: Any) -> str:
    """The text of a file of at most 4 MB; failures raise UserErrorException and name the file."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LONGEST + 1)
    except (OSError, UnicodeDecodeError, TypeError) as error:
        raise UserErrorException(f"'{path}' cannot be read: {getattr(error, 'strerror', None) or error}", error) from None
    if len(text) > _LONGEST:
        raise UserErrorException(f"'{path}' is longer than 4 MB")
    return text


def dumps(value: Any) -> str:
    """A value as block YAML, in the order of its members."""
    yaml = _yaml()
    return yaml.dump(value, Dumper=yaml.SafeDumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=1000)


def write_text(path: str, text: str, private: bool = False) -> None:
    """Writes a file whole or not at all; ``private``: for its owner alone."""
    import tempfile

    folder = os.path.dirname(path) or "."
    try:
        os.makedirs(folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".tmp")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            if not private:
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise UserErrorException(f"'{path}' cannot be written: {error.strerror or error}", error) from None
