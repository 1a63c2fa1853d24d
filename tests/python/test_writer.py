"""Streams of steps that Python writes: what goes in comes out, for Python and for ADIOS2, or is refused."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepstore

NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "g", "c8", "c16"]
REFUSED = ["?", "f2", "G", "M8[s]", "m8[ns]", "S3", "U3", "O"]


@pytest.fixture
def location(tmp_path: Path) -> str:
    ceph_pool = os.environ.get("STEPSTORE_TEST_RADOS")
    return (
        f"rados://{ceph_pool}/{tmp_path.name}-{os.getpid()}/box/run"
        if ceph_pool
        else str(tmp_path / "p/box/run")
    )


def values_of(dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape))
    return (np.arange(count) - (0 if dtype.kind == "u" else count // 2)).astype(dtype).reshape(shape)


def test_steps_beside_the_computation(location):
    values = np.arange(300_000.0)
    with stepstore.Writer(location, AsyncWrite="on", Profile="on") as writer:
        for number in range(4):
            with writer.step() as step:
                step["T"] = values + number
                step["again"] = values  # copied: the array is the program's again
            assert len(writer) == number + 1
            writer.set_attribute("last", number)
            values[:] = -1
            values[:] = np.arange(values.size)
    with stepstore.open_steps(location) as steps:
        assert len(steps) == 4 and steps.ended
        for number in range(4):
            np.testing.assert_array_equal(steps.read("T", number), values + number)
            np.testing.assert_array_equal(steps.read("again", number), values)
        assert steps.profile()["ranks"][0]["hidden_seconds"] >= 0
    with pytest.raises(stepstore.Error, match="AsyncWrite='soon'.*guided"):
        stepstore.Writer(location, AsyncWrite="soon")


def test_arrays_values_texts_and_attributes(location):
    with stepstore.Writer(location) as writer:
        writer.set_attribute("title", "a rod that cools down")
        writer.set_attribute("units", "K", variable="T")
        writer.set_attribute("origin", [0.0, 1.5])
        writer.set_attribute("names", ["x", "y"])
        writer.set_attribute("one", [7])
        for number in range(3):
            with writer.step() as step:
                assert step.number == number
                step["T"] = np.arange(12.0).reshape(3, 4) + number
                step["time"] = 0.5 * number
                step["count"] = 3
                step["note"] = f"step {number}: \u00e4"
        assert len(writer) == 3
    assert writer.closed
    with stepstore.open_steps(location) as steps:
        assert steps.ended and len(steps) == 3
        np.testing.assert_array_equal(steps.read("T", 1), np.arange(12.0).reshape(3, 4) + 1)
        np.testing.assert_array_equal(steps["T"], steps.read("T", -1))
        assert "T" in steps and "U" not in steps and 1 not in steps
        assert steps["time"] == 1.0 and steps["count"] == 3 and steps["note"] == "step 2: \u00e4"
        found = {one.name: one.value for one in steps.attributes().values()}
        assert found["title"] == "a rod that cools down" and found["T/units"] == "K"
        assert found["origin"].tolist() == [0.0, 1.5] and found["names"] == ["x", "y"]
        assert found["one"].tolist() == [7]
        with pytest.raises(TypeError):
            iter(steps)


@pytest.mark.parametrize("name", NUMBERS)
def test_every_type_order_and_layout(location, name):
    dtype = np.dtype(name)
    orders = (
        [dtype]
        if dtype.kind in "gG" or dtype.itemsize == 16 and dtype.kind == "f"
        else [dtype, dtype.newbyteorder(">")]
    )
    layouts: dict[str, Callable[[Any], Any]] = {
        "plain": lambda one: one,
        "fortran": np.asfortranarray,
        "strided": lambda one: np.repeat(one, 2, axis=-1)[..., ::2],
        "backwards": lambda one: np.ascontiguousarray(one[::-1])[::-1],
        "list": lambda one: one.tolist() if one.dtype.kind in "f" and one.itemsize == 8 else one,
    }
    shapes = [(1,), (7,), (3, 4), (2, 3, 4), (0,), (3, 0)]
    given = {}
    with stepstore.Writer(location) as writer, writer.step() as step:
        for order, (layout, turned), shape in itertools.product(orders, layouts.items(), shapes):
            key = f"{order.byteorder}{layout}{shape}"
            given[key] = values_of(dtype, shape)
            step[key] = turned(given[key].astype(order))
            step[f"value {key}"] = (
                given[key].astype(order).reshape(-1)[0] if given[key].size else dtype.type(1)
            )
    with stepstore.open_steps(location) as steps:
        for key, expected in given.items():
            found = steps[key]
            assert found.dtype == dtype or "list" in key
            np.testing.assert_array_equal(found, expected)
            assert steps[f"value {key}"] == (expected.reshape(-1)[0] if expected.size else 1)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_stored_is_refused_by_name(location, name):
    with stepstore.Writer(location) as writer, writer.step() as step:
        with pytest.raises(stepstore.Error, match="'x'") as refused:
            step["x"] = np.zeros(3, name)
        assert refused.value.name == "DER_INVAL"
        with pytest.raises(stepstore.Error):
            step["y"] = np.ma.masked_array([1, 2], [True, False])
        step["z"] = [1, 2]
    with stepstore.open_steps(location) as steps:
        assert set(steps.variables()) == {"z"}


def test_structs(location):
    dtype = np.dtype([("id", "<i8"), ("x", "<f4", (3,)), ("tag", "S1")], align=True)
    given = np.zeros((2, 3), dtype)
    given["id"] = np.arange(6).reshape(2, 3)
    given["x"] = 0.5
    given["tag"] = b"a"
    with stepstore.Writer(location) as writer, writer.step() as step:
        step["particles"] = given
        step["other order"] = given.astype(dtype.newbyteorder(">"))
        with pytest.raises(stepstore.Error, match="field 'o'"):
            step["no"] = np.zeros(2, [("o", "U3")])
    with stepstore.open_steps(location) as steps:
        for name in ("particles", "other order"):
            for field in dtype.names:
                np.testing.assert_array_equal(steps[name][field], given[field])


def test_blocks_and_local_arrays(location):
    with stepstore.Writer(location) as writer, writer.step() as step:
        for row in range(3):
            step.put("x", np.full((1, 4), row), shape=(3, 4), start=(row, 0))
        step.put("mine", np.arange(3), local=True)
        step.put("mine", np.arange(5), local=True)
        for bad in (
            {"shape": (3,)},
            {"start": (0, 0)},
            {"shape": (3, 4), "start": (3, 0)},
            {"shape": (3, 4), "start": (-1, 0)},
            {"shape": (3, 4), "local": True},
        ):
            with pytest.raises(stepstore.Error, match="variable 'x'|x"):
                step.put("x", np.full((1, 4), 1), **bad)
        with pytest.raises(stepstore.Error):
            step["x"] = 1.5  # a value, and it was an array
    with stepstore.open_steps(location) as steps:
        np.testing.assert_array_equal(steps["x"], np.repeat(np.arange(3), 4).reshape(3, 4))
        assert [one.count for one in steps.blocks("mine")] == [(3,), (5,)]
        np.testing.assert_array_equal(steps.read_block("mine", 1), np.arange(5))


def test_a_program_may_change_its_arrays_after_a_put(location):
    small, large = np.zeros(10), np.zeros(1 << 20)
    with stepstore.Writer(location) as writer, writer.step() as step:
        step["small"], step["large"] = small, large
        small[:] = large[:] = 1
    with stepstore.open_steps(location) as steps:
        assert not steps["small"].any() and not steps["large"].any()


def test_compression_for_all_and_for_one(location):
    values = np.repeat(np.arange(64.0), 4096)
    with stepstore.Writer(location, Compression="zstd") as writer, writer.step() as step:
        step["x"] = values
        step.put("y", values, compression="none")
        with pytest.raises(stepstore.Error, match="squeeze"):
            step.put("z", values, compression="squeeze")
    with stepstore.open_steps(location) as steps:
        np.testing.assert_array_equal(steps["x"], values)
        np.testing.assert_array_equal(steps["y"], values)


def test_append_and_replace(location):
    for append in (False, True, True):
        with stepstore.Writer(location, append=append) as writer, writer.step() as step:
            step["x"] = len(writer)
    with stepstore.open_steps(location) as steps:
        assert [steps.read("x", number) for number in range(len(steps))] == [0, 1, 2]
    with stepstore.Writer(location) as writer, writer.step() as step:
        step["x"] = 7
    with stepstore.open_steps(location) as steps:
        assert len(steps) == 1 and steps["x"] == 7


def test_an_error_names_the_steps_that_have_a_variable(location):
    with stepstore.Writer(location) as writer:
        for number in range(9):
            with writer.step() as step:
                step["always"] = number
                if number in (1, 2, 3, 6):
                    step["rare"] = number
    with stepstore.open_steps(location) as steps:
        with pytest.raises(
            stepstore.Error, match="step 8 has no variable 'rare'; the steps that have it: 1 to 3, 6$"
        ):
            steps.read("rare", 8)
        with pytest.raises(stepstore.Error, match="the stream has no variable 'no'"):
            steps["no"]


def test_an_exception_drops_the_step_and_ends_the_writer(location):
    with pytest.raises(ZeroDivisionError), stepstore.Writer(location) as writer:
        with writer.step() as step:
            step["x"] = 1
        with writer.step() as step:
            step["x"] = 1 // 0
    assert writer.closed
    with pytest.raises(stepstore.Error, match="has ended"):
        step["x"] = 2
    with stepstore.open_steps(location) as steps:
        assert len(steps) == 1
    with stepstore.Writer(location, append=True) as writer, writer.step() as step:
        step["x"] = 2
    with stepstore.open_steps(location) as steps:
        assert len(steps) == 2


def test_errors(location):
    with stepstore.Writer(location) as writer:
        with pytest.raises(stepstore.Error, match="is being written") as busy:
            stepstore.Writer(location)
        assert busy.value.name == "DER_BUSY"
        with writer.step(), pytest.raises(stepstore.Error, match="open already"), writer.step():
            pass
    for wrong in ({"comm": "all"}, {"Layout": "round"}, {"NoSuch": 1}):
        with pytest.raises(stepstore.Error) as refused:
            stepstore.Writer(location, **wrong)
        assert refused.value.name == "DER_INVAL"
    with pytest.raises(TypeError):
        stepstore.Writer(location, comm=3)
    with stepstore.Writer(location, Layout="kv", StatsLevel=0) as writer:
        assert "0 steps" in repr(writer)
        with pytest.raises(stepstore.Error, match="one dimension"):
            writer.set_attribute("a", np.zeros((2, 2)))
    assert repr(writer).startswith("<closed stepstore.Writer of")


def test_a_forked_child_is_refused_and_leaves_the_parents_step_alone(location):
    with stepstore.Writer(location) as writer:
        with writer.step() as step:
            step["x"] = 1
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                try:
                    shown = repr(writer)
                except stepstore.Error:
                    os._exit(3)
                if "run" not in shown:
                    os._exit(4)
                try:
                    step["x"] = 2
                except stepstore.Error as error:
                    os._exit(0 if error.name == "DER_NO_HDL" else 1)
                os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with stepstore.open_steps(location) as steps:
        assert len(steps) == 1 and steps["x"] == 1 and steps.ended


KILLED = """
import os, signal, sys, numpy, stepstore
with stepstore.Writer(sys.argv[1]) as writer:
    for number in range(5):
        with writer.step() as step:
            step["x"] = numpy.full(100000, number)
            if number == 4:
                os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_its_whole_steps(location):
    done = subprocess.run([sys.executable, "-c", KILLED, location], check=False)
    assert done.returncode == -signal.SIGKILL
    seen = []
    with stepstore.open_steps(location, stream=True) as steps, pytest.raises(stepstore.Error) as died:
        for _ in steps.follow(60):
            seen.append(int(steps["x"][0]))
    assert seen == [0, 1, 2, 3] and died.value.name == "DER_CANCELED"


