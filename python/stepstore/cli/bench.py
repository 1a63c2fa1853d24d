"""stepstore bench: runs the project's benchmark programs and shows what they print."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Annotated

import typer

from stepstore.cli.common import CommandError, ExitCode, emit_json, usage_error
from stepstore.paths import program

# The benchmarks there are: what follows `stepstore bench`, the program, what it measures.
PROGRAMS = {
    "store": ("stepstore-bench-store", "puts, gets, array writes and reads next to raw LMDB and pwrite/pread"),
}


def bench(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="|".join(PROGRAMS), help="Which benchmark.")] = "",
) -> None:
    """Run a benchmark: 'store'. Options after the name go to its program: 'stepstore bench store --help'.

    --json prints a list of objects with case, ours, peer, unit and ratio (ours / peer in time: below 1 is faster).
    """
    if name in ("-h", "--help", ""):
        lines = "".join(f"\n  {known}: {what}" for known, (_, what) in PROGRAMS.items())
        print(f"Usage: stepstore bench NAME [OPTIONS]\n\nBenchmarks ('stepstore bench NAME --help' lists the options of one):{lines}\n"
              "\n  --json  a list of objects with case, ours, peer, unit, ratio (ours / peer in time: below 1 is faster)")
        raise typer.Exit(0 if name else ExitCode.USAGE)
    if name not in PROGRAMS:
        usage_error(f"no benchmark {name!r}: there is {', '.join(PROGRAMS)}")
    path = str(program(PROGRAMS[name][0]))
    arguments = list(context.args)
    if "--json" in arguments:
        _run_json(path, arguments)
    else:
        sys.stdout.flush()
        _finish(path, subprocess.call([path, *arguments]))


def _run_json(path: str, arguments: list[str]) -> None:
    done = subprocess.run([path, *arguments], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        _finish(path, done.returncode)
    try:
        emit_json(json.loads(done.stdout))
    except ValueError as error:
        raise CommandError(f"{path} --json printed no JSON ({error}): run it directly to see what it says") from error


def _finish(path: str, status: int) -> None:
    if status < 0:
        raise CommandError(f"{path} was ended by signal {-status}")
    if status == 2:
        raise typer.Exit(ExitCode.USAGE)
    if status != 0:
        raise CommandError(f"{path} failed with status {status}")
