"""The space of blobs (stepstore.blobs): numbers for their array objects, and what dead writers left.

An array object is written before a directory entry points to it, and destroyed after the entry has gone. A
process that dies in between leaves an object that no entry points to. So:

1. A process takes numbers in ranges, and registers a range before it uses a number of it: in the key-value
   *writers*, with what tells whether the process lives.
2. It takes its ranges out of the register when it ends with no write under way.
3. A process that registers its first range, and finds one of a dead process, reclaims: it lists (a) the
   objects, then (b) the register, then (c) the entries of the directory. It destroys the objects that no
   entry points to and whose number is in no range of a living process.

No object that an entry points to, or will point to, is destroyed. Its writer registered before (a) and, if it
is not in (b), had published or given up by then. A published entry is in (c), unless it was replaced. Then
its object is free. Only a process that is seen to be dead counts as dead. One on another machine, or in
another container, lives.

An exchange that got no answer is in doubt: it may be carried out later (client/in_doubt.h). Then the writer
does not destroy the object, and its range stays in the register while the process lives. It is seen to be
dead before (c), so its calls are over by then.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stepstore import _core
from stepstore.errors import Error
from stepstore.array import Array
from stepstore.key_value import KeyValue
from stepstore.process import PerProcess
from stepstore.store import Container, ObjectId

WRITERS_HI = 0x53530302
DATA_HI = 0x53530303
_AT_ONCE = 1024
_RANGE = struct.Struct("<QQ")  # first number, how many; the process's record follows


def array_id(container: Container, number: int) -> ObjectId:
    return container.object_id(number, DATA_HI, kind="array_bytes", object_class="S1")


class _Own:
    """What a process has of a container's numbers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # guards the rest
        self.writers: KeyValue | None = None
        self.begin()

    def begin(self) -> None:
        self.next = self.end = 0
        self.ranges: list[bytes] = []
        self.under_way = 0


class Numbers:
    """The numbers of a process. Threads share it; a forked child begins anew."""

    def __init__(self, container: Container, reclaim: weakref.WeakMethod[Callable[[], int]] | None):
        # weak: what has these numbers must end before they do, see Blobs
        self._container = container
        self._reclaim = reclaim
        self._own = PerProcess(_Own)

    @contextmanager
    def one(self) -> Iterator[int]:
        """A number for one write, which is over at the end of the `with` block."""
        own = self._own.get()
        with own.lock:
            if own.next == own.end:
                self._register(own)
            number = own.next
            own.next += 1
            own.under_way += 1
        try:
            yield number
        finally:
            with own.lock:
                own.under_way -= 1

    def _register(self, own: _Own) -> None:
        if own.writers is None:
            own.writers = open_writers(self._container)
        run = self._reclaim() if self._reclaim and not own.ranges else None
        if run and any(_core.process_is_dead(who) for _, _, _, who in registered(own.writers)):
            run()
        first = self._container.allocate_oids(_AT_ONCE)
        key = str(first).encode()
        own.writers.put(key, _RANGE.pack(first, _AT_ONCE) + _core.process_record())
        own.ranges.append(key)
        own.next, own.end = first, first + _AT_ONCE

    def keep(self, number: int) -> None:
        """What the number stands for is in doubt: its range stays in the register."""
        own = self._own.get()
        with own.lock:
            own.ranges = [key for key in own.ranges if not int(key) <= number < int(key) + _AT_ONCE]

    def leave(self) -> None:
        """Takes the ranges out of the register, if this process put them there and writes nothing."""
        own = self._own.get()
        with own.lock:
            if own.under_way or own.writers is None:
                return
            try:
                for key in own.ranges:
                    own.writers.remove(key)
            except Error:
                pass  # the pool is gone or full: the next writer reclaims
            own.begin()


def open_writers(container: Container) -> KeyValue:
    return container.key_value(container.object_id(0, WRITERS_HI, object_class="S1"))


def registered(writers: KeyValue) -> list[tuple[bytes, int, int, bytes]]:
    """Key, first number, end, and the record of the process."""
    found = []
    for key in writers.raw_keys():
        value = writers.get(key)
        if value is not None and len(value) > _RANGE.size:  # else it is damaged, and nobody's
            first, count = _RANGE.unpack_from(value)
            found.append((key, first, first + count, value[_RANGE.size :]))
    return found


def reclaim(pool: str, container: Container, referenced: Callable[[], set[int]]) -> int:
    """Destroys the objects that nobody needs (see the top of this file); how many there were."""
    wanted = array_id(container, 0).hi
    numbers = [
        entry["lo"]
        for entry in _core.container_objects(pool, container.label, sizes=False)
        if entry["hi"] == wanted
    ]
    writers = open_writers(container)
    ranges = registered(writers)
    dead = [key for key, _, _, who in ranges if _core.process_is_dead(who)]
    living = [(first, end) for key, first, end, _ in ranges if key not in dead]
    needed = referenced()
    free = [number for number in numbers if number not in needed]
    destroyed = 0
    for number in free:
        if not any(first <= number < end for first, end in living):
            destroy_array(container, number)
            destroyed += 1
    if destroyed == len(free):
        for key in dead:
            writers.remove(key)
    return destroyed


def destroy_array(container: Container, number: int) -> None:
    with open_array(container, number) as array:
        array.destroy()


def open_array(container: Container, number: int, *, read_only: bool = False) -> Array:
    """The array object of a number: bytes, all of them in one chunk, and so on one target."""
    return container.open_array(
        array_id(container, number), cell_size=1, chunk_size=1 << 40, read_only=read_only
    )
