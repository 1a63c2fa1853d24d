"""Pools and containers: thin, typed wrappers of the C++ client."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stepstore import _core
from stepstore.array import Array
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.handles import Handle, Waits
from stepstore.key_value import KeyValue

if TYPE_CHECKING:
    import numpy.typing as npt

ObjectId = _core.ObjectId
_DEFAULT_CHUNK = 1 << 20


class Pool(Handle):
    """A pool: a directory (a path, or local:LABEL under the root directory), rados://CEPHPOOL[/NAMESPACE] on
    a Ceph cluster, or daos://POOL on a DAOS system."""

    _handle: _core.Pool

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
        """An open pool. Error DER_NONEXIST: there is none."""
        return cls(_core.Pool.connect(os.fspath(location), read_only), Waits(os.fspath(location)))

    def close(self) -> None:
        """Waits for awaited calls in flight, and disconnects. What was opened from it stays open."""
        self._waits.close()
        super().close()

    @property
    def location(self) -> str:
        return self._handle.location

    def containers(self) -> list[str]:
        """The labels of the pool's containers (the uuid of one without a label), sorted."""
        return sorted(label or uuid for uuid, label in self._handle.containers())

    def create_container(self, label: str) -> Container:
        return Container(self._handle.create_container(label), self._waits)

    def open_container(self, label: str, *, read_only: bool = False) -> Container:
        return Container(self._handle.open_container(label, read_only), self._waits)

    def open_or_create_container(self, label: str) -> Container:
        return Container(self._handle.open_or_create_container(label), self._waits)

    def destroy_container(self, label: str, *, force: bool = False) -> None:
        self._handle.destroy_container(label, force)

    def sync(self) -> None:
        """After this, all that was acknowledged survives a power failure, whatever the pool's durability."""
        self._handle.sync()

    def _facts(self) -> Iterator[tuple[str, Any]]:
        from stepstore.notebook import shortened

        yield "location", self.location
        yield "containers", shortened(self.containers())

    def __repr__(self) -> str:
        return super().__repr__() if self.closed else f"stepstore.Pool({self.location!r})"


class Snapshot(NamedTuple):
    """A remembered point in a container's history."""

    epoch: int
    name: str


class Container(Handle):
    """A container: objects that live and are snapshotted together."""

    _handle: _core.Container

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
        return KeyValue(self._handle.key_value(full, read_only), self._waits, self.label)

    def create_array(
        self,
        oid: ObjectId | int,
        *,
        dtype: npt.DTypeLike | None = None,
        cell_size: int | None = None,
        chunk_size: int = _DEFAULT_CHUNK,
        size: int = 0,
    ) -> Array:
        """A new array. dtype: of its elements, one a cell; it is not stored. cell_size: bytes, of the dtype
        or 1. chunk_size: cells that lie together on one target. size: cells, which read as zero."""
        if cell_size is None:
            cell_size = _size_of(dtype)
        handle = self._handle.create_array(self._array_id(oid), cell_size, chunk_size)
        array = Array(handle, self._waits, self.label, dtype)
        if size:
            array.resize(size)
        return array

    def open_array(
        self,
        oid: ObjectId | int,
        *,
        dtype: npt.DTypeLike | None = None,
        cell_size: int | None = None,
        chunk_size: int | None = None,
        read_only: bool = False,
    ) -> Array:
        """An array that is there, else Error DER_NONEXIST. dtype: of its elements, one a cell. An object of
        the kind "array_bytes" does not keep its sizes: give both, always the same ones."""
        full = self._array_id(oid)
        handle: _core.Array | None
        if cell_size is not None or chunk_size is not None:
            sizes = cell_size or _size_of(dtype), chunk_size or _DEFAULT_CHUNK
            handle = self._handle.open_array_with(full, *sizes, read_only)
        else:
            handle = self._handle.open_array(full, read_only)
        if handle is None:
            raise Error(
                DER_NONEXIST, f"container {self.label!r} has no array {full}: create it with create_array"
            )
        return Array(handle, self._waits, self.label, dtype)

    def create_snapshot(self, name: str = "") -> int:
        """Remembers the container as it is now; returns the epoch. Error DER_EXIST: there is a snapshot of
        that name."""
        return self._handle.create_snapshot(name)

    def snapshots(self) -> list[Snapshot]:
        return [Snapshot(epoch, name) for epoch, name in self._handle.snapshots()]

    def destroy_snapshot(self, snapshot: str | int) -> None:
        self._handle.destroy_snapshot(self.epoch_of(snapshot))

    def at_snapshot(self, snapshot: str | int) -> Container:
        """The container as it was at a snapshot, by name or epoch; read-only. Error DER_NONEXIST: there is no
        such snapshot. `with container.at_snapshot("name") as then:` closes it."""
        return Container(self._handle.at_snapshot(self.epoch_of(snapshot)), self._waits)

    @contextlib.contextmanager
    def snapshot(self, name: str = "") -> Iterator[Container]:
        """Makes a snapshot, and gives the container as it is then, read-only, while others go on writing. One
        with a name stays; one without is destroyed at the end. ::

            with container.snapshot() as now:
                consistent = dict(now.key_value(1).items())
        """
        epoch = self.create_snapshot(name)
        try:
            with self.at_snapshot(epoch) as then:
                yield then
        finally:
            if not name:
                self.destroy_snapshot(epoch)

    def epoch_of(self, snapshot: str | int) -> int:
        """The epoch of a snapshot given by name or epoch. Error DER_INVAL: several have the name, which no
        new one gets: give the epoch."""
        known = self.snapshots()
        found = {
            entry.epoch for entry in known if snapshot in (entry.epoch, str(entry.epoch), entry.name or None)
        }
        if len(found) > 1:
            epochs = ", ".join(map(str, sorted(found)))
            raise Error(
                DER_INVAL,
                f"container {self.label!r} has several snapshots {snapshot!r}: give one's epoch: {epochs}",
            )
        if found:
            return found.pop()
        names = ", ".join(entry.name or str(entry.epoch) for entry in known) or "none"
        raise Error(
            DER_NONEXIST, f"container {self.label!r} has no snapshot {snapshot!r}: its snapshots are {names}"
        )

    def _array_id(self, oid: ObjectId | int) -> ObjectId:
        return self.object_id(oid, kind="array") if isinstance(oid, int) else oid

    def _facts(self) -> Iterator[tuple[str, Any]]:
        yield "container", self.label
        yield "pool", self._waits.location

    def __repr__(self) -> str:
        return super().__repr__() if self.closed else f"<{self._name} {self.label!r}>"


def _size_of(dtype: npt.DTypeLike | None) -> int:
    if dtype is None:
        return 1
    import numpy as np

    return int(np.dtype(dtype).itemsize)
