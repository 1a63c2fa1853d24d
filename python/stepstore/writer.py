"""Writing streams of steps from numpy arrays. ADIOS2 is not needed, and reads them as its own.

::

    with stepstore.Writer("out/heat") as writer:
        writer.set_attribute("title", "a rod that cools down")
        for number in range(100):
            with writer.step() as step:
                step["T"] = temperature              # a whole array
                step["time"] = number * 0.1          # a single value

On several ranks each puts its block::

    with stepstore.Writer("out/heat", comm=MPI.COMM_WORLD) as writer, writer.step() as step:
        step.put("T", block, shape=(4 * n, m), start=(writer.rank * n, 0))

A step is visible to readers, whole, when `with writer.step()` ends on the last rank. If that block is left by
an exception, the step is dropped, and the writer ends. The steps before it stay.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stepstore import _core
from stepstore.buffers import encode_key, memory_of, plain, unmasked
from stepstore.errors import DER_INVAL, Error
from stepstore.variables import DTYPES

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Writer", "WriterStep"]

_TYPES = {dtype: name for name, dtype in DTYPES.items() if name != "character"}
_FIELD_TYPES = {**_TYPES, np.dtype("S1"): "character"}
_Fields = list[tuple[str, int, str, int]]


class Writer:
    """A stream of steps, open for writing. `with` closes it, and so tells readers that it has ended.

    Making it, `close`, and with some layouts the end of a step are collective: all ranks call them. Threads
    may share a writer: their calls wait for each other. A forked child may not use its parent's.

    Parameters
    ----------
    location : str or path
        POOL[/CONTAINER[/STREAM]]. It is made if it is missing. Without them the container is "default" and
        the stream "main".
    append : bool, optional
        Continue a stream that is there. By default it is replaced.
    comm : str or mpi4py communicator, optional
        Which ranks write the stream together. An `mpi4py.MPI.Comm`: its ranks. "world": all of
        `MPI.COMM_WORLD`. "self": this process alone. "auto", the default: the ranks of `MPI.COMM_WORLD` that
        open the same location, or this process if MPI is not initialised.
    group_timeout : float, optional
        How many seconds ranks wait for each other here. The default is 60.
    **options : object
        A writer's parameters by their names in docs/parameters.md, such as `Compression="zstd"`.

    Raises
    ------
    Error
        DER_BUSY: another writer is at work on the stream. DER_INVAL: not a location, a parameter is not
        valid, or contradicts the stream that is appended to. DER_TIMEDOUT: ranks are missing.
    """

    def __init__(
        self,
        location: str | os.PathLike[str],
        *,
        append: bool = False,
        comm: Any = "auto",
        group_timeout: float = 60.0,
        **options: object,
    ):
        settings = {name: str(value) for name, value in options.items()}
        group, handle = _group_of(comm)
        self._handle = _core.StepWriter(
            os.fspath(location), append, settings, group, handle, float(group_timeout)
        )
        self._stored: dict[int, tuple[str, int]] = {}  # how, of variables with a compression of their own

    @property
    def location(self) -> str:
        """POOL/CONTAINER/STREAM."""
        return self._handle.location

    @property
    def rank(self) -> int:
        """The number of this process among those that write the stream."""
        return self._handle.rank

    @property
    def size(self) -> int:
        """How many processes write the stream."""
        return self._handle.size

    def __len__(self) -> int:
        """The steps so far, those that were kept included."""
        return self._handle.steps()

    @contextlib.contextmanager
    def step(self) -> Iterator[WriterStep]:
        """Write one step: `with writer.step() as step`.

        Yields
        ------
        WriterStep
            The step, until the block ends. Then readers see it; with `AsyncWrite="on"` soon after, and the
            next step, or `close`, waits for it and raises its error.

        Raises
        ------
        Error
            DER_INVAL: a step is open already. From the end of the block, DER_CANCELED: another rank has
            failed, left or died. The step is lost then, and the writer can only be closed.
        """
        step = WriterStep(self, self._handle.begin_step())
        try:
            yield step
        except BaseException:
            self._handle.drop()
            raise
        finally:
            step._open = False
        self._handle.end_step()

    def set_attribute(self, name: str, value: Any, *, variable: str = "") -> None:
        """Set or replace an attribute, from the step that is open or comes next.

        Parameters
        ----------
        name : str
            Its name.
        value : str, number, list or array_like
            One value, or a list of values of one type. Texts are of any length.
        variable : str, optional
            Of which variable it is. As in ADIOS2 the name is then VARIABLE/NAME.

        Raises
        ------
        Error
            DER_INVAL: values of a type that cannot be stored, masked elements, or more than one dimension.
        """
        key = encode_key(f"{variable}/{name}" if variable else name)
        what = f"{self.location}: attribute {name!r}"
        if isinstance(value, str | bytes):
            return self._handle.text_attribute(key, [encode_key(value)], False)
        if isinstance(value, list | tuple) and all(isinstance(one, str | bytes) for one in value) and value:
            return self._handle.text_attribute(key, [encode_key(one) for one in value], True)
        values = _array_of(value, what)
        if values.ndim > 1:
            raise Error(DER_INVAL, f"{what} has the shape {values.shape}, and attributes have one dimension")
        if values.dtype.kind in "US":
            texts = [encode_key(text) for text in np.atleast_1d(values).tolist()]
            return self._handle.text_attribute(key, texts, values.ndim == 1)
        type_, native = _type_of(values, _TYPES, what)
        return self._handle.attribute(key, type_, memory_of(native), values.size, values.ndim == 1)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a stepstore.Writer cannot be pickled: open one in the process that writes")

    @property
    def closed(self) -> bool:
        """Whether it is closed: no other call works then."""
        return self._handle.closed

    def close(self) -> None:
        """End the stream: readers are told that no step follows. Collective. A second call does nothing."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """After an exception the stream is left as by a writer that died: its steps stay."""
        if kind is None:
            self.close()
        else:
            self._handle.drop()

    def __repr__(self) -> str:
        return f"<closed stepstore.Writer of {self.location!r}>" if self.closed else f"<{self._facts}>"

    @property
    def _facts(self) -> str:
        ranks = f", rank {self.rank} of {self.size}" if self.size > 1 else ""
        return f"stepstore.Writer of {self.location!r}, {len(self)} steps{ranks}"

    def _put(
        self,
        name: str,
        data: Any,
        shape: Sequence[int] | None,
        start: Sequence[int] | None,
        local: bool,
        stored: tuple[str, int] | None,
    ) -> None:
        what = f"{self.location}: variable {name!r}"
        key = encode_key(name)
        single = "local value" if local else "global value"
        if isinstance(data, str | bytes):
            return self._handle.put_string(self._handle.define(key, "string", single), encode_key(data))
        values = _array_of(data, what)
        fields: _Fields = []
        if values.dtype.names is not None:
            fields, native = _fields_of(values, what)
            type_ = "struct"
        else:
            type_, native = _type_of(values, _TYPES, what)
        if values.ndim == 0 and shape is None:
            _refuse_struct(fields, what)
            return self._handle.put_value(self._handle.define(key, type_, single), memory_of(native))
        kind = "local array" if local else "global array"
        number = self._handle.define(key, type_, kind, values.dtype.itemsize if fields else 0, fields)
        if stored is not None and self._stored.get(number) != stored:
            self._handle.compress(number, *stored)
            self._stored[number] = stored
        whole, first = _box(values.shape, shape, start, local, what)
        return self._handle.put(number, whole, first, values.shape, memory_of(native))


class WriterStep:
    """One step that is being written. `Writer.step` makes it.

    Values are copied or written when they are put: the program may change its arrays at once.

    Parameters
    ----------
    writer : Writer
        The writer.
    number : int
        The number of the step.
    """

    def __init__(self, writer: Writer, number: int):
        self._writer = writer
        self._open = True
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a stepstore.WriterStep cannot be pickled: its process puts the values")

    def __setitem__(self, name: str, data: Any) -> None:
        """Put a whole array, a single value, or a text."""
        self.put(name, data)

    def put(
        self,
        name: str,
        data: Any,
        *,
        shape: Sequence[int] | None = None,
        start: Sequence[int] | None = None,
        local: bool = False,
        compression: str | None = None,
        level: int = 0,
    ) -> None:
        """Put an array or a block of one, a single value, or a text.

        Parameters
        ----------
        name : str
            The variable. It has the same type, and is of the same kind, in all steps.
        data : array_like or str
            The elements: integers, floats, complex numbers, or structs of these.
        shape : sequence of int, optional
            The extents of the whole array. The default is the shape of `data`.
        start : sequence of int, optional
            Where the block begins in the whole array. The default is its beginning.
        local : bool, optional
            The block or value is this rank's own, and no part of a whole.
        compression : str, optional
            How blocks of this variable are stored from now on: "none", "zstd", "blosc2-lz4" or
            "blosc2-zstd". The default is the writer's parameter `Compression`.
        level : int, optional
            The level of the compression. 0: its default.

        Raises
        ------
        Error
            DER_INVAL: a dtype that cannot be stored, masked elements, a block outside of the shape, or
            another type or kind than before. DER_NO_HDL: the step has ended.
        """
        if not self._open:
            raise Error(DER_INVAL, f"step {self.number} of {self._writer.location} has ended: begin another")
        stored = None if compression is None else (compression, level)
        self._writer._put(name, data, shape, start, local, stored)


def _group_of(comm: Any) -> tuple[str, int]:
    if isinstance(comm, str):
        if comm not in ("auto", "world", "self"):
            raise Error(
                DER_INVAL, f"comm is {comm!r}: give 'auto', 'world', 'self' or a communicator of mpi4py"
            )
        return comm, 0
    if not hasattr(comm, "py2f"):
        raise TypeError(f"comm is {comm!r}: give 'auto', 'world', 'self' or a communicator of mpi4py")
    return "comm", comm.py2f()


def _array_of(data: Any, what: str) -> np.ndarray[Any, Any]:
    try:
        values = np.asarray(unmasked(data))
        plain(values.dtype)
    except Error as error:
        raise Error(error.code, f"{what}: {error}") from None
    return values


def _type_of(
    values: np.ndarray[Any, Any], types: dict[np.dtype[Any], str], what: str
) -> tuple[str, np.ndarray[Any, Any]]:
    """The name of the type, and the values in the byte order of this machine."""
    native = values.dtype.newbyteorder("=")
    if native not in types:
        raise Error(DER_INVAL, f"{what}: values of type {values.dtype} are not stored: {_advice(native)}")
    return types[native], values.astype(native, copy=False)


def _advice(dtype: np.dtype[Any]) -> str:
    advice = {
        "b": 'give .astype("u1")',
        "M": 'give .astype("i8"), and the unit as an attribute',
        "m": 'give .astype("i8"), and the unit as an attribute',
        "S": "set an attribute, or put one text at a time",
        "U": "set an attribute, or put one text at a time",
    }
    return advice.get(dtype.kind, "convert them with .astype")


def _fields_of(values: np.ndarray[Any, Any], what: str) -> tuple[_Fields, np.ndarray[Any, Any]]:
    dtype = values.dtype.newbyteorder("=")
    fields = []
    for name in dtype.names or ():
        kind, offset = dtype.fields[name][:2]
        base, extents = kind.subdtype or (kind, ())
        if base not in _FIELD_TYPES or len(extents) > 1:
            raise Error(
                DER_INVAL,
                f"{what}: the field {name!r} is of type {kind}: fields are numbers, or rows of them",
            )
        fields.append((name, int(offset), _FIELD_TYPES[base], int(np.prod(extents, dtype=int))))
    return fields, values.astype(dtype, copy=False)


def _refuse_struct(fields: _Fields, what: str) -> None:
    if fields:
        raise Error(DER_INVAL, f"{what}: a single value is no struct: give an array of one element")


def _box(
    count: tuple[int, ...], shape: Sequence[int] | None, start: Sequence[int] | None, local: bool, what: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The whole array and where the block begins in it; of a local block nothing."""
    if local:
        if shape is not None or start is not None:
            raise Error(
                DER_INVAL, f"{what}: a local block has no place in a whole: leave out shape and start"
            )
        return (), ()
    if start is not None and shape is None:
        raise Error(DER_INVAL, f"{what}: a block with a start needs the shape of the whole array too")
    whole = count if shape is None else tuple(int(one) for one in shape)
    first = (0,) * len(count) if start is None else tuple(int(one) for one in start)
    if not len(whole) == len(first) == len(count) or min((*whole, *first), default=0) < 0:
        raise Error(
            DER_INVAL,
            f"{what}: a block of shape {count} at {first} does not lie in an array of shape {whole}",
        )
    return whole, first
