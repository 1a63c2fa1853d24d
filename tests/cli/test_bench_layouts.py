"""stepstore bench layouts: it runs each point and BP5, compares what is read, and refuses what cannot be run
before anything runs. No times are looked at."""

from __future__ import annotations

import os

import pytest

from stepstore.benchmarks.layout_points import Space, chosen_points

BP5 = os.environ.get("STEPSTORE_TEST_ADIOS2_MPI") == "1"
pytestmark = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_BENCH_LAYOUTS") != "1", reason="needs stepstore-bench-layouts and MPI"
)
CHOICES = {
    "Layout": ["array-aligned", "kv"],
    "Objects": ["single", "per-step"],
    "Steps": ["extend"],
    "Readers": ["delegate", "everyone"],
    "Gets": ["async", "sync"],
    "ReadAhead": ["auto", "0"],
}


@pytest.fixture
def run(cli):
    def run(*options, **more):
        common = ("--writers", 2, "--steps", 6, "--rounds", 1, "--directory", cli.directory)
        return cli("bench", "layouts", *common, *options, **more)

    return run


def refused(run, cli, *options, says):
    done = run(*options, code=2)
    last = done.err.strip().splitlines()[-1]
    assert says in last, last
    assert not list(cli.directory.glob("stepstore-bench-*"))


def refuse(message):
    raise ValueError(message)


def test_points_are_named_by_what_differs_from_the_default():
    space = Space(
        {
            "choices": CHOICES,
            "writer": [f"Layout={one},Objects=single,Steps=extend" for one in CHOICES["Layout"]],
            "reader": [
                "Readers=delegate,Gets=async,ReadAhead=auto",
                "Readers=delegate,Gets=sync,ReadAhead=0",
            ],
        }
    )

    def names(*wanted):
        return [point.name for point in chosen_points(list(wanted), space, refuse)]

    assert names("all") == ["array-aligned", "array-aligned,sync,ReadAhead=0", "kv", "kv,sync,ReadAhead=0"]
    assert names("default", "layouts", "kv") == ["array-aligned", "kv"]
    assert names("everyone,kv", "layout=kv,READERS=everyone") == ["kv,everyone"]
    assert names("kv,ChunkSize=4k") == ["kv,ChunkSize=4k"]
    (point,) = chosen_points(["kv,per-step,sync"], space, refuse)
    assert point.written == "Layout=kv,Objects=per-step,Steps=extend"
    assert point.read == "Readers=delegate,Gets=sync,ReadAhead=auto"
    for wrong in ("tree", "kv,array-aligned", "ReadAhead=0,readahead=0", "0"):
        with pytest.raises(ValueError, match="no point|twice"):
            names(wrong)


def test_points_and_bp5(run, cli):
    done = run(
        "--points", "layouts", "kv,per-step,everyone,sync", "ReadAhead=0", "--sizes", "2k,1k..80k", "--json"
    )
    records = done.json
    names = ["array-aligned", "array", "array-adaptive", "kv", "posix", "kv,per-step,everyone,sync"]
    names += ["array-aligned,ReadAhead=0", *(["bp5"] if BP5 else [])]
    assert {one["case"] for one in records} >= {
        f"{size}/{name}" for size in ("2k", "1k..80k") for name in names
    }
    for one in records:
        (measured,) = one["measured"]
        assert one["rounds"] == 1 and one["ours"] == one["end_to_end"] > 0 and one["unit"]
        assert one["stabilisation"] + one["acquisition"] == pytest.approx(one["ours"])
        assert one["with_one_off"] > 0
        assert (
            len(measured["stabilisation"]["by_step"])
            == len(measured["reading"]["acquisition"]["by_step"])
            == 6
        )
        assert measured["allocated_bytes"] > 2 * 6 * measured["blob_bytes"]
        if one["parameters"]:
            assert measured["blob_bytes"] < measured["metadata_bytes"] < measured["blob_bytes"] + 600
            posix = one["parameters"].startswith("Layout=posix")
            assert posix or sum(target["updates"] for target in measured["targets"]) >= 12
            assert posix or sum(target["fetches"] for target in measured["reading"]["targets"]) >= 2
        if BP5:
            (peer,) = (other for other in records if other["case"] == f"{one['size']}/bp5")
            assert one["peer"] == peer["ours"] and one["ratio"] == pytest.approx(one["ours"] / peer["ours"])
    assert not list(cli.directory.glob("stepstore-bench-*"))


def test_table_of_readers_that_follow(run, tmp_path):
    sizes = tmp_path / "sizes"
    sizes.write_text("100\n70000\n")
    shown = run("--points", "default", "--live", "--together", "--readers", 1, "--sizes", f"@{sizes}").out
    assert "array-aligned" in shown and "until a reader has it" in shown
    assert ("bp5" in shown) == BP5


def test_on_disk_with_power(run):
    done = run("--points", "default", "--durability", "power", "--set", "ChunkSize=16k", "--no-bp5", "--json")
    for one in done.json:
        assert "Durability=power" in one["measured"][0]["parameters"]
        assert "ChunkSize=16k" in one["measured"][0]["parameters"]
        assert one["peer"] is None and one["ratio"] is None


def test_what_cannot_be_run_is_refused_before_anything_runs(run, cli):
    refused(run, cli, "--points", "tree", says="there is no point 'tree'")
    refused(run, cli, "--points", "posix,per-step", says="Objects=per-step does not go with Layout=posix")
    refused(run, cli, "--points", "Colour=red", says="a stream has no parameter 'Colour'")
    refused(run, cli, "--writers", "0", says="at least 1")
    refused(run, cli, "--readers", "-1", says="at least 1")
    refused(run, cli, "--steps", "0", says="at least 1")
    refused(run, cli, "--sizes", "15", says="from 16 to 64M")
    refused(run, cli, "--sizes", "5k,65M", says="from 16 to 64M")
    refused(run, cli, "--sizes", "@/no/file", says="/no/file")
    refused(run, cli, "--sizes", ",", says="at least one size")
    refused(run, cli, "--directory", "/no/directory", says="there is no directory /no/directory")
    refused(run, cli, "--writers", "1000000", says="writers and as many readers")
    refused(run, cli, "--steps", "100000000", "--sizes", "64M", says="give at most")
    refused(run, cli, "--set", "MinDeferredSize", says="give NAME=VALUE")


def test_a_run_that_fails_says_why_in_one_line(run, cli):
    said = run("--points", "default", "--mpirun", "/no/mpirun", code=3).err
    assert "/no/mpirun" in said
    said = run("--points", "default", "--set", "Targets=4,ObjectClass=S64", code=1).err
    assert "stepstore-bench-layouts: " in said and "S64" in said and len(said.strip().splitlines()) == 1
    assert not list(cli.directory.glob("stepstore-bench-*"))
