"""stepstore bench data, stepstore bench open: the same ADIOS2 program with BP5 and with Stepstore in turn."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, ExitCode
from stepstore.errors import Error
from stepstore.lab.benchmarks import memory
from stepstore.lab.benchmarks.mpi import ADIOS2_WITH_MPI, engine, run
from stepstore.lab.benchmarks.options import Parser, location
from stepstore.lab.benchmarks.report import Case, report
from stepstore.paths import program

_MIB = 1 << 20


def data(words: list[str]) -> None:
    """Write and read bandwidth by the bytes that a rank puts in a step."""
    parser = Parser(
        "data",
        "Write and read two 3-D fields of doubles with BP5 and Stepstore in turn, step by step, with as "
        "many readers as writers. Prints MiB/s of all ranks, from the first BeginStep to the end of Close "
        "on the slowest rank. Compares what is read with what was written. Neither engine calls fsync. "
        "Each engine is first in every other round. With --compute each rank also computes after each step, "
        "and it prints what a step takes with AsyncWrite off and on: ADIOS2's calls alone, and with the "
        "computation.",
    )
    parser.add_adios2()
    parser.add_on()
    parser.number("compute", 0, "computation after each step, if nothing else runs", "MS")
    parser.list("ranks", [4], "numbers of ranks")
    parser.list("sizes", [1, 4, 16, 64], "MiB of a rank in one step", "MIB,...")
    parser.number("total", 512, "at most so many MiB in one run, in 2 to 50 steps", "MIB")
    options = parser.parse_args(words)
    if min(options.ranks + options.sizes) < 1 or options.rounds < 1:
        parser.error("give at least 1 for ranks, sizes and rounds")
    cases = []
    for ranks in options.ranks:
        for size in options.sizes:
            steps = max(2, min(50, options.total // (ranks * size)))
            cases += (_hidden if options.compute else _bandwidth)(options, ranks, size, steps)
    report(cases, options.json, "BP5")


def open_(words: list[str]) -> None:
    """How long it takes to open a long stream and get something from its last step."""
    parser = Parser(
        "open",
        "Write a stream of many small steps with one rank, open it at random and get an array of the "
        "last step. Prints milliseconds.",
    )
    parser.add_adios2()
    parser.add_on()
    parser.number("steps", 10000, "steps")
    parser.number("bytes", 1600, "bytes of a step, a multiple of 16", "B")
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
            for case, parts in zip(cases, (("open",), ("steps",), ("open", "steps")), strict=True):
                case.add(*(sum(times[f"{part}_seconds"] for part in parts) * 1e3 for times in (ours, peer)))
    report([*cases, wrote], options.json, "BP5")


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


def _hidden(options: argparse.Namespace, ranks: int, size: int, steps: int) -> list[Case]:
    """What a step takes of a program that computes, and what of it AsyncWrite hides."""
    common = ["--steps", str(steps), "--bytes", f"{size}M", "--compute", str(options.compute / 1000)]
    cases: dict[tuple[str, str], Case] = {}
    for what in ("calls", "step"):
        for mode in ("off", "on"):
            name = "calls" if what == "calls" else "calls and computation"
            cases[what, mode] = Case(f"{name}/{ranks} ranks/{size} MiB/AsyncWrite={mode}", "ms")
    for turn in range(options.rounds):
        for mode in ("off", "on"):
            with _Engines(options, {"AsyncWrite": mode}) as engines:
                memory.settle(3 * ranks * size * steps * _MIB)
                both = engines.both(ranks, ["write", *common], ours_first=turn % 2 == 1)
                for what, seconds in (("calls", "calls_seconds"), ("step", "steps_seconds")):
                    cases[what, mode].add(*(times[seconds] * 1e3 / steps for times in both))
    return list(cases.values())


class _Engines:
    """A directory with a stream of each engine, removed at the end."""

    def __init__(self, options: argparse.Namespace, parameters: dict[str, str] | None = None):
        self._options = options
        self._more = [f"{name}={value}" for name, value in (parameters or {}).items()]
        try:
            self._program = str(program("stepstore-bench-steps"))
        except Error as error:
            raise CommandError(f"{error}. {ADIOS2_WITH_MPI}", ExitCode.NOT_FOUND) from error

    def __enter__(self) -> _Engines:
        self._folder = Path(tempfile.mkdtemp(prefix="stepstore-bench-", dir=self._options.directory))
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder)

    def both(
        self, ranks: int, words: list[str], ours_first: bool = False
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Runs the program with Stepstore and with BP5; what each has printed."""
        kind, parameters = engine(
            self._options.engine, location(self._options, self._folder / "ours"), self._options.parameters
        )
        plugin = ["--engine", kind, "--parameters", ",".join([*filter(None, [parameters]), *self._more])]
        if ours_first:  # what comes second may find the machine warmer, or its memory fuller
            ours = self._run(ranks, [*words, *plugin])
        bp5 = ["--engine", "BP5", "--name", str(self._folder / "peer.bp")]
        if self._more:
            bp5 += ["--parameters", ",".join(self._more)]
        peer = self._run(ranks, [*words, *bp5])
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
