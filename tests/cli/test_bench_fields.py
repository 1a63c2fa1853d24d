"""stepstore bench fields: it runs on FDB's files and on a pool, checks what it reads, and reports what a
program can read. No times are looked at."""

from __future__ import annotations

import importlib.util
import json
import os

import pytest
from stepstore.lab.benchmarks.field_figures import statements
from stepstore.lab.benchmarks.fields import _REPORTED
from stepstore.lab.benchmarks.records import GOALS, SECOND_REFERENCE

WHEELS = all(
    importlib.util.find_spec(name) for name in ("fdb5lib", "eckitlib", "metkitlib", "eccodeslib", "eccodes")
)
FDB5 = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_FDB5") != "1" or not WHEELS,
    reason="needs the wheels of FDB and the plugin",
)
SMALL = ("--steps", 2, "--params", 2, "--levels", 3, "--rounds", 1)


@FDB5
def test_all_that_is_measured(cli):
    figures = cli.directory / "figures"
    draw = ("--figures", figures) if importlib.util.find_spec("matplotlib") else ()
    records = cli(
        "bench",
        "fields",
        *SMALL,
        "--processes",
        2,
        "--sizes",
        "1.5k",
        "--directory",
        cli.directory,
        "--json",
        *draw,
    ).json
    assert sorted(one["what"] for one in records) == sorted(_REPORTED)
    for one in records:
        assert (
            one["case"] == f"{one['what']}/2 processes/1.5 KiB/element" and one["unit"] and one["rounds"] == 1
        )
        small, large = ("peer", "ours") if one["unit"] == "MiB/s" else ("ours", "peer")
        if min(one[small], one[large]) > 0:
            assert one["ratio"] == pytest.approx(one[small] / one[large])
        else:  # of a subtraction, on a busy machine
            assert one["ratio"] is None and one["what"] == "write outside FDB"
        assert one["fields_of_a_process"] == 12 and one["field_bytes"] == pytest.approx(1536, abs=2)
        if one["what"] != "write outside FDB":
            assert one["ours"] > 0 and one["peer"] > 0
        itself = one["what"] in ("write", "list") or one["what"].startswith(("read", "first"))
        assert (
            (one["limit"] is not None and one["limit"] > 0 and one["best_ratio"] > 0)
            if itself
            else one["limit"] is None
        )
    # All that was archived lies on disk when its bytes are counted, and nothing afterwards.
    assert all(one["ours"] >= 1 and one["peer"] >= 1 for one in records if one["what"] == "bytes on disk")
    assert not list(cli.directory.glob("stepstore-bench-*"))
    if draw:
        names = {
            f"fields.{ending}" for ending in ("csv", "json", "narrow.svg", "png", "svg", "statements.json")
        }
        assert {one.name for one in figures.iterdir()} == names
        found = json.loads((figures / "fields.statements.json").read_text())["statements"]
        assert {one["reference"] for one in found} == {GOALS, SECOND_REFERENCE}
        assert all(one["why"] for one in found)


def _case(what, processes, ours, peer, goal=None, best=None):
    return {
        "case": f"{what}/{processes}/1.5 KiB/element", "what": what, "unit": "MiB/s", "ours": ours,
        "peer": peer, "ratio": peer / ours, "goal": goal, "best_ratio": best,
    }  # fmt: skip


def test_statements_tell_the_worst_setting_and_what_contention_costs():
    records = [
        _case("write", 1, 200, 100, 1.0),
        _case("write", 4, 80, 100, 1.0, best=0.4),
        _case("w+r: write", 1, 150, 60),
        _case("w+r: write", 4, 100, 50),
        _case("list", 1, 4, 1, 0.5),
    ]
    goal, listed, reference, together = statements(records)
    assert goal["verdict"] == "missed" and goal["found"] == pytest.approx(1.25)
    assert "1 of 2" in goal["why"] and "4/1.5 KiB" in goal["why"] and "0.40" in goal["why"]
    assert listed["verdict"] == reference["verdict"] == "beaten"
    assert together["figure"] == "fdb-6" and together["found"] == pytest.approx(0.45)
    assert together["verdict"] == "reproduced"
    assert "ours keeps 100 %" in together["why"] and "files 55 %" in together["why"]


@FDB5
def test_keys_in_the_collocation_key_and_decoded_messages(cli):
    run = (
        *SMALL,
        "--processes",
        1,
        "--sizes",
        "100k",
        "--schemas",
        "collocation",
        "--patterns",
        "separate",
        "--archive",
        "message",
        "--settings",
        "packBelow=0",
    )
    table = cli("bench", "fields", *run, "--on", "files", "--directory", cli.directory).out
    assert "read one by one/1 process/100 KiB/collocation" in table and "w+r" not in table and "BEST" in table


@FDB5
def test_what_is_wrong_is_named(cli):
    where = (*SMALL, "--processes", 1, "--sizes", "2k", "--directory", cli.directory)
    cli.fails("bench", "fields", *where, "--settings", "nonsense=1", code=1, says="nonsense")
    cli.fails(
        "bench",
        "fields",
        *where,
        "--steps",
        240,
        "--params",
        16,
        "--levels",
        1000,
        "--sizes",
        "1000M",
        "--space",
        10**9,
        code=1,
        says="free",
    )
    assert not list(cli.directory.glob("stepstore-bench-*"))


@FDB5
def test_without_the_plugin_it_refuses(monkeypatch):
    from stepstore.console import CommandError
    from stepstore.errors import DER_NONEXIST, Error
    from stepstore.lab.benchmarks import fields

    def missing():
        raise Error(DER_NONEXIST, "the FDB5 plugin was not built")

    monkeypatch.setattr(fields, "fdb5_directories", missing)
    with pytest.raises(CommandError, match="was not built.*docs/fdb.md"):
        fields.fields(["--quick"])


def test_without_the_wheels_it_refuses(monkeypatch):
    from stepstore.console import CommandError
    from stepstore.lab.benchmarks import fields

    monkeypatch.setattr(fields, "_WHEELS", ("no_such_wheel",))
    with pytest.raises(CommandError, match="no_such_wheel.*pip install"):
        fields.fields(["--quick"])


def test_wrong_use(cli):
    cli("bench", "fields", "--schemas", "nonsense", code=2)
    cli("bench", "fields", "--processes", "0", code=2)
    cli("bench", "fields", "--patterns", "all", code=2)
    assert "--patterns" in cli("bench", "fields", "--help").out
