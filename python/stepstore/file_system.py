"""File systems in containers: directories, files and symbolic links, as programs for DAOS's libdfs make them.

`stepstore cont create --type posix` makes one. Names are bytes, as in any file system: those that are no
UTF-8 are given as `os.fsdecode` does it.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

from stepstore import _core
from stepstore.errors import DER_INVAL, Error
from stepstore.file_paths import as_error, beside_of, raw_path
from stepstore.handles import Handle, Waits
from stepstore.kinds import hint
from stepstore.store import Pool

__all__ = ["Entry", "FileStatus", "FileSystem", "open_file_system"]

_BUFFER = 1 << 20
_FLAGS = {
    "rb": os.O_RDONLY,
    "r+b": os.O_RDWR,
    "wb": os.O_RDWR | os.O_CREAT | os.O_TRUNC,
    "xb": os.O_RDWR | os.O_CREAT | os.O_EXCL,
    "ab": os.O_RDWR | os.O_CREAT,
}
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


class FileStatus(NamedTuple):
    """What is known of a file, directory or symbolic link.

    Attributes
    ----------
    mode : int
        The kind and the permissions, as `os.stat` gives them.
    size : int
        Bytes of a file, or of the target of a link.
    modified : int
        When it was written, or what a program set, in nanoseconds since 1970.
    changed : int
        When the status was changed, in nanoseconds since 1970.
    uid : int
        The number of the user.
    gid : int
        The number of the group.
    """

    mode: int
    size: int
    modified: int
    changed: int
    uid: int
    gid: int

    @property
    def kind(self) -> str:
        """str : "file", "directory" or "link"."""
        return _KINDS[stat.S_IFMT(self.mode)]


class Entry(NamedTuple):
    """One name in a directory.

    Attributes
    ----------
    name : str
        The name; "" if it is damaged.
    status : FileStatus or None
        What is known of it; None if it is damaged.
    error : str
        What is damaged, or "".
    """

    name: str
    status: FileStatus | None
    error: str


class _File(io.RawIOBase):
    """An open file, below a buffer."""

    def __init__(self, handle: _core.File, name: str, mode: str) -> None:
        self._handle = handle
        self.name = name
        self.mode = mode
        self._at = handle.size() if mode == "ab" else 0

    def readable(self) -> bool:
        """Tell whether it can be read."""
        return self.mode in ("rb", "r+b")

    def writable(self) -> bool:
        """Tell whether it can be written."""
        return self.mode != "rb"

    def seekable(self) -> bool:
        """Tell that a position can be chosen."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes from the position on."""
        self._require_open()
        got = self._handle.readinto(self._at, buffer)
        self._at += got
        return got

    def write(self, data: Any) -> int:
        """Write bytes from the position on."""
        self._require_open()
        size = memoryview(data).nbytes
        self._handle.write(self._at, data)
        self._at += size
        return size

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Choose the position."""
        self._require_open()
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at}.get(whence)
        if start is None:
            if whence != os.SEEK_END:
                raise ValueError(f"whence {whence}: use 0, 1 or 2")
            start = self._handle.size()
        if start + offset < 0:
            raise OSError(errno.EINVAL, "the position is before the beginning", self.name)
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        """Tell the position."""
        self._require_open()
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Give the file a size. What is added reads as zeros."""
        self._require_open()
        wanted = self._at if size is None else size
        self._handle.truncate(wanted)
        return wanted

    def close(self) -> None:
        """Close it. A second call does nothing."""
        if not self.closed:
            super().close()
            self._handle.close()

    def _require_open(self) -> None:
        if self.closed:
            raise ValueError(f"{self.name}: this file is closed")


class _Whole(io.BufferedWriter):
    """Writes a file that gets its name when it is closed, and none if the `with` block is left by an
    exception."""

    def __init__(self, owner: FileSystem, target: str, unfinished: str, raw: _File) -> None:
        super().__init__(raw, _BUFFER)
        self._owner, self._target, self._unfinished = owner, target, unfinished

    def close(self) -> None:
        if self.closed:
            return
        try:
            super().close()
        except BaseException:
            self.discard()
            raise
        try:
            self._owner.rename(self._unfinished, self._target)
        except BaseException:
            self._remove()
            raise

    def discard(self) -> None:
        """Close it, and leave nothing."""
        raw = self.raw
        raw.close()  # so that a buffer which cannot be written is not tried again
        try:
            super().close()
        except ValueError:  # of bytes in the buffer, which nobody wants any more
            pass
        self._remove()

    def _remove(self) -> None:
        try:
            self._owner.remove(self._unfinished)
        except FileNotFoundError:
            pass

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        if not self.closed:
            self.discard()


