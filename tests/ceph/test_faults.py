"""An OSD is killed while applications write and read: nobody gets an error, nothing is lost or torn.

The cluster is the test's own: three OSDs on files, two copies of each object. ADIOS2 and FDB are those of the
wheels, in processes of their own, as users run them.
"""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

CEPH = Path(__file__).parents[1] / "support" / "ceph.py"
FDB_SUPPORT = Path(__file__).parents[1] / "fdb5"
STEPS = 150
FIELDS = 200

ADIOS2 = """
import sys, adios2, numpy as np
def io():
    made = adios2.Adios().declare_io("stream")
    made.set_engine("Plugin")
    made.set_parameters({"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2",
                         "Location": sys.argv[1], "OpenTimeoutSecs": "120"})
    return made
def values(step):
    return np.arange(40000, dtype=np.float64) + 1000.0 * step
"""
WRITER = (
    ADIOS2
    + """
import time
with adios2.Stream(io(), "s", "w") as stream:
    for step in stream.steps(int(sys.argv[2])):
        data = values(step.current_step())
        step.write("x", data, data.shape, [0], data.shape)
        step.write("n", step.current_step())
        print("step", step.current_step(), flush=True)
        time.sleep(float(sys.argv[3]))
"""
)
READER = (
    ADIOS2
    + """
seen = 0
with adios2.Stream(io(), "s", "r") as stream:
    while True:
        status = stream.begin_step(timeout=float(sys.argv[2]))
        if status != adios2.bindings.StepStatus.OK:
            break
        assert int(stream.read("n")) == seen, (int(stream.read("n")), seen)
        assert (stream.read("x") == values(seen)).all(), f"step {seen} is torn"
        seen += 1
        stream.end_step()
print("seen", seen, str(status).rpartition(".")[2])
"""
)
FDB = """
import atexit, sys, pyfdb
from support import Archive, grib
archive = Archive("stepstore")
atexit.register(archive.close)
archive.section["pool"] = sys.argv[1]
def message(n):
    values = [float(n + i) for i in range(496)]
    return grib(step=n // 10, levelist=100 + 50 * (n % 10), param=130, values=values)
"""
ARCHIVE = (
    FDB
    + """
fdb = pyfdb.FDB(archive.config())
for n in range(int(sys.argv[2])):
    fdb.archive(message(n))
    if n % 10 == 9:
        fdb.flush()
        print("field", n, flush=True)
"""
)
RETRIEVE = (
    FDB
    + """
request = {"class": "rd", "expver": "xxxx", "stream": "oper", "date": "20260101", "time": "0000",
           "domain": "g", "type": "fc", "levtype": "pl", "param": "130"}
fdb = pyfdb.FDB(archive.config())
dataset = {key: request[key] for key in ("class", "expver", "stream", "date", "time")}
listed = len(list(fdb.list(dataset)))
assert listed == int(sys.argv[2]), listed
for n in range(listed):
    with fdb.retrieve({**request, "step": str(n // 10), "levelist": str(100 + 50 * (n % 10))}) as handle:
        assert handle.read() == message(n), f"field {n} differs"
print("retrieved", listed)
"""
)


class Program:
    """A Python program whose lines are read as it prints them."""

    def __init__(self, text, *arguments):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{FDB_SUPPORT}:{os.environ.get('PYTHONPATH', '')}"},
        )

    def until(self, line):
        """Reads on until the program has printed the line."""
        for text in self.process.stdout:
            if text.strip() == line:
                return
        raise AssertionError(f"the program ended without '{line}': {self.told()}")

    def told(self):
        self.errors.seek(0)
        return self.errors.read()

    def result(self):
        """The last line of a program that ends well."""
        lines = self.process.stdout.read().strip().splitlines()
        if self.process.wait() != 0:
            raise AssertionError(self.told())
        return lines[-1] if lines else ""

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="stepstore-ceph-")
        cls.addClassCleanup(cls.ceph, "stop")
        cls.ceph(
            "start", "--osds", "3", "--store", "bluestore", "--pool", "test", "--owner", str(os.getpid())
        )
        os.environ["CEPH_CONF"] = f"{cls.directory}/ceph.conf"

    @classmethod
    def ceph(cls, command, *arguments):
        subprocess.run([CEPH, command, cls.directory, *arguments], check=True, stdout=subprocess.DEVNULL)

    def run_program(self, *given):
        program = Program(*given)
        self.addCleanup(program.kill)
        return program

    def test_osds_killed_one_after_the_other_lose_nothing(self):
        stream, fields = "rados://test/stream", "rados://test/fields"
        reader = self.run_program(READER, stream, 120)
        writer = self.run_program(WRITER, stream, STEPS, 0.02)
        archive = self.run_program(ARCHIVE, fields, FIELDS)
        writer.until(f"step {STEPS // 3}")
        self.ceph("osd", "kill", "0")
        writer.until(f"step {STEPS // 2}")
        self.assertIsNone(reader.process.poll(), f"the reader ended early: {reader.told()}")
        writer.result()
        archive.result()
        self.assertEqual(reader.result(), f"seen {STEPS} EndOfStream")
        # What was written meanwhile has one copy only, until the OSD is back and has the others.
        self.ceph("osd", "start", "0")
        self.ceph("wait")
        self.ceph("osd", "kill", "1")
        again = self.run_program(READER, stream, 120)
        retrieve = self.run_program(RETRIEVE, fields, FIELDS)
        self.assertEqual(again.result(), f"seen {STEPS} EndOfStream")
        self.assertEqual(retrieve.result(), f"retrieved {FIELDS}")
        self.ceph("osd", "start", "1")
        self.ceph("wait")

    def test_a_killed_writer_leaves_what_it_published(self):
        for last in (0, 1, 7, 20):
            writer = self.run_program(WRITER, "rados://test/killed", 1000, 0)
            writer.until(f"step {last + 1}")  # within it: those before are published
            writer.kill()
            reader = self.run_program(READER, "rados://test/killed", 1)
            seen = int(reader.result().split()[1])
            self.assertGreater(seen, last)

    def test_stopped_osds_are_waited_for(self):
        writer = self.run_program(WRITER, "rados://test/stopped", 40, 0)
        writer.until("step 10")
        self.ceph("osd", "pause", "all")
        time.sleep(20)
        self.assertIsNone(writer.process.poll(), "the writer ended while the OSDs were stopped")
        self.ceph("osd", "resume", "all")
        writer.result()
        reader = self.run_program(READER, "rados://test/stopped", 60)
        self.assertEqual(reader.result(), "seen 40 EndOfStream")


if __name__ == "__main__":
    unittest.main()
