"""Runs the program of `stepstore bench layouts`."""

from __future__ import annotations

import json
import shutil
import subprocess
from argparse import Namespace
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, ExitCode
from stepstore.errors import Error
from stepstore.lab.benchmarks import ceph
from stepstore.lab.benchmarks.layout_points import Point
from stepstore.lab.benchmarks.mpi import run
from stepstore.lab.benchmarks.options import location
from stepstore.paths import program

BP5 = "bp5"
_NAME = "stepstore-bench-layouts"
_TIMEOUT = 3600.0  # seconds for one run


class Program:
    def __init__(self, mpirun: str):
        self.mpirun = mpirun
        try:
            self.path = str(program(_NAME))
        except Error as error:
            raise CommandError(
                f"{error}. It needs MPI: install it, and build again", ExitCode.NOT_FOUND
            ) from error

    def space(self) -> dict[str, Any]:
        """The points of the design space, as this installation has it."""
        return dict(json.loads(self._asked(["--list"]).stdout))

    def mean_size(self, size: str) -> float:
        return float(self._asked(["--mean", "--size", size]).stdout)

    def refusal(self, options: list[str]) -> str:
        """Why it would not run with these; empty: it would."""
        done = self._asked(["--check", *options])
        return "" if done.returncode == 0 else done.stderr.strip().removeprefix(f"{_NAME}: ")

    def _asked(self, options: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.path, *options], capture_output=True, text=True, check=False)


class Run:
    """One stream, written once and read in the way of each of the points; without points one of BP5."""

    def __init__(
        self,
        options: Namespace,
        program: Program,
        size: str,
        written: str,
        points: list[Point],
        place: Path,
        pool: str = "",
    ):
        """pool: of Ceph, where the stream goes instead of to the place."""
        self.size, self.points, self._program, self._place = size, points, program, place
        self._pool = pool
        self._ranks = options.writers + options.readers
        numbers = [f"--{name}={getattr(options, name)}" for name in ("writers", "readers", "steps")]
        flags = [f"--{name}" for name in ("live", "together") if getattr(options, name)]
        self._words = [
            *numbers,
            *flags,
            f"--size={size}",
            f"--location={pool + '/stream' if pool else location(options, place) if points else place}",
        ]
        if not points:
            self._words.append(f"--engine={BP5}")
        else:
            self._words.append(f"--set={written}")
            self._words += [f"--read={point.read}" for point in points]

    def __call__(self) -> dict[str, Any]:
        """What the program has printed, and the bytes that the file system has given the stream."""
        words = [self._program.path, *self._words]
        try:
            printed = run(self._program.mpirun, self._ranks, words, self._place.parent, _TIMEOUT, doors=False)
            found: dict[str, Any] = json.loads(printed)
            found["allocated_bytes"] = _allocated(self._place)
        except ValueError as error:
            raise CommandError(f"{_NAME} printed no JSON: {printed.strip() or 'nothing'}") from error
        finally:
            shutil.rmtree(self._place, ignore_errors=True)
            if self._pool:
                ceph.remove(self._pool)
        return found


def _allocated(place: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in place.rglob("*") if path.is_file())
