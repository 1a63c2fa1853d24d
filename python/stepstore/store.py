"""Pools and containers: thin, typed wrappers of the C++ client.

Every call may raise `stepstore.Error`. Each names codes of its own. Common codes:

- DER_NO_HDL: it is closed, or belongs to the process that this one was forked from.
- DER_NO_PERM: it is open for reading only.
- DER_CSUM: stored data are damaged.
- DER_NOSPACE: the device is full.
- DER_TIMEDOUT: a limit of waiting is reached.
"""

from __future__ import annotations

import contextlib
import copyreg
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stepstore import _core
from stepstore.array import Array, element_type
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.handles import Handle, Waits
from stepstore.key_value import KeyValue

if TYPE_CHECKING:
    import numpy.typing as npt

ObjectId = _core.ObjectId
_DEFAULT_CHUNK = 1 << 20


class Pool(Handle):
    """An open pool. `Pool.connect` opens one.

    A location is a path, `local:LABEL` under the root directory of pools, `rados://CEPHPOOL[/NAMESPACE]` on a
    Ceph cluster, or `daos://POOL` on a DAOS system. Threads may share a pool. A forked child begins anew with
    what its parent has open, or is refused with DER_NO_HDL.

    Examples
    --------
    >>> import stepstore
    >>> stepstore.Pool.create("./docs_pool")
    >>> with stepstore.Pool.connect("./docs_pool") as pool:
    ...     runs = pool.create_container("runs")
    ...     print(pool.containers())
    ['runs']
    """

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
        """Make a pool. On a DAOS system the tool `dmg` does that.

        Parameters
        ----------
        location : str or path
            Where. A directory that is missing is made.
        label : str, optional
            The name of the pool. The default is the last part of the path.
        targets : int, optional
            How many storage targets, at most 256. 0, the default: one per processor of this machine, 4 to 16.
        durability : {"process", "power"}, optional
            What acknowledged updates survive: the death of any process, or a power failure too.
        target_dirs : sequence of str or path, optional
            Existing directories, for example on other disks, into which the targets go in turn.

        Raises
        ------
        Error
            DER_EXIST: there is a pool. DER_INVAL: an argument is not valid. DER_NOSYS: the location is one of
            a DAOS system.
        """
        _core.Pool.create(
            os.fspath(location), label, targets, durability, [os.fspath(path) for path in target_dirs]
        )

    @staticmethod
    def destroy(location: str | os.PathLike[str]) -> None:
        """Remove a pool with everything in it.

        Parameters
        ----------
        location : str or path
            The location of the pool.

        Raises
        ------
        Error
            DER_NONEXIST: there is no pool. DER_BUSY: this process has it open.
        """
        _core.Pool.destroy(os.fspath(location))

    @classmethod
    def connect(cls, location: str | os.PathLike[str], *, read_only: bool = False) -> Pool:
        """Open a pool.

        Parameters
        ----------
        location : str or path
            The location of the pool.
        read_only : bool, optional
            Refuse all writes through it.

        Returns
        -------
        Pool
            The open pool.

        Raises
        ------
        Error
            DER_NONEXIST: there is no pool. DER_NO_PERM: this user may not open it.
        """
        handle = _core.Pool.connect(os.fspath(location), read_only)
        pool = cls(handle, Waits(os.fspath(location), read_only))
        pool._opened_by = _connect, (pool._waits.elsewhere, read_only)
        return pool

    def close(self) -> None:
        """Wait for awaited calls in flight, and disconnect. What was opened from it stays open."""
        self._waits.close()
        super().close()

    @property
    def location(self) -> str:
        """The location, as it was given to `connect`; of a pool in files always as `shared:PATH`."""
        return self._handle.location

    def containers(self) -> list[str]:
        """List the containers of the pool.

        Returns
        -------
        list of str
            Their labels, sorted. A container without a label is given by its uuid.
        """
        return sorted(label or uuid for uuid, label in self._handle.containers())

    def create_container(self, label: str) -> Container:
        """Make a container, and open it for writing.

        Parameters
        ----------
        label : str
            Its name in the pool.

        Returns
        -------
        Container
            The new container.

        Raises
        ------
        Error
            DER_EXIST: there is a container of this label. DER_INVAL: the label is not valid.
        """
        return self._container(self._handle.create_container(label), read_only=False)

    def open_container(self, label: str, *, read_only: bool = False) -> Container:
        """Open a container that is there.

        Parameters
        ----------
        label : str
            Its label, or its uuid.
        read_only : bool, optional
            Refuse all writes through it.

        Returns
        -------
        Container
            The open container.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such container.
        """
        return self._container(self._handle.open_container(label, read_only), read_only)

    def open_or_create_container(self, label: str) -> Container:
        """Open a container for writing, and make it if it is missing.

        Parameters
        ----------
        label : str
            Its label. Several processes may do this at once.

        Returns
        -------
        Container
            The open container.
        """
        return self._container(self._handle.open_or_create_container(label), read_only=False)

    def destroy_container(self, label: str, *, force: bool = False) -> None:
        """Remove a container with all its objects, streams and snapshots.

        Parameters
        ----------
        label : str
            Its label, or its uuid.
        force : bool, optional
            Remove it also while this process has it open.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such container. DER_BUSY: this process has it open, and `force` is not
            given.
        """
        self._handle.destroy_container(label, force)

    def _container(self, handle: _core.Container, read_only: bool) -> Container:
        found = Container(handle, self._waits)
        found._opened_by = (
            _open_container,
            (*self.__reduce__()[1], found.label or handle.uuid(), read_only, None),
        )
        return found

    def sync(self) -> None:
        """Make all acknowledged updates survive a power failure, whatever the durability of the pool."""
        self._handle.sync()

    def _facts(self) -> Iterator[tuple[str, Any]]:
        from stepstore.notebook import shortened

        yield "location", self.location
        yield "containers", shortened(self.containers())

    def __repr__(self) -> str:
        return super().__repr__() if self.closed else f"stepstore.Pool({self.location!r})"


