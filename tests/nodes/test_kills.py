"""Writers of pools in files that are killed at any instant: the process, its machine, or its mount."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bed import Bed, Machine
from rounds import ROUNDS
from worker import Worker

BLOBS = 5  # as in attack_actions.py
ACTIONS = Path(__file__).with_name("attack_actions.py")

KINDS = ("process", "machine", "mount")
PLACES = [("cephfs", "shared"), ("passthrough", "attributes")]
PATIENCE = 120.0


@pytest.fixture(params=PLACES, ids=["-".join(place) for place in PLACES])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[Bed, str]]:
    kind, mount = request.param
    yield request.getfixturevalue(kind), mount


class Told:
    """What a writer has acknowledged, as its file says."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[str]:
        text = self.path.read_text() if self.path.exists() else ""
        return text[: text.rfind("\n") + 1].split("\n")[:-1]

    def numbers(self, kind: str) -> list[int]:
        return [int(line.split()[1]) for line in self.lines() if line.startswith(f"{kind} ")]

    def possible(self, before: dict[str, int], first: int) -> dict[str, list[int]]:
        """Which values each key and blob may have: the last that was acknowledged, or the one after it."""
        values = {name: [number] for name, number in before.items()}
        for kind in ("key", "blob"):
            acknowledged = self.numbers(kind)
            for number in acknowledged:
                values[f"{kind}-{number % BLOBS}"] = [number]
            under_way = acknowledged[-1] + 1 if acknowledged else first
            values.setdefault(f"{kind}-{under_way % BLOBS}", [-1]).append(under_way)
        return values

    def wait(self, count: int, worker: Worker) -> None:
        end = time.monotonic() + PATIENCE
        while len(self.lines()) < count:
            assert not worker.has_told(), worker.take()
            assert time.monotonic() < end, f"the writer did {self.lines()}"
            time.sleep(0.005)


def kill(kind: str, machine: Machine, mount: str, worker: Worker) -> None:
    if kind == "process":
        worker.kill()
    elif kind == "mount":
        machine.kill_mount(mount)
        worker.kill()
        machine.mount(mount)
    else:
        machine.kill()
        worker.kill()
        machine.start()


def test_what_a_killed_writer_acknowledged_is_there_and_others_go_on(
    place: tuple[Bed, str], tmp_path: Path
) -> None:
    """In turns each machine writes, is killed, and the other one looks and goes on."""
    bed, mount = place
    pool = f"shared:{bed.path(mount) / 'killed'}"
    dice = random.Random(ROUNDS)
    steps, first = 0, 0
    values: dict[str, int] = {}
    with Worker(bed["A"], ACTIONS) as worker:
        worker.call("make_pool", pool)
    for round_ in range(ROUNDS):
        kind = KINDS[round_ % len(KINDS)]
        victim, other = bed.machines if round_ // len(KINDS) % 2 == 0 else bed.machines[::-1]
        told, begin = Told(tmp_path / f"told-{round_}"), time.monotonic()
        with Worker(victim, ACTIONS) as worker, Worker(other, ACTIONS) as reader:
            worker.send("write_until_killed", pool, told.path, first)
            told.wait(dice.choice((0, 1, 2, 5, 9)), worker)
            time.sleep(dice.random() * 0.3)
            kill(kind, victim, mount, worker)
            begun = told.numbers("begun")
            assert not begun or begun[0] >= steps, f"round {round_}: it began at {begun}, after {steps} steps"
            steps = max([steps, *(step + 1 for step in told.numbers("step"))])
            found = reader.call("look", pool, steps, told.possible(values, first), told.numbers("cell")[-10:])
            steps = found.pop("steps")
            values = found
            first = max([first, *(number + 1 for number in [*values.values(), *told.numbers("cell")])])
            assert not reader.call("findings", pool).get("damage"), f"round {round_}, {kind}"
        with Worker(victim, ACTIONS) as worker:  # which sees that the killed one is dead
            worker.call("findings", pool, True)
            left = worker.call("findings", pool)
            assert not left.get("damage") and not left.get("reclaimable"), left
        took = time.monotonic() - begin
        print(f"{mount}, round {round_}: {kind} of {victim.name}, {steps} steps, {took:.1f} s", flush=True)
    assert steps > 0
