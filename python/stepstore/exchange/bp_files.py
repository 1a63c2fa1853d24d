"""BP5 files, through ADIOS2: steps, variables and blocks as the stream has them.

Local values become an array with an element for each, and joined arrays global ones, as ADIOS2 shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.exchange.format import library
from stepstore.exchange.table import Different, same, same_attribute, unknown_variable
from stepstore.steps import Steps, open_steps
from stepstore.variables import Variable
from stepstore.xarray_backend.survey import Selection, chosen_steps

Moved = Callable[[int], None]


class BpSource:
    """A stream, and what of it is wanted."""

    def __init__(self, location: str, steps: Selection, variables: Collection[str], snapshot: int = 0):
        try:
            self.steps: Steps = open_steps(location, snapshot=snapshot)
        except Error as error:
            if error.code != DER_NONEXIST:
                raise
            raise Error(
                error.code,
                f"{error.message}; BP files are made of streams: export arrays to NAME.nc, NAME.zarr or "
                "NAME.npy",
            ) from error
        try:
            self.numbers = chosen_steps(self.steps, len(self.steps), steps)
            self._variables = set(variables)
            self._refuse(location)
        except BaseException:
            self.steps.close()
            raise
        self.identity = {
            "location": self.steps.location,
            "generation": self.steps.describe()["generation"],
            "numbers": self.numbers,
        }

    def _refuse(self, location: str) -> None:
        """DER_INVAL: what ADIOS2's Python cannot write. DER_NONEXIST: a variable that is not there."""
        known = self.steps.definitions()
        for name in sorted(self._variables - known.keys()):
            raise unknown_variable(location, name, known)
        for name, (kind, of_whom) in known.items():
            if self._variables and name not in self._variables:
                continue
            what = f"{location}: variable {name!r}"
            if kind == "string" and of_whom == "local value":
                raise Error(
                    DER_INVAL,
                    f"{what} has a text for each writer, and ADIOS2 writes no arrays of texts: choose others "
                    "with --variables",
                )
            if kind == "struct":
                raise Error(
                    DER_INVAL,
                    f"{what} is of structs, which ADIOS2's Python cannot write: export to NAME.nc, NAME.zarr "
                    "or NAME.npy, which have a variable for each field, or choose others with --variables",
                )
            if kind == "float128":
                raise Error(
                    DER_INVAL,
                    f"{what} is of {kind}, which ADIOS2's Python cannot write: export to NAME.npy, or choose "
                    "others with --variables",
                )
        for name, value in self.attributes().items():
            if not isinstance(value, str | list) and np.asarray(value).dtype == np.longdouble:
                raise Error(
                    DER_INVAL,
                    f"{location}: attribute {name!r} is of float128, which ADIOS2's Python cannot write: "
                    "export to NAME.npy",
                )

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        return sum(
            sum(
                int(np.prod(block.count)) * one.dtype.itemsize
                for block in self.steps.blocks(one.name, number)
            )
            for number in self.numbers
            for one in self.variables(number)
            if not one.is_value
        )

    def variables(self, number: int) -> list[Variable]:
        found = self.steps.variables(number).values()
        return [one for one in found if not self._variables or one.name in self._variables]

    def blocks(self, variable: Variable, number: int) -> Iterator[tuple[Any, Any, Any]]:
        """(start, count, values) of each block, one after the other. start: None of what stands alone."""
        name = variable.name
        if variable.is_value:
            values = np.asarray(self.steps.read(name, number))
            yield (0,) * values.ndim, values.shape, values
            return
        for at, block in enumerate(self.steps.blocks(name, number)):
            yield block.start, block.count, self.steps.read_block(name, at, number)

    def attributes(self) -> dict[str, Any]:
        if not self.numbers:
            return {}
        return {name: one.value for name, one in self.steps.attributes(self.numbers[-1]).items()}

    def close(self) -> None:
        self.steps.close()


def steps_of(path: Path) -> int:
    """How many whole steps a file has: 0 also if there is none, or none that can be read."""
    if not (path / "md.idx").exists():
        return 0
    adios2 = library("adios2", "adios2")
    try:
        with adios2.FileReader(str(path)) as file:
            return int(file.num_steps())
    except (RuntimeError, ValueError):
        return 0


