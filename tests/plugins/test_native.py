"""The doors to the native engine, the engine type Stepstore, in programs of the serial wheel."""

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

BUILD = Path()

DEFINE_OPERATOR = """
import adios2
adios = adios2.Adios()
loads = adios.define_operator("stepstore", "plugin",
    {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2_native"})
io = adios.declare_io("mine")
"""

WRITE_AND_READ = """
with adios2.Stream(io, "out/gs", "w") as stream:
    for step in stream.steps(2):
        step.write("x", np.arange(6.0).reshape(2, 3) + step.current_step(), [2, 3], [0, 0], [2, 3])
        step.write("name", "step")
with adios2.Stream(io, "out/gs", "rra") as stream:
    x = stream.inquire_variable("x")
    assert x.steps() == 2, x.steps()
    assert stream.read("x", step_selection=[1, 1])[0, 0] == 1.0
    assert float(stream.available_variables()["x"]["Max"]) == 6.0
with adios2.Stream(io, "out/gs", "r") as stream:
    seen = [(step.read("x")[1, 2], step.read("name")) for step in stream.steps()]
assert seen == [(5.0, "step"), (6.0, "step")], seen
print("done")
"""


class Doors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepstore-native-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)

    def package(self):
        """That of the build, not one that is installed."""
        return os.pathsep.join([str(BUILD / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run_python(self, text, **environment):
        return subprocess.run(
            [sys.executable, "-c", "import numpy as np\n" + textwrap.dedent(text)],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": self.package(), **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def expect_done(self, done):
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertTrue((self.path / "out" / "gs").is_dir())  # by the name that was given to Open

    def test_operator_in_the_configuration(self):
        (self.path / "adios2.xml").write_text(
            """<?xml version="1.0"?>
            <adios-config>
              <operator name="stepstore" type="plugin">
                <parameter key="PluginName" value="stepstore"/>
                <parameter key="PluginLibrary" value="stepstore_adios2_native"/>
              </operator>
              <io name="mine"><engine type="Stepstore"/></io>
            </adios-config>"""
        )
        text = "import adios2\nio = adios2.Adios('adios2.xml').declare_io('mine')\n" + WRITE_AND_READ
        self.expect_done(self.run_python(text))

    def test_define_operator(self):
        text = DEFINE_OPERATOR + "io.set_engine('stepstore')\n"
        self.expect_done(self.run_python(text + WRITE_AND_READ))

    def test_import_of_the_package_before_and_after(self):
        for first, second in (("stepstore", "adios2"), ("adios2", "stepstore")):
            text = (
                f"import {first}\nimport {second}\nio = adios2.Adios().declare_io('mine')\n"
                "io.set_engine('Stepstore')\n" + WRITE_AND_READ
            )
            self.expect_done(self.run_python(text))

    def test_preloaded_library(self):
        library = BUILD / "lib" / "libstepstore_adios2_preload.so"
        preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), str(library)]))
        text = "import adios2\nio = adios2.Adios().declare_io('mine')\nio.set_engine('Stepstore')\n"
        self.expect_done(self.run_python(text + WRITE_AND_READ, LD_PRELOAD=preload))
        harmless = self.run_python("print('done')", LD_PRELOAD=preload)
        self.assertEqual((harmless.stdout, harmless.stderr), ("done\n", ""))

    def test_operator_changes_no_data(self):
        text = """
            io.set_engine("BP5")
            with adios2.Stream(io, "x.bp", "w") as stream:
                stream.begin_step()
                x = io.define_variable("x", np.arange(4.0), [4], [0], [4])
                x.add_operation(loads)
                stream.write(x, np.arange(4.0))
                stream.end_step()
            with adios2.FileReader("x.bp") as reader:
                assert (reader.read("x") == np.arange(4.0)).all()
            print("done")
        """
        done = self.run_python(DEFINE_OPERATOR + textwrap.dedent(text))
        self.assertTrue(done.stdout.endswith("done\n"), done.stdout + done.stderr)  # after a warning

    def test_two_adios2_in_one_process(self):
        """Here a copy that was loaded for all; another installation would be the same."""
        load_another = """
            import ctypes, shutil
            from pathlib import Path
            mine = next(Path(adios2.__file__).parent.glob("libadios2_core.so.*"))
            ctypes.CDLL(shutil.copy(mine, "./copy.so"), ctypes.RTLD_GLOBAL)
        """
        plugin = """
            io.set_engine("Plugin")
            io.set_parameters(
                {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2", "Location": "a"}
            )
            try:
                adios2.Stream(io, "a", "w")
            except Exception as error:
                print(error)
        """
        imports = "import adios2\n" + textwrap.dedent(load_another)
        declare = "io = adios2.Adios().declare_io('mine')\n"
        through_plugin = self.run_python(imports + declare + textwrap.dedent(plugin))
        through_operator = self.run_python(imports + DEFINE_OPERATOR)
        for text in (through_plugin.stdout, through_operator.stderr):
            self.assertRegex(text, f"two ADIOS2, in .*/adios2 and in {self.path.resolve()}, .*load one")

    def test_a_get_that_is_refused_at_its_second_step_writes_nothing_later(self):
        done = self.run_python(
            """
            import adios2, stepstore

            io = adios2.Adios().declare_io("out")
            io.set_engine("Stepstore")
            with adios2.Stream(io, "a", "w") as stream:
                for size in (3000, 2000):
                    stream.begin_step()
                    stream.write("shrinks", np.ones(size), [size], [0], [size])
                    stream.write("stays", np.ones(3000), [3000], [0], [3000])
                    stream.end_step()
            engine = io.open("a", adios2.bindings.Mode.ReadRandomAccess)
            stays, shrinks = io.inquire_variable("stays"), io.inquire_variable("shrinks")
            got, refused = np.zeros(6000), np.full(6000, -7.0)
            for variable in (stays, shrinks):
                variable.set_selection([[0], [3000]])
                variable.set_step_selection([0, 2])
            deferred = adios2.bindings.Mode.Deferred
            engine.get(stays, got, deferred)
            try:
                engine.get(shrinks, refused, deferred)
            except ValueError as error:
                assert "lies outside of the shape 2000" in str(error).replace("{", "").replace("}", ""), error
            else:
                raise AssertionError("it was not refused")
            engine.perform_gets()
            assert (got == 1).all()
            assert (refused == -7).all(), refused
            engine.close()
            print("done")
            """
        )
        self.assertEqual(done.stdout, "done\n", done.stdout + done.stderr)

    def test_opening_at_random_asks_the_store_no_more_often_for_more_attributes(self):
        done = self.run_python(
            """
            import stepstore, adios2

            def requests():
                return sum(one["fetches"] for one in stepstore._core.pool_describe(name)["targets"])

            asked = {}
            for count in (10, 1000):
                name = f"./many{count}"
                io = adios2.Adios().declare_io("out")
                io.set_engine("Stepstore")
                with adios2.Stream(io, name, "w") as stream:
                    for step in stream.steps(2):
                        step.write("x", 1.0)
                        for number in range(count):
                            step.write_attribute(f"a{number}", number)
                before = requests()
                io = adios2.Adios().declare_io("in")
                io.set_engine("Stepstore")
                with adios2.Stream(io, name, "rra") as stream:
                    assert len(stream.available_attributes()) == count
                asked[count] = requests() - before
            assert asked[1000] <= asked[10] + 20, asked
            print("done")
            """,
            PYTHONPATH=str(BUILD / "python"),
        )
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_a_stream_in_which_nothing_was_done_has_no_steps(self):
        done = self.run_python(
            """
            import stepstore, adios2
            from adios2.bindings import Mode, StepStatus

            adios = adios2.Adios()

            def opened(mode):
                io = adios.declare_io(str(mode))
                io.set_engine("Stepstore")
                return io.open("out/gs", mode)

            opened(Mode.Write).close()
            engine = opened(Mode.ReadRandomAccess)
            assert engine.steps() == 0
            engine.close()
            engine = opened(Mode.Read)
            assert engine.steps() == 0 and engine.begin_step() == StepStatus.EndOfStream
            engine.close()
            print("done")
            """,
            PYTHONPATH=str(BUILD / "python"),
        )
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_errors_have_the_types_that_users_catch(self):
        text = """
            io.set_engine("Stepstore")
            try:
                adios2.Stream(io, "nothing", "rra")
            except ValueError as error:
                assert "nothing" in str(error)
                print("done")
        """
        done = self.run_python(DEFINE_OPERATOR + textwrap.dedent(text))
        self.assertEqual(done.stdout, "done\n", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    known, rest = parser.parse_known_args()
    BUILD = known.build
    unittest.main(argv=[sys.argv[0], *rest])
