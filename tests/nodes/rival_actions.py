"""What machines do to one stream at once in test_rivals.py. A worker runs these functions."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import stepstore
from attack_actions import Acknowledged, findings, make_pool  # noqa: F401 (for workers)
from pool_actions import PATIENCE, error_of_writing, opened  # noqa: F401
from stepstore import Error

kept: dict[str, stepstore.Writer] = {}


def field(step: int, who: int) -> np.ndarray:
    return np.arange(3000.0) * (who + 1) + step


def put(writer: stepstore.Writer, who: int) -> int:
    with writer.step() as step:
        step["who"] = who
        step["U"] = field(step.number, who)
    return step.number


def text_of(error: Error) -> str:
    return f"{error.name}: {error}"


def rival(location: str, append: bool, who: int, told: str, enough: str) -> int:
    """Writes until `enough` is there. How many steps; -1: it was refused, and told why."""
    try:
        writer = stepstore.Writer(location, append=append, WriterTimeoutSecs=30)
    except Error as error:
        Path(told).write_text(text_of(error))
        return -1
    with writer:
        end, done = time.monotonic() + PATIENCE, 0
        while not os.path.exists(enough) and time.monotonic() < end:
            assert put(writer, who) == done, "steps of another writer are among them"
            done += 1
    return done


def write_until_error(location: str, who: int, told: str, timeout: float) -> str:
    """Steps, until the writer is told that it is none any more."""
    acknowledged = Acknowledged(told)
    try:
        with opened(location, True, timeout) as writer:
            while True:
                acknowledged.tell("step", put(writer, who))
    except Error as error:
        return text_of(error)


def take_over(location: str, who: int, steps: int, timeout: float) -> int:
    """Stays open. Where it began."""
    writer = kept[location] = opened(location, True, timeout)
    first = len(writer)
    go_on(location, who, steps)
    return first


def go_on(location: str, who: int, steps: int) -> None:
    for _ in range(steps):
        put(kept[location], who)


def end(location: str) -> None:
    kept.pop(location).close()


def writers(location: str) -> list[int]:
    """Who wrote each step, all of which are whole."""
    with stepstore.open_steps(location) as stream:
        found = []
        for step in range(len(stream)):
            who = int(stream.read("who", step))
            assert np.array_equal(stream.read("U", step), field(step, who)), f"step {step} is mixed"
            found.append(who)
        return found


def error_within(location: str, timeout: float) -> str:
    try:
        stepstore.Writer(location, append=True, WriterTimeoutSecs=timeout).close()
    except Error as error:
        return text_of(error)
    return "no error"


def follow(location: str, steps: int) -> int:
    """Reads a stream while it is written, until so many steps were seen."""
    seen = 0
    with stepstore.open_steps(location, stream=True, open_timeout=PATIENCE) as stream:
        for step in stream.follow(timeout=PATIENCE):
            assert np.array_equal(stream.read("U"), field(step, int(stream.read("who")))), f"step {step}"
            seen += 1
            if seen == steps:
                break
    return seen
