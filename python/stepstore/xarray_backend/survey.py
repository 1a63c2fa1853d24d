"""Which variables a stream has in which steps, and of what shape: one walk through the steps' metadata."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.steps import Steps, Variable
from stepstore.xarray_backend.sources import OpenStream

Box = tuple[int, ...]
Chunks = tuple[int, ...]
# What the user may say of steps: all, one (which has no dimension for steps), some.
Selection = int | slice | Sequence[int] | None


@dataclass
class Seen:
    """A variable and the steps that have it. boxes: its shape in each; of local arrays the blocks come first;
    None where the blocks differ. values: of single values and of strings, which metadata holds."""

    name: str
    kind: str
    dtype: np.dtype[Any]
    variable: Variable
    steps: list[int] = field(default_factory=list)
    boxes: list[Box | None] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    @property
    def is_text(self) -> bool:
        return bool(self.dtype.kind == "O")


def chosen_steps(steps: Steps, there: int, selection: Selection) -> list[int]:
    """The numbers of the steps that are wanted, of those before `there`, in the order of the selection."""
    first = steps.first
    if selection is None:
        return list(range(first, there))
    if isinstance(selection, slice):
        return [number for number in range(there)[selection] if number >= first]
    wanted = [selection] if isinstance(selection, int | np.integer) else list(selection)
    numbers = [int(number) + there if number < 0 else int(number) for number in wanted]
    for number in numbers:
        if not first <= number < there:
            known = f"has the steps {first} to {there - 1}" if there > first else "has no step yet"
            raise Error(
                DER_NONEXIST, f"{steps.location}: there is no step {number} to open: the stream {known}"
            )
    if len(set(numbers)) != len(numbers):
        raise Error(DER_INVAL, f"{steps.location}: a step is named twice in steps={selection!r}")
    return numbers


def survey(stream: OpenStream, numbers: Sequence[int], dropped: Collection[str]) -> list[Seen]:
    """The variables of the steps, in the order of their definitions; without those of these names."""
    handle = stream.steps._handle
    seen: dict[int, Seen] = {}
    for number in numbers:
        for variable in handle.variables(number):
            if variable not in seen:
                found = stream.steps._variable(variable, number)
                seen[variable] = Seen(found.name, found.kind, np.dtype(found.dtype), found)
            if seen[variable].name not in dropped:
                _look(stream.steps, seen[variable], number)
    return [one for _, one in sorted(seen.items()) if one.steps]


def _look(steps: Steps, seen: Seen, number: int) -> None:
    seen.steps.append(number)
    if seen.kind == "global value":
        seen.values.append(steps._value(seen.variable, 0, number))
        seen.boxes.append(())
    elif seen.kind == "local array":
        counts = [
            steps._turned(count) for _, _, _, count, _ in steps._handle.blocks(seen.variable.id, number)
        ]
        alike = len(set(counts)) == 1
        seen.boxes.append((len(counts), *counts[0]) if alike else None)
    else:
        shape = steps._turned(steps._handle.shape(seen.variable.id, number))
        seen.boxes.append(shape)
        if seen.is_text:
            seen.values.append([steps._value(seen.variable, block, number) for block in range(shape[0])])


def chunks_of(steps: Steps, seen: Seen, box: Box) -> tuple[Chunks, ...]:
    """The blocks of the last step along each dimension, where they are a grid; else each dimension whole."""
    if seen.kind == "local array":
        return ((1,) * box[0], *((size,) for size in box[1:]))
    if seen.kind != "global array":
        return tuple((size,) for size in box)
    blocks = steps._handle.blocks(seen.variable.id, seen.steps[-1])
    return grid_of(box, ((steps._turned(start), steps._turned(count)) for _, _, start, count, _ in blocks))


def grid_of(box: Box, blocks: Iterable[tuple[Box, Box]]) -> tuple[Chunks, ...]:
    """The blocks (start, count) along each dimension, where they are a grid; else each dimension whole."""
    known = {start for start, count in blocks if 0 not in count}
    axes = [sorted({start[axis] for start in known}) for axis in range(len(box))]
    if not known or math.prod(len(starts) for starts in axes) != len(known):
        return tuple((size,) for size in box)
    return tuple(
        tuple(end - start for start, end in itertools.pairwise([0, *starts[1:], size]))
        for size, starts in zip(box, axes, strict=True)
    )
