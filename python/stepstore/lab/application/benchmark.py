"""stepstore bench application: a simulation with adaptive refinement writes through BP5 and through each
layout. How much of an output's time does its metadata take (figure 17 of the first reference)?"""

from __future__ import annotations

import os
import statistics
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from stepstore.console import emit_json, show, table
from stepstore.lab.application.figures import draw_plane, draw_scale, draw_times
from stepstore.lab.application.runs import BP5, Application, Measured
from stepstore.lab.application.scale import OVER, PUBLISHED_SHARE, AtScale, MetadataModel, simulated
from stepstore.lab.benchmarks import memory
from stepstore.lab.figures import require_matplotlib
from stepstore.lab.benchmarks.layout_points import all_layouts
from stepstore.lab.benchmarks.layout_report import machine_line
from stepstore.lab.benchmarks.machine import others_share
from stepstore.lab.benchmarks.options import Parser, numbers, words
from stepstore.lab.benchmarks.records import write_statements
from stepstore.lab.simulation.cluster import load, named
from stepstore.lab.simulation.experiments import ALIGNED, KV, POSIX
from stepstore.lab.simulation.run import Simulator

LAYOUTS = [one.name for one in all_layouts()]
_DEFAULT = LAYOUTS[0]
_Scale = tuple[MetadataModel, list[AtScale]]
_REFERENCE_RATIO = PUBLISHED_SHARE / 4.5  # of POSIX's share to that of KV and of aligned


def application(arguments: list[str]) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    _check(parser, options)
    with tempfile.TemporaryDirectory(prefix="stepstore-bench-", dir=options.directory) as folder:
        runs, mesh = _measure(options, Application(options, Path(folder)))
        scale = _scale(options, runs, Application(options, Path(folder)))
    _report(options, runs, scale, mesh)


def _parser() -> Parser:
    parser = Parser(
        "application",
        "Run a Gray-Scott simulation with adaptive mesh refinement, which writes with stock ADIOS2, through "
        "BP5 and through each layout in turn, round by round. What is read back is compared bit for bit. "
        "Prints what an output takes, and which share of it the stabilisation of its metadata does. Then the "
        "same for a larger problem on up to 1,024 simulated ranks.",
    )
    parser.add_adios2()
    parser.number("ranks", 8, "ranks")
    parser.number("size", 128, "finest cells along each edge of the cube", "CELLS")
    parser.number("levels", 3, "levels of refinement")
    parser.number("seeds", 8, "places where the reaction begins")
    parser.number("outputs", 20, "steps that are written")
    parser.number("gap", 20, "time steps between two outputs")
    parser.list("layouts", LAYOUTS, "layouts of Stepstore", "NAME,...", words)
    parser.list("scale", [64, 128, 256, 512, 1024], "simulated numbers of ranks; 0: none", kind=numbers)
    parser.number("scale-size", 512, "finest cells along each edge of the larger problem", "CELLS")
    parser.add_argument(
        "--bandwidth",
        type=float,
        default=25,
        metavar="GB/s",
        help="with which all simulated ranks write data (default: 25, that is 2.5 for each of 10 servers)",
    )
    parser.add_argument("--cluster", default="reference", metavar="NAME|FILE", help="the simulated cluster")
    parser.add_argument("--figures", metavar="DIR", help="draw figures there, as PNG, SVG and CSV")
    return parser


def _check(parser: Parser, options: Namespace) -> None:
    counts = ("ranks", "size", "levels", "seeds", "outputs", "gap", "rounds", "scale_size", "bandwidth")
    if min(getattr(options, name) for name in counts) <= 0:
        parser.error("give at least 1 for every number")
    if unknown := set(options.layouts) - set(LAYOUTS):
        parser.error(f"--layouts: no layout {', '.join(sorted(unknown))}; there are {', '.join(LAYOUTS)}")
    if not options.layouts:
        parser.error("--layouts: give at least one")
    options.scale = [count for count in options.scale if count != 0]
    if any(count < 1 or count > 1 << 17 for count in options.scale):
        parser.error("--scale: give numbers of ranks from 1 to 131072, or 0")
    if options.levels > 8 or options.size % (8 << (options.levels - 1)):
        parser.error(f"--size: with {options.levels} levels give a multiple of {8 << (options.levels - 1)}")
    if options.scale_size % (4 << (options.levels - 1)):
        parser.error(f"--scale-size: give a multiple of {4 << (options.levels - 1)}")
    if options.directory and not os.path.isdir(options.directory):
        parser.error(f"there is no directory {options.directory}: make it, or name another")
    if options.scale and options.outputs < 4:
        parser.error("--outputs: give at least 4, or --scale 0: sizes of metadata are learned from them")
    if options.scale:
        load(named(options.cluster))
    if options.figures:
        require_matplotlib()
        os.makedirs(options.figures, exist_ok=True)


