"""Ctrl-C while a call waits for a cluster that does not answer.

The cluster is the test's own. Its OSD is stopped by a signal, as a dead machine would be: nobody answers, and
nobody refuses. librados alone would wait for a minute.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import stepstore

CEPH = Path(__file__).parents[1] / "support" / "ceph.py"
LOCATION = "rados://test/interrupts"
# Seconds from Ctrl-C to the exception, and to the end of the program. Mostly it is 0.01 and 1, but the
# machine may be busy. librados' own time-out is ANSWER.
LATEST = 5.0
END = 20.0
ANSWER = 120


class Cluster:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def tell(self, command: str, *arguments: str) -> None:
        subprocess.run([CEPH, command, self.directory, *arguments], check=True, stdout=subprocess.DEVNULL)

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        self.tell("osd", "pause", "all")
        try:
            yield
        finally:
            self.tell("osd", "resume", "all")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("ceph"))
    made.tell("start", "--pool", "test", "--owner", str(os.getpid()))
    # What has piled up while the cluster was silent takes its time on a busy machine.
    with (made.directory / "ceph.conf").open("a") as configuration:
        configuration.write(f"\n[client]\nrados_osd_op_timeout = {ANSWER}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CEPH_CONF", str(made.directory / "ceph.conf"))
        yield made
    made.tell("stop")


@pytest.fixture
def pool(cluster):
    location = f"{LOCATION}-{random.randrange(1 << 40)}"
    stepstore.Pool.create(location, targets=2)
    with stepstore.Pool.connect(location) as made, made.create_container("box") as box:
        values = box.key_value(1)
        values["old"] = b"1"
        values["large"] = LARGE
        box.create_array(2, size=10)
    return location


LARGE = bytes(range(256)) * (1 << 14)  # 4 MiB
# What a program does while the cluster is silent. Each has connected before, and used what it uses.
READS = {
    "get": "values['old']",
    "get_large": "values['large']",
    "get_nothing": "values.get('none')",
    "list": "list(values)",
    "read": "array.read(0, 10)",
    "open_container": "pool.open_container('box')",
    "containers": "pool.containers()",
    "a_child": "in_a_child()",
    "check": "check()",
}
WRITES = {
    "put": "values.put('k', b'v')",
    "put_large": "values.put('k', bytes(1 << 27))",  # more than librados lets be under way
    "update": "values.update({f'k{n}': bytes(100_000) for n in range(20)})",
    "pop": "values.pop('old')",
    "write": "array.write(0, bytes(1 << 23))",
    "snapshot": "box.create_snapshot('s')",
    "container": "pool.create_container('new')",
    "await": "asyncio.run(values.aput('k', b'v'))",
    "blob": "stepstore._core.Blobs(box._handle, sys.argv[1], True).write(b'b', bytes(1 << 20), False)",
}
# The end of the program waits too, until the next Ctrl-C: for a call in flight; for the cluster, of which the
# program does not know yet that it does not answer.
WAIT_AT_THE_END = {"await": 4, "a_child": 4}
OPENS = {
    "connect": "stepstore.Pool.connect(sys.argv[1])",
    "create": "stepstore.Pool.create(sys.argv[1] + 'x')",
    "destroy": "stepstore.Pool.destroy(sys.argv[1])",
}
HEAD = """
import asyncio, os, sys, time, stepstore

def check():
    stepstore._core.pool_check(sys.argv[1], False, False, print)

def in_a_child():
    child = os.fork()
    if child == 0:
        try:
            values["old"]
        except KeyboardInterrupt:
            os._exit(0)
        os._exit(1)
    while True:
        try:
            assert os.waitpid(child, 0)[1] == 0
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            os.kill(child, 2)
            assert os.waitpid(child, 0)[1] == 0
            raise
