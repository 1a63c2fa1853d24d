"""What the measurements of `stepstore bench layouts` say about the goals, and about the first reference's
statements on layouts: each with where the time goes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stepstore.lab.benchmarks.layout_presets import space, windows
from stepstore.lab.benchmarks.layout_report import GOAL, Outcome, peer_of
from stepstore.lab.benchmarks.records import GOALS

_NEAR = 0.25  # as for the simulated cluster
_FLAT = 0.1  # of the first thousand steps

_Part = Callable[[Outcome], list[float] | None]


@dataclass(frozen=True)
class _Compared:
    figure: str
    text: str
    size: str
    part: _Part
    above: str  # the line
    below: str
    published: float
    because: str
    less_is_better: bool = False


_GATHER = (
    "With posix rank 0 gathers the metadata of all ranks into a file; the others wait for it. In memory that "
    "file costs no network"
)
_COMPARED = (
    _Compared("8", "56 KB stabilisation, POSIX over KV", "56k", Outcome.stabilisation, "posix", "kv", 10,
              f"{_GATHER}. With kv each rank puts its own metadata and waits for none"),
    _Compared("10", "5 KB stabilisation, dense array over KV", "5k", Outcome.stabilisation, "array", "kv", 25,
              "With array the ranks exchange sizes in every step, and the slowest one holds all; on a "
              "cluster ranks also contend for the same chunk"),
    _Compared("10", "5 KB stabilisation, aligned over KV", "5k", Outcome.stabilisation, "array-aligned", "kv",
              1, "Both are one request of a rank, without an exchange", less_is_better=True),
    _Compared("13", "56 KB end to end, POSIX over aligned", "56k", Outcome.end_to_end, "posix",
              "array-aligned", 2.3, _GATHER),
    _Compared("13", "5 KB end to end, POSIX over aligned", "5k", Outcome.end_to_end, "posix",
              "array-aligned", 2.1, _GATHER),
)  # fmt: skip


def statements(outcomes: list[Outcome], default: str) -> list[dict[str, Any]]:
    there = {(one.size, one.name): one for one in outcomes}
    found = [
        _goal(size, there[size, default], peer)
        for size in dict.fromkeys(one.size for one in outcomes)
        if (size, default) in there and (peer := peer_of(outcomes, size))
    ]
    for one in _COMPARED:
        if (one.size, one.above) in there and (one.size, one.below) in there:
            above, below = there[one.size, one.above], there[one.size, one.below]
            if one.part(above) and one.part(below):
                found.append(_compared(one, above, below))
    return found


def where_time_goes(one: Outcome) -> str:
    """Such as '0.50 ms stabilisation (encode 0.02, store 0.47) and 1.71 ms acquisition (read ...)'."""
    parts = []
    for name, times, phases in (
        ("stabilisation", one.stabilisation(), [written["stabilisation"] for written in one.written]),
        ("acquisition", one.acquisition(), [reading["acquisition"] for reading in one.readings]),
    ):
        if times is None:
            continue
        text = f"{_ms(statistics.median(times))} {name}"
        inner = {
            part: 1e3 * statistics.median(phase["parts"][part] for phase in phases)
            for part in phases[0].get("parts", {})
        }
        known = [f"{part} {value:.2g}" for part, value in inner.items() if value > 0]
        parts.append(text + (f" ({', '.join(known)})" if known else ""))
    return " and ".join(parts)


def _ms(value: float) -> str:
    return f"{value:.3g} ms"


def _goal(size: str, ours: Outcome, peer: Outcome) -> dict[str, Any]:
    times = statistics.median(peer.end_to_end()) / statistics.median(ours.end_to_end())
    wanted = 1 / GOAL
    return {
        "reference": GOALS,
        "statement": f"{size} end to end, {ours.written[0]['writers']} writers: the default, times faster "
        "than BP5",
        "published": wanted,
        "kind": "at least",
        "found": times,
        "ratio": times / wanted,
        "how": "measured",
        "verdict": "beaten" if times >= wanted else "missed",
        "why": f"ours: {where_time_goes(ours)}; BP5: {where_time_goes(peer)}. Ours waits for no rank to end "
        "a step. BP5 gathers on rank 0, and a reader installs the metadata of all steps at opening",
    }


def _compared(one: _Compared, above: Outcome, below: Outcome) -> dict[str, Any]:
    ratio = statistics.median(one.part(above) or []) / statistics.median(one.part(below) or [])
    ranks = above.written[0]["writers"]
    return {
        "figure": one.figure,
        "statement": f"{one.text}, {ranks} writers",
        "published": one.published,
        "found": ratio,
        "ratio": ratio / one.published,
        "how": "measured",
        "verdict": _verdict(ratio / one.published, one.less_is_better),
        "why": f"{above.name}: {where_time_goes(above)}; {below.name}: {where_time_goes(below)}. "
        f"{one.because}",
    }


def _verdict(ratio: float, less_is_better: bool) -> str:
    """ratio: of what was found to what is published."""
    if abs(ratio - 1) <= _NEAR:
        return "reproduced"
    return "beaten" if (ratio < 1) == less_is_better else "missed"


# ---- the presets


def statements_of_preset(preset: str, outcomes: list[Outcome]) -> list[dict[str, Any]]:
    made = {"figure-14": _over_steps, "figure-15": _flat, "storage": _sparse}[preset]
    return [one for one in made(outcomes) if one]


def _measured(figure: str, text: str, published: float, found: float, verdict: str, why: str,
              **more: Any) -> dict[str, Any]:  # fmt: skip
    return {
        "figure": figure,
        "statement": text,
        "published": published,
        "found": found,
        "ratio": found / published,
        "how": "measured",
        "verdict": verdict,
        "why": why,
        **more,
    }


def _over_steps(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Whether a step takes longer the more there are: steps that extend, and steps by snapshots."""
    found = []
    for one in outcomes:
        parts = windows(one)
        first, last = parts[0].stabilisation, parts[-1].stabilisation
        ratio, steps, writers = last / first, one.written[0]["steps"], one.written[0]["writers"]
        at = f"the last tenth of {steps:,} steps over the first, {writers} writers"
        numbers = f"{_ms(first)} in the first tenth, {_ms(last)} in the last"
        if "snapshot" in one.name:
            grows = ratio > 1 + _FLAT
            why = f"{numbers}. A snapshot is an epoch in a record, and each step's metadata is found "
            why += "by its key: neither takes longer the more there are"
            if grows:
                why = f"{numbers}. Each snapshot keeps the version that the next step overwrites"
            verdict = "reproduced" if grows else "beaten"
            found.append(_measured("14", f"snapshots: {at}", 1, ratio, verdict, why, kind="above"))
        else:
            verdict = "beaten" if ratio < 1 - _NEAR else "reproduced" if ratio <= 1 + _NEAR else "missed"
            why = f"{numbers}. A step is one write behind the last one, whatever lies before it"
            found.append(_measured("14", f"extending, {one.name}: {at}", 1, ratio, verdict, why))
    return found


