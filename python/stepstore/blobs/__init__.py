"""Values under names in a container: what stepstore.zarr and the filesystem stepstore:// are adapters of.

A *blob* is a sequence of bytes under a key, a text such as "u/c/0/1". A container keeps blobs beside its
other objects:

- the *directory*, a key-value object, has an entry for each blob. The entry of a small blob holds its bytes.
- a larger blob has an array object of its own, which is written once. Its entry holds the array's number.

Writing: 1. Bytes of a larger blob go to an array object with a fresh number, which nobody knows. 2. One
exchange in the directory puts the new entry, and tells the old one. 3. The array of the old entry is
destroyed.

- A reader finds the old entry or the new one, so the old value or the new one. A writer that dies before 2
  leaves the old value. What it leaves of space, the next writer takes back (stepstore.blobs.space).
- Of several writers of a key each is told of another old entry. So each array is destroyed once, by the one
  who replaced its entry. (A DAOS system has no exchange: there two writers of one key at the same time may
  leave an array that only reclaim() destroys.)
- An exchange that got no answer may have been carried out, or may be so later. Then the writer destroys
  nothing: reclaim() does that when the writer's process is dead.

Reading: 1. The entry. 2. Its bytes, or those of the array. An array lies on one target, and a read of it sees
one moment: all of its bytes, or none when it was destroyed after 1. In this case: 3. The entry again. It is
another one, or gone: the reader begins anew. It is the same: then it had not been replaced by then, so nobody
had destroyed the array at 2. The array is damaged, and the reader raises DER_CSUM. Numbers are never used
twice, so an entry that is the same has been there all the time.

A *folder* is an entry whose key ends with '/'. It keeps a directory that has no blobs. All others are where
keys say so. The folder "/" says that the container is no directory while it has neither blobs nor folders.
So a directory is removed without destroying the container, in which others may write at that moment.

"""

from __future__ import annotations

import asyncio
import os
import struct
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepstore import _core
from stepstore.blobs.space import DATA_HI, WRITERS_HI, Numbers, destroy_array, open_array, reclaim
from stepstore.errors import DER_CSUM, DER_EXIST, DER_INVAL, DER_NONEXIST, DER_STALE, Error, is_in_doubt
from stepstore.buffers import encode_key, memory_of
from stepstore.key_value import KeyValue
from stepstore.process import OfProcess, PerProcess
from stepstore.store import Container, Pool

DIRECTORY_HI = 0x53530301
OBJECTS = frozenset((DIRECTORY_HI, WRITERS_HI, DATA_HI))  # upper ids of all that blobs consist of
# Larger blobs are array objects. Below, an entry takes one update and one read (docs/design/blobs.md).
LARGEST_SMALL = 32 << 10
# From here on a copy takes longer than handing it to a thread.
IN_THREAD = 256 << 10