"""
USE = """
pool = stepstore.Pool.connect(sys.argv[1])
box = pool.open_container("box")
values, array = box.key_value(1), box.open_array(2)
values.get("old")
values["warm"] = bytes(1 << 20)
array.read(0, 1)
"""
WAIT = """
call = compile(sys.argv[2], "call", "exec")  # of a text Python would end by the signal, though it is caught
print("ready", flush=True)
sys.stdin.readline()
try:
    exec(call)
    print("done")
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
"""


def start(head: str, location: str, call: str) -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-c", head, location, call],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout.readline() == "ready\n", program.communicate()[1]
    return program


def go(program: subprocess.Popen[str]) -> None:
    program.stdin.write("\n")
    program.stdin.flush()


def expect_interrupted(program: subprocess.Popen[str], what: str) -> None:
    begin = time.monotonic()
    program.send_signal(signal.SIGINT)
    said = program.stdout.readline()
    assert said.startswith("interrupted "), (what, said, program.communicate())
    assert float(said.split()[1]) - begin < LATEST, (what, "took long", float(said.split()[1]) - begin)
    if what in WAIT_AT_THE_END:
        for _ in range(WAIT_AT_THE_END[what]):
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(timeout=0.5)
                break
            program.send_signal(signal.SIGINT)
    said, errors = program.communicate(timeout=200)
    ended = time.monotonic() - begin
    assert said == "" and ended < END, (what, said, errors, ended)
    assert errors == "" or what == "await", (what, errors)
    killed = -signal.SIGINT if what in WAIT_AT_THE_END else 0  # Python no longer hears it then
    assert program.returncode in (0, killed), (what, program.returncode)


def interrupt(cluster: Cluster, program: subprocess.Popen[str], what: str) -> None:
    """While the cluster does not answer."""
    try:
        with cluster.silent():
            go(program)
            time.sleep(0.7)
            assert program.poll() is None
            expect_interrupted(program, what)
    finally:
        program.kill()
        program.wait()


def expect_whole(location: str) -> None:
    found = []
    stepstore._core.pool_check(location, False, False, found.append)
    # What a process that died lately was appending is not damage, and not yet to be reclaimed.
    assert all(one["severity"] == "info" for one in found), found


@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_ctrl_c_ends_a_call_that_waits_for_the_cluster(cluster, pool, name):
    program = start(HEAD + USE + WAIT, pool, (READS | WRITES)[name])
    interrupt(cluster, program, name)
    with stepstore.Pool.connect(pool) as again, again.open_container("box") as box:
        values = box.key_value(1)
        if name != "pop":
            assert values["old"] == b"1"
        assert values["large"] == LARGE
        values["k"] = bytes(1 << 20)
        assert values["k"] == bytes(1 << 20)
        if name == "snapshot":  # the mark of one that got no answer goes with the next one
            box.create_snapshot("next")
            box.destroy_snapshot("next")
    expect_whole(pool)


@pytest.mark.parametrize("name", OPENS)
@pytest.mark.parametrize("connected", [False, True])
def test_ctrl_c_ends_an_open_that_waits_for_the_cluster(cluster, pool, name, connected):
    before = "stepstore.Pool.connect(sys.argv[1]).close()" if connected else ""
    program = start(HEAD + before + WAIT, pool, OPENS[name])
    interrupt(cluster, program, name)
    time.sleep(1)
    if name == "create":  # what was in doubt is whole, or can be made now
        if not is_there(pool + "x"):
            stepstore.Pool.create(pool + "x")
        expect_whole(pool + "x")
    if name != "destroy":
        expect_whole(pool)
    elif is_there(pool):
        stepstore.Pool.destroy(pool)


def is_there(location: str) -> bool:
    try:
        stepstore.Pool.connect(location).close()
    except stepstore.Error as error:
        assert error.code == stepstore.errors.DER_NONEXIST
        return False
    return True


# ---- many calls, which are interrupted one after the other
STORM = """
import random, resource, signal
signal.signal(signal.SIGALRM, signal.default_int_handler)
random.seed(1)
SIZES = [16, 300_000, 5_000_000]  # in the record, in an extent of the index, in extents of their own
tried, acknowledged, ended = {}, {}, 0

