"""Directories of the two sides of `stepstore cp`: of the local file system, and of one in a container.

A file or link appears whole under its name: it is made under another one, and renamed. Names come from the
other side, whose owner may be anybody. So a local directory is held by its descriptor, each name is opened in
it and through no link, and a name is one part of a path.
"""

from __future__ import annotations

import abc
import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepstore.file_paths import UNFINISHED, as_error, beside_of
from stepstore.file_system import Entry, FileStatus, FileSystem

if TYPE_CHECKING:
    from stepstore._core import File

_PERMISSIONS = 0o777  # neither setuid nor setgid is taken out of a container
_NOT_KEPT = (errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.ENOSPC, errno.ERANGE, errno.E2BIG, errno.EINVAL)


class Source(abc.ABC):
    """An open file that is read."""

    @abc.abstractmethod
    def status(self) -> FileStatus: ...
    @abc.abstractmethod
    def read(self, offset: int, size: int) -> bytes: ...
    def data_from(self, offset: int) -> int:
        """Where bytes that are no hole begin, or the end."""
        return offset

    @abc.abstractmethod
    def attributes(self) -> dict[str, bytes]: ...
    @abc.abstractmethod
    def close(self) -> None: ...


class Target(abc.ABC):
    """A file that is written under a name for the time being."""

    @abc.abstractmethod
    def write(self, offset: int, data: bytes | memoryview) -> None: ...
    @abc.abstractmethod
    def finish(self, name: str, size: int, keep: Kept | None) -> list[str]:
        """Gives it its size, what is kept, and its name. Names of attributes that cannot be kept."""

    @abc.abstractmethod
    def discard(self) -> None: ...


class Kept:
    """What of a file or directory is kept beside its bytes."""

    def __init__(self, status: FileStatus, attributes: dict[str, bytes]):
        self.status, self.attributes = status, attributes


class Folder(abc.ABC):
    """A directory. path: for messages."""

    path: str

    def below(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}"

    @abc.abstractmethod
    def entries(self) -> Iterator[Entry]: ...
    @abc.abstractmethod
    def status(self, name: str) -> FileStatus | None:
        """Links are not followed. None: there is nothing. Its kind may be one that is not copied."""

    @abc.abstractmethod
    def folder(self, name: str) -> Folder: ...
    @abc.abstractmethod
    def make_folder(self, name: str) -> Folder:
        """One that is there is opened."""

    @abc.abstractmethod
    def open(self, name: str) -> Source: ...
    @abc.abstractmethod
    def create(self, permissions: int) -> Target: ...
    @abc.abstractmethod
    def readlink(self, name: str) -> str: ...
    @abc.abstractmethod
    def symlink(self, target: str, name: str, modified: int | None) -> None: ...
    @abc.abstractmethod
    def attributes(self) -> dict[str, bytes]: ...
    @abc.abstractmethod
    def finish(self, permissions: int, keep: Kept | None) -> list[str]:
        """What a directory gets when all is in it. Names of attributes that cannot be kept."""

    def close(self) -> None: ...


def _require_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise OSError(errno.EINVAL, "this is no name of a file: it would lead elsewhere", name)
    return name


def _status_of(found: os.stat_result) -> FileStatus:
    size = 0 if stat.S_ISDIR(found.st_mode) else found.st_size
    return FileStatus(found.st_mode, size, found.st_mtime_ns, found.st_ctime_ns, found.st_uid, found.st_gid)


