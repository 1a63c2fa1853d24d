"""What a process has of its own, and what a forked child finds of it: as src/base/own_state.h has it for C++.

A child has a copy of all that its parent had, and one thread. A lock that another thread held stays locked in
it for ever. So everything in this package that has a lock is held in a PerProcess, which a child begins anew
(`style.own_state` looks that there is no other). State that a child must not use lies in C++.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class _This:
    """This process: other than its parent and its children."""

    def __init__(self) -> None:
        self.beginning = threading.Lock()  # of PerProcess values


_this = _This()


def _forked() -> None:
    global _this
    _this = _This()


os.register_at_fork(after_in_child=_forked)


class PerProcess(Generic[_Value]):
    """A value that a forked child has anew. Threads share it. The parent's is left alone, and kept: its end
    would be felt by the parent."""

    def __init__(self, make: Callable[[], _Value]):
        self._make = make
        self._own = (_this, make())
        self._parents: object = None

    def get(self) -> _Value:
        process, value = self._own
        if process is _this:
            return value
        with _this.beginning:
            if self._own[0] is not _this:
                self._parents = (self._parents, self._own)
                self._own = (_this, self._make())
            return self._own[1]