def numbered(number, size):
    return number.to_bytes(8, "little") * (size // 8)

def interrupted(call, seconds):
    global ended
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            return call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:  # also where it comes as the alarm is put off
        ended += 1
        return None

def put(number, seconds):
    key = f"k{random.randrange(7)}"
    tried[key] = number
    def call():
        values.put(key, numbered(number, random.choice(SIZES)))
        acknowledged[key] = number
    interrupted(call, seconds)

def memory():
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1]) * 4096
"""
SILENT_STORM = """
warm = [lambda n=n: values.put(f"w{n % 3}", numbered(n, SIZES[n % 3])) for n in range(30)]
for call in warm:
    call()
print("ready", flush=True)
sys.stdin.readline()
calls = [
    lambda: values.get("old"), lambda: values.get("large"), lambda: list(values),
    lambda: array.write(0, bytes(10)), lambda: array.read(0, 10), lambda: box.create_snapshot("s"),
    lambda: stepstore.Pool.connect(sys.argv[1]).open_container("box"), lambda: pool.containers(),
]
for number in range(1, 241):
    if number == 81:
        before, ended = memory(), 0
    if number % 2:
        put(number, 0.01)
    else:
        interrupted(calls[number // 2 % len(calls)], 0.01)
print("interrupted", ended, memory() - before, flush=True)
sys.stdin.readline()
"""
CHANGING_STORM = """
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + 25
number = 0
while time.monotonic() < end:
    number += 1
    put(number, random.uniform(0.001, 0.3))
print("interrupted", ended, len(acknowledged), flush=True)
sys.stdin.readline()
"""
VERIFY = """
for key, last in tried.items():
    got = values.get(key)
    number = int.from_bytes(got[:8], "little") if got is not None else 0
    assert got is None or got == numbered(number, len(got)), (key, "is torn")
    assert acknowledged.get(key, 0) <= number <= last, (key, acknowledged.get(key), number, last)
assert values["old"] == b"1" and len(values["large"]) == 1 << 22
for size in SIZES:  # the same handles go on
    values.put("next", numbered(1, size))
    assert values.get("next") == numbered(1, size)
array.write(0, b"abc")
assert bytes(array.read(0, 3)) == b"abc"
box.create_snapshot("t")
box.destroy_snapshot("t")  # and with it the marks of those that got no answer
print("whole", flush=True)
"""


def expect_whole_and_nothing_left(location: str) -> None:
    """What was in doubt and not carried out is given back when others see that its process is dead."""
    time.sleep(12)
    with stepstore.Pool.connect(location) as pool, pool.open_container("box") as box:
        box.key_value(1)["k"] = b"next"
    found = []
    told = stepstore._core.pool_check(location, False, False, found.append)
    assert told["reclaimable_bytes"] == 0 and not found, (told, found)


def test_interrupted_calls_take_no_memory_and_leave_nothing(cluster, pool):
    program = start(HEAD + USE + STORM + SILENT_STORM + VERIFY, pool, "")
    try:
        with cluster.silent():
            go(program)
            said = program.stdout.readline().split()
        assert said[:1] == ["interrupted"], (program.communicate(), program.returncode)
        assert int(said[1]) == 160  # nothing was acknowledged
        assert int(said[2]) < 8 << 20, said  # 80 large values are 400 MB
        go(program)
        assert program.stdout.readline() == "whole\n", program.communicate()
        assert program.wait(timeout=100) == 0
    finally:
        program.kill()
        program.wait()
    expect_whole_and_nothing_left(pool)


def test_what_was_acknowledged_between_interrupted_calls_is_there(cluster, pool):
    program = start(HEAD + USE + STORM + CHANGING_STORM + VERIFY, pool, "")
    try:
        go(program)
        for _ in range(30):
            time.sleep(random.uniform(0.1, 0.5))
            with cluster.silent():
                time.sleep(random.uniform(0.1, 0.4))
        said = program.stdout.readline().split()
        assert said[:1] == ["interrupted"], (program.communicate(), program.returncode)
        assert int(said[1]) > 10 and int(said[2]) > 3, said
        go(program)
        assert program.stdout.readline() == "whole\n", program.communicate()
        assert program.wait(timeout=100) == 0
    finally:
        program.kill()
        program.wait()
    expect_whole_and_nothing_left(pool)
