"""What `stepstore bench layouts` reports."""

from __future__ import annotations

from argparse import Namespace
from statistics import mean, median
from typing import Any

from stepstore.console import emit_json, show, table
from stepstore.lab.benchmarks import machine
from stepstore.lab.benchmarks.layout_points import Point

GOAL = 1 / 3  # of BP5's time end to end


class Outcome:
    """A point, or BP5, with metadata of one size: what each round has measured."""

    def __init__(self, size: str, name: str, point: Point | None):
        self.size, self.name, self.point = size, name, point
        self.written: list[dict[str, Any]] = []
        self.readings: list[dict[str, Any]] = []

    def add(self, written: dict[str, Any], reading: dict[str, Any]) -> None:
        self.written.append(written)
        self.readings.append(reading)

    def stabilisation(self) -> list[float]:
        """Of each round, milliseconds of a rank and step."""
        return [1e3 * one["stabilisation"]["mean"] for one in self.written]

    def acquisition(self) -> list[float] | None:
        if self.readings[0]["acquisition"] is None:
            return None
        return [1e3 * one["acquisition"]["mean"] for one in self.readings]

    def end_to_end(self) -> list[float]:
        acquired = self.acquisition()
        if acquired is None:
            return [1e3 * one["latency"]["mean"] for one in self.readings]
        return [sum(both) for both in zip(self.stabilisation(), acquired, strict=True)]

    def whole(self) -> list[float] | None:
        """With opening, first step and closing, spread over the steps."""
        if self.acquisition() is None:
            return None
        return [
            1e3 * (written["stabilisation"]["whole"] + reading["acquisition"]["whole"])
            for written, reading in zip(self.written, self.readings, strict=True)
        ]

    def record(self, peer: Outcome | None) -> dict[str, Any]:
        ours = median(self.end_to_end())
        theirs = median(peer.end_to_end()) if peer else None
        return {
            "case": f"{self.size}/{self.name}",
            "ours": ours,
            "peer": theirs,
            "unit": "ms per rank and step",
            "ratio": ours / theirs if theirs and theirs > 0 and ours > 0 else None,
            "goal": GOAL if self.point else None,
            "rounds": len(self.written),
            "size": self.size,
            "parameters": self.point.parameters if self.point else None,
            "stabilisation": _median(self.stabilisation()),
            "acquisition": _median(self.acquisition()),
            "end_to_end": ours,
            "with_one_off": _median(self.whole()),
            "spread": [min(self.end_to_end()), max(self.end_to_end())],
            "measured": [
                {**written, "reading": reading}
                for written, reading in zip(self.written, self.readings, strict=True)
            ],
        }


def _median(values: list[float] | None) -> float | None:
    return None if values is None else median(values)


def peer_of(outcomes: list[Outcome], size: str) -> Outcome | None:
    return next((one for one in outcomes if one.size == size and one.point is None), None)


def report_json(outcomes: list[Outcome]) -> None:
    emit_json([one.record(peer_of(outcomes, one.size)) for one in outcomes])


def report_table(outcomes: list[Outcome], options: Namespace) -> None:
    records = [one.record(peer_of(outcomes, one.size)) for one in outcomes]
    right = "right"
    columns: list[Any] = ["METADATA", "POINT"]
    columns += [(name, right) for name in ("STABILISATION", "ACQUISITION", "END TO END", "RANGE", "ALL")]
    columns += [("TIMES FASTER", right)]
    rows = [
        _row(one) for one in sorted(records, key=lambda one: (options.sizes.index(one["size"]), one["ours"]))
    ]
    show(table(columns, rows))
    show(
        "medians of the rounds; range: of end to end; all: with opening and closing, spread over the steps; "
        "times faster: BP5's end to end by this one's"
    )
    ordered = sorted(outcomes, key=lambda one: (options.sizes.index(one.size), median(one.end_to_end())))
    _report_distribution(ordered)
    _report_one_off(ordered)


