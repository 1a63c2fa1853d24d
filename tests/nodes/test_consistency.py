"""What pools of several machines need of a file system, on CephFS with and without caches, and on mounts of a
passthrough. Reads are uncached: by O_DIRECT, or without the pages that the machine has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bed import Bed, Machine
from worker import Worker, together

ACTIONS = Path(__file__).with_name("actions.py")
CONTENDERS = 2  # of each machine
ROUNDS = 200
VALUES = 20
REPLACING = [
    ("cephfs", "shared"),
    ("cephfs", "cached"),
    ("passthrough", "coherent"),
    ("passthrough", "opens"),
]
MOUNTS = [*REPLACING, ("passthrough", "forever")]  # on the last one a name that was read leads to what it did
HOW = ["direct", "dontneed"]
WORKERS: dict[tuple[Bed, str, int], Worker] = {}


@pytest.fixture(scope="module", autouse=True)
def workers_end() -> Iterator[None]:
    yield
    for worker in WORKERS.values():
        worker.kill()


def worker(bed: Bed, machine: Machine, number: int = 0) -> Worker:
    key = (bed, machine.name, number)
    if key not in WORKERS:
        WORKERS[key] = Worker(machine, ACTIONS)
    return WORKERS[key]


@pytest.fixture(params=MOUNTS, ids=["-".join(mount) for mount in MOUNTS])
def place(request: pytest.FixtureRequest) -> tuple[Bed, Path]:
    """A bed, and a directory that its machines share."""
    kind, mount = request.param
    bed = request.getfixturevalue(kind)
    return bed, directory(bed, mount, request.node.name)


def directory(bed: Bed, mount: str, name: str) -> Path:
    """A new directory, with one of each machine and one for what all see."""
    made = bed.path(mount) / name.replace("[", "-").replace("]", "")
    parts = [made / part for part in ["all", *(machine.name for machine in bed.machines)]]
    bed["A"].run(["mkdir", "-p", *parts])
    return made


def both(bed: Bed) -> list[Worker]:
    return [worker(bed, machine) for machine in bed.machines]


def test_one_of_several_links_wins(place: tuple[Bed, Path]) -> None:
    bed, at = place
    contenders = [worker(bed, machine, n) for machine in bed.machines for n in range(CONTENDERS)]
    own = [at / contender.machine.name / str(n) for n, contender in enumerate(contenders)]
    together(contenders, "write", [(path, n, 100) for n, path in enumerate(own)])
    won = [0] * len(contenders)
    for number in range(ROUNDS):
        name = at / "all" / str(number)
        told = together(contenders, "link", [(path, name) for path in own])
        assert told.count(True) == 1, f"round {number}: {told}"
        won[told.index(True)] += 1
        if number % 10 == 0:
            seen = together(both(bed), "number_at", [(name, "direct")] * 2)
            assert seen == [told.index(True)] * 2
    print("won:", won)


def test_a_name_is_in_every_listing_that_begins_after_its_link(place: tuple[Bed, Path]) -> None:
    bed, at = place
    a, b = both(bed)
    a.call("write", at / "A" / "x", 1, 100)
    for number in range(50):
        name = at / "all" / str(number)
        assert not b.call("exists", name)  # a machine may remember this
        assert a.call("link", at / "A" / "x", name)
        assert str(number) in b.call("names", at / "all")
        assert b.call("exists", name)
        a, b = b, a


@pytest.mark.parametrize("how", HOW)
def test_what_was_synced_before_its_name_is_read_whole(place: tuple[Bed, Path], how: str) -> None:
    bed, at = place
    workers = [worker(bed, machine, n) for machine in bed.machines for n in range(2)]
    for n, one in enumerate(workers):  # a writer and a reader on each machine
        machine, first = one.machine.name, VALUES * (n // 2)
        if n % 2 == 0:
            one.send("publish", at / machine, at / "all", first, VALUES)
        else:
            one.send("follow", at / "all", VALUES - first, VALUES, how)
    for one in workers:
        one.take()


@pytest.mark.parametrize("how", HOW)
def test_a_cell_of_an_open_array_is_read_after_its_name(place: tuple[Bed, Path], how: str) -> None:
    bed, at = place
    a, b = both(bed)
    a.call("make_array", at / "A" / "array", VALUES)
    b.send("follow_cells", at / "A" / "array", at / "all", 0, VALUES, how)
    a.call("write_cells", at / "A" / "array", at / "all", 0, VALUES)
    b.take()


@pytest.mark.parametrize("place", REPLACING, ids=map("-".join, REPLACING), indirect=True)
@pytest.mark.parametrize("how", HOW)
def test_a_replaced_file_is_the_old_or_the_new_one(place: tuple[Bed, Path], how: str) -> None:
    bed, at = place
    a, b = both(bed)
    a.call("replace", at / "A", at / "all" / "x", 0, 1)
    b.send("follow_replaced", at / "all" / "x", VALUES, how)
    a.call("replace", at / "A", at / "all" / "x", 1, VALUES)
    b.take()


@pytest.mark.parametrize("how", HOW)
def test_an_open_file_that_is_removed_is_read_or_refused(place: tuple[Bed, Path], how: str) -> None:
    bed, at = place
    a, b = both(bed)
    a.call("write", at / "all" / "x", 7, 100_000)
    b.call("keep_open", f"{at}", at / "all" / "x", how)
    a.call("remove", at / "all" / "x")
    assert a.call("names", at / "all") == []
    told = b.call("read_kept", f"{at}", 100_000, 0, how)
    assert told in ("7", "ESTALE")
    print("an open file that was removed:", told)


def test_the_passthrough_is_as_bad_as_it_says(passthrough: Bed) -> None:
    """A machine that has read a name goes on with what it saw, also when the name leads to another file."""
    at = directory(passthrough, "forever", "stale")
    a, b = both(passthrough)
    path = at / "all" / "x"
    a.call("write", path, 1, 100)
    assert b.call("number_at", path, "cached") == 1
    a.call("replace", at / "A", path, 2, 1)
    assert b.call("number_at", path, "cached") == 1  # the name leads to the old file
    assert b.call("number_at", path, "direct") == 1
    assert a.call("number_at", path, "cached") == 2
