"""Calls in flight for asyncio: what the awaitable methods of KeyValue and Array are made of.

A call is launched in an event queue of the pool, and goes on while the event loop does other things. Its
memory stays alive until it has completed, also when the task that awaits it is cancelled. A cancelled write
may or may not have happened, and never half.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from stepstore import _core

_Result = TypeVar("_Result")


class Queues:
    """The event queues of one pool, one for each event loop that awaits calls."""

    def __init__(self) -> None:
        self._of: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[_core.Completions, weakref.finalize[Any, Any]]
        ] = weakref.WeakKeyDictionary()

    async def call(self, handle: _core.KeyValue | _core.Array, name: str, *arguments: Any) -> Any:
        """The result of _core.Completions.NAME on the object with the handle."""
        loop = asyncio.get_running_loop()
        known = self._of.get(loop)
        queue = known[0] if known and known[0].of_this_process else self._open(loop, handle)
        future = loop.create_future()
        getattr(queue, name)(future, handle, *arguments)
        return await future

    def close(self) -> None:
        """Waits for what is in flight, and lets go of the pool."""
        for _, let_go in list(self._of.values()):
            let_go()
        self._of.clear()

    def _open(
        self, loop: asyncio.AbstractEventLoop, handle: _core.KeyValue | _core.Array
    ) -> _core.Completions:
        for other in [other for other in self._of if other.is_closed()]:
            self._of.pop(other)[1]()
        queue = _core.Completions(handle)
        loop.add_reader(queue.descriptor, _deliver, queue)
        # Also at the end of the program, before the library goes.
        self._of[loop] = queue, weakref.finalize(self, _let_go, weakref.ref(loop), queue)
        return queue


async def in_thread(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """The result of a call that has no event: it waits in a thread of the loop's."""
    return await asyncio.to_thread(function, *arguments)


def _deliver(queue: _core.Completions) -> None:
    for future, result, error in queue.take():
        if future.done():  # cancelled
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _let_go(loop_of: weakref.ref[asyncio.AbstractEventLoop], queue: _core.Completions) -> None:
    queue.close()
    loop = loop_of()
    if loop is None or loop.is_closed():
        return
    with contextlib.suppress(RuntimeError):  # closed at this moment
        loop.call_soon_threadsafe(_finish, loop, queue)


def _finish(loop: asyncio.AbstractEventLoop, queue: _core.Completions) -> None:
    _deliver(queue)
    loop.remove_reader(queue.descriptor)
