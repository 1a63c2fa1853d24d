"""Streams of steps with their variables, and arrays by name."""

from __future__ import annotations

import bisect
import contextlib
import math
from collections.abc import Iterator
from typing import Any

from stepstore import _core
from stepstore.errors import DER_NONEXIST, Error
from stepstore.kinds import STREAMS_HI, type_of
from stepstore.steps import Steps, open_steps
from stepstore.view.node import Inside, Node

# Up to so many steps are looked at to say which variables are in how many of them.
_MOST_STEPS = 1000


class StreamNode(Node):
    kind = "stream"
    costly = True

    def __init__(self, inside: Inside, name: str):
        super().__init__(name, f"{inside.place}/{name}")
        self._inside = inside
        self._holding: contextlib.ExitStack | None = None
        self._steps: Steps | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with contextlib.ExitStack() as self._holding:
            try:
                yield
            finally:
                self._holding = self._steps = None

    @contextlib.contextmanager
    def opened(self) -> Iterator[Steps]:
        with contextlib.ExitStack() as here:
            found = self._steps
            if found is None:
                found = open_steps(self.location, snapshot=self._inside.epoch or 0)
                (self._holding or here).enter_context(found)
            if self._holding is not None:
                self._steps = found
            yield found

    def facts(self) -> dict[str, Any]:
        with self.opened() as steps:
            return {
                "steps": len(steps),
                "ended": steps.ended,
                "variables": len(steps.definitions()),
                **steps.describe(),
            }

    def attributes(self) -> dict[str, Any]:
        with self.opened() as steps:
            if not len(steps):
                return {}
            return {name: one.value for name, one in steps.attributes().items()}

    def children(self, everything: bool = False) -> Iterator[Node]:
        with self.opened() as steps:
            return iter(self._variables(steps, sorted(steps.definitions())))

    def names(self) -> Iterator[Node]:
        with self.opened() as steps:
            return iter([VariableNode(self, name, None, None) for name in sorted(steps.definitions())])

    def variable(self, name: str) -> Node | None:
        with self.opened() as steps:
            return self._variables(steps, [name])[0] if name in steps.definitions() else None

    def _variables(self, steps: Steps, names: list[str]) -> list[Node]:
        there = len(steps)
        last = steps.variables() if there else {}
        counts = there <= _MOST_STEPS
        found: list[Node] = []
        for name in names:
            having = steps.available_steps(name) if counts else []
            variable = last.get(name)
            if variable is None and having:
                variable = steps.variable(name, having[-1])
            found.append(VariableNode(self, name, variable, len(having) if counts else None))
        return found

    def used(self) -> int:
        """Of its metadata and blocks."""
        inside = self._inside
        record_id = inside.container.object_id(0, STREAMS_HI)
        with inside.container.key_value(record_id, read_only=True) as streams:
            record = streams.get(self.name)
        if record is None:
            raise Error(DER_NONEXIST, f"{self.location}: the stream was removed")
        told = _core.stream_record(record, self.location)
        return sum(self._used_by(told, segment) for segment in told["segments"])

    def _used_by(self, told: dict[str, Any], segment: dict[str, Any]) -> int:
        inside, total = self._inside, 0
        first, end = segment["first"], segment["first"] + segment["numbers"]
        begin = bisect.bisect_left(inside.of_steps, first, key=lambda oid: oid.lo)
        for oid in inside.of_steps[begin:]:
            if oid.lo >= end:
                break
            is_data = segment["data"] <= oid.lo < segment["data"] + segment["ranks"]
            if type_of(oid) == "key_value":
                total += inside.size_of_values(oid)
            else:
                total += inside.size_of(oid, told["data_chunk_size" if is_data else "chunk_size"])
        if directory := segment.get("directory"):
            for name in _core.stream_files(inside.pool, directory):
                file = _core.StreamFile(inside.pool, directory, name)
                try:
                    total += file.size()
                finally:
                    file.close()
        return total


class VariableNode(Node):
    """steps: in how many it is; None: not looked at."""

    kind = "variable"

    def __init__(self, stream: StreamNode, name: str, variable: Any, steps: int | None):
        super().__init__(name, f"{stream.location}/{name}")
        self._stream = stream
        self._variable = variable
        self._steps = steps

    def facts(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if self._steps is not None:
            told["steps"] = self._steps
        if self._variable is None:
            return told
        told |= {"dtype": self._variable.type, "kind": self._variable.kind}
        if self._variable.shape is not None:
            told["shape"] = list(self._variable.shape)
            if self._variable.nbytes is not None:
                told["bytes"] = self._variable.nbytes  # of a step
        return told

    def attributes(self) -> dict[str, Any]:
        below = f"{self.name}/"
        found = self._stream.attributes()
        return {name.removeprefix(below): value for name, value in found.items() if name.startswith(below)}

    def used(self) -> int:
        """What its blocks take in memory, in all steps. They may be compressed."""
        with self._stream.opened() as steps:
            item = self._variable.dtype.itemsize if self._variable and self._variable.type != "string" else 0
            return sum(
                math.prod(block.count) * item
                for step in steps.available_steps(self.name)
                for block in steps.blocks(self.name, step)
            )

    def data(self, step: int | None = None) -> Any:
        """step: the last one that has it."""
        with self._stream.opened() as steps:
            if step is None:
                having = steps.available_steps(self.name)
                step = having[-1] if having else None
            return steps.read(self.name, step)


class ArrayNode(Node):
    kind = "array"
    costly = True

    def __init__(self, inside: Inside, name: str):
        super().__init__(name, f"{inside.place}/{name}")
        self._inside = inside

    def facts(self) -> dict[str, Any]:
        info = self._inside.arrays.info(self.name)
        told: dict[str, Any] = {"dtype": str(info.dtype), "shape": list(info.shape), "bytes": info.nbytes}
        for name in ("blocks", "grows_along", "column_major", "object_class", "chunk_size", "checksum"):
            told[name] = getattr(info, name)
        return told

    def attributes(self) -> dict[str, Any]:
        return self._inside.arrays.attributes(self.name)

    def used(self) -> int:
        arrays = self._inside.arrays
        item = arrays.info(self.name).dtype.itemsize
        return sum(math.prod(count) * item for _, count in arrays.blocks(self.name))

    def data(self) -> Any:
        return self._inside.arrays.read(self.name)
