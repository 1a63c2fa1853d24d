"""NetCDF-4 files, and what netCDF's library reads besides them: netCDF-3, HDF5."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stepstore.errors import DER_INVAL, Error
from stepstore.exchange import notes
from stepstore.exchange.format import Compression, library
from stepstore.exchange.table import TEXT, Array, Box, Entry, Table, native, slices

_TYPES = "iufc"
_RESERVED = (
    "_FillValue",
    "_NCProperties",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_nc3_strict",
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "DIMENSION_LABELS",
    "REFERENCE_LIST",
)  # of the library


class NetcdfWriter:
    """A variable of a name with slashes lies in groups. A killed file cannot be continued."""

    def __init__(self, path: Path, table: Table, resumed: bool, compression: Compression | None):
        self._compression = compression
        self._file = library("netCDF4", "netcdf").Dataset(path, "w", format="NETCDF4", auto_complex=True)
        self._record = table.record
        sizes: dict[str, int] = {}
        for entry in table.entries:
            sizes.update(zip(entry.dims, entry.shape, strict=True))
        for name, size in sizes.items():
            # A size of 0 makes one that can grow, too, and has not yet.
            self._file.createDimension(name, None if name == table.record else size)
        _put(self._file, table.attributes, None)
        for entry in table.entries:
            self._define(entry)

    @staticmethod
    def check(table: Table) -> None:
        """DER_INVAL: what cannot be kept, by its name."""
        names = {entry.name for entry in table.entries}
        for entry in table.entries:
            what = f"variable {entry.name!r}"
            if not entry.is_text and (entry.dtype.kind not in _TYPES or _is_long(entry.dtype)):
                raise Error(
                    DER_INVAL,
                    f"{what}: netCDF has no type for {entry.dtype}: export to NAME.npy, or choose others "
                    "with --variables",
                )
            for dim in entry.dims:
                if "/" in dim:
                    raise Error(
                        DER_INVAL,
                        f"{what}: its dimension is called {dim!r}, and netCDF allows no slash: export to "
                        "NAME.zarr",
                    )
            parts = entry.name.split("/")
            if not all(parts):
                raise Error(DER_INVAL, f"{what}: netCDF has no such name: export to NAME.npy")
            if any("/".join(parts[:end]) in names for end in range(1, len(parts))):
                raise Error(
                    DER_INVAL,
                    f"{what}: netCDF cannot have a group and a variable of one name: export to NAME.npy, or "
                    "choose others with --variables",
                )

    def _define(self, entry: Entry) -> None:
        fill = entry.attributes.get("_FillValue")
        kept = fill if fill is not None and _fits(fill, entry) else None
        options: dict[str, Any] = {"chunksizes": entry.piece} if self._record in entry.dims else {}
        options |= {} if entry.is_text else {"fill_value": False if kept is None else kept}
        if self._compression is not None and not entry.is_text:
            name, level = self._compression
            options |= {"compression": name} | ({} if level is None else {"complevel": level})
        try:
            made = self._file.createVariable(
                entry.name, str if entry.is_text else entry.dtype, entry.dims, **options
            )
        except (RuntimeError, ValueError, UnicodeEncodeError) as error:
            raise Error(DER_INVAL, f"variable {entry.name!r}: netCDF refuses it: {error}") from error
        _plain(made)
        _put(made, entry.attributes, kept)

    def write(self, entry: Entry, start: Box, values: Array) -> None:
        self._file[entry.name][slices(start, values.shape)] = values

    def close(self) -> None:
        self._file.close()


class NetcdfTable:
    """DER_INVAL: types of variables that are of netCDF alone."""

    def __init__(self, path: Path):
        self._file = library("netCDF4", "netcdf").Dataset(path, "r", auto_complex=True)
        try:
            self.attributes = _attributes(self._file, f"{path}")
            self._variables = dict(_walk(self._file, ""))
            self.entries = [_entry(name, variable, f"{path}") for name, variable in self._variables.items()]
        except BaseException:
            self._file.close()
            raise
        growing = [name for name, dim in self._file.dimensions.items() if dim.isunlimited() and len(dim)]
        self.record: str | None = growing[0] if len(growing) == 1 else None

    def read(self, entry: Entry, start: Box, count: Box) -> Array:
        found = np.asarray(self._variables[entry.name][slices(start, count)])
        return found.astype(TEXT if entry.is_text else entry.dtype, copy=False).reshape(count)

    def close(self) -> None:
        self._file.close()


def _plain(variable: Any) -> None:
    """Nothing is scaled, masked or joined."""
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)


def _walk(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, variable in group.variables.items():
        _plain(variable)
        yield path + name, variable
    for name, inner in group.groups.items():
        yield from _walk(inner, f"{path}{name}/")


def _entry(name: str, variable: Any, where: str) -> Entry:
    dtype = TEXT if variable.dtype is str else variable.dtype
    if dtype is not TEXT and type(variable.datatype).__name__ == "VLType":
        dtype = np.dtype("V1")  # rows of different lengths, which no stream stores
    return Entry(
        name,
        tuple(variable.dimensions),
        tuple(variable.shape),
        native(np.empty(0, dtype)).dtype,
        _attributes(variable, f"{where}: variable {name!r}"),
    )


def _attributes(of: Any, where: str) -> dict[str, Any]:
    found = {name: of.getncattr(name) for name in of.ncattrs()}
    if notes.NOTES in found:
        found.update(notes.read(found.pop(notes.NOTES), where))
    return {name: _single(value) for name, value in found.items()}


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _put(on: Any, attributes: Mapping[str, Any], fill: Any) -> None:
    """fill: the _FillValue that the variable was made with."""
    noted = {}
    for name, value in attributes.items():
        if name == "_FillValue" and fill is not None:
            continue
        if not _is_kept(name, value):
            noted[name] = value
        elif isinstance(value, list | tuple):
            on.setncattr_string(name, list(value))
        else:
            on.setncattr(name, value)
    if noted:
        on.setncattr(notes.NOTES, notes.written(noted))


def _is_kept(name: str, value: Any) -> bool:
    """Whether netCDF has such an attribute, and gives it back the same."""
    if name in _RESERVED or "/" in name or name != name.strip():
        return False
    texts = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else None
    if texts is not None:
        return bool(texts) and all(isinstance(one, str) and one and _is_plain(one) for one in texts)
    values = np.asarray(value)
    return bool(values.size and values.dtype.kind in "iuf" and not _is_long(values.dtype))


def _is_plain(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _is_long(dtype: np.dtype[Any]) -> bool:
    return dtype.itemsize > (16 if dtype.kind == "c" else 8)


def _fits(fill: Any, entry: Entry) -> bool:
    """Whether the variable's type is the fill's."""
    return (
        not entry.is_text
        and entry.dtype.kind != "c"
        and np.asarray(fill).dtype == entry.dtype
        and math.prod(np.shape(fill)) == 1
    )
