"""Awaitable reads and writes."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import stepstore


def test_values(box):
    async def main():
        values = box.key_value(1)
        await values.aput("a", b"1")
        await values.aput(b"large", bytes(range(256)) * 400)
        await values.aput("empty", "")
        assert await values.aget("a") == b"1" and await values.aget("empty") == b""
        assert await values.aget("large") == bytes(range(256)) * 400
        assert await values.aget("absent") is None and await values.aget("absent", b"d") == b"d"
        assert await values.asize("large") == 102_400 and await values.asize("empty") == 0
        assert await values.asize("absent") is None
        room = bytearray(3)
        assert await values.aread_into("a", room) == 1 and room == b"1\0\0"
        assert await values.aread_into("large", room) == 102_400 and room == b"1\0\0"
        assert await values.aread_into("absent", room) is None
        assert sorted([key async for page in values.apages() for key in page]) == [b"a", b"empty", b"large"]
        assert await values.aremove("a", condition="must_exist") is True
        assert await values.aremove("a", condition="must_exist") is False
        with pytest.raises(stepstore.Error, match="'empty'") as caught:
            await values.aput("empty", b"2", condition="must_not_exist")
        assert caught.value.name == "DER_EXIST"

    asyncio.run(main())


def test_arrays(box):
    async def main():
        array = box.create_array(1, cell_size=8)
        data = np.arange(300_000.0)
        await array.awrite(10, data)
        await array.awrite(0, b"")
        assert await array.aread(5, 10) == bytes(40) + data[:5].tobytes()
        assert np.array_equal(await array.aread(10, dtype="f8"), data)
        assert np.array_equal(await array.aread(300_000, 100, dtype="f8"), data[-10:])
        assert await array.aread(300_005, 100) == data[-5:].tobytes()
        assert await array.aread(400_000, 100) == b"" and await array.aread(400_000) == b""
        assert len(await array.aread(0, 1 << 60)) == 8 * 300_010
        room = np.full(6, -1.0)
        assert await array.aread(300_007, out=room) is room and np.array_equal(room, [*data[-3:], 0, 0, 0])
        assert await array.aread_into(300_007, room) == 3
        for call in (lambda: array.awrite(0, b"123"), lambda: array.aread_into(0, bytearray(9))):
            with pytest.raises(stepstore.Error, match="whole number of cells"):
                await call()

    asyncio.run(main())


def test_many_in_flight(box):
    async def main():
        values, array = box.key_value(1), box.create_array(2)
        await asyncio.gather(*(values.aput(f"{n}", f"{n}" * (n % 50)) for n in range(1000)))
        got = await asyncio.gather(*(values.aget(f"{n}") for n in range(1100)))
        assert got == [(f"{n}" * (n % 50)).encode() for n in range(1000)] + [None] * 100
        blocks = [np.full(100_000, n, dtype="u1") for n in range(64)]
        await asyncio.gather(*(array.awrite(n * 100_000, blocks[n]) for n in range(64)))
        back = await asyncio.gather(*(array.aread(n * 100_000, 100_000, dtype="u1") for n in range(64)))
        assert all(np.array_equal(one, other) for one, other in zip(blocks, back, strict=True))

    asyncio.run(main())


def test_errors_stay_with_their_calls(box):
    async def main():
        values = box.key_value(1)
        await values.aput("there", b"")
        calls = [
            values.aput("there" if n % 2 else f"{n}", b"x", condition="must_not_exist") for n in range(100)
        ]
        got = await asyncio.gather(*calls, return_exceptions=True)
        assert all((error is None) == (n % 2 == 0) for n, error in enumerate(got))
        assert all("'there'" in str(error) and error.name == "DER_EXIST" for error in got[1::2])

    asyncio.run(main())


def test_the_loop_goes_on(box):
    """While a call is in flight, and whatever the memory of the caller is."""

    async def main():
        array = box.create_array(1)
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        for _ in range(20):
            await array.awrite(0, bytes(4 << 20))
        ticking.cancel()
        assert ticks >= 20

    asyncio.run(main())


def test_a_cancelled_call_keeps_its_memory(box):
    """Until it has completed: a write is whole or not there, and a read fills memory that is still there."""

    async def main():
        values, array = box.key_value(1), box.create_array(2)
        array.write(0, bytes([7]) * (4 << 20))
        for n in range(40):
            tasks = [
                asyncio.create_task(values.aput(f"{n}", bytes([n]) * (1 << 20))),
                asyncio.create_task(array.aread(0, 4 << 20, dtype="u1")),
                asyncio.create_task(array.aread(0, 4 << 20)),
                asyncio.create_task(array.aread_into(0, np.zeros(4 << 20, dtype="u1"))),
            ]
            for _ in range(n % 3):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(
                isinstance(one, asyncio.CancelledError) or not isinstance(one, Exception) for one in ended
            )
            gc.collect()
        for n in range(40):
            assert await values.aget(f"{n}") in (None, bytes([n]) * (1 << 20))

    asyncio.run(main())
    assert {len(value) for value in box.key_value(1).values()} <= {1 << 20}


def test_timeouts(box):
    async def main():
        array = box.create_array(1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(array.awrite(0, bytes(64 << 20)), 0)
        await array.awrite(0, b"after")
        assert await array.aread(0, 5) == b"after"

    asyncio.run(main())


def test_several_loops(box):
    values = box.key_value(1)

    async def main(number):
        for n in range(100):
            await values.aput(f"{number}.{n}", f"{n}")
            assert await values.aget(f"{number}.{n}") == f"{n}".encode()

    threads = [threading.Thread(target=asyncio.run, args=(main(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4, 10):  # one after the other
        asyncio.run(main(number))
    assert len(values) == 1000
    assert len(values._waits.queues._of) <= 2  # those of loops that have ended are let go


def test_a_pool_that_is_closed_while_calls_are_in_flight(tmp_path):
    stepstore.Pool.create(tmp_path / "q")

    async def main():
        pool = stepstore.Pool.connect(tmp_path / "q")
        container = pool.create_container("c")
        values = container.key_value(1)
        calls = [asyncio.create_task(values.aput(f"{n}", bytes(1 << 20))) for n in range(20)]
        await asyncio.sleep(0)
        pool.close()
        await asyncio.gather(*calls)
        assert len(values) == 20
        await values.aput("later", b"works while the object is open")
        values.close()
        with pytest.raises(stepstore.Error, match="closed") as caught:
            await values.aget("later")
        assert caught.value.name == "DER_NO_HDL"
        pool.close()
        container.close()
        await asyncio.sleep(0)
        stepstore.Pool.destroy(tmp_path / "q")

    asyncio.run(main())


def test_wrong_arguments_are_told_at_the_await(box):
    async def main():
        values, array = box.key_value(1), box.create_array(2)
        for call, match in (
            (lambda: values.aput("k", 5), "not int"),
            (lambda: values.aget(5), "not int"),
            (lambda: array.awrite(0, [1]), "not list"),
            (lambda: array.aread_into(0, 5), "not int"),
        ):
            with pytest.raises(TypeError, match=match):
                await call()
        with pytest.raises(stepstore.Error, match="not contiguous"):
            await array.aread(0, out=np.zeros((4, 4)).T[::2])
        with pytest.raises(stepstore.Error, match="sometimes"):
            await values.aput("k", b"", condition="sometimes")

    asyncio.run(main())


def test_a_program_may_end_with_calls_in_flight(tmp_path):
    """Nothing crashes, and each value is whole or not there. The same in the child of a fork."""
    program = """
