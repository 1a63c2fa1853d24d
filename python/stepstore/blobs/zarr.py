"""Zarr on objects: stepstore.zarr.Store, for zarr-python 3 and what is built on it. ::

    import zarr
    from stepstore.zarr import Store

    store = Store("out/run.pool")
    field = zarr.create_array(store, shape=(1000, 1000), chunks=(100, 100), dtype="f4")

Each key is transactional: a value appears whole, and a replaced one is whole until then. Processes may read
while others write. The values are blobs of a container (stepstore.blobs).

A call takes microseconds for a small value. So calls run in the event loop's own thread. Only values from
256 KiB on go to another one, where several are read or written at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, Self

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.abc.store import Store as _ZarrStore
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.core.buffer.core import default_buffer_prototype

from stepstore import _core
from stepstore.blobs import IN_THREAD, Blobs, LargeError, find_place, make_pool, open_blobs
from stepstore.errors import DER_NONEXIST, Error
from stepstore.kinds import hint


class Store(_ZarrStore):
    """A Zarr store in a container of a pool.

    A location is POOL[/CONTAINER[/PREFIX]]: a path, "local:LABEL...", "rados://CEPHPOOL/NAMESPACE..." or
    "daos://POOL/CONTAINER...". The longest beginning that is a pool is the pool. If there is none, all of a
    path names a pool. With a prefix, the store has the keys below PREFIX/.

    Parameters
    ----------
    location : str or path
        Where. A store for writing makes a pool and a container that are missing. The container is "default"
        unless it is named.
    read_only : bool, optional
        Refuse to write.
    snapshot : str or int, optional
        The name or epoch of a snapshot of the container, to read it as it was then.

    Raises
    ------
    FileNotFoundError
        A store to read has no pool, container or snapshot. Raised at the first use.
    ValueError
        A write to a read-only store.
    Error
        DER_CSUM: a value is damaged.
    """

    supports_writes = True
    supports_deletes = True
    supports_listing = True

    def __init__(
        self, location: str | os.PathLike[str], *, read_only: bool = False, snapshot: str | int | None = None
    ) -> None:
        super().__init__(read_only=read_only or snapshot is not None)
        self._location = _core.absolute_location(os.fspath(location))
        self._snapshot = snapshot
        self._blobs: Blobs | None = None
        self._prefix = ""

    @property
    def location(self) -> str:
        """The location. Paths are absolute, so that the store can be sent to another process."""
        return self._location

    def with_read_only(self, read_only: bool = False) -> Self:
        """Give the same store for reading only, or for reading and writing."""
        if self._snapshot is not None and not read_only:
            raise ValueError(f"{self}: a snapshot cannot be written to; open the store without it")
        return type(self)(self._location, read_only=read_only, snapshot=self._snapshot)

    # ---- opening

    async def _open(self) -> None:
        await super()._open()
        try:
            self._connect()
        except BaseException:
            self._is_open = False
            raise

    def _connect(self) -> Blobs:
        try:
            place = find_place(self._location)
            if not place.pool_exists and not self.read_only:
                make_pool(place.pool)
            self._prefix = f"{place.key}/" if place.key else ""
            self._blobs = open_blobs(
                place.pool, place.container or "default", read_only=self.read_only, snapshot=self._snapshot
            )
        except Error as error:
            if error.code == DER_NONEXIST:
                raise FileNotFoundError(f"{self}: {error}") from error
            raise
        if self.read_only and not self._blobs.children(place.key) and (more := hint(self._location)):
            self._blobs = None
            raise FileNotFoundError(f"{self}: there is no Zarr group or array{more}")
        self._is_open = True
        return self._blobs

    @property
    def _opened(self) -> Blobs:
        return self._blobs if self._is_open and self._blobs is not None else self._connect()

    def close(self) -> None:
        """Close the store. It opens again at the next use."""
        super().close()
        self._blobs = None

    def __getstate__(self) -> dict[str, Any]:
        return {"location": self._location, "read_only": self.read_only, "snapshot": self._snapshot}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and self._location == other._location
            and self._snapshot == other._snapshot
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        at = "" if self._snapshot is None else f" at snapshot {self._snapshot}"
        return f"stepstore://{self._location}{at}"

    def __repr__(self) -> str:
        return f"stepstore.zarr.Store('{self}')"

    # ---- values

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Read the value of a key without an event loop; None if there is none."""
        blobs = self._opened
        data = blobs.read(self._prefix + key, *_bounds(byte_range))
        return None if data is None else (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    def set_sync(self, key: str, value: Buffer) -> None:
        """Store the value of a key without an event loop."""
        self._check_writable()
        self._opened.write(self._prefix + key, _memory(value))

    def delete_sync(self, key: str) -> None:
        """Delete a key without an event loop. A key that is not there is no error."""
        self._check_writable()
        self._opened.delete(self._prefix + key)

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Read the value of a key, or a range of its bytes; None if there is none."""
        blobs, name = self._opened, self._prefix + key
        start, stop = _bounds(byte_range) if byte_range is not None else (0, None)
        try:  # without a coroutine of its own: most values are small
            data = blobs.read(name, start, stop, limit=IN_THREAD)
        except LargeError:
            data = await asyncio.to_thread(blobs.read, name, start, stop)
        return None if data is None else (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Read ranges of the values of several keys at once."""
        gets = (self.get(key, prototype, byte_range) for key, byte_range in key_ranges)
        return list(await asyncio.gather(*gets))

    async def _get_many(
        self, requests: Iterable[tuple[str, BufferPrototype, ByteRequest | None]]
    ) -> AsyncGenerator[tuple[str, Buffer | None], None]:
        for key, prototype, byte_range in requests:
            yield key, await self.get(key, prototype, byte_range)

    async def set(self, key: str, value: Buffer) -> None:
        """Store the value of a key. Readers see the old value or the new one, whole."""
        self._check_writable()
        await self._opened.awrite(self._prefix + key, _memory(value))

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Store the value of a key unless it has one."""
        self._check_writable()
        await self._opened.awrite(self._prefix + key, _memory(value), new=True)

    async def delete(self, key: str) -> None:
        """Delete a key. A key that is not there is no error."""
        self.delete_sync(key)

    async def delete_dir(self, prefix: str) -> None:
        """Delete all keys below a prefix."""
        self._check_writable()
        self._opened.delete_folder(self._prefix + prefix)

    async def exists(self, key: str) -> bool:
        """Tell whether a key has a value."""
        return self._opened.exists(self._prefix + key)

    async def getsize(self, key: str) -> int:
        """Give the size of a value in bytes. FileNotFoundError: the key has none."""
        info = self._opened.info(self._prefix + key)
        if info is None:
            raise FileNotFoundError(key)
        return info.size

    async def is_empty(self, prefix: str) -> bool:
        """Tell whether there are no keys below a prefix."""
        return not self._opened.children(self._prefix + prefix)

    # ---- keys

    async def list(self) -> AsyncIterator[str]:
        """List all keys."""
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """List the keys that begin with a prefix."""
        blobs = self._opened
        for key in blobs.keys(self._prefix + prefix):
            yield key[len(self._prefix) :]

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """List the names directly below a prefix."""
        blobs = self._opened
        for name in {name.rstrip("/") for name in blobs.children(self._prefix + prefix)}:
            yield name


def _memory(value: Buffer) -> memoryview:
    if not isinstance(value, Buffer):
        raise TypeError(f"the value of a key is a zarr Buffer, not {type(value).__name__}")
    return memoryview(value.as_buffer_like())


def _bounds(byte_range: ByteRequest | None) -> tuple[int, int | None]:
    match byte_range:
        case None:
            return 0, None
        case RangeByteRequest(start, end):
            return start, end
        case OffsetByteRequest(offset):
            return offset, None
        case SuffixByteRequest(suffix):
            return (-suffix, None) if suffix else (0, 0)
    raise TypeError(f"Unexpected byte_range, got {byte_range}.")
