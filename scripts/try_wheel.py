"""Tries an installed wheel as a user does, in a temporary directory. Run by scripts/wheel.sh.

try_wheel.py alone: without ADIOS2, FDB5 and MPI. try_wheel.py adios2: with the package adios2.
try_wheel.py streams: with it, in another release.
try_wheel.py extras: with xarray, zarr and fsspec, which find it by its entry points. try_wheel.py zarr: with
zarr alone. try_wheel.py first: with xarray, netCDF4 and matplotlib: write, read, plot, export.
try_wheel.py compilers: with those of C and Fortran.
"""

import importlib.util
import os
import shutil
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
    with_streams()


def with_streams() -> None:
    """Compressed streams of the native engine, with any ADIOS2 that there is one for."""
    # C-Blosc2 and zstd are inside.
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


def with_zarr() -> None:
    import numpy as np
    import zarr
    from stepstore.zarr import Store

    array = zarr.create_array(Store("lab/cases"), name="T", data=np.arange(1000.0), chunks=(100,))
    assert np.array_equal(zarr.open_group(Store("lab/cases", read_only=True), mode="r")["T"], array[:])
    assert "T" in command("ls", "-r", "lab/cases")


def first_picture() -> None:
    """The first lines of the README, and the way out."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np
    import stepstore
    import xarray as xr

    with stepstore.Writer("out/rings") as writer:
        for t in range(20):
            with writer.step() as step:
                step["u"] = np.sin(np.hypot(*np.mgrid[-20:20:200j, -20:20:200j]) - t / 3)
    with xr.open_dataset("out/rings", engine="stepstore") as rings:
        assert rings.u.shape == (20, 200, 200)
        rings.u.isel(step=-1).plot()
        plt.savefig("rings.png")
        assert Path("rings.png").read_bytes().startswith(b"\x89PNG")
        command("export", "out/rings", "rings.nc")
        with xr.open_dataset("rings.nc", engine="netcdf4") as exported:
            assert np.array_equal(exported.u, rings.u)


C_PROGRAM = """
#include <stepstore/arrays.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    const int64_t shape[1] = {4}, start[1] = {0};
    double written[4] = {1, 2, 3, 4}, read[4] = {0};
    stepstore_arrays store = 0;
    int status = stepstore_arrays_open("lab/c", STEPSTORE_WRITE, NULL, NULL, &store);
    if (!status)
        status = stepstore_write_array(store, "x", STEPSTORE_REAL64, 1, shape, start, shape, written, NULL,
                                       NULL, NULL);
    if (!status)
        status = stepstore_read_array(store, "x", STEPSTORE_REAL64, 1, shape, NULL, NULL, read, NULL, NULL);
    if (!status) status = stepstore_arrays_close(&store);
    if (status) puts(stepstore_arrays_message());
    return status || memcmp(written, read, sizeof read) != 0;
}
"""


def compilers() -> None:
    """C and Fortran programs, built with nothing but the wheel's files and pkg-config."""
    environment = os.environ | {"PKG_CONFIG_PATH": command("pkg-config-path").strip()}

    def flags(*words: str) -> list[str]:
        asked = subprocess.run(
            ["pkg-config", *words], capture_output=True, text=True, check=True, env=environment
        )
        return asked.stdout.split()

    Path("program.c").write_text(C_PROGRAM)
    subprocess.run(
        ["cc", "program.c", "-o", "program", *flags("--cflags", "--libs", "stepstore-c")], check=True
    )
    subprocess.run(["./program"], check=True)
    assert "x" in command("ls", "lab/c")
    if not shutil.which("gfortran"):
        print("there is no Fortran compiler here: Fortran was not tried")
        return
    Path("program.f90").write_text("program p\nuse stepstore\nend program\n")
    subprocess.run(
        ["gfortran", *flags("--variable=sources", "stepstore-fortran"), "program.f90", "-o", "fortran",
         *flags("--libs", "stepstore-fortran")], check=True
    )  # fmt: skip
    subprocess.run(["./fortran"], check=True)


PARTS = {
    "alone": alone,
    "adios2": with_adios2,
    "streams": with_streams,
    "extras": with_extras,
    "zarr": with_zarr,
    "first": first_picture,
    "compilers": compilers,
}


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        PARTS[sys.argv[1]]()
    print("works")


if __name__ == "__main__":
    main()
