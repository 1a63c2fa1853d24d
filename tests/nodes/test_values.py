"""Readers beside writers on two machines, full file systems, and mounts with the worst caches."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import bed as beds
import pytest
from bed import Bed
from rounds import SECONDS
from worker import Worker

ACTIONS = Path(__file__).with_name("value_actions.py")


@pytest.mark.parametrize(("kind", "mount"), [("cephfs", "shared"), ("passthrough", "attributes")])
def test_readers_beside_writers_see_no_wrong_value(
    kind: str, mount: str, request: pytest.FixtureRequest
) -> None:
    bed: Bed = request.getfixturevalue(kind)
    pool = f"shared:{bed.path(mount) / 'values'}"
    workers = [Worker(machine, ACTIONS) for machine in bed.machines for _ in range(3)]
    try:
        workers[0].call("make_pool", pool)
        for who, writer in enumerate((workers[0], workers[3])):
            writer.send("write_values", pool, who, SECONDS)
        for seed, reader in enumerate((workers[1], workers[4])):
            reader.send("read_values", pool, 2, SECONDS, seed)
        for who, reader in enumerate((workers[5], workers[2])):  # of the other machine's
            reader.send("follow_values", pool, who, SECONDS)
        done = [worker.take() for worker in workers]
        assert min(done) > 0, done
        print(
            f"{mount}: written {done[0]} + {done[3]}, read {done[1]} + {done[4]}, "
            f"steps followed {done[5]} + {done[2]}, 0 wrong"
        )
        assert not workers[2].call("findings", pool).get("damage")
    finally:
        for worker in workers:
            worker.kill()


@pytest.fixture(scope="module")
def small() -> Iterator[Bed]:
    reason = beds.why_not("passthrough")
    if reason:
        pytest.skip(reason)
    with Bed("passthrough", mounts={"shared": ("timeout=1",)}, size="24M") as bed:
        yield bed


@pytest.mark.parametrize("kind", ["step", "key", "blob"])
def test_a_full_file_system_is_named_and_loses_nothing(small: Bed, kind: str, tmp_path: Path) -> None:
    a, b = small.machines
    a.run(["find", small.shared, "-mindepth", "1", "-delete"])
    for machine in small.machines:  # a passthrough keeps what was removed while a kernel remembers it
        machine.kill_mount()
        machine.mount("shared")
    pool, filler = f"shared:{small.shared / kind}", small.shared / f"filler-{kind}"
    with Worker(a, ACTIONS) as writer, Worker(b, ACTIONS) as other:
        writer.call("make_pool", pool)
        a.run(["dd", "if=/dev/zero", f"of={filler}", "bs=1M", "count=16"], stderr=subprocess.DEVNULL)
        told = tmp_path / "told"
        why = writer.call("fill", pool, kind, told)
        assert why.startswith("DER_NOSPACE") and "the disk is full" in why, why
        count = told.read_text().count("\n")
        assert count > 3
        there = other.call("look_after_fill", pool, kind, count)
        assert not other.call("findings", pool).get("damage")
        a.run(["rm", filler])
        other.call("write_again", pool, kind)
        assert writer.call("look_after_fill", pool, kind, there) == there + (kind == "step")
        writer.kill()
    with Worker(a, ACTIONS) as writer:
        writer.call("findings", pool, True)
        left = writer.call("findings", pool)
        assert not left.get("damage") and not left.get("reclaimable"), left


@pytest.mark.parametrize("mount", ["forever", "opens"])
def test_with_the_worst_caches_a_reader_is_right_or_refused(passthrough: Bed, mount: str) -> None:
    a, b = passthrough.machines
    pool = f"shared:{passthrough.path(mount) / f'worst-{mount}'}"
    with Worker(a, ACTIONS) as writer, Worker(b, ACTIONS) as reader:
        writer.call("make_pool", pool)
        writer.send("write_steps", f"{pool}/box/steps", 20, 0.05)
        found = reader.call("follow_or_error", f"{pool}/box/steps", 20, 5)
        print(f"{mount}: {found}")
        assert found == "all 20" or "Error" in found or found.startswith("DER_"), found
        writer.take()
        # And when all is written and closed, on a mount that has read nothing yet.
        b.kill_mount(mount)
        b.mount(mount)
    with Worker(b, ACTIONS) as reader:
        assert reader.call("follow_or_error", f"{pool}/box/steps", 20, 5) == "all 20"
