"""stepstore bench decomposed: a block-decomposed array through Stepstore's arrays, MPI-IO and parallel
HDF5."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, ExitCode
from stepstore.errors import Error
from stepstore.lab.benchmarks import memory
from stepstore.lab.benchmarks import options as kinds
from stepstore.lab.benchmarks.mpi import run
from stepstore.lab.benchmarks.options import Parser
from stepstore.lab.benchmarks.report import Case, report
from stepstore.paths import program

_MIB = 1 << 20
_PROGRAM = "stepstore-bench-decomposed"
_OURS = "arrays"  # what the program calls Stepstore's arrays
_DIVISIONS = ("same", "rows", "columns")


def decomposed(words: list[str]) -> None:
    """Write and read bandwidth of one array that ranks have divided among them."""
    parser = Parser(
        "decomposed",
        "Write an array of doubles that is divided in blocks among ranks, and read it, in turn through "
        "Stepstore's arrays, MPI_File_write_all with subarray views, and parallel HDF5 (where it was built "
        "with it). All write into one directory. Prints MiB/s of all ranks, from opening to the end of "
        "closing on the slowest rank. Compares what is read with what was written. None of them calls fsync.",
    )
    parser.number("ranks", 4, "ranks")
    parser.list("shape", [512, 512, 512], "elements in each dimension")
    parser.list(
        "read-as",
        ["same"],
        "how the reading ranks divide the array: same as the writers, rows (along the first dimension), "
        "columns (along the last)",
        "NAME,...",
        kinds.words,
    )
    parser.add_argument(
        "--keep-pool",
        action="store_true",
        help="keep our pool from round to round: small arrays then do not wait for its making",
    )
    parser.add_argument(
        "--mpirun",
        metavar="COMMAND",
        default="",
        help="the command that starts MPI programs (default: mpirun)",
    )
    options = parser.parse_args(words)
    if options.ranks < 1 or options.rounds < 1 or not options.shape or min(options.shape) < 1:
        parser.error("give at least 1 for ranks, rounds and each dimension of the shape")
    if not options.read_as or set(options.read_as) - set(_DIVISIONS):
        parser.error(f"--read-as takes {', '.join(_DIVISIONS)}, not {','.join(options.read_as) or 'nothing'}")
    try:
        path = str(program(_PROGRAM))
    except Error as error:
        raise CommandError(
            f"{error}. It needs MPI (libopenmpi-dev); parallel HDF5 is libhdf5-openmpi-dev",
            ExitCode.NOT_FOUND,
        ) from error
    size = 8 * math.prod(options.shape)
    folder = Path(tempfile.mkdtemp(prefix="stepstore-bench-", dir=options.directory))
    try:
        memory.settle(3 * size)
        shape = ",".join(map(str, options.shape))
        command = [path, "--shape", shape, "--rounds", str(options.rounds), "--directory", str(folder)]
        command += ["--read-as", ",".join(options.read_as)]
        command += ["--keep-pool"] if options.keep_pool else []
        printed = run(options.mpirun, options.ranks, command, folder, 1800, doors=False)
    finally:
        shutil.rmtree(folder)
    try:
        found = json.loads(printed)
    except ValueError as error:
        raise CommandError(f"{path} printed no JSON: {printed.strip() or 'nothing'}") from error
    ours = _by_case(found.pop(_OURS))
    cases = []
    for peer, times in found.items():
        theirs = _by_case(times)
        for what, seconds in ours.items():
            case = Case(f"{what}/{options.ranks} ranks/{peer}", "MiB/s", bandwidth=True, goal=1.0)
            for mine, other in zip(seconds, theirs[what], strict=True):
                case.add(size / _MIB / mine, size / _MIB / other)
            cases.append(case)
    report(cases, options.json, "peer")


def _by_case(found: dict[str, Any]) -> dict[str, list[float]]:
    """Seconds of the rounds."""
    reads = found["read"].items()
    return {"write": found["write"]} | {
        "read" if how == "same" else f"read as {how}": seconds for how, seconds in reads
    }
