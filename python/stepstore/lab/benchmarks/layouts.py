"""stepstore bench layouts: the first reference's experiment. Ranks write metadata in every
step, as many ranks read all of them, for each point of the design space and for BP5 in turn."""

from __future__ import annotations

import os
import shutil
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from stepstore.console import show
from stepstore.lab.benchmarks import ceph, memory
from stepstore.lab.benchmarks.layout_figures import draw
from stepstore.lab.figures import require_matplotlib
from stepstore.lab.benchmarks.layout_points import Point, Space, all_layouts, chosen_points
from stepstore.lab.benchmarks.layout_presets import PRESETS, report_space, report_windows
from stepstore.lab.benchmarks.layout_report import Outcome, explanation, report_json, report_table
from stepstore.lab.benchmarks.layout_runs import BP5, Program, Run
from stepstore.lab.benchmarks.layout_statements import statements, statements_of_preset
from stepstore.lab.benchmarks.machine import others_share
from stepstore.lab.benchmarks.options import Parser, words
from stepstore.lab.benchmarks.records import write_statements

_RANK_BYTES = 48 << 20  # that a rank needs beside its metadata
LOCAL = " (local)"
_OVERHEAD = 2  # bytes stored for a byte of metadata, at most: a page of an index is not always full


def layouts(arguments: list[str]) -> None:
    parser = _parser()
    preset, _ = parser.parse_known_args(arguments)
    if preset.preset:
        parser.set_defaults(**PRESETS[preset.preset].defaults)
    options = parser.parse_args(arguments)
    options.readers = options.readers or options.writers
    program = Program(options.mpirun)
    options.pool = ceph.own_pool(parser, options)
    points = _checked(parser, options, program)
    outcomes, shares = _measure(options, program, points)
    _report(options, outcomes, shares, Space(program.space()).point({}).name)


def _report(options: Namespace, outcomes: list[Outcome], shares: list[float | None], default: str) -> None:
    if options.figures:
        job = f"{options.writers} writers, {options.readers} readers, {options.steps} steps"
        made = draw(options.preset, outcomes, Path(options.figures), job)
        found = (
            statements_of_preset(options.preset, outcomes)
            if options.preset
            else statements(outcomes, default)
        )
        write_statements(Path(options.figures), options.preset or "layouts", found)
    if options.json:
        report_json(outcomes)
        return
    if options.preset == "storage":
        report_space(outcomes)
    elif options.preset:
        report_windows(outcomes)
    else:
        report_table(outcomes, options)
    for line in explanation(options, shares):
        show(line)
    if options.figures:
        show(f"figures: {', '.join(map(str, made))}")


