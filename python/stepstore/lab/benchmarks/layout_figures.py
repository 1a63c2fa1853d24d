"""The figures of `stepstore bench layouts`: each as PNG and SVG, with its numbers as CSV beside it."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, ExitCode
from stepstore.lab.benchmarks.layout_presets import space, windows
from stepstore.lab.benchmarks.layout_report import Outcome
from stepstore.lab.benchmarks.records import describe, write_whole

COLOURS = ("#2a6f97", "#f4a259", "#6a994e", "#bc4749", "#7b6d8d", "#555555")
_MOST_BARS = 24
_CURVES = 50  # points of a curve, at most


def require_matplotlib() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise CommandError(
            f"--figures needs matplotlib, which {sys.executable} does not have: {sys.executable} -m pip "
            "install matplotlib",
            ExitCode.NOT_FOUND,
        )


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


def blank_figure(width: float, height: float, panels: int = 1) -> tuple[Any, list[Any]]:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update(
        {"font.size": 9, "svg.hashsalt": "stepstore", "axes.spines.top": False, "axes.spines.right": False}
    )
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for axis in axes:
        axis.grid(color="#dddddd", linewidth=0.7)
        axis.set_axisbelow(True)
    return figure, list(axes)


def _draw_bars(outcomes: list[Outcome], path: Path, caption: str) -> list[Path]:
    ordered = sorted(outcomes, key=lambda one: statistics.median(one.end_to_end()))
    shown = ordered[:_MOST_BARS]
    shown += [one for one in ordered[_MOST_BARS:] if one.point is None]
    figure, (axis,) = blank_figure(8, 0.3 * len(shown) + 1.8)
    names = [one.name for one in shown]
    begin = [0.0] * len(shown)
    parts: list[tuple[str, Callable[[Outcome], list[float] | None]]] = [("end to end", Outcome.end_to_end)]
    if all(one.acquisition() for one in shown):
        parts = [("stabilisation", Outcome.stabilisation), ("acquisition", Outcome.acquisition)]
    for (label, part), colour in zip(parts, COLOURS, strict=False):
        widths = [statistics.median(part(one) or [0.0]) for one in shown]
        axis.barh(names, widths, left=begin, color=colour, label=label, height=0.65)
        begin = [first + width for first, width in zip(begin, widths, strict=True)]
    least = [max(0.0, at - min(one.end_to_end())) for at, one in zip(begin, shown, strict=True)]
    most = [max(0.0, max(one.end_to_end()) - at) for at, one in zip(begin, shown, strict=True)]
    axis.errorbar(begin, names, xerr=[least, most], fmt="none", ecolor="#333333", elinewidth=1, capsize=3)
    axis.invert_yaxis()
    axis.set_xlabel("milliseconds of a rank and step; line: range of the rounds")
    axis.set_title(f"Metadata end to end: {caption}", loc="left", fontsize=9)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    rows: list[tuple[Any, ...]] = [
        ("metadata", "point", "round", "stabilisation_ms", "acquisition_ms", "end_to_end_ms")
    ]
    for one in outcomes:
        acquired: Sequence[float | None] = one.acquisition() or [None] * len(one.written)
        times = zip(one.stabilisation(), acquired, one.end_to_end(), strict=True)
        rows += [(one.size, one.name, number, *each) for number, each in enumerate(times, start=1)]
    return save(path, figure, rows)


def _draw_course(outcomes: list[Outcome], path: Path, caption: str, acquired: bool) -> list[Path]:
    figure, axes = blank_figure(9 if acquired else 7, 3.8, 2 if acquired else 1)
    rows: list[tuple[Any, ...]] = [
        ("metadata", "point", "first_step", "steps", "stabilisation_ms", "acquisition_ms")
    ]
    for one, colour in zip(outcomes, COLOURS * len(outcomes), strict=False):
        parts = windows(one, min(_CURVES, one.written[0]["steps"]))
        at = [part.first + part.steps / 2 for part in parts]
        axes[0].plot(at, [part.stabilisation for part in parts], color=colour, label=one.name)
        if acquired:
            axes[1].plot(at, [part.acquisition or 0.0 for part in parts], color=colour, label=one.name)
        rows += [
            (one.size, one.name, part.first, part.steps, part.stabilisation, part.acquisition)
            for part in parts
        ]
    for axis, name in zip(axes, ("stabilisation", "acquisition"), strict=False):
        axis.set(xlabel="step", ylabel="milliseconds of a rank and step", ylim=(0, None))
        axis.set_title(name, loc="left", fontsize=9)
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=4)
    figure.suptitle(caption, x=0.01, ha="left", fontsize=9)
    return save(path, figure, rows)


def _draw_space(outcomes: list[Outcome], path: Path, caption: str) -> list[Path]:
    sizes = list(dict.fromkeys(one.size for one in outcomes))
    figure, axes = blank_figure(4.5 * len(sizes), 0.4 * len(outcomes) / len(sizes) + 1.8, len(sizes))
    rows: list[tuple[Any, ...]] = [("metadata", "point", "written_bytes", "store_bytes", "file_system_bytes")]
    for size, axis in zip(sizes, axes, strict=True):
        chosen = [one for one in outcomes if one.size == size]
        found = [space(one) for one in chosen]
        at = range(len(chosen))
        axis.barh(
            [place - 0.19 for place in at],
            [(one.store or 0.0) / one.written for one in found],
            height=0.36,
            color=COLOURS[0],
            label="as the store reports it",
        )
        axis.barh(
            [place + 0.19 for place in at],
            [one.files / one.written for one in found],
            height=0.36,
            color=COLOURS[1],
            label="as the file system does",
        )
        axis.set_yticks(list(at), [one.name for one in chosen])
        axis.invert_yaxis()
        axis.set_xlabel(f"bytes stored for a byte written, metadata of {size}")
        rows += [
            (one.size, one.name, each.written, each.store, each.files)
            for one, each in zip(chosen, found, strict=True)
        ]
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=2)
    figure.suptitle(f"Space: {caption}", x=0.01, ha="left", fontsize=9)
    return save(path, figure, rows)


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets a quote before it."""
    formula = (
        isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") and not _is_number(value)
    )
    return f"'{value}" if formula else value


def _is_number(text: str) -> bool:
    try:
        float(text.rstrip("%x "))
    except ValueError:
        return False
    return True


def save(
    path: Path,
    figure: Any,
    rows: list[tuple[Any, ...]],
    simulated: bool = False,
    more: dict[str, Any] | None = None,
) -> list[Path]:
    """Writes PATH.csv, .png, .svg and .json (how it was made, and `more`). Each has its name only when it is
    whole."""
    about = {**describe(figure, simulated), **(more or {})}
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([map(_cell, row) for row in rows])
    writers: dict[str, Callable[[Path], object]] = {
        "csv": lambda file: file.write_text(text.getvalue()),
        "png": lambda file: figure.savefig(file, format="png", dpi=150),
        "svg": lambda file: figure.savefig(file, format="svg", metadata={"Date": None}),
        "json": lambda file: file.write_text(json.dumps(about, indent=1) + "\n"),
    }
    return [write_whole(path.with_name(f"{path.name}.{ending}"), write) for ending, write in writers.items()]