def _flat(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    found = []
    for one in outcomes:
        steps = one.written[0]["steps"]
        if steps < 2000:
            continue
        parts = windows(one, steps // 1000)
        for phase in ("stabilisation", "acquisition"):
            first, last = (getattr(part, phase) for part in (parts[0], parts[-1]))
            if not first or not last:
                continue
            why = f"{_ms(first)} in the first thousand, {_ms(last)} in the last: nothing that a step does "
            why += "depends on how many lie before it"
            found.append(
                _measured("", f"{one.size} {one.name}, {phase}: last thousand of {steps:,} steps over the "
                          "first", 1, last / first, "beaten" if last / first <= 1 + _FLAT else "missed", why,
                          kind="at most", reference=GOALS)
            )  # fmt: skip
        found.append(_one_off(one, steps))
    return found


def _one_off(one: Outcome, steps: int) -> dict[str, Any]:
    """How much less a step takes of 10,000 than of 1,000, with what is done once spread over them."""
    phases = [written["stabilisation"] for written in one.written]
    steady = statistics.median(phase["mean"] for phase in phases)
    once = statistics.median(phase["open"] + phase["first"] + phase["close"] for phase in phases)
    ratio = (steady + once / 1000) / (steady + once / 10_000)
    why = f"what is done once takes {_ms(1e3 * once)} on a rank (opening, first step, closing), next to "
    why += (
        f"{_ms(1e3 * steady)} of a step: there is little to spread. On the reference's cluster connections "
    )
    why += "took about 1.9 s"
    return _measured("15", f"{one.name}: stabilisation at 1,000 over 10,000 steps", 5, ratio,
                     "reproduced" if abs(ratio / 5 - 1) <= _NEAR else "beaten" if ratio < 5 else "missed",
                     why)  # fmt: skip


def _sparse(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    there = {(one.size, one.name): space(one) for one in outcomes}
    found = []
    for size in dict.fromkeys(one.size for one in outcomes):
        if (size, "array-aligned") in there and (size, "array") in there:
            aligned, dense = there[size, "array-aligned"], there[size, "array"]
            ratio = aligned.files / dense.files
            why = (
                f"{aligned.files / aligned.written:.2f} bytes on the file system for a byte of metadata with "
            )
            why += (
                f"aligned, {dense.files / dense.written:.2f} with dense: holes between slots are not stored"
            )
            verdict = "beaten" if ratio < 1 - _NEAR else "reproduced" if ratio <= 1 + _NEAR else "missed"
            text = f"space, {size}: sparse (aligned) over dense array"
            found.append(_measured("VI-G", text, 1, ratio, verdict, why))
    return found
