"""Pools with a file system, mounted for a test. Whatever a test does, nothing stays mounted after it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepstore.errors import Error
from stepstore.paths import program

AT_FDCWD, NOREPLACE, EXCHANGE = -100, 1, 2
LIBC = ctypes.CDLL(None, use_errno=True)


def why_not() -> str:
    try:
        program("stepstore-mount")
    except Error:
        return "no mounts: stepstore-mount is not built (install libfuse3-dev)"
    if os.geteuid() != 0:
        return "no mounts: the tests run as root"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"no mounts: /dev/fuse: {error.strerror}"
    return ""


def pytest_collection_modifyitems(items):
    if reason := why_not():
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


def stepstore(*words: object, code: int = 0, timeout: int = 60) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [sys.executable, "-m", "stepstore", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def rename(old: Path | str, new: Path | str, flags: int) -> None:
    if LIBC.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(old))


def errno_of(call, *arguments) -> int:
    try:
        call(*arguments)
    except OSError as error:
        return error.errno
    return 0


def processes_of(pool: Path) -> list[int]:
    """Those that have a mount of the pool."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (one / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"stepstore-mount") and os.fsencode(pool) in words:
                found.append(int(one.name))
    return found


def wait_until(is_so, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


class Mounts:
    """Of the container `files` of one pool."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.pool = directory / "pool"
        self.location = f"{self.pool}/files"
        self.places: list[Path] = []
        stepstore("pool", "create", self.pool, "--targets", 4)
        stepstore("cont", "create", self.location, "--type", "posix")

    def new(self, *options: object, location: str = "") -> Path:
        place = self.directory / f"mount{len(self.places)}"
        place.mkdir()
        self.places.append(place)
        stepstore("mount", location or self.location, place, *options)
        return place

    def process_of(self, place: Path) -> int:
        (found,) = (
            one
            for one in processes_of(self.pool)
            if os.fsencode(place) in Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
        )
        return found

    def kill(self, place: Path) -> None:
        """And leave the dead mount."""
        number = self.process_of(place)
        os.kill(number, signal.SIGKILL)
        wait_until(lambda: errno_of(os.listdir, place) == errno.ENOTCONN)

    def end(self) -> None:
        for place in self.places:
            subprocess.run(["umount", "-l", place], capture_output=True, check=False)
        for number in processes_of(self.pool):
            os.kill(number, signal.SIGTERM)
        wait_until(lambda: not processes_of(self.pool))


@pytest.fixture
def mounts(tmp_path: Path) -> Iterator[Mounts]:
    made = Mounts(tmp_path)
    yield made
    made.end()


@pytest.fixture(scope="session")
def shared_mount(tmp_path_factory) -> Iterator[Path]:
    made = Mounts(tmp_path_factory.mktemp("shared"))
    yield made.new()
    made.end()


@pytest.fixture
def top(shared_mount: Path, request) -> Path:
    """A directory in a mount, of this test alone."""
    made = shared_mount / request.node.name
    made.mkdir()
    return made