_SMALL, _ARRAY, _FOLDER = 1, 2, 3
_HIDDEN = b"/"  # the folder that hides a container
_HEAD = struct.Struct("<BQ")  # what it is; when it was written, in nanoseconds since 1970
_PLACE = struct.Struct("<BQQQ")  # of an array: the number, the size in bytes

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
        self._directory: KeyValue = container.key_value(
            container.object_id(0, DIRECTORY_HI, object_class="SX"), read_only=read_only
        )
        # A DAOS system does not tell which objects there are.
        cleared = not pool.location.startswith("daos://")
        self._numbers = Numbers(container, weakref.WeakMethod(self.reclaim) if cleared else None)
        weakref.finalize(self, Numbers.leave, self._numbers)

    def __repr__(self) -> str:
        return f"<stepstore.blobs.Blobs in {self._pool.location}/{self._container.label}>"

    @property
    def container(self) -> Container:
        """The container that they lie in, open as they are."""
        return self._container

    def leave(self) -> None:
        """Say that this process writes no more. A later write is possible."""
        self._numbers.leave()

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
        name = _name(key)
        entry = self._entry(name)
        while entry is not None:
            data = self._read_entry(entry, start, stop, limit)
            if data is not None:
                return data
            before, entry = entry, self._entry(name)
            if before == entry:
                raise Error(DER_CSUM, f"{self._text(key)}: its array object is missing: check the pool")
        return None

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
        entry = self._entry(_name(key))
        if entry is None:
            return None
        if entry[0] == _ARRAY:
            _, modified, number, size = _PLACE.unpack(entry)
            return BlobInfo(size, modified, number)
        return BlobInfo(len(entry) - _HEAD.size, _HEAD.unpack_from(entry)[1])

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
        return self._directory.size(_name(key)) is not None

    def open(self, key: str) -> BlobReader | None:
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
        entry = self._entry(_name(key))
        return None if entry is None else BlobReader(self, key, entry)

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
        found = self._directory.keys_below(prefix)
        return [_text_of(name) for name in found if not name.endswith(b"/")]

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
        beginning = _as_folder(folder)
        found = self._directory.keys_below(beginning, "/")
        least = len(encode_key(beginning))
        return [_text_of(name)[len(beginning) :] for name in found if len(name) > least and name != _HIDDEN]

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
        return bool(self._directory.keys_below(_as_folder(folder), "/"))

    def is_hidden(self) -> bool:
        """Tell whether the container is no directory now: it was hidden and has no blobs or folders.

        Returns
        -------
        bool
            Whether it is hidden.
        """
        return self._directory.size(_HIDDEN) is not None and not self.children()

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
        name = _name(key)
        view = _memory(data)
        if view.nbytes <= LARGEST_SMALL:
            return self._publish(name, _HEAD.pack(_SMALL, time.time_ns()) + view, new)
        with self._numbers.one() as number:
            try:
                with open_array(self._container, number) as array:
                    array.write(0, view)
            except BaseException:
                self._destroy(number)
                raise
            return self._publish_array(name, number, view.nbytes, new)

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
        view = _memory(data)
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
        return BlobWriter(self, key, new=new)

    def touch(self, key: str) -> None:
        """Say that the blob was written now, and make an empty one if there is none.

        Parameters
        ----------
        key : str
            The key.
        """
        name = _name(key)
        while (entry := self._entry(name)) is not None:
            kind, _ = _HEAD.unpack_from(entry)
            fresh = _HEAD.pack(kind, time.time_ns()) + entry[_HEAD.size :]
            if self._directory.put_if(name, fresh, entry):
                return
        self.write(key, b"", new=True)

    def make_folder(self, folder: str) -> None:
        """Make a folder, which stays when it has no blobs.

        Parameters
        ----------
        folder : str
            The folder.
        """
        self._directory.put(_name(_as_folder(folder)), _HEAD.pack(_FOLDER, time.time_ns()))

    def hide(self) -> None:
        """Let the container be no directory while it has neither blobs nor folders."""
        self._directory.put(_HIDDEN, _HEAD.pack(_FOLDER, time.time_ns()))

    def show(self) -> None:
        """Let the container be a directory."""
        if self._directory.size(_HIDDEN) is not None:
            self._take(_HIDDEN)

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
        if version is None:
            return self._take(_name(key))
        deleted = self._directory.remove_if(_name(key), version)
        if deleted:
            self._free((len(version), version))
        return deleted

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
        found = self._directory.keys_below(_as_folder(folder))
        return sum(self._take(name) for name in found if name != _HIDDEN)

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
        while (reader := self.open(source)) is not None:
            try:
                with (into or self).writer(target) as writer:
                    reader.copy_to(writer)
                return reader.entry
            except Error as error:
                if error.code != DER_NONEXIST or reader.is_current():
                    raise
        return None

    def reclaim(self) -> int:
        """Destroy array objects that nothing points to, which dead writers left.

        A writer does this by itself when it finds that another one died.

        Returns
        -------
        int
            How many there were.
        """
        return reclaim(self._pool.location, self._container, self._referenced)

    def _referenced(self) -> set[int]:
        found = set()
        for name in self._directory.keys_below():
            entry = self._entry(name)
            if entry is not None and entry[0] == _ARRAY:
                found.add(_PLACE.unpack(entry)[2])
        return found

    # ---- entries

    def _entry(self, name: bytes) -> bytes | None:
        entry: bytes | None = self._directory.get(name)
        if entry is not None and (
            len(entry) < _HEAD.size
            or not _SMALL <= entry[0] <= _FOLDER
            or (entry[0] == _ARRAY and len(entry) != _PLACE.size)
        ):
            raise Error(
                DER_INVAL,
                f"{self._text(_text_of(name))}: its entry has the kind {entry[:1].hex()} and {len(entry)} "
                "bytes, which this version of stepstore does not know: read it with a newer one",
            )
        return entry

    def _read_entry(
        self, entry: bytes, start: int, stop: int | None, limit: int | None = None
    ) -> Bytes | None:
        """None: the array is not there. LargeError: the limit is reached."""
        if entry[0] != _ARRAY:
            value = memoryview(entry)[_HEAD.size :]
            return value if start == 0 and stop is None else value[start:stop]
        _, _, number, size = _PLACE.unpack(entry)
        first, end, _ = slice(start, stop).indices(size)
        if first >= end:
            return b""
        if limit is not None and end - first >= limit:
            raise LargeError
        into = np.empty(end - first, np.uint8)
        with open_array(self._container, number, read_only=True) as array:
            return into.data if array.read_into(first, into) == 0 else None

    def _publish_array(self, name: bytes, number: int, size: int, new: bool) -> bool:
        entry = _PLACE.pack(_ARRAY, time.time_ns(), number, size)
        try:
            published = self._publish(name, entry, new)
        except Error as error:
            if is_in_doubt(error):
                self._numbers.keep(number)
            else:
                self._destroy(number)
            raise
        if not published:
            self._destroy(number)
        return published

    def _publish(self, name: bytes, entry: bytes, new: bool) -> bool:
        if not new:
            self._free(self._directory.exchange(name, entry))
            return True
        try:
            self._directory.put(name, entry, condition="must_not_exist")
        except Error as error:
            if error.code != DER_EXIST:
                raise
            return False
        return True

    def _take(self, name: bytes) -> bool:
        replaced = self._directory.exchange(name, None)
        self._free(replaced)
        return replaced is not None

    def _free(self, replaced: tuple[int, bytes | None] | None) -> None:
        entry = replaced[1] if replaced else None
        if entry and entry[0] == _ARRAY and len(entry) == _PLACE.size:
            self._destroy(_PLACE.unpack(entry)[2])

    def _destroy(self, number: int) -> None:
        try:
            destroy_array(self._container, number)
        except Error:
            pass  # the value is replaced all the same; reclaim() finds the space

    def _is_there(self) -> bool:
        """False: its pool on a cluster was removed. That of a directory tells it by the directory."""
        if not self._pool.location.startswith("rados://"):
            return True
        try:
            self._directory.size(b"?")
        except Error as error:
            if error.code not in (DER_STALE, DER_NONEXIST):
                raise
            return False
        return True

    def _text(self, key: str) -> str:
        return f"blob {key!r} in {self._pool.location}/{self._container.label}"


