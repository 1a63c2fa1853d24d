"""How a mount ends: unmounted, by a signal, killed, while it is in use."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

from conftest import errno_of, processes_of, stepstore, wait_until

WRITER = """
import os, sys
place = sys.argv[1]
number = 0
while True:
    file = os.open(f"{place}/f{number}", os.O_CREAT | os.O_WRONLY)
    os.write(file, b"%d" % number * 1000)
    os.fsync(file)
    print(number, flush=True)  # what is said is to be there
    os.rename(f"{place}/f{number}", f"{place}/done{number}")
    number += 1
"""


def test_what_was_written_is_there_after_a_kill(mounts):
    """Twice, in one container."""
    for turn in range(2):
        place = mounts.new()
        (place / f"turn{turn}").mkdir()
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(place / f"turn{turn}")],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        time.sleep(0.5 + 0.1 * turn)
        mounts.kill(place)
        said = [int(line) for line in writer.communicate(timeout=60)[0].split()]
        assert len(said) > 3 and writer.returncode != 0
        refused = stepstore("mount", mounts.location, place, code=1)
        assert "is a mount whose process has died: 'stepstore unmount DIR'" in refused.stderr
        stepstore("unmount", place)
        stepstore("mount", mounts.location, place)
        for number in said:
            texts = [
                (place / f"turn{turn}" / f"{name}{number}").read_bytes()
                for name in ("f", "done")
                if (place / f"turn{turn}" / f"{name}{number}").exists()
            ]
            assert texts and set(texts) == {b"%d" % number * 1000}
            if number != said[-1]:
                assert (place / f"turn{turn}" / f"done{number}").exists()
        # The last rename may be half done: the next one of either name finishes it.
        for name in os.listdir(place / f"turn{turn}"):
            errno_of(os.unlink, place / f"turn{turn}" / name)
        assert os.listdir(place / f"turn{turn}") == []
    stepstore("pool", "check", mounts.pool)  # finds no damage


def test_a_signal_unmounts(mounts):
    for number in (signal.SIGTERM, signal.SIGINT):
        place = mounts.new()
        (place / f"f{number}").write_text("kept")
        os.kill(mounts.process_of(place), number)
        wait_until(lambda place=place: not os.path.ismount(place))
        wait_until(lambda: not processes_of(mounts.pool))
    assert set(os.listdir(mounts.new())) == {f"f{int(signal.SIGINT)}", f"f{int(signal.SIGTERM)}"}


def test_unmount_while_it_is_busy(mounts):
    place = mounts.new()
    with open(place / "f", "w", buffering=1) as file:
        refused = stepstore("unmount", place, code=1)
        assert "cannot be unmounted: a program has a file or its working directory there" in refused.stderr
        file.write("still\n")
        stepstore("unmount", place, "--lazy")
        assert os.listdir(place) == []
        file.write("written\n")
    wait_until(lambda: not processes_of(mounts.pool))
    assert (mounts.new() / "f").read_text() == "still\nwritten\n"


def test_unmount_ends_the_process(mounts):
    place = mounts.new()
    assert len(processes_of(mounts.pool)) == 1
    stepstore("unmount", place)
    wait_until(lambda: not processes_of(mounts.pool))
    assert "no container is mounted there" in stepstore("unmount", place, code=3).stderr


def test_in_the_foreground(mounts):
    place = mounts.directory / "here"
    place.mkdir()
    mounts.places.append(place)
    running = subprocess.Popen(
        [sys.executable, "-m", "stepstore", "mount", mounts.location, place, "--foreground"],
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: os.path.ismount(place))
    (place / "f").write_text("x")
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=30)[1] == ""
    assert running.returncode == 0 and not os.path.ismount(place)
    assert errno_of(os.stat, place / "f") == errno.ENOENT
