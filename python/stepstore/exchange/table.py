"""What a file and a stream have in common: variables with named dimensions, and attributes.

A table is read a piece at a time, so that no variable has to fit into memory. Text is an array of `str`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from stepstore.errors import DER_CSUM, DER_EXIST, DER_NONEXIST, Error

Array = np.ndarray[Any, Any]
Box = tuple[int, ...]
TEXT = np.dtype(object)
PIECE = 8 << 20  # bytes that are read, written and compared at a time
_BYTES_OF_TEXT = 64  # as texts are counted
_MOST_NAMED = 12


@dataclass(frozen=True)
class Entry:
    """A variable. dtype: TEXT of texts."""

    name: str
    dims: tuple[str, ...]
    shape: Box
    dtype: np.dtype[Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        return self.dtype == TEXT

    @property
    def element_size(self) -> int:
        return _BYTES_OF_TEXT if self.is_text else self.dtype.itemsize

    @property
    def size(self) -> int:
        """In bytes."""
        return math.prod(self.shape) * self.element_size

    @property
    def piece(self) -> Box:
        """The extents of the pieces: the last dimensions whole, as many as are small enough."""
        left = max(1, PIECE // self.element_size)
        extents: list[int] = []
        for extent in reversed(self.shape):
            extents.append(max(1, min(extent, left)))
            left //= max(1, extent)
            left = max(1, left)
        return tuple(reversed(extents))


class Different(Error):
    """What was written is not what the source has. difference: the first one."""

    def __init__(self, where: str, difference: str):
        super().__init__(DER_CSUM, f"{where}: what was written differs from the source: {difference}")
        self.difference = difference


def unknown_variable(where: object, name: str, known: Iterable[str]) -> Error:
    shown = ", ".join(sorted(known)[:_MOST_NAMED])
    return Error(DER_NONEXIST, f"{where}: there is no variable {name!r}: there are {shown}")


def holds_other(what: str, error: Exception) -> Error:
    """what: the task. error: why what is there is not its result."""
    told = f" ({error.difference})" if isinstance(error, Different) else ""
    return Error(
        DER_EXIST,
        f"{what}: it exists, and holds something else{told}: give another destination, or --replace",
    )


class Table(Protocol):
    """What is exported, or was: entries in an order that stays the same. record: the dimension whose places
    are records, where the format has such a one."""

    entries: list[Entry]
    attributes: dict[str, Any]
    record: str | None

    def read(self, entry: Entry, start: Box, count: Box) -> Array:
        """The box of a variable, which is not empty."""
        ...

    def close(self) -> None: ...


def pieces(entry: Entry, within: tuple[Box, Box] | None = None) -> Iterator[tuple[Box, Box]]:
    """(start, count) of all pieces of a variable, or of a box of it, in the order of its elements."""
    first, extents = within or ((0,) * len(entry.shape), entry.shape)
    if 0 in extents:
        return
    steps = [range(0, extent, piece) for extent, piece in zip(extents, entry.piece, strict=True)]
    for corner in itertools.product(*steps):
        count = tuple(
            min(piece, extent - at) for at, piece, extent in zip(corner, entry.piece, extents, strict=True)
        )
        yield tuple(at + low for at, low in zip(corner, first, strict=True)), count


def slices(start: Sequence[int], count: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(low, low + size) for low, size in zip(start, count, strict=True))


def same(one: Any, other: Any) -> bool:
    """Bit for bit, whatever the byte order: a NaN is the same as itself, and 0.0 is not -0.0."""
    left, right = np.asarray(one), np.asarray(other)
    if left.dtype.kind in "OUT" or right.dtype.kind in "OUT":
        return left.shape == right.shape and left.tolist() == right.tolist()
    left, right = native(left), native(right)
    return left.shape == right.shape and left.dtype == right.dtype and left.tobytes() == right.tobytes()


def same_attribute(found: Any, value: Any) -> bool:
    """Streams and ADIOS2 give a row of one as they give its element."""
    if isinstance(value, str | list) or isinstance(found, str | list):
        return list(np.atleast_1d(found)) == list(np.atleast_1d(value))
    return same(np.atleast_1d(found), np.atleast_1d(value))


def native(values: Array) -> Array:
    """In the byte order of this machine."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def compare(source: Table, copy: Table, where: str, moved: Callable[[int], None]) -> None:
    """Reads both, and raises DER_CSUM for the first difference."""
    difference = first_difference(source, copy) or next(_differences(source, copy, moved), None)
    if difference:
        raise Different(where, difference)


def first_difference(source: Table, copy: Table) -> str:
    """Of what is not data: names, types, shapes, attributes."""
    known = {entry.name: entry for entry in copy.entries}
    for name in known.keys() - {entry.name for entry in source.entries}:
        return f"the source has no variable {name!r}"
    for entry in source.entries:
        found = known.get(entry.name)
        if found is None:
            return f"the variable {entry.name!r} is missing"
        for what in ("dtype", "shape", "dims"):
            old, new = getattr(entry, what), getattr(found, what)
            if old != new:
                return f"variable {entry.name!r}: {what} is {new}, and not {old}"
        if difference := _attributes_differ(entry.attributes, found.attributes):
            return f"variable {entry.name!r}: {difference}"
    return _attributes_differ(source.attributes, copy.attributes)


def _attributes_differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    for name in [*one, *(name for name in other if name not in one)]:
        if name not in one or name not in other:
            return f"the attribute {name!r} is {'missing' if name in one else 'not in the source'}"
        if not same(one[name], other[name]):
            return f"the attribute {name!r} is {other[name]!r}, and not {one[name]!r}"
    return ""


def _differences(source: Table, copy: Table, moved: Callable[[int], None]) -> Iterator[str]:
    known = {entry.name: entry for entry in copy.entries}
    for entry in source.entries:
        for start, count in pieces(entry):
            if not same(source.read(entry, start, count), copy.read(known[entry.name], start, count)):
                yield f"variable {entry.name!r}, elements from {start} on"
            moved(math.prod(count) * entry.element_size)
