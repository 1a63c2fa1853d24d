"""Files, directories and symbolic links from one file system to another: what `stepstore cp` does.

A file is copied in pieces, and its holes stay holes. One that changes meanwhile is copied again. What fails
is told, and the rest is copied. Directories are made open to their owner, and get their modes and times when
all is in them.
"""

from __future__ import annotations

import contextlib
import errno
import re
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from stepstore.copying.sides import Folder, Kept, Source, Target, error_text
from stepstore.errors import DER_CSUM, DER_IO, Error
from stepstore.file_paths import UNFINISHED
from stepstore.file_system import Entry, FileStatus

_PIECE = 4 << 20
_BLOCK = 64 << 10  # what has no other byte than zero is left out in these
_ZEROS = bytes(_BLOCK)
_TRIES = 3
_KINDS = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
_UNFINISHED = re.compile(re.escape(UNFINISHED) + "[0-9a-f]{16}")
_ENDS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ECANCELED)  # the next file would fail too


@dataclass
class TreeOptions:
    """keep: modes, times and attributes. clobber: replace what is there. umask: of new files and directories
    without keep."""

    keep: bool = False
    clobber: bool = True
    jobs: int = 4
    umask: int = 0o022


@dataclass
class Told:
    """What was copied, and what was not. progress: as of Report."""

    progress: Callable[[int, int], None] = lambda to_do, done: None
    files: int = 0
    directories: int = 0
    links: int = 0
    bytes: int = 0
    kept: int = 0  # files that were there, without clobber
    notes: list[str] = field(default_factory=list)
    failures: list[Error] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, text: str) -> None:
        with self._lock:
            self.notes.append(text)

    def failed(self, path: str, error: OSError | Error) -> None:
        found = error
        if isinstance(error, OSError):
            code = DER_CSUM if error.errno == errno.EIO else DER_IO
            found = Error(code, error_text(error, path))
        with self._lock:
            self.failures.append(found)  # type: ignore[arg-type]

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            setattr(self, what, getattr(self, what) + number)

    def moved(self, to_do: int, done: int) -> None:
        with self._lock:
            self.bytes += done
            self.progress(to_do, done)


