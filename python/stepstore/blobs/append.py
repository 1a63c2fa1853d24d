"""Bytes at the end of a blob (stepstore.blobs), also while others append to it.

1. The old bytes and the new ones go to a fresh value. 2. One conditional put replaces the old entry, if it is
still there. Otherwise somebody was faster: the appender begins again after those bytes. So of several each
gets its turn, and no byte is lost or comes twice. A reader sees the bytes before an append or after it.
"""

from __future__ import annotations

from typing import Any

from stepstore.blobs import PIECE, Blobs, BlobWriter
from stepstore.errors import DER_NONEXIST, Error


class BlobAppender:
    """Writes bytes after those of a blob. `close` publishes them.

    They come also after what others put or appended meanwhile. Leaving `with` by an exception, and `discard`,
    publish nothing.

    Parameters
    ----------
    blobs : Blobs
        The blobs of the container.
    key : str
        The key.
    """

    def __init__(self, blobs: Blobs, key: str):
        self._blobs = blobs
        self._key = key
        self._begin()

    def _begin(self) -> None:
        """With what the blob has now."""
        while True:
            reader = self._blobs.open(self._key)
            self._writer = BlobWriter(self._blobs, self._key)
            self._before = reader.entry if reader else None
            self._size_before = reader.size if reader else 0
            if reader is None:
                return
            try:
                reader.copy_to(self._writer)
                return
            except Error as error:
                self._writer.discard()
                if error.code != DER_NONEXIST or reader.is_current():
                    raise

    @property
    def size(self) -> int:
        """The bytes of the whole blob, as it would be without the others."""
        return self._writer.size

    def write(self, data: Any) -> None:
        """Write bytes after those written so far.

        Parameters
        ----------
        data : bytes or array
            The bytes. Of an array, element after element.
        """
        self._writer.write(data)

    def close(self) -> bool:
        """Publish the bytes. A second call does nothing.

        Returns
        -------
        bool
            Always True.
        """
        if self._writer.closed:
            return True
        while not self._writer.close_if(self._before):
            last, begin = self._writer, self._size_before
            try:
                self._begin()
                for start in range(begin, last.size, PIECE):
                    self._writer.write(last.read(start, start + PIECE))
            finally:
                last.discard()
        return True

    def discard(self) -> None:
        """Publish nothing: the blob stays as it was."""
        self._writer.discard()

    def __enter__(self) -> BlobAppender:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()
