"""What a forked child finds of its parent's: it begins anew or is refused, never hangs, and harms nothing."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepstore
from stepstore import blobs as blobs_module
from stepstore.blobs import Blobs, open_blobs
from stepstore.errors import DER_NO_HDL, Error
from stepstore.process import PerProcess

LONGEST = 60  # seconds; then the child hangs


def run_in_child(body: Callable[[], Any]) -> int:
    """The exit status: 0, 1 after an exception, or minus a signal: SIGALRM if it hangs."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        signal.alarm(LONGEST)
        try:
            body()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def refused(call: Callable[[], Any]) -> None:
    with pytest.raises(Error, match="forked from") as raised:
        call()
    assert raised.value.code == DER_NO_HDL


@pytest.fixture
def pool(tmp_path: Path) -> str:
    path = str(tmp_path / "pool")
    stepstore.Pool.create(path, targets=4)
    return path


def all_modules() -> None:
    for found in pkgutil.walk_packages(stepstore.__path__, "stepstore."):
        if not found.name.endswith("__main__"):
            try:
                importlib.import_module(found.name)
            except ImportError:
                pass  # of something optional that is not installed


def locks_of(value: object) -> list[Any]:
    return [one for one in vars(value).values() if hasattr(one, "acquire") and hasattr(one, "release")]


def test_all_state_of_a_process_is_new_in_a_child(pool: str) -> None:
    all_modules()
    box = open_blobs(pool, "box")
    box.write("a", b"x" * 100_000)
    states = [one for one in gc.get_objects() if isinstance(one, PerProcess)]
    before = [state.get() for state in states]
    assert len(states) >= 2 and any(locks_of(value) for value in before)
    held = [lock for value in before for lock in locks_of(value)]
    for lock in held:  # as other threads hold them
        assert lock.acquire(timeout=10)

    def child() -> None:
        for state, parents in zip(states, before, strict=True):
            value = state.get()
            assert value is not parents and value is state.get()
            for lock in locks_of(value):
                assert lock.acquire(blocking=False), value
                lock.release()
        box.write("child", b"y" * 100_000)
        open_blobs(pool, "other").write("child", b"y" * 100_000)
        box.leave()

    try:
        assert run_in_child(child) == 0
    finally:
        for lock in held:
            lock.release()
    assert [state.get() for state in states] == before
    assert bytes(box.read("a")) == b"x" * 100_000 and bytes(box.read("child")) == b"y" * 100_000


def test_a_child_of_a_process_that_opens_blobs_in_another_thread_goes_on(
    pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, go_on = threading.Event(), threading.Event()
    connect = stepstore.Pool.connect
    main = threading.get_ident()

    class Slow(stepstore.Pool):
        @classmethod
        def connect(cls, *arguments: Any, **options: Any) -> stepstore.Pool:
            if threading.get_ident() != main:
                opening.set()
                go_on.wait(LONGEST)
            return connect(*arguments, **options)

    monkeypatch.setattr(blobs_module, "Pool", Slow)
    other = threading.Thread(target=lambda: open_blobs(pool, "parent").write("k", b"p" * 100_000))
    other.start()
    try:
        assert opening.wait(LONGEST)
        assert run_in_child(lambda: open_blobs(pool, "child").write("k", b"c" * 100_000)) == 0
    finally:
        go_on.set()
        other.join()
    assert bytes(open_blobs(pool, "parent").read("k")) == b"p" * 100_000
    assert bytes(open_blobs(pool, "child").read("k")) == b"c" * 100_000


def a_writer(pool: str) -> tuple[Callable[[], None], Callable[[], None]]:
    box: Blobs = open_blobs(pool, "box")
    writer = box.writer("k")
    writer.write(b"x" * 100_000)

    def child() -> None:
        refused(lambda: writer.write(b"y"))
        refused(writer.close)
        with pytest.raises(ZeroDivisionError), writer:
            raise ZeroDivisionError

    def parent() -> None:
        writer.close()
        assert bytes(box.read("k")) == b"x" * 100_000

    return child, parent


def test_what_is_a_processes_own_is_refused_and_left_alone(pool: str) -> None:
    child, parent = a_writer(pool)
    assert run_in_child(child) == 0
    parent()


def test_arrays_are_their_processes_own(pool: str) -> None:
    """Also those that the parent writes after the fork, whose numbers it had taken before."""
    values = np.arange(5000.0)
    ready = os.pipe()
    with stepstore.open_arrays(f"{pool}/box", write=True) as arrays:
        arrays.write("first", values)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(LONGEST)
                os.read(ready[0], 1)
                refused(lambda: arrays.write("mine", values))
                refused(lambda: arrays.read("first"))
                refused(arrays.names)
                assert arrays.closed
                arrays.close()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        arrays.write("second", values * 2)
        os.write(ready[1], b"x")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        arrays.write("third", values * 3)
        assert arrays.names() == ["first", "second", "third"]
        for name, factor in (("first", 1), ("second", 2), ("third", 3)):
            assert np.array_equal(arrays.read(name), values * factor)
    for descriptor in ready:
        os.close(descriptor)