class TreeCopy:
    """Copies entries of one folder into another. `with` waits for what is under way."""

    def __init__(self, options: TreeOptions, told: Told):
        self._options, self._told = options, told
        self._threads = ThreadPoolExecutor(options.jobs)
        self._stopped = threading.Event()

    def __enter__(self) -> TreeCopy:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._stopped.set()
        self._threads.shutdown(wait=True, cancel_futures=kind is not None)

    def entry(self, source: Folder, name: str, target: Folder, new_name: str) -> None:
        """One entry under a name of the target."""
        with self._files() as files:
            self._entry(source, Entry(name, None, ""), target, new_name, files)

    def folder(self, source: Folder, status: FileStatus, target: Folder, new_name: str) -> None:
        """A folder with all that is in it, under a name of the target."""
        is_new = target.status(new_name) is None
        with contextlib.closing(target.make_folder(new_name)) as new:
            self.contents(source, new)
            kept = Kept(status, source.attributes()) if self._options.keep else None
            if is_new or kept:
                self._lost(source.path, new.finish(self._permissions(status), kept))
        self._told.count("directories")

    def contents(self, source: Folder, target: Folder) -> None:
        """All that is in a folder. The target's own mode and times stay."""
        with self._files() as files:
            for entry in source.entries():
                self._entry(source, entry, target, entry.name, files)

    @contextlib.contextmanager
    def _files(self) -> Iterator[set[Future[None]]]:
        """What is copied by threads in one folder; ends when they have."""
        files: set[Future[None]] = set()
        try:
            yield files
            self._await(files, 0)
        except BaseException:
            self._stopped.set()
            wait(files)  # they use the folder
            raise

    def _await(self, files: set[Future[None]], most: int) -> None:
        while len(files) > most:
            done, rest = wait(files, return_when=FIRST_COMPLETED)
            files.intersection_update(rest)
            for one in done:
                one.result()

    def _entry(
        self, source: Folder, entry: Entry, target: Folder, new_name: str, files: set[Future[None]]
    ) -> None:
        path = source.below(entry.name)
        with self._told_of(path):
            if entry.error:
                raise OSError(errno.EIO, entry.error)
            if _UNFINISHED.fullmatch(entry.name):
                self._told.note(f"{path} is a file that is not whole: it was left out")
                return
            status = entry.status or source.status(entry.name)
            if status is None:
                return  # removed meanwhile
            if stat.S_IFMT(status.mode) not in _KINDS:
                raise OSError(errno.ENOTSUP, "this is a device, a pipe or a socket, which is not copied")
            if not self._may_replace(status, target, new_name):
                return
            if status.kind == "directory":
                self._directory(source, entry.name, status, target, new_name)
            elif status.kind == "link":
                modified = status.modified if self._options.keep else None
                target.symlink(source.readlink(entry.name), new_name, modified)
                self._told.count("links")
            else:
                self._await(files, self._options.jobs * 4)
                self._told.moved(status.size, 0)
                files.add(self._threads.submit(self._file, source, entry.name, target, new_name))

    @contextlib.contextmanager
    def _told_of(self, path: str) -> Iterator[None]:
        """Of what fails here the rest does not end, but if it would fail too."""
        try:
            yield
        except RecursionError:
            self._told.failed(path, OSError(errno.ELOOP, "its directories are nested too deeply"))
        except OSError as error:
            self._told.failed(path, error)
            if error.errno in _ENDS:
                self._stopped.set()
                raise

    def _may_replace(self, status: FileStatus, target: Folder, name: str) -> bool:
        there = target.status(name)
        if there is None:
            return True
        is_directory = stat.S_ISDIR(there.mode)
        if is_directory != (status.kind == "directory"):
            what = "a directory" if is_directory else "no directory"
            raise OSError(errno.EEXIST, f"it is not copied over {target.below(name)}, which is {what}")
        if is_directory or self._options.clobber:
            return True
        self._told.count("kept")
        return False

    def _permissions(self, status: FileStatus) -> int:
        return status.mode & 0o777 & ~self._options.umask

    def _directory(
        self, source: Folder, name: str, status: FileStatus, target: Folder, new_name: str
    ) -> None:
        with contextlib.closing(source.folder(name)) as old:
            self.folder(old, status, target, new_name)

    def _lost(self, path: str, names: list[str]) -> None:
        if names:
            self._told.note(f"{path}: the target cannot keep its attributes {', '.join(names)}")

    def _file(self, source: Folder, name: str, target: Folder, new_name: str) -> None:
        if self._stopped.is_set():
            return
        path = source.below(name)
        with self._told_of(path), contextlib.closing(source.open(name)) as old:
            for _ in range(_TRIES):
                before = old.status()
                new = target.create(self._permissions(before))
                try:
                    self._bytes(old, new, before.size)
                    if self._stopped.is_set():
                        return
                    kept = Kept(before, old.attributes()) if self._options.keep else None
                    after = old.status()
                    if (after.size, after.modified) == (before.size, before.modified):
                        self._lost(path, new.finish(new_name, before.size, kept))
                        self._told.count("files")
                        return
                finally:
                    new.discard()  # nothing, if it has its name
            raise OSError(
                errno.EBUSY, f"it changed during each of {_TRIES} copies: nothing was put at the target"
            )

    def _bytes(self, old: Source, new: Target, size: int) -> None:
        at = 0
        while at < size and not self._stopped.is_set():
            data = min(old.data_from(at), size)
            self._told.moved(0, data - at)
            at = data
            piece = old.read(at, min(_PIECE, size - at)) if at < size else b""
            if not piece:
                return  # the file became shorter, as its status will say
            for first, last in _written(piece):
                new.write(at + first, memoryview(piece)[first:last])
            at += len(piece)
            self._told.moved(0, len(piece))


def _written(piece: bytes) -> Iterator[tuple[int, int]]:
    """The parts of a piece that are not only zeros."""
    begin = None
    for at in range(0, len(piece), _BLOCK):
        block = piece[at : at + _BLOCK]
        if block == _ZEROS[: len(block)]:
            if begin is not None:
                yield begin, at
            begin = None
        elif begin is None:
            begin = at
    if begin is not None:
        yield begin, len(piece)
