"""stepstore advise: which layout and parameters a job should take on a cluster."""

from __future__ import annotations

import argparse
import contextlib
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from stepstore.console import CommandError, ExitCode, emit_json, human_bytes, human_time, show, table
from stepstore.help import Parser
from stepstore.lab.benchmarks.layout_points import Space, chosen_points
from stepstore.lab.simulation.advice import Advice, Advisor, Job
from stepstore.lab.simulation.cluster import load, named
from stepstore.lab.simulation.command import (
    chosen_parameters,
    cluster_of,
    cluster_options,
    on_option,
    space_of,
)
from stepstore.lab.simulation.run import Simulator
from stepstore.steps import open_steps

_MOST_RANKS = 1 << 20
_MOST_STEPS = 1_000_000
_MOST_SERVERS = 65536
_METADATA = (16, 64 << 20)  # bytes
_SIMULATED_RANKS = 1024
_UNITS = {"": 0, "k": 10, "M": 20, "G": 30}


def advise(arguments: list[str]) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.stream and (options.ranks or options.metadata):
        parser.error("--stream takes ranks and metadata from the stream: leave --ranks and --metadata out")
    if not options.stream and not (options.ranks and options.metadata):
        parser.error("give --ranks and --metadata, or --stream LOCATION")
    others = chosen_parameters(options)
    if options.servers:
        others["servers"] = options.servers
    cluster = load(named(cluster_of(options)))
    estimator = Simulator(cluster, "stepstore-estimate", **others)
    space = Space(space_of("stepstore-estimate"))
    points = chosen_points(options.points, space, parser.error) if options.points else None
    with _job_of(options) as job:
        advisor = Advisor(estimator, _simulator(options, job, others), space)
        advice = advisor.advise(job, points)
    report = _report(advice, job, cluster.name, estimator)
    if options.json:
        return emit_json(report)
    _show(advice, job, report)


def _parser() -> Parser:
    parser = Parser(
        "advise",
        "Say which layout and parameters a job should take on a cluster, and why: predicted "
        "times of a rank and step, for each layout.",
    )
    parser.add_argument("--ranks", type=_count("--ranks", _MOST_RANKS), metavar="N", help="ranks that write")
    parser.add_argument(
        "--reader-ranks",
        type=_count("--reader-ranks", _MOST_RANKS),
        metavar="N",
        help="ranks that read (default: as many as write)",
    )
    parser.add_argument(
        "--metadata",
        type=_bytes("--metadata", *_METADATA),
        metavar="SIZE",
        help="bytes of metadata of a rank and step, also with k or M",
    )
    parser.add_argument(
        "--steps",
        type=_count("--steps", _MOST_STEPS),
        metavar="N",
        help="steps (default: 1000, or the stream's)",
    )
    parser.add_argument(
        "--servers",
        type=_count("--servers", _MOST_SERVERS),
        metavar="N",
        help="servers (default: the cluster's)",
    )
    parser.add_argument(
        "--stream", metavar="LOCATION", help="take ranks, metadata and steps from a stream that is there"
    )
    parser.add_argument(
        "--memory",
        type=_bytes("--memory", 1 << 20, 1 << 44),
        metavar="SIZE",
        help="what a reader rank may hold of metadata, also with k, M or G (default: any)",
    )
    parser.add_argument(
        "--points",
        nargs="+",
        metavar="POINT",
        help="compare these, as in 'stepstore bench layouts' (default: each layout, variants of the best)",
    )
    parser.add_argument(
        "--simulate",
        action="store_true",
        help=f"run the engine's own code on the simulated cluster instead of estimating; up to "
        f"{_SIMULATED_RANKS} ranks",
    )
    on_option(parser)
    cluster_options(parser)
    return parser


def _count(option: str, most: int) -> Callable[[str], int]:
    def count(text: str) -> int:
        if not re.fullmatch(r"\d+", text) or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {most}")
        return int(text)

    return count


