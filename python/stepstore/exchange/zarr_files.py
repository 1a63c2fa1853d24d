"""Zarr, format 3: directories in which each chunk is a file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stepstore.errors import DER_INVAL, Error
from stepstore.exchange import notes
from stepstore.exchange.format import Compression, library
from stepstore.exchange.table import TEXT, Array, Box, Entry, Table, native, same, slices

_NUMBERS = "iufc"  # kinds of dtypes
_OF_XARRAY_2 = "_ARRAY_DIMENSIONS"  # where format 2 has the names of dimensions


class ZarrWriter:
    """A chunk is a piece, so a chunk is written once, whole."""

    def __init__(self, path: Path, table: Table, resumed: bool, compression: Compression | None):
        self._zarr = zarr = library("zarr", "zarr")
        self._compression: dict[str, Any] = {}
        if compression is not None:
            codecs = library("zarr.codecs", "zarr")
            codec = {"gzip": codecs.GzipCodec, "zstd": codecs.ZstdCodec}[compression.name]
            level = {} if compression.level is None else {"level": compression.level}
            self._compression = {"compressors": [codec(**level)]}
        self._group = zarr.open_group(str(path), mode="a" if resumed else "w", zarr_format=3)
        self._group.update_attributes(_stored(table.attributes, None))
        self._arrays = {}
        for entry in table.entries:
            there = self._group.get(entry.name) if resumed else None
            self._arrays[entry.name] = there if there is not None else self._make(entry)

    @staticmethod
    def check(table: Table) -> None:
        """DER_INVAL: what cannot be kept, by its name."""
        names = {entry.name for entry in table.entries}
        for entry in table.entries:
            what = f"variable {entry.name!r}"
            if not entry.is_text and (
                entry.dtype.kind not in _NUMBERS or entry.dtype.itemsize > 16 or entry.dtype == np.longdouble
            ):
                raise Error(
                    DER_INVAL,
                    f"{what}: Zarr has no type for {entry.dtype}: export to NAME.npy, or choose others with "
                    "--variables",
                )
            parts = entry.name.split("/")
            if any(part in ("", ".", "..", "zarr.json") or part.startswith("__") for part in parts):
                raise Error(DER_INVAL, f"{what}: Zarr has no such name: export to NAME.npy")
            if any("/".join(parts[:end]) in names for end in range(1, len(parts))):
                raise Error(
                    DER_INVAL,
                    f"{what}: Zarr cannot have a group and an array of one name: export to NAME.npy, or "
                    "choose others with --variables",
                )

    def _make(self, entry: Entry) -> Any:
        return self._group.create_array(
            entry.name,
            shape=entry.shape,
            chunks=entry.piece,
            dtype=str if entry.is_text else entry.dtype,
            dimension_names=list(entry.dims),
            attributes=_stored(entry.attributes, entry),
            config={"write_empty_chunks": True},  # -0.0 is not the 0.0 of a chunk that is missing
            **self._compression,
        )

    def write(self, entry: Entry, start: Box, values: Array) -> None:
        self._arrays[entry.name][slices(start, values.shape)] = (
            values.astype(str) if entry.is_text else values
        )

    def close(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that not every reader of format 3 knows it
            self._zarr.consolidate_metadata(self._group.store)
        self._group.store.close()


class ZarrTable:
    """Formats 2 and 3, with all of their groups."""

    record: str | None = None

    def __init__(self, path: Path):
        self._group = library("zarr", "zarr").open_group(str(path), mode="r")
        self.attributes = _read(self._group.attrs.asdict(), None, str(path))
        self._arrays = dict(sorted(_walk(self._group, "")))
        self.entries = [_entry(name, array, f"{path}") for name, array in self._arrays.items()]

    def read(self, entry: Entry, start: Box, count: Box) -> Array:
        found = np.asarray(self._arrays[entry.name][slices(start, count)])
        if entry.is_text:
            return found.astype(TEXT).reshape(count)
        return native(found).astype(entry.dtype, copy=False).reshape(count)

    def close(self) -> None:
        self._group.store.close()


def _walk(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, array in group.arrays():
        yield path + name, array
    for name, inner in group.groups():
        yield from _walk(inner, f"{path}{name}/")


def _entry(name: str, array: Any, where: str) -> Entry:
    attributes = array.attrs.asdict()
    dims = attributes.pop(_OF_XARRAY_2, None) or array.metadata.to_dict().get("dimension_names") or ()
    if len(dims) != len(array.shape) or None in dims:
        dims = [f"{name}_{place}" for place in range(len(array.shape))]
    dtype = TEXT if array.dtype.kind in "OT" else np.dtype(array.dtype).newbyteorder("=")
    fill = attributes.get("_FillValue")
    if array.metadata.zarr_format == 2:
        if fill is None and array.fill_value is not None and dtype.kind in _NUMBERS:
            attributes["_FillValue"] = array.fill_value
    elif (
        isinstance(fill, str | list) and dtype.kind in _NUMBERS
    ):  # as xarray writes it; others write a number
        attributes["_FillValue"] = _filler().decode(attributes["_FillValue"], dtype)
    found = _read(attributes, dtype, f"{where}: variable {name!r}")
    if dtype == bool:
        dtype, found["dtype"] = np.dtype(np.int8), "bool"
    return Entry(name, tuple(map(str, dims)), tuple(array.shape), dtype, found)


def _filler() -> Any:
    return library("xarray.backends.zarr", "xarray").FillValueCoder


def _read(attributes: Mapping[str, Any], dtype: np.dtype[Any] | None, where: str) -> dict[str, Any]:
    found = dict(attributes)
    noted = notes.read(found.pop(notes.NOTES), where) if notes.NOTES in found else {}
    if dtype is not None and "_FillValue" in found and dtype.kind in _NUMBERS:
        found["_FillValue"] = np.asarray(found["_FillValue"], dtype)[()]
    return {name: noted[name] if name in noted else _value(value) for name, value in found.items()} | noted


def _value(value: Any) -> Any:
    """What JSON has no type for stays text: of objects and lists in lists it is their JSON."""
    if isinstance(value, bool):
        return np.int8(value)
    if isinstance(value, int):
        return np.int64(value) if -(1 << 63) <= value < 1 << 63 else np.float64(value)
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return value if len(value) > 1 else value[0]
    if isinstance(value, list) and value and all(type(one) in (int, float) for one in value):
        values = np.array(value)
        return values if len(values) > 1 else values[0]
    return value if isinstance(value, str | np.generic | np.ndarray) else json.dumps(value)


def _stored(attributes: Mapping[str, Any], entry: Entry | None) -> dict[str, Any]:
    """As xarray writes them, and what JSON would change noted besides."""
    found: dict[str, Any] = {}
    noted = {}
    for name, value in attributes.items():
        is_fill = name == "_FillValue" and entry is not None and not entry.is_text
        plain = value if isinstance(value, str | list) else np.asarray(value).tolist()
        if (
            is_fill
            and entry is not None
            and entry.dtype.kind in "iuf"
            and np.asarray(value).dtype == entry.dtype
        ):
            found[name] = _filler().encode(plain, entry.dtype)
            continue
        try:
            text = json.dumps(plain, allow_nan=False)
            faithful = same(_value(json.loads(text)), value) and not is_fill
        except (ValueError, TypeError):
            plain, faithful = None, False
        if not faithful:
            noted[name] = value
        if plain is not None and not is_fill:
            found[name] = plain
    if noted:
        found[notes.NOTES] = notes.written(noted)
    return found