# ---- local
class LocalSource(Source):
    def __init__(self, descriptor: int, path: str):
        self._descriptor, self._path = descriptor, path

    def status(self) -> FileStatus:
        return _status_of(os.fstat(self._descriptor))

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, offset)

    def data_from(self, offset: int) -> int:
        try:
            return os.lseek(self._descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return os.fstat(self._descriptor).st_size
            return offset  # of a file system without holes

    def attributes(self) -> dict[str, bytes]:
        return _local_attributes(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def _local_attributes(descriptor: int) -> dict[str, bytes]:
    """Those of users alone: the others are the system's."""
    found: dict[str, bytes] = {}
    with contextlib.suppress(OSError):  # of a file system without them
        for name in os.listxattr(descriptor):
            if name.startswith("user."):
                found[name] = os.getxattr(descriptor, name)
    return found


def _keep_locally(descriptor: int, keep: Kept | None) -> list[str]:
    if keep is None:
        return []
    lost = []
    for name, value in keep.attributes.items():
        try:
            if not name.startswith("user."):
                raise OSError(errno.EPERM, "an attribute of the system")
            os.setxattr(descriptor, name, value)
        except OSError as error:
            if error.errno not in _NOT_KEPT:
                raise
            lost.append(name)
    os.fchmod(descriptor, keep.status.mode & _PERMISSIONS)
    os.utime(descriptor, ns=(keep.status.modified, keep.status.modified))
    return lost


class LocalTarget(Target):
    def __init__(self, folder: LocalFolder, permissions: int):
        self._folder = folder
        self._name = f"{UNFINISHED}{secrets.token_hex(8)}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(self._name, flags, permissions & _PERMISSIONS, dir_fd=folder.descriptor)

    def write(self, offset: int, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            done = os.pwrite(self._descriptor, view, offset)
            offset, view = offset + done, view[done:]

    def finish(self, name: str, size: int, keep: Kept | None) -> list[str]:
        os.ftruncate(self._descriptor, size)
        lost = _keep_locally(self._descriptor, keep)
        here = self._folder.descriptor
        os.rename(self._name, _require_name(name), src_dir_fd=here, dst_dir_fd=here)
        os.close(self._descriptor)
        self._descriptor = -1
        return lost

    def discard(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._folder.descriptor)


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class LocalFolder(Folder):
    def __init__(self, path: str, descriptor: int | None = None):
        self.path = path
        self.descriptor = os.open(path, _FOLDER) if descriptor is None else descriptor

    def entries(self) -> Iterator[Entry]:
        for name in sorted(os.listdir(self.descriptor)):
            yield Entry(name, None, "")

    def status(self, name: str) -> FileStatus | None:
        try:
            found = os.stat(_require_name(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return _status_of(found)

    def folder(self, name: str) -> LocalFolder:
        opened = os.open(_require_name(name), _FOLDER | os.O_NOFOLLOW, dir_fd=self.descriptor)
        return LocalFolder(self.below(name), opened)

    def make_folder(self, name: str) -> LocalFolder:
        with contextlib.suppress(FileExistsError):
            os.mkdir(_require_name(name), 0o700, dir_fd=self.descriptor)
        return self.folder(name)

    def open(self, name: str) -> LocalSource:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        opened = os.open(_require_name(name), flags, dir_fd=self.descriptor)
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            os.close(opened)
            raise OSError(errno.EINVAL, "this is no file any more", self.below(name))
        return LocalSource(opened, self.below(name))

    def create(self, permissions: int) -> LocalTarget:
        return LocalTarget(self, permissions)

    def readlink(self, name: str) -> str:
        return os.readlink(_require_name(name), dir_fd=self.descriptor)

    def symlink(self, target: str, name: str, modified: int | None) -> None:
        here, unfinished = self.descriptor, f"{UNFINISHED}{secrets.token_hex(8)}"
        os.symlink(target, unfinished, dir_fd=here)
        try:
            if modified is not None:
                os.utime(unfinished, ns=(modified, modified), dir_fd=here, follow_symlinks=False)
            os.rename(unfinished, _require_name(name), src_dir_fd=here, dst_dir_fd=here)
        except BaseException:
            os.unlink(unfinished, dir_fd=here)
            raise

    def attributes(self) -> dict[str, bytes]:
        return _local_attributes(self.descriptor)

    def finish(self, permissions: int, keep: Kept | None) -> list[str]:
        os.fchmod(self.descriptor, permissions & _PERMISSIONS)
        return _keep_locally(self.descriptor, keep)

    def close(self) -> None:
        os.close(self.descriptor)


# ---- in a container
_STICKY = 0o1000  # which file systems in containers do not have


class StoredSource(Source):
    def __init__(self, files: FileSystem, path: str):
        self._files, self._path = files, path
        self._file: File = files.open_raw(path, os.O_RDONLY)

    def status(self) -> FileStatus:
        return self._files.status(self._path)

    def read(self, offset: int, size: int) -> bytes:
        return self._file.read(offset, size)

    def attributes(self) -> dict[str, bytes]:
        return self._files.attributes(self._path)

    def close(self) -> None:
        self._file.close()


def _keep_stored(files: FileSystem, path: str, keep: Kept | None) -> list[str]:
    if keep is None:
        return []
    lost = []
    for name, value in keep.attributes.items():
        if value:
            files.set_attribute(path, name, value, follow=False)
        else:
            lost.append(name)  # DAOS's layout has none without bytes
    mode = keep.status.mode & 0o7777 & ~_STICKY
    files.set_status(path, mode=mode, modified=keep.status.modified, follow=False)
    return lost


class StoredTarget(Target):
    def __init__(self, files: FileSystem, folder: str, permissions: int):
        self._files, self._folder = files, folder
        self._path = beside_of(f"{folder}/x")
        self._file: File | None = files.open_raw(
            self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, permissions & _PERMISSIONS
        )

    def write(self, offset: int, data: bytes | memoryview) -> None:
        assert self._file is not None
        self._file.write(offset, data)

    def finish(self, name: str, size: int, keep: Kept | None) -> list[str]:
        assert self._file is not None
        if self._file.size() != size:
            self._file.truncate(size)
        lost = _keep_stored(self._files, self._path, keep)
        self._files.rename(self._path, f"{self._folder}/{_require_name(name)}")
        self._file.close()
        self._file = None
        return lost

    def discard(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            with contextlib.suppress(FileNotFoundError):
                self._files.remove(self._path)


class StoredFolder(Folder):
    def __init__(self, files: FileSystem, inside: str):
        """inside: the path in the file system."""
        self.files = files
        self.inside = inside.strip("/")
        self.path = f"{files.location}/{self.inside}".rstrip("/")

    def _of(self, name: str) -> str:
        return f"{self.inside}/{_require_name(name)}"

    def entries(self) -> Iterator[Entry]:
        return iter(self.files.entries(self.inside))

    def status(self, name: str) -> FileStatus | None:
        try:
            return self.files.status(self._of(name), follow=False)
        except FileNotFoundError:
            return None

    def folder(self, name: str) -> StoredFolder:
        return StoredFolder(self.files, self._of(name))

    def make_folder(self, name: str) -> StoredFolder:
        try:
            self.files.mkdir(self._of(name))
        except FileExistsError:
            found = self.status(name)
            if found is None or found.kind != "directory":
                raise
        return self.folder(name)

    def open(self, name: str) -> StoredSource:
        return StoredSource(self.files, self._of(name))

    def create(self, permissions: int) -> StoredTarget:
        return StoredTarget(self.files, self.inside, permissions)

    def readlink(self, name: str) -> str:
        return self.files.readlink(self._of(name))

    def symlink(self, target: str, name: str, modified: int | None) -> None:
        path = self._of(name)
        unfinished = beside_of(path)
        self.files.symlink(target, unfinished)
        try:
            if modified is not None:
                self.files.set_status(unfinished, modified=modified, follow=False)
            self.files.rename(unfinished, path)
        except BaseException:
            self.files.remove(unfinished)
            raise

    def attributes(self) -> dict[str, bytes]:
        return self.files.attributes(self.inside)

    def finish(self, permissions: int, keep: Kept | None) -> list[str]:
        self.files.set_status(self.inside, mode=permissions & _PERMISSIONS)
        return _keep_stored(self.files, self.inside, keep)


def error_text(error: OSError, path: str) -> str:
    return str(as_error(OSError(error.errno, error.strerror or str(error), path)))
