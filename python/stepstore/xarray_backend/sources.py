"""What a lazy array needs to read a stream in any thread and any process: where it is, and open readers."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stepstore import _core
from stepstore.errors import Error
from stepstore.steps import Steps, open_steps

# Readers that nobody uses now, over all streams. The oldest are closed first.
_MOST_IDLE = 16
_STALE = -2007


class OpenStream:
    """A reader, which serves one thread at a time. The numbers of variables are its own."""

    def __init__(self, steps: Steps):
        self.steps = steps
        self._ids: dict[str, int] = {}

    def id_of(self, name: str) -> int:
        if name not in self._ids:
            self._ids = {known: number for number, known in enumerate(self.steps.definitions())}
        return self._ids[name] if name in self._ids else self.steps._id(name)

    def read(
        self, name: str, kind: str, number: int, start: Sequence[int], count: Sequence[int], into: Any
    ) -> None:
        """The box start, count of a variable in a step into memory of that shape, which is contiguous.
        The first dimension of a local array is its blocks."""
        if 0 in count:
            return
        handle, turned, variable = self.steps._handle, self.steps._turned, self.id_of(name)
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


@dataclass(frozen=True)
class Source:
    """A stream as a dataset knows it. It can be pickled: who gets it opens the stream again.

    location: absolute. generation: of the stream; another one is another stream in its place. snapshot: the
    epoch of a snapshot, or 0."""

    location: str
    generation: int
    snapshot: int = 0

    @contextlib.contextmanager
    def opened(self) -> Iterator[OpenStream]:
        """A reader for this thread alone. After an error it is not used again."""
        stream = _idle.take(self) or self._open()
        try:
            yield stream
        except BaseException:
            stream.close()
            raise
        _idle.give(self, stream)

    def release(self) -> None:
        """Closes the readers that nobody uses now. Reading opens new ones."""
        while (stream := _idle.take(self)) is not None:
            stream.close()

    def _open(self) -> OpenStream:
        steps = open_steps(self.location, snapshot=self.snapshot)
        if (found := steps.describe()["generation"]) != self.generation:
            steps.close()
            raise Error(
                _STALE,
                f"{self.location}: a writer has replaced the stream since this dataset was opened "
                f"(generation {self.generation}, now {found}): open the dataset again",
            )
        return OpenStream(steps)


def open_source(location: str, open_timeout: float, snapshot: int) -> Source:
    """The stream at a location, whose reader waits for the first use. open_timeout: seconds to wait for the
    stream and for its first step; a stream without steps is no error. Errors: those of open_steps."""
    end = time.monotonic() + open_timeout
    steps = open_steps(location, open_timeout=open_timeout, snapshot=snapshot)
    while len(steps) == 0 and not steps.ended and time.monotonic() < end:
        time.sleep(0.01)
    told = steps.describe()
    pool = str(told["pool"])
    if "://" not in pool:
        pool = os.path.abspath(_core.pool_path(pool))
    source = Source(f"{pool}/{told['container']}/{told['stream']}", int(told["generation"]), snapshot)
    _idle.give(source, OpenStream(steps))
    return source


class _Idle:
    """The readers that wait for their next use, oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: list[tuple[Source, OpenStream]] = []
        self._parents: list[tuple[Source, OpenStream]] = []

    def take(self, source: Source) -> OpenStream | None:
        with self._lock:
            for at in range(len(self._streams) - 1, -1, -1):
                if self._streams[at][0] == source:
                    return self._streams.pop(at)[1]
        return None

    def give(self, source: Source, stream: OpenStream) -> None:
        with self._lock:
            self._streams.append((source, stream))
            old = self._streams[:-_MOST_IDLE]
            del self._streams[:-_MOST_IDLE]
        for _, one in old:
            one.close()

    def forget_after_fork(self) -> None:
        """The event queue of a reader belongs to its process. The child neither uses nor closes it."""
        self._lock = threading.Lock()
        self._parents += self._streams
        self._streams = []


_idle = _Idle()
os.register_at_fork(after_in_child=_idle.forget_after_fork)
