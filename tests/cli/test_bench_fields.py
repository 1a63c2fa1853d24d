"""stepstore bench fields: it runs on FDB's files and on a pool, checks what it reads, and reports what a
program can read. No times are looked at."""

from __future__ import annotations

import importlib.util
import os

import pytest

from stepstore.benchmarks.fields import _REPORTED

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
    chart = cli.directory / "chart.png"
    plot = ("--plot", chart) if importlib.util.find_spec("matplotlib") else ()
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
        *plot,
    ).json
    assert sorted(one["what"] for one in records) == sorted(_REPORTED)
    for one in records:
        assert (
            one["case"] == f"{one['what']}/2 processes/1.5 KiB/element" and one["unit"] and one["rounds"] == 1
        )
        small, large = ("peer", "ours") if one["unit"] == "MiB/s" else ("ours", "peer")
        assert one["ratio"] == pytest.approx(one[small] / one[large])
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
    if plot:
        assert chart.read_bytes().startswith(b"\x89PNG")


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
        "index=process",
    )
    table = cli("bench", "fields", *run, "--directory", cli.directory).out
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
    from stepstore.benchmarks import fields
    from stepstore.cli.common import CommandError
    from stepstore.errors import DER_NONEXIST, Error

    def missing():
        raise Error(DER_NONEXIST, "the FDB5 plugin was not built")

    monkeypatch.setattr(fields, "fdb5_directories", missing)
    with pytest.raises(CommandError, match="was not built.*docs/fdb.md"):
        fields.fields(["--quick"])


def test_without_the_wheels_it_refuses(monkeypatch):
    from stepstore.benchmarks import fields
    from stepstore.cli.common import CommandError

    monkeypatch.setattr(fields, "_WHEELS", ("no_such_wheel",))
    with pytest.raises(CommandError, match="no_such_wheel.*pip install"):
        fields.fields(["--quick"])


def test_wrong_use(cli):
    cli("bench", "fields", "--schemas", "nonsense", code=2)
    cli("bench", "fields", "--processes", "0", code=2)
    cli("bench", "fields", "--patterns", "all", code=2)
    assert "--patterns" in cli("bench", "fields", "--help").out
