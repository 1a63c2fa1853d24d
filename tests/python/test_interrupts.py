"""The end of a program, and Ctrl-C, while threads are inside the library."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import stepstore

# ---- daemon threads
# What threads do for ever while the program ends. Errors run code of Python within the library.
CALLS = {
    "put": "values.put('k', bytes(100))",
    "get": "values.get('k')",
    "large values": "values.put('large', bytes(1 << 20)); values.get('large')",
    "array": "array.write(0, bytes(4096)); array.read(0, 4096)",
    "errors": "fails(lambda: pool.open_container('missing'))",
    "check": "stepstore._core.pool_check(pool.location, True, False, print)",
    "await": "asyncio.run(values.aput('k', bytes(100)))",
}
DAEMONS = """
import asyncio, sys, threading, stepstore

def fails(call):
    try:
        call()
    except stepstore.Error:
        pass

pool = stepstore.Pool.connect(sys.argv[1])
box = pool.open_container("box")
values, array = box.key_value(1), box.open_array(2)
under_way = threading.Semaphore(0)

def work():
    while True:
        exec(sys.argv[2])
        under_way.release()

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
for _ in range(40):
    under_way.acquire()
"""


@pytest.mark.parametrize("name", CALLS)
def test_a_program_ends_while_daemon_threads_are_inside_the_library(pool, box, name):
    box.key_value(1)["k"] = b"v"
    box.create_array(2).write(0, bytes(4096))
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", DAEMONS, pool.location, CALLS[name]],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        if name == "await":  # threads of Python may end with errors of its own
            assert "nanobind" not in done.stderr, done.stderr
        else:
            assert done.stderr == ""


def test_only_one_file_lets_go_of_the_interpreters_lock():
    sources = Path(__file__).parents[2] / "bindings" / "python"
    users = [
        source.name
        for source in sources.iterdir()
        if source.stem != "interpreter"
        and source.suffix in (".cc", ".h")
        and any(name in source.read_text() for name in ("gil_scoped", "PyEval_", "PyGILState_Ensure"))
    ]
    assert not users, "unlocked() in interpreter.h does it, also when the interpreter ends"


# ---- Ctrl-C
WRITES = {
    "put": "values.put('k', b'v')",
    "update": "values.update({'k': b'v', 'l': b'w'})",
    "pop": "values.pop('old')",
    "clear": "values.clear()",
    "write": "array.write(0, b'abc')",
    "resize": "array.resize(5)",
    "snapshot": "box.create_snapshot('s')",
    "allocate": "box.allocate_oids(1 << 20)",
    "container": "pool.create_container('new')",
    "arrays": "arrays.write('a', numpy.zeros(1000))",
    "await": "asyncio.run(values.aput('k', b'v'))",  # the end waits for the call, until the next Ctrl-C
    "copy": "copy()",
}
WAITER = """
import asyncio, numpy, sys, stepstore
from stepstore.copying import containers, pools

pool = stepstore.Pool.connect(sys.argv[1])
box = pool.open_container("box")
values, array = box.key_value(1), box.open_array(2)
values["old"] = b"1"
arrays = stepstore.open_arrays(sys.argv[1] + "/arrays", write=True)

def copy():
    place = [containers.Place(sys.argv[1], name) for name in ("box", "copy")]
    pools.copy(*place, containers.Options(), containers.Report())

print("ready", flush=True)
sys.stdin.readline()
try:
    exec(sys.argv[2])
    print("done")
except KeyboardInterrupt:
    print("interrupted")
"""


def seize_turns(pool: Path, owner: int) -> None:
    """From now on the live process `owner` has the turn to write at all targets."""
    started = int(Path(f"/proc/{owner}/stat").read_text().rpartition(")")[2].split()[19])
    word = struct.pack("<Q", owner | (started & 0xFFFFFFFF) << 32)
    with (pool / "writers").open("r+b") as lines:
        for line in range(5):
            os.pwrite(lines.fileno(), word, 64 * line)


# The end of an object may write too. Ctrl-C ends its wait, and the program goes on.
ENDS = {
    "lease": "_core.Lease(box._handle, values.id, 'lease')",
    "writer": "stepstore.Writer(sys.argv[1] + '/box/stream')",
    "blobs": "_core.Blobs(box._handle, sys.argv[1], False)",
    "blob": "_core.Blobs(box._handle, sys.argv[1], False).writer(b'key')",
}
BEGUN = {
    "lease": "it.take()",
    "writer": "it._handle.begin_step()",
    "blobs": "it.write(b'large', bytes(1 << 20), False)",
    "blob": "it.write(bytes(1 << 20))",
}
ENDER = """
import os, sys, stepstore
from stepstore import _core

pool = stepstore.Pool.connect(sys.argv[1])
box = pool.open_container("box")
values = box.key_value(1)
it = eval(sys.argv[2])
exec(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
del it
print("went on", flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("name", ENDS)
def test_ctrl_c_ends_the_wait_of_an_object_that_ends(tmp_path, name):
    location = tmp_path / "p"
    stepstore.Pool.create(location, targets=4)
    with stepstore.Pool.connect(location) as pool:
        pool.create_container("box").close()
    ender = subprocess.Popen(
        [sys.executable, "-c", ENDER, location, ENDS[name], BEGUN[name]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stopped = subprocess.Popen(["sleep", "1000"])
    try:
        assert ender.stdout.readline() == "ready\n"
        seize_turns(location, stopped.pid)
        ender.stdin.write("\n")
        ender.stdin.flush()
        assert f"for 5 s: process {stopped.pid} " in ender.stderr.readline()
        while ender.poll() is None:  # it may have several things to do
            ender.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                ender.wait(timeout=1)
        said, errors = ender.communicate(timeout=100)
    finally:
        for process in (stopped, ender):
            process.kill()
            process.wait()
    assert said == "went on\n", errors
    assert "KeyboardInterrupt" in errors


@pytest.mark.parametrize("durability", ["process", "power"])
def test_ctrl_c_ends_a_call_that_waits_for_a_stopped_writer(tmp_path, durability):
    location = tmp_path / "p"
    stepstore.Pool.create(location, targets=4, durability=durability)
    with stepstore.Pool.connect(location) as pool, pool.create_container("box") as box:
        box.create_array(2, size=10)
    waiters = {
        name: subprocess.Popen(
            [sys.executable, "-c", WAITER, location, call],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, call in WRITES.items()
    }
    stopped = subprocess.Popen(["sleep", "1000"])
    try:
        for waiter in waiters.values():
            assert waiter.stdout.readline() == "ready\n"
        seize_turns(location, stopped.pid)
        for waiter in waiters.values():
            waiter.stdin.write("\n")
            waiter.stdin.flush()
        for waiter in waiters.values():
            assert f"for 5 s: process {stopped.pid} " in waiter.stderr.readline()  # it waits, and says so
            waiter.send_signal(signal.SIGINT)
        assert waiters["await"].stdout.readline() == "interrupted\n"
        while waiters["await"].poll() is None:  # the next Ctrl-C may come before its end waits
            waiters["await"].send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                waiters["await"].wait(timeout=1)
        said = {name: waiter.communicate(timeout=100) for name, waiter in waiters.items()}
    finally:
        for process in (stopped, *waiters.values()):
            process.kill()
            process.wait()
    assert said.pop("await")[0] == ""
    assert said == dict.fromkeys(said, ("interrupted\n", ""))
    with stepstore.Pool.connect(location) as pool, pool.open_container("box") as box:
        assert dict(box.key_value(1)) == {"old": b"1"}
