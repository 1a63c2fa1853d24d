"""The example as its users run it: the simulation on several ranks, the analysis beside it, and the same bits
as through BP5."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SETTINGS = ["L=24", "steps=60", "plotgap=10", "noise=0.001"]


def simulate(arguments, folder, mpirun, program, engine, name):
    command = [
        *mpirun,
        program,
        f"adios_config={folder}/adios2-{engine}.xml",
        f"output={name}",
        f"timings={name}.json",
        *SETTINGS,
    ]
    return subprocess.Popen(command, cwd=folder)


def analyse(arguments, folder, engine, name):
    command = [
        sys.executable,
        arguments.analysis,
        "--config",
        f"adios2-{engine}.xml",
        "--input",
        name,
        "--json",
        f"{name}-read.json",
        "--quiet",
    ]
    subprocess.run(command, cwd=folder, check=True, timeout=90)
    return json.loads((folder / f"{name}-read.json").read_text())


def hashes(result):
    return [
        (one["step"], tuple(one["shape"]), one["U"]["sha256"], one["V"]["sha256"]) for one in result["steps"]
    ]


def check(arguments, folder):
    examples = Path(arguments.analysis).parent
    for engine in ("bp5", "stepstore"):
        (folder / f"adios2-{engine}.xml").write_text((examples / f"adios2-{engine}.xml").read_text())
    # The fields do not depend on the number of ranks: one rank through BP5 is the reference.
    assert simulate(arguments, folder, arguments.mpirun_one, arguments.serial, "bp5", "reference").wait() == 0
    reference = analyse(arguments, folder, "bp5", "reference")
    assert len(reference["steps"]) == 6, reference
    assert len(set(hashes(reference))) == 6
    simulation = simulate(arguments, folder, arguments.mpirun, arguments.program, "stepstore", "live")
    try:
        live = analyse(arguments, folder, "stepstore", "live")  # while the simulation runs
        assert simulation.wait() == 0
    finally:
        if simulation.poll() is None:
            simulation.kill()
            simulation.wait()
    afterwards = analyse(arguments, folder, "stepstore", "live")
    assert hashes(live) == hashes(reference), "read while it ran: not what BP5 gives"
    assert hashes(afterwards) == hashes(reference), "read afterwards: not what BP5 gives"
    assert live["attributes"] == reference["attributes"], (live["attributes"], reference["attributes"])
    timings = json.loads((folder / "live.json").read_text())
    assert len(timings["outputs"]) == 6 and timings["engine"] == "Plugin"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--analysis", required=True)
    parser.add_argument("--serial", required=True, help="gray-scott with the wheel's ADIOS2")
    parser.add_argument("--program", required=True, help="the gray-scott to test")
    parser.add_argument("--mpirun-one", required=True, type=str.split)
    parser.add_argument("--mpirun", required=True, type=str.split)
    arguments = parser.parse_args()
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    with tempfile.TemporaryDirectory(prefix="stepstore-gray-scott-") as folder:
        check(arguments, Path(folder))


if __name__ == "__main__":
    main()
