"""Streams and arrays of parallel programs in an event loop."""

import asyncio
import os
import subprocess
import sys

import numpy as np
import pytest
import stepstore
from streams import write_stream

WRITER = """
import sys, adios2, numpy as np
io = adios2.Adios().declare_io("out")
io.set_engine("Plugin")
io.set_parameters({"PluginName": "Stepstore", "PluginLibrary": "stepstore_adios2", "Location": "./live"})
x = io.define_variable("x", np.zeros(4), [4], [0], [4])
engine = io.open("anything", adios2.bindings.Mode.Write)
for step, _ in enumerate(sys.stdin):
    engine.begin_step()
    engine.put(x, np.full(4, float(step)), adios2.bindings.Mode.Sync)
    engine.end_step()
engine.close()
"""


@pytest.fixture
def writer(tmp_path, monkeypatch):
    """Makes a step of ./live for each line it gets, and ends the stream at the end of its input."""
    if os.environ.get("STEPSTORE_TEST_PLUGIN") == "0":
        pytest.skip("built without the ADIOS2 plugin")
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "ADIOS2_PLUGIN_PATH": stepstore.plugin_path()}
    command = [sys.executable, "-c", WRITER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, text=True, bufsize=1) as process:
        yield process.stdin
        process.stdin.close()


def live():
    return stepstore.open_steps("./live", stream=True, open_timeout=60)


def test_following_lets_the_loop_go_on(writer):
    async def main():
        with live() as steps:
            ticks = []

            async def drive():
                """Each step is made while the other task waits for it."""
                for _ in range(3):
                    await asyncio.sleep(0.05)
                    ticks.append(len(seen))
                    writer.write("\n")
                    while len(seen) < len(ticks):
                        await asyncio.sleep(0.01)
                writer.close()

            seen = []
            driver = asyncio.create_task(drive())
            async for step in steps.afollow(timeout=60):
                seen.append((step, (await steps.aread("x")).mean()))
            await driver
            assert seen == [(0, 0.0), (1, 1.0), (2, 2.0)] and ticks == [0, 1, 2]

    asyncio.run(main())


@pytest.mark.parametrize("again", ["abegin_step", "begin_step"])
def test_a_step_that_began_after_the_wait_was_cancelled_is_not_lost(writer, monkeypatch, again):
    monkeypatch.setattr(stepstore.walk, "_INTERRUPT_SECONDS", 30.0)  # the thread waits on

    async def main():
        with live() as steps:
            waiting = asyncio.create_task(steps.abegin_step())
            await asyncio.sleep(0.1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            writer.write("\n")
            while not steps._own.get().unseen:
                await asyncio.sleep(0.01)
            begun = getattr(steps, again)(0)
            assert (await begun if again == "abegin_step" else begun) is stepstore.StepStatus.OK
            assert (await steps.aread("x")).mean() == steps.read("x").mean()
            steps.end_step()
            assert await steps.abegin_step(0) is stepstore.StepStatus.NOT_READY

    asyncio.run(main())


def test_time_outs_and_ends_are_those_of_the_other_calls(writer):
    async def main():
        with live() as steps:
            with pytest.raises(stepstore.Error, match=r"no new step within 0\.05 s") as caught:
                async for _ in steps.afollow(timeout=0.05):
                    pass
            assert caught.value.name == "DER_TIMEDOUT"
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(steps.abegin_step(), 0.05)
            writer.close()
            assert await steps.abegin_step(60) is stepstore.StepStatus.END_OF_STREAM
            assert [step async for step in steps.afollow()] == []

    asyncio.run(main())


def test_reads_in_any_order(tmp_path):
    write_stream(tmp_path)

    async def main():
        with stepstore.open_steps(tmp_path / "s") as steps:
            found = await asyncio.gather(*(steps.aread("field", step) for step in range(4)))
            assert [one[0, 0] for one in found] == [0.0, 100.0, 200.0, 300.0]
            box = await steps.aread("field", -1, start=(1, 2), count=(2, 3))
            assert np.array_equal(box, steps.read("field", -1, (1, 2), (2, 3)))
            assert np.array_equal(
                await steps.aread_block("grid/half", 1, 2), steps.read_block("grid/half", 1, 2)
            )
            with pytest.raises(stepstore.Error, match="no variable 'nothing'"):
                await steps.aread("nothing")

    asyncio.run(main())


def test_arrays_of_parallel_programs(tmp_path):
    async def main():
        with stepstore.open_arrays(tmp_path / "p", write=True) as arrays:
            await arrays.awrite("T", np.arange(12.0).reshape(3, 4), checksum=True, object_class="S1")
            await arrays.awrite("T", np.zeros((1, 4)), append=0)
            assert arrays.info("T").checksum and arrays.info("T").object_class == "S1"
            out = np.empty((1, 4))
            assert await arrays.aread("T", (2, 0), (1, 4), out) is out
            assert np.array_equal(out, [[8, 9, 10, 11]]) and (await arrays.aread("T")).shape == (4, 4)
            with pytest.raises(stepstore.Error, match="'U'") as caught:
                await arrays.aread("U")
            assert caught.value.name == "DER_NONEXIST"

    asyncio.run(main())
