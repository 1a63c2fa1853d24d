"""stepstore steps, on a stream that a stock ADIOS2 program wrote."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import stepstore
import write_stream
from stepstore.cli.steps import _describe as describe
from stepstore.xarray_backend.sources import OpenStream
from stepstore.xarray_backend.survey import survey
from streams import flip
from write_stream import SHAPE, STEPS


def by_name(report):
    return {variable["name"]: variable for variable in report["variables"]}


def test_variables_types_shapes_and_steps(cli, stream):
    report = cli("steps", stream, "--json").json
    assert report["steps"] == STEPS and report["ended"] is True
    found = by_name(report)
    assert found.keys() == {"field", "grid/half", "count", "label"}
    assert (found["field"]["type"], found["field"]["shape"], found["field"]["steps"]) == (
        "float64",
        list(SHAPE),
        [0, 1, 2, 3],
    )
    assert (found["count"]["type"], found["count"]["steps"]) == ("uint64", [0, 2])
    assert found["label"]["type"] == "string"
    shown = cli("steps", stream).out
    assert "{6, 8}" in shown and "scalar" in shown and "4 steps, ended" in shown


def test_minimum_and_maximum_blocks_and_bytes(cli, stream):
    found = by_name(cli("steps", stream, "-l", "--json").json)
    assert (found["field"]["min"], found["field"]["max"]) == (0.0, 347.0)
    assert (found["grid/half"]["min"], found["grid/half"]["max"]) == (0, 31)
    assert (found["grid/half"]["blocks"], found["grid/half"]["bytes"]) == (8, 4 * 48 * 4)
    shown = cli("steps", stream, "-l").out
    assert "347" in shown and "MIN" in shown


def test_patterns_choose_variables(cli, stream):
    assert by_name(cli("steps", stream, "grid/*", "--json").json).keys() == {"grid/half"}
    cli.fails("steps", stream, "nonsense*", code=3, says=("nonsense", "field"))


def test_rm_removes_a_stream_with_its_objects(cli, stream):
    where = f"{stream}/default"
    cli.fails("rm", stream, "--yes", code=2, says="names no stream")
    cli.fails("rm", f"{where}/nonsense", "--yes", code=3, says=("nonsense", "stepstore ls"))
    cli.fails("rm", f"{where}/main", code=2, says="--yes")
    before = cli("cont", "query", where, "--json").json
    assert before["streams"] == 1 and before["arrays"] > 0
    assert cli("rm", f"{where}/main", "--yes").out == "removed stream main\n"
    after = cli("cont", "query", where, "--json").json
    assert after["streams"] == 0 and after["arrays"] == 0
    cli.fails("steps", f"{where}/main", code=3, says="no stream")


def test_choosing_steps(cli, stream):
    def steps_of(text):
        return by_name(cli("steps", stream, "field", "--steps", text, "--json").json)["field"]["steps"]

    assert steps_of("1") == [1]
    assert steps_of("1:3") == [1, 2]
    assert steps_of("-1") == [3]
    assert steps_of("-2:") == [2, 3]
    cli.fails("steps", stream, "--steps", 4, code=3, says=("4", "4 steps"))
    cli.fails("steps", stream, "--steps", "x", code=2, says="A:B")


def test_dump_of_a_box(cli, stream):
    found = by_name(
        cli("steps", stream, "field", "-d", "--steps", 2, "-s", "1,2", "-c", "2,-1", "--json").json
    )
    expected = (np.arange(48.0).reshape(SHAPE) + 200)[1:3, 2:]
    assert found["field"]["values"] == [{"step": 2, "data": expected.tolist()}]
    lines = cli(
        "steps", stream, "field", "-d", "--steps", 2, "-s", "1,2", "-c", "2,4", "-n", 4
    ).out.splitlines()
    assert "(1,2)  210.0  211.0  212.0  213.0" in lines[2]
    assert "(2,2)  218.0  219.0  220.0  221.0" in lines[3]


def test_dump_of_values_and_text(cli, stream):
    found = by_name(cli("steps", stream, "count", "label", "-d", "--json").json)
    assert [v["data"] for v in found["count"]["values"]] == [0, 14]
    assert [v["data"] for v in found["label"]["values"]] == [f"step {i}" for i in range(STEPS)]
    assert '"step 3"' in cli("steps", stream, "label", "-d").out


def test_a_box_outside_is_refused(cli, stream):
    assert "field" in cli("steps", stream, "field", "-d", "-s", "5,0", "-c", "2,1", code=1).err
    assert "2 dimensions" in cli("steps", stream, "field", "-d", "-s", "5", "-c", "2", code=1).err
    cli.fails("steps", stream, "-s", "0,0", code=2, says="-d")
    cli.fails("steps", stream, "-d", "-s", "a,b", code=2, says="a,b")


def test_attributes(cli, stream):
    found = {a["name"]: a for a in cli("steps", stream, "-a", "--json").json["attributes"]}
    assert found["title"]["value"] == "a test"
    assert found["spacing"]["value"] == [0.5, 0.25]
    assert "a test" in cli("steps", stream, "-a").out


def test_blocks(cli, stream):
    found = by_name(cli("steps", stream, "grid/half", "--blocks", "--steps", 1, "--json").json)
    blocks = found["grid/half"]["block_list"]
    assert [(b["start"], b["count"], b["min"], b["max"]) for b in blocks] == [
        ([0, 0], [3, 8], 10, 10),
        ([3, 0], [3, 8], 11, 11),
    ]
    assert "{3, 0}" in cli("steps", stream, "grid/half", "--blocks").out


def test_profile(cli, stream):
    profile = cli("steps", stream, "--profile", "--json").json
    assert profile["ranks"][0]["steps"] == STEPS
    assert profile["ranks"][0]["stabilisation_seconds"] > 0
    assert "STABILISATION" in cli("steps", stream, "--profile").out
    assert json.loads((cli.directory / "s/files/profiling.json").read_text())["ranks"] == profile["ranks"]
    assert 4 <= len(profile["targets"]) <= 16 and sum(target["updates"] for target in profile["targets"]) > 0
    assert profile["readers"] is None
    shown = cli("steps", stream, "--profile", "-l").out
    assert "FROM STEP" in shown and "UPDATES" in shown and "(files/profiling.json)" in shown


def test_a_profile_of_others_is_not_believed(cli, stream):
    mine = cli("steps", stream, "--profile", "--json").json
    whole = {name: mine[name] for name in ("version", "layout", "ranks", "targets")} | {"side": "readers"}
    file = cli.directory / "s/files/profiling_readers.json"
    file.write_text(json.dumps(whole))
    assert "readers, layout" in cli("steps", stream, "--profile", "-l").out
    rank = whole["ranks"][0]
    file.write_text(json.dumps(whole | {"version": 2}))
    cli.fails("steps", stream, "--profile", code=1, says=("readers", "version 2"))
    for wrong in (
        [],
        "text",
        whole | {"ranks": []},
        whole | {"ranks": [{"rank": 0}]},
        whole | {"ranks": [rank | {"rows": []}]},
        whole | {"ranks": [rank | {"rows": rank["rows"] | {"steps": []}}]},
        whole | {"ranks": [rank | {"rows": rank["rows"] | {"steps": ["1"] * len(rank["rows"]["step"])}}]},
        whole | {"targets": [7]},
        {name: whole[name] for name in whole if name != "layout"},
    ):
        file.write_text(json.dumps(wrong))
        cli.fails("steps", stream, "--profile", "-l", code=4, says=("readers", "damaged"))
    file.write_text("{")
    cli.fails("steps", stream, "--profile", code=4, says="damaged")


def test_ls_stat_and_locations_of_a_stream(cli, stream):
    listed = {one["name"]: one for one in cli("ls", "./s/default", "--json").json}
    assert (listed["main"]["type"], listed["main"]["steps"]) == ("stream", STEPS)
    info = cli("stat", "./s/default/main", "--json").json
    assert (info["type"], info["steps"], info["variables"]) == ("stream", STEPS, 4)
    assert cli("steps", "./s/default/main", "--json").json["steps"] == STEPS
    assert cli("steps", "s", "--json").json["steps"] == STEPS
    variables = cli("ls", "./s/default/main", "--json").json
    assert len(variables) == 4 and {one["type"] for one in variables} == {"variable"}


def test_a_stream_as_it_was_at_a_snapshot(cli, stream):
    """The container is changed after the snapshot: another run of the program takes the stream's place."""
    cli("snapshot", "create", "./s/default", "--name", "first")
    program = Path(write_stream.__file__)
    environment = {**cli.environment, "ADIOS2_PLUGIN_PATH": stepstore.plugin_path()}
    subprocess.run([sys.executable, program, "./s", "2"], cwd=cli.directory, env=environment, check=True)
    now = by_name(cli("steps", stream, "field", "-d", "-s", "0,0", "-c", "1,1", "--json").json)
    assert [v["data"] for v in now["field"]["values"]] == [[[0.0]], [[100.0]]]
    then = by_name(
        cli("steps", stream, "field", "-d", "-s", "0,0", "-c", "1,1", "--json", "--snapshot", "first").json
    )
    assert [v["data"] for v in then["field"]["values"]] == [[[0.0]], [[100.0]], [[200.0]], [[300.0]]]
    cli.fails("steps", stream, "--snapshot", "other", code=3, says=("other", "first"))


