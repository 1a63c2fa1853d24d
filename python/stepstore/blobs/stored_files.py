"""Containers with a file system (stepstore.file_system) below stepstore:// of fsspec.

A file appears whole when it is closed, as a blob does, and the directories above it are made. A link is
followed by a call that names it. A listing tells what a link to a file leads to, and does not lead through a
link to a directory: such a link is of the type "other".
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import os
import time
from collections.abc import Iterator
from typing import Any

from stepstore.errors import DER_NONEXIST, DER_NOTSUPPORTED, Error
from stepstore.file_system import FileStatus, FileSystem, find_file_system
from stepstore.kinds import DIRECTORY_HI
from stepstore.store import Container

_PIECE = 8 << 20
_SUPERBLOCKS = ("S1", "RP_2G1", "SX", "RP_2GX")  # classes that a superblock usually has


def file_system_of(pool: str, container: Container, epoch: int | None, read_only: bool) -> FileSystem | None:
    """None: it has none. A container with blobs is not asked further: that would take longer than a blob."""
    if not (_has_superblock(container) or _is_without_blobs(container)):
        return None
    return find_file_system(pool, container.label, read_only=read_only, epoch=epoch)


def _has_superblock(container: Container) -> bool:
    for object_class in _SUPERBLOCKS:
        with contextlib.suppress(Error):  # of a class that this pool does not have
            oid = container._handle.object_id(0, 0, "object", object_class)
            with contextlib.closing(container._handle.object(oid, True)) as one:
                if one.describe(b"DFS_SB_METADATA", b"DFS_MAGIC") is not None:
                    return True
    return False


def _is_without_blobs(container: Container) -> bool:
    try:
        with container.key_value(container.object_id(0, DIRECTORY_HI), read_only=True) as names:
            return next(iter(names.raw_keys()), None) is None
    except Error as error:
        return error.code in (DER_NONEXIST, DER_NOTSUPPORTED)


class StoredFiles:
    """The files of one container. key: a path in it. path: all of it, as results and messages have it."""

    def __init__(self, files: FileSystem):
        self.files = files

    # ---- looking
    def info(self, key: str, path: str) -> dict[str, Any]:
        with _missing(path):
            status = self.files.status(key, follow=False)
            link = status.kind == "link"
            if link:
                with contextlib.suppress(OSError):  # it leads nowhere
                    status = self.files.status(key)
            return self._told(status, key, path, link)

    def _told(self, status: FileStatus, key: str, path: str, link: bool) -> dict[str, Any]:
        seconds, nanoseconds = divmod(status.modified, 10**9)
        when = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(seconds=seconds)
        told: dict[str, Any] = {
            "name": path,
            "size": status.size if status.kind == "file" else 0,
            "type": "other" if status.kind == "link" else status.kind,
            "mtime": when.replace(microsecond=nanoseconds // 1000),
            "mode": status.mode,
            "uid": status.uid,
            "gid": status.gid,
            "islink": link,
        }
        if link:
            told["destination"] = self.files.readlink(key)
        return told

    def ls(self, key: str, path: str) -> list[dict[str, Any]]:
        own = self.info(key, path)
        if own["type"] != "directory":
            return [own]
        found = []
        with _missing(path):
            entries = self.files.entries(key)
        for entry in entries:
            name, inside = f"{path}/{entry.name}", f"{key}/{entry.name}"
            if entry.status is None:  # damaged: a call on it says how
                found.append({"name": name, "size": 0, "type": "other", "error": entry.error})
            elif entry.status.kind != "link":
                found.append(self._told(entry.status, inside, name, False))
            else:
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    one = self.info(inside, name)
                    found.append({**one, "type": "file" if one["type"] == "file" else "other"})
        return found

    # ---- changing
    def makedirs(self, key: str, path: str, exist_ok: bool) -> None:
        if not exist_ok and self.exists(key):
            raise FileExistsError(path)
        with _missing(path):
            self.files.mkdir(key, parents=True)

    def exists(self, key: str) -> bool:
        try:
            self.files.status(key)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def rmdir(self, key: str, path: str) -> None:
        if self.info(key, path)["type"] != "directory":
            raise NotADirectoryError(f"{path} is no directory")
        self.files.remove(key)

    def rm_file(self, key: str, path: str) -> None:
        with _missing(path):
            if self.files.status(key, follow=False).kind == "directory":
                raise IsADirectoryError(f"{path} is a directory: remove it with rmdir, or recursive=True")
            self.files.remove(key)

    def rm_below(self, key: str) -> None:
        """A directory with all that is in it; of the root what is in it."""
        if key.strip("/"):
            self.files.remove(key, recursive=True)
            return
        for entry in self.files.entries():
            self.files.remove(entry.name, recursive=True)

    def move(self, key: str, target: str, path: str) -> None:
        """As shutil.move: into a directory that is there."""
        with _missing(path):
            old = self.files.status(key, follow=False)
            if self._is_directory(target):
                target = f"{target}/{key.rstrip('/').rpartition('/')[2]}"
                if self.exists(target):
                    raise OSError(errno.ENOTEMPTY, "the directory has an entry of this name", path)
            elif old.kind == "directory" and self.exists(target):
                raise FileExistsError(path)
            self._make_above(target)
            self.files.rename(key, target)

    def touch(self, key: str, path: str, truncate: bool) -> None:
        if truncate or not self.exists(key):
            self.pipe(key, b"", path, new=False)
        else:
            self.files.set_status(key, modified=time.time_ns())

    # ---- bytes
    def open(self, key: str, path: str, mode: str) -> Any:
        with _missing(path):
            if mode == "rb":
                return self.files.open(key)
            self._make_above(key)
            if mode != "wb":
                return self.files.open(key, mode)
            self._refuse_directory(key, path)
            return self.files.writer(self._followed(key))

    def _make_above(self, key: str) -> None:
        above = key.strip("/").rpartition("/")[0]
        if above and not self.exists(above):
            self.files.mkdir(above, parents=True)

    def _refuse_directory(self, key: str, path: str) -> None:
        if self._is_directory(key):
            raise IsADirectoryError(errno.EISDIR, "this is a directory", path)

    def _is_directory(self, key: str) -> bool:
        try:
            return self.files.status(key).kind == "directory"
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _followed(self, key: str) -> str:
        """A link stays a link when it is written through, if it lies beside its file."""
        with contextlib.suppress(OSError):
            target = self.files.readlink(key)
            if "/" not in target:
                return f"{key.rpartition('/')[0]}/{target}"
        return key

    def cat(self, key: str, path: str, start: int | None, end: int | None) -> bytes:
        with self._reader(key, path) as (file, size):
            first, last, _ = slice(start, end).indices(size)
            data: bytes = file.read(first, max(0, last - first))
            return data

    @contextlib.contextmanager
    def _reader(self, key: str, path: str) -> Iterator[tuple[Any, int]]:
        with _missing(path):
            file = self.files.open_raw(key, os.O_RDONLY)
        try:
            yield file, file.size()
        finally:
            file.close()

    def pipe(self, key: str, value: Any, path: str, new: bool) -> None:
        if new and self.exists(key):
            raise FileExistsError(path)
        with contextlib.closing(self.open(key, path, "xb" if new else "wb")) as file:
            file.write(value)


def copy_bytes(source: Any, target: Any) -> None:
    """From one open file into another. The target appears whole, or not."""
    with source, target:
        while piece := source.read(_PIECE):
            target.write(piece)


@contextlib.contextmanager
def _missing(path: str) -> Iterator[None]:
    """Messages have all of the path, and what is no directory has nothing in it."""
    try:
        yield
    except NotADirectoryError as error:
        raise FileNotFoundError(errno.ENOENT, str(error.strerror), path) from error
    except OSError as error:
        if error.filename is not None and error.errno is not None:
            raise OSError(error.errno, str(error.strerror), path) from error
        raise
