"""One object into another: key-values page by page, arrays piece by piece; and the comparison of the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from stepstore.errors import DER_CSUM, Error

if TYPE_CHECKING:
    from stepstore import _core

PIECE = 16 << 20  # bytes that are read and written at once
_GRANULE = 64 << 10  # runs of so many zero bytes are not written

Moved = Callable[[int], None]  # bytes that were copied or compared
Keep = Callable[[bytes], bool]  # whether a key belongs to the copy
# These make what refers to the rest valid: they are put when all else is there.
_LAST = (b"header", b"record")


def everything(key: bytes) -> bool:
    return True


def differs(what: str, where: str) -> Error:
    return Error(
        DER_CSUM,
        f"compare the copy of {what} with its source: they differ in {where}: run the same command again; it "
        "copies this object again",
    )


# ---- key-values
def batches(values: _core.KeyValue, keep: Keep) -> Iterator[list[tuple[bytes, bytes]]]:
    """All keys with their values, up to 16 MiB together (or one)."""
    pages = values.pages()
    while page := pages.next():
        keys = [key for key in page if keep(key)]
        while keys:
            found = values.get_many(keys)
            yield [(key, value) for key, value in zip(keys, found, strict=False) if value is not None]
            keys = keys[len(found) :]


def copy_key_value(source: _core.KeyValue, destination: _core.KeyValue, keep: Keep, moved: Moved) -> None:
    last = []
    for batch in batches(source, keep):
        last += [item for item in batch if item[0] in _LAST]
        destination.put_many([item for item in batch if item[0] not in _LAST])
        moved(_size(batch))
    destination.put_many(last)


def compare_key_value(
    source: _core.KeyValue, destination: _core.KeyValue, keep: Keep, what: str, moved: Moved
) -> None:
    keys = 0
    for batch in batches(source, keep):
        keys += len(batch)
        rest = batch
        while rest:
            found = destination.get_many([key for key, _ in rest])
            for (key, value), copied in zip(rest, found, strict=False):
                if value != copied:
                    raise differs(what, f"the value of the key {key.decode('utf-8', 'backslashreplace')!r}")
            rest = rest[len(found) :]
        moved(_size(batch))
    pages, there = destination.pages(), 0
    while page := pages.next():
        there += sum(map(keep, page))
    if there != keys:
        raise differs(what, f"the number of keys: {there}, and {keys} in the source")


def _size(batch: list[tuple[bytes, bytes]]) -> int:
    return sum(len(key) + len(value) for key, value in batch)


# ---- arrays
def _pieces(size: int, cell: int, begin: int = 0) -> Iterator[tuple[int, int]]:
    """(first cell, how many)"""
    cells = max(1, PIECE // cell)
    for first in range(begin, size, cells):
        yield first, min(cells, size - first)


def _read(array: _core.Array, first: int, cells: int) -> bytearray:
    memory = bytearray(cells * array.cell_size)  # of zeros: a DAOS system leaves holes as they are
    array.read_into(first, memory)
    return memory


def _runs(memory: bytearray, cell: int) -> Iterator[tuple[int, int]]:
    """The parts, in cells, that are not only zeros."""
    step = max(1, _GRANULE // cell) * cell
    data = np.frombuffer(memory, dtype=np.uint8)
    begin = None
    for at in range(0, len(data), step):
        filled = data[at : at + step].any()
        if filled and begin is None:
            begin = at
        if not filled and begin is not None:
            yield begin // cell, at // cell
            begin = None
    if begin is not None:
        yield begin // cell, len(data) // cell


def copy_array(
    source: _core.Array,
    destination: _core.Array,
    moved: Moved,
    begin: int = 0,
    note: Callable[[int], None] | None = None,
    *,
    over: bool = False,
) -> None:
    """note: is told up to which cell the copy is stored. over: the destination may hold other bytes."""
    cell, size = source.cell_size, source.size()
    for first, cells in _pieces(size, cell, begin):
        memory = _read(source, first, cells)
        view = memoryview(memory)
        for run, end in [(0, cells)] if over else _runs(memory, cell):
            destination.write(first + run, view[run * cell : end * cell])
        if note:
            note(first + cells)
        moved(len(memory))
    if destination.size() != size:
        destination.set_size(size)


def compare_array(source: _core.Array, destination: _core.Array, what: str, moved: Moved) -> None:
    cell, size = source.cell_size, source.size()
    if destination.size() != size:
        raise differs(what, f"the size: {destination.size()} cells, and {size} in the source")
    for first, cells in _pieces(size, cell):
        memory, copied = _read(source, first, cells), _read(destination, first, cells)
        if memory != copied:
            at = int(np.argmax(np.frombuffer(memory, np.uint8) != np.frombuffer(copied, np.uint8)))
            raise differs(what, f"cell {first + at // cell}")
        moved(len(memory))
