"""How things show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stepstore.errors import Error
from stepstore.printable import printable


def table(title: str, facts: Iterable[tuple[str, Any]]) -> str:
    """A box with a title, and lines of a name and a value, up to the first Error, which it shows. Everything
    is escaped."""
    import html

    def escape(text: str) -> str:
        return html.escape(printable(text))

    lines = "".join(
        f"<tr><th style='text-align:left'>{escape(str(name))}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in _up_to_error(facts)
    )
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>"


def shortened(values: Sequence[Any], shown: int = 20) -> str:
    """The first of them, and how many more there are."""
    text = ", ".join(map(str, values[:shown])) or "none"
    return text if len(values) <= shown else f"{text}, and {len(values) - shown} more"


def shortened_text(value: Any, shown: int = 200) -> str:
    """A value in one line, or the beginning of it."""
    text = " ".join(str(value.tolist() if hasattr(value, "tolist") else value).split())
    return text if len(text) <= shown else f"{text[:shown]} ..."


def _up_to_error(facts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    try:
        yield from facts
    except Error as error:
        yield "error", error
