"""stepstore bench: runs the project's benchmarks, programs of their own or modules of
stepstore.lab.benchmarks."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from typing import Annotated

import typer

from stepstore.cli.common import usage_error
from stepstore.console import CommandError, ExitCode, emit_json
from stepstore.help import Page, rendered, sentence
from stepstore.paths import program
from stepstore.processes import run_program

# The benchmarks there are: what follows `stepstore bench`, the program or function, what it measures.
PROGRAMS = {
    "store": (
        "stepstore-bench-store",
        "puts, gets, array writes and reads next to raw LMDB and pwrite/pread",
    ),
    "arrays": (
        "stepstore-bench-arrays",
        "array objects by class, chunk size and number, for blocks of 4 KiB to 64 MiB",
    ),
    "fieldstore": ("stepstore-bench-fieldstore", "the field catalogue and store without FDB"),
}
MODULES = {
    "metadata": (
        "stepstore.lab.benchmarks.metadata:metadata",
        "ADIOS2's PerfMetaData through the plugin next to BP5",
    ),
    "layouts": (
        "stepstore.lab.benchmarks.layouts:layouts",
        "metadata of steps for every point of the design space, next to BP5",
    ),
    "application": (
        "stepstore.lab.application.benchmark:application",
        "a simulation with adaptive refinement: the share of its output that metadata takes, next to BP5",
    ),
    "data": ("stepstore.lab.benchmarks.data:data", "write and read bandwidth through the plugin next to BP5"),
    "decomposed": (
        "stepstore.lab.benchmarks.decomposed:decomposed",
        "an array in blocks of ranks through the C arrays, next to MPI-IO and parallel HDF5",
    ),
    "open": (
        "stepstore.lab.benchmarks.data:open_",
        "opening a stream of 10,000 steps and reading its last, next to BP5",
    ),
    "fields": (
        "stepstore.lab.benchmarks.fields:fields",
        "FDB's C++ interface on its engine for files and on Stepstore: archive, list, retrieve",
    ),
    "xarray": (
        "stepstore.lab.benchmarks.xarray:xarray",
        "a stream opened and loaded with xarray, next to numpy.fromfile of the same bytes",
    ),
    "zarr": (
        "stepstore.lab.benchmarks.zarr_chunks:zarr_chunks",
        "Zarr's chunks through stepstore.zarr.Store next to zarr-python's LocalStore",
    ),
}
BENCHMARKS = PROGRAMS | MODULES


def bench(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Which benchmark.", autocompletion=lambda: list(BENCHMARKS))
    ] = "",
) -> None:
    """Run a benchmark of the project. Options after its name are its own."""
    if name in ("-h", "--help", ""):
        typer.echo(_help(context.command.help or ""))
        raise typer.Exit(0 if name else ExitCode.USAGE)
    if name not in BENCHMARKS:
        usage_error(f"no benchmark {name!r}: the benchmarks are {', '.join(BENCHMARKS)}")
    if name in MODULES:
        module, function = MODULES[name][0].split(":")
        getattr(importlib.import_module(module), function)(list(context.args))
        return
    path = str(program(PROGRAMS[name][0]))
    arguments = list(context.args)
    if "--json" in arguments:
        _run_json(path, arguments)
    else:
        sys.stdout.flush()
        _finish(path, run_program([path, *arguments]).returncode)


def _help(text: str) -> str:
    page = Page("bench", "stepstore bench NAME [OPTIONS]", text)
    page.add("Benchmarks", ((name, sentence(what)) for name, (_, what) in BENCHMARKS.items()))
    page.add(
        "Options",
        [
            ("--json", "Print JSON for programs: case, ours, peer, unit, and ratio (below 1 is faster)."),
            ("-h, --help", "Show this message and exit. After a name: that of the benchmark."),
        ],
    )
    return rendered(page)


def _run_json(path: str, arguments: list[str]) -> None:
    done = run_program([path, *arguments], stdout=subprocess.PIPE)
    if done.returncode != 0:
        _finish(path, done.returncode)
    try:
        emit_json(json.loads(done.stdout))
    except ValueError as error:
        raise CommandError(
            f"{path} --json printed no JSON ({error}): run it directly to see what it says"
        ) from error


def _finish(path: str, status: int) -> None:
    if status < 0:
        raise CommandError(f"{path} was killed by signal {-status}")
    if status == 2:
        raise typer.Exit(ExitCode.USAGE)
    if status != 0:
        raise CommandError(f"{path} failed with status {status}")
