"""Tries an installed wheel as a user does, in a temporary directory. Run by scripts/wheel.sh.

try_wheel.py alone: without ADIOS2, FDB5 and MPI. try_wheel.py adios2: with the package adios2.
try_wheel.py extras: with xarray, zarr and fsspec, which find it by its entry points.
"""

import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

COMMAND = Path(sysconfig.get_path("scripts")) / "stepstore"


def command(*words: object) -> str:
    done = subprocess.run(
        [COMMAND, *map(str, words)], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    if done.returncode != 0:
        raise SystemExit(f"stepstore {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def alone() -> None:
    import numpy as np
    import stepstore

    missing = [name for name in ("adios2", "pyfdb", "mpi4py") if importlib.util.find_spec(name)]
    assert not missing, f"this environment has {missing}"
    stepstore.Pool.create("./lab")
    with stepstore.Pool.connect("./lab") as pool:
        runs = pool.open_or_create_container("runs")
        runs.key_value(1)["title"] = b"first run"
        field = runs.create_array(2, cell_size=8)
        field.write(0, np.arange(100_000.0))
        assert runs.key_value(1)["title"] == b"first run"
        assert np.array_equal(field.read(dtype=np.float64), np.arange(100_000.0))
    command("pool", "check", "lab")
    assert "ranks" in command("advise", "--ranks", 1000, "--metadata", "5k", "--steps", 10)
    command("bench", "store", "--quick", "--case", "kv_put/5KiB/1p/process")


def with_adios2() -> None:
    """The first section of the README."""
    command("demo", "simulation", "out/gs", "--steps", 10)
    assert "float64" in command("steps", "out/gs", "-l")
    # A compressed stream: C-Blosc2 and zstd are inside.
    import adios2
    import numpy as np
    import stepstore

    for compression in ("zstd", "blosc2-lz4"):
        io = adios2.Adios().declare_io("out")
        io.set_engine("Stepstore")
        io.set_parameters({"Compression": compression})
        with adios2.Stream(io, f"out/{compression}", "w") as stream:
            stream.begin_step()
            stream.write("x", np.zeros(1000), [1000], [0], [1000])
            stream.end_step()
        with stepstore.open_steps(f"out/{compression}") as steps:
            assert np.array_equal(steps.read("x"), np.zeros(1000))


def with_extras() -> None:
    """In the versions that this Python gets today."""
    import fsspec
    import numpy as np
    import stepstore
    import xarray as xr
    import zarr
    from stepstore.zarr import Store, direct_calls

    values = np.random.default_rng(1).normal(size=(60, 40))
    with stepstore.open_arrays("lab", write=True) as arrays:
        arrays.write("T", values)
    assert np.array_equal(xr.open_dataset("lab", engine="stepstore")["T"], values)
    xr.Dataset({"T": (("y", "x"), values)}).to_zarr(Store("lab/cases"), mode="w", consolidated=False)
    with direct_calls():
        array = zarr.open_group(Store("lab/cases"))["T"]
    array[10:30] = 1
    values[10:30] = 1
    assert np.array_equal(array[:], values)
    assert np.array_equal(xr.open_zarr(Store("lab/cases", read_only=True), consolidated=False)["T"], values)
    with fsspec.open("stepstore://lab/tables/notes.txt", "w") as notes:
        notes.write("a line")
    assert fsspec.filesystem("stepstore").cat_file("lab/tables/notes.txt") == b"a line"
    assert len(fsspec.filesystem("stepstore").ls("lab/cases/.objects")) > 0


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        {"alone": alone, "adios2": with_adios2, "extras": with_extras}[sys.argv[1]]()
    print("works")


if __name__ == "__main__":
    main()
