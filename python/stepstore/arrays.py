"""Arrays of parallel programs: what C and Fortran programs wrote with stepstore/arrays.h, as numpy arrays.

::

    with stepstore.open_arrays("run1") as arrays:
        print(arrays.names(), arrays.info("T").shape)
        corner = arrays.read("T", start=(0, 0), count=(4, 4))

    with stepstore.open_arrays("run1", write=True) as arrays:
        arrays.write("T", values)                         # whole: readers see the old or the new one
        arrays.write("T", more, append=0)                 # after what is there
        arrays.set_attribute("T", "units", "K")

One process writes and reads here; programs of many ranks do so in C and Fortran (docs/arrays.md). Dimensions
are in numpy's order: those of Fortran programs are reversed, and the data are the same.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepstore import _core
from stepstore.aio import in_thread
from stepstore.buffers import decode_key, encode_key, room_for, unmasked
from stepstore.errors import DER_BUSY, DER_INVAL, DER_STALE, Error
from stepstore.handles import Handle, Waits

_SHOWN = 50  # arrays in a notebook
_MOST_ATTEMPTS = 100  # of a read, while its array is replaced again and again
_CHARACTER, _LOGICAL8, _LOGICAL32 = 15, 17, 18
_TYPES: dict[int, np.dtype[Any]] = {
    **{1 + place: np.dtype(f"int{8 << place}") for place in range(4)},
    **{5 + place: np.dtype(f"uint{8 << place}") for place in range(4)},
    9: np.dtype(np.float32),
    10: np.dtype(np.float64),
    12: np.dtype(np.complex64),
    13: np.dtype(np.complex128),
    _LOGICAL8: np.dtype(bool),
    _LOGICAL32: np.dtype(bool),
}
_LOGICAL: dict[int, np.dtype[Any]] = {_LOGICAL8: np.dtype(np.uint8), _LOGICAL32: np.dtype(np.int32)}


@dataclass(frozen=True)
class ArrayInfo:
    """An array. shape: elements, in numpy's order. grows_along: the dimension that it was appended along.
    column_major: a Fortran program wrote it. version: grows with each change. generation: another one, when
    the array is replaced. chunk_size: bytes that lie on one target."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    grows_along: int | None
    column_major: bool
    blocks: int
    object_class: str
    chunk_size: int
    checksum: bool
    version: int
    generation: int


def open_arrays(location: str | os.PathLike[str], *, write: bool = False, snapshot: int = 0) -> Arrays:
    """The arrays of a location: POOL[/CONTAINER]. write: makes pool and container where they are missing;
    without it nothing is made. snapshot: the epoch of a snapshot of the container.

    Error DER_NONEXIST: there is no such location; DER_INVAL: not a location."""
    return Arrays(os.fspath(location), write, snapshot)


