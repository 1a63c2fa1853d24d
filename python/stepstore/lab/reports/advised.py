"""The figures of the chapter on advice: what `stepstore advise --json` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stepstore.console import human_bytes
from stepstore.lab.benchmarks.layout_figures import COLOURS, blank_figure, save


def draw_advice(advice: dict[str, Any], folder: Path, command: str) -> None:
    ordered = sorted(advice["predictions"], key=lambda one: one["stabilisation"] + one["acquisition"])
    names = [one["point"] for one in ordered]
    figure, (axis,) = blank_figure(8, 0.3 * len(ordered) + 1.8)
    begin = [0.0] * len(ordered)
    for part, colour in zip(("stabilisation", "acquisition"), COLOURS, strict=False):
        widths = [1e3 * one[part] for one in ordered]
        axis.barh(names, widths, left=begin, color=colour, label=part, height=0.65)
        begin = [first + width for first, width in zip(begin, widths, strict=True)]
    axis.invert_yaxis()
    axis.set_xlabel("milliseconds of a rank and step, predicted")
    job = (
        f"{advice['ranks']:,} ranks, metadata of {human_bytes(advice['rank_bytes'])}, {advice['servers']:,} "
        f"servers"
    )
    where = f", {advice['location']}" if advice.get("location") else ""
    axis.set_title(f"{job}: take {advice['settings']}{where}", loc="left", fontsize=9)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    rows: list[tuple[Any, ...]] = [("point", "parameters", "stabilisation_ms", "acquisition_ms")]
    rows += [
        (one["point"], one["parameters"], 1e3 * one["stabilisation"], 1e3 * one["acquisition"])
        for one in ordered
    ]
    name = f"advice-{advice['ranks']}-{round(advice['rank_bytes'])}"
    if advice.get("location"):
        name += "-files"
    note = " ".join([advice["reason"], *advice["notes"]])
    save(folder / name, figure, rows, simulated=True, more={"command": command, "note": note})
