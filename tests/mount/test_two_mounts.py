"""Two mounts of one container, and programs in both."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time

import pytest
from conftest import EXCHANGE, NOREPLACE, errno_of, rename


@pytest.fixture
def pair(mounts):
    return mounts.new(), mounts.new()


def test_what_is_finished_is_seen_at_once(pair):
    one, other = pair
    for number in range(50):
        (one / "f").write_bytes(b"%d" % number * number)
        assert (other / "f").read_bytes() == b"%d" % number * number
        assert (other / "f").stat().st_size == (one / "f").stat().st_size
        (other / "f").unlink()
        assert not (one / "f").exists() and os.listdir(one) == []
    (one / "d").mkdir()
    (other / "d/f").touch()
    rename(one / "d", one / "e", NOREPLACE)
    assert os.listdir(other) == ["e"] and os.listdir(other / "e") == ["f"]
    assert errno_of(os.rmdir, one / "e") == errno.ENOTEMPTY
    (other / "e/f").chmod(0o600)
    assert (one / "e/f").stat().st_mode & 0o777 == 0o600


def test_an_open_file_sees_what_the_other_mount_writes(pair):
    one, other = pair
    with open(one / "f", "w+b", buffering=0) as writer, open(other / "f", "r+b", buffering=0) as reader:
        for number in range(50):
            writer.write(b"%4d" % number)
            assert os.fstat(reader.fileno()).st_size == 4 * number + 4
            assert os.pread(reader.fileno(), 4, 4 * number) == b"%4d" % number
            os.pwrite(reader.fileno(), b"%4d" % -number, 0)
            assert os.pread(writer.fileno(), 4, 0) == b"%4d" % -number
        os.ftruncate(writer.fileno(), 2)
        assert os.pread(reader.fileno(), 100, 0) == b" -"


def test_appends_after_each_other(pair):
    files = [open(place / "log", "ab", buffering=0) for place in pair]
    for number in range(100):
        files[number % 2].write(b"%d\n" % number)
    assert (pair[0] / "log").read_text().split() == [str(number) for number in range(100)]
    for file in files:
        file.close()


def test_a_file_that_the_other_mount_replaces_is_another_one(pair):
    one, other = pair
    (one / "f").write_text("first")
    with open(one / "f") as file:
        (other / "g").write_text("second")
        os.rename(other / "g", other / "f")
        assert errno_of(os.fstat, file.fileno()) == errno.ESTALE
        assert (one / "f").read_text() == "second"
        number = (one / "f").stat().st_ino
    assert number == (other / "f").stat().st_ino


WORK = """
import os, random, sys
place, seed = sys.argv[1], int(sys.argv[2])
chance = random.Random(seed)
names = ["a", "b", "c", "d"]
for turn in range(250):
    name = os.path.join(place, chance.choice(names))
    other = os.path.join(place, chance.choice(names))
    try:
        what = chance.randrange(5)
        if what == 0:
            new = f"{place}/new{seed}"
            with open(new, "w") as file:
                file.write(f"{seed} " * 1000)
            os.rename(new, name)
        elif what == 1:
            os.rename(name, other)
        elif what == 2:
            os.unlink(name)
        elif what == 3:
            with open(name) as file:
                words = set(file.read().split())
            assert len(words) <= 1, words
        else:
            os.listdir(place)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in (11, 116):  # EAGAIN: others rename it all the time; ESTALE: it was replaced
            raise
"""


def test_processes_in_both_write_and_rename(pair):
    work = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, str(pair[number % 2]), str(number)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for one in work:
        assert one.communicate(timeout=120)[1] == ""
    # The kernel ends the use of a file that was replaced while it was open a little after the process.
    until = time.monotonic() + 20
    while hidden := [name for name in os.listdir(pair[0]) if name not in "abcd"]:
        assert time.monotonic() < until, hidden
        time.sleep(0.01)
    assert sorted(os.listdir(pair[0])) == sorted(os.listdir(pair[1]))
    for name in os.listdir(pair[0]):
        assert (pair[0] / name).read_bytes() == (pair[1] / name).read_bytes()
        assert len(set((pair[0] / name).read_text().split())) == 1


def test_exactly_one_makes_a_name(pair):
    code = (
        "import os, sys\n"
        "made = 0\n"
        "for number in range(100):\n"
        "    try:\n"
        "        os.close(os.open(f'{sys.argv[1]}/n{number}', os.O_CREAT | os.O_EXCL | os.O_WRONLY))\n"
        "        made += 1\n"
        "    except FileExistsError:\n"
        "        pass\n"
        "print(made)\n"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE, text=True)
        for place in pair
    ]
    assert sum(int(one.communicate(timeout=60)[0]) for one in both) == 100


def test_exchange_is_seen_whole(pair):
    one, other = pair
    (one / "a").write_text("a")
    (one / "b").write_text("b")
    rename(other / "a", other / "b", EXCHANGE)
    assert ((one / "a").read_text(), (one / "b").read_text()) == ("b", "a")
