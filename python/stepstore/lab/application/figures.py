"""The figures of `stepstore bench application`."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from stepstore.lab.application.runs import BP5, Measured
from stepstore.lab.application.scale import ENGINES, PUBLISHED_SHARE, AtScale
from stepstore.lab.benchmarks.layout_figures import COLOURS, blank_figure, save

_LEVEL_COLOURS = ("white", "#8ecae6", "#ffb703", "#e63946")


def title_of(name: str) -> str:
    return "BP5 (files)" if name == BP5 else f"stepstore {name}"


def draw_times(runs: dict[str, list[Measured]], directory: Path, caption: str) -> list[Path]:
    """What an output takes, and how much of it metadata does."""
    figure, (axis,) = blank_figure(8, 0.55 * len(runs) + 1.9)
    names = [title_of(name) for name in runs]
    metadata = [statistics.median(one.stabilisation for one in measured) for measured in runs.values()]
    whole = [statistics.median(one.output for one in measured) for measured in runs.values()]
    rest = [all_ - part for all_, part in zip(whole, metadata, strict=True)]
    axis.barh(names, metadata, color=COLOURS[3], label="stabilisation: metadata", height=0.6)
    axis.barh(names, rest, left=metadata, color=COLOURS[0], label="the rest: data", height=0.6)
    ranges = [[one.output for one in measured] for measured in runs.values()]
    least = [at - min(values) for at, values in zip(whole, ranges, strict=True)]
    most = [max(values) - at for at, values in zip(whole, ranges, strict=True)]
    axis.errorbar(whole, names, xerr=[least, most], fmt="none", ecolor="#333333", elinewidth=1, capsize=3)
    reach = max(map(max, ranges))
    for place, (at, values, measured) in enumerate(zip(whole, ranges, runs.values(), strict=True)):
        share = statistics.median(one.share for one in measured)
        text = f"{at:.2f} ms, {share:.0f} % metadata"
        axis.text(max(values) + 0.01 * reach, place, text, va="center", fontsize=8)
    axis.set_xlim(0, 1.45 * reach)
    axis.invert_yaxis()
    axis.set_xlabel("milliseconds of a rank and output, medians; line: range of the rounds")
    axis.set_title(f"A complete application: what an output takes; {caption}", loc="left", fontsize=9)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    rows: list[tuple[Any, ...]] = [("engine", "round", "output_ms", "stabilisation_ms", "share_percent")]
    rows += [
        (name, number, one.output, one.stabilisation, one.share)
        for name, measured in runs.items()
        for number, one in enumerate(measured, start=1)
    ]
    return save(directory / "application", figure, rows)


def draw_scale(found: list[AtScale], bandwidth: float, directory: Path, caption: str) -> list[Path]:
    """Figure 17 of the reference, for this application."""
    figure, (bars, lines) = blank_figure(11.5, 4.2, 2)
    width = 0.8 / len(ENGINES)
    rows: list[tuple[Any, ...]] = [("ranks", "engine", "bandwidth", "stabilisation_ms", "share_percent")]
    for number, (engine, colour) in enumerate(zip(ENGINES, COLOURS, strict=False)):
        at = [place + (number - (len(ENGINES) - 1) / 2) * width for place in range(len(found))]
        shares = [one.share(engine.name, bandwidth) for one in found]
        bars.bar(at, shares, width, color=colour, label=engine.name)
        largest = found[-1]
        bandwidths = [10.0**exponent for exponent in _steps(9.0, 12.0)]
        over = [largest.share(engine.name, one) for one in bandwidths]
        lines.plot([one / 1e9 for one in bandwidths], over, color=colour)
        rows += [
            (one.ranks, engine.name, bandwidth, one.stabilisation[engine.name], share)
            for one, share in zip(found, shares, strict=True)
        ]
        rows += [
            (largest.ranks, engine.name, one, largest.stabilisation[engine.name], share)
            for one, share in zip(bandwidths, over, strict=True)
        ]
    lines.axhline(PUBLISHED_SHARE, color="#999999", linewidth=0.8, linestyle="--")
    lines.set_xscale("log")
    lines.set(xlabel="GB/s with which all ranks write data", ylim=(0, 100))
    lines.set_title(f"{found[-1].ranks:,} ranks; dashed: POSIX, as published", loc="left", fontsize=9)
    bars.set_xticks(range(len(found)), [f"{one.ranks:,}" for one in found])
    bars.set(xlabel="ranks", ylabel="metadata, percent of an output's time", ylim=(0, 100))
    bars.set_title(f"data at {bandwidth / 1e9:g} GB/s", loc="left", fontsize=9)
    figure.legend(*bars.get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=3)
    figure.suptitle(f"Figure 17, for this application: {caption}", x=0.01, ha="left", fontsize=9)
    return save(directory / "application-17", figure, rows, simulated=True)


def _steps(first: float, last: float, count: int = 31) -> list[float]:
    return [first + (last - first) * number / (count - 1) for number in range(count)]


def draw_plane(plane: dict[str, Any], edge: int, directory: Path, caption: str) -> list[Path]:
    """V in the middle plane, and the boxes that hold it."""
    from matplotlib.patches import Rectangle

    figure, (field, mesh) = blank_figure(10.5, 4.8, 2)
    boxes = [(plane[f"box{i}"], plane[f"values{i}"]) for i in range(len(plane) // 2)]
    highest = max(float(values.max()) for _, values in boxes)
    rows: list[tuple[Any, ...]] = [("level", "start_y", "start_z", "cells_y", "cells_z", "highest_v")]
    for (level, y, z, size), values in boxes:
        height, width = values.shape[0] * size, values.shape[1] * size
        extent = (z, z + width, y, y + height)
        image = field.imshow(values, origin="lower", extent=extent, cmap="magma", vmin=0, vmax=highest)
        colour = _LEVEL_COLOURS[min(level, len(_LEVEL_COLOURS) - 1)]
        mesh.add_patch(Rectangle((z, y), width, height, facecolor=colour, edgecolor="#333333", linewidth=0.4))
        rows.append((level, y, z, *values.shape, float(values.max())))
    for axis, title in ((field, "V, read back from the engine"), (mesh, "the boxes, coloured by level")):
        axis.set(xlim=(0, edge), ylim=(0, edge), aspect="equal", xlabel="z", ylabel="y")
        axis.grid(False)
        axis.set_title(title, loc="left", fontsize=9)
    figure.colorbar(image, ax=field, label="V", shrink=0.85)
    figure.suptitle(f"The mesh follows the fronts: middle plane, {caption}", x=0.01, ha="left", fontsize=9)
    return save(directory / "application-mesh", figure, rows)
