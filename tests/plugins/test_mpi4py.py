"""The serial wheel under mpirun with mpi4py, which loads MPI privately: all ranks still write and read one
common stream, through the door that the argument names. With a second argument it is the wheel of that
release, whose engine is in a folder of its own, without the MPI module."""

import shutil
import sys
import tempfile
from pathlib import Path

if len(sys.argv) > 2:
    sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
    from adios2_release import package

    sys.path.insert(0, str(package(sys.argv[2])))

import adios2  # noqa: E402
import numpy as np  # noqa: E402
from mpi4py import MPI  # noqa: E402
from python_support import plugin_io  # noqa: E402


def io_of(location):
    if sys.argv[1] == "Plugin":
        return plugin_io(location), "any"
    adios = adios2.Adios()
    adios.define_operator(
        "stepstore", "plugin", {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2_native"}
    )
    io = adios.declare_io("stream")
    io.set_engine("Stepstore")
    return io, location


def main():
    world = MPI.COMM_WORLD
    rank, ranks = world.rank, world.size
    directory = world.bcast(tempfile.mkdtemp(prefix="stepstore-mpi4py-") if rank == 0 else None)
    location = directory + "/pool"
    with adios2.Stream(*io_of(location), "w") as stream:
        for step in stream.steps(3):
            step.write("x", np.full(4, 10.0 * step.current_step() + rank), [ranks * 4], [4 * rank], [4])
    count = 0
    with adios2.Stream(*io_of(location), "r") as stream:
        for step in stream.steps():
            expected = np.repeat(10.0 * step.current_step() + np.arange(ranks), 4)
            np.testing.assert_array_equal(step.read("x"), expected)
            count += 1
    assert count == 3, count
    world.barrier()
    if rank == 0:
        shutil.rmtree(directory)


if __name__ == "__main__":
    try:
        main()
    except BaseException as error:
        print(f"rank {MPI.COMM_WORLD.rank}: {error}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)
