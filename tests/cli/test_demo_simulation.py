"""stepstore demo simulation: through ADIOS2 with nothing but Python, and the words of failures."""

import importlib.util
import os
import subprocess
import sys

import pytest

import stepstore

HAVE_ADIOS2 = (
    os.environ.get("STEPSTORE_TEST_PLUGIN") == "1" and importlib.util.find_spec("adios2") is not None
)
with_adios2 = pytest.mark.skipif(not HAVE_ADIOS2, reason="needs the ADIOS2 plugin and the package adios2")


@with_adios2
def test_it_writes_a_stream_that_its_last_lines_show(cli):
    run = ("demo", "simulation", "out/gs", "--size", 16, "--steps", 3)
    assert "stepstore steps out/gs -l" in cli(*run).out
    found = cli(*run, "--json").json
    assert found["steps"] == 3 and found["shape"] == [16, 16] and found["identical"] is True
    assert "U" in cli("steps", "out/gs", "-l").out
    with stepstore.open_steps(cli.directory / "out/gs") as steps:
        assert len(steps) == 3
        assert steps.read("U", step=-1).mean() == found["mean_of_u"]
        assert steps.attributes()["F"].value == 0.03


@with_adios2
def test_it_writes_beside_the_computation(cli):
    run = ("demo", "simulation", "out/gs", "--size", 64, "--steps", 4, "--async-write")
    assert "beside the computation: " in cli(*run).out
    found = cli(*run, "--json").json
    assert found["identical"] is True and found["seconds_hidden"] > 0
    assert "HIDDEN" in cli("steps", "out/gs", "--profile").out
    cli(*run[:-1])
    assert "HIDDEN" not in cli("steps", "out/gs", "--profile").out


@with_adios2
def test_it_never_replaces_a_users_stream(cli):
    program = (
        "import stepstore, adios2\n"
        "io = adios2.Adios().declare_io('a')\n"
        "io.set_engine('Stepstore')\n"
        "with adios2.Stream(io, 'run/wave', 'w') as stream:\n"
        "    stream.begin_step(); stream.write('x', 1); stream.end_step()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=cli.directory, env=cli.environment, check=True)
    run = ("demo", "simulation", "run/wave", "--size", 16, "--steps", 2)
    cli.fails(*run, code=2, says=("run/wave", "--replace"))
    with stepstore.open_steps(cli.directory / "run/wave") as steps:
        assert steps.read("x") == 1
    cli(*run, "--replace")
    cli(*run)  # its own
    with stepstore.open_steps(cli.directory / "run/wave") as steps:
        assert len(steps) == 2


@with_adios2
def test_its_default_place_is_not_that_of_the_examples(cli):
    assert "simulation-demo/gs" in cli("demo", "simulation", "--size", 16, "--steps", 1).out
    assert not (cli.directory / "out").exists()


@with_adios2
def test_asking_whether_there_is_adios2_leaves_its_engine_known(cli):
    program = (
        "import stepstore, importlib.util\n"
        "assert importlib.util.find_spec('adios2')\n"
        "import adios2\n"
        "io = adios2.Adios().declare_io('a')\n"
        "io.set_engine('Stepstore')\n"
        "with adios2.Stream(io, 'out/asked', 'w') as stream:\n"
        "    stream.begin_step(); stream.write('x', 1); stream.end_step()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=cli.directory, env=cli.environment, check=True)
    with stepstore.open_steps(cli.directory / "out/asked") as steps:
        assert steps.read("x") == 1


def test_without_adios2_it_says_what_to_install(cli):
    (cli.directory / "sitecustomize.py").write_text(
        "import importlib.util\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'adios2' else found(name, *rest)\n"
    )
    cli.environment["PYTHONPATH"] = f"{cli.directory}{os.pathsep}{cli.environment['PYTHONPATH']}"
    assert "pip install adios2" in cli("demo", "simulation", code=1, anew=True).err


def test_wrong_use(cli):
    assert "--size" in cli("demo", "simulation", "--size", 2, code=2).err
    cli("demo", "simulation", "--steps", 0, code=2)
