"""The filesystem stepstore:// of fsspec: blobs of containers as files, for pandas, pyarrow, kerchunk. ::

    pandas.read_parquet("stepstore://out/run.pool/tables/cells.parquet")

A path is POOL/CONTAINER/KEY. The longest beginning that is a pool is the pool: a path, "local:LABEL",
"rados://CEPHPOOL/NAMESPACE" or "daos://POOL". What follows are a container and the key of a blob
(stepstore.blobs). A pool and its containers are directories. Writing makes a container that is missing, and
never a pool.

A file appears whole when it is closed; one that a `with` block leaves by an exception does not appear. A file
that is open for reading shows one version. A directory is where keys say so, and where mkdir() made one.

POOL/CONTAINER/.objects has the key-values and arrays of other programs, by id (stepstore.object_files).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem  # type: ignore[import-untyped]
from fsspec.utils import stringify_path  # type: ignore[import-untyped]

from stepstore import _core
from stepstore.blobs import BlobReader, Blobs, BlobWriter, Place, find_place, open_blobs
from stepstore.errors import DER_NONEXIST, Error
from stepstore.object_files import ArrayReader, ObjectFiles, ValueReader, is_object
from stepstore.store import Pool

_READ_AHEAD = 256 << 10
_WRITE_PIECE = 8 << 20
_Reader = BlobReader | ValueReader | ArrayReader


class StepstoreFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """read_only: refuses to write. snapshot: name or epoch: containers as they were then; read-only.
    chunk_size (cells), cell_size (bytes): of arrays below .objects that do not keep them.

    Errors: FileNotFoundError, FileExistsError, IsADirectoryError, and stepstore.Error for what the store
    says (DER_CSUM: damaged; DER_NO_PERM: read-only).
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
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text: str = stringify_path(path)
        text = text.removeprefix("stepstore://").removeprefix("stepstore:")
        return text if text == "/" else text.rstrip("/")

    @classmethod
    def _parent(cls, path: Any) -> str:
        parent: str = cls._strip_protocol(path).rpartition("/")[0]
        return parent

    def _place(self, path: str) -> Place:
        path = self._strip_protocol(path)
        for known, pool in self._pools.items():
            if path == known or path.startswith(known + "/"):
                container, _, key = path[len(known) + 1 :].partition("/")
                return Place(pool, container, key, True)
        if not path:
            raise FileNotFoundError("an empty path: give stepstore://POOL/CONTAINER/KEY")
        place = find_place(path)
        if not place.pool_exists:
            raise FileNotFoundError(
                f"{path}: no pool along this path: make one with 'stepstore pool create' or "
                "stepstore.Pool.create"
            )
        rest = "/".join(part for part in (place.container, place.key) if part)
        known = path.removesuffix(rest).rstrip("/")
        if "://" not in known:
            self._pools[known] = place.pool
        return place

    def _blobs(self, place: Place, *, write: bool = False) -> Blobs:
        with _as_os_error():
            if write and self._read_only:
                raise PermissionError(f"{place.pool}/{place.container}: this filesystem is read-only")
            if write and is_object(place.key):
                raise PermissionError(
                    f"{place.pool}/{place.container}/{place.key}: objects are read-only here; programs write "
                    "them with stepstore.KeyValue and stepstore.Array"
                )
            return open_blobs(
                place.pool, place.container, read_only=self._read_only or not write, snapshot=self._snapshot
            )

    def _file(self, path: str, *, write: bool = False) -> tuple[Blobs, str]:
        """The blobs and the key of a file."""
        place = self._place(path)
        if not place.key:
            raise IsADirectoryError(f"{path} is a directory: give POOL/CONTAINER/KEY")
        return self._blobs(place, write=write), place.key

    def _objects(self, place: Place) -> ObjectFiles:
        with _as_os_error():
            container = self._blobs(place).container
            epoch = None
            if self._snapshot is not None:
                with Pool.connect(place.pool, read_only=True) as pool:
                    epoch = pool.open_container(place.container, read_only=True).epoch_of(self._snapshot)
            return ObjectFiles(place.pool, container, epoch, self._cell_size, self._chunk_size)

    def _reader(self, path: str) -> _Reader:
        place = self._place(path)
        if is_object(place.key):
            return self._objects(place).open(place.key, path)
        blobs, key = self._file(path)
        reader = blobs.open(key)
        if reader is None:
            raise FileNotFoundError(path)
        return reader

    # ---- directories

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        place = self._place(path)
        directory = _directory(path)
        if not place.container:
            return directory
        if is_object(place.key):
            return self._objects(place).info(place.key, path)
        blobs = self._blobs(place)
        if not place.key:
            return directory
        found = _file_info(blobs, place.key, path)
        if found is None and blobs.is_folder(place.key):
            return directory
        if found is None:
            raise FileNotFoundError(path)
        return found

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        place = self._place(path)
        if not place.container:
            with _as_os_error(), Pool.connect(place.pool, read_only=True) as pool:
                entries = [_directory(f"{path}/{name}") for name in pool.containers()]
            return entries if detail else [entry["name"] for entry in entries]
        if is_object(place.key):
            entries = self._objects(place).ls(place.key, path)
            return entries if detail else [entry["name"] for entry in entries]
        blobs = self._blobs(place)
        names = blobs.children(place.key)
        if not names and place.key and not blobs.is_folder(place.key):
            one = self.info(path)
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
        place = self._place(path)
        if maxdepth is not None or withdirs or not place.container or is_object(place.key):
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail)
        path = self._strip_protocol(path)
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

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        place = self._place(path)
        if not place.container or (place.key and self._blobs(place, write=True).is_folder(place.key)):
            raise FileExistsError(path)
        if not place.key:
            self._make_container(place, path)
        elif not create_parents and not self.exists(self._parent(path)):
            raise FileNotFoundError(self._parent(path))
        else:
            self.makedirs(path, exist_ok=True)

    def _make_container(self, place: Place, path: str) -> None:
        if self._read_only:
            raise PermissionError(f"{path}: this filesystem is read-only")
        with _as_os_error(), Pool.connect(place.pool) as pool:
            if place.container in pool.containers():
                raise FileExistsError(path)
            pool.open_or_create_container(place.container).close()

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        place = self._place(path)
        if not exist_ok and self.isdir(path):
            raise FileExistsError(path)
        if not place.container:
            return
        blobs = self._blobs(place, write=True)
        parts = place.key.split("/") if place.key else []
        for end in range(1, len(parts) + 1):
            folder = "/".join(parts[:end]) + "/"
            if not blobs.exists(folder):
                blobs.make_folder(folder)

    def rmdir(self, path: str) -> None:
        """Removes an empty directory, or a container without objects."""
        place = self._place(path)
        if not place.container:
            raise PermissionError(f"{path} is a pool: remove it with 'stepstore pool destroy'")
        blobs = self._blobs(place, write=True)
        if blobs.children(place.key):
            raise OSError(f"{path}: this directory is not empty")
        if place.key:
            if not blobs.delete(place.key + "/"):
                raise FileNotFoundError(path)
            return
        blobs.leave()
        if _core.container_objects(place.pool, place.container, sizes=False):
            raise OSError(f"{path}: this container has objects that are no files: remove it with its pool's")
        with _as_os_error(), Pool.connect(place.pool) as pool:
            pool.destroy_container(place.container, force=True)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        if maxdepth is not None:
            super().rm(path, recursive=recursive, maxdepth=maxdepth)
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
        blobs = self._blobs(place, write=True)
        blobs.delete_folder(place.key)
        if place.key:
            blobs.delete(place.key)

    def rm_file(self, path: str) -> None:
        if self.isdir(path):
            self.rmdir(path)
            return
        blobs, key = self._file(path, write=True)
        if not blobs.delete(key):
            raise FileNotFoundError(path)

    _rm = rm_file

    # ---- files

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        place = self._place(path)
        if is_object(place.key):
            return self._objects(place).open(place.key, path).read(start or 0, end)
        blobs, key = self._file(path)
        data = blobs.read(key, start or 0, end)
        if data is None:
            raise FileNotFoundError(path)
        return bytes(data)

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **_: Any) -> None:
        blobs, key = self._file(path, write=True)
        if not blobs.write(key, value, new=mode == "create"):
            raise FileExistsError(path)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        if self.isdir(path1):
            self.makedirs(path2, exist_ok=True)
            return
        target, new = self._file(path2, write=True)
        if is_object(self._place(path1).key):
            reader = self._reader(path1)
            with target.writer(new) as writer:
                for at in range(0, reader.size, _WRITE_PIECE):
                    writer.write(reader.read(at, at + _WRITE_PIECE))
            return
        source, old = self._file(path1)
        if not source.copy(old, new, into=target):
            raise FileNotFoundError(path1)

    def touch(self, path: str, truncate: bool = True, **_: Any) -> None:
        blobs, key = self._file(path, write=True)
        if truncate:
            blobs.write(key, b"")
        elif blobs.write(key, b"", new=True) is False:
            blobs.copy(key, key)

    def created(self, path: str) -> datetime.datetime:
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
    ) -> StepstoreFile:
        with _as_os_error():
            return StepstoreFile(
                self,
                path,
                mode,
                block_size or (_READ_AHEAD if mode == "rb" else _WRITE_PIECE),
                autocommit=autocommit,
                **kwargs,
            )


