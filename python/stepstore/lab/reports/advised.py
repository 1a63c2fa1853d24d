"""The figures of the chapter on advice: what `stepstore advise --json` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stepstore.console import human_bytes
from stepstore.lab.figures import LOWER, Quantity, blank, entitle, parts, save

_PREDICTED = Quantity("predicted time of a step", "ms", "time_ms", LOWER)


def draw_advice(advice: dict[str, Any], folder: Path, command: str) -> None:
    ordered = sorted(advice["predictions"], key=lambda one: one["stabilisation"] + one["acquisition"])
    names = [one["point"] for one in ordered]
    figure, (panel,) = blank(8, 0.3 * len(ordered) + 1.6)
    values = {part: [1e3 * one[part] for one in ordered] for part in ("stabilisation", "acquisition")}
    parts(figure, panel, names, _PREDICTED, values)
    job = (
        f"{advice['ranks']:,} ranks, metadata of {human_bytes(advice['rank_bytes'])}, {advice['servers']:,} "
        f"servers"
    )
    where = f", {advice['location']}" if advice.get("location") else ""
    entitle(figure, f"{job}: take {advice['settings']}{where}")
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
