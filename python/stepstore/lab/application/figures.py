"""The figures of `stepstore bench application`."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from stepstore.lab.application.runs import BP5, Measured
from stepstore.lab.application.scale import ENGINES, PUBLISHED_SHARE, AtScale
from stepstore.lab.figures import (
    LOWER,
    NUMBER,
    Quantity,
    blank,
    chosen,
    entitle,
    legend,
    measured,
    parts,
    save,
    shares,
)
from stepstore.lab.peers import style_of

_OUTPUT = Quantity("time of a rank and output", "ms", "output_ms", LOWER)
_SHARE = Quantity("metadata's share of the time", "%", "share_percent", LOWER)
_RANKS = Quantity("ranks", NUMBER, "ranks")
_DATA = Quantity("bandwidth of all ranks' data", "GB/s", "bandwidth_gb_s")
_LEVEL_COLOURS = ("white", "#8ecae6", "#ffb703", "#e63946")


def title_of(name: str) -> str:
    return "BP5 (files)" if name == BP5 else f"stepstore {name}"


def draw_times(runs: dict[str, list[Measured]], directory: Path, caption: str) -> list[Path]:
    """What an output takes, and how much of it metadata does."""
    figure, (panel,) = blank(8, 0.55 * len(runs) + 1.7)
    metadata = [statistics.median(one.stabilisation for one in rounds) for rounds in runs.values()]
    whole = [statistics.median(one.output for one in rounds) for rounds in runs.values()]
    rest = [all_ - part for all_, part in zip(whole, metadata, strict=True)]
    names = [
        f"{title_of(name)}\n{statistics.median(one.share for one in rounds):.0f} % metadata"
        for name, rounds in runs.items()
    ]
    ranges = [
        (min(one.output for one in rounds), max(one.output for one in rounds)) for rounds in runs.values()
    ]
    parts(
        figure, panel, names, _OUTPUT, {"stabilisation: metadata": metadata, "the rest: data": rest}, ranges
    )
    entitle(figure, f"A complete application: what an output takes; {caption}")
    rows: list[tuple[Any, ...]] = [("engine", "round", "output_ms", "stabilisation_ms", "share_percent")]
    rows += [
        (name, number, one.output, one.stabilisation, one.share)
        for name, rounds in runs.items()
        for number, one in enumerate(rounds, start=1)
    ]
    return save(directory / "application", figure, rows)


def draw_scale(found: list[AtScale], bandwidth: float, directory: Path, caption: str) -> list[Path]:
    """Figure 17 of the reference, for this application."""
    figure, (bars, lines) = blank(5, 3.6, 2)
    rows: list[tuple[Any, ...]] = [("ranks", "engine", "bandwidth_gb_s", "stabilisation_ms", "share_percent")]
    largest = found[-1]
    bandwidths = [10.0**exponent for exponent in _steps(9.0, 12.0)]
    series = {engine.name: [one.share(engine.name, bandwidth) for one in found] for engine in ENGINES}
    for name, values in series.items():
        over = [largest.share(name, one) for one in bandwidths]
        lines.plot([one / 1e9 for one in bandwidths], over, color=style_of(name).colour)
        rows += [
            (one.ranks, name, bandwidth / 1e9, one.stabilisation[name], share)
            for one, share in zip(found, values, strict=True)
        ]
        rows += [
            (largest.ranks, name, one / 1e9, largest.stabilisation[name], share)
            for one, share in zip(bandwidths, over, strict=True)
        ]
    shares(bars, _RANKS, [one.ranks for one in found], _SHARE, series)
    bars.set_title(f"data at {bandwidth / 1e9:g} GB/s")
    lines.axhline(PUBLISHED_SHARE, color="#999999", linewidth=0.8, linestyle="--")
    chosen(lines.xaxis, _DATA, [1, 10, 100, 1000], logarithmic=True)
    measured(lines.yaxis, _SHARE, [100], linear=True)
    lines.set_title(f"{largest.ranks:,} ranks; dashed: POSIX, as published")
    legend(figure, *bars.get_legend_handles_labels())
    entitle(figure, f"Figure 17, for this application: {caption}")
    return save(directory / "application-17", figure, rows, simulated=True)


def _steps(first: float, last: float, count: int = 31) -> list[float]:
    return [first + (last - first) * number / (count - 1) for number in range(count)]


def draw_plane(plane: dict[str, Any], edge: int, directory: Path, caption: str) -> list[Path]:
    """V in the middle plane, and the boxes that hold it."""
    from matplotlib.patches import Patch, Rectangle

    figure, (field, mesh) = blank(5, 4.3, 2)
    boxes = [(plane[f"box{i}"], plane[f"values{i}"]) for i in range(len(plane) // 2)]
    highest = max(float(values.max()) for _, values in boxes)
    rows: list[tuple[Any, ...]] = [
        ("level", "start_y_cells", "start_z_cells", "wide_y_cells", "wide_z_cells", "highest_v_concentration")
    ]
    for (level, y, z, size), values in boxes:
        height, width = values.shape[0] * size, values.shape[1] * size
        extent = (z, z + width, y, y + height)
        image = field.imshow(values, origin="lower", extent=extent, cmap="magma", vmin=0, vmax=highest)
        colour = _LEVEL_COLOURS[min(level, len(_LEVEL_COLOURS) - 1)]
        mesh.add_patch(Rectangle((z, y), width, height, facecolor=colour, edgecolor="#333333", linewidth=0.4))
        rows.append((level, y, z, *values.shape, float(values.max())))
    for axis, title in ((field, "V, read back from the engine"), (mesh, "the boxes, coloured by level")):
        axis.set(xlim=(0, edge), ylim=(0, edge), aspect="equal")
        chosen(axis.xaxis, Quantity("z", "cells", "z_cells"))
        chosen(axis.yaxis, Quantity("y", "cells", "y_cells"))
        axis.grid(False)
        axis.set_title(title)
    figure.colorbar(image, ax=field, label="V (concentration)", shrink=0.8)
    levels = sorted({min(box[0], len(_LEVEL_COLOURS) - 1) for box, _ in boxes})
    patches = [Patch(facecolor=_LEVEL_COLOURS[one], edgecolor="#333333", linewidth=0.4) for one in levels]
    legend(figure, patches, [f"level {one}" for one in levels])
    entitle(figure, f"The mesh follows the fronts: middle plane, {caption}")
    return save(directory / "application-mesh", figure, rows)
