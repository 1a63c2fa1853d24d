"""What every benchmark reports: one line per case, ours next to the peer's."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

from stepstore.console import emit_json, show, table


@dataclass
class Case:
    """One thing that is measured, `rounds` times with each. ratio: ours / peer, the smaller the better.

    unit: what ours and peer are in. A bandwidth is shown as such, and its ratio is still that of the times,
    peer / ours.
    """

    name: str
    unit: str
    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    bandwidth: bool = False
    goal: float | None = None  # the ratio to reach
    limit: list[float] = field(
        default_factory=list
    )  # what would be measured with an engine that takes no time, where that is known
    more: dict[str, Any] = field(default_factory=dict)  # what programs want to know besides

    def add(self, ours: float, peer: float) -> None:
        self.ours.append(ours)
        self.peer.append(peer)

    def record(self) -> dict[str, Any]:
        ours, peer = statistics.median(self.ours), statistics.median(self.peer)
        limit = statistics.median(self.limit) if self.limit else None
        return {
            "case": self.name,
            "ours": ours,
            "peer": peer,
            "unit": self.unit,
            "ratio": self._ratio(ours, peer),
            "goal": self.goal,
            "limit": limit,
            "best_ratio": None if limit is None else self._ratio(limit, peer),
            "rounds": len(self.ours),
            "ours_all": self.ours,
            "peer_all": self.peer,
            **self.more,
        }

    def _ratio(self, ours: float, peer: float) -> float | None:
        """None: what is left of a subtraction is less than what varies from round to round."""
        above, below = (peer, ours) if self.bandwidth else (ours, peer)
        return above / below if min(above, below) > 0 else None


def report(cases: list[Case], as_json: bool, peer: str) -> None:
    """Prints the cases: a table, or as JSON a list of objects. Medians of the rounds."""
    records = [case.record() for case in cases]
    if as_json:
        emit_json(records)
        return
    limits = any(one["limit"] is not None for one in records)
    ratios = ("ratio", "goal", *(["best_ratio"] if limits else []))
    rows = [
        (
            one["case"],
            f"{one['ours']:.3f}" if one["ours"] < 100 else f"{one['ours']:.0f}",
            f"{one['peer']:.3f}" if one["peer"] < 100 else f"{one['peer']:.0f}",
            one["unit"],
            *("" if one[name] is None else f"{one[name]:.3f}" for name in ratios),
        )
        for one in records
    ]
    right = "right"
    columns: list[Any] = [
        "CASE",
        ("OURS", right),
        (peer.upper(), right),
        "UNIT",
        ("RATIO", right),
        ("GOAL", right),
        *([("BEST", right)] if limits else []),
    ]
    show(table(columns, rows))
    show("ratio: ours / peer in time or bytes, peer / ours for a bandwidth: below 1 is better")
    if any(one["ratio"] is None for one in records):
        show("no ratio: what is left after a subtraction is less than what varies from round to round")
    if limits:
        show("best: the ratio of an engine that takes no time, with the peer's client")
