"""Under mpirun with mpi4py: ranks write one stream together, in each way to name their group."""

import shutil
import sys
import tempfile

import numpy as np
from mpi4py import MPI

import stepstore


def main():
    world = MPI.COMM_WORLD
    rank, ranks = world.rank, world.size
    directory = world.bcast(tempfile.mkdtemp(prefix="stepstore-ranks-") if rank == 0 else None)
    halves = world.Split(rank % 2)
    groups = {"world": world, "named": "world", "auto": "auto", f"half{rank % 2}": halves}
    for name, comm in groups.items():
        location = f"{directory}/pool/box/{name}"
        with stepstore.Writer(location, comm=comm) as writer:
            assert writer.size == (halves.size if name.startswith("half") else ranks), (name, writer.size)
            for number in range(3):
                with writer.step() as step:
                    block = np.full((1, 4), 10.0 * number + writer.rank)
                    step.put("x", block, shape=(writer.size, 4), start=(writer.rank, 0))
                    step.put("own", writer.rank, local=True)
                    if writer.rank == 0:
                        step["time"] = 0.5 * number
        world.barrier()  # rank 0 ends the stream
        with stepstore.open_steps(location) as steps:
            assert len(steps) == 3 and steps.ended
            for number in range(3):
                expected = np.repeat(10.0 * number + np.arange(writer.size), 4).reshape(-1, 4)
                np.testing.assert_array_equal(steps.read("x", number), expected)
                assert steps.read("time", number) == 0.5 * number
        world.barrier()
    if rank == 0:
        with stepstore.Writer(f"{directory}/pool/box/alone", comm="self") as writer, writer.step() as step:
            assert writer.size == 1
            step["x"] = np.arange(4)
    # A rank that fails ends the step of all.
    try:
        with stepstore.Writer(f"{directory}/pool/box/failing", comm=world) as writer:
            with writer.step() as step:
                step["x"] = np.arange(4)
            with writer.step() as step:
                if rank == 1:
                    raise ZeroDivisionError
                step["x"] = np.arange(4)
    except ZeroDivisionError:
        assert rank == 1
    except stepstore.Error as error:
        assert error.name == "DER_CANCELED", error
    world.barrier()
    with stepstore.open_steps(f"{directory}/pool/box/failing") as steps:
        assert len(steps) == 1
    world.barrier()
    if rank == 0:
        shutil.rmtree(directory)


if __name__ == "__main__":
    try:
        main()
    except BaseException as error:
        print(f"rank {MPI.COMM_WORLD.rank}: {error!r}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)
