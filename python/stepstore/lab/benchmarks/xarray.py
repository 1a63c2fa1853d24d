"""stepstore bench xarray: a stream loaded with xarray, next to numpy.fromfile of the same bytes."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stepstore.console import CommandError, ExitCode
from stepstore.lab.benchmarks import memory
from stepstore.lab.benchmarks.options import Parser
from stepstore.lab.benchmarks.report import Case, report

_MIB = 1 << 20
_ROW = 512  # doubles of a row


def xarray(words: list[str]) -> None:
    """How long xr.open_dataset(...).load() takes."""
    parser = Parser(
        "xarray",
        "Write a 2-D array of doubles in steps with ADIOS2, in each number of blocks of rows, and the same "
        "bytes into a file. Prints the milliseconds of xr.open_dataset(...).load(), from opening to the last "
        "element, and of numpy.fromfile, in turn. Both read what the memory of the machine holds already.",
    )
    parser.number("size", 256, "of the stream, MiB", "MIB")
    parser.list("steps", [1, 16], "numbers of steps")
    parser.list("blocks", [1, 4], "numbers of blocks of a step")
    options = parser.parse_args(words)
    for steps in options.steps:
        for blocks in options.blocks:
            if min(steps, blocks, options.rounds) < 1 or (options.size * _MIB) % (steps * blocks * _ROW * 8):
                parser.error(
                    f"give a size in MiB that {steps} steps of {blocks} blocks of whole rows of 4 KiB divide"
                )
    cases = []
    for steps in options.steps:
        for blocks in options.blocks:
            case = Case(f"load/{options.size} MiB/{steps} steps/{blocks} blocks", "ms", goal=1.2)
            with tempfile.TemporaryDirectory(prefix="stepstore-bench-", dir=options.directory) as folder:
                _measure(case, Path(folder), options.size * _MIB, steps, blocks, options.rounds)
            cases.append(case)
    report(cases, options.json, "fromfile")


def _measure(case: Case, folder: Path, size: int, steps: int, blocks: int, rounds: int) -> None:
    open_dataset = _open_dataset()
    location, file = str(folder / "stream"), folder / "peer.bin"
    _write(location, size // (8 * _ROW * steps), steps, blocks)
    shape = _load(open_dataset, location).shape
    _load(open_dataset, location).tofile(file)
    memory.settle(2 * size)
    for turn in range(rounds + 1):
        both: list[tuple[str, Callable[[], Any]]] = [
            ("peer", lambda: np.fromfile(file)),
            ("ours", lambda: _load(open_dataset, location)),
        ]
        took, found = {}, {}
        for name, read in both if turn % 2 else both[::-1]:
            begin = time.perf_counter()
            data = read()
            took[name] = 1e3 * (time.perf_counter() - begin)
            found[name] = float(data.reshape(shape)[-1, -1, -1])
            del data
        if found["ours"] != found["peer"]:
            raise CommandError(f"{location}: the last element is {found['ours']}, not {found['peer']}")
        if turn:  # the first finds the machine cold
            case.add(took["ours"], took["peer"])
    shutil.rmtree(folder / "stream")


def _load(open_dataset: Callable[..., Any], location: str) -> Any:
    return open_dataset(location, engine="stepstore")["T"].load().values


def _open_dataset() -> Callable[..., Any]:
    try:
        from xarray import open_dataset
    except ImportError as error:
        raise CommandError(
            f"{error}: install it with: pip install 'stepstore[xarray]'", ExitCode.NOT_FOUND
        ) from error
    return open_dataset


def _write(location: str, rows: int, steps: int, blocks: int) -> None:
    try:
        import adios2
    except ImportError as error:
        raise CommandError(
            f"{error}: install it with: pip install 'stepstore[adios2]'", ExitCode.NOT_FOUND
        ) from error
    io = adios2.Adios().declare_io("bench")
    io.set_engine("Stepstore")
    io.set_parameters({"Location": location})
    part = np.random.default_rng(1).random((rows // blocks, _ROW))
    variable = io.define_variable("T", part, [rows, _ROW], [0, 0], list(part.shape))
    engine = io.open("bench", adios2.bindings.Mode.Write)
    for step in range(steps):
        engine.begin_step()
        for block in range(blocks):
            variable.set_selection([[block * len(part), 0], list(part.shape)])
            engine.put(variable, part + (step * blocks + block), adios2.bindings.Mode.Sync)
        engine.end_step()
    engine.close()
