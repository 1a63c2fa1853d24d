"""stepstore bench arrays, metadata, data and open: they run, and report what a program can read. No times are
looked at."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from stepstore.cli.bench import BENCHMARKS
from stepstore.console import CommandError
from stepstore.errors import DER_NONEXIST, Error
from stepstore.lab.benchmarks import data

PLUGIN = os.environ.get("STEPSTORE_TEST_PLUGIN") == "1"
METADATA = PLUGIN and bool(os.environ.get("STEPSTORE_PERFMETADATA"))
DECOMPOSED = os.environ.get("STEPSTORE_TEST_BENCH_DECOMPOSED") == "1"
WAYS = ("write", "read")
STEPS = PLUGIN and os.environ.get("STEPSTORE_TEST_BENCH_STEPS") == "1"


def check(records, names):
    assert [one["case"] for one in records] == names
    for one in records:
        assert one["ours"] > 0 and one["peer"] > 0 and one["unit"] and one["rounds"] == 1
        small, large = ("peer", "ours") if one["unit"] == "MiB/s" else ("ours", "peer")
        assert one["ratio"] == pytest.approx(one[small] / one[large])


@pytest.mark.skipif(not METADATA, reason="needs ADIOS2's PerfMetaData and the plugin")
@pytest.mark.parametrize(("engine", "on"), [("plugin", "machine"), ("native", "files")])
def test_metadata(cli, engine, on):
    run = ("bench", "metadata", "--ranks", 2, "--steps", 3, "--rounds", 1, "--directory", cli.directory)
    run += ("--engine", engine, "--on", on)
    names = [
        f"{kind}/2 ranks/{what}"
        for kind, parts in (
            ("e3sm", ("writer", "limit", "installation", "traversal", "bytes")),
            ("warpx", ("writer", "limit", "installation", "bytes")),
        )
        for what in parts
    ]
    records = cli(*run, "--json").json
    check(records, names)
    # Bytes do not depend on the load: this is a bound, of few steps, with everything that is said once in
    # them.
    assert all(one["ratio"] < 1 for one in records if one["case"].endswith("bytes"))
    assert not list(cli.directory.glob("stepstore-bench-*"))
    table = cli(*run, "--sets", "e3sm").out
    assert "e3sm/2 ranks/writer" in table and "warpx" not in table


@pytest.mark.skipif(not STEPS, reason="needs stepstore-bench-steps and the plugin")
@pytest.mark.parametrize("on", ["machine", "files"])
def test_data_and_open(cli, on):
    where = ("--rounds", 1, "--directory", cli.directory, "--on", on, "--json")
    records = cli("bench", "data", "--ranks", 2, "--sizes", 1, "--total", 4, *where).json
    check(records, ["write/2 ranks/1 MiB", "read/2 ranks/1 MiB"])
    records = cli("bench", "data", "--ranks", 2, "--sizes", 1, "--total", 4, "--compute", 5, *where).json
    whats = ("calls", "calls and computation")
    check(records, [f"{what}/2 ranks/1 MiB/AsyncWrite={mode}" for what in whats for mode in ("off", "on")])
    for alone, computing in zip(records[:2], records[2:], strict=True):
        assert alone["ours"] < computing["ours"] and alone["peer"] < computing["peer"]
    records = cli("bench", "open", "--steps", 20, *where).json
    check(
        records,
        [
            f"20 steps/{what}"
            for what in ("open", "first get of the last step", "open and get", "write a step")
        ],
    )
    assert not list(cli.directory.glob("stepstore-bench-*"))


@pytest.mark.skipif(not PLUGIN, reason="needs the plugin")
def test_xarray(cli):
    pytest.importorskip("xarray")
    run = ("bench", "xarray", "--size", 2, "--steps", "1,4", "--blocks", "2", "--rounds", 1)
    records = cli(*run, "--directory", cli.directory, "--json").json
    check(records, ["load/2 MiB/1 steps/2 blocks", "load/2 MiB/4 steps/2 blocks"])
    assert not list(cli.directory.glob("stepstore-bench-*"))
    cli("bench", "xarray", "--size", 1, "--steps", "3", code=2)


def test_arrays(cli):
    run = (
        "bench",
        "arrays",
        "--processes",
        "1,2",
        "--blocks",
        "4k,1M",
        "--chunks",
        "64k,1M",
        "--classes",
        "S1,SX",
        "--bytes",
        "1M",
        "--rounds",
        1,
        "--directory",
        cli.directory,
    )
    records = cli(*run, "--json").json
    seen = {
        (one["processes"], one["block"], one["object_class"], one["chunk"], one["objects"]) for one in records
    }
    assert len(records) == len(seen) == 8 + 16  # one object for all of one process is no case of its own
    assert all(one["write"] > 0 and one["read"] > 0 and one["ratio"] >= 1 for one in records)
    assert sum(one["ratio"] == 1 for one in records) >= 4
    assert not list(cli.directory.glob("stepstore-bench-*"))
    assert "SX/64KiB" in cli(*run).out
    cli("bench", "arrays", "--blocks", "0", code=2)
    cli("bench", "arrays", "--classes", "S0", "--processes", 1, "--blocks", "4k", code=1)


def test_zarr(cli):
    pytest.importorskip("zarr")
    run = ("bench", "zarr", "--sizes", "4096,131072", "--chunks", 20, "--rounds", 1)
    run += ("--directory", cli.directory)
    direct = ("write, direct calls", "read, direct calls")
    names = [
        f"{what}/20 chunks of {size} KiB"
        for size, more in ((4, direct), (128, ()))
        for what in ("write", "read", *more, "set", "get", "list")
    ]
    check(cli(*run, "--json").json, names)
    assert "LOCALSTORE" in cli(*run).out
    assert not list(cli.directory.glob("stepstore-bench-*"))
    cli("bench", "zarr", "--sizes", "17", code=2)


@pytest.mark.skipif(not DECOMPOSED, reason="needs stepstore-bench-decomposed")
def test_decomposed(cli):
    run = ("bench", "decomposed", "--ranks", 3, "--shape", "12,10,8", "--rounds", 1)
    run += ("--directory", cli.directory)
    records = cli(*run, "--json").json
    peers = {one["case"].split("/")[2] for one in records}
    assert peers in ({"MPI-IO"}, {"MPI-IO", "HDF5"})
    check(records, [f"{what}/3 ranks/{peer}" for peer in sorted(peers, reverse=True) for what in WAYS])
    assert not list(cli.directory.glob("stepstore-bench-*"))
    assert "write/3 ranks/MPI-IO" in cli(*run).out
    several = cli(*run, "--keep-pool", "--read-as", "columns,same,rows", "--json").json
    check(
        several,
        [
            f"{what}/3 ranks/{peer}"
            for peer in sorted(peers, reverse=True)
            for what in ("write", "read as columns", "read", "read as rows")
        ],
    )
    cli("bench", "decomposed", "--shape", "0", code=2)
    cli("bench", "decomposed", "--read-as", "same,diagonals", code=2)
    cli("bench", "decomposed", "--shape", "8", "--mpirun", "/no/mpirun", code=3)


def test_fieldstore(cli):
    words = ("--directory", cli.directory, "--size=1500", "--steps=2", "--params=2", "--levels=2")
    shown = cli("bench", "fieldstore", *words, "--set", "packBelow=0,verify=false").out
    assert [line.split()[0] for line in shown.splitlines()] == ["write", "read", "list"]
    assert "packBelow" in cli("bench", "fieldstore", "--help").out
    assert "give options only" in cli("bench", "fieldstore", "size=1500", code=2).err
    assert "give NAME=VALUE" in cli("bench", "fieldstore", "--set", "verify", code=2).err
    assert "--steps x: give a whole number" in cli("bench", "fieldstore", "--steps=x", code=2).err
    assert "element|collocation" in cli("bench", "fieldstore", "--schema=both", code=2).err
    assert "no setting 'index'" in cli("bench", "fieldstore", "--set", "index=process", code=2).err


def test_the_documents_name_benchmarks_that_there_are():
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *root.glob("docs/**/*.md")]
    texts = {page: page.read_text() for page in pages}
    named = {name for text in texts.values() for name in re.findall(r"`stepstore\s+bench\s+([a-z]+)", text)}
    assert named == set(BENCHMARKS)
    # Not on the PATH of those who have the command.
    assert not [page for page, text in texts.items() if "stepstore-bench-" in text]


def test_without_adios2_with_mpi_it_is_said_what_to_do(cli, monkeypatch):
    def not_built(name):
        raise Error(DER_NONEXIST, f"the program ({name}) was not built with this installation")

    monkeypatch.setattr(data, "program", not_built)
    for run, words in ((data.data, ["--ranks", "1"]), (data.open_, [])):
        with pytest.raises(CommandError, match=r"not built.*adios2-mpi\.sh.*setup\.sh"):
            run([*words, "--directory", str(cli.directory)])


def test_wrong_use(cli):
    cli("bench", "metadata", "--sets", "nonsense", code=2)
    cli("bench", "data", "--ranks", "0", code=2)
    cli("bench", "open", "--bytes", "17", code=2)
    assert "--ranks" in cli("bench", "metadata", "--help").out


@pytest.mark.skipif(not METADATA, reason="needs ADIOS2's PerfMetaData and the plugin")
def test_what_is_missing_is_named(cli):
    said = cli.fails("bench", "metadata", "--program", "/no/PerfMetaData", code=3, says="/no/PerfMetaData")
    assert "adios2-mpi.sh" in said
    cli.fails("bench", "metadata", "--mpirun", "/no/mpirun", code=3, says="/no/mpirun")
    cli.fails("bench", "metadata", "--program", shutil.which("false"), "--ranks", 1, code=1, says="status 1")