def test_streams_that_are_not_there(cli, stream):
    cli.fails("steps", "./s/default/other", code=3, says="other")
    cli.fails("steps", "./s/none", code=3, says="none")
    cli.fails("steps", "./absent", code=3, says="absent")
    cli.fails("ls", "./s/default/other", code=3, says="other")
    cli.fails("stat", "./s/default/other", code=3, says="other")


def test_check_walks_the_stream(cli, stream):
    report = cli("pool", "check", stream, "--json").json
    assert report["summary"]["damaged"] is False
    assert [(s["whole_steps"], s["damaged_steps"]) for s in report["summary"]["streams"]] == [(STEPS, 0)]
    assert "4 whole steps" in cli("pool", "check", stream).out


def test_check_names_the_step_whose_data_are_damaged(cli, stream):
    flip(cli.directory / "s", (np.arange(48, dtype=np.float64) + 200).tobytes())
    report = cli("pool", "check", stream, "--json", code=4).json
    assert report["summary"]["damaged"] is True
    damage = [f for f in report["findings"] if f["severity"] == "damage"]
    assert any("step 2" in f["where"] + f["what"] for f in damage)
    assert "step 2" in cli("pool", "check", stream, code=4).out
    assert "field" in cli("steps", stream, "field", "-d", "--steps", 2, code=4).err
    cli("steps", stream, "field", "-d", "--steps", 1)


