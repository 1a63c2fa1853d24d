"""The example in Fortran as its users run it: through BP5 and through Stepstore by adios2.xml alone, and what
was read compared."""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import adios2
from python_support import plugin_io

OUTPUTS = 4


def environment(folder):
    """Two jobs that Open MPI starts at the same moment may trip over the directory that both make: each gets
    its own."""
    return {**os.environ, "OMPI_MCA_orte_tmpdir_base": tempfile.mkdtemp(prefix="mpi-", dir=folder)}


def run(words, folder):
    done = subprocess.run(
        words, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def readings(arguments, folder, engine):
    """The lines of readers on two and on four ranks, the first of which starts before the writer."""
    config = folder / f"adios2-{engine}.xml"
    text = (arguments.examples / config.name).read_text()
    if "STEPSTORE_TEST_CORE" in os.environ:  # the plugin is told the language of the program
        text = text.replace('<parameter key="ArrayOrder" value="column"/>', "")
    config.write_text(text)
    live = subprocess.Popen(
        [*arguments.mpirun_two, arguments.read, config.name],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        run([*arguments.mpirun_four, arguments.write, config.name, str(OUTPUTS)], folder)
        output, errors = live.communicate(timeout=100)
    finally:
        if live.poll() is None:
            live.kill()
            live.wait()
    assert live.returncode == 0, errors
    afterwards = run([*arguments.mpirun_four, arguments.read, config.name], folder)
    assert output == afterwards, f"while it ran:\n{output}\nafterwards:\n{afterwards}"
    return output.splitlines()


def shapes_in_python(io, path):
    """A program of row-major order sees the dimensions of a Fortran array reversed."""
    with adios2.Stream(io, path, "r") as stream:
        for step in stream.steps():
            field = step.read("temperature")
            yield field.shape, field.tolist()


def check(arguments, folder):
    bp5 = readings(arguments, folder, "bp5")
    ours = readings(arguments, folder, "stepstore")
    assert len(bp5) == OUTPUTS + 1 and bp5[-1] == f"end of stream after {OUTPUTS} steps", bp5
    assert len({line.split(" sum ")[1] for line in bp5[:-1]}) == OUTPUTS, f"steps that do not differ: {bp5}"
    assert ours == bp5, f"BP5: {bp5}\nStepstore: {ours}"
    io = adios2.Adios().declare_io("bp5")
    io.set_engine("BP5")
    reference = list(shapes_in_python(io, str(folder / "heat.bp")))
    assert reference[0][0] == (48, 40) and len(reference) == OUTPUTS
    assert list(shapes_in_python(plugin_io(str(folder / "heat.pool")), "any")) == reference


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", required=True, type=Path)
    parser.add_argument("--write", required=True)
    parser.add_argument("--read", required=True)
    parser.add_argument("--mpirun-two", required=True, type=str.split)
    parser.add_argument("--mpirun-four", required=True, type=str.split)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stepstore-fortran-") as folder:
        check(arguments, Path(folder))


if __name__ == "__main__":
    main()