import asyncio, os, sys
import stepstore
stepstore.Pool.create("./p")
pool = stepstore.Pool.connect("./p")
values = pool.create_container("c").key_value(1)
async def main():
    await values.aput("first", b"1")
    calls = [asyncio.ensure_future(values.aput(f"{n}", bytes(1 << 20))) for n in range(10)]
    await asyncio.sleep(0)
    if "exit" in sys.argv: sys.exit(7)
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        async def again():
            with stepstore.Pool.connect("./p") as pool, pool.open_container("c") as c:
                await c.key_value(1).aput("child", b"1")
                assert await c.key_value(1).aget("child") == b"1"
        asyncio.run(again())
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
sys.exit(7)
"""
    for how in ("end", "exit", "fork"):
        place = tmp_path / how
        place.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", program, how],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 7, (how, done.stderr)
        with stepstore.Pool.connect(place / "p") as pool, pool.open_container("c") as container:
            values = dict(container.key_value(1))
        assert values.pop("first") == b"1" and (how != "fork" or values.pop("child") == b"1")
        assert set(map(len, values.values())) <= {1 << 20}


def test_descriptors_are_given_back(tmp_path):
    def open_ones():
        return len(os.listdir("/proc/self/fd"))

    stepstore.Pool.create(tmp_path / "q")

    async def once():
        with stepstore.Pool.connect(tmp_path / "q") as pool, pool.open_or_create_container("c") as container:
            await container.key_value(1).aput("k", b"v")

    async def forgotten():
        pool = stepstore.Pool.connect(tmp_path / "q")
        await pool.open_or_create_container("c").key_value(1).aput("k", b"v")

    async def main(opens):
        for _ in range(20):
            await opens()
            gc.collect()
            await asyncio.sleep(0)

    asyncio.run(main(once))
    before = open_ones()
    for opens in (once, forgotten):
        asyncio.run(main(opens))
        gc.collect()
        assert open_ones() <= before, opens.__name__