PIECE = 8 << 20  # bytes of a copy at a time


class BlobReader:
    """One version of a blob, open for reading.

    A blob that is not small can be read until it is replaced or deleted.

    Parameters
    ----------
    blobs : Blobs
        The blobs of its container.
    key : str
        The key.
    entry : bytes
        The entry of this version.
    """

    def __init__(self, blobs: Blobs, key: str, entry: bytes):
        self.entry = entry
        self._blobs = blobs
        self._key = key
        self.size: int = _PLACE.unpack(entry)[3] if entry[0] == _ARRAY else len(entry) - _HEAD.size

    def read(self, start: int = 0, stop: int | None = None) -> Bytes:
        """Read the part value[start:stop].

        Parameters
        ----------
        start, stop : int, optional
            As of a slice, in bytes.

        Returns
        -------
        bytes-like
            The bytes.

        Raises
        ------
        Error
            DER_NONEXIST: the blob was replaced or deleted meanwhile: open it again.
        """
        data = self._blobs._read_entry(self.entry, start, stop)
        if data is None:
            raise Error(
                DER_NONEXIST,
                f"{self._blobs._text(self._key)} was replaced or deleted while it was read: open it again",
            )
        return data

    def is_current(self) -> bool:
        """Tell whether the blob still has this version.

        Returns
        -------
        bool
            Whether it has.
        """
        return self._blobs._entry(_name(self._key)) == self.entry

    def copy_to(self, writer: BlobWriter) -> None:
        """Copy all bytes to a writer, 8 MiB at a time.

        Parameters
        ----------
        writer : BlobWriter
            Where they go.

        Raises
        ------
        Error
            As for `read`.
        """
        for start in range(0, self.size, PIECE):
            writer.write(self.read(start, start + PIECE))


