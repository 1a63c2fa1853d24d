"""NumPy: a directory with a .npy file for each variable, or the same files in one .npz.

A file stepstore.json beside them has the names, the dimensions and the attributes. `numpy.load(FILE,
mmap_mode="r")` opens a .npy of any size, and `numpy.load` the .npz.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import numpy as np

from stepstore.errors import DER_CSUM, DER_INVAL, Error
from stepstore.exchange import notes
from stepstore.exchange.format import Compression
from stepstore.exchange.table import TEXT, Array, Box, Entry, Table, pieces

CONTENTS = "stepstore.json"
_LONGEST = 255  # bytes of a file's name
_MOST = 1 << 26  # bytes of the contents
_MOST_OPEN = 64


def check(table: Table) -> None:
    """DER_INVAL: what cannot be kept, by its name."""
    for entry in table.entries:
        if len(_file_of(entry.name)) > _LONGEST:
            raise Error(
                DER_INVAL,
                f"variable {entry.name!r}: its name is too long for a file's: export to NAME.nc, or choose "
                "others with --variables",
            )


class NpyWriter:
    """Of a directory. Each piece is written to its place, so that it stays after a kill."""

    def __init__(self, path: Path, table: Table, resumed: bool, _: Compression | None = None):
        self._path = path
        path.mkdir(exist_ok=True)
        self._begins: dict[str, int] = {}
        self._types: dict[str, np.dtype[Any]] = {}
        for entry in table.entries:
            dtype = _dtype(table, entry)
            head = _header(dtype, entry.shape)
            self._types[entry.name], self._begins[entry.name] = dtype, len(head)
            file = path / _file_of(entry.name)
            if not (resumed and file.exists()):
                file.write_bytes(head)
                with file.open("r+b") as opened:
                    opened.truncate(len(head) + dtype.itemsize * math.prod(entry.shape))
        (path / CONTENTS).write_text(_contents(table), encoding="utf-8")

    def write(self, entry: Entry, start: Box, values: Array) -> None:
        at = int(np.ravel_multi_index(start, entry.shape)) if start else 0
        dtype = self._types[entry.name]
        with (self._path / _file_of(entry.name)).open("r+b") as file:
            file.seek(self._begins[entry.name] + at * dtype.itemsize)
            file.write(np.ascontiguousarray(values, dtype).tobytes())

    def close(self) -> None:
        pass


class NpzWriter:
    """Of one file, from its beginning to its end."""

    def __init__(self, path: Path, table: Table, resumed: bool, _: Compression | None = None):
        self._table = table
        self._file = zipfile.ZipFile(path, "w", allowZip64=True)
        self._file.writestr(CONTENTS, _contents(table))
        self._member: IO[bytes] | None = None
        self._dtype = TEXT
        self._left = [*table.entries]

    def write(self, entry: Entry, start: Box, values: Array) -> None:
        while not self._member or self._left[0].name != entry.name:
            self._next(entry)
        self._member.write(np.ascontiguousarray(values, self._dtype).tobytes())

    def _next(self, wanted: Entry | None) -> None:
        """Begins the next variable; those without elements have a header alone."""
        if self._member:
            self._member.close()
            self._left.pop(0)
            self._member = None
        if self._left:
            entry = self._left[0]
            self._dtype = _dtype(self._table, entry)
            self._member = self._file.open(_file_of(entry.name), "w", force_zip64=True)
            self._member.write(_header(self._dtype, entry.shape))

    def close(self) -> None:
        while self._left:
            self._next(None)
        self._file.close()


class NumpyTable:
    """A directory or an .npz that was exported."""

    record: str | None = None

    def __init__(self, path: Path):
        self._path = path
        self._zip = zipfile.ZipFile(path) if path.is_file() else None
        with self._opened(CONTENTS) as file:
            text = file.read(_MOST + 1)
        try:
            if len(text) > _MOST:
                raise ValueError("it is too large")
            contents = json.loads(text)
            self.attributes = {name: notes.decoded(one) for name, one in contents["attributes"].items()}
            self._begins: dict[str, tuple[int, np.dtype[Any]]] = {}
            self.entries = [self._entry(one) for one in contents["variables"]]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise Error(
                DER_CSUM, f"{path}: {CONTENTS} or a file that it names is damaged: {error}"
            ) from error
        self._files: dict[str, IO[bytes]] = {}

    def _opened(self, name: str) -> IO[bytes]:
        return self._zip.open(name) if self._zip else (self._path / name).open("rb")

    def _entry(self, told: dict[str, Any]) -> Entry:
        name = str(told["name"])
        with self._opened(_file_of(name)) as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, turned, dtype = read(file)
            self._begins[name] = file.tell(), dtype
        dims = tuple(map(str, told["dims"]))
        if turned or len(dims) != len(shape) or dtype.hasobject:
            raise ValueError(name)
        attributes = {key: notes.decoded(one) for key, one in told["attributes"].items()}
        return Entry(name, dims, shape, TEXT if dtype.kind == "U" else dtype.newbyteorder("="), attributes)

    def read(self, entry: Entry, start: Box, count: Box) -> Array:
        begin, dtype = self._begins[entry.name]
        if math.prod(count[1:]) != math.prod(entry.shape[1:]) and not _is_run(count, entry.shape):
            raise Error(DER_INVAL, f"{self._path}: {entry.name!r} is read in the order of its elements")
        at = int(np.ravel_multi_index(start, entry.shape)) if start else 0
        file = self._file(entry.name)
        file.seek(begin + at * dtype.itemsize)
        size = math.prod(count) * dtype.itemsize
        raw = file.read(size)
        if len(raw) != size:
            raise Error(DER_CSUM, f"{self._path}: the file of {entry.name!r} is too short")
        found = np.frombuffer(raw, dtype).reshape(count)
        return found.astype(TEXT if entry.is_text else entry.dtype, copy=False)

    def _file(self, name: str) -> IO[bytes]:
        """Stays open, since a place in a .npz is found again only from its beginning. Files of a .npz share
        one descriptor."""
        if name not in self._files:
            if not self._zip and len(self._files) >= _MOST_OPEN:
                self._files.pop(next(iter(self._files))).close()
            self._files[name] = self._opened(_file_of(name))
        return self._files[name]

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        if self._zip:
            self._zip.close()


def _is_run(count: Box, shape: Box) -> bool:
    """Whether a box is elements one after the other: 1 in the first dimensions, whole in the last."""
    first = next((at for at, extent in enumerate(count) if extent != 1), len(count))
    return count[first + 1 :] == shape[first + 1 :]


def _file_of(name: str) -> str:
    return quote(name, safe=" ", errors="surrogateescape") + ".npy"


def _dtype(table: Table, entry: Entry) -> np.dtype[Any]:
    """Texts are as wide as the longest."""
    if not entry.is_text:
        return entry.dtype
    widths = [len(text) for start, count in pieces(entry) for text in table.read(entry, start, count).ravel()]
    return np.dtype(f"U{max(1, *widths, 1)}")


def _header(dtype: np.dtype[Any], shape: Box) -> bytes:
    head = io.BytesIO()
    told = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(head, told)
    return head.getvalue()


def _contents(table: Table) -> str:
    variables = [
        {"name": one.name, "dims": list(one.dims), "attributes": _encoded(one.attributes)}
        for one in table.entries
    ]
    return json.dumps({"attributes": _encoded(table.attributes), "variables": variables}, indent=1)


def _encoded(attributes: Any) -> dict[str, Any]:
    return {name: notes.encoded(value) for name, value in attributes.items()}
