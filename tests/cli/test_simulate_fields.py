"""The second reference's experiment on a simulated cluster. It takes the time that can be worked out by hand.
The same job gives the same times, and locks go from node to node. What cannot be run is refused. An
interrupted simulation leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stepstore.console import CommandError
from stepstore.lab.simulation.cluster import Cluster, Parameter, load, named
from stepstore.lab.simulation.command import simulate
from stepstore.lab.simulation.field_experiments import FILES, LONG, SHORT, FieldExperiments, Run
from stepstore.lab.simulation.field_statements import FIELD_STATEMENTS
from stepstore.lab.simulation.run import Simulator

pytestmark = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_SIMULATE") != "1", reason="needs stepstore-simulate (SimGrid)"
)
GOLDEN = Path(__file__).with_name("simulated_fields.json")
MILLISECOND = 1e-3
JOB = {
    "fields": "objects",
    "pattern": "separate",
    "writers": 2,
    "readers": 2,
    "steps": 3,
    "parameters": 2,
    "levels": 2,
    "size": 1 << 20,
}
FOUND = {"bytes": 1 << 30, "seconds": 2.0, "ends": [1.0, 2.0], "process": 2.0}
_ONES = ("name_servers", "servers", "engines", "targets", "ranks_per_node", "file_stripes")
_SIZES = ("file_rpc", "file_stripe", "toc_record", "toc_entry", "toc_buffer", "buffer_size")


def simulator(**values):
    """Of a cluster that takes no time, but for what is given."""
    usual = dict.fromkeys(_ONES, 1) | dict.fromkeys(_SIZES, 1 << 20) | {"memory": 1 << 40, "bisection": 1e15}
    usual |= {"buffers": 1024}
    parameters = [
        Parameter(one.section, one.name, usual.get(one.name, 1e15 if "bandwidth" in one.name else 0), "", "")
        for one in load().parameters
    ]
    return Simulator(Cluster("a test", tuple(parameters)), **values)


def test_each_field_is_one_write_and_one_read():
    found = simulator(array_write=MILLISECOND, array_read=10 * MILLISECOND).run(JOB)
    fields = 2 * 3 * 2 * 2  # of both processes, on one target
    assert found["written"]["seconds"] == pytest.approx(fields * MILLISECOND, rel=1e-4)
    assert found["read"]["seconds"] == pytest.approx(fields * 10 * MILLISECOND, rel=1e-4)
    assert found["read"]["bytes"] == fields << 20


def test_a_field_in_a_pool_in_files_is_written_and_read_whole():
    """The field engine's own code, with its checks of what it reads."""
    job = JOB | {"fields": "shared", "writers": 1, "readers": 1}
    fields = 3 * 2 * 2
    megabyte = {
        "file_write_bandwidth": (1 << 20) / MILLISECOND,
        "file_read_bandwidth": (1 << 20) / MILLISECOND,
    }
    found = simulator(**megabyte).run(job)
    assert found["fields"] == "shared"
    for side in ("written", "read"):  # besides, keys and pages: less than a tenth
        assert fields * MILLISECOND < found[side]["seconds"] < 1.1 * fields * MILLISECOND
        assert found[side]["bytes"] == fields << 20
    # A field has a file of its own: its data, its entry and what leads to them are names.
    names = simulator(name_change=MILLISECOND).run(job)
    assert names["written"]["seconds"] > 2 * fields * MILLISECOND
    assert names["read"]["seconds"] < 2 * fields * MILLISECOND


def test_writers_and_readers_work_at_the_same_time():
    found = simulator(array_write=MILLISECOND, array_read=MILLISECOND).run(JOB | {"pattern": "together"})
    fields = 2 * 3 * 2 * 2
    for side in ("written", "read"):  # they take turns
        assert fields * 1.7 * MILLISECOND < found[side]["seconds"] <= (2 * fields + 1) * MILLISECOND


def test_the_lock_of_the_table_of_contents_goes_from_node_to_node():
    job = JOB | {"fields": "files", "steps": 2}
    found = simulator(file_lock=1e-9, file_give_back=MILLISECOND).run(job)
    # Of four records the first finds nobody with a lock. Own files have no other user.
    assert found["written"]["seconds"] == pytest.approx(3 * MILLISECOND, rel=1e-3)
    same_node = simulator(file_lock=1e-9, file_give_back=MILLISECOND, ranks_per_node=2).run(job)
    assert same_node["written"]["seconds"] < MILLISECOND
    assert simulator(file_give_back=MILLISECOND).run(job)["written"]["seconds"] < 1e-6  # without locks


