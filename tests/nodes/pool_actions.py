"""What a machine does with pools in files in test_pools.py. A worker runs these functions."""

from __future__ import annotations

import time

import numpy as np
import stepstore
from stepstore import Error

PATIENCE = 60.0  # seconds until what another machine does must have been seen


def make(location: str) -> str:
    stepstore.Pool.create(location)
    with stepstore.Pool.connect(location) as pool:
        pool.create_container("box").close()
        return pool.location


def count(location: str, times: int) -> int:
    """Adds to one number, together with others. How often others were faster."""
    faster = 0
    with stepstore.Pool.connect(location) as pool, pool.open_container("box") as box:
        values = box.key_value(1)
        done = 0
        while done < times:
            old = values.get("number")
            if values.put_if("number", str(int(old or b"0") + 1).encode(), old):
                done += 1
            else:
                faster += 1
    return faster


def number(location: str) -> int:
    with stepstore.Pool.connect(location, read_only=True) as pool, pool.open_container("box") as box:
        return int(box.key_value(1)["number"])


def field(step: int) -> np.ndarray:
    return np.arange(4096.0).reshape(64, 64) * (step + 1)


def opened(location: str, append: bool, timeout: float = 5) -> stepstore.Writer:
    """A writer. One that died gave its last sign of life some seconds ago."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return stepstore.Writer(location, append=append, WriterTimeoutSecs=timeout)
        except Error as error:
            if error.name != "DER_BUSY" or time.monotonic() > end:
                raise
            time.sleep(0.5)


def write(location: str, first: int, steps: int, append: bool, pause: float) -> None:
    with opened(location, append) as writer:
        for step in range(first, first + steps):
            with writer.step() as values:
                values["U"] = field(step)
                values["step"] = step
            time.sleep(pause)


def follow(location: str, steps: int) -> int:
    """Reads a stream while it is written. The number of steps, each of which was whole."""
    seen = 0
    with stepstore.open_steps(location, stream=True, open_timeout=PATIENCE) as stream:
        for step in stream.follow(timeout=PATIENCE):
            assert stream.read("step") == step == seen
            assert np.array_equal(stream.read("U"), field(step)), f"step {step}"
            seen += 1
            if seen == steps:
                break
    return seen


def read(location: str) -> int:
    with stepstore.open_steps(location) as stream:
        for step in range(len(stream)):
            assert np.array_equal(stream.read("U", step), field(step)), f"step {step}"
        return len(stream)


def error_of_writing(location: str) -> str:
    try:
        stepstore.Writer(location, append=True, WriterTimeoutSecs=3600).close()
    except Error as error:
        return f"{error.name}: {error}"
    return "no error"


def check(location: str) -> list[str]:
    from stepstore import _core

    found: list[str] = []
    _core.pool_check(location, True, False, lambda one: found.append(one["what"]))
    return found
