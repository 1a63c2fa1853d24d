"""Walking through a stream step by step, as its writer makes them: what Steps does while a simulation runs.

A step that has begun belongs to the call that waited for it. Where the task of that call was cancelled, its
thread may begin a step that nobody has seen. The next call gets it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import AsyncIterator, Iterator

from stepstore import _core
from stepstore.aio import in_thread
from stepstore.errors import DER_CANCELED, Error
from stepstore.process import PerProcess
from stepstore.variables import StepStatus

# How often waiting calls look whether the user wants to stop (Ctrl-C, a task that is cancelled).
_INTERRUPT_SECONDS = 0.2
_TIMED_OUT = -1011


class _Begun:
    def __init__(self) -> None:
        self.beginning = threading.Lock()
        self.unseen = False  # a step that no call has returned yet


class Walk:
    """The part of `Steps` that walks through a stream while it is written.

    The methods whose names begin with `a` are awaitable: a thread of the event loop waits.

    Parameters
    ----------
    handle : object
        The stream of the extension.
    """

    def __init__(self, handle: _core.Steps):
        self._handle = handle
        self._own = PerProcess(_Begun)

    def begin_step(self, timeout: float | None = None) -> StepStatus:
        """Wait for the next step.

        Parameters
        ----------
        timeout : float, optional
            How long, in seconds. None, the default, waits for ever; 0 looks once.

        Returns
        -------
        StepStatus
            OK: the step has begun. Everything else: there is none.
        """
        for seconds in _pieces(timeout):
            if (status := self._begin(seconds)) is not StepStatus.NOT_READY:
                break
        self._own.get().unseen = False
        return status

    def end_step(self) -> None:
        """Finish the step, so that the next one may begin."""
        self._handle.end_step()
        self._own.get().unseen = False

    def follow(self, timeout: float | None = None) -> Iterator[int]:
        """Walk through the steps as they come, until the writer ends the stream.

        Parameters
        ----------
        timeout : float, optional
            The most seconds to wait for a new step. None, the default, waits for ever.

        Yields
        ------
        int
            The number of the step, which has begun. It ends when the next one is asked for.

        Raises
        ------
        Error
            DER_TIMEDOUT: no new step came in time. DER_CANCELED: the writer died, after its last step.
        """
        while (status := self.begin_step(timeout)) is StepStatus.OK:
            yield self._handle.current_step()
            if self._handle.in_step():
                self.end_step()
        self._check_end(status, timeout)

    async def abegin_step(self, timeout: float | None = None) -> StepStatus:
        """Wait for the next step, awaitable. See `begin_step`.

        A call that is cancelled takes no step: the next call gets it.

        Parameters
        ----------
        timeout : float, optional
            How long, in seconds.

        Returns
        -------
        StepStatus
            OK: the step has begun. Everything else: there is none.
        """
        for seconds in _pieces(timeout):
            if (status := await in_thread(self._begin, seconds)) is not StepStatus.NOT_READY:
                break
        self._own.get().unseen = False
        return status

    async def afollow(self, timeout: float | None = None) -> AsyncIterator[int]:
        """Walk through the steps as they come, for `async for`. See `follow`.

        Parameters
        ----------
        timeout : float, optional
            The most seconds to wait for a new step.

        Yields
        ------
        int
            The number of the step, which has begun.

        Raises
        ------
        Error
            As for `follow`.
        """
        while (status := await self.abegin_step(timeout)) is StepStatus.OK:
            yield await in_thread(self._handle.current_step)
            if await in_thread(self._handle.in_step):
                await in_thread(self.end_step)
        self._check_end(status, timeout)

    @property
    def location(self) -> str:
        """The pool, the container and the stream."""
        return self._handle.location()

    def _begin(self, seconds: float) -> StepStatus:
        own = self._own.get()
        with own.beginning:
            if own.unseen:
                return StepStatus.OK
            status = StepStatus(self._handle.begin_step(seconds))
            own.unseen = status is StepStatus.OK
            return status

    def _check_end(self, status: StepStatus, timeout: float | None) -> None:
        if status is StepStatus.WRITER_DIED:
            who = self._handle.dead_writer()
            raise Error(
                DER_CANCELED,
                f"{self.location}: there is no further step: its writer ({who}) died; the steps before are "
                "whole",
            )
        if status is StepStatus.NOT_READY:
            raise Error(
                _TIMED_OUT,
                f"{self.location}: no new step within {timeout} s and the writer has not ended the stream",
            )


def _pieces(timeout: float | None) -> Iterator[float]:
    """Seconds to wait, piece by piece, so that the user can stop it (Ctrl-C)."""
    end = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        rest = max(0.0, end - time.monotonic())
        yield min(rest, _INTERRUPT_SECONDS)
        if rest <= _INTERRUPT_SECONDS:
            return
