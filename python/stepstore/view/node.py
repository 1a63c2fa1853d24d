"""What all that is listed has in common: a kind, a name, facts, and what is in it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any, ClassVar

from stepstore import _core
from stepstore.arrays import Arrays, open_arrays
from stepstore.errors import DER_INVAL, Error
from stepstore.file_system import FileSystem, find_file_system
from stepstore.kinds import STEPS_HI, user_half
from stepstore.store import Container, ObjectId, Pool


class Node:
    """Something that has a location. Its errors are stepstore.Error, and come out of the methods.

    name: below what it was listed in. location: as every command takes it."""

    kind: str = ""
    # Its facts take several requests, or opening it: of very many, they are told only if they are wanted.
    costly: ClassVar[bool] = False

    def __init__(self, name: str, location: str):
        self.name = name
        self.location = location

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """What its methods open is opened once, and stays open in the `with` block."""
        yield

    def facts(self) -> dict[str, Any]:
        """dtype, shape, steps, bytes, and what else is known. Sizes in bytes are under "bytes" or "size"."""
        return {}

    def attributes(self) -> dict[str, Any]:
        """What its writer said of it."""
        return {}

    def children(self, everything: bool = False) -> Iterator[Node]:
        """everything: also what others of these consist of."""
        return iter(())

    def names(self) -> Iterator[Node]:
        """The same, of which only names, kinds and locations are asked."""
        return self.children()

    def used(self) -> int:
        """Bytes of the values in it, without copies, indexes and what only snapshots need."""
        return sum(child.used() for child in self.children())

    def data(self) -> Any:
        """bytes, or a numpy array."""
        raise Error(DER_INVAL, f"{self.location} is a {self.kind}: give something in it")


class Broken(Node):
    """What could not be listed, and why."""

    kind = "error"

    def __init__(self, name: str, location: str, error: Error):
        super().__init__(name, location)
        self.error = error

    def facts(self) -> dict[str, Any]:
        raise self.error

    def used(self) -> int:
        raise self.error


class Inside:
    """A container that is looked into, at a snapshot (name or epoch) if one is given."""

    def __init__(self, pool: str, label: str, snapshot: str | int | None = None):
        self.pool, self.label = pool, label
        self.place = f"{pool}/{label}"
        self._pool = Pool.connect(pool, read_only=True)
        self.now = self._pool.open_container(label, read_only=True)
        self.epoch = self.now.epoch_of(snapshot) if snapshot else None
        self.container: Container = self.now.at_snapshot(self.epoch) if self.epoch else self.now

    @functools.cached_property
    def blobs(self) -> _core.Blobs:
        return _core.Blobs(self.container._handle, self.pool, True)

    @functools.cached_property
    def files(self) -> FileSystem | None:
        """Its file system, if it has one."""
        return find_file_system(self.pool, self.label, epoch=self.epoch)

    @functools.cached_property
    def arrays(self) -> Arrays:
        return open_arrays(self.place, snapshot=self.epoch or 0)

    def snapshots(self) -> list[tuple[int, str]]:
        """Epochs and names."""
        return self.now._handle.snapshots()

    def objects(self, *, sizes: bool = False) -> list[dict[str, Any]]:
        """sizes: one that is damaged is an error."""
        return _core.container_objects(self.pool, self.label, self.epoch, sizes)

    @functools.cached_property
    def of_steps(self) -> list[ObjectId]:
        """The objects of streams, by their numbers."""
        found = [ObjectId(one["hi"], one["lo"]) for one in self.objects()]
        return sorted((oid for oid in found if user_half(oid) == STEPS_HI), key=lambda oid: oid.lo)

    def size_of(self, oid: ObjectId, chunk: int) -> int:
        """Of a byte array with this chunk."""
        array = self.container._handle.open_array_with(oid, 1, chunk, True)
        try:
            return array.size()
        finally:
            array.close()

    def size_of_values(self, oid: ObjectId) -> int:
        with self.container.key_value(oid, read_only=True) as values:
            return sum(values.size(key) or 0 for page in values.pages() for key in page)
