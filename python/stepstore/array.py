"""Array objects, with the calls of numpy and h5py users."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

from stepstore.buffers import memory_of, numpy_of, plain, room_for, size_in_bytes, unmasked
from stepstore.errors import DER_INVAL, Error
from stepstore.handles import StoredObject, Waits
from stepstore.printable import human_bytes

if TYPE_CHECKING:
    from types import EllipsisType
    from typing import TypeAlias, TypeVar

    import numpy as np
    import numpy.typing as npt

    from stepstore import _core
    from stepstore.buffers import Memory, Room

    Filled = TypeVar("Filled", bound=Room)
    Index: TypeAlias = int | slice | EllipsisType | tuple[()] | tuple[int | slice | EllipsisType]

_READ_UNSEEN = 64 << 20  # bytes that aread makes room for without a look at the size
_ITERATED = 1 << 20  # bytes that iteration reads at a time


class Array(StoredObject):
    """A one-dimensional array object of cells. What was never written reads as zero.

    It grows with what is written after its end, and with `resize`. Offsets and counts are in cells. As an
    array of numpy its shape is (size,), and its elements are of `dtype`: the one that it was opened with, or
    unsigned bytes, or raw cells (V4 and so on). array[i], array[i:j] and array[i:j:k] read, and assignments
    to them write, within the size. numpy.asarray(array) reads all of it.

    Every call may raise `stepstore.Error`: DER_NO_PERM (open for reading only), DER_NO_HDL (closed), DER_CSUM
    (damaged), DER_NOSPACE (the device is full), DER_INVAL (not a whole number of cells). Memory of the wrong
    kind raises TypeError.

    `Container.create_array` and `Container.open_array` open one.

    Parameters
    ----------
    handle : object
        The object of the extension.
    waits : Waits
        The location and the awaited calls, which the pool shares.
    container : str
        The label of the container.
    dtype : dtype, optional
        The type of an element, which has the size of a cell.
    """

    _handle: _core.Array

    def __init__(self, handle: _core.Array, waits: Waits, container: str, dtype: npt.DTypeLike | None = None):
        super().__init__(handle, waits, container)
        self._dtype = None if dtype is None else self._checked(dtype)

    @property
    def cell_size(self) -> int:
        """Bytes in a cell."""
        return self._handle.cell_size

    @property
    def chunk_size(self) -> int:
        """Cells in a chunk. A chunk lies on one target."""
        return self._handle.chunk_size

    @property
    def size(self) -> int:
        """The number of cells, which may be more than len() can say."""
        return self._handle.size()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of an element, which is one cell."""
        if self._dtype is None:
            return self._checked("u1" if self.cell_size == 1 else f"V{self.cell_size}")
        return self._dtype

    @property
    def shape(self) -> tuple[int]:
        """The shape as numpy has it: (size,)."""
        return (self.size,)

    @property
    def ndim(self) -> int:
        """The number of dimensions: 1."""
        return 1

    @property
    def nbytes(self) -> int:
        """The size in bytes, holes included."""
        return self.size * self.cell_size

    def view(self, dtype: npt.DTypeLike) -> Array:
        """Give the same open array with elements of another type.

        Parameters
        ----------
        dtype : dtype
            The type. It has the size of a cell.

        Returns
        -------
        Array
            The same array. Closing one closes both.

        Raises
        ------
        Error
            DER_INVAL: the type has another size than a cell, or is of Python objects.
        """
        viewed = Array(self._handle, self._waits, self._container, dtype)
        if self._opened_by is not None:
            opener, (container, which, _, *rest) = self._opened_by
            viewed._opened_by = opener, (container, which, dtype, *rest)
        return viewed

    def __len__(self) -> int:
        size = self.size
        if size > sys.maxsize:
            raise OverflowError(
                f"array {self.id} has {size} cells, more than len() can say ({sys.maxsize}): use .size"
            )
        return size

    def __bool__(self) -> bool:
        return self.size > 0

    # ---- reading and writing
    def write(self, index: int, data: Memory | str) -> None:
        """Write bytes or elements from a cell on. The array grows if they go beyond its end.

        Parameters
        ----------
        index : int
            The first cell.
        data : str, bytes, numpy array or other buffer
            The cells to write. Its size is a multiple of the cell size.

        Raises
        ------
        Error
            DER_INVAL: an array of another dtype than the one that this array was opened with, masked
            elements, or not a whole number of cells.
        """
        self._require_same(data)
        self._handle.write(index, memory_of(data))

    @overload
    def read(self, index: int = 0, count: int | None = None) -> bytes: ...
    @overload
    def read(self, index: int = 0, count: int | None = None, *, dtype: npt.DTypeLike) -> npt.NDArray[Any]: ...
    @overload
    def read(self, index: int = 0, *, out: Filled) -> Filled: ...
    def read(
        self, index: int = 0, count: int | None = None, dtype: npt.DTypeLike | None = None, out: Any = None
    ) -> Any:
        """Read cells, cut at the end of the array.

        Parameters
        ----------
        index : int, optional
            The first cell.
        count : int, optional
            How many cells. The default goes to the end.
        dtype : dtype, optional
            The type of the elements to return.
        out : bytearray, numpy array or other buffer, optional
            Contiguous memory to fill, instead of `count` and `dtype`. Cells beyond the end of the array read
            as zero.

        Returns
        -------
        bytes, numpy array or out
            Bytes without `dtype`, with it an array of one dimension; `out` if it was given.

        Raises
        ------
        TypeError
            `out` together with `count` or `dtype`.
        BufferError
            `out` is read-only.
        Error
            DER_INVAL: `out` is not contiguous or of another dtype, the cells are no whole number of elements,
            or they are more than memory can hold.
        """
        if out is not None:
            self._no_count(count, dtype)
            self.read_into(index, out)
            return out
        index, count = self._cut(index, count, self.size)
        if dtype is None:
            return self._handle.read(index, self._checked_size(index, count))
        values = self._room(index, count, dtype)
        self._handle.read_into(index, room_for(values))
        return values

    def read_into(self, index: int, into: Room) -> int:
        """Fill memory of yours with the cells from an index on.

        Parameters
        ----------
        index : int
            The first cell.
        into : bytearray, numpy array or other buffer
            Contiguous and writable memory. Its size says how much is read.

        Returns
        -------
        int
            How many of the cells lie beyond the end of the array. These read as zero.

        Raises
        ------
        BufferError
            The memory is read-only.
        Error
            DER_INVAL: the memory is not contiguous, or of another dtype.
        """
        self._require_same(into)
        return self._handle.read_into(index, room_for(into))

    def resize(self, cells: int) -> None:
        """Cut the array, or let it grow with zeroes.

        Parameters
        ----------
        cells : int
            The new size.
        """
        self._handle.set_size(cells)

    def punch(self, index: int, count: int) -> None:
        """Make a hole: these cells read as zero and take no space.

        Parameters
        ----------
        index : int
            The first cell.
        count : int
            How many cells.
        """
        self._handle.punch(index, count)

    # ---- awaitable
    async def awrite(self, index: int, data: Memory | str) -> None:
        """Write bytes or elements, awaitable. See `write`.

        Parameters
        ----------
        index : int
            The first cell.
        data : str, bytes, numpy array or other buffer
            The cells to write. Its memory must not change before the call has completed.

        Raises
        ------
        Error
            As for `write`.
        """
        self._require_same(data)
        await self._waits.queues.call(self._handle, "write", index, memory_of(data))

    async def aread(
        self, index: int = 0, count: int | None = None, dtype: npt.DTypeLike | None = None, out: Any = None
    ) -> Any:
        """Read cells, awaitable. See `read`.

        Parameters
        ----------
        index : int, optional
            The first cell.
        count : int, optional
            How many cells. The default goes to the end.
        dtype : dtype, optional
            The type of the elements to return.
        out : bytearray, numpy array or other buffer, optional
            Contiguous memory to fill, instead of `count` and `dtype`.

        Returns
        -------
        bytes, numpy array or out
            Bytes without `dtype`, with it an array of one dimension; `out` if it was given.

        Raises
        ------
        TypeError, BufferError, Error
            As for `read`.
        """
        if out is not None:
            self._no_count(count, dtype)
            await self.aread_into(index, out)
            return out
        if count is None or count * self.cell_size > _READ_UNSEEN:
            index, count = self._cut(index, count, await self._asize())
        if dtype is not None:
            values = self._room(index, count, dtype)
            short = await self._aread_into(index, values)
            return values[: (values.nbytes - short * self.cell_size) // values.itemsize]
        call = self._waits.queues.call
        data, short = await call(self._handle, "read", index, self._checked_size(index, count))
        if short is None:
            short = max(0, min(count, index + count - await self._asize()))
        return data if short == 0 else data[: (count - short) * self.cell_size]

    async def aread_into(self, index: int, into: Room) -> int:
        """Fill memory of yours, awaitable. See `read_into`.

        Parameters
        ----------
        index : int
            The first cell.
        into : bytearray, numpy array or other buffer
            Contiguous and writable memory. It stays alive until the call has completed.

        Returns
        -------
        int
            How many of the cells lie beyond the end of the array. These read as zero.

        Raises
        ------
        BufferError, Error
            As for `read_into`.
        """
        self._require_same(into)
        return await self._aread_into(index, into)

    async def _aread_into(self, index: int, into: Room) -> int:
        memory = room_for(into)
        short: int | None = await self._waits.queues.call(self._handle, "read_into", index, memory)
        if short is None:  # a DAOS system does not say
            cells = size_in_bytes(memory) // self.cell_size
            short = max(0, min(cells, index + cells - await self._asize()))
        return short

    async def _asize(self) -> int:
        from stepstore.aio import in_thread

        return await in_thread(self._handle.size)

    # ---- as an array of numpy
    def __getitem__(self, key: Index) -> Any:
        """An element, or a numpy array of the elements of a slice."""
        if (number := self._number(key)) is not None:
            return self._elements(number, 1)[0]
        start, stop, step = self._slice(key).indices(self.size)
        wanted = range(start, stop, step)
        if not wanted:
            return self._elements(0, 0)
        first, last = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
        values = self._elements(first, last - first + 1)
        return values[::step] if step != 1 else values

    def __setitem__(self, key: Index, value: Any) -> None:
        """Writes elements within the size; value: of the shape of the slice, or that broadcasts to it."""
        import numpy as np

        if (number := self._number(key)) is not None:
            wanted = range(number, number + 1)
        else:
            wanted = range(*self._slice(key).indices(self.size))
        values = np.asarray(unmasked(value), dtype=self.dtype)
        if values.size > 1 and values.shape != (len(wanted),):
            raise ValueError(
                f"array {self.id} of {self.size} cells: {len(wanted)} cells are assigned values of shape "
                f"{values.shape}; write(index, values) and resize(cells) make the array larger"
            )
        if not wanted:
            return
        values = np.broadcast_to(values.reshape(-1), (len(wanted),))
        if wanted.step < 0:
            wanted, values = wanted[::-1], values[::-1]
        if wanted.step == 1:
            self.write(wanted[0], values)
        else:
            self._handle.write_strided(wanted[0], wanted.step, memory_of(values))

    def __iter__(self) -> Iterator[Any]:
        at = 0
        page = max(1, _ITERATED // self.cell_size)
        while len(values := self.read(at, page, dtype=self.dtype)):
            yield from values
            at += len(values)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError(f"array {self.id} is not in memory: reading it makes a copy")
        values = self.read(dtype=self.dtype)
        return values if dtype is None else values.astype(dtype, copy=False)

    def _facts(self) -> Iterator[tuple[str, Any]]:
        yield from super()._facts()
        yield "type of a cell", self._dtype if self._dtype is not None else f"{self.cell_size} bytes"
        yield "cells in a chunk", self.chunk_size
        yield "cells", self.size
        yield "size", human_bytes(self.size * self.cell_size)

    # ---- inside
    def _require_same(self, memory: Any) -> None:
        """Error DER_INVAL: elements that would be taken for others. Bytes are never."""
        if self._dtype is None or numpy_of(memory) is None:
            return
        given = memory.dtype
        is_raw = given == "u1" or (given.kind == "V" and not given.names)
        if given == self._dtype or is_raw or given.hasobject:
            return
        raise Error(
            DER_INVAL,
            f"elements of {given} are not those of array {self.id}, which was opened with {self._dtype}: "
            "assign to array[i:j], which converts them, or give memory.view('u1') for their bytes",
        )

    def _cut(self, index: int, count: int | None, size: int) -> tuple[int, int]:
        index = min(index, size)
        return index, size - index if count is None else min(count, size - index)

    def _checked_size(self, index: int, count: int) -> int:
        """Bytes of the cells."""
        if (size := count * self.cell_size) > sys.maxsize:
            raise Error(
                DER_INVAL,
                f"array {self.id}: {count} cells from {index} on are more than memory can hold: read fewer "
                "cells at once",
            )
        return size

    def _room(self, index: int, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        import numpy as np

        kind = plain(np.dtype(dtype))
        size = self._checked_size(index, count)
        if not kind.itemsize or size % kind.itemsize:
            raise Error(DER_INVAL, f"{size} bytes of array {self.id} are not a whole number of {kind} values")
        return np.empty(size // kind.itemsize, dtype=kind)

    def _no_count(self, count: int | None, dtype: object) -> None:
        if count is not None or dtype is not None:
            raise TypeError("with out= its memory says how much is read, and as what: leave count and dtype")

    def _elements(self, index: int, count: int) -> npt.NDArray[Any]:
        values = self._room(index, count, self.dtype)
        if count:
            self.read_into(index, values)
        return values

    def _number(self, key: Any) -> int | None:
        """The cell of an index; None: it is none."""
        if isinstance(key, tuple) and len(key) == 1:
            key = key[0]
        if not hasattr(key, "__index__") or getattr(key, "ndim", 0) > 0:
            return None
        number = key.__index__()
        size = self.size
        if not -size <= number < size:
            raise IndexError(f"array {self.id} has {size} cells, and no cell {number}")
        return int(number) % size

    def _slice(self, key: Any) -> slice:
        if isinstance(key, tuple) and len(key) == 1:
            key = key[0]
        if key is Ellipsis or (isinstance(key, tuple) and not key):
            return slice(None)
        if isinstance(key, slice):
            return key
        raise TypeError(
            f"array {self.id} takes one integer or slice as index, not {type(key).__name__}: it has one "
            "dimension"
        )

    def _checked(self, dtype: npt.DTypeLike) -> np.dtype[Any]:
        return element_type(dtype, self.cell_size, f"array {self.id}")


def element_type(dtype: npt.DTypeLike, cell_size: int | None, what: str) -> np.dtype[Any]:
    """Tell the type of the elements of an array, each of which is one cell.

    Parameters
    ----------
    dtype : dtype-like
        As the caller gave it.
    cell_size : int or None
        Bytes of a cell; None allows any.
    what : str
        The array, for messages.

    Returns
    -------
    numpy.dtype
        The type, of plain elements.

    Raises
    ------
    Error
        DER_INVAL: the two sizes differ.
    """
    import numpy as np

    kind = plain(np.dtype(dtype))
    if cell_size is not None and kind.itemsize != cell_size:
        raise Error(
            DER_INVAL,
            f"{what} has cells of {cell_size} bytes, and {kind} has {kind.itemsize}: the two must be the "
            "same",
        )
    return kind
