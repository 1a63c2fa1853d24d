"""What names and attributes say about variables: which attributes are whose, what dimensions are called,
where the points of an openPMD mesh are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stepstore.steps import Attribute

# Attributes of a variable that name its dimensions: texts, or one text with spaces or commas between them.
DIMENSIONS = ("__xarray_dimensions__", "_ARRAY_DIMENSIONS", "dimensions")
# An attribute of a stream: the name of the dimension of its steps. "": its one step has no dimension.
STEPS = "__xarray_steps__"

Attributes = dict[str, Any]


@dataclass
class Conventions:
    """The attributes of a stream, sorted out. rest: those of no variable, by their whole names. turned: the
    variables of Fortran programs, which name their dimensions in their own order."""

    of: dict[str, Attributes] = field(default_factory=dict)
    rest: Attributes = field(default_factory=dict)
    turned: Collection[str] = ()

    def dimensions(self, variable: str, count: int) -> tuple[str, ...] | None:
        """The names of a variable's dimensions, when it has as many. None: nothing says them."""
        own = self.of.get(variable, {})
        for name in DIMENSIONS:
            if name in own and (names := _names(own[name])) and _fit(names, count):
                return names[::-1] if variable in self.turned else names
        mesh = self.mesh_of(variable)
        return mesh.labels if mesh is not None and _fit(mesh.labels, count) else None

    def attributes(self, variable: str) -> Attributes:
        """Without those that dimensions() has used."""
        own = self.of.get(variable, {})
        return {name: value for name, value in own.items() if name not in DIMENSIONS}

    def mesh_of(self, variable: str) -> Mesh | None:
        """openPMD: the mesh that a variable is, or is a component of."""
        for path in (variable, variable.rpartition("/")[0]):
            if path and (labels := self._of_path(path, "axisLabels")) is not None:
                return self._mesh(path, _names(labels))
        return None

    def _mesh(self, path: str, labels: tuple[str, ...]) -> Mesh:
        def numbers(name: str, default: float) -> list[float]:
            found = np.atleast_1d(self._of_path(path, name, default)).astype(float).tolist()
            return list(found) if len(found) == len(labels) else list(found[:1]) * len(labels)

        unit = float(np.atleast_1d(self._of_path(path, "gridUnitSI", 1.0))[0])
        spacing, offset = numbers("gridSpacing", 1.0), numbers("gridGlobalOffset", 0.0)
        turn = -1 if self._of_path(path, "dataOrder", "C") == "F" else 1
        known = self._of_path(path, "gridSpacing") is not None
        return Mesh(labels[::turn], tuple(spacing[::turn]), tuple(offset[::turn]), unit, known)

    def _of_path(self, path: str, name: str, default: Any = None) -> Any:
        """An attribute of a variable, or of a group of them."""
        return self.of.get(path, {}).get(name, self.rest.get(f"{path}/{name}", default))


@dataclass(frozen=True)
class Mesh:
    """Of openPMD, in the order of the array's dimensions. spacing, offset: in units of `unit` metres."""

    labels: tuple[str, ...]
    spacing: tuple[float, ...]
    offset: tuple[float, ...]
    unit: float
    known: bool  # the spacing is given

    def points(self, axis: int, size: int) -> np.ndarray[Any, Any]:
        """Where the grid's points are, in metres. A component may lie beside them: see its `position`."""
        return (self.offset[axis] + np.arange(size) * self.spacing[axis]) * self.unit


def sort_out(attributes: Mapping[str, Attribute], variables: Iterable[str]) -> Conventions:
    """VARIABLE/NAME is the attribute NAME of a variable, as ADIOS2 defines them. Where several variables fit,
    the longest name counts."""
    known = set(variables)
    found = Conventions()
    for whole, attribute in attributes.items():
        owner, name = _owner(whole, known)
        attributes_of = found.rest if owner is None else found.of.setdefault(owner, {})
        attributes_of[name] = _single(attribute.value)
    return found


def _single(value: Any) -> Any:
    """A list of one is a value, as in netCDF: what xarray decodes by CF must be one."""
    return value[0] if isinstance(value, list | np.ndarray) and len(value) == 1 else value


def _owner(whole: str, known: set[str]) -> tuple[str | None, str]:
    at = whole.rfind("/")
    while at > 0:
        if whole[:at] in known and at + 1 < len(whole):
            return whole[:at], whole[at + 1 :]
        at = whole.rfind("/", 0, at)
    return None, whole


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    if isinstance(value, np.ndarray) and value.dtype.kind == "S":
        value = [text.decode("utf-8", "replace").strip() for text in value.tolist()]
    return tuple(str(one) for one in value) if isinstance(value, list | tuple) else ()


def _fit(names: Sequence[str], count: int) -> bool:
    return len(names) == count and len(set(names)) == count and all(names)


class Dimensions:
    """Gives each dimension of the variables a name, and each name one size in the dataset.

    A name is what the user gave, else what a convention says, else dim_0, dim_1 and so on by the place. The
    first variable with a name has it; a dimension of another size gets the name with its size after it."""

    def __init__(self, location: str, given: Mapping[str, Sequence[str]], conventions: Conventions):
        """given: the user's names by variable. location: for errors."""
        self.sizes: dict[str, int] = {}
        self._location = location
        self._given = given
        self._conventions = conventions
        self._axes: set[tuple[Any, ...]] = set()

    def learn(self, variable: str, shape: Sequence[int]) -> None:
        """Before any name(): of all variables. What has the name and the size of a dimension of another, and
        no further dimension, lies along it."""
        if (names := self._said(variable, shape)) is not None:
            self._axes.update(zip(names, shape, strict=True))

    def name(self, variable: str, shape: Sequence[int], usual: Sequence[str | None] = ()) -> tuple[str, ...]:
        """usual: what the first dimensions are called where nothing else says it. ValueError: the user gave
        another number of names."""
        said: Sequence[str | None] | None = self._said(variable, shape)
        if said is None and (variable, *shape) in self._axes:
            said = (variable,)
        return self.take(said or [*usual, *[None] * len(shape)][: len(shape)], shape)

    def take(self, wanted: Sequence[str | None], shape: Sequence[int]) -> tuple[str, ...]:
        """Names like these, or with a size where they have another one already."""
        taken: list[str] = []
        for place, (name, size) in enumerate(zip(wanted, shape, strict=True)):
            base = name if name is not None else f"dim_{place}"
            candidate = base
            if self._is_other(candidate, size, taken):
                candidate = f"{base}_{size}"
            while self._is_other(candidate, size, taken):
                candidate += "_"
            self.sizes[candidate] = size
            taken.append(candidate)
        return tuple(taken)

    def _is_other(self, name: str, size: int, taken: Sequence[str]) -> bool:
        return name in taken or self.sizes.get(name, size) != size

    def _said(self, variable: str, shape: Sequence[int]) -> tuple[str, ...] | None:
        names = self._given.get(variable)
        if names is None:
            return self._conventions.dimensions(variable, len(shape))
        if len(names) != len(shape):
            raise ValueError(
                f"{self._location}: {variable} has {len(shape)} dimensions {tuple(shape)}, and dims names "
                f"{len(names)}: {', '.join(names)}"
            )
        return tuple(names)


def short(chunks: tuple[int, ...]) -> int | tuple[int, ...]:
    """One number where all pieces but a smaller last one are alike: as xarray has it in preferred_chunks."""
    if not chunks:
        return 1
    alike = all(size == chunks[0] for size in chunks[:-1]) and chunks[-1] <= chunks[0]
    return chunks[0] if alike and chunks[0] > 0 else chunks
