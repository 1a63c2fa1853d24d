#!/usr/bin/env python3
"""Reads the Gray-Scott simulation's steps with plain ADIOS2, while the simulation runs or afterwards.

For every step: statistics of U and V and a hash of their bytes, so that two runs can be compared bit for bit.
adios2.xml chooses the engine; this program does not know it.
"""

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path

import adios2
import numpy as np

IO_NAME = "SimulationOutput"


def read_field(stream, name):
    return np.ascontiguousarray(stream.read(name))


def describe(field):
    return {
        "min": float(field.min()),
        "max": float(field.max()),
        "mean": float(field.mean()),
        "sha256": hashlib.sha256(field.tobytes()).hexdigest(),
    }


def analyse_step(stream, begin_seconds):
    """One step's record: what was read, and when and how long."""
    available = time.time()
    began = time.perf_counter()
    fields = {name: read_field(stream, name) for name in ("U", "V")}
    read_seconds = time.perf_counter() - began
    record = {
        "step": int(np.asarray(stream.read("step")).reshape(-1)[0]),
        "available": available,  # seconds since 1970, when BeginStep returned
        "begin_step_seconds": begin_seconds,  # waiting for the simulation included
        "read_seconds": read_seconds,
        "shape": list(fields["U"].shape),
    }
    record.update({name: describe(field) for name, field in fields.items()})
    return record, fields


def read_stream(io, path, timeout):
    """Yields (record, fields) of every step until the simulation closes the stream."""
    with adios2.Stream(io, path, "r") as stream:
        while True:
            began = time.perf_counter()
            status = stream.begin_step(timeout=timeout)
            begin_seconds = time.perf_counter() - began
            if status == adios2.bindings.StepStatus.EndOfStream:
                return
            if status == adios2.bindings.StepStatus.OtherError:
                raise RuntimeError("the simulation died; every step before is whole")
            if status != adios2.bindings.StepStatus.OK:
                raise TimeoutError(f"no step within {timeout} s")
            yield analyse_step(stream, begin_seconds)
            stream.end_step()


def attributes_of(io):
    return {name: value["Value"].strip('"') for name, value in sorted(io.available_attributes().items())}


def draw(planes, path):
    """Four moments of the run; planes: (step, plane) of each step, in their order."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    chosen = [planes[i] for i in sorted({round(i) for i in np.linspace(0, len(planes) - 1, 4)})]
    highest = max(float(plane.max()) for _, plane in chosen)
    figure, axes = plt.subplots(
        1, len(chosen), figsize=(3.1 * len(chosen), 3.7), layout="constrained", squeeze=False
    )
    for axis, (step, plane) in zip(axes[0], chosen, strict=True):
        image = axis.imshow(
            plane, origin="lower", cmap="magma", vmin=0, vmax=highest, interpolation="bicubic"
        )
        axis.set_title(f"step {step}", fontsize=10)
        axis.set_axis_off()
    figure.colorbar(image, ax=axes, label="V (concentration)", shrink=0.75, pad=0.01)
    figure.suptitle("Gray-Scott: V in the middle plane, read while the simulation ran")
    figure.savefig(path, dpi=150)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--config", default="adios2.xml", help="ADIOS2's configuration; it chooses the engine"
    )
    parser.add_argument("--input", default="gray-scott.bp", help="the name given to ADIOS2's Open")
    parser.add_argument("--json", help="write every step's statistics, hashes and times here")
    parser.add_argument("--png", help="draw the middle plane of V at four moments here")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for a step")
    parser.add_argument("--quiet", action="store_true", help="print no line per step")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not Path(arguments.config).is_file():
        sys.exit(f"analysis: there is no file {arguments.config}: give ADIOS2's configuration with --config")
    io = adios2.Adios(arguments.config).declare_io(IO_NAME)
    records = []
    planes = []
    failure = None
    try:
        for record, fields in read_stream(io, arguments.input, arguments.timeout):
            records.append(record)
            if arguments.png:
                planes.append((record["step"], fields["V"][fields["V"].shape[0] // 2].copy()))
            if not arguments.quiet:
                print(
                    f"step {record['step']:6d}  U {record['U']['mean']:.6f} [{record['U']['min']:.6f}, "
                    f"{record['U']['max']:.6f}]  V {record['V']['mean']:.6f} [{record['V']['min']:.6f}, "
                    f"{record['V']['max']:.6f}]  read in {1e3 * record['read_seconds']:.1f} ms",
                    flush=True,
                )
    except (RuntimeError, TimeoutError, ValueError) as error:
        failure = f"analysis: after {len(records)} steps: {error}"
    if arguments.json:
        result = {"engine": io.engine_type(), "attributes": attributes_of(io), "steps": records}
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")
    if planes:
        draw(planes, arguments.png)
    if failure:
        sys.exit(failure)
    print(f"analysis: {len(records)} steps through {io.engine_type()}")


if __name__ == "__main__":
    main()
