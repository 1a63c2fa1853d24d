"""openPMD-api, built for the ADIOS2 of PyPI as docs/adios2.md says (scripts/openpmd.sh), writes series with
Stepstore and with BP5, and reads the same from both.

Argument: the build's folder. STEPSTORE_TEST_OPENPMD names the Python that has it, else it is what the script
made. Without it the test is skipped.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from adios2_release import cache  # noqa: E402

PROGRAM = """
import json, sys
engine, settings = sys.argv[1:]
if engine == "imported":
    import adios2, stepstore
import numpy as np
import openpmd_api as io

def options(path):
    return settings.replace("HERE", path)

def write(path, iterations=range(3)):
    series = io.Series(path, io.Access.create, options(path))
    series.author = "the test"
    for n in iterations:
        iteration = series.write_iterations()[n]
        iteration.time = n / 2
        field = iteration.meshes["E"]
        field.axis_labels = ["x", "y"]
        values = np.arange(48.0).reshape(8, 6) + n
        for name in "xy":
            field[name].reset_dataset(io.Dataset(values.dtype, [8, 6]))
        field["x"][:4, :] = values[:4]
        field["x"][4:, :] = values[4:]
        field["y"].make_constant(2.5)
        places = iteration.particles["e"]["position"]["x"]
        places.reset_dataset(io.Dataset(np.dtype("f4"), [10 + n]))
        places[:] = np.arange(10 + n, dtype="f4")
        moved = iteration.particles["e"]["positionOffset"]["x"]
        moved.reset_dataset(io.Dataset(np.dtype("f4"), [10 + n]))
        moved.make_constant(np.float32(1))
        iteration.close()
    series.close()

def content(iteration, series):
    e = iteration.particles["e"]
    fields = [iteration.meshes["E"][name] for name in "xy"]
    fields += [e[name]["x"] for name in ("position", "positionOffset")]
    loaded = [field.load_chunk() for field in fields]
    part = fields[0][2:5, 1:3]
    series.flush()
    blocks = sorted({(tuple(block.offset), tuple(block.extent)) for block in fields[0].available_chunks()})
    return [iteration.time, blocks, part.tolist(), [values.tolist() for values in loaded]]

def read(path):
    series = io.Series(path, io.Access.read_linear, options(path))
    in_turn = {}
    for iteration in series.read_iterations():
        in_turn[iteration.iteration_index] = content(iteration, series)
        iteration.close()
    series.close()
    series = io.Series(path, io.Access.read_only, options(path))
    at_random = {}
    for n in sorted(series.iterations, reverse=True):
        iteration = series.iterations[n]
        iteration.open()
        at_random[n] = content(iteration, series)
    assert in_turn == at_random, (in_turn, at_random)
    author = series.author
    series.close()
    return [author, sorted(in_turn.items())]

found = {}
for path in ("one.bp", "each_%T.bp") if engine != "plugin" else ("one.bp",):
    write(path)
    found[path] = read(path)
print(json.dumps(found))
"""
UNKNOWN = {"type": "stepstore", "pretend_engine": "bp5"}
PLUGIN = {
    "type": "plugin",
    "pretend_engine": "bp5",
    "parameters": {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2", "Location": "HERE"},
}


def main() -> None:
    (build,) = sys.argv[1:]
    made = sorted(cache().glob("openpmd-api-*/.complete"))
    python = os.environ.get("STEPSTORE_TEST_OPENPMD") or (str(made[-1].parent / "bin/python") if made else "")
    if not python:
        print("skipped: there is no openPMD-api for this ADIOS2 (scripts/openpmd.sh builds one)")
        return
    preload = f"{build}/lib/libstepstore_adios2_preload.so"
    with tempfile.TemporaryDirectory(prefix="stepstore-openpmd-") as work:
        found = {}
        for way, engine, more in (
            ("bp5", {"type": "bp5"}, {}),
            ("preloaded", UNKNOWN, {"LD_PRELOAD": preload}),
            ("imported", UNKNOWN, {"PYTHONPATH": f"{build}/python"}),
            ("plugin", PLUGIN, {"ADIOS2_PLUGIN_PATH": f"{build}/lib"}),
        ):
            folder = Path(work, way)
            folder.mkdir()
            settings = json.dumps({"backend": "adios2", "adios2": {"engine": engine}})
            done = subprocess.run(
                [python, "-c", PROGRAM, way, settings],
                cwd=folder,
                env={**os.environ, **more},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert done.returncode == 0, (way, done.returncode, done.stdout, done.stderr)
            found[way] = json.loads(done.stdout.splitlines()[-1])
            assert (folder / "one.bp" / "md.idx").exists() == (way == "bp5"), sorted(folder.rglob("*"))
            for path, series in found[way].items():
                assert series == found["bp5"][path], (way, path, series, found["bp5"][path])
                print(f"{way}, {path}: {len(series[1])} iterations as with BP5")
            assert len(found[way]["one.bp"][1]) == 3


if __name__ == "__main__":
    main()
