"""The machine's memory between measurements."""

from __future__ import annotations

import os


def settle(size: int) -> None:
    """Ends the writing back of what was written before, and uses so many bytes for a moment, at most half of
    those that are free.

    A virtual machine gets memory from its host at the first touch, and gives back what is free for a while.
    Pages that are new in this sense take ten times as long to write as others. So what is measured first, or
    after a pause, would be too slow.
    """
    os.sync()
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    _ = b"\1" * min(size, free // 2)