class Snapshot(NamedTuple):
    """A point in the history of a container.

    Attributes
    ----------
    epoch : int
        The number of the point. Later ones have larger numbers.
    name : str
        The name, or "" for a snapshot without one.
    """

    epoch: int
    name: str


class Container(Handle):
    """An open container: objects that are kept, snapshotted and removed together.

    `Pool.create_container` and its siblings open one. Threads may share it.
    """

    _handle: _core.Container

    @property
    def label(self) -> str:
        """The name of the container in its pool."""
        return self._handle.label

    def object_id(self, lo: int, hi: int = 0, *, kind: str = "key_value", object_class: str = "") -> ObjectId:
        """Make the full id of an object from a number of yours.

        Parameters
        ----------
        lo : int
            The lower number, of 64 bits.
        hi : int, optional
            The upper number, of 32 bits.
        kind : {"key_value", "array", "array_bytes"}, optional
            What the object is. The id of an object contains it. An "array_bytes" does not keep the sizes of
            its cells and chunks.
        object_class : str, optional
            On how many targets it lies, and in how many copies: "S1", "S2", "SX" (all targets), "RP_2G1". ""
            is the default of the kind.

        Returns
        -------
        ObjectId
            The full id.

        Raises
        ------
        Error
            DER_INVAL: an unknown kind or class.
        """
        return self._handle.object_id(lo, hi, kind, object_class)

    def allocate_oids(self, count: int = 1) -> int:
        """Reserve numbers for objects that nobody else gets in this container.

        Parameters
        ----------
        count : int, optional
            How many consecutive numbers.

        Returns
        -------
        int
            The first of them: a value for `lo` of `object_id`.
        """
        return self._handle.allocate_oids(count)

    def key_value(self, oid: ObjectId | int, *, read_only: bool = False) -> KeyValue:
        """Open a key-value object. It exists from its first key on.

        Parameters
        ----------
        oid : ObjectId or int
            Its full id, or a number of yours.
        read_only : bool, optional
            Refuse all writes through it.

        Returns
        -------
        KeyValue
            The open key-value.
        """
        full = self.object_id(oid, kind="key_value") if isinstance(oid, int) else oid
        found = KeyValue(self._handle.key_value(full, read_only), self._waits, self.label)
        found._opened_by = _open_key_value, (self.__reduce__()[1], (full.hi, full.lo), read_only)
        return found

    def create_array(
        self,
        oid: ObjectId | int,
        *,
        dtype: npt.DTypeLike | None = None,
        cell_size: int | None = None,
        chunk_size: int = _DEFAULT_CHUNK,
        size: int = 0,
    ) -> Array:
        """Make an array object.

        Parameters
        ----------
        oid : ObjectId or int
            Its full id, or a number of yours.
        dtype : dtype, optional
            The type of an element, which is one cell. It is not stored: give it again to `open_array`.
        cell_size : int, optional
            Bytes of a cell. The default is the size of `dtype`, or 1 without one.
        chunk_size : int, optional
            How many cells lie together on one target. The default is 1,048,576.
        size : int, optional
            How many cells the array has at first. They read as zero.

        Returns
        -------
        Array
            The new array, open for writing.

        Raises
        ------
        Error
            DER_EXIST: there is an array of this id. DER_INVAL: `cell_size` is not the size of `dtype`.
        """
        if dtype is not None:  # before there is an array that would stay
            cell_size = element_type(dtype, cell_size, f"array {oid}").itemsize
        elif cell_size is None:
            cell_size = 1
        handle = self._handle.create_array(self._array_id(oid), cell_size, chunk_size)
        array = self._array(handle, dtype, (cell_size, chunk_size), read_only=False)
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
        """Open an array that is there.

        Parameters
        ----------
        oid : ObjectId or int
            Its full id, or a number of yours.
        dtype : dtype, optional
            The type of an element, which is one cell. Without it elements are bytes, or raw cells.
        cell_size, chunk_size : int, optional
            The bytes of a cell and the cells of a chunk, for an object of the kind "array_bytes", which does
            not keep them: always give the same two. The defaults are the size of `dtype` or 1, and 1,048,576.
            Other arrays keep them: leave both out.
        read_only : bool, optional
            Refuse all writes through it.

        Returns
        -------
        Array
            The open array.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such array. DER_INVAL: `dtype` has another size than a cell.
        """
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
        return self._array(handle, dtype, (handle.cell_size, handle.chunk_size), read_only)

    def create_snapshot(self, name: str = "") -> int:
        """Remember the container as it is now.

        Parameters
        ----------
        name : str, optional
            A name for it, of which there is one in the container.

        Returns
        -------
        int
            The epoch of the snapshot.

        Raises
        ------
        Error
            DER_EXIST: there is a snapshot of this name.
        """
        return self._handle.create_snapshot(name)

    def snapshots(self) -> list[Snapshot]:
        """List the snapshots of the container.

        Returns
        -------
        list of Snapshot
            One entry for each, with its epoch and name.
        """
        return [Snapshot(epoch, name) for epoch, name in self._handle.snapshots()]

    def destroy_snapshot(self, snapshot: str | int) -> None:
        """Remove a snapshot, and give back the space that it alone needs.

        Parameters
        ----------
        snapshot : str or int
            Its name or epoch.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such snapshot. DER_INVAL: several have this name.
        """
        self._handle.destroy_snapshot(self.epoch_of(snapshot))

    def at_snapshot(self, snapshot: str | int) -> Container:
        """Open the container as it was at a snapshot, for reading only.

        Parameters
        ----------
        snapshot : str or int
            Its name or epoch.

        Returns
        -------
        Container
            The container of that moment. `with container.at_snapshot("name") as then:` closes it.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such snapshot. DER_INVAL: several have this name.
        """
        epoch = self.epoch_of(snapshot)
        then = Container(self._handle.at_snapshot(epoch), self._waits)
        then._opened_by = _open_container, (*self.__reduce__()[1][:4], epoch)
        return then

    @contextlib.contextmanager
    def snapshot(self, name: str = "") -> Iterator[Container]:
        """Make a snapshot, and give the container as it is then while others go on writing.

        Parameters
        ----------
        name : str, optional
            The snapshot stays under this name. Without one it is destroyed at the end of the block.

        Yields
        ------
        Container
            The container of that moment, for reading only.

        Raises
        ------
        Error
            DER_EXIST: there is a snapshot of this name.

        Examples
        --------
        ::

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
        """Find the epoch of a snapshot.

        Parameters
        ----------
        snapshot : str or int
            Its name, or its epoch as a number or as text.

        Returns
        -------
        int
            The epoch.

        Raises
        ------
        Error
            DER_NONEXIST: there is no such snapshot. DER_INVAL: several have this name: give the epoch.
        """
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

    def _array(
        self, handle: _core.Array, dtype: npt.DTypeLike | None, sizes: tuple[int, int], read_only: bool
    ) -> Array:
        found = Array(handle, self._waits, self.label, dtype)
        which = (found.id.hi, found.id.lo), dtype, sizes, read_only
        found._opened_by = _open_array, (self.__reduce__()[1], *which)
        return found

    def _array_id(self, oid: ObjectId | int) -> ObjectId:
        return self.object_id(oid, kind="array") if isinstance(oid, int) else oid

    def _facts(self) -> Iterator[tuple[str, Any]]:
        yield "container", self.label
        yield "pool", self._waits.location

    def __repr__(self) -> str:
        return super().__repr__() if self.closed else f"<{self._name} {self.label!r}>"


# ---- how handles that were pickled are opened anew
copyreg.pickle(ObjectId, lambda oid: (ObjectId, (oid.hi, oid.lo)))


def _connect(location: str, read_only: bool) -> Pool:
    return Pool.connect(location, read_only=read_only)


def _open_container(
    location: str, pool_read_only: bool, label: str, read_only: bool, epoch: int | None
) -> Container:
    pool = Pool.connect(location, read_only=pool_read_only)
    found = pool.open_container(label, read_only=read_only)
    return found if epoch is None else found.at_snapshot(epoch)


def _open_key_value(container: tuple[Any, ...], which: tuple[int, int], read_only: bool) -> KeyValue:
    return _open_container(*container).key_value(ObjectId(*which), read_only=read_only)


def _open_array(
    container: tuple[Any, ...],
    which: tuple[int, int],
    dtype: npt.DTypeLike | None,
    sizes: tuple[int, int],
    read_only: bool,
) -> Array:
    opened, full = _open_container(*container), ObjectId(*which)
    try:
        return opened.open_array(full, dtype=dtype, read_only=read_only)
    except Error as error:
        if error.code != DER_INVAL:
            raise
    return opened.open_array(  # an object of the kind "array_bytes", which does not keep them
        full, dtype=dtype, cell_size=sizes[0], chunk_size=sizes[1], read_only=read_only
    )


def _size_of(dtype: npt.DTypeLike | None) -> int:
    if dtype is None:
        return 1
    import numpy as np

    return int(np.dtype(dtype).itemsize)
