"""Variables of structs in the command line and in numpy."""

import os
import subprocess

import numpy as np
import pytest

import stepstore


@pytest.fixture
def stream(cli):
    where = cli.directory / "out"
    subprocess.run([os.environ["STEPSTORE_TEST_WRITE_STRUCTURES"], str(where)], check=True)
    return where


def expect_particle(found, number):
    assert found["charge"] == number
    assert found["tag"] == b"abcdef"[number : number + 1]
    assert found["place"].tolist() == [number, number + 0.25, number + 0.5]
    assert found["x"] == number  # the same bytes as the first of place
    assert found["wave"] == complex(number, -number)


def test_arrays_have_the_fields_of_the_struct(stream):
    with stepstore.open_steps(stream) as steps:
        variable = steps.variable("all")
        assert (variable.type, variable.shape, variable.structure.name) == ("struct", (2, 2), "particle")
        assert variable.dtype.itemsize == variable.structure.size == 32
        assert variable.dtype.names == ("charge", "tag", "place", "x", "wave")
        for step in (0, 1):
            found = steps.read("all", step=step)
            assert found.shape == (2, 2) and found.dtype == variable.dtype
            for index, one in enumerate(found.reshape(-1)):
                expect_particle(one, step + index)
        expect_particle(steps.read("all", step=0, start=(1, 1), count=(1, 1))[0, 0], 3)
        for index, one in enumerate(steps.read_block("local", 0, step=1)):
            expect_particle(one, 1 + index)
        expect_particle(steps.read("value", step=1), 4)
        expect_particle(steps.read("own", step=1)[0], 1)
        assert steps.read_block("bytes", 0, step=0).tobytes() == b"abcdef"
        assert steps.read("number", step=1) == 1.0
        assert steps.minmax("all") == (None, None)
        assert [block.count for block in steps.blocks("all")] == [(1, 2), (1, 2)]


def test_while_walking_through_the_stream(stream):
    with stepstore.open_steps(stream, stream=True) as steps:
        places = [steps.read("all")["place"].sum() for _ in steps.follow(timeout=10)]
    assert np.allclose(places, [21, 33])


def test_the_command_line_names_the_fields(cli, stream):
    assert "struct" in cli("steps", stream).out
    long = " ".join(cli("steps", stream, "-l", COLUMNS="200").out.split())
    for part in ("struct particle {", "int8 charge", "float32 place[3]", "complex128 wave"):
        assert part in long
    cli("steps", stream, "--blocks")
    dump = cli("steps", stream, "all", "-d", "--steps", "1").out
    assert "{charge: 1, tag: 'b', place: [1.0, 1.25, 1.5], x: 1.0, wave: (1-1j)}" in dump
    cli("steps", stream, "-d")


def test_json_has_the_fields_and_the_values(cli, stream):
    report = cli("steps", stream, "all", "value", "-d", "--json").json
    entry = {one["name"]: one for one in report["variables"]}["value"]
    assert entry["structure"]["size"] == 32
    assert entry["structure"]["fields"][2] == {"name": "place", "offset": 4, "type": "float32", "count": 3}
    assert entry["values"][1]["data"] == {
        "charge": 4,
        "tag": "e",
        "place": [4.0, 4.25, 4.5],
        "x": 4.0,
        "wave": [4.0, -4.0],
    }


def test_check_finds_nothing_wrong(cli, stream):
    cli("pool", "check", stream)  # ends with an error where something is damaged
