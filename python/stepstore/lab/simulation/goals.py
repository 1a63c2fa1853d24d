"""What array-adaptive with reading ahead is for: at 1,024 ranks at least as good as the best layout of the
reference, in both phases and for both sizes."""

from __future__ import annotations

from typing import Any

from stepstore.lab.simulation.experiments import E3SM, OURS, PUBLISHED, WARPX, Experiments

_EQUAL = 0.01  # that counts as equal


def goals(lab: Experiments) -> list[dict[str, Any]]:
    found = []
    for name, size in (("5 KB", WARPX), ("56 KB", E3SM)):
        for part in ("stabilisation", "acquisition", "end_to_end"):
            times = {one.name: getattr(lab.times(one, 1024, size), part) for one in PUBLISHED}
            best = min(times, key=times.__getitem__)
            ratio = getattr(lab.times(OURS, 1024, size), part) / times[best]
            found.append(_goal(f"{name} {part.replace('_', ' ')}", best, ratio))
    return found


def _goal(what: str, best: str, ratio: float) -> dict[str, Any]:
    better, holds = ratio < 1 - _EQUAL, ratio <= 1 + _EQUAL
    return {
        "reference": "Goals of Stepstore",
        "figure": "",
        "statement": f"{what} at 1,024 ranks: array-adaptive with reading ahead over the reference's best "
        "layout",
        "published": 1,
        "kind": "at most",
        "simulated": ratio,
        "ratio": ratio,
        "how": "predicted",
        "holds": holds,
        "verdict": "beaten" if better else "reproduced" if holds else "missed",
        "why": f"the best of the reference's is {best}"
        + ("" if holds else "; here several ranks share a chunk, whose target serves them in turn"),
    }
