"""What the measurements of `stepstore bench layouts` say about the goal against BP5, and about the first
reference's statements on layouts."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from stepstore.benchmarks.layout_report import GOAL, Outcome, peer_of

_NEAR = 0.25  # as for the simulated cluster

_Part = Callable[[Outcome], list[float] | None]
# Figure, what, of which size, part, above and below the line, published.
_COMPARED: tuple[tuple[str, str, str, _Part, str, str, float], ...] = (
    ("8", "56 KB stabilisation, POSIX over KV", "56k", Outcome.stabilisation, "posix", "kv", 10),
    ("10", "5 KB stabilisation, dense array over KV", "5k", Outcome.stabilisation, "array", "kv", 25),
    ("10", "5 KB stabilisation, aligned over KV", "5k", Outcome.stabilisation, "array-aligned", "kv", 1),
    ("13", "56 KB end to end, POSIX over aligned", "56k", Outcome.end_to_end, "posix", "array-aligned", 2.3),
    ("13", "5 KB end to end, POSIX over aligned", "5k", Outcome.end_to_end, "posix", "array-aligned", 2.1),
)
_WHY = {
    "reproduced": "one machine instead of a cluster",
    "beaten": "one machine: what the ranks wait for is each other, not a network",
    "missed": "one machine: a file in memory costs no network, and all ranks share its processors",
}


def statements(outcomes: list[Outcome], default: str) -> list[dict[str, Any]]:
    there = {(one.size, one.name): one for one in outcomes}
    found = [
        _goal(size, there[size, default], peer)
        for size in dict.fromkeys(one.size for one in outcomes)
        if (size, default) in there and (peer := peer_of(outcomes, size))
    ]
    for figure, text, size, part, above, below, published in _COMPARED:
        if (size, above) in there and (size, below) in there:
            upper, lower = (part(there[size, name]) for name in (above, below))
            if upper and lower:
                ranks = there[size, above].written[0]["writers"]
                ratio = statistics.median(upper) / statistics.median(lower)
                found.append(_compared(figure, f"{text}, {ranks} writers", published, ratio))
    return found


def _goal(size: str, ours: Outcome, peer: Outcome) -> dict[str, Any]:
    times = statistics.median(peer.end_to_end()) / statistics.median(ours.end_to_end())
    wanted = 1 / GOAL
    return {
        "reference": "Goals of Stepstore",
        "statement": f"{size} end to end, {ours.written[0]['writers']} writers: the default, times faster "
        "than BP5",
        "published": wanted,
        "kind": "at least",
        "found": times,
        "ratio": times / wanted,
        "how": "measured",
        "verdict": "beaten" if times >= wanted else "missed",
        "why": "no rank waits for another to end a step"
        if times >= wanted
        else f"of {statistics.median(ours.end_to_end()):.2f} ms {_acquired(ours):.2f} are acquisition",
    }


def _acquired(one: Outcome) -> float:
    return statistics.median(one.acquisition() or [0.0])


def _compared(figure: str, text: str, published: float, ratio: float) -> dict[str, Any]:
    near = abs(ratio / published - 1) <= _NEAR
    verdict = "reproduced" if near else "beaten" if ratio > published > 1 else "missed"
    return {
        "figure": figure,
        "statement": text,
        "published": published,
        "found": ratio,
        "ratio": ratio / published,
        "how": "measured",
        "verdict": verdict,
        "why": _WHY[verdict],
    }
