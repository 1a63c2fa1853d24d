"""The formats that tables are written in and read from, by name and by the ending of a file's name."""

from __future__ import annotations

from pathlib import Path

from stepstore.errors import DER_INVAL, Error
from stepstore.exchange import numpy_files
from stepstore.exchange.format import Format
from stepstore.exchange.netcdf import NetcdfTable, NetcdfWriter
from stepstore.exchange.numpy_files import NpyWriter, NpzWriter, NumpyTable
from stepstore.exchange.zarr_files import ZarrTable, ZarrWriter

TABLES = {
    one.name: one
    for one in (
        Format("netcdf", ".nc", False, NetcdfWriter.check, NetcdfWriter, NetcdfTable, ("zlib", "zstd")),
        Format("zarr", ".zarr", True, ZarrWriter.check, ZarrWriter, ZarrTable, ("gzip", "zstd")),
        Format("npy", ".npy", True, numpy_files.check, NpyWriter, NumpyTable),
        Format("npz", ".npz", False, numpy_files.check, NpzWriter, NumpyTable),
    )
}
BP = "bp"
NAMES = [*TABLES, BP]
_ENDINGS = {
    ".nc": "netcdf",
    ".nc4": "netcdf",
    ".cdf": "netcdf",
    ".h5": "netcdf",
    ".hdf5": "netcdf",
    ".zarr": "zarr",
    ".npy": "npy",
    ".npz": "npz",
    ".bp": BP,
}
_INSIDE = {
    "zarr.json": "zarr",
    ".zgroup": "zarr",
    ".zmetadata": "zarr",
    "md.idx": BP,
    numpy_files.CONTENTS: "npy",
}


def format_of(path: str, given: str = "") -> str:
    """The name of the format: what the user says, else what is there, else what the name ends in. DER_INVAL:
    none of these."""
    if given:
        return given
    found = format_inside(path) or _ENDINGS.get(Path(path).suffix.lower(), "")
    if not found:
        raise Error(
            DER_INVAL,
            f"{path}: its name does not say the format: end it in {', '.join(_ENDINGS)}, or give --format "
            f"{'|'.join(NAMES)}",
        )
    return found


def format_inside(directory: str) -> str:
    """The name of the format that a directory is of; "": of none."""
    return next((name for file, name in _INSIDE.items() if (Path(directory) / file).exists()), "")