class FileSystem(Handle):
    """The file system of a container. `open_file_system` opens one.

    Paths begin at its root: "a/b" and "/a/b" are one. Empty parts and "." count for nothing, and ".." is
    refused. Threads may share it, and a forked child goes on with what its parent has open. What fails raises
    OSError or a class of it, as for other files: an entry that is damaged has the errno EIO.

    Examples
    --------
    >>> import stepstore
    >>> from stepstore import _core
    >>> stepstore.Pool.create("./docs_files")
    >>> _core.create_file_system("./docs_files", "home")
    >>> with stepstore.open_file_system("./docs_files/home") as files:
    ...     files.mkdir("notes")
    ...     with files.open("notes/today.txt", "wb") as file:
    ...         _ = file.write(b"sunny")
    ...     print([entry.name for entry in files.entries("notes")])
    ['today.txt']
    """

    _handle: _core.FileSystem

    @property
    def location(self) -> str:
        """str : The location, POOL/CONTAINER."""
        return self._waits.location

    def entries(self, path: str = "") -> list[Entry]:
        """List a directory. A damaged entry is named, and does not end the listing.

        Parameters
        ----------
        path : str, optional
            The directory. "": the root.

        Returns
        -------
        list of Entry
            Sorted by name.
        """
        found = self._handle.entries(raw_path(path))
        return [
            Entry(os.fsdecode(name), FileStatus(*status) if status else None, why or "")
            for name, status, why in sorted(found, key=lambda one: one[0])
        ]

    def status(self, path: str = "", *, follow: bool = True) -> FileStatus:
        """Tell what is known of a path.

        Parameters
        ----------
        path : str, optional
            The path. "": the root.
        follow : bool, optional
            Of a symbolic link, what it points to.

        Returns
        -------
        FileStatus
            Its kind, size and times.
        """
        return FileStatus(*self._handle.stat(raw_path(path), follow))

    def set_status(
        self,
        path: str,
        *,
        mode: int | None = None,
        modified: int | None = None,
        owner: tuple[int, int] | None = None,
        follow: bool = True,
    ) -> None:
        """Change what is known of a path.

        Parameters
        ----------
        path : str
            The path.
        mode : int, optional
            The permissions. The sticky bit is refused, as in DAOS.
        modified : int, optional
            When it was written, in nanoseconds since 1970.
        owner : tuple of int, optional
            The numbers of the user and the group.
        follow : bool, optional
            Of a symbolic link, what it points to.
        """
        self._handle.set_status(raw_path(path), mode, modified, owner, follow)

    def open(self, path: str, mode: str = "rb", *, permissions: int = 0o644) -> Any:
        """Open a file.

        Parameters
        ----------
        path : str
            The path. Symbolic links are followed.
        mode : {"rb", "r+b", "wb", "xb", "ab"}, optional
            As of Python's own `open`. Bytes that are appended go where the file ended when it was opened.
        permissions : int, optional
            Of a file that is made.

        Returns
        -------
        io.BufferedIOBase
            The open file.

        Raises
        ------
        ValueError
            Another mode.
        """
        if mode not in _FLAGS:
            raise ValueError(f"mode {mode!r}: use {', '.join(_FLAGS)}")
        handle = self._handle.open(raw_path(path), _FLAGS[mode], permissions)
        raw = _File(handle, f"{self.location}/{path}", mode)
        if mode == "r+b":
            return io.BufferedRandom(raw, _BUFFER)
        return io.BufferedReader(raw, _BUFFER) if mode == "rb" else io.BufferedWriter(raw, _BUFFER)

    def open_raw(self, path: str, flags: int, permissions: int = 0o644) -> _core.File:
        """Open a file without a buffer, to read and write at offsets.

        Parameters
        ----------
        path : str
            The path.
        flags : int
            As of `os.open`.
        permissions : int, optional
            Of a file that is made.

        Returns
        -------
        stepstore._core.File
            The file of the extension.
        """
        return self._handle.open(raw_path(path), flags, permissions)

    def writer(self, path: str, *, permissions: int = 0o644) -> Any:
        """Write a file that appears whole, or replaces another one whole, when it is closed.

        Until then it lies beside its place, under a name that begins with ".stepstore-". That stays if the
        process is killed.

        Parameters
        ----------
        path : str
            The path. If it is a symbolic link, the link is replaced.
        permissions : int, optional
            Of the file.

        Returns
        -------
        io.BufferedWriter
            Takes the bytes. Leaving `with` by an exception leaves no file.
        """
        beside = beside_of(path)
        handle = self.open_raw(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, permissions)
        return _Whole(self, path, beside, _File(handle, f"{self.location}/{path}", "wb"))

    def mkdir(self, path: str, *, permissions: int = 0o755, parents: bool = False) -> None:
        """Make a directory.

        Parameters
        ----------
        path : str
            The path.
        permissions : int, optional
            Of the directory.
        parents : bool, optional
            Make the directories above it too. Those that are there already are no error.
        """
        raw = raw_path(path)
        if not parents:
            self._handle.mkdir(raw, permissions)
            return
        parts = raw.split(b"/")[1:]
        for end in range(1, len(parts) + 1):
            above = b"/" + b"/".join(parts[:end])
            try:
                self._handle.mkdir(above, permissions)
            except FileExistsError:
                if FileStatus(*self._handle.stat(above, True)).kind != "directory":
                    raise
            except OSError as error:
                if error.errno != errno.EBUSY:  # the root
                    raise

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link or a directory.

        Parameters
        ----------
        path : str
            The path. A link is removed itself.
        recursive : bool, optional
            Remove a directory with all that is in it, and a damaged entry too.
        """
        self._handle.remove(raw_path(path), recursive)

    def rename(self, path: str, target: str) -> None:
        """Give a path another name, in one step. What has that name is replaced, as by `os.replace`.

        Parameters
        ----------
        path : str
            The path.
        target : str
            The new path.
        """
        self._handle.rename(raw_path(path), raw_path(target))

    def symlink(self, target: str, path: str) -> None:
        """Make a symbolic link.

        Parameters
        ----------
        target : str
            What it points to, which need not be there.
        path : str
            The path of the link.
        """
        self._handle.symlink(os.fsencode(target), raw_path(path))

    def readlink(self, path: str) -> str:
        """Tell what a symbolic link points to.

        Parameters
        ----------
        path : str
            The path of the link.

        Returns
        -------
        str
            The target, as it was given.
        """
        return os.fsdecode(self._handle.readlink(raw_path(path)))

    def attributes(self, path: str, *, follow: bool = True) -> dict[str, bytes]:
        """Read the extended attributes of a path.

        Parameters
        ----------
        path : str
            The path.
        follow : bool, optional
            Of a symbolic link, those of what it points to.

        Returns
        -------
        dict
            Their values by name.
        """
        raw, found = raw_path(path), {}
        for name in sorted(self._handle.attributes(raw, follow)):
            try:
                found[os.fsdecode(name)] = self._handle.attribute(raw, name, follow)
            except OSError as error:
                if error.errno != errno.ENODATA:  # removed meanwhile
                    raise
        return found

    def set_attribute(self, path: str, name: str, value: bytes | None, *, follow: bool = True) -> None:
        """Set an extended attribute of a path, or remove it.

        Parameters
        ----------
        path : str
            The path.
        name : str
            The name, such as "user.title".
        value : bytes or None
            1 to 65,536 bytes. None: remove it.
        follow : bool, optional
            Of a symbolic link, of what it points to.
        """
        raw, key = raw_path(path), os.fsencode(name)
        if value is None:
            self._handle.remove_attribute(raw, key, follow)
        else:
            self._handle.set_attribute(raw, key, value, follow)

    def _facts(self) -> Iterator[tuple[str, Any]]:
        from stepstore.notebook import shortened

        yield "location", self.location
        yield "entries", shortened([entry.name for entry in self.entries()])

    def __repr__(self) -> str:
        return super().__repr__() if self.closed else f"<{self._name} {self.location!r}>"


def find_file_system(
    pool: str, container: str, *, read_only: bool = True, epoch: int | None = None
) -> FileSystem | None:
    """Open the file system of a container that may have none.

    Parameters
    ----------
    pool : str
        The pool.
    container : str
        The label of a container in it.
    read_only : bool, optional
        Refuse all writes through it.
    epoch : int, optional
        Of a snapshot.

    Returns
    -------
    FileSystem or None
        None: the container has no file system.

    Raises
    ------
    Error
        DER_CSUM: it is damaged as a whole.
    """
    if not _core.capabilities(pool).own_store:
        return None
    try:
        handle = _core.mount(pool, container, read_only, epoch or 0)
    except OSError as error:
        raise as_error(error) from error
    if handle is None:
        return None
    found = FileSystem(handle, Waits(f"{pool}/{container}", read_only))
    elsewhere = f"{_core.absolute_location(pool)}/{container}"
    found._opened_by = _open_anew, (elsewhere, read_only, epoch)
    return found


def _open_anew(location: str, read_only: bool, epoch: int | None) -> FileSystem:
    return open_file_system(location, read_only=read_only, snapshot=epoch)


def open_file_system(
    location: str | os.PathLike[str], *, read_only: bool = False, snapshot: str | int | None = None
) -> FileSystem:
    """Open the file system of a container.

    Parameters
    ----------
    location : str or path
        POOL/CONTAINER. 'stepstore cont create --type posix' makes one.
    read_only : bool, optional
        Refuse all writes through it.
    snapshot : str or int, optional
        The name or epoch of a snapshot: the file system as it was then, for reading.

    Returns
    -------
    FileSystem
        The open file system.

    Raises
    ------
    Error
        DER_NONEXIST: there is no such container. DER_INVAL: it has no file system. DER_CSUM: its file system
        is damaged as a whole.
    """
    text = os.fspath(location)
    pool, container, rest, _ = _core.split_location(text)
    if not container or rest:
        raise Error(DER_INVAL, f"{text}: this names no container: give POOL/CONTAINER")
    epoch = None
    with (
        Pool.connect(pool, read_only=True) as opened,
        opened.open_container(container, read_only=True) as box,
    ):
        if snapshot is not None:
            epoch = box.epoch_of(snapshot)
    found = find_file_system(pool, container, read_only=read_only or epoch is not None, epoch=epoch)
    if found is None:
        raise Error(
            DER_INVAL,
            f"{text}: this container has no file system: make one with 'stepstore cont create --type posix'"
            + hint(text),
        )
    return found
