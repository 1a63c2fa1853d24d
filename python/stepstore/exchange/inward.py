"""Imports: files of another format as a stream of steps. copying/at_work.py has the protocol."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from stepstore.copying import bp
from stepstore.copying.at_work import make_stream
from stepstore.copying.task import Options, Place, Report, make_or_compare
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.exchange.formats import BP, TABLES, format_of
from stepstore.exchange.table import (
    Array,
    Box,
    Different,
    Entry,
    Table,
    holds_other,
    native,
    pieces,
    same,
    same_attribute,
    unknown_variable,
)
from stepstore.steps import Steps, open_steps
from stepstore.variables import DTYPES
from stepstore.writer import Writer, WriterStep
from stepstore.xarray_backend.conventions import DIMENSIONS, STEPS

_STEP = "step"
_STORED = set(DTYPES.values())


@dataclass
class Import:
    """steps: which along the dimension `along`, whose places become steps. None: the file's own dimension of
    steps, `step`, or the one of netCDF that can grow; without one all variables go to a single step."""

    source: Path
    destination: Place
    format: str = ""
    variables: Collection[str] = ()
    steps: slice | None = None
    along: str | None = None
    replace: bool = False
    options: Options = field(default_factory=Options)
    report: Report = field(default_factory=Report)

    def run(self) -> bool:
        """Whether something was written; else the same data were there already. Errors: DER_EXIST: something
        else is there. DER_INVAL: what a stream cannot keep, by its name. DER_CSUM: what was written differs
        from the source."""
        if not self.source.exists():
            raise Error(DER_NONEXIST, f"{self.source}: there is no such file")
        job = self._job()

        def compare() -> None:
            self.report.expect(job.size)
            job.compare(self.destination, self.report)

        def other(difference: Error) -> Error:
            return holds_other(f"import {self.source} to {self.destination}", difference)

        try:
            if not self.replace:
                return make_or_compare(job.run, compare, other)
            job.run()
            return True
        finally:
            job.close()

    def _job(self) -> _BpJob | _TableJob:
        name = format_of(str(self.source), self.format)
        if name == BP:
            return _BpJob(self)
        try:
            table: Table = TABLES[name].open(self.source)
        except Error:
            raise
        except (OSError, ValueError, KeyError, RuntimeError, BadZipFile) as error:
            raise Error(DER_INVAL, f"{self.source}: it cannot be read as {name}: {error}") from error
        try:
            return _TableJob(self, table)
        except BaseException:
            table.close()
            raise


class _BpJob:
    def __init__(self, task: Import):
        self._task = task
        if task.variables or task.steps or task.along or task.replace:
            raise Error(
                DER_INVAL,
                f"{task.source}: a BP file is imported whole, to a new stream: leave out --variables, "
                "--steps, --along and --replace",
            )

    def run(self) -> None:
        bp.make_copy(self._task.source, self._task.destination, self._task.options, self._task.report)

    def compare(self, place: Place, report: Report) -> None:
        bp.compare(self._task.source, place, report)

    @property
    def size(self) -> int:
        return 0  # nothing is known of it before

    def close(self) -> None:
        pass


class _TableJob:
    def __init__(self, task: Import, table: Table):
        self._task, self._table = task, table
        self._where = str(task.source)
        entries = self._chosen(table.entries)
        self._attributes = dict(table.attributes)
        self._along = self._dimension(entries)
        extents = {
            entry.shape[entry.dims.index(self._along)] for entry in entries if self._along in entry.dims
        }
        there = extents.pop() if extents else 1
        self._places = range(there)[task.steps] if task.steps else range(there)
        if not self._places:
            raise Error(
                DER_INVAL,
                f"{self._where}: there is nothing to import: {self._along or 'it'} has {there} steps",
            )
        if self._along != _STEP:
            self._attributes[STEPS] = self._along
        self._variables = [_Variable(self._where, entry, self._along) for entry in entries]
        for name, value in self._attributes.items():
            _refuse_attribute(self._where, name, value)

    def _chosen(self, entries: list[Entry]) -> list[Entry]:
        wanted = set(self._task.variables)
        for name in sorted(wanted - {entry.name for entry in entries}):
            raise unknown_variable(self._where, name, (entry.name for entry in entries))
        return [entry for entry in entries if not wanted or entry.name in wanted]

    def _dimension(self, entries: list[Entry]) -> str:
        """Of the steps; "": there is none."""
        known = {dim for entry in entries for dim in entry.dims}
        if self._task.along is not None:
            if self._task.along and self._task.along not in known:
                raise Error(
                    DER_NONEXIST,
                    f"{self._where}: there is no dimension {self._task.along!r}: there are "
                    f"{', '.join(sorted(known))}",
                )
            return self._task.along
        for name in (_STEP, self._table.record):
            if name in known:
                return name
        return ""

    def run(self) -> None:
        make_stream(
            self._identity(),
            self._task.destination,
            self._task.options,
            self._task.report,
            self._fill,
            replace=self._task.replace,
        )

    def _identity(self) -> dict[str, str]:
        """An import of other variables, or of other steps, is another one."""
        task = self._task
        chosen = {"variables": sorted(set(task.variables)), "steps": task.steps, "along": task.along}
        said = "".join(f", {name}={value}" for name, value in chosen.items() if value not in ([], None))
        return {"id": f"{task.source.absolute()}{said}", "text": self._where + said}

    @property
    def size(self) -> int:
        return sum(
            one.rest.size * (len(self._places) if one.axis is not None else 1) for one in self._variables
        )

    def _fill(self, place: Place) -> None:
        verify = self._task.options.verify
        self._task.report.expect(self.size * (2 if verify else 1))
        there = 0
        with contextlib.suppress(Error), open_steps(str(place)) as steps:  # none: the import begins
            there = len(steps)
        if there < len(self._places) or not self._has_ended(place):
            with Writer(str(place), append=there > 0, comm="self") as writer:
                if not there:
                    self._describe(writer)
                for number in range(len(writer), len(self._places)):
                    with writer.step() as step:
                        for one in self._of_step(number):
                            self._put(step, one, number)
        self._task.report.objects += len(self._variables)
        if verify:
            self.compare(place, self._task.report)

    def _has_ended(self, place: Place) -> bool:
        with open_steps(str(place)) as steps:
            return steps.ended

    def _of_step(self, number: int) -> list[_Variable]:
        """A variable that has not the dimension of steps is of the first one."""
        return [one for one in self._variables if one.axis is not None or number == 0]

    def _describe(self, writer: Writer) -> None:
        for name, value in self._attributes.items():
            writer.set_attribute(name, value)
        for one in self._variables:
            for name, value in one.attributes.items():
                writer.set_attribute(name, value, variable=one.rest.name)

    def _put(self, step: WriterStep, one: _Variable, number: int) -> None:
        name, shape = one.rest.name, one.rest.shape
        if 0 in shape:
            step.put(name, np.empty(shape, one.rest.dtype))
        for start, values in self._pieces(one, number):
            if shape:
                step.put(name, values, shape=shape, start=start)
            else:
                step[name] = values.item() if one.rest.is_text else values
            self._task.report.copied(values.size * one.rest.element_size)

    def _pieces(self, one: _Variable, number: int) -> Iterator[tuple[Box, Array]]:
        for start, count in pieces(one.rest):
            yield start, one.read(self._table, self._places[number], start, count)

    def compare(self, place: Place, report: Report) -> None:
        """DER_CSUM: the first difference."""
        with open_steps(str(place)) as steps:
            if len(steps) != len(self._places):
                raise Different(str(place), f"it has {len(steps)} steps, and not {len(self._places)}")
            for number in range(len(self._places)):
                wanted = {one.rest.name: one for one in self._of_step(number)}
                if steps.variables(number).keys() != wanted.keys():
                    raise Different(str(place), f"step {number} has other variables")
                for one in wanted.values():
                    self._compare(steps, place, one, number, report)
            self._compare_attributes(steps, place)

    def _compare(self, steps: Steps, place: Place, one: _Variable, number: int, report: Report) -> None:
        name = one.rest.name
        found = steps.variable(name, number)
        if found.shape != one.rest.shape or found.dtype != one.rest.dtype:
            raise Different(
                str(place),
                f"step {number} of {name!r} is {found.dtype} {found.shape}, and not {one.rest.dtype} "
                f"{one.rest.shape}",
            )
        for start, values in self._pieces(one, number):
            read = steps.read(name, number, start, values.shape) if start else steps.read(name, number)
            if not same(np.asarray(read, values.dtype), values):
                raise Different(str(place), f"step {number} of {name!r}, elements from {start} on")
            report.was_compared(values.size * one.rest.element_size)

    def _compare_attributes(self, steps: Steps, place: Place) -> None:
        found = {name: one.value for name, one in steps.attributes(len(self._places) - 1).items()}
        wanted = dict(self._attributes)
        for one in self._variables:
            wanted |= {f"{one.rest.name}/{name}": value for name, value in one.attributes.items()}
        for name in wanted.keys() | found.keys():
            if name not in wanted or name not in found or not same_attribute(found[name], wanted[name]):
                raise Different(str(place), f"attribute {name!r}")

    def close(self) -> None:
        self._table.close()


class _Variable:
    """A variable of a file, as a step has it. axis: the place of the dimension of steps; None: it has none.
    rest: without this dimension."""

    def __init__(self, where: str, entry: Entry, along: str):
        self._entry = entry
        self.axis = entry.dims.index(along) if along in entry.dims else None
        dims = tuple(one for at, one in enumerate(entry.dims) if at != self.axis)
        shape = tuple(one for at, one in enumerate(entry.shape) if at != self.axis)
        self.rest = Entry(entry.name, dims, shape, entry.dtype, entry.attributes)
        what = f"{where}: variable {entry.name!r}"
        if entry.is_text and shape:
            raise Error(
                DER_INVAL,
                f"{what} is an array of texts, and a step has single ones: choose others with --variables, "
                "or the dimension of the texts with --along",
            )
        if not entry.is_text and entry.dtype not in _STORED:
            raise Error(
                DER_INVAL,
                f"{what} is of {entry.dtype}, which a stream does not store: convert it, or choose others "
                "with --variables",
            )
        self.attributes: Mapping[str, Any] = {
            **entry.attributes,
            **({DIMENSIONS[0]: list(dims)} if dims else {}),
        }
        for name, value in entry.attributes.items():
            _refuse_attribute(where, f"{entry.name}/{name}", value)

    def read(self, table: Table, place: int, start: Box, count: Box) -> Array:
        if self.axis is None:
            return table.read(self._entry, start, count)
        at = self.axis
        whole = (*start[:at], place, *start[at:]), (*count[:at], 1, *count[at:])
        return table.read(self._entry, *whole).reshape(count)


def _refuse_attribute(where: str, name: str, value: Any) -> None:
    texts = isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))
    values = np.asarray(value)
    if not texts and (native(values).dtype not in _STORED or values.ndim > 1):
        raise Error(
            DER_INVAL,
            f"{where}: attribute {name!r} is of {values.dtype} with {values.ndim} dimensions, and a stream "
            "stores texts, numbers and rows of them: remove it from the file",
        )
