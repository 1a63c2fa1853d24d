"""What the first reference states in numbers, and what the simulated cluster says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stepstore.lab.simulation.experiments import (
    ALIGNED,
    DENSE,
    E3SM,
    EVERYONE,
    EXTENDING,
    KV,
    POSIX,
    SNAPSHOTS,
    WARPX,
    Engine,
    Experiments,
)

AT_MOST, ABOUT, ABOVE = "at most", "about", "above"
GOAL = 0.25  # how far a ratio may be from the published one


@dataclass(frozen=True)
class Statement:
    figure: str
    text: str
    published: float
    fitted: bool  # a parameter was chosen so that it holds
    value: Callable[[Any], float]  # of the experiments
    kind: str = ABOUT
    unit: str = ""  # a ratio has none

    def holds(self, value: float) -> bool:
        if self.kind == ABOVE:
            return value > self.published
        least = self.kind == AT_MOST or value >= self.published * (1 - GOAL)
        return least and value <= self.published * (1 + GOAL)


def _stabilisation(one: Engine, other: Engine, size: int) -> Callable[[Experiments], float]:
    return lambda lab: lab.times(one, 1024, size).stabilisation / lab.times(other, 1024, size).stabilisation


def _acquisition(one: Engine, other: Engine, size: int) -> Callable[[Experiments], float]:
    return lambda lab: lab.times(one, 1024, size).acquisition / lab.times(other, 1024, size).acquisition


def _end_to_end(one: Engine, other: Engine, size: int) -> Callable[[Experiments], float]:
    return lambda lab: lab.times(one, 1024, size).end_to_end / lab.times(other, 1024, size).end_to_end


def _aligned_extents(lab: Experiments) -> float:
    return lab.extents(200, WARPX, 56 * 1024) / lab.extents(20, E3SM, 56 * 1024)


def _warpx_share(lab: Experiments) -> float:
    """KV's share of the I/O time, in percent, where POSIX has the published 21 at 1,024 ranks."""
    data = lab.times(POSIX, 1024, WARPX).stabilisation * (1 / 0.21 - 1)
    time = lab.times(KV, 1024, WARPX).stabilisation
    return 100 * time / (time + data)


def _everyone(lab: Experiments) -> float:
    """How the time grows from 28 to 224 readers that read for themselves, by how the broadcast's grows."""
    at = [
        [lab.steady(engine, 224, WARPX, readers).acquisition for readers in (28, 224)]
        for engine in (EVERYONE, KV)
    ]
    return at[0][1] / at[0][0] / (at[1][1] / at[1][0])


def _growth(engine: Engine) -> Callable[[Experiments], float]:
    """Of the last sixth of 120 steps over the first."""

    def growth(lab: Experiments) -> float:
        course = lab.course(engine, 64, E3SM, 120, 6)
        return course[-1] / course[0]

    return growth


def _fewer_steps(lab: Experiments) -> float:
    at = [lab.times(ALIGNED, 1024, E3SM, steps).stabilisation for steps in (1000, 10000)]
    return at[0] / at[1]


def _per_byte(lab: Experiments) -> float:
    """Of a writer, whose bytes stay the same."""
    return lab.times(ALIGNED, 1024, E3SM).stabilisation / lab.times(ALIGNED, 64, E3SM).stabilisation


def _per_byte_read(lab: Experiments) -> float:
    return lab.times(ALIGNED, 1024, E3SM).acquisition / 16 / lab.times(ALIGNED, 64, E3SM).acquisition


STATEMENTS = (
    Statement("5", "every rank reads: how it grows, over the broadcast's growth", 1, False, _everyone, ABOVE),
    Statement("8", "56 KB stabilisation, POSIX over KV", 10, True, _stabilisation(POSIX, KV, E3SM)),
    Statement(
        "8", "56 KB stabilisation, POSIX over dense array", 10, True, _stabilisation(POSIX, DENSE, E3SM)
    ),
    Statement("9", "56 KB acquisition, KV over dense array", 1.2, True, _acquisition(KV, DENSE, E3SM)),
    Statement("10", "5 KB stabilisation, dense array over KV", 25, True, _stabilisation(DENSE, KV, WARPX)),
    Statement("10", "5 KB stabilisation, aligned over KV", 1, False, _stabilisation(ALIGNED, KV, WARPX)),
    Statement("11", "5 KB aligned at 56 KB over 56 KB, 200 and 20 writers", 1, False, _aligned_extents),
    Statement("12", "5 KB acquisition, KV over dense array", 3.35, True, _acquisition(KV, DENSE, WARPX)),
    Statement(
        "12", "5 KB acquisition, aligned over dense array", 2.5, True, _acquisition(ALIGNED, DENSE, WARPX)
    ),
    Statement(
        "12", "5 KB acquisition, POSIX over dense array", 1, True, _acquisition(POSIX, DENSE, WARPX), AT_MOST
    ),
    Statement("13", "56 KB end to end, POSIX over aligned", 2.3, False, _end_to_end(POSIX, ALIGNED, E3SM)),
    Statement("13", "56 KB end to end, KV over aligned", 1.23, False, _end_to_end(KV, ALIGNED, E3SM)),
    Statement(
        "13", "56 KB end to end, dense array over aligned", 1, False, _end_to_end(DENSE, ALIGNED, E3SM)
    ),
    Statement("13", "5 KB end to end, POSIX over aligned", 2.1, True, _end_to_end(POSIX, ALIGNED, WARPX)),
    Statement("13", "5 KB end to end, KV over aligned", 1.2, False, _end_to_end(KV, ALIGNED, WARPX)),
    Statement(
        "14", "extending: the last of 120 steps over the first, 64 writers", 1, False, _growth(EXTENDING)
    ),
    Statement(
        "14",
        "snapshots: the last of 120 steps over the first, 64 writers",
        1,
        False,
        _growth(SNAPSHOTS),
        ABOVE,
    ),
    Statement("15", "stabilisation at 1,000 over 10,000 steps", 5, True, _fewer_steps),
    Statement("17", "WarpX: KV's percent of I/O time, where POSIX has 21", 4.5, True, _warpx_share, unit="%"),
    Statement("16", "stabilisation per byte, 1,024 over 64 ranks", 1, False, _per_byte, AT_MOST),
    Statement("16", "acquisition per byte, 1,024 over 64 ranks", 1, False, _per_byte_read, AT_MOST),
)
