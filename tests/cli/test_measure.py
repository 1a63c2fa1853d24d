"""stepstore simulate measure describes this machine as a cluster; validate compares it with what it takes."""

from __future__ import annotations

import os
import shutil

import pytest
from stepstore.lab.benchmarks.layout_points import all_layouts
from stepstore.lab.simulation.cluster import load

pytestmark = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_SIMULATE") != "1"
    or os.environ.get("STEPSTORE_TEST_BENCH_LAYOUTS") != "1"
    or shutil.which("mpirun") is None,
    reason="needs stepstore-simulate (SimGrid) and stepstore-bench-layouts (MPI)",
)
# A machine that is busy takes a multiple of it.
BRIEF = ("--ranks", 2, "--rounds", 1, "--steps", 20)
LAYOUTS = {layout.name for layout in all_layouts()}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    return tmp_path_factory.mktemp("measured") / "here.toml"


def test_a_machine_is_measured(cli, measured):
    cli("simulate", "measure", measured, *BRIEF, "--directory", cli.directory, timeout=400)
    values = {one.name: one for one in load(measured).parameters}
    assert set(values) == {one.name for one in load().parameters}
    assert values["processors"].value == len(os.sched_getaffinity(0))
    for name in ("kv_put", "array_write", "mpi_hop"):
        assert values[name].value > 0 and values[name].source.startswith("measured: stepstore")
    assert not list(measured.parent.glob(".*"))


def test_a_measured_machine_is_compared_with_what_it_takes(cli, measured):
    options = ("--cluster", measured, *BRIEF, "--directory", cli.directory, "--json")
    records = cli("simulate", "validate", *options, timeout=400).json
    assert {one["layout"] for one in records} == LAYOUTS and len(records) == 2 * len(LAYOUTS)
    for one in records:
        for part, ratio in one["ratios"].items():
            assert ratio == pytest.approx(one["simulated"][part] / one["measured"][part])
            assert ratio > 0


def test_a_measured_machine_can_be_asked_for_advice(cli, measured):
    found = cli("advise", "--cluster", measured, "--ranks", 4, "--metadata", "5k", "--json").json
    assert found["cluster"] == "here" and found["advice"]["end_to_end"] > 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("here",), "give a name that ends in .toml"),
        (("no/such/here.toml",), "there is no directory"),
        (("here.toml", "--ranks", 1), "--ranks: give a number above 1"),
        (("here.toml", "--rounds", 0), "--rounds, --steps: give at least 1"),
        (("here.toml", "--directory", "nowhere"), "--directory: there is no directory nowhere"),
    ],
)
def test_a_file_that_cannot_be_is_refused_before_anything_runs(cli, options, says):
    assert says in cli("simulate", "measure", *options, code=2).err
