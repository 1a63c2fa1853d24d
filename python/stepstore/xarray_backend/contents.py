"""What a stream is as a dataset: its variables with dimensions, coordinates, attributes and chunks.

Every variable has the dimension `step` first, with the numbers of the steps as coordinate. The rules for
variables that not every step has, or whose shape changes, are in docs/xarray.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from stepstore.xarray_backend.conventions import STEPS, Conventions, Dimensions, short, sort_out
from stepstore.xarray_backend.lazy import JoinedArray, NDArray, Stored, StreamArray
from stepstore.xarray_backend.sources import OpenStream, Source
from stepstore.xarray_backend.survey import Box, Chunks, Seen, Selection, chosen_steps, chunks_of, survey

_STEP = "step"


@dataclass
class Names:
    """The dimensions of variables, by variable. steps: the dimension of its steps. axes: the others. joined:
    the place of that along which its steps are joined."""

    steps: dict[str, str] = field(default_factory=dict)
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    joined: dict[str, int] = field(default_factory=dict)


@dataclass
class Contents:
    """left_out: variables that have no place in the dataset, and why. end: the step after the last known."""

    end: int
    variables: dict[str, xr.Variable] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    coordinates: set[str] = field(default_factory=set)
    left_out: dict[str, str] = field(default_factory=dict)
    names: Names = field(default_factory=Names)


def contents_of(
    source: Source, selection: Selection, names: Names | None = None, dropped: Collection[str] = ()
) -> Contents:
    """names: of dimensions, where they are known already; they come before all conventions."""
    with source.opened() as stream:
        return _Builder(source, stream, selection, names or Names(), dropped).build()


class _Builder:
    def __init__(
        self, source: Source, stream: OpenStream, selection: Selection, names: Names, dropped: Collection[str]
    ):
        self._source = source
        self._steps = stream.steps
        end = len(stream.steps)
        self._numbers = chosen_steps(stream.steps, end, selection)
        self._one_step = isinstance(selection, int | np.integer)
        self._has_steps = True
        self._seen = survey(stream, self._numbers, dropped)
        last = self._numbers[-1] if self._numbers else None
        attributes = {} if last is None else stream.steps.attributes(last)
        # The attributes of variables that are dropped, or not in these steps, are not the dataset's.
        known = {*(one.name for one in self._seen), *stream.steps.definitions()}
        self._conventions: Conventions = sort_out(attributes, known)
        if stream.steps._reversed:
            self._conventions.turned = known
        self._given = names
        self._dimensions = Dimensions(source.location, names.axes, self._conventions)
        self._partial: dict[str, list[int]] = {}  # the steps of each dimension that does not have all
        self._joined: dict[tuple[Any, ...], str] = {}
        self._result = Contents(end, attributes=self._conventions.rest)

    def build(self) -> Contents:
        self._place_steps()
        for seen in self._seen:
            if (box := seen.boxes[0]) is not None:
                self._dimensions.learn(seen.name, box)
        for seen in self._seen:
            if seen.name not in self._result.variables:
                self._add(seen)
        self._place_meshes()
        return self._result

    # ---- steps
    def _place_steps(self) -> None:
        """The dimension of the steps, usually `step`, and its coordinate: the stream's own variable of this
        name, where every step has this number, else the numbers of the steps."""
        self._labels: dict[int, Any] = {number: number for number in self._numbers}
        said = self._conventions.rest.pop(STEPS, _STEP)
        self._step = said if isinstance(said, str) and said else _STEP
        if said == "" and len(self._numbers) == 1:  # more have been appended else
            self._has_steps = False
            return
        own = next((seen for seen in self._seen if seen.name == self._step), None)
        values: NDArray = np.array(self._numbers, dtype=np.int64)
        if own is not None:
            if own.kind == "global value" and own.steps == self._numbers and own.dtype.kind in "iuf":
                values = np.array(own.values)
                self._labels = dict(zip(self._numbers, own.values, strict=True))
            else:
                self._step = "stream_step"
        elif self._step != _STEP:  # a file's dimension, which had no coordinate
            self._dimensions.sizes[self._step] = len(values)
            return
        attributes = {} if self._step == "stream_step" else self._conventions.attributes(self._step)
        self._coordinate(self._step, values, attributes)

    def _coordinate(self, name: str, values: NDArray, attributes: Mapping[str, Any]) -> None:
        if self._one_step:
            self._result.variables[name] = xr.Variable((), values[0], dict(attributes))
        else:
            self._dimensions.sizes[name] = len(values)
            self._result.variables[name] = xr.Variable((name,), values, dict(attributes))
        self._result.coordinates.add(name)

    def _step_dimension(self, seen: Seen) -> str | None:
        """None: it has no dimension of steps, since one step is wanted, or only the first of all has it."""
        if self._one_step or not self._has_steps:
            return None
        known = self._given.steps.get(seen.name)
        if known is None:
            if seen.steps == self._numbers:
                return self._step
            if seen.steps == [0] and self._numbers[0] == 0:
                return None
            known = next((name for name, steps in self._partial.items() if steps == seen.steps), None)
        known = known or f"{self._step}_{seen.name}"
        if known not in self._result.variables:
            values = np.array([self._labels[number] for number in seen.steps])
            self._coordinate(known, values, {})
            self._partial[known] = seen.steps
        return known

    # ---- variables
    def _add(self, seen: Seen) -> None:
        if seen.dtype.kind == "V" and not seen.dtype.names:
            self._result.left_out[seen.name] = (
                "its elements are structs without fields: stepstore.open_steps(...).read gives their bytes"
            )
        elif seen.values:
            self._add_values(seen)
        elif any(box is None for box in seen.boxes):
            self._result.left_out[seen.name] = (
                "its blocks have different shapes: read them one by one with "
                "stepstore.open_steps(...).read_block"
            )
        elif len(set(seen.boxes)) == 1 and (self._one_step or seen.name not in self._given.joined):
            self._add_stacked(seen, seen.boxes[0] or ())
        else:
            self._add_joined(seen, [box or () for box in seen.boxes])

    def _add_values(self, seen: Seen) -> None:
        if len(set(seen.boxes)) != 1:
            counts = sorted({box[0] for box in seen.boxes if box})
            self._result.left_out[seen.name] = (
                f"its steps have different numbers of values ({', '.join(map(str, counts))}): open one step "
                "of it with steps=NUMBER"
            )
            return
        step = self._step_dimension(seen)
        values: NDArray = np.array(seen.values if step is not None else seen.values[0], dtype=seen.dtype)
        box = seen.boxes[0] or ()
        dims = self._dims(seen, box, ["block"])
        lead = (step,) if step is not None else ()
        for name, part in _fields(seen):
            data = values if part is None else values[part]
            tail = self._tail(name, data.ndim - len(lead) - len(box), data.shape)
            self._put(name, (*lead, *dims, *tail), data, seen)
            if name.rpartition("/")[2] == "time" and name not in self._result.variables[name].dims:
                self._result.coordinates.add(name)

    def _add_stacked(self, seen: Seen, box: Box) -> None:
        step = self._step_dimension(seen)
        dims = self._dims(seen, box, ["block"] if seen.kind in ("local array", "local value") else [])
        chunks = chunks_of(self._steps, seen, box)
        for name, part in _fields(seen):
            stored = Stored(self._source, seen.name, seen.kind, seen.dtype, part)
            array = StreamArray(stored, seen.steps, box, stacked=step is not None)
            lead = (step,) if step is not None else ()
            tail = self._tail(name, len(stored.element.shape), array.shape)
            preferred: dict[str, Chunks] = dict(zip(dims, chunks, strict=True))
            if step is not None:
                preferred[step] = (1,)
            self._put(name, (*lead, *dims, *tail), array, seen, preferred)

    def _add_joined(self, seen: Seen, boxes: Sequence[Box]) -> None:
        alike = len({len(box) for box in boxes}) == 1
        axes = [axis for axis, sizes in enumerate(zip(*boxes, strict=False)) if len(set(sizes)) > 1]
        axes = axes or [self._given.joined.get(seen.name, 0)]
        if not alike or len(axes) > 1:
            other = next(at for at, box in enumerate(boxes) if box != boxes[0])
            self._result.left_out[seen.name] = (
                f"its shape changes between the steps in several dimensions, from {boxes[0]} in step "
                f"{seen.steps[0]} to {boxes[other]} in step {seen.steps[other]}: open one step of it with "
                "steps=NUMBER"
            )
            return
        axis, sizes = axes[0], tuple(box[axes[0]] for box in boxes)
        self._result.names.joined[seen.name] = axis
        along = self._joined.setdefault((sizes, tuple(seen.steps)), f"{seen.name}_entries")
        box = (*boxes[0][:axis], sum(sizes), *boxes[0][axis + 1 :])
        wanted: list[str | None] = [None] * len(box)
        wanted[axis] = along
        dims = self._dims(seen, box, wanted)
        numbers = f"{dims[axis]}_{self._step}"
        if numbers not in self._result.variables:
            labels = np.array([self._labels[number] for number in seen.steps])
            self._result.variables[numbers] = xr.Variable((dims[axis],), np.repeat(labels, sizes))
            self._result.coordinates.add(numbers)
        preferred: dict[str, Chunks] = {dims[axis]: tuple(size for size in sizes if size)}
        for name, part in _fields(seen):
            stored = Stored(self._source, seen.name, seen.kind, seen.dtype, part)
            array = JoinedArray(stored, seen.steps, boxes, axis)
            tail = self._tail(name, len(stored.element.shape), array.shape)
            self._put(name, (*dims, *tail), array, seen, preferred)

    # ---- names
    def _dims(self, seen: Seen, box: Box, usual: Sequence[str | None] = ()) -> tuple[str, ...]:
        dims = self._dimensions.name(seen.name, box, usual)
        self._result.names.axes[seen.name] = dims
        return dims

    def _tail(self, name: str, count: int, shape: Sequence[int]) -> tuple[str, ...]:
        """The dimensions of a field of a struct that is an array."""
        if count == 0:
            return ()
        return self._dimensions.take([f"{name}_{place}" for place in range(count)], shape[-count:])

    def _put(
        self,
        name: str,
        dims: tuple[str, ...],
        data: Any,
        seen: Seen,
        preferred: Mapping[str, Chunks] | None = None,
    ) -> None:
        lazy = isinstance(data, StreamArray | JoinedArray)
        encoding: dict[str, Any] = {"source": self._source.location}
        if preferred:
            encoding["preferred_chunks"] = {
                dim: short(preferred.get(dim, (size,))) for dim, size in zip(dims, data.shape, strict=True)
            }
        held = xr.core.indexing.LazilyIndexedArray(data) if lazy else data
        attributes = self._conventions.attributes(seen.name)
        self._result.variables[name] = xr.Variable(dims, held, attributes, encoding)
        if dims and (dims[0] == self._step or dims[0] in self._partial):
            self._result.names.steps[seen.name] = dims[0]

    # ---- openPMD
    def _place_meshes(self) -> None:
        """The points of the grid as coordinates, where the spacing is known."""
        for seen in self._seen:
            mesh = self._conventions.mesh_of(seen.name)
            dims = self._result.names.axes.get(seen.name, ())
            if mesh is None or not mesh.known or len(dims) != len(mesh.labels):
                continue
            for axis, name in enumerate(dims):
                if name not in self._result.variables:
                    points = mesh.points(axis, self._dimensions.sizes[name])
                    self._result.variables[name] = xr.Variable((name,), points, {"units": "m"})
                    self._result.coordinates.add(name)


def _fields(seen: Seen) -> list[tuple[str, str | None]]:
    """A struct's fields are variables of their own: (name in the dataset, field)."""
    if not seen.dtype.names:
        return [(seen.name, None)]
    return [(f"{seen.name}.{one}", one) for one in seen.dtype.names]
