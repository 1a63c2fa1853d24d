"""Readers beside writers, of values that verify themselves, and writers that fill a file system. A worker
runs these functions (test_values.py)."""

from __future__ import annotations

import random
import time

import numpy as np
import stepstore
from actions import number_of, value
from attack_actions import CELL, SIZES, Acknowledged, box_of, findings, make_pool  # noqa: F401 (for workers)
from pool_actions import PATIENCE, opened
from stepstore import Error
from stepstore.blobs import open_blobs

OWN = 3  # keys and blobs of each writer


def field(step: int) -> np.ndarray:
    return np.arange(5000.0) + step * 7


def write_values(location: str, who: int, seconds: float) -> int:
    """Replaces keys and blobs, its own and those of all, and writes cells before it says so in a key."""
    end, number = time.monotonic() + seconds, 0
    blobs = open_blobs(location, "blobs")
    with stepstore.Writer(f"{location}/box/steps-{who}") as writer, box_of(location) as box:
        keys, array = box.key_value(1), box.open_array(2)
        while time.monotonic() < end:
            body = value(number, SIZES[number % len(SIZES)])
            keys.put(f"own-{who}-{number % OWN}", body)
            keys.put("of all", body)
            blobs.write(f"own-{who}-{number % OWN}", body)
            blobs.write("of all", body)
            array.write(2 * number + who, value(2 * number + who, CELL))
            keys.put(f"cells-{who}", str(number + 1))
            with writer.step() as step:
                step["U"] = field(step.number)
            number += 1
    return number


def read_values(location: str, writers: int, seconds: float, seed: int) -> int:
    """How many values were read, each of which was whole, and none older than one that was seen before."""
    end, dice, reads = time.monotonic() + seconds, random.Random(seed), 0
    last: dict[str, int] = {}
    blobs = open_blobs(location, "blobs", read_only=True)
    with box_of(location, True) as box:
        keys, array = box.key_value(1), box.open_array(2)
        while time.monotonic() < end:
            who = dice.randrange(writers)
            name = dice.choice(["of all", f"own-{who}-{dice.randrange(OWN)}"])
            for kind, get in (("key", keys.get), ("blob", blobs.read)):
                got = get(name)
                number = -1 if got is None else number_of(bytes(got))
                one = f"{kind} {name}"
                assert number >= last.get(one, -1) or name == "of all", f"{one}: {number} after {last[one]}"
                last[one] = number
            cells = int(keys.get(f"cells-{who}", b"0"))
            for cell in dice.sample(range(cells), min(cells, 3)) + [cells - 1] * (cells > 0):
                found = array.read(2 * cell + who, 1)
                assert number_of(bytes(found)) == 2 * cell + who
                reads += 1
            reads += 2
    return reads


def follow_values(location: str, who: int, seconds: float) -> int:
    """Steps while they are written."""
    end, seen = time.monotonic() + seconds, 0
    with stepstore.open_steps(f"{location}/box/steps-{who}", stream=True, open_timeout=PATIENCE) as stream:
        for step in stream.follow(timeout=PATIENCE):
            assert step == seen
            assert np.array_equal(stream.read("U"), field(step)), f"step {step}"
            seen += 1
            if time.monotonic() > end:
                break
    return seen


# ---- a full file system


def fill(location: str, kind: str, told: str) -> str:
    """Steps, keys or blobs, until there is an error: which one."""
    acknowledged = Acknowledged(told)
    number = 0
    try:
        if kind == "step":
            with opened(f"{location}/box/steps", False, 1) as writer:
                while True:
                    with writer.step() as step:
                        step["U"] = np.full(40_000, float(step.number))
                    acknowledged.tell(kind, step.number)
        blobs = open_blobs(location, "blobs")
        with box_of(location) as box:
            keys = box.key_value(1)
            while True:
                put = keys.put if kind == "key" else blobs.write
                put(f"{kind}-{number % 64}", value(number, 200_000 if number % 2 else 300))
                acknowledged.tell(kind, number)
                number += 1
                if number % 64 == 0:
                    keys = box.key_value(100 + number // 64)
                    kind_of_blob = f"more-{number // 64}"
                    blobs = open_blobs(location, kind_of_blob)
    except Error as error:
        return f"{error.name}: {error}"


def look_after_fill(location: str, kind: str, count: int) -> int:
    """So many were acknowledged. How many there are."""
    if kind == "step":
        with stepstore.open_steps(f"{location}/box/steps") as stream:
            assert len(stream) >= count, f"{len(stream)} of {count}"
            for step in range(len(stream)):
                assert np.array_equal(stream.read("U", step), np.full(40_000, float(step))), f"step {step}"
            return len(stream)
    with box_of(location, True) as box:
        for number in range(count + 1):
            group = number // 64
            if kind == "key":
                got = box.key_value(100 + group if group else 1, read_only=True).get(f"key-{number % 64}")
            else:
                try:
                    container = f"more-{group}" if group else "blobs"
                    got = open_blobs(location, container, read_only=True).read(f"blob-{number % 64}")
                except Error:
                    assert number == count
                    got = None
            if number == count and got is None:
                return count
            assert got is not None and number_of(bytes(got)) == number, f"{kind} {number} of {count}"
    return count + 1


def write_again(location: str, kind: str) -> None:
    if kind == "step":
        # The lease could not be given back: that needs space too.
        with opened(f"{location}/box/steps", True, 1) as writer, writer.step() as step:
            step["U"] = np.full(40_000, float(step.number))
        return
    with box_of(location) as box:
        box.key_value(7).put("again", b"x")
        assert box.key_value(7).get("again") == b"x"
    open_blobs(location, "blobs").write("again", b"x" * 100_000)


# ---- caches that are believed for ever


def write_steps(location: str, steps: int, pause: float) -> None:
    with stepstore.Writer(location) as writer:
        for _ in range(steps):
            with writer.step() as step:
                step["U"] = field(step.number)
            time.sleep(pause)


def follow_or_error(location: str, steps: int, timeout: float) -> str:
    """`all N` where it read all steps; the error where it did not. Never a wrong value."""
    seen = 0
    try:
        with stepstore.open_steps(location, stream=True, open_timeout=timeout) as stream:
            for step in stream.follow(timeout=timeout):
                assert step == seen, f"step {step} after {seen} steps"
                assert np.array_equal(stream.read("U"), field(step)), f"step {step} is wrong"
                seen += 1
                if seen == steps:
                    break
    except Error as error:
        return f"{error.name}: {error}"
    except TimeoutError as error:
        return f"TimeoutError: {error}"
    return f"all {seen}"
