"""Values under names in a container: what stepstore.zarr and the filesystem stepstore:// are adapters of.

A *blob* is a sequence of bytes under a key, a text such as "u/c/0/1". It appears, and is replaced, whole.
If a writer dies, the next one takes back the space that it left. A *folder* keeps a directory that has no
blobs. All others are where keys say so. src/blobs/blobs.h has the protocol.
C programs have stepstore/blobs.h.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stepstore import _core
from stepstore.buffers import decode_key, encode_key, memory_of
from stepstore.errors import DER_EXIST, DER_NONEXIST, DER_STALE, Error
from stepstore.kinds import DATA_HI, DIRECTORY_HI, WRITERS_HI
from stepstore.process import PerProcess
from stepstore.store import Container, Pool

if TYPE_CHECKING:
    from stepstore.file_system import FileSystem

__all__ = ["BlobInfo", "BlobWriter", "Blobs", "LargeError", "Place", "find_place", "open_blobs"]

# Upper ids of all that blobs consist of.
OBJECTS = frozenset((DIRECTORY_HI, WRITERS_HI, DATA_HI))
# Larger blobs are array objects. Below, an entry takes one update and one read (docs/design/blobs.md).
LARGEST_SMALL = 32 << 10
# From here on a copy takes longer than handing it to a thread.
IN_THREAD = 256 << 10

Bytes = bytes | bytearray | memoryview


@dataclass(frozen=True)
class BlobInfo:
    """What is known of a blob.

    Attributes
    ----------
    size : int
        Bytes.
    modified : int
        When it was written, in nanoseconds since 1970.
    number : int
        The number of its array object; 0 for a small blob, which has none.
    """

    size: int
    modified: int
    number: int = 0


class LargeError(Exception):
    """Raised in place of a read that takes so long that an event loop gives it to another thread."""


@dataclass(frozen=True)
class Place:
    """What a location names: POOL[/CONTAINER[/KEY]].

    Attributes
    ----------
    pool : str
        The pool.
    container : str
        The container, or "".
    key : str
        The key of a blob or a folder, or "".
    pool_exists : bool
        Whether there is the pool.
    """

    pool: str
    container: str
    key: str
    pool_exists: bool


def find_place(location: str | os.PathLike[str]) -> Place:
    """Split a location into its pool, container and key.

    The longest beginning that is a pool is the pool. If there is none, all of the location names a pool.

    Parameters
    ----------
    location : str or path
        POOL[/CONTAINER[/KEY]].

    Returns
    -------
    Place
        The parts.

    Raises
    ------
    Error
        DER_INVAL: it is not a location.
    """
    return Place(*_core.split_location(os.fspath(location)))


class Blobs:
    """The blobs of a container. `open_blobs` opens them. Threads may share it.

    A reader sees the old value of a blob or the new one, whole. Every call may raise `stepstore.Error`:
    DER_CSUM (damaged), DER_NO_PERM (read-only), DER_NOSPACE (the device is full), and DER_INVAL for an empty
    key or an entry that a newer version wrote. A key that is no str raises TypeError.

    Parameters
    ----------
    pool : Pool
        The pool of the container.
    container : Container
        The container, open as `read_only` says.
    read_only : bool, optional
        Refuse all writes.
    """

    def __init__(self, pool: Pool, container: Container, *, read_only: bool = False):
        self.read_only = read_only
        self._pool = pool
        self._container = container
        self._all = _core.Blobs(container._handle, pool.location, read_only)
        weakref.finalize(self, self._all.leave)
        self._opened_with: tuple[str, str, bool, int | None] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A process that unpickles them opens the same anew, by their location."""
        if self._opened_with is None:
            raise TypeError("stepstore.blobs.Blobs that open_blobs has not opened cannot be pickled")
        return _open_anew, self._opened_with

    def __repr__(self) -> str:
        return f"<stepstore.blobs.Blobs in {self._pool.location}/{self._container.label}>"

    @property
    def container(self) -> Container:
        """The container that they lie in, open as they are."""
        return self._container

    @functools.cached_property
    def files(self) -> FileSystem | None:
        """FileSystem or None : The file system of the container, if that has one in the place of blobs."""
        from stepstore.blobs.stored_files import file_system_of

        epoch = self._opened_with[3] if self._opened_with else None
        return file_system_of(self._pool.location, self._container, epoch, self.read_only)

    def leave(self) -> None:
        """Say that this process writes no more. A later write is possible."""
        self._all.leave()

    # ---- reading

    def read(
        self, key: str, start: int = 0, stop: int | None = None, *, limit: int | None = None
    ) -> Bytes | None:
        """Read a blob, or the part value[start:stop] of it.

        Parameters
        ----------
        key : str
            The key.
        start, stop : int, optional
            As of a slice, in bytes. Negative numbers count from the end.
        limit : int, optional
            Raise LargeError rather than read so many bytes or more of an array object.

        Returns
        -------
        bytes-like or None
            The bytes; None if there is no such blob.

        Raises
        ------
        LargeError
            The limit is reached.
        Error
            DER_CSUM: the blob is damaged, or its array object is missing.
        """
        data = self._all.read(_name(key), start, stop, limit)
        if data is False:
            raise LargeError
        return data

    def info(self, key: str) -> BlobInfo | None:
        """Describe a blob.

        Parameters
        ----------
        key : str
            The key.

        Returns
        -------
        BlobInfo or None
            None if there is no such blob.
        """
        found = self._all.info(_name(key))
        return None if found is None else BlobInfo(*found)

    def exists(self, key: str) -> bool:
        """Tell whether there is a blob.

        Parameters
        ----------
        key : str
            The key.

        Returns
        -------
        bool
            Whether there is one.
        """
        return self._all.exists(_name(key))

    def open(self, key: str) -> _core.BlobReader | None:
        """Open one version of a blob for reading.

        Parameters
        ----------
        key : str
            The key.

        Returns
        -------
        BlobReader or None
            None if there is no such blob.
        """
        return self._all.reader(_name(key))

    def keys(self, prefix: str = "") -> list[str]:
        """List the keys that begin with a prefix, without folders.

        Parameters
        ----------
        prefix : str, optional
            The prefix. "": all keys.

        Returns
        -------
        list of str
            Sorted.
        """
        return [decode_key(name) for name in self._all.keys(encode_key(prefix))]

    def children(self, folder: str = "") -> list[str]:
        """List the names directly below a folder.

        The cost does not depend on what lies below these.

        Parameters
        ----------
        folder : str, optional
            The folder. "": the container.

        Returns
        -------
        list of str
            Sorted. Folders end with '/'. A name may be both.
        """
        return [decode_key(name) for name in self._all.children(encode_key(folder))]

    def is_folder(self, folder: str) -> bool:
        """Tell whether a folder was made, or something lies below it.

        Parameters
        ----------
        folder : str
            The folder.

        Returns
        -------
        bool
            Whether there is such a folder.
        """
        return self._all.is_folder(encode_key(folder))

    def is_hidden(self) -> bool:
        """Tell whether the container is no directory now: it was hidden and has no blobs or folders.

        Returns
        -------
        bool
            Whether it is hidden.
        """
        return self._all.is_hidden()

    # ---- writing

    def write(self, key: str, data: Any, *, new: bool = False) -> bool:
        """Put a blob, or replace it.

        Parameters
        ----------
        key : str
            The key.
        data : bytes or array
            The value. Of an array, element after element.
        new : bool, optional
            Only if there is none yet.

        Returns
        -------
        bool
            False: with `new`, there was one, and it is kept.

        Raises
        ------
        TypeError
            `data` is a str, or has no buffer.
        Error
            DER_INVAL: Python objects or masked elements.
        """
        return self._all.write(_name(key), _memory(data), new)

    async def awrite(self, key: str, data: Any, *, new: bool = False) -> bool:
        """Put a blob, awaitable. From 256 KiB on, in another thread. See `write`.

        Parameters
        ----------
        key : str
            The key.
        data : bytes or array
            The value. Its memory must not change before the call has completed.
        new : bool, optional
            Only if there is none yet.

        Returns
        -------
        bool
            False: with `new`, there was one, and it is kept.
        """
        view = memoryview(_memory(data))
        if view.nbytes < IN_THREAD:
            return self.write(key, view, new=new)
        return await asyncio.to_thread(self.write, key, view, new=new)

    def writer(self, key: str, *, new: bool = False) -> BlobWriter:
        """Open a writer for a blob that is written piece by piece and appears whole.

        Parameters
        ----------
        key : str
            The key.
        new : bool, optional
            Only if there is none yet.

        Returns
        -------
        BlobWriter
            The writer.
        """
        return BlobWriter(self, key, self._all.writer(_name(key), new))

    def appender(self, key: str) -> BlobWriter:
        """Append bytes to a blob. `close` publishes them, also after what others wrote meanwhile.

        Parameters
        ----------
        key : str
            The key. If there is no such blob, it is made.

        Returns
        -------
        BlobWriter
            Takes the bytes.
        """
        return BlobWriter(self, key, self._all.appender(_name(key)))

    def touch(self, key: str) -> None:
        """Say that the blob was written now, and make an empty one if there is none.

        Parameters
        ----------
        key : str
            The key.
        """
        self._all.touch(_name(key))

    def make_folder(self, folder: str) -> None:
        """Make a folder, which stays when it has no blobs.

        Parameters
        ----------
        folder : str
            The folder.
        """
        self._all.make_folder(_name(folder))

    def hide(self) -> None:
        """Let the container be no directory while it has neither blobs nor folders."""
        self._all.hide()

    def show(self) -> None:
        """Let the container be a directory."""
        self._all.show()

    def delete(self, key: str, *, version: bytes | None = None) -> bool:
        """Delete a blob.

        Parameters
        ----------
        key : str
            The key.
        version : bytes, optional
            Only this version, as `copy` gave it. Another one is kept.

        Returns
        -------
        bool
            False: there was no such blob, or it has another version.
        """
        return self._all.remove(_name(key), version)

    def delete_folder(self, folder: str) -> int:
        """Delete all blobs and folders below a folder.

        Parameters
        ----------
        folder : str, optional
            The folder. "": everything in the container.

        Returns
        -------
        int
            How many were deleted.
        """
        return self._all.remove_folder(encode_key(folder))

    def copy(self, source: str, target: str, *, into: Blobs | None = None) -> bytes | None:
        """Copy one version of a blob, also into another container.

        Parameters
        ----------
        source : str
            The key of the blob.
        target : str
            The key of the copy.
        into : Blobs, optional
            The blobs of another container.

        Returns
        -------
        bytes or None
            What `delete` takes as the version of the blob; None if there is no such blob.
        """
        return self._all.copy(_name(source), (into or self)._all, _name(target))

    def reclaim(self) -> int:
        """Destroy array objects that nothing points to, which dead writers left.

        A writer does this by itself when it finds that another one died.

        Returns
        -------
        int
            How many there were.
        """
        return self._all.take_back()

    def _is_there(self) -> bool:
        """False: its pool on a cluster was removed. That of a directory tells it by the directory."""
        can = _core.capabilities(self._pool.location)
        if can.directory or not can.own_store:
            return True
        try:
            self.exists("?")
        except Error as error:
            if error.code not in (DER_STALE, DER_NONEXIST):
                raise
            return False
        return True