def _report_distribution(outcomes: list[Outcome]) -> None:
    shares = ("P50", "P90", "P99", "MOST")
    live = outcomes[0].acquisition() is None
    second = "LATENCY" if live else "ACQUISITION"
    columns = [*(f"STABILISATION {share}" for share in shares), *(f"{second} {share}" for share in shares)]
    if not live:
        columns += ["READ", "BROADCAST", "STABILISATION NS/BYTE", "ACQUISITION NS/BYTE"]
    rows = []
    for one in outcomes:
        writing = [each["stabilisation"] for each in one.written]
        reading = [each["latency" if live else "acquisition"] for each in one.readings]
        cells = [_of(writing, share.lower()) for share in shares]
        cells += [_of(reading, share.lower()) for share in shares]
        if not live:
            cells += [_of([each["parts"] for each in reading], part) for part in ("read", "broadcast")]
            cells += [f"{1e9 * median(each['per_byte'] for each in side):.3f}" for side in (writing, reading)]
        rows.append((one.size, one.name, *cells))
    show(table(["METADATA", "POINT", *((name, "right") for name in columns)], rows))
    show("of all ranks and steps; read and broadcast: means, parts of the acquisition; by byte: of the means")


def _report_one_off(outcomes: list[Outcome]) -> None:
    columns = ["WRITERS OPEN", "FIRST STEP", "CLOSE", "READERS OPEN", "FIRST STEP", "CLOSE"]
    columns += ["UPDATES", "FETCHES"]
    rows = []
    for one in outcomes:
        writing = [each["stabilisation"] for each in one.written]
        reading = [each["acquisition"] for each in one.readings if each["acquisition"]]
        cells = [_of(side, part) for side in (writing, reading) for part in ("open", "first", "close")]
        written = [_requests(target, "updates") for each in one.written for target in each["targets"]]
        read = [_requests(target, "fetches") for each in one.readings for target in each["targets"]]
        cells += [f"{min(of)} to {max(of)}" if of else "" for of in (written, read)]
        rows.append((one.size, one.name, *cells))
    show(table(["METADATA", "POINT", *((name, "right") for name in columns)], rows))
    show(
        "one-off costs, means over the ranks; requests that a target served: for the writers, for the readers"
    )


def _requests(target: dict[str, Any], kind: str) -> int:
    """Simulated targets count all kinds together."""
    return int(target.get(kind, target.get("requests", 0)))


def _of(phases: list[dict[str, Any]], part: str) -> str:
    return _milliseconds(1e3 * median(each[part] for each in phases) if phases else None)


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["size"],
        one["case"].split("/", 1)[1],
        _milliseconds(one["stabilisation"]),
        _milliseconds(one["acquisition"]),
        _milliseconds(one["ours"]),
        " to ".join(map(_milliseconds, one["spread"])),
        _milliseconds(one["with_one_off"]),
        "" if one["ratio"] is None else f"{1 / one['ratio']:.1f}",
    )


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}" if value < 1 else f"{value:.3f}"


def explanation(options: Namespace, shares: list[float | None]) -> list[str]:
    job = f"{options.writers} writers, {options.readers} readers, {options.steps} steps"
    lines = [f"milliseconds of a rank and step; {options.rounds} rounds; {job}"]
    if options.live:
        lines.append("end to end: from the moment when the last writer ends a step until a reader has it")
    elif not options.no_bp5:
        lines.append("BP5 reads the metadata of all steps when it opens: that is part of its acquisition")
    if options.durability == "power" and not options.no_bp5:
        lines.append("a step of Stepstore is on the medium when it ends; BP5 syncs nothing")
    return [*lines, machine_line(shares)]


def machine_line(shares: list[float | None] | None = None) -> str:
    """Whether the numbers can be trusted. shares: those before the rounds (default: all that this process has
    seen)."""
    known = [share for share in (machine.looks if shares is None else shares) if share is not None]
    if not known:
        return "whether the machine was busy is not known: there is no /proc/stat"
    used = f"before the rounds other work used {mean(known):.0%} of its processors"
    return f"BUSY MACHINE: {used}" if mean(known) >= machine.BUSY else f"the machine was quiet: {used}"
