"""Fields, Zarr arrays and files of fsspec that two machines write into one pool in files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import bed
import pytest
from bed import Bed
from worker import Worker, together

pytest.importorskip("zarr")
pytest.importorskip("fsspec")

ACTIONS = Path(__file__).with_name("field_actions.py")
SCHEMA = str(Path(__file__).parents[1] / "fdb5" / "schema")
NAMES = ["A1", "A2", "B1", "B2"]  # two processes on each machine


@pytest.fixture(scope="module")
def apart() -> Iterator[Bed]:
    """Machines whose clocks differ by an hour. Their file system asks its server for every name."""
    reason = bed.why_not("passthrough")
    if reason:
        pytest.skip(reason)
    with Bed("passthrough", mounts={"shared": ()}, clocks={"B": -3600}) as made:
        yield made


@pytest.fixture
def workers(cephfs: Bed) -> Iterator[list[Worker]]:
    yield from workers_on(cephfs)


@pytest.fixture
def workers_apart(apart: Bed) -> Iterator[list[Worker]]:
    yield from workers_on(apart)


def workers_on(machines: Bed) -> Iterator[list[Worker]]:
    made = [Worker(machine, ACTIONS) for machine in machines.machines for _ in range(2)]
    yield made
    for worker in made:
        worker.kill()


@pytest.fixture(scope="module")
def fdb() -> None:
    pytest.importorskip("fdb5lib")
    if not (Path(os.environ["STEPSTORE_TEST_BUILD"]) / "lib" / "libstepstore_fdb5.so").exists():
        pytest.skip("the plugin for FDB is not built")


def pool_on(workers: list[Worker], name: str) -> str:
    return f"shared:{workers[0].machine.bed.shared / name}"


def all_see(workers: list[Worker], function: str, *arguments: object) -> object:
    """What each of them answers, which must be the same."""
    answers = together(workers, function, [arguments] * len(workers))
    assert answers == [answers[0]] * len(workers)
    return answers[0]


@pytest.mark.usefixtures("fdb")
def test_machines_archive_into_one_dataset(workers: list[Worker]) -> None:
    """At once: fields of their own, and fields that all archive. One of these wins whole, for all readers."""
    pool, same = pool_on(workers, "fields"), [100, 101, 102]
    own = [10 * number for number in range(len(workers))]
    flushes = [[[step], same] for step in own]
    together(workers, "archive", [(pool, SCHEMA, *told) for told in zip(NAMES, flushes, strict=True)])
    readers = [workers[0], workers[3]]
    assert all_see(readers, "who_wrote", pool, SCHEMA, own) == NAMES
    # A flush is one publication: who comes last in the order has all of its fields.
    winners = all_see(readers, "who_wrote", pool, SCHEMA, same)
    assert isinstance(winners, list) and len(set(winners)) == 1
    everything = all_see(readers, "listed", pool, SCHEMA, True)
    assert isinstance(everything, list)
    assert sorted(step for step, _ in everything) == sorted(own + same * len(workers))
    # The newest flush first. Its fields are those that are read.
    newest = dict(reversed(everything))
    visible = all_see(readers, "listed", pool, SCHEMA, False)
    assert isinstance(visible, list)
    assert {(step, place) for step, place in visible} == set(newest.items())


@pytest.mark.usefixtures("fdb")
def test_the_order_of_archives_is_that_of_flushes_and_not_of_clocks(workers_apart: list[Worker]) -> None:
    """A flush that begins after another one has ended counts, also if its clock is an hour behind."""
    one_each = [workers_apart[0], workers_apart[2]]
    pool, turns, places = pool_on(one_each, "fields"), [0, 1, 0, 1], []
    for turn in turns:
        one_each[turn].call("archive", pool, SCHEMA, NAMES[turn], [[7]])
        assert all_see(one_each, "who_wrote", pool, SCHEMA, [7]) == [NAMES[turn]]
        places.append(one_each[turn].call("listed", pool, SCHEMA, False)[0])
    assert all_see(one_each, "listed", pool, SCHEMA, True) == places[::-1]


def test_machines_write_one_zarr_array(workers: list[Worker]) -> None:
    pool, size = pool_on(workers, "zarr"), 5000
    workers[0].call("make", pool)
    workers[3].call("make_array", pool, 6, size)
    chunks = [[number, 4, 5] for number in range(len(workers))]
    told = [(pool, size, mine, number) for number, mine in enumerate(chunks)]
    together(workers, "write_chunks", told)
    values = all_see([workers[1], workers[2]], "chunk_values", pool, size)
    assert isinstance(values, list)
    assert values[:4] == [[0], [1], [2], [3]]
    # Of those that all wrote each is one's, whole.
    assert all(len(value) == 1 and value[0] in range(len(workers)) for value in values[4:])


def test_machines_append_to_one_file(workers: list[Worker]) -> None:
    pool, lines, writers = pool_on(workers, "files"), 3, [workers[0], workers[2]]
    workers[0].call("make", pool)
    path = f"stepstore://{pool}/box/log.txt"
    together(writers, "append", [(path, name, lines) for name in ("A", "B")])
    found = all_see(writers, "lines_of", path)
    assert isinstance(found, list)
    for name in ("A", "B"):  # all lines, each once, in its writer's order
        assert [line for line in found if line.startswith(name)] == [f"{name} {n}" for n in range(lines)]
    assert len(found) == lines * len(writers)