def test_a_data_server_turns_between_writes_and_reads():
    job = JOB | {"fields": "files", "writers": 1, "readers": 1, "steps": 1, "parameters": 1, "levels": 1}
    found = simulator(file_turn=MILLISECOND).run(job)
    assert found["written"]["seconds"] < 1e-6
    assert found["read"]["seconds"] == pytest.approx(MILLISECOND, rel=1e-3)  # then it goes on reading


class FewerServers(FieldExperiments):
    """The same experiments with up to 8 servers: the bandwidths that are stated are of a server. All numbers
    of servers take minutes."""

    def bandwidth(self, name, store, pattern, servers, length=LONG):
        fewer = {12: 4, 16: 8}.get(servers, servers)
        return super().bandwidth(name, store, pattern, fewer, length) * servers / fewer


def test_what_the_second_reference_states_holds(monkeypatch):
    # Fewer steps too, which are alike: 3 in place of 4, and 2 of the steps that have twice as many fields.
    steps = {LONG: 3, SHORT: 2}
    monkeypatch.setattr(Run, "steps", property(
        lambda run: run.length.steps if run.store == FILES else steps[run.length]))  # fmt: skip
    lab = FewerServers(Simulator(load(named("nextgenio"))))
    stated = [one for one in FIELD_STATEMENTS if one.figure in ("fdb-5", "fdb-6")]
    found = {one.text: one.value(lab) for one in stated}
    assert len(found) == 10
    assert {one.text: found[one.text] for one in stated if not one.holds(found[one.text])} == {}


def test_the_command_compares_what_the_second_reference_states(cli, monkeypatch, capsys):
    """With experiments that are not run."""
    monkeypatch.setattr(Simulator, "run", lambda *_, **__: {"written": FOUND, "read": FOUND})
    simulate(["figures", "--no-drawing", "--json", "--only", "fdb-5,fdb-6"])
    found = json.loads(capsys.readouterr().out)["statements"]
    assert [one["figure"] for one in found] == ["fdb-5"] * 2 + ["fdb-6"] * 8
    assert {one["how"] for one in found} == {"fitted", "predicted"}
    assert all(one["simulated"] > 0 for one in found)


def test_the_same_fields_take_the_same_times():
    cluster = load(named("nextgenio"))
    jobs = [JOB | {"fields": store, "pattern": pattern} for store in ("objects", "files", "shared")
            for pattern in ("separate", "together")]  # fmt: skip
    first, second = (Simulator(cluster, servers=1).run_all([(job, {}) for job in jobs]) for _ in range(2))
    assert first == second
    kept = json.loads(GOLDEN.read_text())
    for now, before in zip(first, kept, strict=True):
        assert [now["fields"], now["pattern"]] == [before["fields"], before["pattern"]]
        for side in ("written", "read"):
            assert now[side]["seconds"] == pytest.approx(before[side]["seconds"], rel=1e-9, abs=2e-9)
            assert now[side]["ends"] == pytest.approx(before[side]["ends"], rel=1e-9, abs=2e-9)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"fields": "tapes"}, "fields is 'tapes': give objects, files or shared"),
        ({"pattern": ""}, "pattern is ''"),
        ({"writers": 0}, "writers is 0, but must be a whole number from 1"),
        ({"readers": 3}, "each reads what one of the 2 writers has written"),
        ({"size": 16}, "size is 16"),
        ({"steps": 1000, "levels": 1000}, "more than 1000000 fields of a process"),
        ({"set": "verify"}, "give NAME=VALUE"),
        ({"set": "speed=1"}, "speed"),
        ({"fields": "files", "set": "verify=true"}, "files have no settings"),
        ({"depth": 1}, "there is no field depth"),
        (
            {"writers": 60000, "readers": 60000, "steps": 1000, "levels": 100},
            "of memory, and this machine has",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(change, says):
    with pytest.raises(CommandError) as error:
        simulator().run(JOB | change)
    assert says in str(error.value) and len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [0.0, 0.7])
def test_an_interrupted_simulation_leaves_nothing(tmp_path, number, after):
    scratch, figures = tmp_path / "scratch", tmp_path / "figures"
    scratch.mkdir()
    command = [
        sys.executable,
        "-m",
        "stepstore",
        "simulate",
        "figures",
        "--only",
        "8,9",
        "--directory",
        str(figures),
    ]
    running = subprocess.Popen(
        command,
        env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not list(scratch.glob("stepstore-simulate-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(after)
    running.send_signal(number)
    assert running.wait(60) != 0
    assert list(scratch.iterdir()) == []
    assert [one for one in figures.rglob("*") if one.suffix not in (".csv", ".png", ".svg")] == []
