"""Two machines that want to write one stream, and what comes of a writer that is believed dead and is not."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bed import Bed
from rounds import ROUNDS
from worker import Worker

ACTIONS = Path(__file__).with_name("rival_actions.py")
PATIENCE = 120.0


def wait(what: str, ready: Callable[[], bool], *workers: Worker) -> None:
    """Until it is ready. A worker that ends its call before has an exception to tell."""
    end = time.monotonic() + PATIENCE
    while not ready():
        for worker in workers:
            assert not worker.has_told() or ready(), worker.take()
        assert time.monotonic() < end, what
        time.sleep(0.01)


def acknowledged(told: Path) -> int:
    """How many steps."""
    return told.read_text().count("\n") if told.exists() else 0


@pytest.mark.parametrize("append", [True, False])
@pytest.mark.parametrize(("kind", "mount"), [("cephfs", "shared"), ("passthrough", "coherent")])
def test_of_two_writers_one_has_the_stream(
    kind: str, mount: str, append: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bed: Bed = request.getfixturevalue(kind)
    pool = f"shared:{bed.path(mount) / f'rivals-{append}'}"
    with Worker(bed["A"], ACTIONS) as a, Worker(bed["B"], ACTIONS) as b:
        for round_ in range(-(-ROUNDS // 5)):
            stream, enough = f"{pool}/box/stream-{round_}", tmp_path / f"enough-{round_}"
            told = [tmp_path / f"told-{round_}-{who}" for who in range(2)]
            for who, worker in enumerate((a, b)):
                worker.send("rival", stream, append, who, told[who], enough)
            wait("nobody was refused", lambda told=told: any(one.exists() for one in told), a, b)
            enough.touch()
            counts = [worker.take() for worker in (a, b)]
            assert min(counts) == -1 < max(counts), counts
            loser = counts.index(-1)
            why = told[loser].read_text()
            assert why.startswith("DER_BUSY") and f"{'AB'[1 - loser]}" in why, why
            assert b.call("writers", stream) == [1 - loser] * max(counts)


def test_a_writer_that_stood_still_for_too_long_destroys_nothing(passthrough: Bed, tmp_path: Path) -> None:
    """Its mount is paused at any instant. So what it had begun reaches the file system when another one
    writes already."""
    dice = random.Random(ROUNDS)
    a, b = passthrough.machines
    pool = f"shared:{passthrough.path('coherent') / 'paused'}"
    with Worker(a, ACTIONS) as worker:
        worker.call("make_pool", pool)
    for round_ in range(-(-ROUNDS // 2)):
        stream, told = f"{pool}/box/stream-{round_}", tmp_path / f"told-{round_}"
        with Worker(a, ACTIONS) as old, Worker(b, ACTIONS) as new:
            old.send("write_until_error", stream, 0, told, 1)
            wait("it writes", lambda told=told: acknowledged(told) > 3, old)
            time.sleep(dice.random() * 0.2)
            a.pause_mount("coherent")
            try:
                first = new.call("take_over", stream, 1, dice.choice((1, 4)), 1)
                before = acknowledged(told)
                assert first >= before, f"{before} steps were acknowledged, and {first} were there"
            finally:
                a.resume_mount("coherent")
            new.call("go_on", stream, 1, 3)
            why = old.take()
            assert why.startswith("DER_STALE") and "taken over" in why, why
            assert acknowledged(told) <= first, "a step was acknowledged that is another's"
            new.call("go_on", stream, 1, 2)
            new.call("end", stream)
            found = old.call("writers", stream)
            assert found[:first] == [0] * first and set(found[first:]) == {1}, found
            assert len(found) - first >= 6
            assert not new.call("findings", pool).get("damage")


@pytest.mark.parametrize("ahead", ["A", "B"])
def test_clocks_that_differ_by_minutes(passthrough: Bed, ahead: str, tmp_path: Path) -> None:
    a, b = passthrough.machines
    stream = f"shared:{passthrough.path('coherent') / f'clock-{ahead}'}/box/stream"
    passthrough.clocks[ahead] = 300
    try:
        with Worker(a, ACTIONS) as writer, Worker(b, ACTIONS) as other:
            told = tmp_path / "told"
            writer.send("write_until_error", stream, 0, told, 1.5)
            assert other.call("follow", stream, 10) == 10
            assert other.call("error_within", stream, 1.5).startswith("DER_BUSY"), "it gives signs of life"
            assert other.call("follow", stream, 20) == 20
            writer.kill()
            first = other.call("take_over", stream, 1, 3, 1.5)
            assert first >= acknowledged(told)
            other.call("end", stream)
            assert other.call("writers", stream)[first:] == [1] * 3
    finally:
        passthrough.clocks.clear()
