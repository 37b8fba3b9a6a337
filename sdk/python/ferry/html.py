"""Small pieces of HTML for notebooks. Every text is escaped."""

from __future__ import annotations

from typing import Any, Mapping

_CELL = 'style="border:1px solid #ccc;padding:4px 8px;text-align:left"'


def escape(value: Any) -> str:
    """The value as text that HTML takes as text."""
    from html import escape as plain

    return plain("" if value is None else str(value))


def link(url: str, text: str) -> str:
    """A link that opens beside the notebook; the text alone when it is no address of the web."""
    if not url.startswith(("http://", "https://")):
        return escape(text)
    return f'<a href="{escape(url)}" target="_blank" rel="noopener">{escape(text)}</a>'


class Markup(str):
    """Text that is HTML already."""


def table(cells: Mapping[str, Any]) -> str:
    """One row with a heading for each cell."""
    heads = "".join(f"<th {_CELL}>{escape(name)}</th>" for name in cells)
    row = "".join(f"<td {_CELL}>{value if isinstance(value, Markup) else escape(value)}</td>" for value in cells.values())
    return f'<table style="border-collapse:collapse"><tr>{heads}</tr><tr>{row}</tr></table>'
