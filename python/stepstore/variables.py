"""What a stream of steps holds: variables, their types and blocks, attributes."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepstore.buffers import decode_key
from stepstore.printable import human_bytes

DTYPES: dict[str, np.dtype[Any]] = {
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "float128": np.dtype(np.longdouble),
    "complex64": np.dtype(np.complex64),
    "complex128": np.dtype(np.complex128),
    "character": np.dtype(np.int8),  # as of ADIOS2: its Python stores int8 so
    **{f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_OF_FIELDS = {**DTYPES, "character": np.dtype("S1")}  # structs are of C++, where they are letters


class StepStatus(enum.Enum):
    """What waiting for a step came to.

    Attributes
    ----------
    OK
        A step has begun.
    NOT_READY
        No new step came in time.
    END_OF_STREAM
        The writer has closed the stream: there is no further step.
    WRITER_DIED
        The writer died: there is no further step, unless another writer appends. Asking again looks again.
    """

    OK = "ok"
    NOT_READY = "not_ready"
    END_OF_STREAM = "end_of_stream"
    WRITER_DIED = "writer_died"  # no further step, unless another writer appends: asking again looks again


@dataclass(frozen=True)
class Field:
    """A field of a struct.

    Attributes
    ----------
    name : str
        Its name.
    offset : int
        Where it begins in the struct, in bytes.
    type : str
        The type of its elements, such as "float32".
    count : int
        How many elements it has.
    """

    name: str
    offset: int
    type: str
    count: int


@dataclass(frozen=True)
class Structure:
    """What the elements of a variable of the type "struct" consist of.

    Attributes
    ----------
    name : str
        The name of the struct.
    size : int
        Bytes of an element.
    fields : tuple of Field
        Its fields. None are known if it is empty.
    """

    name: str
    size: int
    fields: tuple[Field, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        """A numpy dtype with these fields, or raw bytes if none are known."""
        if not self.fields:
            return np.dtype(f"V{self.size}")
        formats = [
            _OF_FIELDS[one.type] if one.count == 1 else (_OF_FIELDS[one.type], (one.count,))
            for one in self.fields
        ]
        return np.dtype(
            {
                "names": [one.name for one in self.fields],
                "formats": formats,
                "offsets": [one.offset for one in self.fields],
                "itemsize": self.size,
            }
        )


@dataclass(frozen=True)
class Variable:
    """A variable of a stream.

    Attributes
    ----------
    name : str
        Its name.
    type : str
        The type of its elements, such as "float32", "string" or "struct".
    kind : str
        "global value", "local value", "global array", "local array" or "joined array".
    shape : tuple of int or None
        Its shape in the step that was asked for, in numpy's order: () for single values; None for local
        arrays, whose blocks stand alone.
    id : int
        Its number, which stays the same while the stream is open.
    structure : Structure or None
        What its elements consist of, if they are structs.
    """

    name: str
    type: str
    kind: str
    shape: tuple[int, ...] | None
    id: int
    structure: Structure | None = None

    @property
    def is_value(self) -> bool:
        """Whether it holds single values and no arrays."""
        return self.kind.endswith("value")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of its elements: object for strings, one with fields for structs."""
        if self.structure is not None:
            return self.structure.dtype
        return DTYPES[self.type] if self.type in DTYPES else np.dtype(object)

    @property
    def nbytes(self) -> int | None:
        """How many bytes its elements take in a step; None for texts, and for blocks without a shape."""
        if self.type == "string" or self.shape is None:
            return None
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def summary(self) -> str:
        """Its kind, type, shape and size in one line."""
        name = f"struct {self.structure.name}" if self.structure is not None else self.type
        size = f", {human_bytes(self.nbytes)}" if self.shape and self.nbytes is not None else ""
        return f"{self.kind} of {name}" + (f", shape {self.shape}" if self.shape else "") + size

    def _repr_html_(self) -> str:
        from stepstore.notebook import table

        return table("stepstore.Variable", [("name", self.name), ("is", self.summary), ("dtype", self.dtype)])


@dataclass(frozen=True)
class Block:
    """What one put wrote.

    Attributes
    ----------
    writer : int
        The rank of the writer.
    index : int
        The number of the block among those of its writer in this step.
    start : tuple of int or None
        Where the block begins in the array; None if it stands alone.
    count : tuple of int
        Its extents, in elements.
    minimum, maximum : numpy scalar or None
        The extreme values; None if they were not recorded.
    """

    writer: int
    index: int
    start: tuple[int, ...] | None
    count: tuple[int, ...]
    minimum: Any
    maximum: Any


@dataclass(frozen=True)
class Attribute:
    """An attribute of a stream.

    Attributes
    ----------
    name : str
        Its name.
    type : str
        The type of its elements, such as "string" or "float64".
    value : str, numpy scalar, list of str or numpy array
        One value, or all of a list.
    """

    name: str
    type: str
    value: Any


def structure_of(known: Any) -> Structure | None:
    """Make a Structure from what the extension says of one.

    Parameters
    ----------
    known : tuple or None
        Name, size and fields; None for a variable of another type.

    Returns
    -------
    Structure or None
        None if `known` is None.
    """
    if known is None:
        return None
    name, size, fields = known
    return Structure(
        decode_key(name), size, tuple(Field(decode_key(field), *where) for field, *where in fields)
    )
