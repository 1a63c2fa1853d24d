"""Pools, containers and objects: thin, typed wrappers of the C++ client."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepstore import _core
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error

ObjectId = _core.ObjectId
Key = str | bytes
_DEFAULT_CHUNK = 1 << 20


def encode_key(key: Key) -> bytes:
    """Keys are bytes; as text they are UTF-8, and bytes that are not survive as surrogates (like file
    names)."""
    return key.encode("utf-8", "surrogateescape") if isinstance(key, str) else bytes(key)


def decode_key(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


class _Handle:
    """What all handles share: they close, and work in `with`."""

    def __init__(self, handle: Any):
        self._handle = handle

    def close(self) -> None:
        self._handle.close()

    @property
    def closed(self) -> bool:
        return self._handle.closed

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Object(_Handle):
    @property
    def id(self) -> ObjectId:
        return self._handle.id

    def destroy(self) -> None:
        """Removes the object with all that it holds; snapshots keep theirs."""
        self._handle.destroy()


class Pool(_Handle):
    """A pool: a directory (a path, or a label under the root directory), or daos://POOL on a DAOS system."""

    @staticmethod
    def create(
        location: str | os.PathLike[str],
        *,
        label: str = "",
        targets: int = 0,
        durability: str = "process",
        target_dirs: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        """Makes a pool.

        targets: at most 256; 0: one per processor of this machine, 4 to 16.
        durability: "process" survives the death of any process, "power" a power failure too.
        target_dirs: existing directories, on other disks say, into which the targets go in turn.
        """
        _core.Pool.create(
            os.fspath(location), label, targets, durability, [os.fspath(path) for path in target_dirs]
        )

    @staticmethod
    def destroy(location: str | os.PathLike[str], *, force: bool = False) -> None:
        """Removes a pool and all in it; force: also while it has containers that are open in this process."""
        _core.Pool.destroy(os.fspath(location), force)

    @classmethod
    def connect(cls, location: str | os.PathLike[str], *, read_only: bool = False) -> Pool:
        return cls(_core.Pool.connect(os.fspath(location), read_only))

    @property
    def location(self) -> str:
        return self._handle.location

    def containers(self) -> list[str]:
        """The labels of the pool's containers (the uuid of one without a label), sorted."""
        return sorted(label or uuid for uuid, label in self._handle.containers())

    def create_container(self, label: str) -> Container:
        return Container(self._handle.create_container(label))

    def open_container(self, label: str, *, read_only: bool = False) -> Container:
        return Container(self._handle.open_container(label, read_only))

    def open_or_create_container(self, label: str) -> Container:
        return Container(self._handle.open_or_create_container(label))

    def destroy_container(self, label: str, *, force: bool = False) -> None:
        self._handle.destroy_container(label, force)

    def sync(self) -> None:
        """After this, all that was acknowledged survives a power failure, whatever the pool's durability."""
        self._handle.sync()

    def __repr__(self) -> str:
        return "<closed stepstore.Pool>" if self.closed else f"stepstore.Pool({self.location!r})"


@dataclass(frozen=True)
class Snapshot:
    """A remembered point in a container's history."""

    epoch: int
    name: str


class Container(_Handle):
    """A container: objects that live and are snapshotted together."""

    @property
    def label(self) -> str:
        return self._handle.label

    def object_id(self, lo: int, hi: int = 0, *, kind: str = "key_value", object_class: str = "") -> ObjectId:
        """The full id of an object: the system's bits say its kind ("key_value", "array") and class ("S1",
        "SX", ...)."""
        return self._handle.object_id(lo, hi, kind, object_class)

    def allocate_oids(self, count: int = 1) -> int:
        """The first of `count` consecutive numbers that nobody else gets in this container."""
        return self._handle.allocate_oids(count)

    def key_value(self, oid: ObjectId | int, *, read_only: bool = False) -> KeyValue:
        """A key-value object, by its full id or by a number of yours."""
        full = self.object_id(oid, kind="key_value") if isinstance(oid, int) else oid
        return KeyValue(self._handle.key_value(full, read_only))

    def create_array(
        self, oid: ObjectId | int, *, cell_size: int = 1, chunk_size: int = _DEFAULT_CHUNK
    ) -> Array:
        """A new array. cell_size: bytes; chunk_size: cells that lie together on one target."""
        return Array(self._handle.create_array(self._array_id(oid), cell_size, chunk_size))

    def open_array(
        self,
        oid: ObjectId | int,
        *,
        cell_size: int | None = None,
        chunk_size: int | None = None,
        read_only: bool = False,
    ) -> Array:
        """An array that is there. An object of the kind "array_bytes" does not keep its sizes: give both,
        always the same ones."""
        full = self._array_id(oid)
        if cell_size is not None or chunk_size is not None:
            return Array(
                self._handle.open_array_with(full, cell_size or 1, chunk_size or _DEFAULT_CHUNK, read_only)
            )
        handle = self._handle.open_array(full, read_only)
        if handle is None:
            raise Error(
                DER_NONEXIST, f"container {self.label!r} has no array {full}: create it with create_array"
            )
        return Array(handle)

    def create_snapshot(self, name: str = "") -> int:
        """Remembers the container as it is now; returns the epoch."""
        return self._handle.create_snapshot(name)

    def snapshots(self) -> list[Snapshot]:
        return [Snapshot(epoch, name) for epoch, name in self._handle.snapshots()]

    def destroy_snapshot(self, snapshot: str | int) -> None:
        self._handle.destroy_snapshot(self.epoch_of(snapshot))

    def at_snapshot(self, snapshot: str | int) -> Container:
        """The container as it was at a snapshot, by name or epoch; read-only."""
        return Container(self._handle.at_snapshot(self.epoch_of(snapshot)))

    def epoch_of(self, snapshot: str | int) -> int:
        """The epoch of a snapshot given by name or epoch; the newest where several have the name."""
        known = self.snapshots()
        for entry in sorted(known, key=lambda entry: entry.epoch, reverse=True):
            if snapshot in (entry.epoch, str(entry.epoch)) or (entry.name and snapshot == entry.name):
                return entry.epoch
        names = ", ".join(entry.name or str(entry.epoch) for entry in known) or "none"
        raise Error(
            DER_NONEXIST, f"container {self.label!r} has no snapshot {snapshot!r}: its snapshots are {names}"
        )

    def _array_id(self, oid: ObjectId | int) -> ObjectId:
        return self.object_id(oid, kind="array") if isinstance(oid, int) else oid

    def __repr__(self) -> str:
        return "<closed stepstore.Container>" if self.closed else f"<stepstore.Container {self.label!r}>"


class KeyValue(_Object, MutableMapping):
    """A key-value object, as a mapping of text or bytes keys to bytes. Iterating gives keys as text."""

    def put(self, key: Key, value: Any, *, condition: str = "none") -> None:
        """condition: "none", "must_not_exist" (else DER_EXIST) or "must_exist" (else DER_NONEXIST)."""
        data = value.encode() if isinstance(value, str) else _memory(value)
        self._handle.put(_checked(key), data, condition)

    def get(self, key: Key, default: Any = None) -> Any:
        value = self._handle.get(_checked(key))
        return default if value is None else value

    def read_into(self, key: Key, into: Any) -> int | None:
        """Reads a value into memory of yours (a bytearray, a numpy array). Returns its size in bytes; where
        that is more than there is room for, nothing is read. None: no such key."""
        return self._handle.read_into(_checked(key), _room(into))

    def remove(self, key: Key, *, condition: str = "none") -> None:
        self._handle.remove(_checked(key), condition)

    def size(self, key: Key) -> int | None:
        """The size of a value in bytes, without reading it; None: no such key."""
        return self._handle.size(_checked(key))

    def raw_keys(self) -> list[bytes]:
        return self._handle.keys()

    def __getitem__(self, key: Key) -> bytes:
        value = self._handle.get(_checked(key))
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Key, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Key) -> None:
        if self.size(key) is None:
            raise KeyError(key)
        self.remove(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str | bytes) and self.size(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter([decode_key(key) for key in sorted(self.raw_keys())])

    def __len__(self) -> int:
        return len(self.raw_keys())


def _checked(key: Key) -> bytes:
    if not isinstance(key, str | bytes | bytearray | memoryview):
        raise TypeError(f"a key is text or bytes, not {type(key).__name__}")
    return encode_key(key)


def _memory(data: Any) -> Any:
    """What a put takes: the bytes of any object with the buffer protocol, as they lie in memory."""
    return (
        _bytes_of(np.ascontiguousarray(data)) if isinstance(data, np.ndarray | np.generic) else _viewed(data)
    )


def _room(into: Any) -> Any:
    """What a read fills: the same, of memory that is written to."""
    if isinstance(into, np.ndarray):
        if not into.flags.c_contiguous:
            raise Error(
                DER_INVAL,
                "the memory to read into is not contiguous: give a contiguous array, and assign from it",
            )
        return _bytes_of(into)
    return _viewed(into)


def _bytes_of(values: np.ndarray) -> Any:
    _require_plain(values.dtype)
    return values.reshape(-1).view(np.uint8) if values.size else bytearray()


def _viewed(data: Any) -> memoryview:
    view = memoryview(data)
    if "O" in view.format:  # in the name of a field, or for a type
        _require_plain(np.asarray(view).dtype)
    return view


def _require_plain(dtype: np.dtype) -> None:
    if dtype.hasobject:
        raise Error(
            DER_INVAL,
            f"values of type {dtype} are Python objects, whose memory holds addresses of this process: "
            "turn them into numbers or bytes first (astype, pickle)",
        )


class Array(_Object):
    """A one-dimensional array object of cells; what was never written reads as zero."""

    @property
    def cell_size(self) -> int:
        """Bytes in a cell."""
        return self._handle.cell_size

    @property
    def chunk_size(self) -> int:
        """Cells in a chunk, which lies on one target."""
        return self._handle.chunk_size

    @property
    def size(self) -> int:
        """The number of cells, which may be more than len() can say."""
        return self._handle.size()

    def __len__(self) -> int:
        size = self.size
        if size > sys.maxsize:
            raise OverflowError(
                f"array {self.id} has {size} cells, more than len() can say ({sys.maxsize}): use .size"
            )
        return size

    def __bool__(self) -> bool:
        return self.size > 0

    def write(self, index: int, data: Any) -> None:
        """Writes bytes, or any array, from cell `index` on; its size is a multiple of the cell size."""
        self._handle.write(index, _memory(data))

    def read(self, index: int = 0, count: int | None = None, dtype: Any = None) -> Any:
        """Cells index .. index+count (default: to the end), cut at the end of the array: bytes, or a numpy
        array of dtype."""
        size = self.size
        index = min(index, size)
        count = size - index if count is None else min(count, size - index)
        bytes_ = count * self.cell_size
        if bytes_ > sys.maxsize:
            raise Error(
                DER_INVAL,
                f"array {self.id}: {count} cells from {index} on are more than memory can hold: read fewer "
                "cells at once",
            )
        if dtype is None:
            return self._handle.read(index, bytes_)
        kind = np.dtype(dtype)
        _require_plain(kind)
        if not kind.itemsize or bytes_ % kind.itemsize:
            raise Error(
                DER_INVAL, f"{bytes_} bytes of array {self.id} are not a whole number of {kind} values"
            )
        values = np.empty(bytes_ // kind.itemsize, dtype=kind)
        self.read_into(index, values)
        return values

    def read_into(self, index: int, into: Any) -> int:
        """Fills memory of yours (a bytearray, a numpy array) with the cells from `index` on. Returns how many
        of them lie behind the end of the array; these read as zero."""
        return self._handle.read_into(index, _room(into))

    def resize(self, cells: int) -> None:
        self._handle.set_size(cells)

    def punch(self, index: int, count: int) -> None:
        """Makes a hole: these cells read as zero and take no space."""
        self._handle.punch(index, count)
