"""The experiments of `stepstore bench layouts` that have a name, and what each of them reports."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from stepstore.console import show, table
from stepstore.lab.benchmarks.layout_report import Outcome

_WINDOWS = 10


@dataclass
class Preset:
    what: str
    defaults: dict[str, Any] = field(default_factory=dict)


_LONG = {"rounds": 1, "sizes": ["56k"], "no_bp5": True}
PRESETS = {
    "figure-14": Preset(
        "stabilisation over the steps, for steps that overwrite and leave snapshots, and steps that extend",
        {**_LONG, "steps": 2000, "readers": 1, "points": ["default", "Steps=snapshot"]},
    ),
    "figure-15": Preset(
        "a step's times over 10,000 steps", {**_LONG, "steps": 10000, "points": ["default", "kv"]}
    ),
    "storage": Preset(
        "space as the store and as the file system report it",
        {"rounds": 1, "steps": 500, "readers": 1, "points": ["layouts"]},
    ),
}


@dataclass
class Window:
    """Some steps of a run; milliseconds of a rank and step, means over the rounds."""

    first: int
    steps: int
    stabilisation: float
    acquisition: float | None


def windows(outcome: Outcome, count: int = _WINDOWS) -> list[Window]:
    """Equally many steps in each. Writers' first step is a one-off cost, and in none."""
    steps = outcome.written[0]["steps"]
    bounds = [steps * number // count for number in range(count + 1)]
    written = [one["stabilisation"]["by_step"] for one in outcome.written]
    read = [one["acquisition"]["by_step"] for one in outcome.readings if one["acquisition"]]
    return [
        Window(
            first,
            end - first,
            _mean(written, first if first > 0 or end == 1 else 1, end),
            _mean(read, first, end) if read else None,
        )
        for first, end in pairwise(bounds)
        if end > first
    ]


def _mean(rounds: list[list[float]], first: int, end: int) -> float:
    return 1e3 * statistics.mean(value for one in rounds for value in one[first:end])


def report_windows(outcomes: list[Outcome]) -> None:
    right = "right"
    columns: list[Any] = ["STEPS"]
    for one in outcomes:
        columns += [(f"{one.name} STABILISATION", right), (f"{one.name} ACQUISITION", right)]
    by_point = [windows(one) for one in outcomes]
    rows = []
    for parts in zip(*by_point, strict=True):
        cells = [f"{parts[0].first} to {parts[0].first + parts[0].steps - 1}"]
        for part in parts:
            cells += [
                f"{part.stabilisation:.4f}",
                "" if part.acquisition is None else f"{part.acquisition:.4f}",
            ]
        rows.append(tuple(cells))
    show(table(columns, rows))
    for one, its_windows in zip(outcomes, by_point, strict=True):
        first, last = its_windows[0], its_windows[-1]
        line = f"{one.size}/{one.name}: last by first row: stabilisation "
        line += f"{last.stabilisation / first.stabilisation:.2f}"
        if first.acquisition and last.acquisition:
            line += f", acquisition {last.acquisition / first.acquisition:.2f}"
        show(line)


@dataclass
class Space:
    """Bytes of a stream, medians of the rounds."""

    written: float  # of metadata
    store: float | None  # as the store reports it; None: it does not
    files: float  # as the file system does


def space(outcome: Outcome) -> Space:
    one = outcome.written[0]
    reported = [sum(written["space"].values()) for written in outcome.written if written["space"]]
    return Space(
        one["rank_bytes"] * one["writers"] * one["steps"],
        statistics.median(reported) if reported else None,
        statistics.median(written["allocated_bytes"] for written in outcome.written),
    )


def report_space(outcomes: list[Outcome]) -> None:
    right = "right"
    columns: list[Any] = ["METADATA", "POINT"]
    columns += [(name, right) for name in ("WRITTEN", "STORE", "FILE SYSTEM", "BY WRITTEN")]
    rows = []
    for one in outcomes:
        found = space(one)
        store = "" if found.store is None else _mebibytes(found.store)
        ratio = f"{found.files / found.written:.2f}"
        rows.append((one.size, one.name, _mebibytes(found.written), store, _mebibytes(found.files), ratio))
    show(table(columns, rows))
    show("MiB: bytes of the metadata, what the store reports, what the file system has given to the stream")


def _mebibytes(count: float) -> str:
    return f"{count / (1 << 20):.2f}"
