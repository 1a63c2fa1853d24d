"""An open file of the filesystem stepstore:// (stepstore.blobs.filesystem)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem  # type: ignore[import-untyped]

from stepstore._core import BlobReader
from stepstore.blobs import BlobWriter
from stepstore.buffers import memory_of
from stepstore.errors import DER_NONEXIST, Error
from stepstore.blobs.object_files import ArrayReader, ValueReader

__all__ = ["StepstoreFile"]

Reader = BlobReader | ValueReader | ArrayReader


class StepstoreFile(AbstractBufferedFile):  # type: ignore[misc]
    """A blob that is read at one version, or written whole.

    Parameters
    ----------
    fs : StepstoreFileSystem
        The filesystem.
    path : str
        The path of the file.
    mode : {"rb", "wb", "xb", "ab"}
        As of `open`.
    block_size : int
        Bytes to read ahead, or of a piece to write.
    **kwargs : object
        What fsspec's own class takes.
    """

    def __init__(self, fs: AbstractFileSystem, path: str, mode: str, block_size: int, **kwargs: Any) -> None:
        self.closed = True  # nothing to close if this fails
        self._reader: Reader | None = None
        self._writer: BlobWriter | None = None
        if mode == "rb":
            self._reader = fs._reader(path)
            super().__init__(fs, path, mode, block_size, **{**kwargs, "size": self._reader.size})
            return
        blobs, key = fs._file(path, write=True)
        if mode == "xb" and blobs.exists(key):
            raise FileExistsError(path)
        super().__init__(fs, path, mode, block_size, **kwargs)
        if mode == "ab":
            self._writer = blobs.appender(key)
            self.loc = self._writer.size
        else:
            self._writer = blobs.writer(key, new=mode == "xb")

    def write(self, data: Any) -> int:
        """Bytes, or any array, element after element. Returns how many bytes."""
        if isinstance(data, str):
            raise TypeError("a file in binary mode takes bytes or an array, not str: open it with mode 'w'")
        written: int = super().write(memory_of(data))
        return written

    def _fetch_range(self, start: int, end: int) -> bytes:
        assert self._reader is not None
        with as_os_error():
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


@contextmanager
def as_os_error() -> Iterator[None]:
    """Raise FileNotFoundError in place of a stepstore.Error with DER_NONEXIST.

    Yields
    ------
    None
        Nothing.

    Raises
    ------
    FileNotFoundError
        What the block needs is not there.
    """
    try:
        yield
    except Error as error:
        if error.code == DER_NONEXIST:
            raise FileNotFoundError(str(error)) from error
        raise
