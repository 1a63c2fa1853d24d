#!/usr/bin/env python3
"""A step of a job on several machines: a pool in files next to BP5, on the same mounts of a test bed.

    bench_steps.py [--ranks 2] [--rounds 5] [--steps 50] [--options client_oc=false,...]
                   [--set RanksPerAggregator=2] [--json]

Two cases, each written by all ranks of all machines and then read by as many:
  e3sm    ADIOS2's PerfMetaData: 1,535 variables with little data. The mean time of a step of rank 0
  blocks  stepstore-bench-steps: two arrays, 1 MiB of each rank. The mean time of a step of the slowest rank
Both engines run in turn in each round, and each is first in every other one. Prints milliseconds, the median
of the rounds, and the ratio of our time to BP5's. Stepstore syncs each step, BP5 syncs nothing.

What the file system itself takes is measured in the same rounds: as many processes write and sync blocks of
1 MiB, and read them. The lines "bare" have that in place of our time, of the slowest process.

It needs what a bed needs (bed.py), and a build of the project with an MPI build of ADIOS2.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

from bed import Bed, built
from worker import Worker, together

build = built("stepstore-bench-steps", "bin")
if build is None:
    sys.exit("bench_steps.py: stepstore-bench-steps is not built (it needs an ADIOS2 with MPI)")
if os.environ.get("PYTHONPATH") is None:
    sys.path.insert(0, str(build.parents[1] / "python"))

from stepstore.lab.benchmarks.metadata import LINES, perf_meta_data  # noqa: E402
from stepstore.lab.benchmarks.mpi import door_variables, engine  # noqa: E402
from stepstore.lab.benchmarks.report import Case, report  # noqa: E402

GOAL = 0.5
BARE = Path(__file__).with_name("bare_actions.py")
PER_STEP, ONCE = "ms per step", "ms"


class Benchmark:
    def __init__(self, bed: Bed, given: argparse.Namespace) -> None:
        self.bed, self.given = bed, given
        self.meta = perf_meta_data("")
        self.cases: dict[str, Case] = {}

    def round(self, number: int) -> None:
        times = {}
        for peer in (True, False) if number % 2 else (False, True):
            times[peer] = {**self.e3sm(number, peer), **self.blocks(number, peer)}
            self.clear()
        for name, (side, took) in self.bare().items():
            self.cases.setdefault(name, Case(name, PER_STEP)).add(took, times[True][side])
        self.clear()
        for name, ours in times[False].items():
            unit, goal = (PER_STEP, GOAL) if name.endswith(" step") else (ONCE, None)
            self.cases.setdefault(name, Case(name, unit, goal=goal)).add(ours, times[True][name])

    def clear(self) -> None:
        self.bed["A"].run(["sh", "-c", f"rm -rf {self.bed.shared}/*"])

    def bare(self) -> dict[str, tuple[str, float]]:
        """By the name of the case: that of BP5's, and milliseconds."""
        machines = [machine for machine in self.bed.machines for _ in range(self.given.ranks)]
        workers = [Worker(machine, BARE) for machine in machines]
        steps = self.given.steps

        def slowest(function: str, file: str, flag: bool) -> float:
            files = [self.bed.shared / f"{file}-{number}" for number in range(len(workers))]
            return max(map(float, together(workers, function, [(path, steps, flag) for path in files])))

        writer, reader = "1 MiB blocks, writer step", "1 MiB blocks, reader step"
        try:
            return {
                "1 MiB, bare write": (writer, slowest("write_blocks", "alone", False)),
                "1 MiB, bare write, then metadata": (writer, slowest("write_blocks", "both", True)),
                "1 MiB, bare read": (reader, slowest("read_blocks", "alone", True)),
                "1 MiB, bare read of what may be kept": (reader, slowest("read_blocks", "both", False)),
            }
        finally:
            for worker in workers:
                worker.kill()

    def run(self, *command: str | Path) -> str:
        environment = {**os.environ, **door_variables()}
        return str(self.bed.mpirun(self.given.ranks, command, env=environment, timeout=600, cwd="/").stdout)

    def stream(self, name: str, peer: bool) -> tuple[str, list[str]]:
        """What ADIOS2 opens, and its engine with parameters."""
        path = self.bed.shared / name
        if peer:
            return f"{path}.bp", ["BP5", ""]
        return "stream", engine("plugin", f"shared:{path}", f"Layout=array-aligned,{self.given.set}")

    def e3sm(self, number: int, peer: bool) -> dict[str, float]:
        name, chosen = self.stream(f"e3sm-{number}", peer)
        steps = self.given.steps
        words = [self.meta, "--e3sm", "--num_steps", str(steps), "--filename", name]
        engine_words = chosen[:1] if peer else chosen
        wrote = self.run(*words, "--file_writer", *engine_words)
        read = self.run(*words, "--file_reader", *engine_words)
        if f"NSteps= {steps}," not in read:
            sys.exit(f"bench_steps.py: PerfMetaData did not read back what it wrote: {read[-300:]}")
        return {
            "e3sm, writer step": found(LINES["writer"], wrote) * 1e3,
            "e3sm, reader step": found(LINES["installation"], read) * 1e3 / steps,
        }

    def blocks(self, number: int, peer: bool) -> dict[str, float]:
        assert build is not None
        name, chosen = self.stream(f"blocks-{number}", peer)
        times = {}
        for task in ("write", "read"):
            words = [build, task, "--name", name, "--steps", str(self.given.steps), "--bytes", "1M"]
            told = json.loads(self.run(*words, "--engine", chosen[0], "--parameters", chosen[1]))
            steps = told["steps_seconds"] - told["close_seconds"]
            side = "writer" if task == "write" else "reader"
            times[f"1 MiB blocks, {side} step"] = steps * 1e3 / self.given.steps
            times[f"1 MiB blocks, {side} open"] = told["open_seconds"] * 1e3
            times[f"1 MiB blocks, {side} close"] = told["close_seconds"] * 1e3
        return times


def found(line: re.Pattern[str], printed: str) -> float:
    match = line.search(printed)
    if match is None:
        sys.exit(f"bench_steps.py: PerfMetaData told no time: {printed[-300:]}")
    return float(match[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2, help="on each of the two machines")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--kind", choices=("cephfs", "passthrough"), default="cephfs")
    parser.add_argument("--options", help="of the mounts, with commas between")
    parser.add_argument("--set", default="", help="parameters of our writers, with commas between")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    mounts = None if given.options is None else {"shared": tuple(filter(None, given.options.split(",")))}
    with Bed(given.kind, mounts=mounts, life=3600) as bed:
        benchmark = Benchmark(bed, given)
        for number in range(given.rounds):
            benchmark.round(number)
            print(f"round {number + 1} of {given.rounds}", file=sys.stderr, flush=True)
    report(list(benchmark.cases.values()), given.json, "BP5")


if __name__ == "__main__":
    main()
