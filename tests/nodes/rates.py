#!/usr/bin/env python3
"""How many operations a second one machine and two machines do on a shared file system: a table, in Markdown.

    rates.py [--kind cephfs|passthrough] [--options client_oc=false,...] [--seconds 1] [--rounds 3]

Each row is a kind of operation. `own`: each machine in a directory of its own; `one`: both in one directory.
The numbers are operations a second of all machines together, and the longest single one in milliseconds; the
median of the rounds, whose rows run interleaved.
"""

from __future__ import annotations

import argparse
import mmap
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = 4096
LARGE = 1 << 20
made = 0  # names are never used twice

# ---- on a machine


def create(at: str, sync: str) -> Iterator[None]:
    """A file of 100 bytes: with `data` synced, with `all` the directory too."""
    directory = os.open(at, os.O_RDONLY)
    yield UNTIMED
    while True:
        fd = os.open(fresh(at), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(fd, b"x" * 100)
        if sync != "none":
            os.fsync(fd)
        os.close(fd)
        if sync == "all":
            os.fsync(directory)
        yield


def link(at: str, sync: str, from_: str = "") -> Iterator[None]:
    """To a file in `from_`, or in the same directory."""
    directory, file = os.open(at, os.O_RDONLY), some_file(from_ or at, 100)
    yield UNTIMED
    while True:
        os.link(file, fresh(at))
        if sync != "none":
            os.fsync(directory)
        yield


def rename(at: str, sync: str) -> Iterator[None]:
    directory, file = os.open(at, os.O_RDONLY), some_file(at, 100)
    yield UNTIMED
    while True:
        to = fresh(at)
        os.rename(file, to)
        if sync != "none":
            os.fsync(directory)
        file = to
        yield


def own(at: str) -> str:
    """A directory of this machine alone, beside `at`."""
    path = f"{at}.{os.uname().nodename}"
    os.makedirs(path, exist_ok=True)
    return path


def publish(at: str, sync: str) -> Iterator[None]:
    """A put if absent: a file is written and synced in the machine's own directory, linked in `at`, and its
    first name is removed."""
    directory, from_ = os.open(at, os.O_RDONLY), own(at)
    yield UNTIMED
    while True:
        fd = os.open(file := fresh(from_), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(fd, b"x" * 100)
        os.fsync(fd)
        os.close(fd)
        os.link(file, fresh(at))
        if sync != "none":
            os.fsync(directory)
        os.unlink(file)
        yield


def link_from_own(at: str, sync: str) -> Iterator[None]:
    return link(at, sync, own(at))


def symlink(at: str, sync: str) -> Iterator[None]:
    """A name that is made with its value in one request, if it is free."""
    directory = os.open(at, os.O_RDONLY)
    yield UNTIMED
    while True:
        os.symlink("x" * 100, fresh(at))
        if sync != "none":
            os.fsync(directory)
        yield


def claim(make: Callable[[str], object], at: str, sync: str) -> Iterator[None]:
    """Names that both machines want, one after the other."""
    directory, number = os.open(at, os.O_RDONLY), 0
    yield UNTIMED
    while True:
        number += 1
        try:
            make(f"{at}/{number}")
        except FileExistsError:
            pass
        else:
            if sync != "none":
                os.fsync(directory)
        yield


def claim_by_link(at: str, sync: str) -> Iterator[None]:
    file = some_file(own(at), 100)
    return claim(lambda name: os.link(file, name), at, sync)


def claim_by_create(at: str, sync: str) -> Iterator[None]:
    return claim(lambda name: os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)), at, sync)


def claim_by_symlink(at: str, sync: str) -> Iterator[None]:
    return claim(lambda name: os.symlink("x" * 100, name), at, sync)


def claim_by_mkdir(at: str, sync: str) -> Iterator[None]:
    return claim(os.mkdir, at, sync)


def unlink(at: str, sync: str) -> Iterator[None]:
    """The removal of a link that was made for it, whose time does not count."""
    directory, file = os.open(at, os.O_RDONLY), some_file(at, 100)
    yield UNTIMED
    while True:
        to = fresh(at)
        os.link(file, to)
        os.fsync(directory)
        yield UNTIMED
        os.unlink(to)
        if sync != "none":
            os.fsync(directory)
        yield


def listing(at: str, sync: str) -> Iterator[None]:
    """Of 200 names."""
    directory, file = os.open(at, os.O_RDONLY), some_file(at, 100)
    for _ in range(200):
        os.link(file, fresh(at))
        os.fsync(directory)
    yield UNTIMED
    while True:
        os.listdir(at)
        yield


def look(at: str, sync: str) -> Iterator[None]:
    """stat of a name that is not there."""
    yield UNTIMED
    while True:
        os.path.exists(f"{at}/none")
        yield


def open_close(at: str, sync: str) -> Iterator[None]:
    file = some_file(at, 100)
    yield UNTIMED
    while True:
        os.close(os.open(file, os.O_RDONLY))
        yield


def read(at: str, sync: str, size: int = PAGE) -> Iterator[None]:
    """Uncached, of an open file of 64 blocks."""
    fd, place = os.open(some_file(at, 64 * size), os.O_RDONLY), 0
    yield UNTIMED
    while True:
        os.posix_fadvise(fd, place, size, os.POSIX_FADV_DONTNEED)
        os.pread(fd, size, place)
        place = (place + size) % (64 * size)
        yield


def write(at: str, sync: str, size: int = PAGE, direct: int = 0) -> Iterator[None]:
    """Blocks one after the other into an open file, which is sparse."""
    fd, place = os.open(fresh(at), os.O_WRONLY | os.O_CREAT | direct, 0o644), 0
    data = mmap.mmap(-1, size)
    data.write(b"x" * size)
    yield UNTIMED
    while True:
        os.pwrite(fd, data, place)
        if sync != "none":
            os.fdatasync(fd)
        place = (place + size) % (256 << 20)
        yield


