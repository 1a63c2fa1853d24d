"""Arrays that read what is selected, when it is needed, into the memory that the user gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xarray.backends import BackendArray
from xarray.core import indexing

from stepstore.xarray_backend.sources import Source

Key = Any  # of one dimension: an int, a slice or an array of ints
NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Stored:
    """A variable as the stream has it. dtype: of its elements. field: of a struct, the one that is wanted."""

    source: Source
    name: str
    kind: str
    dtype: np.dtype[Any]
    field: str | None = None

    @property
    def element(self) -> np.dtype[Any]:
        """What the user gets: the elements, or their field."""
        if self.field is None:
            return self.dtype
        part: np.dtype[Any] = self.dtype[self.field]
        return part

    def zeros(self, shape: Sequence[int]) -> NDArray:
        """Elements that nobody wrote stay zero."""
        return np.zeros(tuple(shape), dtype=self.dtype)


class StreamArray(BackendArray):
    """The steps of a variable one above the other: shape (steps, *box); of one step without a dimension for
    it (stacked=False): box. A field of a struct that is an array adds its dimensions at the end."""

    def __init__(self, stored: Stored, steps: Sequence[int], box: Sequence[int], stacked: bool = True):
        self.stored = stored
        self.steps = np.asarray(steps, dtype=np.int64)
        self.box = tuple(box)
        self.stacked = stacked
        self.dtype = stored.element.base
        self.shape = ((len(self.steps),) if stacked else ()) + self.box + stored.element.shape

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return by_dimension(key, self.shape, self._read)

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.stored, self.steps.tolist(), self.box, self.stacked

    def _read(self, key: tuple[Key, ...]) -> NDArray:
        wanted: Key = key[0] if self.stacked else 0
        rest = key[1:] if self.stacked else key
        boxes, tail = rest[: len(self.box)], rest[len(self.box) :]
        numbers = np.atleast_1d(self.steps[wanted])
        hulls = [hull(one, size) for one, size in zip(boxes, self.box, strict=True)]
        start, count = [one.start for one in hulls], [one.count for one in hulls]
        found = self.stored.zeros((len(numbers), *count))
        with self.stored.source.opened() as stream:
            for number, into in zip(numbers.tolist(), found, strict=True):
                stream.read(self.stored.name, self.stored.kind, number, start, count, into)
        first: Key = 0 if np.ndim(self.steps[wanted]) == 0 else slice(None)
        return taken(found, self.stored.field, (first, *(one.after for one in hulls), *tail))


class JoinedArray(BackendArray):
    """The steps of a variable whose size changes along one dimension, one after the other along it."""

    def __init__(self, stored: Stored, steps: Sequence[int], boxes: Sequence[Sequence[int]], axis: int):
        self.stored = stored
        self.steps = tuple(steps)
        self.axis = axis
        self.ends = np.cumsum([box[axis] for box in boxes])
        self.box = (*boxes[0][:axis], int(self.ends[-1]), *boxes[0][axis + 1 :])
        self.dtype = stored.element.base
        self.shape = self.box + stored.element.shape

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return by_dimension(key, self.shape, self._read)

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.stored, self.steps, self.ends.tolist(), self.box, self.axis

    def _read(self, key: tuple[Key, ...]) -> NDArray:
        boxes, tail = key[: len(self.box)], key[len(self.box) :]
        hulls = [hull(one, size) for one, size in zip(boxes, self.box, strict=True)]
        count = [one.count for one in hulls]
        found = self.stored.zeros(count)
        begin, end = hulls[self.axis].start, hulls[self.axis].start + count[self.axis]
        with self.stored.source.opened() as stream:
            for at, number in enumerate(self.steps):
                offset = int(self.ends[at - 1]) if at else 0
                low, high = max(begin, offset), min(end, int(self.ends[at]))
                if low >= high:
                    continue
                start = [one.start for one in hulls]
                size = list(count)
                start[self.axis], size[self.axis] = low - offset, high - low
                part = self.stored.zeros(size)
                stream.read(self.stored.name, self.stored.kind, number, start, size, part)
                found[(slice(None),) * self.axis + (slice(low - begin, high - begin),)] = part
        return taken(found, self.stored.field, (*(one.after for one in hulls), *tail))


@dataclass(frozen=True)
class Hull:
    """The smallest piece of a dimension that holds what a key selects, and the key within it."""

    start: int
    count: int
    after: Key


def hull(key: Key, size: int) -> Hull:
    """IndexError: outside of the dimension."""
    if isinstance(key, slice):
        wanted = range(size)[key]
        if len(wanted) == 0:
            return Hull(0, 0, slice(None))
        low, high = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
        after = slice(None, None, wanted.step if len(wanted) > 1 else 1)
        return Hull(low, high - low + 1, after)
    places = np.asarray(key)
    if places.size == 0:
        return Hull(0, 0, places.astype(np.int64))
    require_inside(places, size)
    if places.ndim == 0:
        return Hull(int(places), 1, 0)
    low = int(places.min())
    return Hull(low, int(places.max()) - low + 1, places - low)


def require_inside(places: NDArray, size: int) -> None:
    outside = places[(places < 0) | (places >= size)]
    if outside.size:
        index = outside.flat[0] - size * (outside.flat[0] < 0)  # as the user gave it
        raise IndexError(f"index {index} is out of bounds for a dimension with size {size}")


def by_dimension(key: indexing.ExplicitIndexer, shape: tuple[int, ...], read: Any) -> Any:
    """IndexError: outside of a dimension. xarray has counted negative numbers from the end already. One that
    is still negative lies before the beginning. The adapter would count it from the end once more."""
    for one, size in zip(key.tuple, shape, strict=True):
        if not isinstance(one, slice):
            require_inside(np.asarray(one), size)
    return indexing.explicit_indexing_adapter(key, shape, indexing.IndexingSupport.OUTER, read)


def taken(found: NDArray, field: str | None, key: Sequence[Key]) -> NDArray:
    """The elements, or their field, at the key, each of whose arrays is for its own dimension."""
    data = found if field is None else found[field]
    for axis in range(len(key) - 1, -1, -1):  # a number drops its dimension: those before keep their place
        data = data[(slice(None),) * axis + (key[axis],)]
    return np.asarray(data)
