"""How every figure is made: its panels, the words on its axes, its forms, and its files.

An axis gets its words from a Quantity: what it is, its unit and, where it was measured, which direction is
better. `save` and `save_picture` refuse a figure with an axis that lacks them, so that none is forgotten. A
panel whose largest value dwarfs its smallest gets a logarithmic axis, which says so.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, ExitCode
from stepstore.lab.benchmarks.records import describe, write_whole
from stepstore.lab.peers import DARK, GRAY, style_of, styles_of

LOWER, HIGHER = "lower is better", "higher is better"
NUMBER = "number"  # the unit of what is counted
DWARFED = 20  # times the smallest value of a panel: its axis is logarithmic from there on
_NARROW = 3.9  # inches: a phone
_SIGNS = 13  # of a title, in an inch
_LONG = 24  # signs of a name beside a bar
_LABEL = 36  # signs of a line at an axis
_SHADES = (1.0, 0.4)  # of a peer's colour: the first part, the second
_SHADOW = 0.35


@dataclass(frozen=True)
class Quantity:
    """What an axis or a column has. `better`: LOWER or HIGHER, and empty where the experiment chose it."""

    what: str
    unit: str
    column: str  # of the table; ends in a unit of UNITS
    better: str = ""

    def words(self, logarithmic: bool = False) -> str:
        """What stands at an axis."""
        first = f"number of {self.what}" if self.unit == NUMBER else f"{self.what} ({self.unit})"
        more = ", ".join(filter(None, (self.better, "log scale" if logarithmic else "")))
        return "\n".join(filter(None, (textwrap.fill(first, _LABEL), more)))


TIME = Quantity("time of a rank and step", "ms", "time_ms", LOWER)
ON_RANKS = Quantity("ranks that write, and read", NUMBER, "ranks")
STEPS = Quantity("steps", NUMBER, "steps")
STEP = Quantity("steps before it", NUMBER, "steps")

# The end of a column's name tells the unit of its numbers.
_UNITS = {
    "_ms": "ms",
    "_ns_byte": "ns/byte",
    "_percent": "%",
    "_bytes": "bytes",
    "_gb_s": "GB/s",
    "_gib_s": "GiB/s",
    "_cells": "cells",
    "_concentration": "concentration",
}
_COUNTED = ("round", "first_step", "steps", "ranks", "servers", "processes", "level")


def heading(column: str, columns: Sequence[str]) -> str:
    """A column's name for people, such as 'stabilisation (ms)'. In a table with a column 'unit', each row
    has the unit of the columns after it."""
    words = column.replace("_", " ")
    if column in _COUNTED:
        return f"{words} ({NUMBER})"
    for ending, unit in _UNITS.items():
        if column.endswith(ending):
            return f"{column.removesuffix(ending).replace('_', ' ')} ({unit})"
    if "unit" in columns and columns.index(column) > columns.index("unit"):
        return f"{words} (unit of the row)"
    return words


def require_matplotlib() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise CommandError(
            f"--figures needs matplotlib, which {sys.executable} does not have: {sys.executable} -m pip "
            "install matplotlib",
            ExitCode.NOT_FOUND,
        )


def blank(width: float, height: float, panels: int = 1, columns: int | None = None) -> tuple[Any, list[Any]]:
    """A figure, and its panels row by row; inches of a panel."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update(
        {
            "font.size": 9,
            "font.family": "DejaVu Sans",
            "svg.hashsalt": "stepstore",
            "axes.titlesize": 9,
            "axes.titlelocation": "left",
            "figure.titlesize": 10,
            "figure.titleweight": "bold",
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    across = min(columns or panels, panels)
    rows = math.ceil(panels / across)
    figure = Figure(figsize=(width * across, height * rows), layout="constrained")
    grid = figure.add_gridspec(rows, across)
    axes = [figure.add_subplot(grid[number]) for number in range(panels)]
    for axis in axes:
        axis.grid(color="#dddddd", linewidth=0.7)
        axis.set_axisbelow(True)
    return figure, axes


# ---- words


def entitle(figure: Any, text: str) -> None:
    """The title of the whole figure."""
    figure.suptitle(text, x=0.01, ha="left")


def chosen(
    axis: Any, quantity: Quantity, values: Sequence[float] | None = None, logarithmic: bool = False
) -> None:
    """An x or y axis (`panel.xaxis`) with what the experiment chose, and ticks at its values."""
    axis.set_label_text(quantity.words(logarithmic))
    if logarithmic:
        _make_logarithmic(axis)
    if values is not None:
        axis.set_ticks(list(values), [f"{one:,g}" for one in values])


def dwarfed(values: Sequence[float]) -> bool:
    """Whether the smallest of them would not be seen beside the largest."""
    positive = [one for one in values if one > 0]
    return bool(positive) and min(values) >= 0 and max(positive) > DWARFED * min(positive)


def measured(
    axis: Any, quantity: Quantity, values: Sequence[float], linear: bool = False, beside: Sequence[float] = ()
) -> bool:
    """An axis with what was measured: from 0, or logarithmic where the largest of the values dwarfs the
    smallest. Returns whether it is. beside: the values of other panels, which get the same scale."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    positive, least = [one for one in values if one > 0], min(values, default=0)
    logarithmic = not linear and dwarfed([*values, *beside])
    axis.set_label_text(quantity.words(logarithmic))
    limits = axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim
    if logarithmic:
        _make_logarithmic(axis)
        if axis.axis_name == "y" and max(positive) < 100 * min(positive):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        limits(min(positive) / 2.5, max(positive) * 2)
    else:
        limits(1.05 * min(0, least), 1.05 * max(positive, default=1))
    return logarithmic


def _make_logarithmic(axis: Any) -> None:
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    axis.minorticks_off()


def legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Below the panels, so that it covers nothing; in as many columns as there is room for."""
    for old in list(figure.legends):
        old.remove()
    wide = 0.45 + 0.085 * max(map(len, labels))
    columns = max(1, min(len(labels), int(figure.get_size_inches()[0] / wide)))
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=columns)


