"""What a stream of steps holds: variables, their types and blocks, attributes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepstore.buffers import decode_key

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
    OK = "ok"
    NOT_READY = "not_ready"
    END_OF_STREAM = "end_of_stream"
    WRITER_DIED = "writer_died"  # no further step, unless another writer appends: asking again looks again


@dataclass(frozen=True)
class Field:
    """Of a struct: count elements of the type, from the byte offset on."""

    name: str
    offset: int
    type: str
    count: int


@dataclass(frozen=True)
class Structure:
    """What the elements of a variable of the type struct consist of. size: bytes."""

    name: str
    size: int
    fields: tuple[Field, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
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
    """A variable. shape: in the step asked for; () for single values, None for local arrays, whose blocks
    stand alone. structure: of the type struct."""

    name: str
    type: str
    kind: str
    shape: tuple[int, ...] | None
    id: int
    structure: Structure | None = None

    @property
    def is_value(self) -> bool:
        return self.kind.endswith("value")

    @property
    def dtype(self) -> np.dtype[Any]:
        """object for strings; of structs one with fields."""
        if self.structure is not None:
            return self.structure.dtype
        return DTYPES[self.type] if self.type in DTYPES else np.dtype(object)

    @property
    def summary(self) -> str:
        """Kind, type and shape in one line."""
        name = f"struct {self.structure.name}" if self.structure is not None else self.type
        return f"{self.kind} of {name}" + (f", shape {self.shape}" if self.shape else "")

    def _repr_html_(self) -> str:
        from stepstore.notebook import table

        return table("stepstore.Variable", [("name", self.name), ("is", self.summary), ("dtype", self.dtype)])


@dataclass(frozen=True)
class Block:
    """What one put wrote. start: None where the block stands alone; minimum, maximum: None when not
    recorded."""

    writer: int
    index: int
    start: tuple[int, ...] | None
    count: tuple[int, ...]
    minimum: Any
    maximum: Any


@dataclass(frozen=True)
class Attribute:
    name: str
    type: str
    value: Any


def structure_of(known: Any) -> Structure | None:
    if known is None:
        return None
    name, size, fields = known
    return Structure(
        decode_key(name), size, tuple(Field(decode_key(field), *where) for field, *where in fields)
    )
