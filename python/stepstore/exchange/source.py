"""A stream of steps, or arrays by name, as a table: as the engine for xarray shows them, nothing decoded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
import xarray as xr

from stepstore.errors import DER_INVAL, Error
from stepstore.exchange.table import TEXT, Array, Box, Entry, slices, unknown_variable
from stepstore.steps import Steps
from stepstore.xarray_backend import StepstoreBackendEntrypoint
from stepstore.xarray_backend.conventions import STEPS
from stepstore.xarray_backend.follow import ENCODING, View
from stepstore.xarray_backend.survey import Selection

_UNDECODED: dict[str, Any] = dict.fromkeys(
    ("mask_and_scale", "decode_times", "concat_characters", "decode_coords", "decode_timedelta"), False
)


class Stored:
    """The table of a location. Errors: as of xr.open_dataset; DER_INVAL: a variable that has no place in a
    table, by its name."""

    def __init__(
        self,
        location: str | os.PathLike[str],
        steps: Selection,
        variables: Collection[str],
        snapshot: int = 0,
    ):
        self.location = os.fspath(location)
        self._steps = steps
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is left out: it is refused below
            self._dataset = StepstoreBackendEntrypoint().open_dataset(
                self.location, steps=steps, snapshot=snapshot, use_cftime=None, **_UNDECODED
            )
        view = self._dataset.encoding.get(ENCODING)
        self._view = view if isinstance(view, View) else None
        left_out = self._view.left_out if self._view else {}
        wanted = self._wanted(variables, left_out)
        for name, reason in left_out.items():
            if not variables or name in variables:
                raise Error(
                    DER_INVAL,
                    f"{self.location}: variable {name!r} has no place in this format: {reason}; export to "
                    "FILE.bp, which keeps it, or choose others with --variables",
                )
        dataset: Any = self._dataset[wanted]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of coordinates that CF cannot name: they are variables then
            found, attributes = xr.conventions.encode_dataset_coordinates(dataset)
        self._variables: dict[Hashable, xr.Variable] = dict(found)
        self.attributes = {str(name): value for name, value in attributes.items()}
        self.record: str | None = None
        self.ended = True
        if self._view is not None:
            with self._view.source.opened() as stream:
                self.ended = stream.steps.ended
                self.record = self._name_of_steps(stream.steps)
        self.entries = [_entry(str(name), variable) for name, variable in self._variables.items()]

    @property
    def identity(self) -> dict[str, Any]:
        """It stays the same as long as the data do."""
        if self._view is None:
            return {"location": self.location, "shapes": [[one.name, *one.shape] for one in self.entries]}
        source = self._view.source
        return {
            "location": source.location,
            "generation": source.generation,
            "end": self._view.end,
            "selection": repr(self._steps),
        }

    def read(self, entry: Entry, start: Box, count: Box) -> Array:
        found: Array = np.asarray(self._variables[entry.name][slices(start, count)].values)
        return found if entry.is_text else found.astype(entry.dtype, copy=False)

    def close(self) -> None:
        self._dataset.close()

    def _name_of_steps(self, steps: Steps) -> str | None:
        """Of their dimension, where the stream says one, as of an import."""
        said = steps.attributes(steps.first).get(STEPS) if len(steps) > steps.first else None
        return str(said.value) if said and said.value in self._dataset.dims else None

    def _wanted(self, variables: Collection[str], left_out: Collection[str]) -> list[Any]:
        """The variables of these names, and the coordinates that belong to their dimensions."""
        known = {str(name) for name in self._dataset.variables}
        if not variables:
            return [name for name in self._dataset.variables]
        wanted: list[Any] = []
        for name in variables:
            fields = sorted(one for one in known if one.startswith(f"{name}."))  # of a struct
            if name not in known and name not in left_out and not fields:
                raise unknown_variable(self.location, name, known | set(left_out))
            wanted += [name] if name in known else fields
        return wanted


def _entry(name: str, variable: xr.Variable) -> Entry:
    """bool: as xarray stores it, in files too."""
    dtype = variable.dtype.newbyteorder("=") if variable.dtype.kind in "biufcS" else TEXT
    attributes = {str(key): value for key, value in variable.attrs.items()}
    if dtype == bool:
        dtype = np.dtype(np.int8)
        attributes["dtype"] = "bool"
    return Entry(name, tuple(map(str, variable.dims)), variable.shape, dtype, attributes)
