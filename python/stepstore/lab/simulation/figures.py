"""The first reference's figures, on the simulated cluster, each in the form that the reference gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepstore.lab.figures import (
    LOWER,
    ON_RANKS,
    STEP,
    STEPS,
    TIME,
    Quantity,
    bars,
    blank,
    entitle,
    legend,
    lines,
    save,
    shadow,
)
from stepstore.lab.simulation.experiments import (
    ALIGNED,
    DENSE,
    E3SM,
    EVERYONE,
    EXTENDING,
    KV,
    OURS,
    POSIX,
    PUBLISHED,
    RANKS,
    SNAPSHOTS,
    WARPX,
    Engine,
    Experiments,
)

_SHOWN = (*PUBLISHED, OURS)
_STEPS = (1000, 2000, 4000, 6000, 8000, 10000)
_READERS = (28, 56, 112, 224)
_SHARE = Quantity("metadata's share of the I/O time", "%", "share_percent", LOWER)
_PER_BYTE = Quantity("time for a byte", "ns/byte", "time_ns_byte", LOWER)
_READING = Quantity("ranks that read", "number", "ranks")


@dataclass
class Panel:
    """Series over the same x values. dark: the lower part of the bars of that name, drawn darker."""

    title: str
    x: Quantity | None  # None: its values are names, which say all
    y: Quantity
    at: tuple[Any, ...]
    series: dict[str, list[float]]
    bars: bool = True
    dark: dict[str, list[float]] = field(default_factory=dict)

    def rows(self) -> list[tuple[Any, ...]]:
        named = [(name, "", values) for name, values in self.series.items()]
        named += [(name, "shaded part", values) for name, values in self.dark.items()]
        return [
            (self.title, name, part, x, value)
            for name, part, values in named
            for x, value in zip(self.at, values, strict=True)
        ]


@dataclass(frozen=True)
class Drawn:
    number: str
    title: str
    panels: Callable[[Any], list[Panel]]  # of the experiments
    needs: tuple[Any, ...] = ()  # what the experiments can prepare


def _over_ranks(lab: Experiments, title: str, size: int, part: str, engines: tuple[Engine, ...]) -> Panel:
    series = {
        engine.name: [1e3 * getattr(lab.times(engine, ranks, size), part) for ranks in RANKS]
        for engine in engines
    }
    dark = {}
    if part == "acquisition":
        dark = {
            engine.name: [1e3 * lab.times(engine, ranks, size).broadcast for ranks in RANKS]
            for engine in engines
        }
    return Panel(title, ON_RANKS, TIME, RANKS, series, dark=dark)


def _one_panel(title: str, size: int, part: str, engines: tuple[Engine, ...] = _SHOWN) -> Drawn:
    number = title.split(":")[0]
    return Drawn(
        number,
        title,
        lambda lab: [_over_ranks(lab, "", size, part, engines)],
        tuple((engine, ranks, size) for engine in engines for ranks in RANKS),
    )


def _end_to_end(lab: Experiments) -> list[Panel]:
    small = (POSIX, KV, ALIGNED, OURS)
    return [
        _over_ranks(lab, "5 KB", WARPX, "end_to_end", small),
        _over_ranks(lab, "56 KB", E3SM, "end_to_end", _SHOWN),
    ]


def _shares(lab: Experiments, size: int, share: float) -> dict[str, list[float]]:
    """Of the I/O time, which is the stabilisation and a time for data that takes the rest of it with POSIX at
    1,024 ranks. Each rank's data stays the same."""
    data = lab.times(POSIX, 1024, size).stabilisation * (1 / share - 1)
    return {
        engine.name: [
            100 * time / (time + data)
            for time in (lab.times(engine, ranks, size).stabilisation for ranks in RANKS)
        ]
        for engine in (POSIX, KV, ALIGNED, OURS)
    }


def _metadata_share(lab: Experiments) -> list[Panel]:
    series = {POSIX.name: _shares(lab, WARPX, 0.24)[POSIX.name]}
    return [Panel("", ON_RANKS, _SHARE, RANKS, series, bars=False)]


def _readers(lab: Experiments) -> list[Panel]:
    series = {
        name: [1e3 * lab.steady(engine, 224, WARPX, readers).acquisition for readers in _READERS]
        for name, engine in ((EVERYONE.name, EVERYONE), ("rank 0 reads and broadcasts", KV))
    }
    return [Panel("224 writers, 5 KB", _READING, TIME, _READERS, series, bars=False)]


