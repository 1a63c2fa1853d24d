"""What machines do to a pool in files while they are attacked (test_kills.py, test_rivals.py). A worker runs
these functions.

What was acknowledged is told to the tests by lines in a file of the host. No killed machine takes it along.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import numpy as np
import stepstore
from actions import number_of, value
from pool_actions import check, error_of_writing, opened, read, write  # noqa: F401 (for workers)
from stepstore import Error
from stepstore.blobs import open_blobs

BLOBS = 5  # names of blobs and keys that a writer replaces in turn
SIZES = (60, 3000, 90_000)  # of values
CELL = 4096  # bytes of a cell of an array


def make_pool(location: str) -> None:
    """A pool with a container that has key-values, an array and blobs."""
    stepstore.Pool.create(location)
    with stepstore.Pool.connect(location) as pool, pool.create_container("box") as box:
        box.create_array(2, cell_size=CELL, chunk_size=64).close()
        box.key_value(1).put("first", b"x")
        pool.create_container("blobs").close()


@contextlib.contextmanager
def box_of(location: str, read_only: bool = False) -> Iterator[stepstore.Container]:
    with stepstore.Pool.connect(location, read_only=read_only) as pool:
        with pool.open_container("box", read_only=read_only) as box:
            yield box


def field(step: int) -> np.ndarray:
    return np.arange(2048.0) * (step + 1) + step


class Acknowledged:
    """The file with the acknowledgements: a line each, which a killed machine has written or not."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def tell(self, kind: str, number: int) -> None:
        os.write(self.fd, f"{kind} {number}\n".encode())


# ---- a writer of all kinds, until it is killed


def write_until_killed(location: str, acknowledged: str, first: int) -> None:
    """Steps, keys, blobs and cells of an array, each with a number that counts from `first`."""
    told = Acknowledged(acknowledged)
    blobs = open_blobs(location, "blobs")
    # Sooner than the others' patience: a writer that died is overtaken after its last sign of life.
    with opened(f"{location}/steps", True, 1) as writer, box_of(location) as box:
        keys, array = box.key_value(1), box.open_array(2)
        told.tell("begun", len(writer))
        number = first
        while True:
            size = SIZES[number % len(SIZES)]
            with writer.step() as step:
                step["U"] = field(step.number)
                step["step"] = step.number
            told.tell("step", step.number)
            keys.put(f"key-{number % BLOBS}", value(number, size))
            told.tell("key", number)
            blobs.write(f"blob-{number % BLOBS}", value(number, size))
            told.tell("blob", number)
            array.write(number, value(number, CELL))
            told.tell("cell", number)
            number += 1


def look(location: str, steps: int, values: dict[str, list[int]], cells: list[int]) -> dict[str, int]:
    """Finds all that was acknowledged. `steps`: so many or more. `values`: by key or blob, the number of the
    value that was acknowledged last (-1: none), and of those that may be there instead. Returns which number
    each has, and how many steps there are."""
    found = {"steps": 0}
    try:
        with stepstore.open_steps(f"{location}/steps") as stream:
            found["steps"] = len(stream)
            for step in range(max(0, steps - 10), len(stream)):
                assert stream.read("step", step) == step
                assert np.array_equal(stream.read("U", step), field(step)), f"step {step} is torn"
    except Error as error:
        if error.name != "DER_NONEXIST":
            raise
    assert found["steps"] >= steps, f"{found['steps']} of {steps} steps"
    with box_of(location, True) as box:
        keys, array, blobs = box.key_value(1), box.open_array(2), None
        for name, possible in values.items():
            if name.startswith("blob") and blobs is None:
                blobs = open_blobs(location, "blobs", read_only=True)
            got = (blobs.read if name.startswith("blob") else keys.get)(name)
            there = -1 if got is None else number_of(bytes(got))
            assert there in possible, f"{name} has {there} and none of {possible}"
            found[name] = there
        for cell in cells:
            assert number_of(array.read(cell, 1)) == cell
    return found


def findings(location: str, repair: bool = False) -> dict[str, list[str]]:
    """What a check finds, by its severity."""
    from stepstore import _core

    found: dict[str, list[str]] = {}

    def each(one: dict[str, str]) -> None:
        found.setdefault(one["severity"], []).append(f"{one['where']}: {one['what']}")

    _core.pool_check(location, True, repair, each)
    return found
