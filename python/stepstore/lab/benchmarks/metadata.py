"""stepstore bench metadata: ADIOS2's own metadata benchmark, PerfMetaData, with BP5 and with Stepstore in
turn."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from argparse import Namespace
from pathlib import Path

from stepstore.console import CommandError, ExitCode
from stepstore.lab.benchmarks import ceph
from stepstore.lab.benchmarks.mpi import engine, run
from stepstore.lab.benchmarks.options import Parser, location
from stepstore.lab.benchmarks.report import Case, report
from stepstore.steps import open_steps

_SETS = ("e3sm", "warpx")
_GOALS = {"writer": 1 / 3, "installation": 1 / 5, "bytes": 1 / 5}
LINES = {
    "writer": re.compile(r"Per step writer time ([0-9.e+-]+) seconds"),
    "installation": re.compile(r"Metadata Installation Time ([0-9.e+-]+) seconds"),
    "traversal": re.compile(r"Metadata Traversal Time ([0-9.e+-]+) seconds"),
}


def metadata(words: list[str]) -> None:
    """What a step's metadata costs writers and readers, in time and bytes."""
    options = _parse(words)
    program = perf_meta_data(options.program)
    cases: list[Case] = []
    with tempfile.TemporaryDirectory(prefix="stepstore-bench-", dir=options.directory) as folder:
        for kind in options.sets:
            for ranks in options.ranks:
                cases += _measure(program, kind, ranks, options, Path(folder))
    report(cases, options.json, "BP5")


def _parse(words: list[str]) -> Namespace:
    parser = Parser(
        "metadata",
        "Run ADIOS2's PerfMetaData with BP5 and Stepstore in turn, with as many readers as writers. Prints "
        "milliseconds per step of rank 0: for writing, for installing the metadata, and for looking at "
        "everything. Prints bytes of metadata per rank and step. The limit is what ADIOS2's engine NULL, "
        "which does nothing, takes for writing.",
    )
    parser.add_adios2()
    parser.add_on()
    ceph.add_location(parser)
    parser.list("ranks", [4, 16], "numbers of ranks")
    parser.number("steps", 50, "steps")
    parser.list("sets", _SETS, "the program's sets of variables", "SET,...", lambda text: text.split(","))
    parser.add_argument(
        "--program",
        metavar="FILE",
        default="",
        help="path of PerfMetaData (default: $STEPSTORE_PERFMETADATA, the PATH, or what "
        "scripts/adios2-mpi.sh built)",
    )
    options = parser.parse_args(words)
    if unknown := [kind for kind in options.sets if kind not in _SETS]:
        parser.error(f"there is no set {unknown[0]!r}: the sets are {', '.join(_SETS)}")
    if options.steps < 1 or options.rounds < 1 or min(options.ranks) < 1:
        parser.error("give at least 1 for steps, rounds and ranks")
    options.pool = ceph.own_pool(parser, options)
    return options


def perf_meta_data(given: str) -> str:
    """PerfMetaData is part of ADIOS2's sources, but ADIOS2 does not install it."""
    cache = Path(
        os.environ.get("STEPSTORE_CACHE")
        or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stepstore"
    )
    named = given or os.environ.get("STEPSTORE_PERFMETADATA") or ""
    built = sorted(cache.glob("adios2-*-mpi-*/bin/PerfMetaData"))
    found = (
        shutil.which(named) if named else shutil.which("PerfMetaData") or (str(built[-1]) if built else None)
    )
    if found is None:
        raise CommandError(
            f"there is no ADIOS2 benchmark PerfMetaData ({named or f'looked on the PATH and in {cache}'}): "
            "scripts/adios2-mpi.sh builds it, or give its path with --program",
            ExitCode.NOT_FOUND,
        )
    return found


def _measure(program: str, kind: str, ranks: int, options: Namespace, folder: Path) -> list[Case]:
    names = ["writer", "limit", "installation", *(["traversal"] if kind == "e3sm" else []), "bytes"]
    cases = {
        name: Case(
            f"{kind}/{ranks} ranks/{name}",
            "B per rank and step" if name == "bytes" else "ms per step",
            goal=_GOALS.get(name),
        )
        for name in names
    }
    for _ in range(options.rounds):
        place, peer = folder / "ours", folder / "peer.bp"
        ours = f"{options.pool}/stream" if options.pool else location(options, place)
        door = engine(options.engine, ours, options.parameters)
        theirs = _round(program, kind, ranks, options, folder, str(peer), ["BP5"])
        mine = _round(program, kind, ranks, options, folder, "unused", door)
        theirs["bytes"] = (
            sum(path.stat().st_size for path in peer.iterdir() if "md." in path.name) / ranks / options.steps
        )
        mine["bytes"] = _stored_bytes(ours) / ranks / options.steps
        mine["limit"] = _writer(program, kind, ranks, options, folder, "unused", ["NULL"])
        theirs["limit"] = theirs["writer"]
        for name, case in cases.items():
            case.add(mine[name], theirs[name])
        if options.pool:
            ceph.remove(options.pool)
        else:
            shutil.rmtree(place)
        shutil.rmtree(peer)
    return list(cases.values())


def _round(
    program: str, kind: str, ranks: int, options: Namespace, folder: Path, name: str, engine: list[str]
) -> dict[str, float]:
    """Milliseconds per step of one writing and one reading run."""
    found = {"writer": _writer(program, kind, ranks, options, folder, name, engine)}
    # Of warpx' blocks each would be looked up 10,000 times.
    skip = ["--skip_traversal"] if kind == "warpx" else []
    command = [*_command(program, kind, options, name), *skip, "--file_reader", *engine]
    printed = run(options.mpirun, ranks, command, folder, 600)
    if f"NSteps= {options.steps}," not in printed:
        raise CommandError(
            f"PerfMetaData did not read back the {options.steps} steps that it wrote: "
            f"{' | '.join(printed.splitlines()[-3:])}"
        )
    for key in ("installation", "traversal"):
        if match := LINES[key].search(printed):
            found[key] = float(match[1]) * 1e3 / options.steps
    return found


def _writer(
    program: str, kind: str, ranks: int, options: Namespace, folder: Path, name: str, engine: list[str]
) -> float:
    command = [*_command(program, kind, options, name), "--file_writer", *engine]
    printed = run(options.mpirun, ranks, command, folder, 600)
    match = LINES["writer"].search(printed)
    if match is None:
        raise CommandError(
            f"PerfMetaData did not say how long it wrote: {' | '.join(printed.splitlines()[-3:])}"
        )
    return float(match[1]) * 1e3


def _command(program: str, kind: str, options: Namespace, name: str) -> list[str]:
    return [program, f"--{kind}", "--num_steps", str(options.steps), "--filename", name]


def _stored_bytes(location: str) -> float:
    with open_steps(location) as stream:
        profile = stream.profile()
    return float(sum(rank["metadata_bytes"] for rank in profile["ranks"]))
