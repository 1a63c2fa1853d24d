"""Objects of a container as files of the filesystem stepstore://: what programs write by id, no blobs. ::

    POOL/CONTAINER/.objects/HI.LO/KEY      the value of a key: the object HI.LO is a directory
    POOL/CONTAINER/.objects/HI.LO          an array: a file with the bytes of its cells

Ids are as `stepstore ls` prints them, and as `str(values.id)` gives them. In the names of keys %xx is a byte:
a '%', a '/', or what is not printable. Objects are read-only here. The folder is in no listing of its
container, so nobody copies or removes it by accident.

A key is read whole when it is opened: that is one version. An array that is written meanwhile may show old
and new cells.
"""

from __future__ import annotations

import re
from typing import Any

from stepstore import _core
from stepstore.array import Array
from stepstore.buffers import escape, unescape
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.store import Container, ObjectId

FOLDER = ".objects"
_ID = re.compile(r"(\d{1,20})\.(\d{1,20})")


def is_object(key: str) -> bool:
    """Whether what follows POOL/CONTAINER/ is this folder, or below it."""
    return key == FOLDER or key.startswith(FOLDER + "/")


class ObjectFiles:
    """Those of a container. epoch: of a snapshot, whose container is given then. cell_size, chunk_size: of
    arrays that do not keep them."""

    def __init__(
        self, pool: str, container: Container, epoch: int | None, cell_size: int, chunk_size: int | None
    ):
        self._pool, self._container, self._epoch = pool, container, epoch
        self._cell_size, self._chunk_size = cell_size, chunk_size

    def info(self, key: str, path: str) -> dict[str, Any]:
        """FileNotFoundError: there is no such object or key."""
        oid, name = self._split(key, path)
        if oid is None:
            return _directory(path)
        entry = self._described(oid, path)
        if entry["type"] == "array":
            if name:
                raise FileNotFoundError(f"{path}: object {oid} is an array, which has no keys")
            return self._array_info(entry, path)
        if not name:
            return _directory(path)
        with self._container.key_value(oid, read_only=True) as values:
            size = values.size(unescape(name))
        if size is None:
            raise FileNotFoundError(f"{path}: key-value {oid} has no key {name}")
        return {"name": path, "size": size, "type": "file", "object": "key_value"}

    def ls(self, key: str, path: str) -> list[dict[str, Any]]:
        oid, name = self._split(key, path)
        if oid is None:
            found = _core.container_objects(self._pool, self._container.label, self._epoch, False)
            entries = [self._entry(one, f"{path}/{one['hi']}.{one['lo']}") for one in found]
            return [entry for entry in entries if entry is not None]
        described = self.info(key, path)
        if described["type"] == "file":
            return [described]
        with self._container.key_value(oid, read_only=True) as values:
            sizes = [(raw, values.size(raw)) for raw in sorted(values.raw_keys())]
        return [
            {"name": f"{path}/{_name(raw)}", "size": size, "type": "file", "object": "key_value"}
            for raw, size in sizes
            if size is not None  # else it was removed meanwhile
        ]

    def open(self, key: str, path: str) -> ValueReader | ArrayReader:
        """FileNotFoundError: there is none. IsADirectoryError: a key-value as a whole."""
        info = self.info(key, path)
        oid, name = self._split(key, path)
        if info["type"] != "file" or oid is None:
            raise IsADirectoryError(f"{path} is a directory: give one of the names in it")
        if info["object"] == "array":
            return ArrayReader(self._open_array(oid, path))
        with self._container.key_value(oid, read_only=True) as values:
            value = values.get(unescape(name))
        if value is None:
            raise FileNotFoundError(path)
        return ValueReader(value)

    def _split(self, key: str, path: str) -> tuple[ObjectId | None, str]:
        """Object and key; None: the folder."""
        if key == FOLDER:
            return None, ""
        text, _, name = key.removeprefix(FOLDER + "/").partition("/")
        match = _ID.fullmatch(text)
        if not match or max(int(match[1]), int(match[2])) >= 1 << 64:
            raise FileNotFoundError(
                f"{path}: an object is named by its id HI.LO, two numbers: {FOLDER} lists them"
            )
        return ObjectId(int(match[1]), int(match[2])), name

    def _described(self, oid: ObjectId, path: str) -> dict[str, Any]:
        try:
            found = _core.container_object(self._pool, self._container.label, oid, self._epoch)
        except Error as error:
            if error.code not in (DER_NONEXIST, DER_INVAL):  # DER_INVAL: no object can have this id
                raise
            raise FileNotFoundError(f"{path}: this container has no object {oid}") from error
        if found["type"] == "object":
            raise FileNotFoundError(f"{path}: object {oid} has dkeys and akeys, which are no files")
        return found

    def _entry(self, described: dict[str, Any], path: str) -> dict[str, Any] | None:
        if described["type"] == "array":
            try:
                return self._array_info(described, path)
            except FileNotFoundError:  # destroyed meanwhile
                return None
        return _directory(path) if described["type"] == "key_value" else None

    def _array_info(self, described: dict[str, Any], path: str) -> dict[str, Any]:
        info: dict[str, Any] = {"name": path, "size": None, "type": "file", "object": "array"}
        if "cell_size" in described or self._chunk_size is not None:
            with self._open_array(ObjectId(described["hi"], described["lo"]), path) as array:
                info |= {"size": array.nbytes, "cell_size": array.cell_size, "chunk_size": array.chunk_size}
        return info

    def _open_array(self, oid: ObjectId, path: str) -> Array:
        if "cell_size" in self._described(oid, path):
            return self._container.open_array(oid, read_only=True)
        if self._chunk_size is None:
            raise Error(
                DER_INVAL,
                f"{path}: array {oid} does not keep its sizes: give the filesystem the option chunk_size "
                "(cells), and cell_size (bytes) if that is not 1",
            )
        return self._container.open_array(
            oid, cell_size=self._cell_size, chunk_size=self._chunk_size, read_only=True
        )


class ValueReader:
    """The value of a key as it was when it was opened."""

    def __init__(self, value: bytes):
        self._value = value
        self.size = len(value)

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        return self._value[start:stop]


class ArrayReader:
    """The bytes of an array's cells, up to its end when it was opened."""

    def __init__(self, array: Array):
        self._array = array
        self.size: int = array.nbytes

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """Those of value[start:stop]."""
        begin, end, _ = slice(start, stop).indices(self.size)
        if begin >= end:
            return b""
        cell = self._array.cell_size
        first = begin // cell
        data = self._array.read(first, -(-end // cell) - first)
        return data[begin - first * cell : end - first * cell]


def _name(key: bytes) -> str:
    """One part of a path, and none that means a directory."""
    name = escape(key).replace("/", "%2f")
    return name.replace(".", "%2e") if name in (".", "..") else name


def _directory(path: str) -> dict[str, Any]:
    return {"name": path, "size": 0, "type": "directory"}