def test_python_reads_the_same(cli, stream):
    with stepstore.open_steps(cli.directory / "s") as steps:
        assert len(steps) == STEPS and steps.ended
        for step in range(STEPS):
            assert np.array_equal(steps.read("field", step), np.arange(48.0).reshape(SHAPE) + 100 * step)
        assert np.array_equal(steps.read("grid/half")[2:4, 5], [30, 31])
        assert np.array_equal(steps.read_block("grid/half", 1, step=0), np.full((3, 8), 1))
        assert steps.read("label", -1) == "step 3"
        assert steps.read("count", 2) == 14
        assert steps.available_steps("count") == [0, 2]
        assert steps.minmax("field", 1) == (100.0, 147.0)
        assert steps.attributes()["title"].value == "a test"
        for wrong in (
            lambda: steps.read("nothing"),
            lambda: steps.read("count", 1),
            lambda: steps.read("field", 99),
        ):
            with pytest.raises(stepstore.Error) as caught:
                wrong()
            assert caught.value.name == "DER_NONEXIST"
        assert steps.read("field", 0).sum() == np.arange(48.0).sum()  # still usable after the errors


def test_python_follows_a_stream(cli, stream):
    with stepstore.open_steps(cli.directory / "s", stream=True) as steps:
        seen = [(step, steps.read("field")[0, 0]) for step in steps.follow(timeout=5)]
    assert seen == [(step, 100.0 * step) for step in range(STEPS)]
    with pytest.raises(stepstore.Error, match="closed"):
        len(steps)


def test_python_learns_that_the_writer_died(cli, stream):
    program = (
        "import os, signal, sys, adios2, write_stream\n"
        "adios2.Engine.close = lambda engine: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_stream.main(sys.argv[1])\n"
    )
    environment = {
        **os.environ,
        "ADIOS2_PLUGIN_PATH": stepstore.plugin_path(),
        "PYTHONPATH": str(Path(write_stream.__file__).parent),
    }
    done = subprocess.run(
        [sys.executable, "-c", program, "./died"], cwd=cli.directory, env=environment, check=False
    )
    assert done.returncode == -signal.SIGKILL
    with stepstore.open_steps(cli.directory / "died", stream=True) as steps:
        seen = []
        with pytest.raises(stepstore.Error, match="process [0-9]+ on host .* died") as caught:
            for step in steps.follow():  # would wait for ever
                seen.append((step, steps.read("field")[0, 0]))
        assert caught.value.name == "DER_CANCELED"
        assert seen == [(step, 100.0 * step) for step in range(STEPS)]
        assert steps.begin_step(timeout=0) is stepstore.StepStatus.WRITER_DIED