class BlobWriter:
    """Writes a blob piece by piece. `close` publishes it.

    Leaving `with` by an exception does not publish it. A forked child is refused with DER_NO_HDL: its parent
    writes the blob.

    Parameters
    ----------
    blobs : Blobs
        The blobs of the container.
    key : str
        The key.
    writer : stepstore._core.BlobWriter
        What writes it.
    """

    def __init__(self, blobs: Blobs, key: str, writer: _core.BlobWriter):
        self._blobs = blobs  # which leaves after this
        self._key = key
        self._writer = writer

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a stepstore.blobs.BlobWriter cannot be pickled: hand over the Blobs and the key")

    @property
    def size(self) -> int:
        """int : Bytes of the whole blob."""
        return self._writer.size

    @property
    def closed(self) -> bool:
        """bool : Whether the writer is closed."""
        return self._writer.closed

    def write(self, data: Any) -> None:
        """Write bytes after those written so far.

        Parameters
        ----------
        data : bytes or array
            The bytes. Of an array, element after element.

        Raises
        ------
        ValueError
            The writer is closed.
        TypeError
            `data` is a str, or has no buffer.
        Error
            DER_NO_HDL: this is a forked child.
        """
        if self.closed:
            raise ValueError(f"blob {self._key!r}: this writer is closed")
        self._writer.write(_memory(data))

    def close(self) -> bool:
        """Publish the blob. A second call does nothing.

        Returns
        -------
        bool
            False: with `new`, there was one, and it is kept.

        Raises
        ------
        Error
            DER_NO_HDL: this is a forked child.
        """
        return self._writer.close() is not False

    def discard(self) -> None:
        """Publish nothing: the blob stays as it was. In a forked child nothing happens."""
        self._writer.discard()

    def __enter__(self) -> BlobWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def _memory(data: Any) -> Any:
    if isinstance(data, str):
        raise TypeError("the value of a blob is bytes or an array, not str: encode it")
    return memory_of(data)