def _measure(options: Namespace, program: Application) -> tuple[dict[str, list[Measured]], Any]:
    """Rounds in which each engine has its turn. What comes first changes from round to round."""
    names = [BP5, *options.layouts]
    runs: dict[str, list[Measured]] = {name: [] for name in names}
    for turn in range(options.rounds):
        others_share()
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            memory.settle(1 << 28)
            runs[name].append(program.measure(name))
    return runs, program.plane


def _scale(options: Namespace, runs: dict[str, list[Measured]], program: Application) -> _Scale | None:
    if not options.scale:
        return None
    model = MetadataModel([one for measured in runs.values() for one in measured])
    size = options.scale_size
    seeds = max(1, round(size**3 / 220_000))
    problem = [f"L={size}", "block=4", f"seeds={seeds}", "plotgap=5", "regrid=5", "steps=30"]
    return model, simulated(program, model, Simulator(load(named(options.cluster))), options.scale, problem)


def _report(options: Namespace, runs: dict[str, list[Measured]], scale: _Scale | None, mesh: Any) -> None:
    records = [_record(name, measured, runs[BP5]) for name, measured in runs.items()]
    statements = _statements(runs, scale[1] if scale else [], 1e9 * options.bandwidth)
    files = _draw(options, runs, scale, mesh, statements) if options.figures else []
    if options.json:
        emit_json({"measured": records, "simulated": _scale_json(scale, options), "statements": statements})
        return
    right = "right"
    titles = ("OUTPUT", "RANGE", "STABILISATION", "RANGE", "SHARE", "RANGE", "TIMES FASTER")
    show(table(["ENGINE", *((title, right) for title in titles)], [_row(one) for one in records]))
    show(
        f"milliseconds of a rank and output, medians of {options.rounds} rounds; {options.ranks} ranks; "
        "share: of the output's time, in percent; times faster: BP5's output by this one's"
    )
    show("what was read is the same through every engine, bit for bit")
    show(machine_line())
    if scale:
        _show_scale(scale, options)
    if files:
        show(f"figures: {', '.join(map(str, files))}")


def _draw(
    options: Namespace, runs: Any, scale: Any, mesh: Any, statements: list[dict[str, Any]]
) -> list[Path]:
    directory = Path(options.figures)
    job = f"{options.ranks} ranks, {options.levels} levels up to {options.size}³ cells"
    files = draw_times(runs, directory, job)
    files += draw_plane(mesh, options.size, directory, job)
    if scale:
        caption = f"simulated cluster {load(named(options.cluster)).name}"
        files += draw_scale(scale[1], 1e9 * options.bandwidth, directory, caption)
    write_statements(directory, "application", statements)
    return files


def _record(name: str, measured: list[Measured], peer: list[Measured]) -> dict[str, Any]:
    ours, theirs = (statistics.median(one.output for one in runs) for runs in (measured, peer))
    record: dict[str, Any] = {
        "case": name,
        "ours": ours,
        "peer": theirs,
        "unit": "ms",
        "ratio": ours / theirs,
    }
    for part in ("output", "stabilisation", "share"):
        values = [getattr(one, part) for one in measured]
        record[part] = {
            "median": statistics.median(values),
            "range": [min(values), max(values)],
            "all": values,
        }
    sizes = [row[0] for one in measured for row in one.metadata]
    if sizes:
        record["metadata_bytes"] = _spread(sizes)
    return record


