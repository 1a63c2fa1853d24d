"""File systems in containers: their directories, files and symbolic links."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import Any

from stepstore import _core
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.file_paths import as_error
from stepstore.file_system import Entry, FileStatus, FileSystem
from stepstore.view.node import Broken, Inside, Node


class Content:
    """The bytes of an open file, read as the cells of an array are."""

    cell_size = 1

    def __init__(self, file: _core.File, place: str):
        self._file, self._place = file, place
        self.size = file.size()

    def read(self, first: int, cells: int) -> bytes:
        with errors(self._place):
            return self._file.read(first, cells)


class EntryNode(Node):
    """A file, directory or link. path: below the root, which is "". status: if it is known already."""

    def __init__(self, inside: Inside, path: str, status: FileStatus, name: str = ""):
        super().__init__(name or path.rpartition("/")[2] or ".", f"{inside.place}/{path}".rstrip("/"))
        self._inside, self.path = inside, path
        self.status = status
        self.kind = status.kind

    @property
    def files(self) -> FileSystem:
        return file_system_of(self._inside)

    def facts(self) -> dict[str, Any]:
        status = self.status
        told: dict[str, Any] = {} if self.kind == "directory" else {"size": status.size}
        if self.kind == "link":
            with errors(self._inside.place):
                told["target"] = self.files.readlink(self.path)
        told["mode"] = stat.filemode(status.mode)
        told["owner"] = f"{status.uid}:{status.gid}"
        return {**told, "modified": status.modified / 1e9}

    def attributes(self) -> dict[str, Any]:
        with errors(self._inside.place):
            found = self.files.attributes(self.path, follow=False)
        return {name: value.decode("utf-8", "backslashreplace") for name, value in found.items()}

    def children(self, everything: bool = False) -> Iterator[Node]:
        if self.kind != "directory":
            return
        with errors(self._inside.place):
            found = self.files.entries(self.path)
        for entry in found:
            yield self._child(entry)

    def _child(self, entry: Entry) -> Node:
        path = f"{self.path}/{entry.name}".lstrip("/")
        if entry.status is None:
            error = as_error(OSError(errno.EIO, entry.error, f"/{path}"), self._inside.place)
            return Broken(entry.name or "?", f"{self._inside.place}/{path}", error)
        return EntryNode(self._inside, path, entry.status)

    def used(self) -> int:
        if self.kind == "file":
            return self.status.size
        return super().used()

    def followed(self) -> EntryNode:
        """Of a link, what it points to."""
        if self.kind != "link":
            return self
        with errors(self._inside.place):
            return EntryNode(self._inside, self.path, self.files.status(self.path))

    @contextlib.contextmanager
    def opened(self) -> Iterator[Content]:
        """A file, for `cat`."""
        if self.kind != "file":
            raise Error(DER_INVAL, f"{self.location} is a {self.kind}: give a file")
        with errors(self._inside.place):
            file = self.files.open_raw(self.path, os.O_RDONLY)
        try:
            yield Content(file, self.location)
        finally:
            file.close()

    def data(self) -> Any:
        with self.opened() as content:
            return content.read(0, content.size)


@contextlib.contextmanager
def errors(place: str) -> Iterator[None]:
    """Those of the file system as those of the store, which nodes have."""
    try:
        yield
    except OSError as error:
        raise as_error(error, place) from error


def file_system_of(inside: Inside) -> FileSystem:
    found = inside.files
    assert found is not None  # who asks has looked
    return found


def named_entry(inside: Inside, path: str) -> EntryNode | None:
    """What a path names; None: nothing. A symbolic link at its end is not followed, but with a '/'."""
    files = file_system_of(inside)
    wanted = "/".join(part for part in path.split("/") if part not in ("", "."))
    try:
        status = files.status(path, follow=path.endswith("/"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise as_error(error, inside.place) from error
    return EntryNode(inside, wanted, status)


def no_entry(inside: Inside, path: str) -> Error:
    return Error(
        DER_NONEXIST,
        f"{inside.place}: its file system has no file or directory {path!r}: 'stepstore ls -r "
        f"{inside.place}' lists what it has",
    )
