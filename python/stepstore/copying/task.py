"""What a copy is told, and what it tells: its options, both of its ends, how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from stepstore.errors import DER_CANCELED, DER_CSUM, DER_EXIST, Error
from stepstore.store import ObjectId


@dataclass
class Options:
    verify: bool = True
    dry_run: bool = False
    take_over: bool = False
    threads: int = 4
    chunk_size: int | None = None  # of byte arrays that do not keep it
    cell_size: int = 1


class Report:
    """What a copy did, and how far it is. progress: is told of bytes to do, and of bytes done."""

    def __init__(self, progress: Callable[[int, int], None] = lambda to_do, done: None):
        self.progress = progress
        self._stopped = False
        self._lock = threading.Lock()
        self.notes: list[str] = []
        self.objects = self.bytes = self.compared = self.containers = self.streams = 0
        self.resumed = False
        self.complete = False  # all was there already, the same as the source

    def expect(self, count: int) -> None:
        with self._lock:
            self.progress(count, 0)

    def copied(self, count: int) -> None:
        with self._lock:
            self.bytes += count
            self._moved(count)

    def was_compared(self, count: int) -> None:
        with self._lock:
            self.compared += count
            self._moved(count)

    def stop(self) -> None:
        """From now on the next piece that any thread has moved ends its work."""
        self._stopped = True

    def _moved(self, count: int) -> None:
        self.progress(0, count)
        if self._stopped:
            raise Error(DER_CANCELED, "the copy was stopped")

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def make_or_compare(
    make: Callable[[], None], compare: Callable[[], None], other: Callable[[Error], Error] | None = None
) -> bool:
    """Whether something was made. False: it was there already, and is the same as the source. If it differs,
    the error is what other makes of the difference, else the DER_EXIST of make."""
    try:
        make()
    except Error as error:
        if error.code != DER_EXIST:
            raise
        try:
            compare()
        except Error as difference:
            if other and difference.code == DER_CSUM:  # else it is an unfinished copy, say, and no stream yet
                raise other(difference) from error
            raise error from difference
        return False
    return True


@dataclass(frozen=True)
class Place:
    """A container, and in it a stream, an object, or (neither) all of it."""

    pool: str
    container: str
    stream: str = ""
    oid: ObjectId | None = None

    @property
    def part(self) -> str:
        return self.stream or (str(self.oid) if self.oid else "")

    def __str__(self) -> str:
        return "/".join(filter(None, (self.pool, self.container, self.part)))