def fill(source: BpSource, path: Path, done: int, moved: Moved, ended: Callable[[int], None]) -> None:
    """Writes the steps after the first `done`, over what is there of them. ended: is told how many are
    whole."""
    adios2 = library("adios2", "adios2")
    adios = adios2.bindings.ADIOS()
    io = adios.DeclareIO("export")
    io.SetEngine("BP5")
    if done:  # an interrupted step may be there too
        io.SetParameter("AppendAfterSteps", str(done))
    modes = adios2.bindings.Mode
    engine = io.Open(str(path), modes.Append if done else modes.Write)
    defined: dict[str, Any] = {}
    try:
        if not done:
            for name, value in source.attributes().items():
                io.DefineAttribute(name, value if isinstance(value, str | list) else np.array(value), "", "/")
        for at, number in enumerate(source.numbers[done:], done + 1):
            engine.BeginStep()
            for variable in source.variables(number):
                _put(io, engine, modes, defined, source, variable, number, moved)
            engine.EndStep()
            ended(at)
    finally:
        engine.Close()


def _put(
    io: Any,
    engine: Any,
    modes: Any,
    defined: dict[str, Any],
    source: BpSource,
    variable: Variable,
    number: int,
    moved: Moved,
) -> None:
    name = variable.name
    for start, count, values in source.blocks(variable, number):
        if variable.type == "string":
            if name not in defined:
                defined[name] = io.DefineVariable(name)
            engine.Put(defined[name], str(values.item()))
            continue
        shape = list(variable.shape or ())
        if name not in defined:
            whole = [shape, list(start or ()), list(count)] if shape or count else [[], [], []]
            defined[name] = io.DefineVariable(name, np.zeros(1, values.dtype), *whole, False)
        known = defined[name]
        if shape:
            known.SetShape(shape)
        if count:
            known.SetSelection([list(start) if start is not None else [], list(count)])
        engine.Put(known, np.ascontiguousarray(values), modes.Sync)
        moved(values.nbytes)


def compare(source: BpSource, path: Path, where: str, moved: Moved) -> None:
    """Reads both, block by block. DER_CSUM: the first difference."""
    adios2 = library("adios2", "adios2")

    def differ(what: str) -> Error:
        return Different(where, what)

    with adios2.Stream(str(path), "r") as file:
        numbers = iter(source.numbers)
        for _ in file:
            number = next(numbers, None)
            if number is None:
                raise differ("it has more steps")
            wanted = {one.name: one for one in source.variables(number)}
            found = file.available_variables()
            if set(found) != set(wanted):
                raise differ(f"step {number} has the variables {sorted(found)}, and not {sorted(wanted)}")
            for name, variable in wanted.items():
                _compare(file, source, variable, number, differ, moved)
            attributes = file.available_attributes()
            if number == source.numbers[-1]:
                for name, value in source.attributes().items():
                    if name not in attributes or not same_attribute(file.read_attribute(name), value):
                        raise differ(f"attribute {name!r}")
        if (number := next(numbers, None)) is not None:
            raise differ(f"step {number} is missing")


def _compare(
    file: Any, source: BpSource, variable: Variable, number: int, differ: Callable[[str], Error], moved: Moved
) -> None:
    name = variable.name
    known = file.inquire_variable(name)
    blocks = len(file.engine.blocks_info(name, file.current_step())) if not variable.is_value else 1
    wanted = len(source.steps.blocks(name, number)) if not variable.is_value else 1
    if blocks != wanted:
        raise differ(f"step {number} of {name!r} has {blocks} blocks, and not {wanted}")
    for at, (start, count, values) in enumerate(source.blocks(variable, number)):
        if variable.type == "string":
            found: Any = np.asarray(file.read(known))
        elif 0 in count:
            continue
        elif not variable.is_value:
            known.set_block_selection(at)
            found = file.read(known)
        else:
            found = np.asarray(file.read(known))
        if not same(np.reshape(found, values.shape), values):
            raise differ(f"step {number} of {name!r}")
        moved(0 if variable.type == "string" else values.nbytes)
