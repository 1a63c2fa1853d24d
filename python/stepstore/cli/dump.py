"""Arrays as text: in columns, each line with the index of its first value, and no value cut."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from stepstore.buffers import escape
from stepstore.console import padded, text_width
from stepstore.printable import printable

_ALIGNED = 1 << 14  # values whose columns are aligned with each other: more are not kept as text
_RIGHT = "biufc"  # the kinds of numpy that are numbers


def shown_name(name: str) -> str:
    return escape(name.encode("utf-8", "surrogateescape"))


def lines_of(values: Any, first: tuple[int, ...], columns: int) -> Iterator[str]:
    """first: the index of the first value. A row of the last dimension begins a line of its own."""
    if not isinstance(values, np.ndarray) or values.ndim == 0:
        yield text_of(values)
        return
    last = (start + max(count - 1, 0) for start, count in zip(first, values.shape, strict=True))
    label_width, width = len(_label(last)), 0
    pieces = _pieces(values, first, columns)
    while some := list(itertools.islice(pieces, max(1, _ALIGNED // columns))):
        texts = [(label, [text_of(value) for value in line]) for label, line in some]
        width = max(width, *(text_width(text) for _, line in texts for text in line))
        for label, line in texts:
            cells = padded(line, width, values.dtype.kind in _RIGHT)
            yield f"{label:<{label_width}}  {'  '.join(cells)}".rstrip()


def _pieces(values: Any, first: tuple[int, ...], columns: int) -> Iterator[tuple[str, Any]]:
    for outer in np.ndindex(values.shape[:-1]):
        for position in range(0, values.shape[-1], columns):
            index = (start + at for start, at in zip(first, (*outer, position), strict=True))
            yield _label(index), values[outer][position : position + columns]


def _label(index: Iterator[int]) -> str:
    return f"({','.join(map(str, index))})"


def text_of(value: Any) -> str:
    """One value, as a terminal may show it."""
    if isinstance(value, np.ndarray):
        if value.ndim > 0:
            return "[" + ", ".join(text_of(one) for one in value) + "]"
        value = value[()]
    if isinstance(value, np.void):
        names = value.dtype.names or ()
        return "{" + ", ".join(f"{shown_name(name)}: {text_of(value[name])}" for name in names) + "}"
    if isinstance(value, np.floating):
        return (
            np.format_float_positional(value, unique=True, trim="0")
            if 1e-4 <= abs(value) < 1e6
            else repr(value.item())
            if value.dtype != np.longdouble
            else str(value)
        )
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return repr(value.decode("latin-1"))
    return printable(f'"{shown_name(value)}"') if isinstance(value, str) else str(value)