class Arrays(Handle):
    """The arrays of a location. Several threads may use it: their calls wait for each other.

    Error DER_NONEXIST names an array that is not there, DER_NO_PERM a change without write=True, DER_CSUM
    damaged data."""

    _handle: _core.Arrays

    def __init__(self, location: str, write: bool, snapshot: int):
        super().__init__(_core.Arrays(location, write, snapshot), Waits(location))

    @property
    def location(self) -> str:
        """Pool and container."""
        return str(self._handle.where())

    def names(self) -> list[str]:
        """Sorted."""
        return [decode_key(name) for name in self._handle.names()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def info(self, name: str) -> ArrayInfo:
        found = self._handle.info(encode_key(name))
        return ArrayInfo(
            name=name,
            dtype=_dtype(found["type"]),
            shape=tuple(found["shape"]),
            grows_along=found["grows_along"],
            column_major=found["column_major"],
            blocks=found["blocks"],
            object_class=found["object_class"],
            chunk_size=found["chunk_size"],
            checksum=found["checksum"],
            version=found["version"],
            generation=found["generation"],
        )

    def blocks(self, name: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """What each put of a rank wrote: start and count, elements."""
        return [(tuple(start), tuple(count)) for start, count in self._handle.blocks(encode_key(name))]

    def read(
        self,
        name: str,
        start: Sequence[int] | None = None,
        count: Sequence[int] | None = None,
        out: np.ndarray[Any, Any] | None = None,
    ) -> np.ndarray[Any, Any]:
        """An array, or the box start, count of it: of one version, also while it is replaced by one of
        another type or shape. A count of -1 goes to the end. out: memory to read into, contiguous, of the
        shape and dtype of the box. Error DER_INVAL: the box reaches beyond the array, or out is not like it,
        or not contiguous. BufferError: out is read-only. Error DER_BUSY: it is replaced again and again."""
        for _ in range(_MOST_ATTEMPTS):
            found = self._handle.info(encode_key(name))
            try:
                return self._read(name, found, start, count, out)
            except Error as error:
                if error.code != DER_STALE:
                    raise
        raise Error(
            DER_BUSY,
            f"{self.location}: array {name!r} was replaced {_MOST_ATTEMPTS} times while it was read: read it "
            "when its writer pauses",
        )

    def _read(
        self,
        name: str,
        found: dict[str, Any],
        start: Sequence[int] | None,
        count: Sequence[int] | None,
        out: np.ndarray[Any, Any] | None,
    ) -> np.ndarray[Any, Any]:
        """Error DER_STALE: it was replaced since `found`."""
        shape = tuple(found["shape"])
        first = tuple(start) if start is not None else (0,) * len(shape)
        size = tuple(count) if count is not None else (-1,) * len(shape)
        if not len(first) == len(size) == len(shape):
            raise Error(
                DER_INVAL,
                f"{self.location}: array {name!r} has {len(shape)} dimensions {shape}, the selection start "
                f"{first} count {size} has {len(first)} and {len(size)}",
            )
        size = tuple(n - s if c == -1 else c for n, s, c in zip(shape, first, size, strict=True))
        dtype, stored = _dtype(found["type"]), _stored(found["type"])
        if out is not None and (out.shape != size or out.dtype != dtype):
            raise Error(
                DER_INVAL,
                f"{self.location}: array {name!r}: out is {out.dtype} of shape {out.shape}, the box is "
                f"{dtype} of shape {size}",
            )
        if out is not None:
            try:
                room_for(out)
            except Error as error:
                raise Error(error.code, f"{self.location}: array {name!r}: {error}") from None
        data = out if out is not None and dtype == stored else np.empty(size, stored)
        box = list(first), list(size)
        self._handle.read(encode_key(name), found["type"], found["generation"], *box, data)
        if data.dtype != dtype:  # any value but 0 is true
            data = np.not_equal(data, 0, out=out)
        return data

    def write(
        self,
        name: str,
        data: Any,
        *,
        append: int | None = None,
        object_class: str = "",
        chunk_size: int = 0,
        checksum: bool = False,
    ) -> None:
        """Writes an array, or replaces the one of that name: readers see the old or the new one, whole.

        append: instead, grows the array along this dimension by data, or makes it. object_class ("SX"),
        chunk_size (bytes, 1 MiB), checksum: of an array that is made. An array may have extents of 0: a table
        that is appended to later. Error DER_INVAL: a dtype that cannot be stored, masked elements, no
        dimension or more than 7; DER_MISMATCH: append to an array of another dtype or shape."""
        values, number = self._stored(data, f"array {name!r}")
        if np.ndim(data) == 0:  # numpy gives what has no dimension one
            raise Error(DER_INVAL, f"{self.location}: array {name!r}: a single value has no dimension")
        along = None if append is None else append + values.ndim if append < 0 else append
        self._handle.write(
            encode_key(name), number, list(values.shape), values, along, object_class, chunk_size, checksum
        )

    # ---- awaitable: a thread of the event loop's waits
    async def aread(
        self,
        name: str,
        start: Sequence[int] | None = None,
        count: Sequence[int] | None = None,
        out: np.ndarray[Any, Any] | None = None,
    ) -> np.ndarray[Any, Any]:
        """read. The memory of `out` stays alive, also when the call is cancelled."""
        return await in_thread(self.read, name, start, count, out)

    async def awrite(
        self,
        name: str,
        data: Any,
        *,
        append: int | None = None,
        object_class: str = "",
        chunk_size: int = 0,
        checksum: bool = False,
    ) -> None:
        """write. The memory must not change before it has completed, also when the call is cancelled."""
        await in_thread(
            functools.partial(
                self.write,
                name,
                data,
                append=append,
                object_class=object_class,
                chunk_size=chunk_size,
                checksum=checksum,
            )
        )

    def _stored(self, data: Any, what: str) -> tuple[np.ndarray[Any, Any], tuple[int, int]]:
        """The elements as they are stored, and the number of their type. Error DER_INVAL: they cannot be."""
        try:
            values = np.ascontiguousarray(unmasked(data))
            number = _number(values.dtype)
        except Error as error:
            raise Error(error.code, f"{self.location}: {what}: {error}") from None
        return values.astype(values.dtype.newbyteorder("="), copy=False), number

    def remove(self, name: str) -> None:
        """An array with its attributes."""
        self._handle.remove(encode_key(name))

    # ---- attributes; name "": those of the location
    def attributes(self, name: str = "") -> dict[str, Any]:
        """Texts as str, one value as a numpy scalar, more as a numpy array."""
        names = [decode_key(one) for one in self._handle.attributes(encode_key(name))]
        return {one: self._attribute(name, one) for one in names}

    def _attribute(self, name: str, attribute: str) -> Any:
        number, count, raw = self._handle.attribute(encode_key(name), encode_key(attribute))
        if number[0] == _CHARACTER and count <= 1:
            return decode_key(raw)
        values = np.frombuffer(raw, _stored(number))
        if values.dtype != _dtype(number):
            values = np.not_equal(values, 0)  # any value but 0 is true
        return values[0] if count == 1 else values

    def set_attribute(self, name: str, attribute: str, value: Any) -> None:
        """value: a str, a number, bytes, or an array of one dimension. Bytes come back as a str, and an array
        of one element as a scalar. Error DER_INVAL: a dtype that cannot be stored, masked elements, or more
        than one dimension."""
        if isinstance(value, str):
            raw = encode_key(value)
            number, count = (_CHARACTER, max(len(raw), 1)), 1 if raw else 0
        else:
            what = f"attribute {attribute!r} of {name!r}"
            values, number = self._stored(value, what)
            if values.ndim > 1:
                raise Error(
                    DER_INVAL,
                    f"{self.location}: {what}: it has the shape {values.shape}, and attributes have one "
                    "dimension: write an array, or give .ravel() and keep the shape in another attribute",
                )
            if number[0] == _CHARACTER and values.size == 0:
                raise Error(
                    DER_INVAL,
                    f"{self.location}: {what}: an array of no texts would be read as an empty text: leave it "
                    "out",
                )
            raw, count = values.tobytes(), values.size
            if number[0] == _CHARACTER and count == 1:  # a text, without the zeros that fill it up
                raw = values[0]
                number, count = (_CHARACTER, max(len(raw), 1)), 1 if raw else 0
        self._handle.set_attribute(encode_key(name), encode_key(attribute), number, count, raw)

    def remove_attribute(self, name: str, attribute: str) -> None:
        self._handle.remove_attribute(encode_key(name), encode_key(attribute))

    def _facts(self) -> Iterator[tuple[str, Any]]:
        yield "location", self.location
        names = self.names()
        for name in names[:_SHOWN]:
            found = self.info(name)
            yield name, f"{found.dtype} {found.shape}"
        if len(names) > _SHOWN:
            yield "", f"and {len(names) - _SHOWN} more"

    def __repr__(self) -> str:
        return super().__repr__() if self.closed else f"<{self._name} {self.location!r}>"


def _dtype(number: tuple[int, int]) -> np.dtype[Any]:
    """What the user gets: texts as bytes of a fixed length, logical values as bool."""
    return np.dtype(f"S{number[1]}") if number[0] == _CHARACTER else _TYPES[number[0]]


def _stored(number: tuple[int, int]) -> np.dtype[Any]:
    """As the elements lie in memory. Logical values of C and Fortran may be any number."""
    return _LOGICAL.get(number[0]) or _dtype(number)


def _number(dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype.kind == "S" and dtype.itemsize:
        return _CHARACTER, dtype.itemsize
    for number, known in _TYPES.items():
        if known == dtype.newbyteorder("="):
            return number, 1
    raise Error(
        DER_INVAL,
        f"elements of {dtype} cannot be stored: convert them (astype) to integers, float32, float64, "
        "complex64, complex128, bool, or bytes of a fixed length (S8)",
    )