def _bytes(option: str, least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        parts = re.fullmatch(r"(\d+)([kMG]?)", text)
        if not parts or not least <= int(parts[1]) << _UNITS[parts[2]] <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no size from {least} to {most} bytes, such as 5000, 56k or 1M"
            )
        return int(parts[1]) << _UNITS[parts[2]]

    return number


@contextlib.contextmanager
def _job_of(options: argparse.Namespace) -> Iterator[Job]:
    if not options.stream:
        readers = options.reader_ranks or options.ranks
        size, steps = options.metadata, options.steps or 1000
        yield Job(options.ranks, readers, steps, str(size), size, size, options.memory, options.on)
        return
    sizes, steps = _metadata_of(options.stream)
    with tempfile.NamedTemporaryFile("w", prefix="stepstore-", suffix=".sizes") as file:
        file.writelines(f"{size}\n" for size in sizes)
        file.flush()
        yield Job(
            len(sizes),
            options.reader_ranks or len(sizes),
            options.steps or steps,
            f"@{file.name}",
            sum(sizes) / len(sizes),
            max(sizes),
            options.memory,
            options.on,
        )


def _metadata_of(location: str) -> tuple[list[int], int]:
    """The mean size of each rank's metadata, and the number of steps."""
    with open_steps(location) as stream:
        ranks = stream.profile().get("ranks", [])
        steps = len(stream)
    written = max((sum(one["rows"]["steps"]) for one in ranks), default=0)
    if not written or not steps:
        raise CommandError(
            f"--stream {location}: it has no profile of its writers (Profile=off, or not ended yet): "
            "give --ranks and --metadata instead",
            ExitCode.NOT_FOUND,
        )
    least, most = _METADATA
    means = [round(one["metadata_bytes"] / written) for one in ranks]
    return [min(max(mean, least), most) for mean in means], steps


def _simulator(options: argparse.Namespace, job: Job, others: dict[str, float]) -> Simulator | None:
    if not options.simulate:
        return None
    if max(job.ranks, job.reader_ranks) > _SIMULATED_RANKS:
        raise CommandError(
            f"--simulate: {max(job.ranks, job.reader_ranks)} ranks take too long: it takes up to "
            f"{_SIMULATED_RANKS}; without it the times are estimated",
            ExitCode.USAGE,
        )
    return Simulator(load(named(cluster_of(options))), **others)


def _report(advice: Advice, job: Job, cluster: str, estimator: Simulator) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "servers": int(estimator.values["servers"]),
        "ranks": job.ranks,
        "reader_ranks": job.reader_ranks,
        "steps": job.steps,
        "rank_bytes": job.mean,
        "settings": advice.settings,
        "location": "shared:PATH" if job.in_files else "",
        "advice": advice.best.record(advice.best),
        "reason": advice.reason,
        "notes": advice.notes,
        "predictions": [one.record(advice.best) for one in advice.all],
    }


def _show(advice: Advice, job: Job, report: dict[str, Any]) -> None:
    show(
        f"{job.ranks} writers, {job.reader_ranks} readers, {job.steps} steps, metadata of "
        f"{human_bytes(job.mean)}; cluster {report['cluster']} with {report['servers']} servers"
    )
    right = "right"
    columns: list[Any] = ["POINT"]
    columns += [(name, right) for name in ("STABILISATION", "ACQUISITION", "END TO END", "TIMES SLOWER")]
    rows = [
        (
            one.point.name,
            human_time(one.stabilisation),
            ("at least " if one.found["requests"]["bound"] else "") + human_time(one.acquisition),
            human_time(one.end_to_end),
            f"{one.end_to_end / advice.best.end_to_end:.2f}",
        )
        for one in advice.all
    ]
    show(table(columns, rows))
    show(f"of a rank and step; {'simulated' if advice.best.simulated else 'estimated'}")
    at = f" at a location {report['location']}" if job.in_files else ""
    show(f"take {advice.settings}{at}")
    show(advice.reason)
    for note in advice.notes:
        show(f"- {note}")
