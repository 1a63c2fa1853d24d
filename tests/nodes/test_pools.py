"""Pools in files on two machines that share a CephFS, and on file systems with bad caches."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from bed import Bed
from worker import Worker, together

ACTIONS = Path(__file__).with_name("pool_actions.py")
BENCH = Path(os.environ["STEPSTORE_TEST_BUILD"]) / "bin/stepstore-bench-layouts"
PLACES = [("cephfs", "shared"), ("cephfs", "cached"), ("passthrough", "attributes")]


@pytest.fixture(params=PLACES, ids=["-".join(place) for place in PLACES])
def place(request: pytest.FixtureRequest) -> tuple[Bed, Path]:
    kind, mount = request.param
    bed = request.getfixturevalue(kind)
    made = bed.path(mount) / request.node.name.replace("[", "-").replace("]", "")
    bed["A"].run(["mkdir", "-p", made])
    return bed, made


@pytest.fixture
def workers(place: tuple[Bed, Path]) -> Iterator[list[Worker]]:
    """Two on each machine: A, A, B, B."""
    made = [Worker(machine, ACTIONS) for machine in place[0].machines for _ in range(2)]
    yield made
    for worker in made:
        worker.kill()


def test_no_update_of_two_machines_is_lost(place: tuple[Bed, Path], workers: list[Worker]) -> None:
    pool = str(place[1] / "pool")
    assert workers[0].call("make", f"shared:{pool}") == f"shared:{pool}"
    together(workers, "count", [(pool, 5)] * len(workers))
    assert [worker.call("number", pool) for worker in workers] == [5 * len(workers)] * len(workers)


def test_a_reader_on_another_machine_follows_a_writer(place: tuple[Bed, Path], workers: list[Worker]) -> None:
    stream = f"shared:{place[1] / 'gs'}"
    writer, reader = workers[0], workers[2]
    writer.send("write", stream, 0, 40, False, 0.02)
    assert reader.call("follow", stream, 40) == 40
    writer.take()
    # And appends to what the other machine wrote.
    reader.call("write", stream, 40, 5, True, 0.0)
    assert writer.call("read", stream) == 45


def test_another_machine_writes_on_after_a_writer_was_killed(
    place: tuple[Bed, Path], workers: list[Worker]
) -> None:
    stream = f"shared:{place[1] / 'gs'}"
    writer, other = workers[0], workers[2]
    writer.send("write", stream, 0, 10_000, False, 0.01)
    assert other.call("follow", stream, 10) >= 10
    assert "DER_BUSY" in other.call("error_of_writing", stream), "it lives"
    writer.kill()
    whole = other.call("read", stream)
    assert whole >= 10
    other.call("write", stream, whole, 5, True, 0.0)
    assert workers[1].call("read", stream) == whole + 5


def test_a_job_of_two_machines_needs_no_set_up(cephfs: Bed) -> None:
    """Through MPI: two ranks of one machine and one of the other write a stream, and another one reads it."""
    stream = cephfs.shared / "job"
    done = cephfs.mpirun(
        2, [BENCH, "--writers", "3", "--readers", "1", "--steps", "20", "--location", stream]
    )
    told = json.loads(done.stdout)
    assert told["steps"] == 20 and told["readings"]
    assert (cephfs["A"].view(stream) / "stepstore.files").exists()


def test_ranks_that_do_not_share_a_directory_are_told_and_leave_nothing(cephfs: Bed) -> None:
    stream = cephfs.local / "job"
    words = [BENCH, "--writers", "3", "--readers", "1", "--steps", "1", "--location", stream]
    done = cephfs.mpirun(2, words, check=False, stderr=subprocess.PIPE)
    assert done.returncode != 0
    assert "do not share this directory" in done.stdout + done.stderr
    for machine in cephfs.machines:
        assert machine.run(["ls", "-A", cephfs.local]).stdout.split() == []
