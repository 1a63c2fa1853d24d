"""The filesystem stepstore:// of fsspec: blobs of containers as files, for pandas, pyarrow, kerchunk. ::

    pandas.read_parquet("stepstore://out/run.pool/tables/cells.parquet")

A path is POOL/CONTAINER/KEY. The longest beginning that is a pool is the pool: a path, "local:LABEL",
"rados://CEPHPOOL/NAMESPACE" or "daos://POOL". What follows are a container and the key of a blob
(stepstore.blobs). A pool and its containers are directories. Writing makes a container that is missing, and
never a pool. Paths are absolute. Empty parts and '.' count for nothing, and '..' is refused after the pool.

A file appears whole when it is closed; one that a `with` block leaves by an exception does not appear. A file
that is open for reading shows one version. A directory is where keys say so, and where mkdir() made one. A
name may be a file and a directory.

rmdir() and rm() of a container hide it while it has no files, and do not destroy it, since others may write a
file at this moment. Pool.destroy_container destroys it.

A container with a file system (stepstore.file_system) shows its files: stepstore.blobs.stored_files.

POOL/CONTAINER/.objects has the key-values and arrays of other programs, by id (stepstore.blobs.object_files).
"""

from __future__ import annotations

import datetime
import errno
import functools
import re
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from glob import has_magic
from typing import Any

from fsspec.spec import AbstractFileSystem  # type: ignore[import-untyped]
from fsspec.utils import stringify_path  # type: ignore[import-untyped]

from stepstore import _core
from stepstore.blobs import OBJECTS, Blobs, Place, find_place, open_blobs, pool_identity
from stepstore.errors import DER_INVAL, Error
from stepstore.blobs.file import Reader, StepstoreFile, as_os_error
from stepstore.blobs.object_files import ObjectFiles, is_object
from stepstore.blobs.stored_files import StoredFiles, copy_bytes
from stepstore.kinds import ZARR_KEYS, hint, openers_at
from stepstore.store import Pool

_READ_AHEAD = 256 << 10
_WRITE_PIECE = 8 << 20
_CHUNK = re.compile(r"(^|/)\d+(\.\d+)*$")
# What a call over many files used last stays open until it ends: opening takes longer than a small file.
_MOST_KEPT = 8
_kept: ContextVar[deque[Blobs] | None] = ContextVar("kept", default=None)


