"""Objects of dkeys and akeys: all values and records of one into another, and the comparison of the two.

Pieces are as those of key-values and arrays. Small single values of a dkey are put together. Where an array
has no records, its copy has none.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from stepstore.buffers import escape
from stepstore.copying.objects import PIECE, Moved, differs

if TYPE_CHECKING:
    from stepstore import _core

_TOGETHER = 1 << 20  # bytes of single values that are put at once
_MOST = 256  # of them

Run = tuple[int, int]  # the first record, and how many
Piece = Callable[[list[Run], bytearray], None]
Plain = Callable[[bytes, bytearray], bytes]  # of an akey, the bytes of its records that are compared


# ---- copies
def copy_akeys(source: _core.Object, destination: _core.Object, moved: Moved) -> None:
    def copy_dkeys(dkeys: list[bytes]) -> None:
        for dkey in dkeys:
            copy_dkey(dkey)

    def copy_dkey(dkey: bytes) -> None:
        values: list[tuple[bytes, bytes]] = []
        size_of_values = 0

        def put() -> None:
            nonlocal size_of_values
            if values:
                destination.put(dkey, values)
                moved(size_of_values)
                values.clear()
                size_of_values = 0

        def copy_some(akeys: list[bytes]) -> None:
            nonlocal size_of_values
            for akey in akeys:
                described = source.describe(dkey, akey)
                if described is None:
                    continue  # of a source without a snapshot: it was removed meanwhile
                kind, size = described
                if kind == "array":
                    _copy_records(source, destination, dkey, akey, size, moved)
                elif (value := source.get(dkey, akey)) is not None:
                    values.append((akey, value))
                    size_of_values += len(akey) + len(value)
                    if len(values) == _MOST or size_of_values >= _TOGETHER:
                        put()

        source.list_akeys(dkey, copy_some)
        put()

    source.list_dkeys(copy_dkeys)


def _copy_records(
    source: _core.Object, destination: _core.Object, dkey: bytes, akey: bytes, size: int, moved: Moved
) -> None:
    def copy(runs: list[Run], memory: bytearray) -> None:
        destination.write_records(dkey, akey, size, runs, memory)
        moved(len(memory))

    read_pieces(source, dkey, akey, size, copy)


def read_pieces(array: _core.Object, dkey: bytes, akey: bytes, size: int, take: Piece) -> None:
    """The records that there are, up to 16 MiB together, or one."""

    def read(page: list[Run]) -> None:
        for runs in _pieces(page, max(1, PIECE // size)):
            memory = bytearray(sum(count for _, count in runs) * size)
            array.read_records(dkey, akey, size, runs, memory)
            take(runs, memory)

    array.list_records(dkey, akey, read)


def _pieces(page: list[Run], most: int) -> Iterator[list[Run]]:
    """The same runs, divided so that each list has at most so many records."""
    runs: list[Run] = []
    left = most
    for first, count in page:
        while count:
            part = min(count, left)
            runs.append((first, part))
            first, count, left = first + part, count - part, left - part
            if left == 0:
                yield runs
                runs, left = [], most
    if runs:
        yield runs


# ---- comparisons
def all_bytes(akey: bytes, records: bytearray) -> bytes:
    return bytes(records)


def compare_akeys(
    source: _core.Object, destination: _core.Object, what: str, moved: Moved, plain: Plain = all_bytes
) -> None:
    dkeys = 0

    def compare(page: list[bytes]) -> None:
        nonlocal dkeys
        dkeys += len(page)
        for dkey in page:
            _compare_dkey(source, destination, dkey, what, moved, plain)

    source.list_dkeys(compare)
    if (there := _counted(destination.list_dkeys)) != dkeys:
        raise differs(what, f"the number of dkeys: {there}, and {dkeys} in the source")


def _compare_dkey(
    source: _core.Object, destination: _core.Object, dkey: bytes, what: str, moved: Moved, plain: Plain
) -> None:
    akeys = 0

    def compare(page: list[bytes]) -> None:
        nonlocal akeys
        akeys += len(page)
        for akey in page:
            _compare_akey(source, destination, dkey, akey, what, moved, plain)

    source.list_akeys(dkey, compare)
    if (there := _counted(lambda each: destination.list_akeys(dkey, each))) != akeys:
        raise differs(
            what, f"the number of akeys of dkey {escape(dkey)!r}: {there}, and {akeys} in the source"
        )


def _compare_akey(
    source: _core.Object,
    destination: _core.Object,
    dkey: bytes,
    akey: bytes,
    what: str,
    moved: Moved,
    plain: Plain,
) -> None:
    where = f"akey {escape(akey)!r} of dkey {escape(dkey)!r}"
    described, copied = source.describe(dkey, akey), destination.describe(dkey, akey)
    if described != copied or described is None:
        raise differs(what, f"the type or size of {where}")
    kind, size = described
    if kind == "single":
        value = source.get(dkey, akey)
        if value != destination.get(dkey, akey):
            raise differs(what, where)
        moved(len(akey) + len(value or b""))
        return
    if _places(source, dkey, akey) != _places(destination, dkey, akey):
        raise differs(what, f"which records {where} has")

    def compare(runs: list[Run], memory: bytearray) -> None:
        other = bytearray(len(memory))
        destination.read_records(dkey, akey, size, runs, other)
        if memory != other and plain(akey, memory) != plain(akey, other):
            raise differs(what, f"the records from {runs[0][0]} on of {where}")
        moved(len(memory))

    read_pieces(source, dkey, akey, size, compare)


def _places(array: _core.Object, dkey: bytes, akey: bytes) -> bytes:
    """A digest of where it has records, however a store divides neighbours into runs."""
    digest = hashlib.sha256()
    begin = end = 0

    def add(page: list[Run]) -> None:
        nonlocal begin, end
        for first, count in page:
            if first != end:
                digest.update(struct.pack("<QQ", begin, end))
                begin = first
            end = first + count

    array.list_records(dkey, akey, add)
    digest.update(struct.pack("<QQ", begin, end))
    return digest.digest()


def _counted(keys: Callable[[Callable[[list[bytes]], None]], None]) -> int:
    found = 0

    def count(page: list[bytes]) -> None:
        nonlocal found
        found += len(page)

    keys(count)
    return found
