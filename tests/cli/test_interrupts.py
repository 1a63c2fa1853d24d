"""Ctrl-C on commands: one line that says what is left, and nothing left behind without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import stepstore
from stepstore.copying.mark import unfinished

MIB = 1 << 20


def begun(cli, *arguments):
    """A command as a terminal's foreground job has it: a group of its own, which Ctrl-C reaches."""
    return subprocess.Popen(
        [sys.executable, "-m", "stepstore", *map(str, arguments)],
        cwd=cli.directory,
        env=cli.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ctrl_c_when(running, is_time):
    while running.poll() is None and not is_time():
        time.sleep(0.001)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 130, (running.returncode, out, err)
    return [line for line in err.splitlines() if line.strip()]


@pytest.fixture
def large(cli):
    where = str(cli.directory / "big")
    stepstore.Pool.create(where, targets=4)
    with stepstore.Pool.connect(where) as pool, pool.create_container("box") as box:
        for number in range(1, 5):
            with box.create_array(number, chunk_size=MIB) as array:
                for piece in range(4):
                    array.write(16 * MIB * piece, np.random.default_rng(piece).bytes(16 * MIB))
    return where


def is_begun(target, container):
    try:
        with stepstore.Pool.connect(target, read_only=True) as pool:
            with pool.open_container(container, read_only=True) as box:
                return bool(unfinished(box))
    except stepstore.Error:
        return False


def test_copy_says_what_is_there_and_how_to_go_on(cli, large):
    running = begun(cli, "copy", "big", "q")
    lines = ctrl_c_when(running, lambda: is_begun(cli.directory / "q", "box"))
    assert len(lines) == 1 and lines[0].startswith("error: interrupted: "), lines
    assert "q is not whole yet: run the same command again" in lines[0]
    assert "unfinished copy" in cli("ls", "q/box").err
    done = cli("copy", "big", "q", "--json").json
    assert done["resumed"] is True and done["verified"] is True


def test_a_program_that_is_run_ends_with_its_caller(cli):
    """With all that it has started, also what does not hear of Ctrl-C."""
    deaf = (
        "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(1, flush=True); "
        "time.sleep(99)"
    )
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {deaf!r}])"
    outer = (
        "import os, sys\n"
        "from stepstore.processes import run_program\n"
        f"run_program([sys.executable, '-c', {inner!r}])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", outer], env=cli.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdout.readline() == b"1\n"
        running.send_signal(signal.SIGINT)
        assert running.stdout.read() == b""  # nobody has it open any more
    assert running.returncode != 0


@pytest.mark.skipif(os.environ.get("STEPSTORE_TEST_BENCH") != "1", reason="needs the benchmarks' programs")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("name", ["store", "arrays", "fieldstore"])
def test_a_benchmark_that_is_ended_leaves_nothing(cli, name, how):
    place = cli.directory / "place"
    place.mkdir()
    running = begun(cli, "bench", name, "--directory", place)

    def made():
        return any(place.glob("stepstore-bench-*/**/writers"))  # a process writes

    if how == signal.SIGINT:
        lines = ctrl_c_when(running, made)
        assert lines[-1].endswith("error: interrupted") and len(lines) <= 2, lines  # after its progress
    else:
        while running.poll() is None and not made():
            time.sleep(0.001)
        (program,) = children(running.pid)
        os.killpg(program, how)
        running.communicate(timeout=120)
        assert running.returncode == 1
    until_gone(place)


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def until_gone(place):
    """The process that removes the directory goes on for a moment after the others."""
    end = time.monotonic() + 60
    while any(place.iterdir()):
        assert time.monotonic() < end, list(place.rglob("*"))[:20]
        time.sleep(0.01)


def test_any_command_says_that_it_was_interrupted(cli):
    program = "import os, signal; os.kill(os.getppid(), signal.SIGINT); import time; time.sleep(60)"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, subprocess; from stepstore import cli; from stepstore.cli import browse\n"
            f"cli.app.command('wait')(lambda: subprocess.run([sys.executable, '-c', {program!r}]))\n"
            "sys.argv[1:] = ['wait']; cli.main()",
        ],
        env=cli.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 130 and done.stderr.strip() == "error: interrupted", done.stderr