# ---- forms


def bars(
    panel: Any,
    x: Quantity | None,
    names: Sequence[Any],
    y: Quantity,
    series: Mapping[str, Sequence[float]],
    dark: Mapping[str, Sequence[float]] | None = None,
    beside: Sequence[float] = (),
) -> None:
    """Upright bars side by side, and the dark part of some. x: None where the names need no more words."""
    values_ = [one for values in series.values() for one in values]
    logarithmic = measured(panel.yaxis, y, values_, beside=beside)
    styles = styles_of(list(series))
    width = 0.8 / len(series)
    for number, (name, values) in enumerate(series.items()):
        at = [place + (number - (len(series) - 1) / 2) * width for place in range(len(names))]
        panel.bar(at, values, width, label=name, color=styles[name].colour)
        if dark and name in dark:
            panel.bar(at, dark[name], width, color="black", alpha=_SHADOW)
        if logarithmic:
            for place, value in zip(at, values, strict=True):
                if value <= 0:
                    panel.text(place, panel.get_ylim()[0], "0", ha="center", va="bottom", fontsize=7)
    broken = [textwrap.fill(f"{one:,}" if isinstance(one, int) else str(one), 14) for one in names]
    panel.set_xticks(range(len(names)), broken)
    panel.grid(axis="x", visible=False)
    if x:
        chosen(panel.xaxis, x)


def lines(
    panel: Any,
    x: Quantity,
    at: Sequence[float],
    y: Quantity,
    series: Mapping[str, Sequence[float]],
    marked: bool = True,
    ticks: bool = True,
    beside: Sequence[float] = (),
) -> None:
    """Lines over the same x values, which are logarithmic with them where they reach far."""
    far = ticks and min(at) > 0 and max(at) > DWARFED * min(at)
    styles = styles_of(list(series))
    for name, values in series.items():
        style = styles[name]
        panel.plot(at, values, marker=style.marker if marked else "", color=style.colour, label=name)
    chosen(panel.xaxis, x, at if ticks else None, logarithmic=far)
    measured(panel.yaxis, y, [one for values in series.values() for one in values], beside=beside)


def _in_lines(name: str) -> str:
    """A long name of a point in two lines, so that a phone has room for its bar."""
    return name if len(name) < _LONG or "," not in name else ",\n".join(name.rsplit(",", 1))


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def shades(names: Sequence[str]) -> tuple[list[Any], list[str]]:
    """For the legend of two parts of every peer, in its colour and in a lighter one."""
    from matplotlib.patches import Patch

    return [Patch(color=DARK, alpha=alpha, linewidth=0) for alpha in _SHADES[: len(names)]], list(names)


def shadow() -> Any:
    """For the legend of the dark parts of bars."""
    from matplotlib.patches import Patch

    return Patch(color="black", alpha=_SHADOW, linewidth=0)