def test_python_reads_a_live_stream_whose_steps_bring_new_variables(cli, stream_template):
    """Every step has a variable that no step before it had, and puts another shape of the one that all
    have."""
    program = (
        "import sys, time, adios2, numpy as np\n"
        "io = adios2.Adios().declare_io('out')\n"
        "io.set_engine('Plugin')\n"
        "io.set_parameters({'PluginName': 'Stepstore', 'PluginLibrary': 'stepstore_adios2', 'Location': "
        "sys.argv[1]})\nengine = io.open('anything', adios2.bindings.Mode.Write)\n"
        "growing = io.define_variable('growing', np.zeros(1, dtype=np.int64), [2], [0], [2])\n"
        "for step in range(150):\n"
        "    engine.begin_step()\n"
        "    data = np.full(step + 2, step)\n"
        "    new = io.define_variable(f'new{step}', data, [step + 2], [0], [step + 2])\n"
        "    growing.set_shape([step + 2])\n"
        "    growing.set_selection([[0], [step + 2]])\n"
        "    engine.put(new, data, adios2.bindings.Mode.Sync)\n"
        "    engine.put(growing, data, adios2.bindings.Mode.Sync)\n"
        "    engine.end_step()\n"
        "    time.sleep(0.002)\n"
        "engine.close()\n"
    )
    environment = {**os.environ, "ADIOS2_PLUGIN_PATH": stepstore.plugin_path()}
    with subprocess.Popen(
        [sys.executable, "-c", program, "./live"], cwd=cli.directory, env=environment
    ) as writer:
        with stepstore.open_steps(cli.directory / "live", open_timeout=60) as steps:
            lengths = set()
            while not (steps.ended and lengths) and writer.poll() in (None, 0):
                if not len(steps):
                    continue
                last = steps.read("growing")
                assert len(last) == last[0] + 2 and (last == last[0]).all()
                assert set(steps.variables(int(last[0]))) == {"growing", f"new{last[0]}"}
                assert f"new{len(steps) - 1}" in steps.definitions()
                names = steps.variables()
                newest = next(name for name in names if name != "growing")
                assert names[newest].shape == names["growing"].shape
                number = int(newest.removeprefix("new"))
                assert steps.available_steps(newest) == [number]
                assert (steps.read(newest, number) == number).all()
                assert steps.blocks("growing", number)[0].count == (number + 2,)
                assert steps.read_block("growing", 0)[0] >= number
                lengths.add(number)
        assert writer.wait() == 0
    assert len(lengths) > 5, "the reader saw the stream grow"


def test_python_refuses_unknown_options(cli, stream):
    with pytest.raises(stepstore.Error, match="Nonsense.*ReadAhead"):
        stepstore.open_steps(cli.directory / "s", Nonsense="1")


MANY = """
import sys, adios2, numpy as np
io = adios2.Adios().declare_io("out")
io.set_engine("Plugin")
io.set_parameters({"PluginName": "Stepstore", "PluginLibrary": "stepstore_adios2", "Location": sys.argv[1]})
engine = io.open("anything", adios2.bindings.Mode.Write)
data = np.arange(2.0)
variables = [io.define_variable(f"v{number}", data, [2], [0], [2]) for number in range(int(sys.argv[2]))]
for step in range(2):
    engine.begin_step()
    for variable in variables:
        engine.put(variable, data, adios2.bindings.Mode.Sync)
    engine.end_step()
engine.close()
"""


class Counting:
    """A handle that counts what its calls return: that is what they cost."""

    def __init__(self, handle):
        self._handle, self.told = handle, 0

    def __getattr__(self, name):
        found = getattr(self._handle, name)
        if not callable(found):
            return found

        def counted(*arguments):
            result = found(*arguments)
            self.told += 1 + (len(result) if isinstance(result, list | dict) else 0)
            return result

        return counted


LOOKS = {
    "steps -l": lambda steps, names: describe(steps, names, range(2), statistics=True),
    "read": lambda steps, names: [steps.read(name, 0) for name in names],
    "read in turn": lambda steps, names: [steps.read(name, step) for name in names for step in (0, 1)],
    "variable": lambda steps, names: [steps.variable(name) for name in names],
    "shape": lambda steps, names: [steps.shape(name, 1) for name in names],
    "blocks": lambda steps, names: [steps.blocks(name, 1) for name in names],
    "minmax": lambda steps, names: [steps.minmax(name, 1) for name in names],
    "read_block": lambda steps, names: [steps.read_block(name, 0, 1) for name in names],
    "available_steps": lambda steps, names: [steps.available_steps(name) for name in names],
    "definitions": lambda steps, names: steps.definitions(),
    "variables": lambda steps, names: [steps.variables(step) for step in (0, 1)],
    "xarray": lambda steps, names: survey(OpenStream(steps), [0, 1], ()),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_at_all_variables_grows_with_their_number_and_no_faster(cli, look):
    if os.environ.get("STEPSTORE_TEST_PLUGIN") == "0":
        pytest.skip("built without the ADIOS2 plugin")
    environment = {**os.environ, "ADIOS2_PLUGIN_PATH": stepstore.plugin_path()}
    told = {}
    for count in (100, 400):
        where = cli.directory / f"many{count}"
        subprocess.run([sys.executable, "-c", MANY, where, str(count)], env=environment, check=True)
        with stepstore.open_steps(where) as steps:
            names = [f"v{number}" for number in range(count)]
            steps._handle = counting = Counting(steps._handle)
            LOOKS[look](steps, names)
            told[count] = counting.told
    assert told[400] <= 4 * told[100] + 100
