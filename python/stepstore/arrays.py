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

import contextlib
import functools
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepstore import _core
from stepstore.aio import in_thread
from stepstore.buffers import decode_key, encode_key, room_for, unmasked
from stepstore.errors import DER_BUSY, DER_INVAL, DER_NONEXIST, DER_STALE, Error
from stepstore.handles import Handle, Waits
from stepstore.kinds import hint
from stepstore.printable import human_bytes

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
    """What is known of an array.

    Attributes
    ----------
    name : str
        Its name.
    dtype : numpy.dtype
        The type of its elements.
    shape : tuple of int
        Elements in each dimension, in numpy's order.
    grows_along : int or None
        The dimension that it was appended along; None if nothing was appended.
    column_major : bool
        Whether a Fortran program wrote it.
    blocks : int
        How many blocks are stored.
    object_class : str
        On how many targets it lies, such as "SX".
    chunk_size : int
        Bytes that lie on one target.
    checksum : bool
        Whether reads compare the data with checksums.
    version : int
        Grows with each replacement and append.
    generation : int
        Another one after the array was replaced.
    """

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

    @property
    def nbytes(self) -> int:
        """How many bytes its elements take."""
        return math.prod(self.shape) * self.dtype.itemsize


def open_arrays(location: str | os.PathLike[str], *, write: bool = False, snapshot: int = 0) -> Arrays:
    """Open the arrays of a location.

    Parameters
    ----------
    location : str or path
        POOL[/CONTAINER]. Without it the container is "default".
    write : bool, optional
        Make pool and container if they are missing, and allow changes. Without it nothing is made.
    snapshot : int, optional
        The epoch of a snapshot of the container, to read it as it was then. 0: as it is now.

    Returns
    -------
    Arrays
        The open location. `with` closes it.

    Raises
    ------
    Error
        DER_NONEXIST: there is no such location or snapshot. DER_INVAL: it is not a location.
    """
    return Arrays(os.fspath(location), write, snapshot)


