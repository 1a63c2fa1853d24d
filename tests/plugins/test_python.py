"""The plugin inside stock Python adios2: the serial wheel from PyPI, used as its users use it."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import unittest
from pathlib import Path

import adios2
import numpy as np
from python_support import Workspace, plugin_io

StepStatus = adios2.bindings.StepStatus
HERE = Path(__file__).parent

TYPES = [
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float32,
    np.float64,
]  # fmt: skip; the wheel's Python interface reads no other


def array_of(kind, step):
    values = np.arange(24).reshape(4, 6) + 24 * step
    return values.astype(kind)


class PluginTest(unittest.TestCase):
    def setUp(self):
        self.space = Workspace()
        self.addCleanup(self.space.close)

    def write_steps(self, name, steps, **parameters):
        with adios2.Stream(self.space.io(name, **parameters), name, "w") as stream:
            for step in stream.steps(steps):
                index = step.current_step()
                step.write("x", np.full(5, float(index)), [5], [0], [5])
                step.write("index", index)

    def test_round_trip_of_every_type(self):
        with adios2.Stream(self.space.io("types"), "types", "w") as stream:
            for step in stream.steps(3):
                index = step.current_step()
                for kind in TYPES:
                    data = array_of(kind, index)
                    step.write(kind.__name__, data, data.shape, [0, 0], data.shape)
                step.write("text", f"step {index}")
                step.write("number", 1.5 * index)
                if index == 0:
                    step.write_attribute("unit", "m/s", "float64")
                    step.write_attribute("list", np.array([1.5, 2.5]))
        seen = 0
        io = self.space.io("types")
        with adios2.Stream(io, "types", "r") as stream:
            for step in stream.steps():
                index = step.current_step()
                self.assertEqual(index, seen)
                for kind in TYPES:
                    data = step.read(kind.__name__)
                    self.assertEqual(data.dtype, np.dtype(kind))
                    np.testing.assert_array_equal(data, array_of(kind, index))
                box = step.read("float64", start=[1, 2], count=[2, 3])
                np.testing.assert_array_equal(box, array_of(np.float64, index)[1:3, 2:5])
                self.assertEqual(step.read("text"), f"step {index}")
                self.assertEqual(step.read("number"), 1.5 * index)
                self.assertEqual(step.read_attribute("unit", "float64"), "m/s")
                np.testing.assert_array_equal(step.read_attribute("list"), [1.5, 2.5])
                seen += 1
        self.assertEqual(seen, 3)

    def test_compression_is_the_writers_business(self):
        data = np.linspace(0.0, 1.0, 200_000).reshape(400, 500)
        for method in ("none", "zstd", "blosc2-lz4", "blosc2-zstd"):
            with self.subTest(method):
                name = f"compressed-{method}"
                with adios2.Stream(self.space.io(name, Compression=method), name, "w") as stream:
                    for step in stream.steps(2):
                        step.write("x", data + step.current_step(), data.shape, [0, 0], data.shape)
                with adios2.Stream(self.space.io(name), name, "r") as stream:
                    for step in stream.steps():
                        index = step.current_step()
                        np.testing.assert_array_equal(step.read("x"), data + index)
                        part = step.read("x", start=[7, 100], count=[300, 3])
                        np.testing.assert_array_equal(part, data[7:307, 100:103] + index)
        with self.assertRaisesRegex(Exception, "none, zstd, blosc2-lz4, blosc2-zstd"):
            adios2.Stream(self.space.io("bad", Compression="gzip"), "bad", "w")

    def test_variables_and_attributes_are_listed(self):
        self.write_steps("listed", 2)
        with adios2.Stream(self.space.io("listed"), "listed", "r") as stream:
            for step in stream.steps():
                variables = step.available_variables()
                self.assertEqual(sorted(variables), ["index", "x"])
                self.assertEqual(variables["x"]["Shape"], "5")
                self.assertEqual(variables["x"]["Type"], "double")

    def test_blocks_information(self):
        io = self.space.io("blocks")
        with adios2.Stream(io, "blocks", "w") as stream:
            stream.begin_step()
            for part in range(3):
                stream.write("x", np.arange(4.0) + 10 * part, [12], [4 * part], [4])
            stream.end_step()
        with adios2.Stream(self.space.io("blocks"), "blocks", "r") as stream:
            stream.begin_step()
            blocks = stream.engine.blocks_info("x", stream.current_step())
            self.assertEqual(
                [(b["Start"], b["Count"], float(b["Min"]), float(b["Max"])) for b in blocks],
                [("0", "4", 0.0, 3.0), ("4", "4", 10.0, 13.0), ("8", "4", 20.0, 23.0)],
            )
            stream.end_step()

    def test_random_access(self):
        """FileReader's way: no BeginStep, the variables are there at once."""
        self.write_steps("random", 4)
        io = self.space.io("random")
        engine = io.open("random", adios2.bindings.Mode.ReadRandomAccess)
        self.assertEqual(engine.steps(), 4)
        self.assertEqual(sorted(io.available_variables()), ["index", "x"])
        x = io.inquire_variable("x")
        data = np.zeros(5)
        for step in (2, 0, 3):
            x.set_step_selection([step, 1])
            engine.get(x, data, adios2.bindings.Mode.Sync)
            np.testing.assert_array_equal(data, np.full(5, float(step)))
        engine.close()

    def test_reader_follows_a_live_writer(self):
        writer = self.start_writer("live", steps=12, pause=0.03)
        io = self.space.io("live", OpenTimeoutSecs="30", BeginStepPollingFrequencySecs="0.001")
        seen = []
        while_running = 0
        with adios2.Stream(io, "live", "r") as stream:
            while (status := stream.begin_step(timeout=30.0)) == StepStatus.OK:
                seen.append(float(stream.read("x")[0]))
                np.testing.assert_array_equal(stream.read("x"), np.full(1000, seen[-1]))
                while_running += writer.poll() is None
                stream.end_step()
            self.assertEqual(status, StepStatus.EndOfStream)
        self.assertEqual(writer.wait(), 0)
        self.assertEqual(seen, [float(i) for i in range(12)])
        self.assertGreater(while_running, 0)

    def test_killed_writer_leaves_whole_steps(self):
        writer = self.start_writer("killed", steps=100000, pause=0.0)
        io = self.space.io("killed", OpenTimeoutSecs="30")
        with adios2.Stream(io, "killed", "r") as stream:
            self.assertEqual(stream.begin_step(timeout=30.0), StepStatus.OK)
            stream.end_step()
            time.sleep(0.3)
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            count = 1
            while (status := stream.begin_step(timeout=0.3)) == StepStatus.OK:
                np.testing.assert_array_equal(stream.read("x"), np.full(1000, float(count)))
                count += 1
                stream.end_step()
            self.assertEqual(status, StepStatus.OtherError)  # its writer is dead
        self.assertGreater(count, 1)
        # A restart goes on behind the last whole step, or behind an earlier one.
        for keep, whole in (("-1", count), ("1", 1)):
            with adios2.Stream(self.space.io("killed", AppendAfterSteps=keep), "killed", "a") as stream:
                for step in stream.steps(2):
                    step.write("x", np.full(500, float(step.current_step())), [500], [0], [500])
            with adios2.FileReader(self.space.io("killed"), "killed") as stream:
                self.assertEqual(stream.num_steps(), whole + 2)
                variable = stream.inquire_variable("x")
                for index in range(whole + 2):
                    variable.set_step_selection([index, 1])
                    size = 1000 if index < whole else 500
                    variable.set_selection([[0], [size]])
                    np.testing.assert_array_equal(stream.read(variable), np.full(size, float(index)))
            count = whole + 2

    def test_second_writer_is_told_who_the_first_is(self):
        writer = self.start_writer("shared", steps=100000, pause=0.01)
        with adios2.Stream(self.space.io("shared", OpenTimeoutSecs="30"), "shared", "r") as stream:
            self.assertEqual(stream.begin_step(timeout=30.0), StepStatus.OK)
            stream.end_step()
        for mode in ("w", "a"):
            with self.assertRaisesRegex(RuntimeError, f"process {writer.pid} on host"):
                adios2.Stream(self.space.io("shared"), "shared", mode)

    def start_writer(self, name, steps, pause):
        program = textwrap.dedent(f"""
            import sys, time
            sys.path.insert(0, {str(HERE)!r})
            import adios2, numpy as np
            from python_support import plugin_io
            with adios2.Stream(plugin_io({self.space.location(name)!r}), "live", "w") as stream:
                for step in stream.steps({steps}):
                    step.write("x", np.full(1000, float(step.current_step())), [1000], [0], [1000])
                    time.sleep({pause})
        """)
        process = subprocess.Popen([sys.executable, "-c", program])
        self.addCleanup(self.end_process, process)
        return process

    @staticmethod
    def end_process(process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def test_errors_are_python_errors(self):
        cases = [
            ({"Layuot": "kv"}, "w", "Layuot.*Layout"),
            ({"Layout": "columns"}, "w", "columns.*array-aligned"),
            ({"Location": ""}, "w", "Location"),
            ({}, "r", "missing"),
            ({"Communicator": "world"}, "w", "Communicator"),
        ]
        for parameters, mode, message in cases:
            with self.subTest(parameters), self.assertRaisesRegex(Exception, f"(?s){message}"):
                adios2.Stream(self.space.io("missing", **parameters), "any", mode)

    def test_location_needs_nothing_prepared(self):
        """Location=out/gs as BP's directory: relative, and made with all its parents."""
        before = os.getcwd()
        os.chdir(self.space.path)
        try:
            with adios2.Stream(plugin_io("out/gs"), "any", "w") as stream:
                for step in stream.steps(2):
                    step.write("x", np.arange(3.0), [3], [0], [3])
            with adios2.Stream(plugin_io("out/gs"), "any", "r") as stream:
                self.assertEqual(sum(1 for _ in stream.steps()), 2)
        finally:
            os.chdir(before)
        self.assertTrue((self.space.path / "out" / "gs").is_dir())


if __name__ == "__main__":
    unittest.main()
