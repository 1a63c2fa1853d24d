"""stepstore bench data, stepstore bench open: the same ADIOS2 program with BP5 and with Stepstore in turn."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from stepstore.benchmarks import memory
from stepstore.benchmarks.mpi import engine_parameters, run
from stepstore.benchmarks.report import Case, report
from stepstore.cli.common import CommandError
from stepstore.paths import program

_MIB = 1 << 20


def data(words: list[str]) -> None:
    """Write and read bandwidth by the bytes that a rank puts in a step."""
    parser = _parser(
        "data",
        "Writes and reads two 3-D fields of doubles with BP5 and Stepstore in turn, step by step, with as "
        "many readers as writers. Prints MiB/s of all ranks, from the first BeginStep to the end of Close "
        "on the slowest rank. Compares what is read with what was written. Neither engine calls fsync. "
        "Each engine is first in every other round.",
    )
    parser.add_argument(
        "--ranks", type=_numbers, default=[4], metavar="N,...", help="numbers of ranks (default: 4)"
    )
    parser.add_argument(
        "--sizes",
        type=_numbers,
        default=[1, 4, 16, 64],
        metavar="MIB,...",
        help="MiB of a rank in one step (default: 1,4,16,64)",
    )
    parser.add_argument(
        "--total",
        type=int,
        default=512,
        metavar="MIB",
        help="at most so many MiB in one run, in 2 to 50 steps (default: 512)",
    )
    options = parser.parse_args(words)
    if min(options.ranks + options.sizes) < 1 or options.rounds < 1:
        parser.error("give at least 1 for ranks, sizes and rounds")
    cases = []
    for ranks in options.ranks:
        for size in options.sizes:
            steps = max(2, min(50, options.total // (ranks * size)))
            cases += _bandwidth(options, ranks, size, steps)
    report(cases, options.json, "BP5")


def open_(words: list[str]) -> None:
    """How long it takes to open a long stream and get something from its last step."""
    parser = _parser(
        "open",
        "Writes a stream of many small steps with one rank, opens it at random and gets an array of the "
        "last step. Prints milliseconds.",
    )
    parser.add_argument("--steps", type=int, default=10000, metavar="N", help="steps (default: 10000)")
    parser.add_argument(
        "--bytes",
        type=int,
        default=1600,
        metavar="B",
        help="bytes of a step, a multiple of 16 (default: 1600)",
    )
    options = parser.parse_args(words)
    if options.steps < 1 or options.rounds < 1 or options.bytes < 16 or options.bytes % 16:
        parser.error("give at least 1 step and 1 round, and bytes that are a multiple of 16")
    names = ("open", "first get of the last step", "open and get")
    cases = [
        Case(f"{options.steps} steps/{name}", "ms", goal=0.2 if name == names[2] else None) for name in names
    ]
    wrote = Case(f"{options.steps} steps/write a step", "ms")
    with _Engines(options) as engines:
        common = ["--steps", str(options.steps), "--bytes", str(options.bytes)]
        wrote.add(
            *(times["steps_seconds"] * 1e3 / options.steps for times in engines.both(1, ["write", *common]))
        )
        for _ in range(options.rounds):
            ours, peer = engines.both(1, ["last", *common])
            for case, of in zip(cases, (_open, _get, lambda times: _open(times) + _get(times)), strict=True):
                case.add(of(ours), of(peer))
    report([*cases, wrote], options.json, "BP5")


def _open(times: dict[str, Any]) -> float:
    return float(times["open_seconds"]) * 1e3


def _get(times: dict[str, Any]) -> float:
    return float(times["steps_seconds"]) * 1e3


def _bandwidth(options: argparse.Namespace, ranks: int, size: int, steps: int) -> list[Case]:
    names = [f"{what}/{ranks} ranks/{size} MiB" for what in ("write", "read")]
    cases = [Case(name, "MiB/s", bandwidth=True, goal=1.0) for name in names]
    common = ["--steps", str(steps), "--bytes", f"{size}M"]
    for turn in range(options.rounds):
        with _Engines(options) as engines:
            memory.settle(3 * ranks * size * steps * _MIB)
            for task, case in zip(("write", "read"), cases, strict=True):
                both = engines.both(ranks, [task, *common], ours_first=turn % 2 == 1)
                case.add(*(times["bytes"] / _MIB / times["steps_seconds"] for times in both))
    return cases


class _Engines:
    """A directory with a stream of each engine, removed at the end."""

    def __init__(self, options: argparse.Namespace):
        self._options = options
        self._program = str(program("stepstore-bench-steps"))

    def __enter__(self) -> _Engines:
        self._folder = Path(tempfile.mkdtemp(prefix="stepstore-bench-", dir=self._options.directory))
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder)

    def both(
        self, ranks: int, words: list[str], ours_first: bool = False
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Runs the program with Stepstore and with BP5; what each has printed."""
        more = [part for part in self._options.parameters.split(",") if part]
        plugin = ["--engine", "Plugin", "--parameters", engine_parameters(self._folder / "ours", more)]
        if ours_first:  # what comes second may find the machine warmer, or its memory fuller
            ours = self._run(ranks, [*words, *plugin])
        peer = self._run(ranks, [*words, "--engine", "BP5", "--name", str(self._folder / "peer.bp")])
        if not ours_first:
            ours = self._run(ranks, [*words, *plugin])
        return ours, peer

    def _run(self, ranks: int, words: list[str]) -> dict[str, Any]:
        printed = run(self._options.mpirun, ranks, [self._program, *words], self._folder, 600)
        try:
            found = json.loads(printed)
        except ValueError as error:
            raise CommandError(
                f"{self._program} {words[0]} printed no JSON: {printed.strip() or 'nothing'}"
            ) from error
        return dict(found)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _parser(name: str, what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"stepstore bench {name}", description=what)
    parser.add_argument(
        "--rounds", type=int, default=3, metavar="N", help="runs of each; the median counts (default: 3)"
    )
    parser.add_argument(
        "--directory",
        default=None,
        help="where to write, such as /dev/shm (default: the directory for temporary files)",
    )
    parser.add_argument(
        "--parameters",
        default="",
        metavar="NAME=VALUE,...",
        help="more parameters of the plugin, such as Layout=kv",
    )
    parser.add_argument("--mpirun", default="", help="the command that starts MPI programs (default: mpirun)")
    parser.add_argument("--json", action="store_true", help="print a list of objects instead of a table")
    return parser