class Arrays(Handle):
    """The arrays of a location. `open_arrays` opens it.

    It is iterable over the names, and `name in arrays` works. Threads may share it: their calls wait for each
    other. A forked child may not use its parent's: it opens its own.

    Every call may raise `stepstore.Error`: DER_NONEXIST (no such array), DER_NO_PERM (a change without
    `write=True`), DER_CSUM (damaged data), DER_NO_HDL (closed). The methods whose names begin with `a` are
    awaitable: a thread of the event loop waits.

    Parameters
    ----------
    location : str
        POOL[/CONTAINER].
    write : bool
        Whether changes are allowed.
    snapshot : int
        The epoch of a snapshot, or 0.
    """

    _handle: _core.Arrays

    def __init__(self, location: str, write: bool, snapshot: int):
        super().__init__(_core.Arrays(location, write, snapshot), Waits(location, not write))
        self._opened_by = Arrays, (self._waits.elsewhere, write, snapshot)

    @property
    def location(self) -> str:
        """The pool and the container."""
        return str(self._handle.where())

    def names(self) -> list[str]:
        """List the names of the arrays.

        Returns
        -------
        list of str
            Sorted.
        """
        return [decode_key(name) for name in self._handle.names()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def info(self, name: str) -> ArrayInfo:
        """Describe an array.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        ArrayInfo
            Its type, shape and storage.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such array.
        """
        found = self._told(name)
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
        """List what each rank wrote with each write.

        Parameters
        ----------
        name : str
            The name of the array.

        Returns
        -------
        list of (tuple of int, tuple of int)
            Start and count of each block, in elements, in numpy's order.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such array.
        """
        with self._naming_others(name):
            return [(tuple(start), tuple(count)) for start, count in self._handle.blocks(encode_key(name))]

    def _told(self, name: str) -> dict[str, Any]:
        with self._naming_others(name):
            return self._handle.info(encode_key(name))

    @contextlib.contextmanager
    def _naming_others(self, name: str) -> Iterator[None]:
        """An error about an array that is not there says what else is, and how it is opened."""
        try:
            yield
        except Error as error:
            if error.code != DER_NONEXIST:
                raise
            more = hint(f"{self.location}/{name}", "array") or hint(self.location, "array")
            if not more:
                raise
            raise Error(error.code, error.message + more) from None

    def read(
        self,
        name: str,
        start: Sequence[int] | None = None,
        count: Sequence[int] | None = None,
        out: np.ndarray[Any, Any] | None = None,
    ) -> np.ndarray[Any, Any]:
        """Read an array, or a box of it.

        All data are of one version of the array, also while it is replaced by one of another type or shape.

        Parameters
        ----------
        name : str
            Its name.
        start : sequence of int, optional
            The first element in each dimension. The default is 0 in all.
        count : sequence of int, optional
            How many elements in each dimension. -1, the default in all, goes to the end.
        out : numpy array, optional
            Contiguous memory to read into, of the shape and dtype of the box.

        Returns
        -------
        numpy array
            The elements; `out` if it was given.

        Raises
        ------
        BufferError
            `out` is read-only.
        Error
            DER_NONEXIST: there is no such array. DER_INVAL: the box reaches beyond the array, or `out` is not
            like the box or not contiguous. DER_BUSY: the array is replaced again and again.
        """
        for _ in range(_MOST_ATTEMPTS):
            found = self._told(name)
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
        """Write an array, replace the one of that name, or append to it.

        Readers see the old array or the new one, whole. An array may have extents of 0: a table that is
        appended to later.

        Parameters
        ----------
        name : str
            Its name, at most 1,024 bytes.
        data : array_like
            The elements, of 1 to 7 dimensions: integers, floats, complex numbers, bool, or bytes of a fixed
            length.
        append : int, optional
            Grow the array along this dimension by `data`, or make it. Negative numbers count from the last
            dimension.
        object_class : str, optional
            On how many targets an array that is made lies. The default is "SX": all.
        chunk_size : int, optional
            Bytes of an array that is made which lie on one target, a multiple of 64. The default is 1 MiB.
        checksum : bool, optional
            Store checksums with an array that is made.

        Raises
        ------
        Error
            DER_INVAL: a dtype that cannot be stored, masked elements, or no dimension or more than 7.
            DER_MISMATCH: appending to an array of another dtype or shape. DER_STALE: another program has
            changed the array meanwhile; nothing was appended. DER_BUSY: another program publishes it at this
            moment.
        """
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
        """Read an array or a box of it, awaitable. See `read`.

        Parameters
        ----------
        name : str
            Its name.
        start : sequence of int, optional
            The first element in each dimension.
        count : sequence of int, optional
            How many elements in each dimension.
        out : numpy array, optional
            Memory to read into. It stays alive, also when the call is cancelled.

        Returns
        -------
        numpy array
            The elements; `out` if it was given.

        Raises
        ------
        BufferError, Error
            As for `read`.
        """
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
        """Write an array, awaitable. See `write`.

        Parameters
        ----------
        name : str
            Its name.
        data : array_like
            The elements. Their memory must not change before the call has completed, also when it is
            cancelled.
        append : int, optional
            Grow the array along this dimension.
        object_class : str, optional
            On how many targets an array that is made lies.
        chunk_size : int, optional
            Bytes of an array that is made which lie on one target.
        checksum : bool, optional
            Store checksums with an array that is made.

        Raises
        ------
        Error
            As for `write`.
        """
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
        """Remove an array with its attributes.

        Parameters
        ----------
        name : str
            Its name.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such array.
        """
        self._handle.remove(encode_key(name))

    # ---- attributes; name "": those of the location
    def attributes(self, name: str = "") -> dict[str, Any]:
        """Read the attributes of an array or of the location.

        Parameters
        ----------
        name : str, optional
            The array. "": the attributes of the location.

        Returns
        -------
        dict
            By name: a text as str, one value as a numpy scalar, several as a numpy array.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such array.
        """
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
        """Set or replace an attribute.

        Parameters
        ----------
        name : str
            The array. "": an attribute of the location.
        attribute : str
            The name of the attribute.
        value : str, bytes, number or array_like
            Its value, of at most one dimension and 1 MiB. Bytes come back as a str, an array of one element
            as a scalar.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such array. DER_INVAL: a dtype that cannot be stored, masked elements,
            more than one dimension, or an array of no texts.
        """
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
        """Remove an attribute.

        Parameters
        ----------
        name : str
            The array. "": an attribute of the location.
        attribute : str
            The name of the attribute.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such array or attribute.
        """
        self._handle.remove_attribute(encode_key(name), encode_key(attribute))

    def _facts(self) -> Iterator[tuple[str, Any]]:
        from stepstore.notebook import shortened_text

        yield "location", self.location
        names = self.names()
        for name in names[:_SHOWN]:
            found = self.info(name)
            told = [f"{found.dtype} {found.shape}", human_bytes(found.nbytes)]
            told += [f"{key}={shortened_text(value, 50)}" for key, value in self.attributes(name).items()]
            yield name, shortened_text(", ".join(told))
        if len(names) > _SHOWN:
            yield "", f"and {len(names) - _SHOWN} more"
        for key, value in self.attributes().items():
            yield f"attribute {key}", shortened_text(value)

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
