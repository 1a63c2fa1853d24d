"""Reading streams of steps: the variables, blocks and attributes that a simulation wrote, as numpy arrays.

After the run, or as far as it has got (any step, in any order)::

    with stepstore.open_steps("out/gs") as steps:
        for name, variable in steps.variables().items():
            print(name, variable.type, variable.shape)
        corner = steps.read("U", step=-1, start=(0, 0, 0), count=(4, 4, 4))

While it runs, every step once::

    with stepstore.open_steps("out/gs", stream=True, open_timeout=60) as steps:
        for step in steps.follow(timeout=60):
            print(step, steps.read("U").mean())

In a program with an event loop the same with await: `async for step in steps.afollow()`, and
`await steps.aread("U")`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stepstore import _core
from stepstore.aio import in_thread
from stepstore.buffers import decode_key
from stepstore.errors import DER_CSUM, DER_INVAL, DER_NONEXIST, Error
from stepstore.kinds import hint
from stepstore.printable import human_bytes
from stepstore.process import PerProcess
from stepstore.variables import DTYPES, Attribute, Block, Field, StepStatus, Structure, Variable, structure_of
from stepstore.walk import Walk

__all__ = [
    "Aggregated",
    "Attribute",
    "Block",
    "Field",
    "StepStatus",
    "Steps",
    "Structure",
    "Variable",
    "aggregate",
    "open_steps",
]

_SHOWN = 50  # variables in a notebook
_PROFILE_VERSION = 3
_OF_RANK = ("rank", "steps", "metadata_bytes", "metadata_requests", "data_bytes", "data_requests")
_OF_TARGET = ("updates", "fetches", "bytes_written", "bytes_read")


def _profile_from(text: str, location: str, side: str) -> dict[str, Any]:
    """A stored profile (docs/profile.md); {}: there is none. It may lie in a file that others can change."""
    if not text:
        return {}
    try:
        profile: dict[str, Any] = json.loads(text)
        version = profile["version"]
        if version == _PROFILE_VERSION and _is_whole(profile, side):
            return profile
    except (ValueError, TypeError, KeyError, AttributeError):
        version = _PROFILE_VERSION
    if version == _PROFILE_VERSION:
        raise Error(DER_CSUM, f"{location}: the profile of its {side} is damaged; its steps are not")
    raise Error(
        DER_INVAL,
        f"{location}: the profile of its {side} has version {version}, and this Stepstore reads version "
        f"{_PROFILE_VERSION}: read it with the Stepstore that wrote it",
    )


def _is_whole(profile: dict[str, Any], side: str) -> bool:
    rows = [rank["rows"] for rank in profile["ranks"]]
    numbers = [rank[name] for rank in profile["ranks"] for name in _OF_RANK]
    numbers += [target[name] for target in profile.get("targets", ()) for name in _OF_TARGET]
    numbers += [value for row in rows for column in row.values() for value in column]
    return (
        profile["side"] == side
        and isinstance(profile["layout"], str)
        and bool(rows)
        and all(isinstance(number, int | float) for number in numbers)
        and all({"step", "steps"} <= row.keys() and len(set(map(len, row.values()))) == 1 for row in rows)
    )


@dataclass(frozen=True)
class Aggregated:
    """What `aggregate` did.

    Attributes
    ----------
    removed : int
        How many steps it removed.
    first : int
        The first step that is there: those before it are gone.
    steps : int
        How many steps the stream has, those that are gone included.
    """

    removed: int
    first: int
    steps: int


def aggregate(location: str | os.PathLike[str], keep: int) -> Aggregated:
    """Remove the metadata and snapshots of old steps of a stream that was written with `Steps=snapshot`.

    The stream may be written and read meanwhile.

    Parameters
    ----------
    location : str or path
        POOL[/CONTAINER[/STREAM]].
    keep : int
        How many of the last steps stay, at least 1.

    Returns
    -------
    Aggregated
        What was removed and what is left.

    Raises
    ------
    Error
        DER_INVAL: `keep` is less than 1. DER_NONEXIST: there is no such stream.
    """
    if keep < 1:
        raise Error(DER_INVAL, f"{os.fspath(location)}: keep at least one step, not {keep}")
    return Aggregated(*_core.aggregate_steps(os.fspath(location), keep))


def open_steps(
    location: str | os.PathLike[str],
    *,
    stream: bool = False,
    open_timeout: float = 0.0,
    snapshot: int = 0,
    **options: str,
) -> Steps:
    """Open a stream of steps for reading.

    Parameters
    ----------
    location : str or path
        POOL[/CONTAINER[/STREAM]]. Without them the container is "default" and the stream "main".
    stream : bool, optional
        Walk through the steps as they come (`begin_step`, `follow`). Otherwise any step can be read at any
        time.
    open_timeout : float, optional
        How many seconds to wait for a stream that is not there yet.
    snapshot : int, optional
        The epoch of a snapshot of the container, to read the stream as it was then. 0: as it is now.
    **options : str
        A reader's parameters by their names in docs/parameters.md, such as `ReadAhead="4M"`.

    Returns
    -------
    Steps
        The open stream. `with` closes it.

    Raises
    ------
    Error
        DER_NONEXIST: there is no such stream within `open_timeout`. DER_INVAL: not a location, or a parameter
        is not valid.
    """
    return Steps(
        os.fspath(location), stream=stream, open_timeout=open_timeout, snapshot=snapshot, options=options
    )


class _Definition(NamedTuple):
    """What is the same in all steps that have a variable."""

    name: str
    type: str
    kind: str
    structure: Structure | None


class _Learning:
    def __init__(self) -> None:
        self.lock = threading.Lock()  # for what a stream's handle tells


class Steps(Walk):
    """A stream of steps, open for reading. `open_steps` opens it.

    Steps are numbered from 0. A `step` may be negative: -1 is the last one. Without it the current step of a
    walk is meant, or the last step that there is. Shapes and boxes are in numpy's order; those of Fortran
    programs are reversed, and the data are the same.

    `len` gives the whole steps there are now. Threads may share a stream: their calls wait for each other. A
    forked child may not use its parent's: it opens its own.

    Every call may raise `stepstore.Error`: DER_NONEXIST (no such step, or no such variable in it), DER_CSUM
    (damaged; the text names the variable and the step), DER_NO_HDL (closed). The methods whose names begin
    with `a` are awaitable: a thread of the event loop waits.

    Parameters
    ----------
    location : str
        POOL[/CONTAINER[/STREAM]].
    stream : bool
        Whether to walk.
    open_timeout : float
        Seconds to wait for a stream that is not there yet.
    snapshot : int
        The epoch of a snapshot, or 0.
    options : dict of str to str
        A reader's parameters.
    """

    def __init__(
        self, location: str, *, stream: bool, open_timeout: float, snapshot: int, options: dict[str, str]
    ):
        settings = {name: str(value) for name, value in options.items()}
        super().__init__(_open(location, stream, open_timeout, snapshot, settings))
        self._stream = stream
        self._opened_with = _core.absolute_location(location), open_timeout, snapshot, settings
        self._reversed = self._handle.column_major()
        # What the handle has told so far, by the variables' numbers. It only grows.
        self._definitions: list[_Definition] = []
        self._numbers: dict[str, int] = {}
        self._learning = PerProcess(_Learning)

    @property
    def ended(self) -> bool:
        """Whether the writer has closed the stream: no further step will come."""
        return self._handle.ended()

    def __len__(self) -> int:
        """The whole steps there are now. Those that are gone count too."""
        return self._handle.steps()

    def __reduce__(self) -> tuple[Any, ...]:
        """A process that unpickles it opens the stream anew. A walk cannot be pickled: it is at some step."""
        if self._stream:
            raise TypeError("a stepstore.Steps with stream=True cannot be pickled: open one without")
        self._handle.steps()  # it is open
        return _open_anew, self._opened_with

    def __getitem__(self, name: str) -> Any:
        """The whole variable in the current or last step, as `read` gives it."""
        return self.read(name)

    def __contains__(self, name: object) -> bool:
        """Whether the current or last step has the variable."""
        if not isinstance(name, str):
            return False
        try:
            self._find(name, self._step(None))
        except Error as error:
            if error.code != DER_NONEXIST:
                raise
            return False
        return True

    __iter__ = None  # names are in variables(), and steps are numbers

    @property
    def first(self) -> int:
        """The first step that is there: those before it are gone (see `aggregate`)."""
        return self._handle.first_step()

    # ---- variables
    def variables(self, step: int | None = None) -> dict[str, Variable]:
        """Describe the variables that a step has.

        Parameters
        ----------
        step : int, optional
            The step.

        Returns
        -------
        dict of str to Variable
            By name.
        """
        number = self._step(step)
        found = (self._variable(variable, number) for variable in self._handle.variables(number))
        return {variable.name: variable for variable in found}

    def definitions(self) -> dict[str, tuple[str, str]]:
        """Give type and kind of all variables that any step so far has.

        Returns
        -------
        dict of str to (str, str)
            By name, the type and the kind.
        """
        self._learn_all()
        return {one.name: (one.type, one.kind) for one in self._definitions}

    def variable(self, name: str, step: int | None = None) -> Variable:
        """Describe one variable in a step.

        Parameters
        ----------
        name : str
            Its name.
        step : int, optional
            The step.

        Returns
        -------
        Variable
            Its type, kind and shape.
        """
        return self._find(name, self._step(step))

    def available_steps(self, name: str) -> list[int]:
        """List the steps that have a variable.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        list of int
            The numbers of the steps.
        """
        return self._handle.available_steps(self._id(name))

    def shape(self, name: str, step: int | None = None) -> tuple[int, ...]:
        """Give the shape of a variable in a step.

        Parameters
        ----------
        name : str
            Its name.
        step : int, optional
            The step.

        Returns
        -------
        tuple of int
            Elements in each dimension.
        """
        number = self._step(step)
        return self._turned(self._handle.shape(self._find(name, number).id, number))

    def blocks(self, name: str, step: int | None = None) -> list[Block]:
        """List what each put wrote of a variable in a step.

        Parameters
        ----------
        name : str
            Its name.
        step : int, optional
            The step.

        Returns
        -------
        list of Block
            Place `i` of the list is block `i` for `read_block`.
        """
        number = self._step(step)
        return self._blocks(self._find(name, number), number)

    def minmax(self, name: str, step: int | None = None) -> tuple[Any, Any]:
        """Give the extreme values of a variable in a step, over all blocks.

        Parameters
        ----------
        name : str
            Its name.
        step : int, optional
            The step.

        Returns
        -------
        (numpy scalar or None, numpy scalar or None)
            Minimum and maximum; (None, None) if they were not recorded.
        """
        number = self._step(step)
        variable = self._find(name, number)
        return self._minmax(variable, self._handle.minmax(variable.id, number))

    def read(
        self,
        name: str,
        step: int | None = None,
        start: Sequence[int] | None = None,
        count: Sequence[int] | None = None,
    ) -> Any:
        """Read a variable, or a box of it.

        Parameters
        ----------
        name : str
            Its name.
        step : int, optional
            The step.
        start : sequence of int, optional
            The first element in each dimension. The default is 0 in all.
        count : sequence of int, optional
            How many elements in each dimension. -1, the default in all, goes to the end.

        Returns
        -------
        numpy array, numpy scalar or str
            The elements. Those that nobody wrote are zero. A single value is a scalar or a str.

        Raises
        ------
        Error
            DER_NONEXIST: the step does not have it. DER_INVAL: the box reaches beyond the variable, or it is
            a local array: see `read_block`.
        """
        number = self._step(step)
        variable = self._find(name, number)
        if variable.is_value:
            return self._read_value(variable, number, start, count)
        if variable.shape is None:
            raise Error(
                DER_INVAL,
                f"{self.location}: {name} is a local array, which is read block by block: "
                f"read_block({name!r}, block)",
            )
        first, size = self._box(variable, variable.shape, start, count)
        data = np.zeros(size, dtype=variable.dtype)
        with self._naming(name, number):
            self._handle.get(variable.id, self._turned(first), self._turned(size), _memory(data), number)
        return data

    def read_block(
        self,
        name: str,
        block: int,
        step: int | None = None,
        start: Sequence[int] | None = None,
        count: Sequence[int] | None = None,
    ) -> Any:
        """Read one block as its writer put it, or a box of it.

        Parameters
        ----------
        name : str
            The name of the variable.
        block : int
            The number of the block: its place in `blocks`.
        step : int, optional
            The step.
        start : sequence of int, optional
            The first element in each dimension of the block.
        count : sequence of int, optional
            How many elements in each dimension. -1, the default in all, goes to the end.

        Returns
        -------
        numpy array, numpy scalar or str
            The elements. A single value is a scalar or a str.

        Raises
        ------
        Error
            DER_NONEXIST: the step has no such variable or block. DER_INVAL: the box reaches beyond the block.
        """
        number = self._step(step)
        variable = self._find(name, number)
        if variable.is_value:
            return self._value(variable, block, number)
        known = self._blocks(variable, number)
        if not 0 <= block < len(known):
            raise Error(
                DER_NONEXIST,
                f"{self.location}: {name} has {len(known)} blocks in this step, and no block {block}",
            )
        first, size = self._box(variable, known[block].count, start, count)
        data = np.zeros(size, dtype=variable.dtype)
        with self._naming(name, number):
            box = self._turned(first), self._turned(size)
            self._handle.get_block(variable.id, block, *box, _memory(data), number)
        return data

    # ---- awaitable: a thread of the event loop's waits. Calls of one stream wait for each other
    async def aread(
        self,
        name: str,
        step: int | None = None,
        start: Sequence[int] | None = None,
        count: Sequence[int] | None = None,
    ) -> Any:
        """Read a variable or a box of it, awaitable. See `read`.

        Calls of one stream wait for each other. Open the stream twice for reads at the same time.

        Parameters
        ----------
        name : str
            Its name.
        step : int, optional
            The step.
        start : sequence of int, optional
            The first element in each dimension.
        count : sequence of int, optional
            How many elements in each dimension.

        Returns
        -------
        numpy array, numpy scalar or str
            The elements.

        Raises
        ------
        Error
            As for `read`.
        """
        return await in_thread(self.read, name, step, start, count)

    async def aread_block(
        self,
        name: str,
        block: int,
        step: int | None = None,
        start: Sequence[int] | None = None,
        count: Sequence[int] | None = None,
    ) -> Any:
        """Read one block, awaitable. See `read_block`.

        Parameters
        ----------
        name : str
            The name of the variable.
        block : int
            The number of the block.
        step : int, optional
            The step.
        start : sequence of int, optional
            The first element in each dimension of the block.
        count : sequence of int, optional
            How many elements in each dimension.

        Returns
        -------
        numpy array, numpy scalar or str
            The elements.

        Raises
        ------
        Error
            As for `read_block`.
        """
        return await in_thread(self.read_block, name, block, step, start, count)

    # ---- attributes and descriptions
    def attributes(self, step: int | None = None) -> dict[str, Attribute]:
        """Read the attributes as they are in a step.

        Parameters
        ----------
        step : int, optional
            The step.

        Returns
        -------
        dict of str to Attribute
            By name.
        """
        number = self._step(step)
        found = {}
        for name in self._handle.attribute_names(number):
            if (attribute := self._handle.attribute(name, number)) is None:
                continue
            kind, is_list, data, strings = attribute
            values: Any = (
                [decode_key(text) for text in strings]
                if kind == "string"
                else np.frombuffer(data, DTYPES[kind])
            )
            text = decode_key(name)
            found[text] = Attribute(text, kind, values if is_list or len(values) != 1 else values[0])
        return found

    def profile(self) -> dict[str, Any]:
        """Give what the steps cost their writers, by rank, as they stored it when they closed the stream.

        docs/profile.md has the fields.

        Returns
        -------
        dict
            "ranks": sums, and "rows" with the costs over the steps, a list for each field. "targets": what
            each target of the pool served meanwhile. "file": where the same is kept as a file, relative to
            the pool. Empty while no profile is stored.

        Raises
        ------
        Error
            DER_CSUM: the profile is damaged; the steps are not. DER_INVAL: another version of Stepstore wrote
            it.
        """
        return _profile_from(self._handle.writer_profile(), self.location, "writers")

    def readers_profile(self) -> dict[str, Any]:
        """Give the same of the last program that read the stream with `Profile=on`, and closed it.

        Returns
        -------
        dict
            As of `profile`. Empty if there was no such program.

        Raises
        ------
        Error
            As for `profile`.
        """
        return _profile_from(self._handle.readers_profile(), self.location, "readers")

    def reader_profile(self) -> dict[str, Any]:
        """Give what reading cost this program so far.

        Returns
        -------
        dict
            The fields of docs/profile.md.
        """
        profile: dict[str, Any] = json.loads(self._handle.profile())
        return profile

    def describe(self) -> dict[str, Any]:
        """Give the stream's own record.

        Returns
        -------
        dict
            Its place, layout, sizes, ranks and state.
        """
        return self._handle.describe()

    def close(self) -> None:
        """Close the stream. A second call does nothing."""
        self._handle.close()

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._handle.closed

    def __repr__(self) -> str:
        if self.closed:
            return "<closed stepstore.Steps>"
        return f"<stepstore.Steps {self.location!r}, {len(self)} steps>"

    def _facts(self) -> Iterator[tuple[str, Any]]:
        from stepstore.notebook import shortened_text

        yield "location", self.location
        yield "steps", len(self)
        yield "state", "ended" if self.ended else "live: more steps may come"
        if not self._handle.in_step() if self._stream else not len(self):
            return
        variables = self.variables()
        yield "a step", human_bytes(sum(one.nbytes or 0 for one in variables.values()))
        for variable in itertools.islice(variables.values(), _SHOWN):
            yield variable.name, variable.summary
        if len(variables) > _SHOWN:
            yield "", f"and {len(variables) - _SHOWN} more variables"
        attributes = self.attributes()
        for attribute in itertools.islice(attributes.values(), _SHOWN):
            yield f"attribute {attribute.name}", shortened_text(attribute.value)
        if len(attributes) > _SHOWN:
            yield "", f"and {len(attributes) - _SHOWN} more attributes"

    def _repr_html_(self) -> str:
        from stepstore.notebook import table

        return table("stepstore.Steps", [("", "closed")] if self.closed else self._facts())

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- inside
    @contextlib.contextmanager
    def _naming(self, name: str, step: int | None) -> Iterator[None]:
        """The store speaks of objects; who reads a variable wants to know which, in which step."""
        try:
            yield
        except Error as error:
            if f"'{name}'" in error.message:
                raise
            where = f"{name} of step {self._handle.current_step() if step is None else step}"
            raise Error(error.code, f"{self.location}: {where}: {error.message}") from error

    def _step(self, step: int | None) -> int | None:
        """The number of a step, for all that one call asks: the last step may be another one a moment later.
        None: the current step of a walk; or there is no step yet, which the reader says itself."""
        if step is None and self._stream:
            return None
        if step is not None and step >= 0:
            return step
        there = len(self)
        if step is None:
            return there - 1 if there else None
        if step < -there:
            raise Error(
                DER_NONEXIST, f"{self.location}: there is no step {step}: the stream has {there} steps"
            )
        return there + step

    def _turned(self, dims: Sequence[int]) -> tuple[int, ...]:
        """numpy's order of the dimensions from the writer's, and back: streams of Fortran programs are
        reversed."""
        return tuple(reversed(dims)) if self._reversed else tuple(dims)

    def _find(self, name: str, step: int | None) -> Variable:
        number = self._numbers.get(name)
        if number is None:
            self._handle.variables(step)  # a look at a step brings its definitions
            self._learn()
            number = self._numbers.get(name)
        if number is not None:
            try:
                return self._variable(number, step)
            except Error as error:
                if error.code != DER_NONEXIST or number in self._handle.variables(step):
                    raise
        raise Error(DER_NONEXIST, self._no_variable(name, step))

    def _variable(self, number: int, step: int | None) -> Variable:
        """DER_NONEXIST: the step does not have it."""
        self._handle.attribute(b"", step)  # loads the step, with its definitions
        found = self._handle.shape(number, step)
        known = self._definition(number)
        shape = None if known.kind == "local array" else self._turned(found)
        return Variable(known.name, known.type, known.kind, shape, number, known.structure)

    def _definition(self, number: int) -> _Definition:
        if number >= len(self._definitions):
            self._learn()
        return self._definitions[number]

    def _learn(self) -> None:
        """Takes over the definitions that are new since the last time."""
        with self._learning.get().lock:
            known = self._handle.definitions()
            for name, kind_type, kind, structure in known[len(self._definitions) :]:
                text = decode_key(name)
                self._numbers[text] = len(self._definitions)
                self._definitions.append(_Definition(text, kind_type, kind, structure_of(structure)))

    def _learn_all(self) -> None:
        """Up to the last step there is now (in a walk: the current one): looking at a step brings its own."""
        if not self._stream and (there := len(self)):
            self._handle.variables(there - 1)
        self._learn()

    def _id(self, name: str) -> int:
        """The number of a variable, which stays the same while the stream is open."""
        if name not in self._numbers:
            self._learn_all()
        if name not in self._numbers:
            raise Error(DER_NONEXIST, self._no_variable(name, None))
        return self._numbers[name]

    def _no_variable(self, name: str, step: int | None) -> str:
        names = sorted(self.definitions())
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "") or "none"
        if name not in names:
            return f"{self.location}: the stream has no variable {name!r}; the stream's variables are {shown}"
        where = "the current step" if step is None else f"step {step}"
        having = _ranges(self._handle.available_steps(self._numbers[name])) or "none that is there now"
        return f"{self.location}: {where} has no variable {name!r}; the steps that have it: {having}"

    def _blocks(self, variable: Variable, step: int | None) -> list[Block]:
        return [
            Block(
                writer,
                index,
                self._turned(start) if start else None,
                self._turned(count),
                *self._minmax(variable, found),
            )
            for writer, index, start, count, found in self._handle.blocks(variable.id, step)
        ]

    def _minmax(self, variable: Variable, found: tuple[bytes, bytes] | None) -> tuple[Any, Any]:
        if found is None or variable.type == "string":
            return None, None
        least, most = (np.frombuffer(raw, variable.dtype)[0] for raw in found)
        return least, most

    def _value(self, variable: Variable, block: int, step: int | None) -> Any:
        raw = self._handle.get_value(variable.id, block, step)
        return decode_key(raw) if variable.type == "string" else np.frombuffer(raw, variable.dtype)[0]

    def _read_value(self, variable: Variable, step: int | None, start: Any, count: Any) -> Any:
        if variable.kind == "global value":
            return self._value(variable, 0, step)
        first, size = self._box(variable, variable.shape or (0,), start, count)
        values = [self._value(variable, number, step) for number in range(first[0], first[0] + size[0])]
        return np.array(values, dtype=variable.dtype)

    def _box(
        self,
        variable: Variable,
        shape: tuple[int, ...],
        start: Sequence[int] | None,
        count: Sequence[int] | None,
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        first = tuple(start) if start is not None else (0,) * len(shape)
        size = tuple(count) if count is not None else (-1,) * len(shape)
        if len(first) != len(shape) or len(size) != len(shape):
            raise Error(
                DER_INVAL,
                f"{self.location}: {variable.name} has {len(shape)} dimensions {shape}, "
                f"the selection start {first} count {size} has {len(first)} and {len(size)}",
            )
        size = tuple(n - s if c == -1 else c for n, s, c in zip(shape, first, size, strict=True))
        if any(s < 0 or c < 0 or s + c > n for n, s, c in zip(shape, first, size, strict=True)):
            raise Error(
                DER_INVAL,
                f"{self.location}: the box at {first} of {size} is not inside {variable.name} of shape "
                f"{shape}",
            )
        return first, size


def _ranges(numbers: list[int]) -> str:
    """[0, 1, 2, 5] as "0 to 2, 5", as far as a message can show it."""
    most = 8
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [f"{first}" if first == last else f"{first} to {last}" for first, last in runs[:most]]
    return ", ".join(shown) + (", ..." if len(runs) > most else "")


def _memory(data: np.ndarray) -> np.ndarray:
    """Fields that overlap cannot be handed over, their bytes can."""
    return data if data.dtype.names is None else data.view(f"V{data.dtype.itemsize}")


def _open_anew(location: str, open_timeout: float, snapshot: int, options: dict[str, str]) -> Steps:
    return Steps(location, stream=False, open_timeout=open_timeout, snapshot=snapshot, options=options)


def _open(
    location: str, stream: bool, open_timeout: float, snapshot: int, settings: dict[str, str]
) -> _core.Steps:
    """Waits for the stream in small pieces, so that Ctrl-C works."""
    end = time.monotonic() + open_timeout
    while True:
        try:
            return _core.Steps(location, stream, snapshot, settings)
        except Error as error:
            if error.code != DER_NONEXIST:
                raise
            if time.monotonic() >= end:
                if more := hint(location, "stream"):
                    raise Error(error.code, error.message + more) from None
                raise
        time.sleep(0.01)
