"""stepstore advise: the estimates are what the engine's own code takes on the simulated cluster, the advice
follows the numbers, and impossible input is refused by the option and its range."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from stepstore.console import CommandError
from stepstore.errors import DER_NONEXIST, Error
from stepstore.lab.benchmarks.layout_points import all_layouts
from stepstore.lab.simulation import run
from stepstore.lab.simulation.cluster import load
from stepstore.lab.simulation.run import Simulator

pytestmark = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_ESTIMATE") != "1", reason="needs stepstore-estimate"
)
simulated = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_SIMULATE") != "1", reason="needs stepstore-simulate (SimGrid)"
)
NEAR = 0.15  # how far an estimate may be from the simulation of the engine
BOUND = 2.5  # by how much, where every rank reads
STEPS = 24
SETTLED = 3  # steps from which on nothing is new
LAYOUTS = [layout.name for layout in all_layouts() if layout.metadata != "other"]


def jobs(points, ranks, size, reading, **more):
    counts = {"writers": ranks, "readers": ranks, "steps": STEPS, "size": str(size), "read": reading}
    return [({**counts, "set": f"Layout={point}", **more}, {}) for point in points]


def both(wanted, **cluster):
    """For each job the stabilisation and acquisition of a step, as estimated by as simulated."""
    cluster = {"connection": 0, **cluster}
    for (job, _), simulation, estimate in zip(
        wanted,
        Simulator(load(), **cluster).run_all(wanted),
        Simulator(load(), "stepstore-estimate", **cluster).run_all(wanted),
        strict=True,
    ):
        written, acquired = simulation["stabilisation"], simulation["readings"][0]["acquisition"]
        by_step = written["by_step"][SETTLED:]
        read = sum(acquired["by_step"][SETTLED:]) / (STEPS - SETTLED)
        if "ReadAhead=0" not in job["read"] or "posix" in job["set"]:  # a step may bring others along
            read = acquired["mean"]
        guess = estimate["readings"][0]["acquisition"]["mean"]
        yield (
            f"{job['set']} {job['read']} {job['writers']} x {job['size']}",
            estimate["stabilisation"]["mean"] / (sum(by_step) / len(by_step)),
            guess / read,
        )


def require_near(compared):
    far = [one for one in compared if any(abs(ratio - 1) > NEAR for ratio in one[1:])]
    assert not far, far


@simulated
@pytest.mark.parametrize("servers", [2, 10])
@pytest.mark.parametrize("size", [5_000, 56_000])
@pytest.mark.parametrize("ranks", [8, 64, 300])
def test_each_layout_is_estimated_as_it_is_simulated(ranks, size, servers):
    require_near(both(jobs(LAYOUTS, ranks, size, "ReadAhead=0"), servers=servers))


@simulated
@pytest.mark.parametrize("ranks", [8, 64])
def test_reading_ahead_is_estimated_as_it_is_simulated(ranks):
    require_near(both(jobs(LAYOUTS, ranks, 5_000, "ReadAhead=auto")))


@simulated
def test_other_choices_are_estimated_as_they_are_simulated():
    points = [
        "kv,Objects=per-step",
        "kv,Objects=per-writer",
        "array,Objects=per-writer",
        "array-aligned,Objects=per-step",
        "array-aligned,Objects=per-writer",
        "array-aligned,Objects=per-machine,RanksPerObject=12",
        "array-aligned,ObjectClass=S4",
        "array,ChunkSize=64k",
        "array-aligned,RanksPerAggregator=8",
        "kv,RanksPerAggregator=32",
    ]
    require_near(both(jobs(points, 64, 5_000, "ReadAhead=0")))


@simulated
def test_where_every_rank_reads_the_estimate_is_rougher():
    for name, _, ratio in both(
        jobs(("kv", "array", "array-adaptive"), 32, 5_000, "ReadAhead=0,Readers=everyone")
    ):
        assert 1 / BOUND < ratio < BOUND, (name, ratio)


@simulated
def test_sizes_that_differ_are_estimated_too():
    require_near(both(jobs(("kv", "array-aligned"), 64, "2k..12k", "ReadAhead=0")))


def advised(cli, *options):
    return cli("advise", "--json", *options).json


def test_the_advice_is_the_fastest_of_what_was_compared(cli):
    found = advised(cli, "--ranks", 256, "--metadata", "5k", "--steps", 100)
    times = [one["end_to_end"] for one in found["predictions"]]
    assert times == sorted(times)
    assert found["advice"]["end_to_end"] <= times[0] * 1.03
    layouts = {one["point"].split(",")[0] for one in found["predictions"]}
    assert layouts == set(LAYOUTS)
    assert found["settings"].startswith("Layout=")
    assert found["advice"]["point"].split(",")[0] in found["reason"]


def test_what_is_advised_can_be_written(cli):
    settings = advised(cli, "--ranks", 2, "--metadata", "90k", "--steps", 10)["settings"]
    chosen = dict(pair.split("=") for pair in settings.split(","))
    point = ",".join(f"{name}={value}" for name, value in chosen.items())
    options = ("--writers", 1, "--steps", 3, "--sizes", "90k", "--rounds", 1, "--no-bp5", "--points", point)
    assert cli("bench", "layouts", "--json", *options).json


def test_large_metadata_gets_a_chunk_that_holds_them(cli):
    found = advised(
        cli, "--ranks", 64, "--metadata", "200k", "--points", "array-aligned", "array-aligned,ChunkSize=256k"
    )
    assert found["settings"] == "Layout=array-aligned,ChunkSize=256k"
    assert found["predictions"][1]["times_slower"] > 1.5
    chosen = advised(cli, "--ranks", 64, "--metadata", "200k")
    assert all(
        "ChunkSize=256k" in one["parameters"]
        for one in chosen["predictions"]
        if one["point"].startswith("array-aligned")
    )


def test_a_hundred_thousand_ranks_take_less_than_a_minute(cli):
    begin = time.monotonic()
    found = advised(cli, "--ranks", 100_000, "--metadata", "5k", "--steps", 1000, "--servers", 1000)
    assert time.monotonic() - begin < 60 * 5  # a test is no measurement: the machine may be busy
    assert found["servers"] == 1000
    notes = " ".join(found["notes"])
    assert "A reader rank holds about" in notes and "Fewer readers would save memory" in notes
    assert "reads nothing ahead" in notes


def test_memory_that_is_short_turns_reading_ahead_off(cli):
    options = ("--ranks", 1024, "--metadata", "5k", "--steps", 100)
    free = advised(cli, *options)
    assert "ReadAhead=0" not in free["settings"]
    needed = max(free["advice"]["memory"].values())
    short = advised(cli, *options, "--memory", int(needed // 2))
    assert "ReadAhead=0" in short["settings"]
    assert max(short["advice"]["memory"].values()) <= needed // 2
    none = advised(cli, *options, "--memory", "1M")
    assert any("more than --memory" in note for note in none["notes"])


def test_servers_change_what_is_predicted(cli):
    one, many = (
        advised(cli, "--ranks", 512, "--metadata", "56k", "--servers", servers, "--points", "kv")["advice"]
        for servers in (1, 20)
    )
    assert one["stabilisation"] > 5 * many["stabilisation"]


@simulated
def test_the_simulation_can_be_asked(cli):
    options = ("--ranks", 16, "--metadata", "5k", "--steps", 40, "--points", "layouts")
    asked, guessed = advised(cli, *options, "--simulate"), advised(cli, *options)
    assert all(one["simulated"] for one in asked["predictions"])
    assert asked["advice"]["end_to_end"] == pytest.approx(guessed["advice"]["end_to_end"], rel=NEAR)
    assert asked["advice"]["end_to_end"] != guessed["advice"]["end_to_end"]


def test_a_stream_tells_ranks_metadata_and_steps(cli):
    program = os.path.join(os.environ["STEPSTORE_TEST_BIN"], "stepstore-bench-layouts")
    if not os.path.exists(program):
        pytest.skip("needs MPI")
    place = cli.directory / "there"
    line = [
        "mpirun",
        "--allow-run-as-root",
        "--oversubscribe",
        "-n",
        "3",
        program,
        "--writers=2",
        "--readers=1",
    ]
    subprocess.run([*line, "--steps=6", "--size=3k", f"--location={place}"], check=True, capture_output=True)
    found = advised(cli, "--stream", place)
    assert (found["ranks"], found["reader_ranks"], found["steps"]) == (2, 2, 6)
    assert 3072 < found["rank_bytes"] < 3600
    more = advised(cli, "--stream", place, "--steps", 50, "--reader-ranks", 7)
    assert (more["reader_ranks"], more["steps"]) == (7, 50)


def test_without_the_simulator_one_line_says_what_is_missing(monkeypatch):
    def missing(name):
        raise Error(DER_NONEXIST, f"the program ({name}) was not built")

    monkeypatch.setattr(run, "program", missing)
    with pytest.raises(CommandError, match="not built.*It needs SimGrid: install libsimgrid-dev"):
        Simulator(load())
    with pytest.raises(CommandError, match="stepstore-estimate. was not built") as error:
        Simulator(load(), "stepstore-estimate")
    assert "SimGrid" not in str(error.value)


@pytest.mark.skipif(os.environ.get("STEPSTORE_TEST_SIMULATE") == "1", reason="SimGrid is there")
def test_a_build_without_simgrid_says_so(cli):
    for command in (("simulate",), ("advise", "--ranks", 2, "--metadata", "5k", "--simulate")):
        assert "install libsimgrid-dev" in cli(*command, code=3).err


def test_the_table_says_what_to_take_and_why(cli):
    text = cli("advise", "--ranks", 64, "--metadata", "5k").out
    assert "take Layout=" in text and "for a step end to end" in text and "- A reader rank holds" in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--ranks", "0", "--metadata", "5k"), "--ranks: '0' is no whole number from 1 to 1048576"),
        (("--ranks", "56k", "--metadata", "5k"), "--ranks: '56k' is no whole number from 1 to 1048576"),
        (
            ("--ranks", "9999999", "--metadata", "5k"),
            "--ranks: '9999999' is no whole number from 1 to 1048576",
        ),
        (
            ("--ranks", "8", "--metadata", "56KB"),
            "--metadata: '56KB' is no size from 16 to 67108864 bytes, such as",
        ),
        (("--ranks", "8", "--metadata", "0"), "--metadata: '0' is no size from 16"),
        (("--ranks", "8", "--metadata", "1G"), "--metadata: '1G' is no size from 16"),
        (
            ("--ranks", "8", "--metadata", "5k", "--servers", "0"),
            "--servers: '0' is no whole number from 1 to 65536",
        ),
        (("--ranks", "8", "--metadata", "5k", "--steps", "-1"), "--steps"),
        (("--ranks", "8", "--metadata", "5k", "--memory", "1"), "--memory: '1' is no size from 1048576"),
        (("--ranks", "8"), "give --ranks and --metadata, or --stream LOCATION"),
        (("--ranks", "8", "--stream", "x"), "--stream takes ranks and metadata from the stream"),
        (("--ranks", "8", "--metadata", "5k", "--points", "sideways"), "sideways"),
        (
            ("--ranks", "5000", "--metadata", "5k", "--simulate"),
            "--simulate: 5000 ranks take too long: it takes up to 1024",
        ),
    ],
)
def test_wrong_usage_is_refused_by_the_option_and_its_range(cli, options, says):
    assert says in cli("advise", *options, code=2).err


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (
            ("--ranks", "8", "--metadata", "5k", "--parameter", "targets=0"),
            1,
            "targets is 0, but must be a number from 1",
        ),
        (("--ranks", "8", "--metadata", "5k", "--cluster", "nowhere"), 1, "no cluster 'nowhere'"),
        (("--stream", "nowhere"), 3, "nowhere"),
        (("--ranks", "1000000", "--metadata", "64M"), 1, "a step has 61.0 TiB of metadata"),
    ],
)
def test_what_cannot_be_estimated_is_refused(cli, options, code, says):
    done = cli("advise", *options, code=code)
    assert says in done.err and len(done.err.strip().splitlines()) == 1, done.err
