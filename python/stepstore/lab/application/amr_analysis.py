#!/usr/bin/env python3
"""Reads the steps of gray-scott-amr with plain ADIOS2: every box of every field, and every table. adios2.xml
says which engine is read from. Nothing here knows it, and nothing here is Stepstore's.

Two runs can be compared bit for bit: the option json has a hash of each step, over the boxes in the order of
their places, and the tables in the order of the ranks. The option plane has the boxes
that the cube's middle plane cuts, in the last step.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adios2
import numpy as np

IO_NAME = "SimulationOutput"
OK = adios2.bindings.StepStatus.OK
END = adios2.bindings.StepStatus.EndOfStream
TYPES = {"double": np.float64, "float": np.float32, "int32_t": np.int32}
TABLES = ("boxes", "means")  # of each rank; all others with more than one number are fields


def dims(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def boxes_of(io: Any, engine: Any, name: str) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """The blocks of a variable in the current step, by their places: there the order of writers does not
    count."""
    variable = io.inquire_variable(name)
    found = []
    for block in engine.blocks_info(name, engine.current_step()):
        values = np.empty(dims(block["Count"]), TYPES[variable.type()])
        variable.set_block_selection(int(block["BlockID"]))
        engine.get(variable, values, adios2.bindings.Mode.Sync)
        found.append((dims(block["Start"]), values))
    return sorted(found, key=lambda box: box[0])


def steps_of(io: Any, name: str, timeout: float) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of the time step, and the blocks of each variable, until the writer has closed."""
    engine = io.open(name, adios2.bindings.Mode.Read)
    while (status := engine.begin_step(adios2.bindings.StepMode.Read, timeout)) == OK:
        number = np.zeros(1, np.int32)
        engine.get(io.inquire_variable("step"), number, adios2.bindings.Mode.Sync)
        names = sorted(one for one in io.available_variables() if "/" in one or one in TABLES)
        yield int(number[0]), {one: boxes_of(io, engine, one) for one in names}
        engine.end_step()
    engine.close()
    if status != END:
        raise TimeoutError(f"no step of {name} within {timeout} s")


def described(number: int, blocks: dict[str, Any]) -> dict[str, Any]:
    whole = hashlib.sha256()
    for name, boxes in blocks.items():
        for start, values in boxes:
            whole.update(f"{name} {start} {values.shape}".encode())
            whole.update(values.tobytes())
    fields = {name: boxes for name, boxes in blocks.items() if name not in TABLES}
    return {
        "step": number,
        "boxes": {name: len(boxes) for name, boxes in fields.items()},
        "cells": {name: sum(values.size for _, values in boxes) for name, boxes in fields.items()},
        "sha256": whole.hexdigest(),
    }


def middle_plane(fields: dict[str, Any], finest: int) -> dict[str, np.ndarray]:
    """V in the boxes that the plane cuts: for each box its level, place and extent in finest cells."""
    levels = sorted({int(name.split("/")[0].removeprefix("level")) for name in fields if "/" in name})
    kept: dict[str, np.ndarray] = {}
    for level in levels:
        size = 2 ** (levels[-1] - level)
        for start, values in fields[f"level{level}/V"]:
            at = finest // 2 // size - start[0]
            if 0 <= at < values.shape[0]:
                box = np.array([level, start[1] * size, start[2] * size, size])
                kept[f"box{len(kept) // 2}"] = box
                kept[f"values{len(kept) // 2}"] = values[at]
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description="Reads the steps of gray-scott-amr with plain ADIOS2.")
    parser.add_argument("--config", default="adios2.xml", help="ADIOS2's configuration")
    parser.add_argument("--input", default="gray-scott-amr.bp", help="the name given to ADIOS2's Open")
    parser.add_argument("--json", help="write what each step holds, and its hash, here")
    parser.add_argument("--plane", help="write the last step's middle plane here (.npz)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for a step")
    options = parser.parse_args()
    if not Path(options.config).is_file():
        sys.exit(f"analysis: there is no file {options.config}: give ADIOS2's configuration with --config")
    io = adios2.Adios(options.config).declare_io(IO_NAME)
    records = []
    try:
        for number, fields in steps_of(io, options.input, options.timeout):
            records.append(described(number, fields))
            last = fields
    except (RuntimeError, TimeoutError, ValueError) as error:
        sys.exit(f"analysis: {error}")
    if options.json:
        Path(options.json).write_text(json.dumps(records) + "\n")
    if options.plane and records:
        edge = int(io.available_attributes()["L"]["Value"])
        arrays: dict[str, Any] = middle_plane(last, edge)
        np.savez(options.plane, **arrays)
    print(f"analysis: {len(records)} steps through {io.engine_type()}")


if __name__ == "__main__":
    main()
