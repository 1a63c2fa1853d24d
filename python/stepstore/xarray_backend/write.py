"""Datasets as streams of steps: what `open_dataset` turns back into the same."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.steps import open_steps
from stepstore.writer import Writer, WriterStep
from stepstore.xarray_backend.conventions import DIMENSIONS, STEPS

STEP = "step"
# Attributes by which xarray makes other values of what is stored.
DECODED = ("units", "calendar", "scale_factor", "add_offset", "_FillValue", "missing_value", "dtype")


def write_dataset(dataset: xr.Dataset, location: str, append: bool, options: Mapping[str, Any]) -> None:
    """Write a stream. Attributes and names of dimensions are those that conventions.py knows.

    Parameters
    ----------
    dataset : xarray.Dataset
        The dataset, encoded as CF says.
    location : str
        POOL[/CONTAINER[/STREAM]].
    append : bool
        Continue the stream that is there.
    options : mapping
        Of `Writer`.
    """
    if append and STEP not in dataset.dims:
        raise Error(DER_INVAL, f"{location}: the dataset has no dimension {STEP!r}: nothing can be appended")
    there = _attributes_at(location) if append else {}
    variables, attributes = xr.conventions.encode_dataset_coordinates(_with_units(dataset, there))
    variables, attributes = xr.conventions.cf_encoder(variables, attributes)
    for name, variable in variables.items():
        _refuse_other_values(location, str(name), variable, there)
    with Writer(location, append=append, **options) as writer:
        first = len(writer) == 0
        if append:  # another program may have been faster, and has left the stream by now
            there = _attributes_at(location)
            for name, variable in variables.items():
                _refuse_other_values(location, str(name), variable, there)
        for name, value in attributes.items():
            writer.set_attribute(str(name), value)
        if STEP not in dataset.dims:
            writer.set_attribute(STEPS, "")
        for name, variable in variables.items():
            _describe(writer, str(name), variable)
        for number in range(dataset.sizes.get(STEP, 1)):
            with writer.step() as step:
                for name, variable in variables.items():
                    if STEP in variable.dims:
                        _put(step, name, variable.isel({STEP: number}))
                    elif number == 0 and first:
                        _put(step, name, variable)


def _attributes_at(location: str) -> dict[str, Any]:
    """Of the stream that is there, by their whole names."""
    try:
        with open_steps(location) as steps:
            return {name: one.value for name, one in steps.attributes().items()} if len(steps) else {}
    except Error as error:
        if error.code != DER_NONEXIST:
            raise
        return {}


def _with_units(dataset: xr.Dataset, there: Mapping[str, Any]) -> xr.Dataset:
    """With the times in the units that the stream has already, which count for all of its steps."""
    dataset = dataset.copy()
    for name, variable in dataset.variables.items():
        kept = {key: there[f"{name}/{key}"] for key in ("units", "calendar") if f"{name}/{key}" in there}
        if kept and variable.dtype.kind in "mM":
            dataset[name].encoding.update(kept)
    return dataset


def _refuse_other_values(location: str, name: str, variable: xr.Variable, there: Mapping[str, Any]) -> None:
    for key in DECODED:
        stored, now = there.get(f"{name}/{key}"), variable.attrs.get(key)
        if stored is not None and now is not None and not _same(stored, now):
            raise Error(
                DER_INVAL,
                f"{location}: variable {name!r} has the {key} {now!r}, and the steps that are there have "
                f"{stored!r}, which would count for both: convert it first",
            )


def _same(one: Any, other: Any) -> bool:
    """NaN is the same as NaN, a usual _FillValue. Units of time are the same if they decode to the same."""
    if isinstance(one, str) and isinstance(other, str) and " since " in one and " since " in other:
        with contextlib.suppress(ValueError):  # what is stored is no unit of time
            return _moments(one) == _moments(other)
    return bool(one == other or (one != one and other != other))


def _moments(units: str) -> list[Any]:
    counted = xr.Dataset({"time": ("time", [0, 1], {"units": units})})
    return list(xr.decode_cf(counted).time.values.tolist())


def _describe(writer: Writer, name: str, variable: xr.Variable) -> None:
    for key, value in variable.attrs.items():
        writer.set_attribute(str(key), value, variable=name)
    dims = [str(one) for one in variable.dims if one != STEP]
    if dims:
        writer.set_attribute(DIMENSIONS[0], dims, variable=name)


def _put(step: WriterStep, name: Hashable, variable: xr.Variable) -> None:
    values = np.asarray(variable.values)
    is_text = values.ndim == 0 and isinstance(values.item(), str | bytes)
    step.put(str(name), values.item() if is_text else values)
