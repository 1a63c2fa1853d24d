"""The figures of `stepstore bench layouts`: each as PNG and SVG, with its numbers as CSV beside it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stepstore.lab.benchmarks.layout_presets import space, windows
from stepstore.lab.benchmarks.layout_report import Outcome
from stepstore.lab.figures import (
    LOWER,
    STEP,
    TIME,
    Quantity,
    blank,
    entitle,
    legend,
    lines,
    lying,
    parts,
    save,
    shades,
)

_MOST_BARS = 24
_CURVES = 50  # points of a curve, at most
_SPACE = Quantity("space for a byte written", "bytes", "space_bytes", LOWER)


def draw(preset: str | None, outcomes: list[Outcome], directory: Path, caption: str) -> list[Path]:
    """The files that were made."""
    if preset == "figure-14":
        return _draw_course(outcomes, directory / "figure-14", caption, acquired=False)
    if preset == "figure-15":
        return _draw_course(outcomes, directory / "figure-15", caption, acquired=True)
    if preset == "storage":
        return _draw_space(outcomes, directory / "storage", caption)
    made = []
    for number, size in enumerate(dict.fromkeys(one.size for one in outcomes)):
        name = size if size.isalnum() else str(number)
        chosen = [one for one in outcomes if one.size == size]
        made += _draw_bars(chosen, directory / f"end-to-end-{name}", f"metadata of {size}; {caption}")
    return made


def _label(name: str) -> str:
    return "BP5 (files)" if name == "bp5" else name


def _draw_bars(outcomes: list[Outcome], path: Path, caption: str) -> list[Path]:
    ordered = sorted(outcomes, key=lambda one: statistics.median(one.end_to_end()))
    shown = ordered[:_MOST_BARS]
    shown += [one for one in ordered[_MOST_BARS:] if one.point is None]
    figure, (panel,) = blank(8, 0.3 * len(shown) + 1.8)
    split: dict[str, Callable[[Outcome], list[float] | None]] = {"end to end": Outcome.end_to_end}
    if all(one.acquisition() for one in shown):
        split = {"stabilisation": Outcome.stabilisation, "acquisition": Outcome.acquisition}
    values = {name: [statistics.median(part(one) or [0.0]) for one in shown] for name, part in split.items()}
    ranges = [(min(one.end_to_end()), max(one.end_to_end())) for one in shown]
    whole = [statistics.median(one.end_to_end()) for one in shown]
    parts(figure, panel, [_label(one.name) for one in shown], TIME, values, ranges, whole)
    entitle(figure, f"Metadata of a step, end to end: {caption}")
    rows: list[tuple[Any, ...]] = [
        ("metadata", "point", "round", "stabilisation_ms", "acquisition_ms", "end_to_end_ms")
    ]
    for one in outcomes:
        acquired: Sequence[float | None] = one.acquisition() or [None] * len(one.written)
        times = zip(one.stabilisation(), acquired, one.end_to_end(), strict=True)
        rows += [(one.size, one.name, number, *each) for number, each in enumerate(times, start=1)]
    return save(path, figure, rows)


def _draw_course(outcomes: list[Outcome], path: Path, caption: str, acquired: bool) -> list[Path]:
    names = ("stabilisation", "acquisition")[: 1 + acquired]
    figure, panels = blank(7 - 1.5 * acquired, 3.6, len(names))
    count = min(_CURVES, outcomes[0].written[0]["steps"])
    courses = {_label(one.name): windows(one, count) for one in outcomes}
    at = [part.first + part.steps / 2 for part in next(iter(courses.values()))]
    series = {
        name: {point: [getattr(part, name) or 0.0 for part in course] for point, course in courses.items()}
        for name in names
    }
    every = [one for shown in series.values() for times in shown.values() for one in times]
    for panel, name in zip(panels, names, strict=True):
        lines(panel, STEP, at, TIME, series[name], marked=False, ticks=False, beside=every)
        panel.set_title(name)
    legend(figure, *panels[0].get_legend_handles_labels())
    entitle(figure, f"A step's metadata over the steps: {caption}")
    rows: list[tuple[Any, ...]] = [
        ("metadata", "point", "first_step", "steps", "stabilisation_ms", "acquisition_ms")
    ]
    rows += [
        (one.size, one.name, part.first, part.steps, part.stabilisation, part.acquisition)
        for one in outcomes
        for part in courses[_label(one.name)]
    ]
    return save(path, figure, rows)


def _draw_space(outcomes: list[Outcome], path: Path, caption: str) -> list[Path]:
    sizes = list(dict.fromkeys(one.size for one in outcomes))
    figure, panels = blank(4.5, 0.5 * len(outcomes) / len(sizes) + 1.6, len(sizes))
    rows: list[tuple[Any, ...]] = [("metadata", "point", "written_bytes", "store_bytes", "file_system_bytes")]
    taken = {(one.size, one.name): space(one) for one in outcomes}
    every = [one.files / one.written for one in taken.values()]
    every += [one.store / one.written for one in taken.values() if one.store is not None]
    for size, panel in zip(sizes, panels, strict=True):
        chosen = [one for one in outcomes if one.size == size]
        found = [taken[size, one.name] for one in chosen]
        pairs: dict[str, list[float | None]] = {
            "as the file system reports it": [one.files / one.written for one in found],
            "as the store reports it": [
                one.store / one.written if one.store is not None else None for one in found
            ],
        }
        lying(panel, [_label(one.name) for one in chosen], _SPACE, pairs, beside=every)
        panel.set_title(f"metadata of {size}")
        rows += [
            (one.size, one.name, each.written, each.store, each.files)
            for one, each in zip(chosen, found, strict=True)
        ]
    legend(figure, *shades(list(pairs)))
    entitle(figure, f"Space that metadata takes: {caption}")
    return save(path, figure, rows)
