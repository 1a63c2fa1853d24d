"""Habits of programs that were written for BP5 and SST: their parameters, their temporaries, names without an
engine, and what already lies at a location. Through both doors, in programs of the serial wheel."""

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

BUILD = Path()
PARAMETERS_PAGE = Path(__file__).parents[2] / "docs" / "parameters.md"

# An IO named `io`, for the location `where`, through one of the doors.
DOORS = {
    "Stepstore": """
import adios2
adios = adios2.Adios()
adios.define_operator("stepstore", "plugin",
    {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2_native"})
def open_io(where, **parameters):
    io = adios.declare_io(f"io-{open_io.number}")
    open_io.number += 1
    io.set_engine("Stepstore")
    io.set_parameters(parameters)
    return io
open_io.number = 0
""",
    "Plugin": """
import adios2
adios = adios2.Adios()
def open_io(where, **parameters):
    io = adios.declare_io(f"io-{open_io.number}")
    open_io.number += 1
    io.set_engine("Plugin")
    io.set_parameters({"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2", "Location": where,
                       **parameters})
    return io
open_io.number = 0
""",
}

# What BP3, BP4, BP5 and SST of ADIOS2 2.12 know, each with a value of theirs.
SILENT = {
    "AggregationRatio": "2",
    "AggregationType": "TwoLevelShm",
    "AggregatorRatio": "2",
    "AppendAfterSteps": "3",
    "AsyncOpen": "true",
    "AsyncWrite": "Guided",
    "BeginStepPollingFrequencySecs": "0",
    "BufferChunkSize": "16Mb",
    "BufferGrowthFactor": "1.5",
    "BufferVType": "chunk",
    "BurstBufferDrain": "on",
    "BurstBufferVerbose": "2",
    "CPCommPattern": "Peer",
    "CollectiveMetadata": "off",
    "CompressionMethod": "zfp",
    "ControlInterface": "eth0",
    "ControlModule": "epoll",
    "ControlTransport": "sockets",
    "DataInterface": "eth0",
    "DataTransport": "WAN",
    "DirectIO": "yes",
    "DirectIOAlignBuffer": "4096",
    "DirectIOAlignOffset": "512",
    "EnableWriterRerouting": "no",
    "FirstTimestepPrecious": "true",
    "FlattenSteps": "no",
    "FlushStepsCount": "2",
    "GrowthFactor": "2",
    "InitialBufferSize": "1Mb",
    "IsRowMajor": "1",
    "MarshalMethod": "BP5",
    "MaxBufferSize": "1Gb",
    "MaxOpenFilesAtOnce": "100",
    "MaxShmSize": "1Gb",
    "MetadataThreads": "2",
    "MinDeferredSize": "4Mb",
    "NetworkInterface": "eth0",
    "NumAggregators": "2",
    "NumSubFiles": "2",
    "OneLevelGatherRanksLimit": "100",
    "OpenTimeoutSecs": "1",
    "Profile": "no",
    "ProfileUnits": "Microseconds",
    "QueueFullPolicy": "Discard",
    "QueueLimit": "3",
    "ReaderShortCircuitReads": "no",
    "RegistrationMethod": "file",
    "RemoteGroup": "some",
    "RendezvousReaderCount": "0",
    "ReroutingThresholdFactor": "0.3",
    "ReserveQueueLimit": "1",
    "SelectSteps": "0:n",
    "SpecAutoNodeThreshold": "1",
    "SpeculativePreloadMode": "auto",
    "StatsBlockSize": "1000",
    "StatsLevel": "5",
    "StreamReader": "no",
    "StripeSize": "4096",
    "SubStreams": "2",
    "Threads": "4",
    "UseOneTimeAttributes": "true",
    "UseSelectiveMetadataAggregation": "true",
    "WANDataTransport": "sockets",
    "verbose": "5",
}
# These would change what is stored or read, or nobody knows them: one line says that nothing comes of them.
SAID = {
    "AlwaysProvideLatestTimestep": "true",
    "BurstBufferPath": "/tmp/burst",
    "DataFileTransport": "s3",
    "DataModel": "any",
    "IgnoreFlattenSteps": "true",
    "NodeLocal": "true",
    "OpenAsFile": "true",
    "RemoteDataPath": "/data",
    "RemoteHost": "there",
    "S3AccessKeyID": "x",
    "S3Bucket": "x",
    "S3DirectUploadThreshold": "1",
    "S3Endpoint": "x",
    "S3ObjectMode": "multi",
    "S3SecretKey": "x",
    "S3SessionToken": "x",
    "StepDistributionMode": "RoundRobin",
    "TarInfo": "a,0,1",
    "UUID": "x",
    "node-local": "true",
    "num_threads": "4",
}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepstore-habits-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)

    def start_python(self, text, **environment):
        return subprocess.Popen(
            [sys.executable, "-c", "import numpy as np\n" + text],
            cwd=self.path,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_python(self, door, text, **environment):
        process = self.start_python(DOORS.get(door, door) + textwrap.dedent(text), **environment)
        out, error = process.communicate(timeout=300)
        self.assertEqual((process.returncode, out), (0, "done\n"), out + error)
        return error


class Parameters(Case):
    def test_those_of_other_engines_end_no_program(self):
        text = f"""
            for name, value in {SILENT | SAID!r}.items():
                for mode in "wr":
                    with adios2.Stream(open_io("out/gs", **{{name: value}}), "out/gs", mode) as stream:
                        for step in stream.steps(1):
                            if mode == "w":
                                step.write("x", np.arange(3.0), [3], [0], [3])
                            else:
                                assert step.read("x")[2] == 2
            print("done")
        """
        for door in DOORS:
            lines = self.run_python(door, text).splitlines()
            self.assertEqual(len(lines), len(SAID), lines)
            for name in SAID:
                said = [line for line in lines if f"the parameter {name} has no meaning" in line]
                self.assertEqual(len(said), 1, (name, lines))
                self.assertIn("out/gs", said[0])

    def test_each_has_its_row(self):
        page = PARAMETERS_PAGE.read_text().lower()
        for name in SILENT | SAID:
            shown = "s3..." if name.startswith("S3") else name.lower()
            self.assertTrue(f"`{shown}`" in page, name)

    def test_a_misspelt_name_is_an_error(self):
        text = """
            misspelt = {"Layuot": "Layout", "Compresion": "Compression", "Chunk_Size": "ChunkSize"}
            for name, meant in misspelt.items():
                try:
                    adios2.Stream(open_io("out/gs", **{name: "1"}), "out/gs", "w")
                    raise SystemExit(name + " was taken")
                except ValueError as error:
                    assert f"Is {meant} meant?" in str(error), error
            print("done")
        """
        for door in DOORS:
            self.assertEqual(self.run_python(door, text), "")


class Alone(Case):
    def test_a_process_of_a_job_without_mpi_says_that_it_writes_alone(self):
        text = """
            for mode in "w", "a", "r":
                with adios2.Stream(open_io("out/gs", **PARAMETERS), "out/gs", mode) as stream:
                    if mode != "r":
                        for step in stream.steps(1):
                            step.write("x", np.arange(3.0), [3], [0], [3])
            print("done")
        """
        for door in DOORS:
            auto, alone = (
                text.replace("PARAMETERS", "{}"),
                text.replace("PARAMETERS", "{'Communicator': 'self'}"),
            )
            for variable in "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS":
                said = self.run_python(door, auto, **{variable: "4"})
                self.assertRegex(
                    said, "^stepstore: warning: .*out/gs.* writes alone.* 4 .*MPI.*Communicator=self\n$"
                )
                self.assertEqual(self.run_python(door, alone, **{variable: "4"}), "")
            self.assertEqual(self.run_python(door, auto, OMPI_COMM_WORLD_SIZE="1"), "")


class Temporaries(Case):
    def test_what_is_put_may_be_a_temporary(self):
        text = """
            with adios2.Stream(open_io("out/gs"), "out/gs", "w") as stream:
                x = stream.io.define_variable("x", np.zeros(1), [400000], [0], [400000])
                y = stream.io.define_variable("y", np.zeros(1), [], [], [1])
                reused = np.empty(1)
                for _ in stream.steps(3):
                    stream.engine.put(x, np.full(400000, 1.0 + stream.current_step()))
                    for value in range(4):
                        reused[0] = value
                        stream.engine.put(y, reused)
                    np.full(400000, -7.0), np.full(400000, -7.0)
            with adios2.Stream(open_io("out/gs"), "out/gs", "r") as stream:
                for step in stream.steps():
                    assert (step.read("x") == 1.0 + step.current_step()).all(), step.read("x")
                    found = [step.read("y", block_id=i)[0] for i in range(4)]
                    assert found == [0, 1, 2, 3], found
            print("done")
        """
        for door in DOORS:
            self.assertEqual(self.run_python(door, text), "")


class Places(Case):
    def setUp(self):
        super().setUp()
        write = """
            import adios2
            with adios2.Stream("old.bp", "w") as stream:
                stream.begin_step()
                stream.write("x", np.arange(3.0), [3], [0], [3])
                stream.end_step()
            print("done")
        """
        self.run_python("", textwrap.dedent(write))
        (self.path / "file").write_text("text")
        (self.path / "directory").mkdir()
        (self.path / "directory" / "notes.txt").write_text("text")

    def test_something_else_lies_there(self):
        """Also with a reader that would wait for an hour for what is not there yet."""
        text = """
            for mode in "w", "a", "r":
                for where, what in (("old.bp", "the output of ADIOS2's engine BP5"), ("file", "a file"),
                                    ("file/gs", "a file"), ("directory", "'notes.txt'")):
                    try:
                        adios2.Stream(open_io(where), where, mode)
                        raise SystemExit(f"{where} was opened")
                    except Exception as error:
                        assert where in str(error) and what in str(error), error
                        assert "move it away" in str(error) and "label" not in str(error), error
            print("done")
        """
        for door in DOORS:
            self.assertEqual(self.run_python(door, text), "")
        self.assertTrue((self.path / "old.bp" / "md.idx").is_file())
        self.assertEqual([one.name for one in (self.path / "directory").iterdir()], ["notes.txt"])

    def test_a_reader_that_waits_says_for_what(self):
        text = """
            with adios2.Stream(open_io("late/gs", OpenTimeoutSecs="200"), "late/gs", "r") as stream:
                for step in stream.steps():
                    assert (step.read("x") == 1).all()
            print("done")
        """
        (self.path / "late" / "gs").mkdir(parents=True)  # empty: a writer makes its pool there
        reader = self.start_python(DOORS["Stepstore"] + textwrap.dedent(text))
        self.addCleanup(reader.kill)
        said = reader.stderr.readline()
        self.assertRegex(said, r"late/gs.*waits for it for another \d+ s \(OpenTimeoutSecs\)")
        write = """
            with adios2.Stream(open_io("late/gs"), "late/gs", "w") as stream:
                for step in stream.steps(2):
                    step.write("x", np.ones(3), [3], [0], [3])
            print("done")
        """
        self.run_python("Stepstore", write)
        out, error = reader.communicate(timeout=300)
        self.assertEqual((out, error), ("done\n", ""))


# ADIOS2's own way of naming no engine.
READ_BY_NAME = """
with adios2.FileReader("out/gs") as reader:
    assert reader.num_steps() == 2
    assert reader.read("x", step_selection=[1, 1])[0, 0] == 1.0
    box = reader.read("x", start=[0, 1], count=[2, 2], step_selection=[0, 2])
    assert (box.ravel()[:4] == [1, 2, 4, 5]).all()
    assert reader.read_attribute("unit") == "K"
with adios2.FileReader("out/gs/default/main") as reader:
    assert reader.num_steps() == 2
with adios2.Stream("out/gs", "r") as stream:
    assert [step.read("x")[1, 2] for step in stream.steps()] == [5.0, 6.0]
for engine in ("BPFile", "bp", "file", ""):
    io = adios2.Adios().declare_io("any")
    io.set_engine(engine)
    with adios2.Stream(io, "out/gs", "rra") as stream:
        assert stream.inquire_variable("x").shape() == [2, 3]
# What is ADIOS2's stays so: its files, whatever it writes, and an engine that is named.
for name in ("five.bp", "out/gs/inside.bp"):
    with adios2.Stream(name, "w") as stream:
        stream.begin_step()
        stream.write("x", np.full(3, 8.0), [3], [0], [3])
        stream.end_step()
    with adios2.FileReader(name) as reader:
        assert (reader.read("x") == 8.0).all()
for engine in ("BP3", "BP4"):
    io = adios2.Adios().declare_io("any")
    io.set_engine(engine)
    with adios2.Stream(io, "named-" + engine, "w") as stream:
        stream.begin_step()
        stream.write("x", np.full(3, 9.0), [3], [0], [3])
        stream.end_step()
    io = adios2.Adios().declare_io("any")  # BP3 does not read by the object that it wrote by
    io.set_engine(engine)
    with adios2.Stream(io, "named-" + engine, "r") as stream:
        assert [step.read("x")[0] for step in stream.steps()] == [9.0]
import os
assert os.path.exists("five.bp/md.idx") and os.path.exists("named-BP4/md.idx")
assert os.path.exists("out/gs/inside.bp/md.idx")
try:
    io = adios2.Adios().declare_io("any")
    io.set_engine("BP4")
    adios2.Stream(io, "out/gs", "r")
    raise SystemExit("BP4 read a pool")
except Exception as error:
    assert "md.idx" in str(error) or "out/gs" in str(error), error
print("done")
"""

NOT_BY_NAME = """
try:
    adios2.FileReader("out/gs")
    raise SystemExit("a pool was read without being asked for")
except Exception:
    print("done")
"""


class Default(Case):
    def setUp(self):
        super().setUp()
        write = """
            with adios2.Stream(open_io("out/gs"), "out/gs", "w") as stream:
                for step in stream.steps(2):
                    x = np.arange(6.0).reshape(2, 3) + step.current_step()
                    step.write("x", x, [2, 3], [0, 0], [2, 3])
                    step.write_attribute("unit", "K")
            print("done")
        """
        self.run_python("Stepstore", write)
        library = BUILD / "lib" / "libstepstore_adios2_preload.so"
        self.preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), str(library)]))

    def test_environment(self):
        environment = {"LD_PRELOAD": self.preload, "STEPSTORE_ADIOS2_DEFAULT": "on"}
        self.run_python("import adios2\n", READ_BY_NAME, **environment)

    def test_only_where_it_is_asked_for(self):
        self.run_python("import adios2\n", NOT_BY_NAME, LD_PRELOAD=self.preload)

    def test_parameter_of_the_library(self):
        load = """
import adios2
loads = adios2.Adios()
loads.define_operator("stepstore", "plugin",
    {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2_native", "Default": "on"})
"""
        self.run_python(load, READ_BY_NAME)
        self.run_python(load.replace('"on"', '"off"'), NOT_BY_NAME)

    def test_package(self):
        package = os.pathsep.join([str(BUILD / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {"PYTHONPATH": package, "STEPSTORE_ADIOS2_DEFAULT": "on"}
        self.run_python("import stepstore\nimport adios2\n", READ_BY_NAME, **environment)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    known, rest = parser.parse_known_args()
    BUILD = known.build
    unittest.main(argv=[sys.argv[0], *rest])