def _parser() -> Parser:
    parser = Parser(
        "layouts",
        "Write a stream of steps with some ranks, and read it with others: for each point of the design "
        "space and for BP5, in turn, round by round. Prints milliseconds of a rank and step: stabilisation "
        "(EndStep), acquisition (BeginStep), and both. What is read is compared with what was written.",
    )
    parser.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        help="an experiment of the reference, with other defaults: "
        + "; ".join(f"{name}: {one.what}" for name, one in PRESETS.items()),
    )
    parser.number("writers", 8, "ranks that write")
    parser.number("readers", 0, "ranks that read; 0: as many as write")
    parser.number("steps", 100, "steps")
    parser.list(
        "sizes",
        ["5k", "56k"],
        "bytes of a rank's metadata, also with k or M: SIZE, LEAST..MOST, or @FILE with one in each line",
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
    parser.add_argument(
        "--figures", metavar="DIR", help="draw figures there, as PNG and SVG with the numbers as CSV"
    )
    parser.add_on()
    ceph.add_location(parser)
    parser.add_argument("--no-bp5", action="store_true", help="leave BP5 out")
    parser.add_argument(
        "--mpirun",
        metavar="COMMAND",
        default="",
        help="the command that starts MPI programs (default: mpirun)",
    )
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
    space = Space(program.space())
    if options.preset == "figure-14" and "snapshot" not in space.choices["Steps"]:
        parser.note("Steps=snapshot is left out: this build of Stepstore does not know it")
        options.points = [word for word in options.points if word not in ("Steps=snapshot", "snapshot")]
    points = chosen_points(options.points, space, parser.error)
    if options.pool:
        points = _possible_on_ceph(parser, options, points)
    durability = [] if options.durability == "process" else [f"Durability={options.durability}"]
    for point in points:
        point.written = ",".join([point.written, *words(options.set), *durability])
    for point in points:
        if refusal := program.refusal(["--set", point.written, "--read", point.read]):
            parser.error(f"point {point.name}: {refusal}")
    _require_room(parser, options, program)
    if options.figures:
        require_matplotlib()
        _make_directory(parser, options.figures)
    if not options.no_bp5 and (refusal := program.refusal(["--engine", "bp5"])):
        options.no_bp5 = True
        parser.note(f"BP5 is left out: {refusal}")
    return points


def _possible_on_ceph(parser: Parser, options: Namespace, points: list[Point]) -> list[Point]:
    if options.preset or options.figures:
        parser.error("--location goes with neither --preset nor --figures")
    in_files = [f"Layout={one.name}" for one in all_layouts() if one.metadata == "files"]
    possible = [point for point in points if not set(in_files) & set(point.written.split(","))]
    if len(possible) < len(points):
        parser.note(f"{', '.join(in_files)} is left out: it needs a directory")
    if not possible:
        parser.error("--points: give a layout that does without a directory")
    return possible


def _make_directory(parser: Parser, name: str) -> None:
    try:
        os.makedirs(name, exist_ok=True)
    except OSError as error:
        parser.error(f"--figures {name}: {error.strerror}")


def _require_room(parser: Parser, options: Namespace, program: Program) -> None:
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    largest = max(program.mean_size(size) for size in options.sizes)
    needed = _memory(options, options.writers, options.readers, largest)
    if needed > free:
        most = 0
        while _memory(options, most + 1, most + 1, largest) <= free:
            most += 1
        parser.error(
            f"{options.writers} writers and {options.readers} readers need about {needed >> 20} MiB of "
            f"memory, and {free >> 20} MiB are free: give at most {most} writers and as many readers"
            + ("" if options.no_bp5 else ", or --no-bp5: its readers keep the metadata of all steps")
        )
    step = int(options.writers * largest * _OVERHEAD)
    room = shutil.disk_usage(options.directory or tempfile.gettempdir()).free
    if step * options.steps > room:
        parser.error(
            f"{options.steps} steps need about {step * options.steps >> 20} MiB, and the directory has "
            f"{room >> 20} MiB: give at most {room // step} steps"
        )


def _memory(options: Namespace, writers: int, readers: int, size: float) -> int:
    """Bytes, about: a reader has all metadata of several steps, and one of BP5 those of all steps."""
    steps = 4 if options.no_bp5 else 4 + options.steps
    return (writers + readers) * _RANK_BYTES + int(readers * steps * writers * size)


def _measure(
    options: Namespace, program: Program, points: list[Point]
) -> tuple[list[Outcome], list[float | None]]:
    """Rounds in which each size has each point and BP5 once. What comes first changes from round to round."""
    named: dict[str, Point | None] = {one.name: one for one in points}
    if options.pool:  # the local store besides
        named |= {one.name + LOCAL: one for one in points}
    streams: dict[str, list[Point]] = {}
    for point in points:
        streams.setdefault(point.written, []).append(point)
    if not options.no_bp5:
        named[BP5], streams[BP5] = None, []
    outcomes = {
        (size, name): Outcome(size, name, point) for size in options.sizes for name, point in named.items()
    }
    shares = []
    with tempfile.TemporaryDirectory(prefix="stepstore-bench-", dir=options.directory) as folder:
        for turn in range(options.rounds):
            shares.append(others_share())
            runs = list(streams.items())
            runs = runs[turn % len(runs) :] + runs[: turn % len(runs)]
            for size in options.sizes:
                memory.settle(int(3 * options.writers * options.steps * program.mean_size(size)))
                for written, read in runs:
                    local = Path(folder) / "stream"
                    if options.pool and read:
                        _add(outcomes, Run(options, program, size, written, read, local, options.pool))
                    suffix = LOCAL if options.pool else ""
                    _add(outcomes, Run(options, program, size, written, read, local), suffix)
    return list(outcomes.values()), shares


def _add(outcomes: dict[tuple[str, str], Outcome], run: Run, suffix: str = "") -> None:
    found: dict[str, Any] = run()
    names = [point.name + suffix for point in run.points] or [BP5]
    for name, reading in zip(names, found.pop("readings"), strict=True):
        outcomes[run.size, name].add(found, reading)