class BlobWriter(OfProcess):
    """Writes a blob piece by piece. `close` publishes it.

    Leaving `with` by an exception does not publish it. A forked child is refused with DER_NO_HDL: its parent
    writes the blob.

    Parameters
    ----------
    blobs : Blobs
        The blobs of the container.
    key : str
        The key.
    new : bool, optional
        Publish it only if there is none yet.
    """

    def __init__(self, blobs: Blobs, key: str, *, new: bool = False):
        super().__init__()
        self._blobs = blobs
        self._name = _name(key)
        self._text = blobs._text(key)
        self._new = new
        self._small = bytearray()
        self._number: Any = None  # the context of the number, while the array is written
        self._array: Any = None  # an Array, from the first piece on that is not small
        self._id = 0
        self.size = 0
        self.closed = False

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
        self.require_mine(f"the writer of {self._text}")
        if self.closed:
            raise ValueError(f"{self._text}: this writer is closed")
        view = _memory(data)
        if self._array is None and self.size + view.nbytes <= LARGEST_SMALL:
            self._small += view
        else:
            if self._array is None:
                self._begin_array()
            self._array.write(self.size, view)
        self.size += view.nbytes

    def _begin_array(self) -> None:
        self._number = self._blobs._numbers.one()
        self._id = self._number.__enter__()
        self._array = open_array(self._blobs._container, self._id)
        if self._small:
            self._array.write(0, self._small)

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
        self.require_mine(f"the writer of {self._text}")
        if self.closed:
            return True
        self.closed = True
        if self._array is None:
            small = _HEAD.pack(_SMALL, time.time_ns()) + self._small
            return self._blobs._publish(self._name, small, self._new)
        try:
            return self._blobs._publish_array(self._name, self._id, self.size, self._new)
        finally:
            self._end()

    def close_if(self, expected: bytes | None) -> bool:
        """Publish the blob if its entry is still the expected one.

        Parameters
        ----------
        expected : bytes or None
            The old entry. None: there is no blob.

        Returns
        -------
        bool
            False: it is another one. Nothing has changed, and the writer stays open.
        """
        if self._array is None:
            entry = _HEAD.pack(_SMALL, time.time_ns()) + self._small
        else:
            entry = _PLACE.pack(_ARRAY, time.time_ns(), self._id, self.size)
        try:
            done = self._blobs._directory.put_if(self._name, entry, expected)
        except Error as error:
            if not is_in_doubt(error):
                self.discard()
            else:
                self.closed = True
                if self._array is not None:
                    self._blobs._numbers.keep(self._id)
                self._end()
            raise
        if done:
            self.closed = True
            self._end()
            self._blobs._free((len(expected), expected) if expected else None)
        return done

    def read(self, start: int, stop: int) -> Bytes:
        """Read from what was written so far.

        Parameters
        ----------
        start, stop : int
            The part, in bytes.

        Returns
        -------
        bytes-like
            The bytes.
        """
        if self._array is None:
            return self._small[start:stop]
        data: bytes = self._array.read(start, max(0, min(stop, self.size) - start))
        return data

    def discard(self) -> None:
        """Publish nothing: the blob stays as it was. In a forked child nothing happens."""
        if self.closed or not self.is_mine:
            return
        self.closed = True
        if self._array is not None:
            self._blobs._destroy(self._id)
            self._end()

    def _end(self) -> None:
        if self._array is not None:
            self._array.close()
            self._number.__exit__(None, None, None)

    def __enter__(self) -> BlobWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def _memory(data: Any) -> memoryview:
    if isinstance(data, str):
        raise TypeError("the value of a blob is bytes or an array, not str: encode it")
    memory: Any = memory_of(data)
    return memoryview(memory)


def _name(key: str) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"the key of a blob is a text, not {type(key).__name__}")
    if not key:
        raise Error(DER_INVAL, "the key of a blob is empty: give at least one character")
    return encode_key(key)


def _text_of(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _as_folder(folder: str) -> str:
    return folder if not folder or folder.endswith("/") else folder + "/"


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
    directory = None if pool.startswith("daos://") else _identity(_core.pool_path(pool))
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
            if snapshot is not None:
                opened = opened.at_snapshot(snapshot)
            blobs = opened_here.all[key] = Blobs(connected, opened, read_only=read_only)
    return blobs


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
    found = None if "://" in pool else _identity(_core.pool_path(pool))
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