def test_a_reader_follows(location):
    with stepstore.Writer(location) as writer:
        with writer.step() as step:
            step["x"] = 0
        with stepstore.open_steps(location, stream=True) as steps:
            for number in range(3):
                assert steps.begin_step(60) is stepstore.StepStatus.OK
                assert steps["x"] == number
                steps.end_step()
                with writer.step() as step:
                    step["x"] = number + 1


def test_a_reader_keeps_its_profile_if_asked(location):
    with stepstore.Writer(location) as writer, writer.step() as step:
        step["x"] = 1
    with stepstore.open_steps(location, Profile="on") as steps:
        assert steps["x"] == 1 and not steps.readers_profile()
    with stepstore.open_steps(location) as steps:
        assert steps.readers_profile()["side"] == "readers"


def test_adios2_reads_it(location):
    adios2 = pytest.importorskip("adios2")
    with stepstore.Writer(location) as writer:
        for number in range(2):
            with writer.step() as step:
                step["x"] = np.arange(6.0).reshape(2, 3) + number
                step["n"] = number
    io = adios2.Adios().declare_io("read")
    io.set_engine("Stepstore")
    with adios2.Stream(io, location, "r") as stream:
        for number, step in enumerate(stream.steps()):
            np.testing.assert_array_equal(step.read("x"), np.arange(6.0).reshape(2, 3) + number)
            assert step.read("n") == number
        assert number == 1