def read_large(at: str, sync: str) -> Iterator[None]:
    return read(at, sync, LARGE)


def write_large(at: str, sync: str) -> Iterator[None]:
    return write(at, sync, LARGE)


def write_direct(at: str, sync: str) -> Iterator[None]:
    return write(at, sync, PAGE, os.O_DIRECT)


def write_large_direct(at: str, sync: str) -> Iterator[None]:
    return write(at, sync, LARGE, os.O_DIRECT)


UNTIMED: Any = "untimed"


def fresh(at: str) -> str:
    global made
    made += 1
    return f"{at}/{os.uname().nodename}-{made}"


def some_file(at: str, size: int) -> str:
    path = fresh(at)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    for place in range(0, size, LARGE):
        os.pwrite(fd, os.urandom(min(LARGE, size - place)), place)
    os.fsync(fd)
    os.close(fd)
    return path


def go(what: str, at: str, sync: str, seconds: float) -> tuple[float, float]:
    """Operations a second, and the milliseconds of the longest."""
    steps = OPERATIONS[what](at, sync)
    next(steps)  # what it needs
    end, spent, longest, done = time.monotonic() + seconds, 0.0, 0.0, 0
    while time.monotonic() < end:
        begin = time.monotonic()
        if next(steps) is UNTIMED:
            continue
        took = time.monotonic() - begin
        spent, longest, done = spent + took, max(longest, took), done + 1
    steps.close()
    return done / spent if spent else 0.0, longest * 1e3


OPERATIONS: dict[str, Callable[[str, str], Iterator[None]]] = {
    "create": create,
    "link": link,
    "rename": rename,
    "publish": publish,
    "link_from_own": link_from_own,
    "symlink": symlink,
    "claim_by_link": claim_by_link,
    "claim_by_create": claim_by_create,
    "claim_by_symlink": claim_by_symlink,
    "claim_by_mkdir": claim_by_mkdir,
    "unlink": unlink,
    "listing": listing,
    "look": look,
    "open_close": open_close,
    "read": read,
    "read_large": read_large,
    "write": write,
    "write_direct": write_direct,
    "write_large": write_large,
    "write_large_direct": write_large_direct,
}
# What is asked for, with what syncs, and whether in one directory too.
ROWS = [
    ("create", "none", True),
    ("create", "data", True),
    ("create", "all", True),
    ("link", "none", True),
    ("link", "all", True),
    ("rename", "none", True),
    ("rename", "all", True),
    ("publish", "none", True),
    ("publish", "all", True),
    ("link_from_own", "none", True),
    ("link_from_own", "all", True),
    ("symlink", "none", True),
    ("symlink", "all", True),
    ("claim_by_link", "none", True),
    ("claim_by_link", "all", True),
    ("claim_by_create", "none", True),
    ("claim_by_create", "all", True),
    ("claim_by_symlink", "none", True),
    ("claim_by_symlink", "all", True),
    ("claim_by_mkdir", "none", True),
    ("claim_by_mkdir", "all", True),
    ("unlink", "none", True),
    ("unlink", "all", True),
    ("listing", "none", True),
    ("look", "none", True),
    ("open_close", "none", False),
    ("read", "none", False),
    ("read_large", "none", False),
    ("write", "none", False),
    ("write", "data", False),
    ("write_direct", "none", False),
    ("write_large", "none", False),
    ("write_large", "data", False),
    ("write_large_direct", "none", False),
]


def main() -> None:
    from bed import Bed
    from worker import Worker, together

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kind", default="cephfs")
    parser.add_argument("--options", help="of the mounts, with commas between")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", help="only these operations, with commas between")
    given = parser.parse_args()
    mounts = None if given.options is None else {"shared": tuple(filter(None, given.options.split(",")))}
    rows = [row for row in ROWS if not given.rows or row[0] in given.rows.split(",")]
    results: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    with Bed(given.kind, mounts=mounts, life=3600) as bed:
        workers = [Worker(machine, HERE / "rates.py") for machine in bed.machines]
        for round_ in range(given.rounds):
            for what, sync, in_one in rows:
                for where in ["one machine", "own", *(["one"] if in_one else [])]:
                    top = bed.shared / f"{round_}-{what}-{sync}-{where}".replace(" ", "-")
                    places = [top if where == "one" else top / worker.machine.name for worker in workers]
                    bed["A"].run(["mkdir", "-p", *places])
                    asked = workers[:1] if where == "one machine" else workers
                    calls = [(what, place, sync, given.seconds) for place in places[: len(asked)]]
                    told = together(asked, "go", calls)
                    of_all = sum(rate for rate, _ in told), max(longest for _, longest in told)
                    results.setdefault((what, sync, where), []).append(of_all)
                    print(round_, what, sync, where, cell([of_all]), file=sys.stderr, flush=True)
        for worker in workers:
            worker.kill()
    print("\n| operation | sync | 1 machine | 2, own | 2, one directory |\n|---|---|---|---|---|")
    for what, sync, _ in rows:
        cells = [cell(results.get((what, sync, where))) for where in ("one machine", "own", "one")]
        print(f"| {what} | {sync} | {' | '.join(cells)} |")


def cell(found: list[tuple[float, float]] | None) -> str:
    if not found:
        return ""
    rate, longest = (statistics.median(values) for values in zip(*found, strict=True))
    return f"{rate:.0f}/s, {longest:.0f} ms"


if __name__ == "__main__":
    main()
