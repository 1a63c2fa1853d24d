"""Writers of blobs, and copies of a container, that are killed at any moment.

STEPSTORE_TEST_KILLS: how many of each (blobs: 40, copies: 8).
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import stepstore
from stepstore import _core
from stepstore.blobs import open_blobs
from stepstore.copying import pools
from stepstore.copying.task import Options, Place, Report
from stepstore.copying.mark import unfinished

from objects_of_blobs import data_hi

KEYS = [f"k{number}" for number in range(6)]
SIZES = [0, 100, 5_000, 70_000, 300_000]


def kills(default: int) -> int:
    return int(os.environ.get("STEPSTORE_TEST_KILLS", default))


def forked(body: Callable[[], None]) -> int:
    """A child that ends after the body. This process has no pool open, and one thread."""
    if (child := os.fork()) != 0:
        return child
    try:
        body()
        os._exit(0)
    except SystemExit as end:
        os._exit(end.code)
    except BaseException as error:  # noqa: BLE001
        os.write(2, f"child: {type(error).__name__}: {error}\n".encode())
        os._exit(1)


def ends(child: int) -> int:
    """0, or less: the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(body: Callable[[], None], seconds: float) -> bool:
    """False: it had ended before by itself, as it should."""
    child = forked(body)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    end = ends(child)
    assert end in (0, -signal.SIGKILL)
    return end != 0


def check(pool: str) -> None:
    """Nothing is damaged. Dead processes may leave what nothing refers to."""
    findings: list[dict[str, object]] = []
    summary = _core.pool_check(pool, True, False, findings.append)
    assert not summary.get("damaged"), (summary, findings)
    assert not [finding for finding in findings if finding["severity"] == "damage"], findings


def test_killed_writers_of_blobs_leave_each_value_whole(tmp_path: Path) -> None:
    pool = str(tmp_path / "p")
    dice = random.Random(20261127)
    assert ends(forked(lambda: make(pool))) == 0
    log = tmp_path / "acknowledged"
    written: dict[str, int] = {}
    count = 0
    for attempt in range(kills(40)):
        begin = attempt * 100_000
        log.write_bytes(b"")

        def write(begin: int = begin) -> None:
            own = random.Random(begin)
            blobs = open_blobs(pool, "box")
            with log.open("ab", buffering=0) as acknowledged:
                for number in range(begin, begin + 100_000):
                    key = own.choice(KEYS)
                    acknowledged.write(f"begin {key} {number}\n".encode())
                    blobs.write(key, content(number, own.choice(SIZES)))
                    acknowledged.write(f"end {key} {number}\n".encode())

        count += killed(write, dice.uniform(0.0, 0.06))
        possible = {key: {number} for key, number in written.items()}
        for line in log.read_text().splitlines():
            word, key, number = line.split()
            if word == "end":
                possible[key] = {int(number)}
            else:
                possible.setdefault(key, {-1}).add(int(number))

        def verify(possible: dict[str, set[int]] = possible) -> None:
            blobs = open_blobs(pool, "box")
            seen = tmp_path / "seen"
            lines = []
            for key in KEYS:
                value = blobs.read(key)
                number = -1 if value is None else number_of(bytes(value))
                assert number in possible.get(key, {-1}), (key, number, possible.get(key))
                lines.append(f"{key} {number}")
            seen.write_text("\n".join(lines))

        assert ends(forked(verify)) == 0
        written = {
            key: int(number)
            for key, number in (line.split() for line in (tmp_path / "seen").read_text().splitlines())
            if int(number) >= 0
        }
    assert count > kills(40) // 2
    # The next writer takes back what they had left.
    assert ends(forked(lambda: write_last(pool))) == 0
    assert ends(forked(lambda: check(pool))) == 0
    assert ends(forked(lambda: only_what_is_named(pool))) == 0


def make(pool: str) -> None:
    stepstore.Pool.create(pool, targets=4)
    with stepstore.Pool.connect(pool) as opened:
        opened.open_or_create_container("box").close()


def write_last(pool: str) -> None:
    open_blobs(pool, "box").write("last", b"x" * 100_000)


def content(number: int, size: int) -> bytes:
    """Says its number, and is as long as it says: nothing of another value fits."""
    head = number.to_bytes(8, "little") + size.to_bytes(8, "little")
    return head + random.Random(number).randbytes(64) * (size // 64)


def number_of(value: bytes) -> int:
    number, size = int.from_bytes(value[:8], "little"), int.from_bytes(value[8:16], "little")
    assert value == content(number, size), (number, size, len(value))
    return number


def only_what_is_named(pool: str) -> None:
    """Each array is that of a value."""
    blobs = open_blobs(pool, "box")
    named = {info.number for key in [*KEYS, "last"] if (info := blobs.info(key)) and info.number}
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        hi = data_hi(box)
    found = _core.container_objects(pool, "box", sizes=False)
    assert {entry["lo"] for entry in found if entry["hi"] == hi} == named


def test_killed_copies_go_on_and_end_with_the_same(tmp_path: Path) -> None:
    source, target = str(tmp_path / "source"), str(tmp_path / "target")
    assert ends(forked(lambda: fill(source, 6))) == 0
    dice = random.Random(20261128)
    count = 0
    wanted = kills(8)

    def copy() -> None:
        pools.copy(Place(source, "box"), Place(target, "box"), Options(), Report())

    while count < wanted:
        count += killed(copy, dice.uniform(0.0, 0.25))
        if ends(forked(lambda: sys.exit(0 if whole(target) else 1))) == 0:
            assert ends(forked(lambda: same(source, target))) == 0
            assert ends(forked(lambda: stepstore.Pool.destroy(target))) == 0
    assert ends(forked(copy)) == 0
    assert ends(forked(lambda: same(source, target))) == 0


def fill(pool: str, mib: int) -> None:
    stepstore.Pool.create(pool, targets=4)
    with stepstore.Pool.connect(pool) as opened, opened.open_or_create_container("box") as box:
        for number in range(1, 4):
            with box.create_array(number, cell_size=1, chunk_size=1 << 20) as array:
                array.write(0, random.Random(number).randbytes((mib << 20) // 3 + number))
        with box.key_value(9) as values:
            values.update({f"key {number}": os.urandom(2000) for number in range(500)})


def whole(pool: str) -> bool:
    """Of what a copy has made so far."""
    try:
        with stepstore.Pool.connect(pool, read_only=True) as opened:
            with opened.open_container("box", read_only=True) as box:
                return not unfinished(box) and bool(_core.container_objects(pool, "box", sizes=False))
    except stepstore.Error:
        return False


def content_of(pool: str) -> dict[object, object]:
    with stepstore.Pool.connect(pool, read_only=True) as opened:
        with opened.open_container("box", read_only=True) as box:
            assert unfinished(box) == []
            found: dict[object, object] = {}
            for number in range(1, 4):
                with box.open_array(number) as array:
                    found[number] = bytes(array.read())
            with box.key_value(9) as values:
                found[9] = dict(values.items())
            return found


def same(source: str, target: str) -> None:
    assert content_of(source) == content_of(target)
    check(target)