def _spread(sizes: list[Any]) -> dict[str, float]:
    return {"least": min(sizes), "mean": statistics.mean(sizes), "most": max(sizes)}


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    cells = []
    for part, digits in (("output", 3), ("stabilisation", 3), ("share", 1)):
        cells.append(f"{one[part]['median']:.{digits}f}")
        cells.append(" to ".join(f"{value:.{digits}f}" for value in one[part]["range"]))
    return (one["case"], *cells, f"{1 / one['ratio']:.1f}")


def _scale_json(scale: _Scale | None, options: Namespace) -> dict[str, Any] | None:
    if scale is None:
        return None
    model, found = scale
    bandwidth = 1e9 * options.bandwidth
    return {
        "bandwidth": bandwidth,
        "metadata_model": {"weights": list(map(float, model.weights)), "explained": model.explained},
        "ranks": [
            {
                "ranks": one.ranks,
                "data_bytes": one.data_bytes,
                "rank_bytes": _spread(one.metadata),
                "stabilisation_ms": one.stabilisation,
                "share_percent": {name: one.share(name, bandwidth) for name in one.stabilisation},
            }
            for one in found
        ],
    }


def _show_scale(scale: _Scale, options: Namespace) -> None:
    found, bandwidth = scale[1], 1e9 * options.bandwidth
    right = "right"
    columns: list[Any] = ["SIMULATED", *((f"{one.ranks} RANKS", right) for one in found)]
    rows = [
        (name, *(f"{one.stabilisation[name]:.3f} ms {one.share(name, bandwidth):4.1f} %" for one in found))
        for name in found[0].stabilisation
    ]
    show(table(columns, rows))
    last = found[-1]
    show(
        f"stabilisation, and its share with data at {options.bandwidth:g} GB/s; at {last.ranks} ranks an "
        f"output has {last.data_bytes / 1e6:.0f} MB of data, and each rank metadata of "
        f"{min(last.metadata)} to {max(last.metadata)} bytes (mean {statistics.mean(last.metadata):.0f})"
    )
    at = last.bandwidth_of(POSIX.name, PUBLISHED_SHARE)
    show(
        f"POSIX has the published {PUBLISHED_SHARE:g} % with {at / 1e9:.1f} GB/s; KV then has "
        f"{last.share(KV.name, at):.1f} %, aligned {last.share(ALIGNED.name, at):.1f} % (published 4.5)"
    )


def _statements(
    runs: dict[str, list[Measured]], found: list[AtScale], bandwidth: float
) -> list[dict[str, Any]]:
    statements = []
    if _DEFAULT in runs:
        times = [
            peer.stabilisation / ours.stabilisation
            for ours, peer in zip(runs[_DEFAULT], runs[BP5], strict=True)
        ]
        statements.append(
            _statement(
                "a complete application: BP5's stabilisation over the default layout's",
                statistics.median(times),
                "measured",
                "the reference: its file engine over KV and aligned. Here each rank stores its own metadata, "
                "and waits for no other",
            )
        )
    if found and found[-1].ranks >= 1024:
        last = found[-1]
        at = last.bandwidth_of(POSIX.name, PUBLISHED_SHARE)
        for engine in (KV, ALIGNED):
            statements.append(
                _statement(
                    f"a complete application, {last.ranks:,} ranks: POSIX's share over {engine.name}'s, "
                    f"where POSIX has {PUBLISHED_SHARE:g} %",
                    PUBLISHED_SHARE / last.share(engine.name, at),
                    "simulated",
                    f"the application's own metadata, mean {statistics.mean(last.metadata):.0f} bytes; data "
                    f"at {at / 1e9:.1f} GB/s. Of {last.stabilisation[engine.name]:.2f} ms, "
                    f"{last.once[engine.name]:.2f} ms are the connections of the first output, spread over "
                    f"{OVER:,}",
                )
            )
    return statements


def _statement(text: str, value: float, source: str, why: str) -> dict[str, Any]:
    near = abs(value / _REFERENCE_RATIO - 1) <= 0.25
    verdict = "reproduced" if near else "beaten" if value > _REFERENCE_RATIO else "missed"
    return {
        "figure": "17",
        "statement": text,
        "published": round(_REFERENCE_RATIO, 2),
        "kind": "about",
        "found": value,
        "ratio": value / _REFERENCE_RATIO,
        "how": "measured" if source == "measured" else "predicted",
        "holds": verdict != "missed",
        "verdict": verdict,
        "why": why,
    }
