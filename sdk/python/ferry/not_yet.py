"""What comes in a later version of Ferry, said in one sentence everywhere."""

from __future__ import annotations

from typing import Any

from azureml.exceptions import ScenarioNotSupportedException


class MissingModuleException(ScenarioNotSupportedException, ImportError):
    """A module of Azure's SDK that this version does not have. ``except ImportError`` catches it, too."""


def sentence(what: str, next_step: str = "") -> str:
    """``what`` is a noun phrase that begins the sentence; ``next_step`` is a sentence of its own."""
    return f"{what} is not part of this version of Ferry yet." + (f" {next_step}" if next_step else "")


def not_yet(what: str, next_step: str = "") -> ScenarioNotSupportedException:
    """The exception to raise."""
    return ScenarioNotSupportedException(sentence(what, next_step))


def missing_module(what: str, next_step: str = "") -> MissingModuleException:
    """The exception that a module raises in place of being imported."""
    return MissingModuleException(sentence(what, next_step))


class _Named(type):
    """The type of names that can be imported and nothing else."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise not_yet(cls._what)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_yet(cls._what)


def placeholder(name: str, what: str, module: str) -> Any:
    """A class that can be imported; calling it, or asking it for anything, raises the sentence for ``what``."""
    return _Named(name, (), {"__doc__": sentence(what), "__module__": module, "_what": what})


def placeholder_function(name: str, what: str, module: str) -> Any:
    """A function that can be imported; calling it raises the sentence for ``what``."""

    def function(*args: Any, **kwargs: Any) -> Any:
        raise not_yet(what)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = sentence(what)
    return function