def lying(
    panel: Any,
    names: Sequence[str],
    quantity: Quantity,
    series: Mapping[str, Sequence[float | None]],
    peers: bool = False,
    beside: Sequence[float] = (),
) -> None:
    """Two lying bars for each name; None is nothing known. peers: the series are peers; else the names are,
    and series are shades."""
    known = [one for values in series.values() for one in values if one is not None]
    logarithmic = measured(panel.xaxis, quantity, known, beside=beside)
    named = [style_of(name).colour for name in names]
    styles = styles_of(list(series))
    for (label, values), shift, alpha in zip(series.items(), (-0.19, 0.19), _SHADES, strict=True):
        at = [place + shift for place in range(len(names))]
        colour = styles[label].colour if peers else named
        panel.barh(
            at, [one or 0 for one in values], 0.36, color=colour, alpha=1 if peers else alpha, label=label
        )
        for place, value in zip(at, values, strict=True):
            text = "not known" if value is None else _short(value)
            end = (max(value or 0, panel.get_xlim()[0]), place)
            panel.annotate(text, end, (3, 0), textcoords="offset points", va="center", fontsize=7)
    panel.set_xlim(right=panel.get_xlim()[1] * (4 if logarithmic else 1.15))
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.grid(axis="y", visible=False)


def shares(
    panel: Any, x: Quantity, names: Sequence[int], y: Quantity, series: Mapping[str, Sequence[float]]
) -> None:
    """Bars of percents, from 0 to 100."""
    bars(panel, x, names, y, series)
    panel.set_yscale("linear")
    measured(panel.yaxis, y, [100], linear=True)


def parts(
    figure: Any,
    panel: Any,
    names: Sequence[str],
    quantity: Quantity,
    values: Mapping[str, Sequence[float]],
    ranges: Sequence[tuple[float, float]] | None = None,
    whole: Sequence[float] | None = None,
) -> None:
    """A lying bar for each name, of parts that make a whole, in the colour of its peer. Where one bar dwarfs
    others, dots instead: lengths of parts mean nothing on a logarithmic axis. whole: where it is not the
    sum, such as a median of sums. ranges: of the wholes."""
    whole = list(whole or map(sum, zip(*values.values(), strict=True)))
    ends = [most for _, most in ranges] if ranges else whole
    everything = [*whole, *(least for least, _ in ranges or ())]
    at = list(range(len(names)))
    colours = [style_of(name).colour for name in names]
    far = dwarfed(whole)
    handles = _dots(panel, at, colours, values, whole) if far else _stacked(panel, at, colours, values)
    if ranges:
        spread = [[max(0.0, one - low) for one, (low, _) in zip(whole, ranges, strict=True)],
                  [max(0.0, high - one) for one, (_, high) in zip(whole, ranges, strict=True)]]  # fmt: skip
        lines_ = panel.errorbar(whole, at, xerr=spread, fmt="none", ecolor=DARK, elinewidth=1, capsize=3)
        handles["range of the rounds"] = lines_.lines[2][0]
    if far:
        everything += [one for each in values.values() for one in each]
        measured(panel.xaxis, quantity, [*everything, *ends])
        panel.set_xlim(right=4 * max(ends))
    else:
        measured(panel.xaxis, quantity, ends, linear=True)
        panel.set_xlim(0, 1.2 * max(ends))
    for place, value, end in zip(at, whole, ends, strict=True):
        panel.annotate(
            _short(value), (end, place), (5, 0), textcoords="offset points", va="center", fontsize=8
        )
    panel.set_yticks(at, [_in_lines(name) for name in names])
    panel.invert_yaxis()
    panel.grid(axis="y", visible=far)
    if handles:
        legend(figure, list(handles.values()), list(handles))


