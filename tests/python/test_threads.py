"""Calls that wait let other threads of Python run."""

from __future__ import annotations

import asyncio
import ctypes
import faulthandler
import subprocess
import sys
import threading
from pathlib import Path

import pytest

# Holds the locks of writers of all environments below a pool until a line comes.
HOLDER = """
import ctypes, pathlib, sys
lmdb = ctypes.CDLL("liblmdb.so.0")
held = []
for file in sorted(pathlib.Path(sys.argv[1]).rglob("data.mdb")):
    environment, transaction = ctypes.c_void_p(), ctypes.c_void_p()
    assert lmdb.mdb_env_create(ctypes.byref(environment)) == 0
    assert lmdb.mdb_env_set_maxdbs(environment, 64) == 0
    assert lmdb.mdb_env_set_mapsize(environment, ctypes.c_size_t(1 << 30)) == 0
    code = lmdb.mdb_env_open(environment, str(file.parent).encode(), 0, 0o644)
    assert code == 0, code
    code = lmdb.mdb_txn_begin(environment, None, 0, ctypes.byref(transaction))
    assert code == 0, code
    held.append((environment, transaction))
print(len(held), flush=True)
sys.stdin.readline()
for environment, transaction in held:
    lmdb.mdb_txn_abort(transaction)
"""


@pytest.fixture
def holder(pool, box):
    """holder(): from then on all writers wait; the result lets them go."""
    try:
        ctypes.CDLL("liblmdb.so.0")
    except OSError:
        pytest.skip("there is no liblmdb.so.0 to hold a lock with")
    held = []

    def hold():
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, Path(pool.location)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        held.append(process)
        assert int(process.stdout.readline()) >= 4
        return lambda: process.communicate("\n")

    yield hold
    for process in held:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


WRITES = {
    "put": lambda values, array, box: values.put("k", b"v"),
    "update": lambda values, array, box: values.update({"k": b"v", "l": b"w"}),
    "setdefault": lambda values, array, box: values.setdefault("new", b"v"),
    "put_if": lambda values, array, box: values.put_if("new", b"1", None),
    "pop": lambda values, array, box: values.pop("old"),
    "delete": lambda values, array, box: values.__delitem__("old"),
    "clear": lambda values, array, box: values.clear(),
    "write": lambda values, array, box: array.write(0, b"abc"),
    "assign": lambda values, array, box: array.__setitem__(slice(0, 9, 3), 1),
    "resize": lambda values, array, box: array.resize(5),
    "punch": lambda values, array, box: array.punch(0, 5),
    "destroy": lambda values, array, box: values.destroy(),
    "snapshot": lambda values, array, box: box.create_snapshot("s"),
    "allocate": lambda values, array, box: box.allocate_oids(1 << 20),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_waiting_call_lets_others_run(holder, box, name):
    values, array = box.key_value(1), box.create_array(2, size=10)
    values["old"] = b"1"
    faulthandler.dump_traceback_later(120, exit=True)  # a call that keeps the lock stops everything here
    try:
        let_go = holder()
        began, ended = threading.Event(), threading.Event()

        def work():
            began.set()
            WRITES[name](values, array, box)
            ended.set()

        thread = threading.Thread(target=work)
        thread.start()
        began.wait()
        assert not ended.wait(0.1), "the call did not wait: nothing was tested"
        let_go()
        thread.join()
        assert ended.is_set()
    finally:
        faulthandler.cancel_dump_traceback_later()


def test_the_event_loop_runs_while_a_call_waits(holder, box):
    values = box.key_value(1)

    async def main():
        let_go = holder()
        calls = [asyncio.ensure_future(call) for call in (values.aput("k", b"v"), values.aremove("old"))]
        await asyncio.sleep(0.1)
        assert not any(call.done() for call in calls)
        assert await values.aget("old") == b"1"  # there are at least two workers, and one of them waits
        let_go()
        await asyncio.gather(*calls)

    values["old"] = b"1"
    faulthandler.dump_traceback_later(120, exit=True)
    try:
        asyncio.run(main())
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert dict(values) == {"k": b"v"}
