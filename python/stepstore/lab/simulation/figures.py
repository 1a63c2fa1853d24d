"""The first reference's figures, on the simulated cluster, each in the form that the reference gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepstore.lab.benchmarks.layout_figures import COLOURS, blank_figure, save
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
_COLOUR_OF = {engine.name: colour for engine, colour in zip(_SHOWN, COLOURS, strict=False)}
_STEPS = (1000, 2000, 4000, 6000, 8000, 10000)
_READERS = (28, 56, 112, 224)


@dataclass
class Panel:
    """Series over the same x values. dark: the lower part of the bars of that name, drawn darker."""

    title: str
    x_label: str
    y_label: str
    x: tuple[Any, ...]
    series: dict[str, list[float]]
    bars: bool = True
    dark: dict[str, list[float]] = field(default_factory=dict)
    logarithmic: bool = False

    def rows(self) -> list[tuple[Any, ...]]:
        named = [(name, "", values) for name, values in self.series.items()]
        named += [(name, "shaded part", values) for name, values in self.dark.items()]
        return [
            (self.title, name, part, x, value)
            for name, part, values in named
            for x, value in zip(self.x, values, strict=True)
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
    return Panel(
        title, "ranks that write, and read", "milliseconds of a rank and step", RANKS, series, dark=dark
    )


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
    return [Panel("", "ranks", "metadata, percent of I/O time", RANKS, series, bars=False)]


def _readers(lab: Experiments) -> list[Panel]:
    series = {
        name: [1e3 * lab.steady(engine, 224, WARPX, readers).acquisition for readers in _READERS]
        for name, engine in ((EVERYONE.name, EVERYONE), ("rank 0 reads and broadcasts", KV))
    }
    label = "milliseconds of a rank and step"
    return [Panel("224 writers, 5 KB", "ranks that read", label, _READERS, series, bars=False)]


def _extents(lab: Experiments) -> list[Panel]:
    times = {
        "5 KB, 200 writers": lab.extents(200, WARPX, WARPX),
        "5 KB at 56 KB, 200 writers": lab.extents(200, WARPX, 56 * 1024),
        "56 KB, 20 writers": lab.extents(20, E3SM, 56 * 1024),
    }
    series = {"daos_array_write": [1e3 * one for one in times.values()]}
    return [Panel("", "extents", "milliseconds of a rank and step", tuple(times), series)]


def _snapshots(lab: Experiments) -> list[Panel]:
    steps, windows = 120, 12
    series = {
        engine.name: [1e3 * one for one in lab.course(engine, 64, E3SM, steps, windows)]
        for engine in (EXTENDING, SNAPSHOTS)
    }
    at = tuple(steps // windows * (window + 1) for window in range(windows))
    return [Panel("64 writers, 56 KB", "step", "milliseconds of a rank and step", at, series, bars=False)]


def _more_steps(lab: Experiments) -> list[Panel]:
    return [
        Panel(
            part,
            "steps",
            "milliseconds of a rank and step",
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
        return Panel(part, "ranks", "nanoseconds for a byte", RANKS, series)

    return [panel("stabilisation", lambda _: E3SM), panel("acquisition", lambda ranks: E3SM * ranks)]


FIGURES = (
    Drawn("1", "1: metadata's share of WarpX's I/O time with files", _metadata_share),
    Drawn("5", "5: every rank reads, or rank 0 and a broadcast", _readers),
    _one_panel("8: stabilisation, 56 KB", E3SM, "stabilisation"),
    _one_panel("9: acquisition, 56 KB (dark: broadcast)", E3SM, "acquisition", (KV, DENSE, ALIGNED, OURS)),
    _one_panel("10: stabilisation, 5 KB", WARPX, "stabilisation"),
    Drawn("11", "11: daos_array_write of aligned extents", _extents),
    _one_panel("12: acquisition, 5 KB (dark: broadcast)", WARPX, "acquisition"),
    Drawn("13", "13: end to end", _end_to_end),
    Drawn("14", "14: steps by extending, or by snapshots", _snapshots),
    Drawn("15", "15: over more steps, 1,024 ranks, 56 KB", _more_steps),
    Drawn("16", "16: time for a byte, 56 KB", _per_byte),
)


def draw(drawn: Drawn, lab: Any, directory: Path, caption: str) -> list[Path]:
    """The files that were made."""
    panels = drawn.panels(lab)
    figure, axes = blank_figure(4.5 * len(panels) + 2.5, 3.8, len(panels))
    for axis, panel in zip(axes, panels, strict=True):
        (_draw_bars if panel.bars else _draw_lines)(axis, panel)
        axis.set(xlabel=panel.x_label, ylabel=panel.y_label)
        if panel.logarithmic:
            axis.set(xscale="log", yscale="log")
        else:
            axis.set_ylim(0, None)
        axis.set_title(panel.title, loc="left", fontsize=9)
    if len(panels[-1].series) > 1:
        figure.legend(
            *axes[-1].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=3
        )
    figure.suptitle(f"Figure {drawn.title}; {caption}", x=0.01, ha="left", fontsize=9)
    rows: list[tuple[Any, ...]] = [("panel", "series", "part", "x", "y")]
    rows += [row for panel in panels for row in panel.rows()]
    return save(directory / f"simulated-{drawn.number}", figure, rows, simulated=True)


def _draw_bars(axis: Any, panel: Panel) -> None:
    width = 0.8 / len(panel.series)
    for number, (name, values) in enumerate(panel.series.items()):
        at = [i + (number - (len(panel.series) - 1) / 2) * width for i in range(len(panel.x))]
        axis.bar(at, values, width, label=name, color=_COLOUR_OF.get(name, COLOURS[number]))
        if name in panel.dark:
            axis.bar(at, panel.dark[name], width, color="black", alpha=0.35)
    axis.set_xticks(range(len(panel.x)), [str(one) for one in panel.x])


def _draw_lines(axis: Any, panel: Panel) -> None:
    for (name, values), colour in zip(panel.series.items(), COLOURS, strict=False):
        axis.plot(panel.x, values, marker="o", label=name, color=_COLOUR_OF.get(name, colour))