def _stacked(
    panel: Any, at: list[int], colours: list[str], values: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    begin = [0.0] * len(at)
    for widths, alpha in zip(values.values(), _SHADES, strict=False):
        panel.barh(at, widths, left=begin, color=colours, alpha=alpha, height=0.62)
        begin = [first + width for first, width in zip(begin, widths, strict=True)]
    handles, labels = shades(list(values))
    return dict(zip(labels, handles, strict=True)) if len(values) > 1 else {}


def _dots(
    panel: Any, at: list[int], colours: list[str], values: Mapping[str, Sequence[float]], whole: list[float]
) -> dict[str, Any]:
    shown = [*values.items(), *([("together", whole)] if len(values) > 1 else [])]
    handles: dict[str, Any] = {}
    for (name, each), marker in zip(shown, (">", "<", "o") if len(values) > 1 else ("o",), strict=True):
        size = 44 if marker == "o" else 24
        panel.scatter(each, at, marker=marker, s=size, c=colours if marker == "o" else GRAY, zorder=3)
        handles[name] = panel.scatter([], [], marker=marker, s=size, c=DARK if marker == "o" else GRAY)
    return handles


# ---- checks and files


def faults(figure: Any) -> list[str]:
    """What its axes lack: the unit, or the direction that is better. Axes of pictures have none."""
    found = []
    for number, panel in enumerate(figure.axes, start=1):
        labels = {
            axis.axis_name: axis.get_label_text()
            for axis in (panel.xaxis, panel.yaxis)
            if axis.get_visible() and len(axis.get_majorticklocs()) and not _has_names(axis)
        }
        for name, words in labels.items():
            if not re.search(r"\([^)]+\)|^number of ", words):
                found.append(f"panel {number}: the {name} axis has no unit: {words!r}")
        picture = bool(panel.images) or panel.get_aspect() == 1.0 or panel.get_label() == "<colorbar>"
        if labels and not picture and sum("is better" in words for words in labels.values()) != 1:
            found.append(f"panel {number}: no axis says whether lower or higher is better")
    return found


def _has_names(axis: Any) -> bool:
    """Whether it has names at its ticks instead of numbers, and so may be without words."""
    texts = [one.get_text() for one in axis.get_ticklabels()]
    return not all(re.fullmatch(r"[-−+\d.,e]*|\$.*\$", one) for one in texts)


def _checked(figure: Any) -> None:
    if found := faults(figure):
        raise ValueError(f"figure {figure.get_suptitle()!r}: {'; '.join(found)}")


def _without_units(rows: list[tuple[Any, ...]]) -> list[str]:
    """The columns with numbers whose names tell no unit."""
    columns = rows[0]
    numbers = {
        column
        for row in rows[1:]
        for column, value in zip(columns, row, strict=True)
        if isinstance(value, int | float)
    }
    return sorted(one for one in numbers if heading(one, columns) == one.replace("_", " "))


def _fit(figure: Any) -> None:
    """Breaks the titles, so that they are not cut."""
    wide = figure.get_size_inches()[0]
    panels = _panels(figure)
    across = panels[0].get_gridspec().ncols if panels else 1
    for panel in panels:
        panel.set_title(_broken(panel.get_title("left"), wide / across - 0.7))
    entitle(figure, _broken(figure.get_suptitle(), wide))


def _broken(text: str, inches: float) -> str:
    return textwrap.fill(" ".join(text.split()), max(16, int(inches * _SIGNS)))


def _panels(figure: Any) -> list[Any]:
    """Without the bars of colours."""
    return [panel for panel in figure.axes if panel.get_subplotspec()]


def _narrow(figure: Any) -> None:
    """The same panels below each other, for a phone."""
    from matplotlib.gridspec import GridSpec

    panels = _panels(figure)
    if not panels:
        return
    height = figure.get_size_inches()[1] / panels[0].get_gridspec().nrows
    if any(panel.get_aspect() == 1.0 for panel in panels):
        height = min(height, _NARROW)
    figure.set_size_inches(_NARROW, height * len(panels) + (0.5 if len(panels) == 1 else 0))
    grid = GridSpec(len(panels), 1, figure=figure)
    for number, panel in enumerate(panels):
        panel.set_subplotspec(grid[number])
    for old in figure.legends[:1]:
        legend(figure, old.legend_handles, [text.get_text() for text in old.get_texts()])


def save_picture(path: Path, figure: Any) -> Path:
    """A PNG alone."""
    _checked(figure)
    _fit(figure)
    return write_whole(path, lambda file: figure.savefig(file, format="png", dpi=150))


def save(
    path: Path,
    figure: Any,
    rows: list[tuple[Any, ...]],
    simulated: bool = False,
    more: dict[str, Any] | None = None,
) -> list[Path]:
    """Writes PATH.csv, .png, .svg, .narrow.svg (for a phone; both without the title, which the page has) and
    .json (how it was made, and `more`). Each has its name only when it is whole."""
    _checked(figure)
    if columns := _without_units(rows):
        raise ValueError(f"the table of figure {path.name} has columns without a unit: {', '.join(columns)}")
    _fit(figure)
    about = {**describe(figure, simulated), **(more or {})}
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([map(_cell, row) for row in rows])

    def drawn(file: Path, narrow: bool) -> None:
        entitle(figure, "")
        if narrow:
            _narrow(figure)
            _fit(figure)
        figure.draw_without_rendering()  # one pass of the layout leaves some words over the edge
        figure.savefig(file, format="svg", metadata={"Date": None})

    writers: dict[str, Callable[[Path], object]] = {
        "csv": lambda file: file.write_text(text.getvalue()),
        "png": lambda file: figure.savefig(file, format="png", dpi=150),
        "svg": lambda file: drawn(file, narrow=False),
        "narrow.svg": lambda file: drawn(file, narrow=True),
        "json": lambda file: file.write_text(json.dumps(about, indent=1) + "\n"),
    }
    return [write_whole(path.with_name(f"{path.name}.{ending}"), write) for ending, write in writers.items()]


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
