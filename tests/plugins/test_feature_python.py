"""ADIOS2's Python interface: the same program through BP5 and through Stepstore, and what it read
compared."""

import ctypes
import json
import os
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

import adios2
import numpy as np
from python_support import Workspace

HERE = Path(__file__).parent
STEPS = 4
# Whether the plugin is asked for the sizes of blocks: where it was built with the headers of ADIOS2's core,
# and this ADIOS2 does not differ from them. With STEPSTORE_TEST_OTHER_ADIOS2, a library, it does.
CORE = "STEPSTORE_TEST_CORE" in os.environ
if "STEPSTORE_TEST_OTHER_ADIOS2" in os.environ:
    ctypes.CDLL(os.environ["STEPSTORE_TEST_OTHER_ADIOS2"], ctypes.RTLD_GLOBAL)


def bp5_io():
    io = adios2.Adios().declare_io("stream")
    io.set_engine("BP5")
    return io


def write(stream):
    """A field in two blocks whose shape changes, a number, a text, attributes that come and change."""
    for step in stream.steps(STEPS):
        index = step.current_step()
        rows = 6 + 2 * index
        field = np.arange(rows * 5, dtype=np.float64).reshape(rows, 5) + 1000 * index
        step.write("field", field[:3], [rows, 5], [0, 0], [3, 5])
        step.write("field", np.ascontiguousarray(field[3:]), [rows, 5], [3, 0], [rows - 3, 5])
        step.write("small", np.arange(4, dtype=np.int16) - index, [4], [0], [4])
        step.write("local", np.arange(3.0) + index, [], [], [3])
        step.write("local", np.arange(5.0) * index, [], [], [5])
        step.write("number", index * 7)
        step.write("text", f"step {index}")
        if index == 0:
            step.write_attribute("unit", "K", "field")
            step.write_attribute("corner", np.array([1.5, -2.0]))
        if index == 2:
            step.write_attribute("late", 11)


def plain(value):
    return value.tolist() if hasattr(value, "tolist") else value


def look(stream):
    """All that a program sees in a step."""
    variables = {
        name: {key: facts[key] for key in ("Type", "Shape", "SingleValue")}
        for name, facts in stream.available_variables().items()
    }
    return {
        "variables": variables,
        "attributes": stream.available_attributes(),
        "field": plain(stream.read("field")),
        "box": plain(stream.read("field", start=[1, 2], count=[4, 2])),
        "in block": plain(stream.read("local", start=[1], count=[2], block_id=1)),
        "small": plain(stream.read("small")),
        "number": plain(stream.read("number")),
        "text": plain(stream.read("text")),
        "unit": plain(stream.read_attribute("unit", "field")),
        "corner": plain(stream.read_attribute("corner")),
    }


