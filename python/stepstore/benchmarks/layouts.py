"""stepstore bench layouts: the first reference's experiment. Ranks write a blob of metadata each in every
step, as many ranks read all of them, for each point of the design space and for BP5 in turn."""

from __future__ import annotations

import os
import shutil
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from stepstore.benchmarks import memory
from stepstore.benchmarks.layout_points import Point, Space, chosen_points
from stepstore.benchmarks.layout_report import Outcome, report
from stepstore.benchmarks.layout_runs import Program, Run
from stepstore.benchmarks.machine import others_share
from stepstore.benchmarks.options import Parser, words

_RANK_BYTES = 48 << 20  # that a rank needs beside its blobs
_OVERHEAD = 2  # bytes stored for a byte of a blob, at most: a page of an index is not always full


def layouts(arguments: list[str]) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    options.readers = options.readers or options.writers
    program = Program(options.mpirun)
    points = _checked(parser, options, program)
    outcomes, shares = _measure(options, program, points)
    report(outcomes, options, shares)


def _parser() -> Parser:
    parser = Parser(
        "layouts",
        "Writes a stream of steps with some ranks, and reads it with others: for each point of the design "
        "space and for BP5, in turn, round by round. Prints milliseconds of a rank and step: stabilisation "
        "(EndStep), acquisition (BeginStep), and both. What is read is compared with what was written.",
    )
    parser.number("writers", 8, "ranks that write")
    parser.number("readers", 0, "ranks that read; 0: as many as write")
    parser.number("steps", 100, "steps")
    parser.list(
        "sizes",
        ["5k", "56k"],
        "bytes of a blob, also with k or M: SIZE, LEAST..MOST, or @FILE with one in each line",
        "SIZE,...",
        words,
    )
    parser.add_argument(
        "--points",
        nargs="+",
        default=["all"],
        metavar="POINT",
        help="'default', 'layouts' (each of them), 'all', or choices with commas between them, such as kv or "
        "array,per-step,everyone or Layout=kv,ReadAhead=0 (default: all)",
    )
    parser.add_argument("--set", default="", metavar="NAME=VALUE,...", help="more parameters of every stream")
    parser.add_argument(
        "--durability",
        choices=("process", "power"),
        default="process",
        help="of the pools (default: process)",
    )
    parser.add_argument(
        "--live", action="store_true", help="readers follow the writers, instead of reading after them"
    )
    parser.add_argument(
        "--together", action="store_true", help="the ranks wait for each other before each step"
    )
    parser.add_argument("--no-bp5", action="store_true", help="leave BP5 out")
    parser.add_argument("--mpirun", default="", help="the command that starts MPI programs (default: mpirun)")
    return parser


def _checked(parser: Parser, options: Namespace, program: Program) -> list[Point]:
    """The points to measure. Whatever cannot be run ends the command here."""
    if min(options.writers, options.readers, options.steps, options.rounds) < 1:
        parser.error("give at least 1 for writers, readers, steps and rounds")
    if options.directory and not os.path.isdir(options.directory):
        parser.error(f"there is no directory {options.directory}: make it, or name another")
    if not options.sizes:
        parser.error("give at least one size")
    for size in options.sizes:
        if refusal := program.refusal(["--size", size]):
            parser.error(f"--sizes: {refusal}")
    points = chosen_points(options.points, Space(program.space()), parser.error)
    durability = [] if options.durability == "process" else [f"Durability={options.durability}"]
    for point in points:
        point.written = ",".join([point.written, *words(options.set), *durability])
    for point in points:
        if refusal := program.refusal(["--set", point.written, "--read", point.read]):
            parser.error(f"point {point.name}: {refusal}")
    _require_room(parser, options, program)
    if not options.no_bp5 and (refusal := program.refusal(["--engine", "bp5"])):
        options.no_bp5 = True
        parser.note(f"BP5 is left out: {refusal}")
    return points


def _require_room(parser: Parser, options: Namespace, program: Program) -> None:
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    largest = max(program.mean_size(size) for size in options.sizes)
    needed = _memory(options.writers + options.readers, options.writers, largest)
    if needed > free:
        most = 0
        while _memory(2 * (most + 1), most + 1, largest) <= free:
            most += 1
        parser.error(
            f"{options.writers} writers and {options.readers} readers need about {needed >> 20} MiB of "
            f"memory, and {free >> 20} MiB are free: give at most {most} writers and as many readers"
        )
    step = int(options.writers * largest * _OVERHEAD)
    room = shutil.disk_usage(options.directory or tempfile.gettempdir()).free
    if step * options.steps > room:
        parser.error(
            f"{options.steps} steps need about {step * options.steps >> 20} MiB, and the directory has "
            f"{room >> 20} MiB: give at most {room // step} steps"
        )


def _memory(ranks: int, writers: int, size: float) -> int:
    """Bytes, about: a reader has all blobs of several steps."""
    return ranks * int(_RANK_BYTES + 4 * writers * size)


def _measure(
    options: Namespace, program: Program, points: list[Point]
) -> tuple[list[Outcome], list[float | None]]:
    """Rounds in which each size has each point and BP5 once. What comes first changes from round to round."""
    peer = [] if options.no_bp5 else [("bp5", None)]
    outcomes = {
        (size, name): Outcome(size, name, point)
        for size in options.sizes
        for name, point in [
            *((one.name, one) for one in points),
            *([] if options.no_bp5 else [("bp5", None)]),
        ]
    }
    streams: dict[str, list[Point]] = {}
    for point in points:
        streams.setdefault(point.written, []).append(point)
    shares = []
    with tempfile.TemporaryDirectory(prefix="stepstore-bench-", dir=options.directory) as folder:
        for turn in range(options.rounds):
            shares.append(others_share())
            runs = [*streams.items(), *([] if options.no_bp5 else [("", [])])]
            runs = runs[turn % len(runs) :] + runs[: turn % len(runs)]
            for size in options.sizes:
                for written, read in runs:
                    run = Run(options, program, size, written, read, Path(folder) / "stream")
                    _one(run, outcomes)
    return list(outcomes.values()), shares


def _one(run: Run, outcomes: dict[tuple[str, str], Outcome]) -> None:
    memory.settle(1 << 28)
    found: dict[str, Any] = run()
    names = [point.name for point in run.points] or ["bp5"]
    for name, reading in zip(names, found.pop("readings"), strict=True):
        outcomes[run.size, name].add(found, reading)