def _over_many(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        if _kept.get() is not None:
            return method(*args, **options)
        token = _kept.set(deque(maxlen=_MOST_KEPT))
        try:
            return method(*args, **options)
        finally:
            _kept.reset(token)

    return call


class StepstoreFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """The filesystem stepstore:// of fsspec. `fsspec.filesystem("stepstore")` makes one.

    Parameters
    ----------
    read_only : bool, optional
        Refuse to write.
    snapshot : str or int, optional
        The name or epoch of a snapshot, to read containers as they were then.
    cell_size : int, optional
        Bytes of a cell, for arrays below .objects that do not keep it.
    chunk_size : int, optional
        Cells of a chunk, for arrays below .objects that do not keep it.
    **options : object
        What fsspec's own class takes.

    Raises
    ------
    FileNotFoundError, FileExistsError, IsADirectoryError, PermissionError
        As of other filesystems.
    Error
        DER_CSUM: a file is damaged. DER_NO_PERM: the pool is read-only for this user.
    """

    protocol = "stepstore"
    root_marker = ""

    def __init__(
        self,
        *,
        read_only: bool = False,
        snapshot: str | int | None = None,
        cell_size: int = 1,
        chunk_size: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            read_only=read_only, snapshot=snapshot, cell_size=cell_size, chunk_size=chunk_size, **options
        )
        self._cell_size, self._chunk_size = cell_size, chunk_size
        self._read_only = read_only or snapshot is not None
        self._snapshot = snapshot
        self._pools: dict[str, str] = {}  # the beginning of a path, and the pool's location

    # ---- paths

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        """The one spelling of a path, which all calls use."""
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text: str = stringify_path(path)
        text = text.removeprefix("stepstore://").removeprefix("stepstore:")
        try:
            return _core.absolute_location(text) if text else ""
        except Error as error:
            raise OSError(errno.EINVAL, str(error)) from error

    @classmethod
    def _parent(cls, path: Any) -> str:
        parent: str = cls._strip_protocol(path).rpartition("/")[0]
        return parent

    def _place(self, path: str) -> Place:
        path = self._strip_protocol(path)
        for known, pool in self._pools.items():
            if (path == known or path.startswith(known + "/")) and ".." not in path.split("/"):
                container, _, key = path[len(known) + 1 :].partition("/")
                return Place(pool, container, key, True)
        if not path:
            raise FileNotFoundError("an empty path: give stepstore://POOL/CONTAINER/KEY")
        try:
            place = find_place(path)
        except Error as error:
            if error.code != DER_INVAL:
                raise
            raise OSError(errno.EINVAL, str(error)) from error
        if not place.pool_exists:
            raise FileNotFoundError(
                f"{path}: no pool along this path: make one with 'stepstore pool create' or "
                "stepstore.Pool.create"
            )
        rest = "/".join(part for part in (place.container, place.key) if part)
        known = path.removesuffix(rest).rstrip("/")
        if _core.capabilities(known).directory:
            self._pools[known] = place.pool
        return place

    def _blobs(self, place: Place, *, write: bool = False, make: bool = True) -> Blobs:
        """make: a container that is missing, to write; else FileNotFoundError."""
        with as_os_error():
            if write and self._read_only:
                raise PermissionError(f"{place.pool}/{place.container}: this filesystem is read-only")
            if write and is_object(place.key):
                raise PermissionError(
                    f"{place.pool}/{place.container}/{place.key}: objects are read-only here; programs write "
                    "them with stepstore.KeyValue and stepstore.Array"
                )
            if write and not make:
                open_blobs(place.pool, place.container, read_only=True)
            opened = open_blobs(
                place.pool, place.container, read_only=self._read_only or not write, snapshot=self._snapshot
            )
        if (kept := _kept.get()) is not None:
            kept.append(opened)
        return opened

    def _stored(self, place: Place, *, write: bool = False, make: bool = True) -> StoredFiles | None:
        """The files of a container that has a file system; None: another one, or none yet."""
        if not place.container or not _core.capabilities(place.pool).own_store:
            return None
        try:
            all_of_it = Place(place.pool, place.container, "", True)
            blobs = self._blobs(all_of_it, write=write and not self._read_only, make=make)
        except FileNotFoundError:
            return None
        if blobs.files is None:
            return None
        if write and self._read_only:
            raise PermissionError(f"{place.pool}/{place.container}: this filesystem is read-only")
        return StoredFiles(blobs.files)

    def _same(self, place: Place) -> tuple[Any, ...]:
        """What two paths to one place have in common, through links say."""
        return pool_identity(place.pool), place.container, *filter(None, place.key.split("/"))

    def _file(self, path: str, *, write: bool = False, make: bool = True) -> tuple[Blobs, str]:
        """The blobs and the key of a file."""
        place = self._place(path)
        if not place.key:
            if not (write and make) and not self.exists(path):
                raise self._not_found(path, "")
            raise IsADirectoryError(f"{path} is a directory: give POOL/CONTAINER/KEY")
        return self._blobs(place, write=write, make=make), place.key

    def _objects(self, place: Place) -> ObjectFiles:
        with as_os_error():
            container = self._blobs(place).container
            epoch = None
            if self._snapshot is not None:
                with Pool.connect(place.pool, read_only=True) as pool:
                    epoch = pool.open_container(place.container, read_only=True).epoch_of(self._snapshot)
            return ObjectFiles(place.pool, container, epoch, self._cell_size, self._chunk_size)

    def _reader(self, path: str) -> Reader:
        place = self._place(path)
        if is_object(place.key):
            return self._objects(place).open(place.key, path)
        blobs, key = self._file(path)
        reader = blobs.open(key)
        if reader is None:
            raise IsADirectoryError(path) if blobs.is_folder(key) else self._not_found(path, key)
        return reader

    def _not_found(self, path: str, key: str) -> Exception:
        """Says what else is there, and how it is opened. Zarr takes a file that is not there for the
        end of its search, and says less: so its search at a stream or array ends with another error."""
        location = self._strip_protocol(path)
        if more := hint(location):
            return FileNotFoundError(f"{path}: there is no file{more}")
        above, _, name = location.rpartition("/")
        if name in ZARR_KEYS:
            found = openers_at(above)
            # A pool is no place for the files of a group; a container is.
            is_place = bool(key) and not all(one.exact and one.kind in ("stream", "array") for one in found)
            if found and not is_place:
                more = "".join(f"; {one.what}: {one.how}" for one in found)
                return Error(DER_INVAL, f"{above}: this is no Zarr group or array{more}")
        return FileNotFoundError(path)

    # ---- directories

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Describe a file or directory: name, size, type; of a file also when it was written."""
        path = self._strip_protocol(path)
        place = self._place(path)
        directory = _directory(path)
        if not place.container:
            return directory
        if stored := self._stored(place):
            return stored.info(place.key, path)
        if is_object(place.key):
            return self._objects(place).info(place.key, path)
        blobs = self._blobs(place)
        if not place.key:
            if blobs.is_hidden():
                raise FileNotFoundError(path)
            return directory
        found = _file_info(blobs, place.key, path)
        if found is None and blobs.is_folder(place.key):
            return directory
        if found is None:
            raise FileNotFoundError(path)
        return found

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """List a directory, or give the file itself."""
        path = self._strip_protocol(path)
        place = self._place(path)
        if not place.container:
            with as_os_error(), Pool.connect(place.pool, read_only=True) as pool:
                names = [name for name in pool.containers() if self._is_shown(place.pool, name)]
            entries = [_directory(f"{path}/{name}") for name in names]
            return entries if detail else [entry["name"] for entry in entries]
        if stored := self._stored(place):
            entries = stored.ls(place.key, path)
            return entries if detail else [entry["name"] for entry in entries]
        if is_object(place.key):
            entries = self._objects(place).ls(place.key, path)
            return entries if detail else [entry["name"] for entry in entries]
        blobs = self._blobs(place)
        names = blobs.children(place.key)
        if not names and not (place.key and blobs.is_folder(place.key)):
            one = self.info(path)
            if place.key:
                return [one] if detail else [one["name"]]
        if not detail:
            return sorted({f"{path}/{name.rstrip('/')}" for name in names})
        beginning = f"{place.key}/" if place.key else ""
        listed = []
        for name in names:
            if name.endswith("/"):
                listed.append(_directory(f"{path}/{name.rstrip('/')}"))
            elif (entry := _file_info(blobs, beginning + name, f"{path}/{name}")) is not None:
                listed.append(entry)
        return listed

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **_: Any
    ) -> Any:
        """Nothing where there is nothing, as other filesystems."""
        path = self._strip_protocol(path)
        try:
            place = self._place(path)
        except FileNotFoundError:
            return {} if detail else []
        by_walking = maxdepth is not None or withdirs or not place.container or is_object(place.key)
        if by_walking or self._stored(place):
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail)
        try:
            blobs = self._blobs(place)
        except FileNotFoundError:
            return {} if detail else []
        beginning = f"{place.key}/" if place.key else ""
        names = {f"{path}/{key[len(beginning) :]}": key for key in blobs.keys(beginning)}
        if place.key and blobs.exists(place.key):
            names[path] = place.key
        if not detail:
            return sorted(names)
        infos = {name: _file_info(blobs, names[name], name) for name in sorted(names)}
        return {name: entry for name, entry in infos.items() if entry is not None}

    def walk(self, path: str, *args: Any, **options: Any) -> Any:
        """Walk through directories, as `os.walk`."""
        held = None  # the container of all of it stays open meanwhile
        with suppress(OSError, Error):  # the base class says what is wrong
            place = self._place(path)
            held = self._blobs(place) if place.container else None
        yield from super().walk(path, *args, **options)
        del held

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Make a directory. A container that is missing is made, a pool never."""
        place = self._place(path)
        self._require_writable(place, path)
        if self.exists(path):
            raise FileExistsError(path)
        if place.key and not create_parents and not self.exists(self._parent(path)):
            raise FileNotFoundError(self._parent(path))
        self.makedirs(path, exist_ok=True)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a directory and those above it."""
        place = self._place(path)
        self._require_writable(place, path)
        if not exist_ok and self.exists(path):
            raise FileExistsError(path)
        if not place.container:
            return
        if stored := self._stored(place, write=True):
            stored.makedirs(place.key, path, exist_ok)
            return
        blobs = self._blobs(place, write=True)
        blobs.show()
        parts = place.key.split("/") if place.key else []
        for end in range(1, len(parts) + 1):
            folder = "/".join(parts[:end]) + "/"
            if not blobs.exists(folder):
                blobs.make_folder(folder)

    def rmdir(self, path: str) -> None:
        """Removes an empty directory. A container without objects is hidden: it is a directory again when it
        gets a file, or by mkdir()."""
        place = self._place(path)
        if not place.container:
            raise PermissionError(f"{path} is a pool: remove it with 'stepstore pool destroy'")
        if stored := self._stored(place, write=True, make=False):
            stored.rmdir(place.key, path)
            return
        blobs = self._blobs(place, write=True, make=False)
        if blobs.children(place.key):
            raise OSError(errno.ENOTEMPTY, "this directory is not empty", path)
        if place.key:
            if not blobs.delete(place.key + "/"):
                raise FileNotFoundError(path)
            return
        if blobs.is_hidden():
            raise FileNotFoundError(path)
        if not self._hide(place, blobs):
            raise OSError(
                errno.ENOTEMPTY,
                "this container has objects that are no files: remove it with Pool.destroy_container",
                path,
            )

    def _hide(self, place: Place, blobs: Blobs) -> bool:
        """False: the container has objects that are no files."""
        found = _core.container_objects(place.pool, place.container, sizes=False)
        if any(one["hi"] & 0xFFFFFFFF not in OBJECTS for one in found):
            return False
        blobs.hide()
        return True

    def _is_shown(self, pool: str, container: str) -> bool:
        try:
            return not self._blobs(Place(pool, container, "", True)).is_hidden()
        except FileNotFoundError:  # destroyed meanwhile, or not there yet at the snapshot
            return False

    def _require_writable(self, place: Place, path: str) -> None:
        if self._read_only:
            raise PermissionError(f"{path}: this filesystem is read-only")
        if is_object(place.key):
            self._blobs(place, write=True)  # says why not

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove files, and with `recursive` directories. A pool is refused."""
        if maxdepth is not None:
            for one in reversed(self.expand_path(path, recursive=recursive, maxdepth=maxdepth)):
                if self.isdir(one):
                    self.rmdir(one)
                else:
                    self.rm_file(one)
            return
        for one in self.expand_path(path, recursive=False):
            if not self.isdir(one):
                self.rm_file(one)
            elif recursive:
                self._rm_below(one)
            else:
                raise IsADirectoryError(f"{one} is a directory: remove it with recursive=True")

    def _rm_below(self, path: str) -> None:
        place = self._place(path)
        if not place.container:
            raise PermissionError(f"{path} is a pool: remove it with 'stepstore pool destroy'")
        if stored := self._stored(place, write=True, make=False):
            stored.rm_below(place.key)
            return
        blobs = self._blobs(place, write=True, make=False)
        blobs.delete_folder(place.key)
        if place.key:
            blobs.delete(place.key)
        else:
            self._hide(place, blobs)

    def rm_file(self, path: str) -> None:
        """Remove one file."""
        place = self._place(path)
        if place.key and (stored := self._stored(place, write=True, make=False)):
            stored.rm_file(place.key, path)
            return
        blobs, key = self._file(path, write=True, make=False)
        if blobs.delete(key):
            return
        if self.isdir(path):
            raise IsADirectoryError(f"{path} is a directory: remove it with rmdir, or recursive=True")
        raise FileNotFoundError(path)

    _rm = rm_file

    # ---- many files
    du, cat, pipe, get, put, copy, expand_path = map(
        _over_many,
        (
            AbstractFileSystem.du,
            AbstractFileSystem.cat,
            AbstractFileSystem.pipe,
            AbstractFileSystem.get,
            AbstractFileSystem.put,
            AbstractFileSystem.copy,
            AbstractFileSystem.expand_path,
        ),
    )

    # ---- files

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """Read a file, or a part of it."""
        place = self._place(path)
        if place.key and (stored := self._stored(place)):
            return stored.cat(place.key, path, start, end)
        if is_object(place.key):
            return self._objects(place).open(place.key, path).read(start or 0, end)
        blobs, key = self._file(path)
        data = blobs.read(key, start or 0, end)
        if data is None:
            # Of chunks that were never written many are asked for.
            raise self._not_found(path, key) if not _CHUNK.search(key) else FileNotFoundError(path)
        return bytes(data)

    def get_file(self, rpath: str, lpath: Any, **options: Any) -> None:
        """The local path is made of the names of files, which others chose: '..' is refused before anything
        local is made."""
        self._place(rpath)
        super().get_file(rpath, lpath, **options)

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **_: Any) -> None:
        """Write a whole file. With the mode "create", only if there is none."""
        place = self._place(path)
        if place.key and (stored := self._stored(place, write=True)):
            stored.pipe(place.key, value, path, mode == "create")
            return
        blobs, key = self._file(path, write=True)
        if not blobs.write(key, value, new=mode == "create"):
            raise FileExistsError(path)

    def cp_file(
        self, path1: str, path2: str, *, moved: list[tuple[str, bytes | None]] | None = None, **_: Any
    ) -> None:
        """moved: gets what was copied, for mv(); the version of a file, None for a directory."""
        place = self._place(path1)
        if self.isdir(path1):
            self.makedirs(path2, exist_ok=True)
            version = None
        elif self._stored(place) or self._stored(self._place(path2)):
            self.info(path1)  # before a container is made for it
            if self._same(place) == self._same(self._place(path2)):
                return
            copy_bytes(self.open(path1, "rb"), self.open(path2, "wb"))
            return
        elif is_object(place.key):
            reader = self._reader(path1)
            target, new = self._file(path2, write=True)
            with target.writer(new) as writer:
                for at in range(0, reader.size, _WRITE_PIECE):
                    writer.write(reader.read(at, at + _WRITE_PIECE))
            return
        else:
            source, old = self._file(path1)
            if not source.exists(old):  # before a container is made for it
                raise FileNotFoundError(path1)
            target, new = self._file(path2, write=True)
            version = source.copy(old, new, into=target)
            if version is None:
                raise FileNotFoundError(path1)
        if moved is not None:
            moved.append((path1, version))

    def mv(
        self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **kwargs: Any
    ) -> None:
        """Copies, and then removes the versions that it has copied: what is written meanwhile stays where it
        was. A directory is moved with all that is in it."""
        if isinstance(path1, str) and isinstance(path2, str) and not has_magic(path1):
            source = self._place(path1)
            self._require_writable(source, path1)
            if not source.container:
                raise PermissionError(f"{path1} is a pool: move it with 'stepstore copy'")
            recursive = self.info(path1)["type"] == "directory"
            if recursive and self.isfile(path2):
                raise FileExistsError(path2)
            names, into = self._same(source), self._same(self._place(path2))
            if names == into or (names == (*into, names[-1]) and self.isdir(path2)):
                return
            if recursive and into[: len(names)] == names:
                raise OSError(errno.EINVAL, "a directory cannot be moved into itself", path1)
            target = self._place(path2)
            if stored := self._stored(source, write=True, make=False):
                if names[:2] == into[:2] and source.key and target.key:
                    stored.move(source.key, target.key, path1)
                    return
                self.copy(path1, path2, recursive, maxdepth, on_error="raise", **kwargs)
                self.rm(path1, recursive)
                return
        moved: list[tuple[str, bytes | None]] = []
        self.copy(path1, path2, recursive, maxdepth, on_error="raise", moved=moved, **kwargs)
        for path, version in reversed(moved):
            if version is None:
                with suppress(OSError):  # one that was only where keys said so, or that others write to
                    self.rmdir(path)
                continue
            blobs, key = self._file(path, write=True, make=False)
            blobs.delete(key, version=version)

    def touch(self, path: str, truncate: bool = True, **_: Any) -> None:
        """Make an empty file, or with truncate=False say that it was written now."""
        place = self._place(path)
        if place.key and (stored := self._stored(place, write=True)):
            stored.touch(place.key, path, truncate)
            return
        blobs, key = self._file(path, write=True)
        if truncate:
            blobs.write(key, b"")
        else:
            blobs.touch(key)

    def created(self, path: str) -> datetime.datetime:
        """Give the time of `modified`: when a file was made is not kept."""
        return self.modified(path)

    def modified(self, path: str) -> datetime.datetime:
        """When the file's value was written, as UTC."""
        info = self.info(path)
        if info["type"] == "directory":
            raise IsADirectoryError(f"{path} is a directory: it has no time")
        if "mtime" not in info:
            raise OSError(f"{path}: an object does not keep when it was written")
        found: datetime.datetime = info["mtime"]
        return found

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        **kwargs: Any,
    ) -> Any:
        place = self._place(path)
        if place.key and (stored := self._stored(place, write=mode != "rb")):
            if not autocommit:
                raise NotImplementedError("a file system in a container has no transactions")
            return stored.open(place.key, path, mode)
        with as_os_error():
            return StepstoreFile(
                self,
                path,
                mode,
                block_size or (_READ_AHEAD if mode == "rb" else _WRITE_PIECE),
                autocommit=autocommit,
                **kwargs,
            )


def _directory(name: str) -> dict[str, Any]:
    return {"name": name, "size": 0, "type": "directory"}


def _file_info(blobs: Blobs, key: str, name: str) -> dict[str, Any] | None:
    found = blobs.info(key)
    if found is None:
        return None
    seconds, nanoseconds = divmod(found.modified, 10**9)
    time = datetime.datetime.fromtimestamp(seconds, datetime.UTC).replace(microsecond=nanoseconds // 1000)
    return {"name": name, "size": found.size, "type": "file", "mtime": time, "number": found.number}
