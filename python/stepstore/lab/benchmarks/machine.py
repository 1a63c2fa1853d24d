"""What else the machine does while something is measured."""

from __future__ import annotations

import time
from pathlib import Path

BUSY = 0.1  # from this share on, what is measured says more about the other work
looks: list[float] = []  # what this process has seen


def others_share(seconds: float = 0.5, stat: Path = Path("/proc/stat")) -> float | None:
    """The share of all processors' time that is used while this program sleeps. None: there is no /proc/stat.

    Call it between two measurements. While one runs, its own time and that of others could not be told apart:
    ranks, their launcher and the kernel's threads are not all children of one process. The load average would
    be no help. It remembers the measurement before for a minute, and counts waiting for the disk. Time that
    the host gives to other virtual machines ("steal") counts as used.
    """
    before = _times(stat)
    time.sleep(seconds)
    after = _times(stat)
    if before is None or after is None:
        return None
    idle, used = (end - begin for begin, end in zip(before, after, strict=True))
    if idle + used == 0:
        return None
    looks.append(used / (idle + used))
    return looks[-1]


def _times(stat: Path) -> tuple[int, int] | None:
    """Of all processors since the start: idle (and waiting for a disk), used."""
    try:
        words = stat.read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    user, nice, system, idle, wait, irq, soft_irq, steal = (int(word) for word in words[1:9])
    return idle + wait, user + nice + system + irq + soft_irq + steal