class StepstoreFile(AbstractBufferedFile):  # type: ignore[misc]
    """A blob that is read at one version, or written whole."""

    def __init__(self, fs: StepstoreFileSystem, path: str, mode: str, block_size: int, **kwargs: Any) -> None:
        self.closed = True  # nothing to close if this fails
        self._reader: _Reader | None = None
        self._writer: BlobWriter | None = None
        if mode == "rb":
            self._reader = fs._reader(path)
            super().__init__(fs, path, mode, block_size, **{**kwargs, "size": self._reader.size})
            return
        blobs, key = fs._file(path, write=True)
        if mode == "xb" and blobs.exists(key):
            raise FileExistsError(path)
        super().__init__(fs, path, mode, block_size, **kwargs)
        self._writer = blobs.writer(key, new=mode == "xb")
        if mode == "ab":
            self._writer.write(blobs.read(key) or b"")
            self.loc = self._writer.size

    def _fetch_range(self, start: int, end: int) -> bytes:
        assert self._reader is not None
        with _as_os_error():
            return bytes(self._reader.read(start, end))

    def _upload_chunk(self, final: bool = False) -> bool:
        assert self._writer is not None
        self._writer.write(self.buffer.getbuffer())
        if final and self.autocommit:
            self.commit()
        return True

    def commit(self) -> None:
        """Lets the file appear."""
        assert self._writer is not None
        if not self._writer.close():
            raise FileExistsError(self.path)

    def discard(self) -> None:
        """The file stays as it was."""
        if self._writer is not None:
            self._writer.discard()
        self.forced = self.closed = True

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None and self._writer is not None:
            self.discard()
        self.close()

    def __del__(self) -> None:
        # One that nobody closed does not appear.
        if not self.closed and self._writer is not None:
            self.discard()


def _directory(name: str) -> dict[str, Any]:
    return {"name": name, "size": 0, "type": "directory"}


def _file_info(blobs: Blobs, key: str, name: str) -> dict[str, Any] | None:
    found = blobs.info(key)
    if found is None:
        return None
    seconds, nanoseconds = divmod(found.modified, 10**9)
    time = datetime.datetime.fromtimestamp(seconds, datetime.UTC).replace(microsecond=nanoseconds // 1000)
    return {"name": name, "size": found.size, "type": "file", "mtime": time, "number": found.number}


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except Error as error:
        if error.code == DER_NONEXIST:
            raise FileNotFoundError(str(error)) from error
        raise
