"""Containers of files (libdfs): what a copy must do for them beside copying their objects.

The layout is that of DAOS (docs/design/dfs.md). The container's properties name superblock and root, and are
given when it is made. Files are arrays that do not keep their chunk size: the entry of a file has it. What
libdfs shows as the time of a file or directory is that of its latest update, which in a copy is the copying.
So the copy sets the times that the source shows, as a user would. Setting one is an update of the directory
with the entry, so directories come after all that is in them.
"""

from __future__ import annotations

import contextlib
import stat
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from stepstore.buffers import escape
from stepstore.copying.objects import differs
from stepstore.errors import DER_CSUM, DER_EXIST, Error
from stepstore.kinds import type_of
from stepstore.store import Container, ObjectId, Pool

if TYPE_CHECKING:
    from stepstore import _core

_INODE = b"DFS_INODE"
_ROOT_NAME = b"/"
_SUPERBLOCK = b"DFS_SB_METADATA"
_DEFAULT_CHUNK = b"DFS_CHUNK_SIZE"
_SIZE = 88
_FIELDS = struct.Struct("<IQQqqQIqqIIQQ")
# Seconds and nanoseconds of the latest change, and the object's epoch when they were set.
_TIMES = [(20, 8), (48, 8), (80, 8)]


class FileSystem(NamedTuple):
    """The objects that the properties name."""

    superblock: ObjectId
    root: ObjectId


class Inode(NamedTuple):
    """What an entry says of the times, the kind and the object of its file or directory."""

    mode: int
    oid: ObjectId
    chunk: int
    seconds: int
    nanoseconds: int
    epoch: int

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)


class Entry(NamedTuple):
    """A name in a directory."""

    directory: ObjectId
    name: bytes
    inode: Inode


def found(container: Container) -> FileSystem | None:
    """None: the container was not made for files."""
    ids = container._handle.file_system()
    return FileSystem(*ids) if ids else None


def create(pool: Pool, label: str, files: FileSystem | None) -> Container:
    if files is None:
        return pool.create_container(label)
    return pool._container(pool._handle.create_file_container(label, *files), read_only=False)


def require_same(files: FileSystem | None, destination: Container, source: str, where: str) -> None:
    """A container gets these properties only when it is made."""
    if files is not None and found(destination) != files:
        raise Error(
            DER_EXIST,
            f"copy {source} to {where}: the source is a container of files, and the one that is there was "
            "not made for its files: give another destination, or remove what is there",
        )


# ---- entries
def entries(container: Container, files: FileSystem) -> Iterator[Entry]:
    """All of them. A directory comes after what is in it, so the root is the last one."""
    root = _entry(container, files.superblock, _ROOT_NAME)
    seen = {root.inode.oid}
    stack = [(root, _entries_of(container, root.inode.oid))]
    while stack:
        directory, inside = stack[-1]
        entry = next(inside, None)
        if entry is None:
            yield directory
            stack.pop()
        elif entry.inode.is_directory and entry.inode.oid not in seen:  # a rename shows it twice
            seen.add(entry.inode.oid)
            stack.append((entry, _entries_of(container, entry.inode.oid)))
        else:
            yield entry


def _entries_of(container: Container, directory: ObjectId) -> Iterator[Entry]:
    names: list[bytes] = []
    with _opened(container, directory) as object_:
        object_.list_dkeys(names.extend)
        for name in names:
            yield Entry(directory, name, _inode(container, object_, name))


def _entry(container: Container, directory: ObjectId, name: bytes) -> Entry:
    with _opened(container, directory) as object_:
        return Entry(directory, name, _inode(container, object_, name))


@contextlib.contextmanager
def _opened(container: Container, oid: ObjectId, read_only: bool = True) -> Iterator[_core.Object]:
    with contextlib.closing(container._handle.object(oid, read_only)) as opened:
        yield opened


def _inode(container: Container, directory: _core.Object, name: bytes) -> Inode:
    memory = bytearray(_SIZE)
    directory.read_records(name, _INODE, 1, [(0, _SIZE)], memory)
    mode, lo, hi, seconds, _, chunk, _, nanoseconds, _, _, _, _, epoch = _FIELDS.unpack(memory)
    inode = Inode(mode, ObjectId(hi, lo), chunk, seconds, nanoseconds, epoch)
    kind = {stat.S_IFDIR: "object", stat.S_IFLNK: "object", stat.S_IFREG: "array_bytes"}
    if kind.get(stat.S_IFMT(mode)) != type_of(inode.oid) or chunk >> 63:
        raise Error(
            DER_CSUM,
            f"copy container {container.label}: the entry {escape(name)!r} in its directory {directory.id} "
            "is damaged: dfs_remove() with force takes it out",
        )
    return inode


def chunk_sizes(container: Container, files: FileSystem) -> dict[ObjectId, int]:
    """Of all files that have a name."""
    with _opened(container, files.superblock) as object_:
        value = object_.get(_SUPERBLOCK, _DEFAULT_CHUNK)
    if value is None or len(value) != 8:
        raise Error(DER_CSUM, f"copy container {container.label}: its superblock has no chunk size")
    default = int.from_bytes(value, "little")
    return {
        one.inode.oid: one.inode.chunk or default
        for one in entries(container, files)
        if stat.S_ISREG(one.inode.mode)
    }


# ---- times
def _shown(inode: Inode, updated: tuple[int, int, int]) -> tuple[int, int]:
    """As libdfs tells it: what a user has set counts until the next update of the object."""
    epoch, seconds, nanoseconds = updated
    return (inode.seconds, inode.nanoseconds) if epoch in (0, inode.epoch) else (seconds, nanoseconds)


def _time(container: Container, entry: Entry) -> tuple[tuple[int, int], int]:
    """What is shown, and the epoch of the object."""
    if stat.S_ISLNK(entry.inode.mode):
        return (entry.inode.seconds, entry.inode.nanoseconds), entry.inode.epoch
    with _opened(container, entry.inode.oid) as object_:
        updated = object_.last_update()
    return _shown(entry.inode, updated), updated[0]


def _pairs(then: Container, copied: Container, files: FileSystem) -> Iterator[tuple[Entry, Entry]]:
    for entry in entries(then, files):
        yield entry, _entry(copied, entry.directory, entry.name)


def keep_times(then: Container, copied: Container, files: FileSystem, look: Callable[[], None]) -> None:
    """Sets those of the source. look: is called before each entry."""
    for entry, mine in _pairs(then, copied, files):
        look()
        shown, _ = _time(then, entry)
        now, epoch = _time(copied, mine)
        if shown == now:
            continue
        with _opened(copied, entry.directory, read_only=False) as object_:
            data = struct.pack("<qqQ", *shown, epoch)
            object_.write_records(entry.name, _INODE, 1, _TIMES, data)


def compare_times(then: Container, copied: Container, files: FileSystem) -> None:
    for entry, mine in _pairs(then, copied, files):
        if _time(then, entry)[0] != _time(copied, mine)[0]:
            raise differs(f"directory {entry.directory}", f"the time of the entry {escape(entry.name)!r}")


def without_times(akey: bytes, records: bytearray) -> bytes:
    """What of an akey of a directory is the same in a copy."""
    plain = bytearray(records)
    if akey == _INODE and len(plain) == _SIZE:
        for first, count in _TIMES:
            plain[first : first + count] = bytes(count)
    return bytes(plain)
