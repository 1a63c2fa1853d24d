"""Places that cannot be a pool in files, or are another kind: one sentence, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bed import Bed
from worker import Worker

ACTIONS = Path(__file__).with_name("place_actions.py")
BENCH = Path(os.environ["STEPSTORE_TEST_BUILD"]) / "bin/stepstore-bench-layouts"


def job(bed: Bed, location: Path) -> Any:
    """One stream by two ranks of one machine and one of the other, which another rank reads."""
    words = [BENCH, "--writers", "3", "--readers", "1", "--steps", "3", "--location", location]
    return bed.mpirun(2, words, check=False, stderr=subprocess.PIPE)


@pytest.mark.parametrize("mount", ["forever", "opens"])
def test_a_job_is_refused_where_a_machine_does_not_see_what_others_add(passthrough: Bed, mount: str) -> None:
    place = passthrough.path(mount) / f"refused-{mount}"
    passthrough["A"].run(["mkdir", place])
    done = job(passthrough, place / "job")
    assert done.returncode != 0
    assert "docs/nodes.md, rule" in done.stdout + done.stderr
    for machine in passthrough.machines:
        assert machine.run(["ls", "-A", place]).stdout == ""


def test_a_job_is_refused_where_a_machine_may_not_write(passthrough: Bed) -> None:
    """Whichever machine is first to make the name that both try."""
    place = passthrough.path("coherent") / "read-only"
    a, b = passthrough.machines
    a.run(["mkdir", place])
    b.run(["mount", "--bind", place, place])
    b.run(["mount", "-o", "remount,bind,ro", place])
    try:
        for _ in range(2):
            done = job(passthrough, place / "job")
            told = done.stdout + done.stderr
            assert done.returncode != 0 and " on B cannot write into " in told, told
            assert a.run(["ls", "-A", place]).stdout == ""
    finally:
        b.run(["umount", place])


def test_pools_of_the_other_kind_are_refused(passthrough: Bed) -> None:
    place = passthrough.path("coherent") / "kinds"
    a, b = passthrough.machines
    with Worker(a, ACTIONS) as one, Worker(b, ACTIONS) as other:
        one.call("make", f"local:{place}/lmdb")
        one.call("make", f"shared:{place}/files")
        before = a.run(["find", place]).stdout.split()
        for worker in (one, other):
            for write in (True, False):
                said = worker.call("error_of", f"shared:{place}/lmdb", write)
                assert "is no pool in files" in said, said
            for same in (f"{place}/files", f"local:{place}/files"):  # paths, whatever lies there
                assert worker.call("error_of", same, True) == "no error"
            assert worker.call("error_of_making", f"local:{place}/files").startswith("DER_EXIST")
        assert sorted(a.run(["find", place]).stdout.split()) == sorted(before)
