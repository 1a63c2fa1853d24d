"""What a lazy array needs to read a stream in any thread and any process: where it is, and open readers."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from stepstore import _core
from stepstore.errors import Error
from stepstore.process import PerProcess
from stepstore.steps import Steps, open_steps

# Readers that nobody uses now, of all datasets. The oldest are closed first.
_MOST_IDLE = 16
_STALE = -2007


class Closes(Protocol):
    def close(self) -> None: ...


Reader = TypeVar("Reader", bound=Closes)


class OpenStream:
    """A reader, which serves one thread at a time. The numbers of variables are its own."""

    def __init__(self, steps: Steps):
        self.steps = steps

    def read(
        self, name: str, kind: str, number: int, start: Sequence[int], count: Sequence[int], into: Any
    ) -> None:
        """The box start, count of a variable in a step into memory of that shape, which is contiguous.
        The first dimension of a local array is its blocks."""
        if 0 in count:
            return
        handle, turned, variable = self.steps._handle, self.steps._turned, self.steps._id(name)
        with self.steps._naming(name, number):
            if kind == "local array":
                for block, part in enumerate(into, start[0]):
                    box = turned(start[1:]), turned(count[1:])
                    handle.get_block(variable, block, *box, _memory(part), number)
            else:
                handle.get(variable, turned(start), turned(count), _memory(into), number)

    def close(self) -> None:
        self.steps.close()


def _memory(data: Any) -> Any:
    """Fields that overlap cannot be handed over, their bytes can."""
    return data if data.dtype.names is None else data.view(f"V{data.dtype.itemsize}")


class Shared(Generic[Reader]):
    """Where readers of one kind come from: they are used again, each by one thread at a time. It can be
    hashed and pickled."""

    @contextlib.contextmanager
    def opened(self) -> Iterator[Reader]:
        """A reader for this thread alone. After an error it is not used again."""
        reader = _idle.get().take(self) or self._open()
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        _idle.get().give(self, reader)

    def release(self) -> None:
        """Closes the readers that nobody uses now. Reading opens new ones."""
        while (reader := _idle.get().take(self)) is not None:
            reader.close()

    def _open(self) -> Reader:
        raise TypeError(f"{type(self).__name__} does not say how to open a reader")


@dataclass(frozen=True)
class Source(Shared[OpenStream]):
    """A stream as a dataset knows it. Who gets it in another process opens the stream again.

    location: absolute. generation: of the stream; another one is another stream in its place. snapshot: the
    epoch of a snapshot, or 0."""

    location: str
    generation: int
    snapshot: int = 0

    def _open(self) -> OpenStream:
        steps = open_steps(self.location, snapshot=self.snapshot)
        if steps.describe()["generation"] != self.generation:
            steps.close()
            raise replaced(self.location, "stream")
        return OpenStream(steps)


def replaced(location: str, what: str) -> Error:
    return Error(
        _STALE,
        f"{location}: a writer has replaced the {what} since this dataset was opened: open the dataset again",
    )


def absolute(pool: str) -> str:
    """A pool by a name that means the same in every process."""
    return os.path.abspath(_core.pool_path(pool)) if _core.capabilities(pool).directory else pool


def open_source(location: str, open_timeout: float, snapshot: int) -> Source:
    """The stream at a location, whose reader waits for the first use. open_timeout: seconds to wait for the
    stream and for its first step; a stream without steps is no error. Errors: those of open_steps."""
    end = time.monotonic() + open_timeout
    steps = open_steps(location, open_timeout=open_timeout, snapshot=snapshot)
    while len(steps) == 0 and not steps.ended and time.monotonic() < end:
        time.sleep(0.01)
    told = steps.describe()
    source = Source(
        f"{absolute(str(told['pool']))}/{told['container']}/{told['stream']}",
        int(told["generation"]),
        snapshot,
    )
    give_back(source, OpenStream(steps))
    return source


class _Idle:
    """The readers that wait for their next use, oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: list[tuple[Any, Any]] = []  # (where it is from, it)

    def take(self, source: Shared[Reader]) -> Reader | None:
        with self._lock:
            for at in range(len(self._readers) - 1, -1, -1):
                if self._readers[at][0] == source:
                    found: Reader = self._readers.pop(at)[1]
                    return found
        return None

    def give(self, source: Shared[Reader], reader: Reader) -> None:
        with self._lock:
            self._readers.append((source, reader))
            old = self._readers[:-_MOST_IDLE]
            del self._readers[:-_MOST_IDLE]
        for _, one in old:
            one.close()


def give_back(source: Shared[Reader], reader: Reader) -> None:
    """A reader that nobody uses now, for the next use."""
    _idle.get().give(source, reader)


_idle = PerProcess(_Idle)