class FeatureTest(unittest.TestCase):
    def setUp(self):
        self.space = Workspace()
        self.addCleanup(self.space.close)
        self.maxDiff = 2000

    def engines(self, name, **parameters):
        """For each engine: its name, a function that makes an IO, and what to open."""
        return (
            ("BP5", bp5_io, self.space.location(name) + ".bp"),
            ("Stepstore", lambda: self.space.io(name, **parameters), name),
        )

    def test_stream(self):
        seen = {}
        for engine, make_io, path in self.engines("stream"):
            with adios2.Stream(make_io(), path, "w") as stream:
                write(stream)
            with adios2.Stream(make_io(), path, "r") as stream:
                self.assertEqual(stream.num_steps(), STEPS)
                seen[engine] = [look(step) for step in stream.steps()]
        self.assertEqual(len(seen["BP5"]), STEPS)
        self.assertEqual(seen["BP5"][2]["number"], 14)
        self.assertEqual(seen["Stepstore"], seen["BP5"])

    def test_file_reader(self):
        seen = {}
        for engine, make_io, path in self.engines("file-reader"):
            with adios2.Stream(make_io(), path, "w") as stream:
                write(stream)
            with adios2.FileReader(make_io(), path) as reader:
                seen[engine] = [
                    reader.num_steps(),
                    sorted(reader.available_variables()),
                    reader.available_attributes(),
                ]
                for step in (3, 0, 2):
                    seen[engine].append(plain(reader.read("small", step_selection=[step, 1])))
                    seen[engine].append(
                        plain(reader.read("field", start=[2, 1], count=[3, 3], step_selection=[step, 1]))
                    )
                seen[engine].append(plain(reader.read("small", start=[1], count=[2], step_selection=[1, 3])))
                seen[engine].append(
                    [np.ravel(reader.read("number", step_selection=[step, 1])).tolist() for step in (3, 1)]
                )
        self.assertEqual(seen["BP5"][0], STEPS)
        self.assertEqual(seen["Stepstore"], seen["BP5"])

    @unittest.skipUnless(CORE, "the plugin is not asked for sizes")
    def test_sizes_that_a_plugin_is_asked_for(self):
        seen = {}
        for engine, make_io, path in self.engines("sizes"):
            with adios2.Stream(make_io(), path, "w") as stream:
                write(stream)
            seen[engine] = []
            with adios2.Stream(make_io(), path, "r") as stream:
                for step in stream.steps():
                    seen[engine] += [
                        plain(step.read("field", block_id=1)),
                        plain(step.read("local", block_id=0)),
                        plain(step.read("local", block_id=1)),
                    ]
            with adios2.FileReader(make_io(), path) as reader:
                seen[engine] += [
                    plain(reader.read("number", step_selection=[0, 3])),
                    plain(reader.read("field", block_id=1, step_selection=[2, 1])),
                    [reader.inquire_variable(name).steps() for name in ("number", "text", "field")],
                    [reader.available_variables()["small"][key] for key in ("Min", "Max")],
                ]
        self.assertEqual(len(seen["BP5"][1]), 3)
        self.assertEqual(seen["Stepstore"], seen["BP5"])
        with (
            adios2.FileReader(self.space.io("sizes"), "sizes") as reader,
            self.assertRaisesRegex(Exception, "'field'.*step by step"),
        ):
            reader.minmax("field", 2)

    @unittest.skipIf(CORE, "the plugin is asked for sizes")
    def test_what_python_would_get_wrong_is_refused(self):
        """ADIOS2 tells Python sizes that it asks no plugin for; reading by them would overrun an array, or
        give it a wrong shape."""
        with adios2.Stream(self.space.io("refused"), "refused", "w") as stream:
            write(stream)
        with adios2.Stream(self.space.io("refused"), "refused", "r") as stream:
            for step in stream.steps():
                rows = 6 + 2 * step.current_step()
                with self.assertRaisesRegex(
                    Exception, rf"block 1 of variable 'field'.*start {{3, 0}} and count {{{rows - 3}, 5}}"
                ):
                    step.read("field", block_id=1)
                with self.assertRaisesRegex(
                    Exception, r"block 0 of variable 'local'.*start \{0\} and count \{3\} in block 0"
                ):
                    step.read("local", block_id=0)
                self.assertEqual(step.read("field", start=[3, 0], count=[rows - 3, 5]).shape, (rows - 3, 5))
                self.assertEqual(step.read("local", start=[0], count=[3], block_id=0).shape, (3,))
                lowest, highest = step.minmax("field")
                self.assertEqual(
                    (lowest, highest), (1000 * step.current_step(), 1000 * step.current_step() + rows * 5 - 1)
                )
        with adios2.FileReader(self.space.io("refused"), "refused") as reader:
            with self.assertRaisesRegex(Exception, "'number'.*one step at a time"):
                reader.read("number", step_selection=[0, 3])
            with self.assertRaisesRegex(Exception, "'field'.*step by step"):
                reader.minmax("field", 2)

    def test_what_lies_beside_structs(self):
        """Structs are not among the variables that ADIOS2 lists; all others are read."""
        location = self.space.location("structs")
        subprocess.run([os.environ["STEPSTORE_TEST_WRITE_STRUCTURES"], location], check=True)
        with adios2.Stream(self.space.io("structs"), location, "r") as stream:
            numbers = []
            for step in stream.steps():
                self.assertEqual(set(step.available_variables()), {"number"})
                numbers.append(float(step.read("number")))
        self.assertEqual(numbers, [0.0, 1.0])
        with adios2.FileReader(self.space.io("structs"), location) as reader:
            self.assertEqual(set(reader.available_variables()), {"number"})
            self.assertEqual(np.ravel(reader.read("number", step_selection=[1, 1])).tolist(), [1.0])

    def test_several_reading_programs(self):
        """Three programs follow one writer, one of which starts late: each sees every step, and what BP5's
        reader sees."""
        seen = {}
        for engine, location, path in (
            ("BP5", "", self.space.location("live") + ".bp"),
            ("Stepstore", self.space.location("live"), "live"),
        ):
            writer = self.start("write", location, path)
            first = [self.start("read", location, path) for _ in range(2)]
            self.assertEqual(writer.stdout.readline(), "half\n")
            late = self.start("read", location, path)
            writer.stdin.write("go on\n")
            writer.stdin.flush()
            outputs = [reader.communicate(timeout=100)[0] for reader in (*first, late)]
            self.assertEqual(writer.wait(timeout=60), 0)
            for reader in (*first, late):
                self.assertEqual(reader.returncode, 0)
            self.assertEqual(outputs[0], outputs[1])
            self.assertEqual(outputs[0], outputs[2])
            seen[engine] = json.loads(outputs[0])
        self.assertEqual(len(seen["BP5"]), 10)
        self.assertEqual(seen["Stepstore"], seen["BP5"])

    def start(self, what, location, path):
        program = textwrap.dedent(f"""
            import json, sys
            sys.path.insert(0, {str(HERE)!r})
            import adios2, numpy as np
            from python_support import plugin_io
            from test_feature_python import bp5_io, plain
            io = plugin_io({location!r}, OpenTimeoutSecs="60") if {location!r} else bp5_io()
            if not {location!r}: io.set_parameters({{"OpenTimeoutSecs": "60"}})
            if {what!r} == "write":
                with adios2.Stream(io, {path!r}, "w") as stream:
                    for step in stream.steps(10):
                        if step.current_step() == 5:
                            print("half", flush=True)
                            sys.stdin.readline()
                        step.write("x", np.arange(2000.0) + step.current_step(), [2000], [0], [2000])
            else:
                seen = []
                with adios2.Stream(io, {path!r}, "r") as stream:
                    while stream.begin_step(timeout=60.0) == adios2.bindings.StepStatus.OK:
                        part = plain(stream.read("x", start=[100], count=[5]))
                        seen.append([stream.current_step(), part, float(stream.read("x").sum())])
                        stream.end_step()
                print(json.dumps(seen))
        """)
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(self.end_process, process)
        return process

    @staticmethod
    def end_process(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


if __name__ == "__main__":
    unittest.main()
