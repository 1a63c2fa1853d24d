"""The figure of `stepstore bench fields`, and what its numbers say about goals and about the second
reference's statements."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from stepstore.console import human_bytes
from stepstore.lab.benchmarks.records import GOALS, SECOND_REFERENCE, write_statements
from stepstore.lab.figures import HIGHER, LOWER, Quantity, blank, entitle, legend, lying, save

_TOC = "FDB's files (toc)"
# By the unit of a record.
_MEASURES = {
    "MiB/s": Quantity("bandwidth", "MiB/s", "bandwidth_mib_s", HIGHER),
    "us/field": Quantity("time of a field", "µs", "time_us", LOWER),
    "ms": Quantity("time", "ms", "time_ms", LOWER),
    "of payload": Quantity("on disk for a byte of payload", "bytes", "disk_bytes", LOWER),
}
_NEAR = 0.25  # as for the simulated cluster


def write_figures(records: list[dict[str, Any]], directory: Path) -> list[Path]:
    """The files that were made."""
    made = _draw(records, directory / "fields")
    write_statements(directory, "fields", statements(records))
    return made


def _draw(records: list[dict[str, Any]], path: Path) -> list[Path]:
    """A panel for each thing that is measured; in it two bars for each setting, ours and toc's."""
    whats = list(dict.fromkeys(one["what"] for one in records))
    schemas = len({one["schema"] for one in records})
    most = max(sum(one["what"] == what for one in records) for what in whats)
    figure, panels = blank(3.4, 0.34 * most + 1.2, len(whats), 3)
    for panel, what in zip(panels, whats, strict=True):
        those = [one for one in records if one["what"] == what]
        settings = [
            f"{human_bytes(one['field_bytes'])} × {one['processes']}"
            + (f"\n{one['schema']}" if schemas > 1 else "")
            for one in those
        ]
        pairs = {"Stepstore": [one["ours"] for one in those], _TOC: [one["peer"] for one in those]}
        lying(panel, settings, _MEASURES[those[0]["unit"]], pairs, peers=True)
        panel.set_title(what)
    legend(figure, *panels[0].get_legend_handles_labels())
    entitle(figure, "Weather fields: bytes of a field × processes")
    table: list[tuple[Any, ...]] = [("case", "unit", "round", "stepstore", "toc")]
    table += [
        (one["case"], one["unit"], number, ours, peer)
        for one in records
        for number, (ours, peer) in enumerate(zip(one["ours_all"], one["peer_all"], strict=True), start=1)
    ]
    return save(path, figure, table)


def statements(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for what in dict.fromkeys(one["what"] for one in records):
        chosen = [one for one in records if one["what"] == what]
        for goal in sorted({one["goal"] for one in chosen if one["goal"]}):
            found += _goal(what, goal, [one for one in chosen if one["goal"] == goal])
    by_case = {one["case"]: one for one in records}
    found += _listing(records)
    for side in ("write", "read"):
        found += _together(by_case, side)
    return found


def _goal(what: str, goal: float, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Whether every setting reaches it: the worst one tells. Nothing is said where none has a ratio."""
    chosen = [one for one in settings if one["ratio"] is not None]
    if not chosen:
        return []
    worst = max(chosen, key=lambda one: one["ratio"])
    reached = sum(one["ratio"] <= goal for one in chosen)
    where = worst["case"].split("/", 1)[1]
    noise = len(settings) - len(chosen)
    why = f"{noise} settings take too little to be told from noise. " if noise else ""
    why += (
        f"{reached} of {len(chosen)} settings reach it. The worst, {where}: {_number(worst['ours'])} against "
        f"{_number(worst['peer'])} {worst['unit']}"
    )
    if worst["best_ratio"] is not None:
        why += f". An engine that takes no time would have {worst['best_ratio']:.2f}: the rest is FDB's own"
    return [
        {
            "reference": GOALS,
            "statement": f"fields, {what}: time over that of FDB's files, worst setting",
            "published": round(goal, 2),
            "kind": "at most",
            "found": worst["ratio"],
            "ratio": worst["ratio"] / goal,
            "how": "measured",
            "verdict": "beaten" if worst["ratio"] <= goal else "missed",
            "why": why,
        }
    ]


def _listing(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ratios = [one["ratio"] for one in records if one["what"] == "list" and one["ratio"]]
    if not ratios:
        return []
    middle = statistics.median(ratios)
    return [
        {
            "reference": SECOND_REFERENCE,
            "figure": "",
            "statement": "listing: objects over files",
            "published": 2,
            "found": middle,
            "ratio": middle / 2,
            "how": "measured",
            "verdict": "beaten" if middle < 2 * (1 - _NEAR) else "reproduced" if middle <= 2.5 else "missed",
            "why": "the reference gets each field's entry by itself. Here an index hands out its rows by the "
            f"page: between {min(ratios):.2f} and {max(ratios):.2f} of the time of files",
        }
    ]


def _together(by_case: dict[str, dict[str, Any]], side: str) -> list[dict[str, Any]]:
    pairs = [
        (one, by_case[alone])
        for case, one in by_case.items()
        if one["what"] == f"w+r: {side}"
        and (alone := case.replace(f"w+r: {side}", "write" if side == "write" else "read one by one"))
        in by_case
    ]
    if not pairs:
        return []
    ratios = [both["peer"] / both["ours"] for both, _ in pairs]
    middle = statistics.median(ratios)
    kept = {
        name: 100 * statistics.median(both[key] / alone[key] for both, alone in pairs)
        for name, key in (("ours", "ours"), ("files", "peer"))
    }
    near = abs(middle / 0.5 - 1) <= _NEAR
    return [
        {
            "reference": SECOND_REFERENCE,
            "figure": "fdb-6",
            "statement": f"together, {'writing' if side == 'write' else 'reading'}: files over objects, one "
            "machine",
            "published": 0.5,
            "found": middle,
            "ratio": middle / 0.5,
            "how": "measured",
            "verdict": "reproduced" if near else "beaten" if middle < 0.5 else "missed",
            "why": f"next to the other side, ours keeps {kept['ours']:.0f} % of its bandwidth and files "
            f"{kept['files']:.0f} %: one machine has no lock server, and all share its processors",
        }
    ]


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