def _extents(lab: Experiments) -> list[Panel]:
    times = {
        "5 KB, 200 writers": lab.extents(200, WARPX, WARPX),
        "5 KB at 56 KB, 200 writers": lab.extents(200, WARPX, 56 * 1024),
        "56 KB, 20 writers": lab.extents(20, E3SM, 56 * 1024),
    }
    series = {"daos_array_write": [1e3 * one for one in times.values()]}
    return [Panel("", None, TIME, tuple(times), series)]


def _snapshots(lab: Experiments) -> list[Panel]:
    steps, windows = 120, 12
    series = {
        engine.name: [1e3 * one for one in lab.course(engine, 64, E3SM, steps, windows)]
        for engine in (EXTENDING, SNAPSHOTS)
    }
    at = tuple(steps // windows * (window + 1) for window in range(windows))
    return [Panel("64 writers, 56 KB", STEP, TIME, at, series, bars=False)]


def _more_steps(lab: Experiments) -> list[Panel]:
    return [
        Panel(
            part,
            STEPS,
            TIME,
            _STEPS,
            {
                engine.name: [1e3 * getattr(lab.times(engine, 1024, E3SM, steps), part) for steps in _STEPS]
                for engine in (KV, ALIGNED)
            },
            bars=False,
        )
        for part in ("stabilisation", "acquisition")
    ]


def _per_byte(lab: Experiments) -> list[Panel]:
    def panel(part: str, bytes_of: Callable[[int], int]) -> Panel:
        series = {
            engine.name: [
                1e9 * getattr(lab.times(engine, ranks, E3SM), part) / bytes_of(ranks) for ranks in RANKS
            ]
            for engine in (KV, DENSE, ALIGNED)
        }
        return Panel(part, ON_RANKS, _PER_BYTE, RANKS, series)

    return [panel("stabilisation", lambda _: E3SM), panel("acquisition", lambda ranks: E3SM * ranks)]


FIGURES = (
    Drawn("1", "1: metadata's share of WarpX's I/O time with files", _metadata_share),
    Drawn("5", "5: every rank reads, or rank 0 and a broadcast", _readers),
    _one_panel("8: stabilisation, 56 KB", E3SM, "stabilisation"),
    _one_panel("9: acquisition, 56 KB", E3SM, "acquisition", (KV, DENSE, ALIGNED, OURS)),
    _one_panel("10: stabilisation, 5 KB", WARPX, "stabilisation"),
    Drawn("11", "11: daos_array_write of aligned extents", _extents),
    _one_panel("12: acquisition, 5 KB", WARPX, "acquisition"),
    Drawn("13", "13: end to end", _end_to_end),
    Drawn("14", "14: steps by extending, or by snapshots", _snapshots),
    Drawn("15", "15: over more steps, 1,024 ranks, 56 KB", _more_steps),
    Drawn("16", "16: time for a byte, 56 KB", _per_byte),
)


def draw(drawn: Drawn, lab: Any, directory: Path, caption: str) -> list[Path]:
    """The files that were made."""
    panels = drawn.panels(lab)
    columns = 2 if len(panels) == 4 else len(panels)
    figure, axes = blank(7 if len(panels) == 1 else 5, 3.6, len(panels), columns)
    every = [one for panel in panels for values in panel.series.values() for one in values]
    for axis, panel in zip(axes, panels, strict=True):
        if panel.bars:
            bars(axis, panel.x, panel.at, panel.y, panel.series, panel.dark, beside=every)
        elif panel.x:
            lines(axis, panel.x, panel.at, panel.y, panel.series, beside=every)
        axis.set_title(panel.title)
    handles, labels = axes[-1].get_legend_handles_labels()
    if panels[-1].dark:
        handles, labels = [*handles, shadow()], [*labels, "dark: the broadcast"]
    if len(labels) > 1:
        legend(figure, handles, labels)
    entitle(figure, f"Figure {drawn.title}; {caption}")
    first = panels[0]
    rows: list[tuple[Any, ...]] = [
        ("panel", "series", "part", first.x.column if first.x else "case", first.y.column)
    ]
    rows += [row for panel in panels for row in panel.rows()]
    return save(directory / f"simulated-{drawn.number}", figure, rows, simulated=True)