def _name(key: str) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"the key of a blob is a text, not {type(key).__name__}")
    return encode_key(key)


# ---- one object for all users of a container in this process


class _Open:
    def __init__(self) -> None:
        self.lock = threading.Lock()  # guards all
        self.all: weakref.WeakValueDictionary[tuple[Any, ...], Blobs] = weakref.WeakValueDictionary()


_open = PerProcess(_Open)


def open_blobs(
    pool: str, container: str, *, read_only: bool = False, snapshot: str | int | None = None
) -> Blobs:
    """Open the blobs of a container. All users in this process that ask for the same ones share them.

    Parameters
    ----------
    pool : str
        The location of the pool.
    container : str
        The label of the container. One that is missing is made, unless it is opened for reading only.
    read_only : bool, optional
        Refuse all writes.
    snapshot : str or int, optional
        The name or epoch of a snapshot, to read them as they were then.

    Returns
    -------
    Blobs
        The blobs.

    Raises
    ------
    Error
        DER_NONEXIST: there is no such pool, container or snapshot.
    """
    read_only = read_only or snapshot is not None
    # A pool that was removed and made again under its path is another one.
    directory = _identity(_core.pool_path(pool)) if _core.capabilities(pool).own_store else None
    key = (pool, directory, container, read_only, snapshot)
    opened_here = _open.get()
    with opened_here.lock:
        blobs = opened_here.all.get(key)
        if blobs is None or not blobs._is_there():
            connected = Pool.connect(pool, read_only=read_only)
            if read_only:
                opened = connected.open_container(container, read_only=True)
            else:
                opened = connected.open_or_create_container(container)
            epoch = None
            if snapshot is not None:
                epoch = opened.epoch_of(snapshot)
                opened = opened.at_snapshot(epoch)
            blobs = opened_here.all[key] = Blobs(connected, opened, read_only=read_only)
            blobs._opened_with = _core.absolute_location(pool), container, read_only, epoch
    return blobs


def _open_anew(pool: str, container: str, read_only: bool, snapshot: int | None) -> Blobs:
    return open_blobs(pool, container, read_only=read_only, snapshot=snapshot)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None  # its opening says why
    return found.st_dev, found.st_ino


def pool_identity(pool: str) -> Any:
    """Give a value that is the same for all paths to one pool.

    Parameters
    ----------
    pool : str
        The location of the pool.

    Returns
    -------
    object
        The value, which can be compared.
    """
    found = _identity(_core.pool_path(pool)) if _core.capabilities(pool).directory else None
    return found or pool.rstrip("/")


def make_pool(pool: str) -> None:
    """Make a pool, unless another process was faster.

    Parameters
    ----------
    pool : str
        The location of the pool.
    """
    try:
        Pool.create(pool)
    except Error as error:
        if error.code != DER_EXIST:
            raise
