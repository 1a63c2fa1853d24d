"""stepstore bench layouts: it runs each point and BP5, compares what is read, and refuses what cannot be run
before anything runs. No times are looked at."""

from __future__ import annotations

import csv
import json
import os

import pytest
from stepstore.lab import figures as lab_figures
from stepstore.lab.benchmarks import layout_presets, layout_statements
from stepstore.lab.benchmarks.layout_points import Space, chosen_points
from stepstore.lab.benchmarks.layout_report import Outcome
from stepstore.lab.benchmarks.records import VERDICTS

BP5 = os.environ.get("STEPSTORE_TEST_ADIOS2_MPI") == "1"
pytestmark = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_BENCH_LAYOUTS") != "1", reason="needs stepstore-bench-layouts and MPI"
)
CHOICES = {
    "Layout": ["array-aligned", "kv"],
    "Objects": ["single", "per-step"],
    "Steps": ["extend"],
    "Readers": ["delegate", "everyone"],
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
            "reader": ["Readers=delegate,ReadAhead=auto", "Readers=everyone,ReadAhead=0"],
        }
    )

    def names(*wanted):
        return [point.name for point in chosen_points(list(wanted), space, refuse)]

    assert names("all") == [
        "array-aligned",
        "array-aligned,everyone,ReadAhead=0",
        "kv",
        "kv,everyone,ReadAhead=0",
    ]
    assert names("default", "layouts", "kv") == ["array-aligned", "kv"]
    assert names("everyone,kv", "layout=kv,READERS=everyone") == ["kv,everyone"]
    assert names("kv,ChunkSize=4k") == ["kv,ChunkSize=4k"]
    (point,) = chosen_points(["kv,per-step,everyone"], space, refuse)
    assert point.written == "Layout=kv,Objects=per-step,Steps=extend"
    assert point.read == "Readers=everyone,ReadAhead=auto"
    for wrong in ("tree", "kv,array-aligned", "ReadAhead=0,readahead=0", "0"):
        with pytest.raises(ValueError, match="no point|twice"):
            names(wrong)


def test_points_and_bp5(run, cli):
    done = run(
        "--points", "layouts", "kv,per-step,everyone", "ReadAhead=0", "--sizes", "2k,1k..80k", "--json"
    )
    records = done.json
    names = ["array-aligned", "array", "array-adaptive", "kv", "posix", "kv,per-step,everyone"]
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
        assert measured["allocated_bytes"] > 2 * 6 * measured["rank_bytes"]
        if one["parameters"]:
            assert measured["rank_bytes"] < measured["metadata_bytes"] < measured["rank_bytes"] + 600
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
    assert "LATENCY P99" in shown and "WRITERS OPEN" in shown
    assert ("bp5" in shown) == BP5


def test_tables_have_all_that_is_measured(run):
    shown = run("--points", "default", "kv", "--sizes", "2k").out
    rows = [line.split() for line in shown.splitlines() if line.startswith("2k ")]
    names = ["array-aligned", "kv", *(["bp5"] if BP5 else [])]
    assert sorted(row[1] for row in rows) == sorted(3 * names)
    for name in names:
        times, distribution, one_off = (
            [float(cell) for cell in row[2:] if cell.replace(".", "").isdigit()]
            for row in rows
            if row[1] == name
        )
        p50, p90, p99, most = distribution[:4]
        assert 0 < p50 <= p90 <= p99 <= most
        assert min(one_off[:6]) > 0
        assert times[2] == pytest.approx(times[0] + times[1], abs=0.002)
    for title in ("READ", "BROADCAST", "NS/BYTE", "FIRST STEP", "UPDATES", "FETCHES"):
        assert title in shown


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
    refused(run, cli, "--points", "Gets=sync", says="a stream has no parameter 'Gets'")
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


@pytest.mark.parametrize("preset", ["figure-14", "figure-15", "storage"])
def test_presets_and_their_figures(run, tmp_path, preset):
    pytest.importorskip("matplotlib")
    figures = tmp_path / "new" / "figures"
    done = run("--preset", preset, "--steps", 25, "--readers", 1, "--figures", figures)
    assert {path.name for path in figures.iterdir()} == {
        f"{preset}.{end}" for end in ("csv", "png", "svg", "narrow.svg", "json", "statements.json")
    }
    stated = json.loads((figures / f"{preset}.statements.json").read_text())["statements"]
    assert bool(stated) == (preset != "figure-15"), "25 steps say nothing about 10,000"
    assert all(one["why"] and one["verdict"] in VERDICTS for one in stated)
    assert (figures / f"{preset}.png").read_bytes().startswith(b"\x89PNG")
    assert (figures / f"{preset}.svg").read_text().rstrip().endswith("</svg>")
    with (figures / f"{preset}.csv").open() as file:
        rows = list(csv.DictReader(file))
    points = {row["point"] for row in rows}
    assert "array-aligned" in points
    if preset == "storage":
        assert points >= {"array", "kv", "posix"}
        written = 2 * 25 * (5 << 10)
        assert all(float(row["written_bytes"]) == written for row in rows if row["metadata"] == "5k")
        assert all(float(row["file_system_bytes"]) > float(row["written_bytes"]) for row in rows)
    else:
        steps = [int(row["first_step"]) for row in rows if row["point"] == "array-aligned"]
        assert steps == list(range(25))
        assert all(float(row["stabilisation_ms"]) > 0 for row in rows)
        assert "0 to 1" in done.out and "last by first row" in done.out
    if preset == "figure-14":
        assert ("array-aligned,snapshot" in points) != ("Steps=snapshot is left out" in done.err)


def test_figures_of_the_points(run, cli):
    pytest.importorskip("matplotlib")
    figures = cli.directory / "figures"
    done = run("--points", "layouts", "--sizes", "2k,100..5k", "--figures", figures, "--rounds", 2)
    assert "end-to-end-2k.svg" in done.out
    statements = json.loads((figures / "layouts.statements.json").read_text())["statements"]
    assert [one["statement"][:13] for one in statements] == (
        ["2k end to end", "100..5k end t"] if BP5 else []
    )
    assert all(one["verdict"] in ("beaten", "missed") and one["found"] > 0 for one in statements)
    for name in ("end-to-end-2k", "end-to-end-1"):
        with (figures / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 2 * (5 + BP5)
        for row in rows:
            parts = float(row["stabilisation_ms"]) + float(row["acquisition_ms"])
            assert float(row["end_to_end_ms"]) == pytest.approx(parts)
    file = cli.directory / "file"
    file.write_text("")
    refused(run, cli, "--points", "default", "--figures", file / "below", says="--figures")


def _measured(name, stabilisation, acquisition, steps=100):
    def phase(mean, parts):
        return {"mean": mean, "parts": parts, "open": 0.01, "first": 0.01, "close": 0.01,
                "by_step": [mean] * steps}  # fmt: skip

    outcome = Outcome("5k", name, None if name == "bp5" else name)
    parts = {"encode": 0.0, "store": stabilisation / 2}
    written = {"steps": steps, "writers": 4, "stabilisation": phase(stabilisation, parts)}
    outcome.add(written, {"acquisition": phase(acquisition, {"read": acquisition, "broadcast": 0.0})})
    return outcome


def test_statements_say_where_the_time_goes():
    outcomes = [_measured("array-aligned", 1e-3, 1e-3), _measured("bp5", 6e-3, 2e-3),
                _measured("array", 20e-3, 1e-3), _measured("kv", 2e-3, 1e-3)]  # fmt: skip
    goal, dense, aligned = layout_statements.statements(outcomes, "array-aligned")
    assert goal["found"] == pytest.approx(4) and goal["verdict"] == "beaten"
    assert "ours: 1 ms stabilisation (store 0.5) and 1 ms acquisition (read 1)" in goal["why"]
    assert "BP5: 6 ms stabilisation (store 3) and 2 ms acquisition" in goal["why"]
    assert dense["found"] == pytest.approx(10) and dense["verdict"] == "missed"
    assert aligned["found"] == pytest.approx(0.5) and aligned["verdict"] == "beaten"


def test_statements_over_10000_steps():
    outcome = _measured("kv", 1e-3, 1e-3, 2000)
    outcome.written[0]["stabilisation"]["by_step"][1000:] = [2e-3] * 1000
    stabilised, acquired, once = layout_statements.statements_of_preset("figure-15", [outcome])
    assert stabilised["verdict"] == "missed" and stabilised["found"] == pytest.approx(2)
    assert "1 ms in the first thousand, 2 ms in the last" in stabilised["why"]
    assert acquired["verdict"] == "beaten"
    assert once["found"] == pytest.approx(1.03 / 1.003) and "30 ms on a rank" in once["why"]


def test_statements_on_snapshots():
    kept, grown = _measured("kv", 1e-3, 1e-3), _measured("kv,snapshot", 1e-3, 1e-3)
    grown.written[0]["stabilisation"]["by_step"][90:] = [2e-3] * 10
    extending, snapshots = layout_statements.statements_of_preset("figure-14", [kept, grown])
    assert (extending["verdict"], snapshots["verdict"]) == ("reproduced", "reproduced")
    assert snapshots["kind"] == "above" and snapshots["found"] == pytest.approx(2)
    assert (
        layout_statements.statements_of_preset("figure-14", [_measured("kv,snapshot", 1e-3, 1e-3)])[0][
            "verdict"
        ]
        == "beaten"
    )


def test_a_figure_that_is_not_finished_leaves_nothing(tmp_path):
    figures = pytest.importorskip("matplotlib.figure")

    class Interrupted(figures.Figure):
        def savefig(self, file, **options):
            file.write_text("half")
            raise KeyboardInterrupt

    old = tmp_path / "one.png"
    old.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        lab_figures.save(tmp_path / "one", Interrupted(), [("ranks", "time_ms"), (1, 2)])
    assert {path.name for path in tmp_path.iterdir()} == {"one.csv", "one.png"}
    assert old.read_text() == "old" and (tmp_path / "one.csv").read_text() == "ranks,time_ms\n1,2\n"


def test_windows_leave_out_the_first_step_of_writers():
    outcome = Outcome("5k", "kv", None)
    times = [float(step) for step in range(100)]
    written = {"steps": 100, "stabilisation": {"by_step": times}}
    outcome.add(written, {"acquisition": {"by_step": times}})
    parts = layout_presets.windows(outcome)
    assert [(part.first, part.steps) for part in parts] == [(10 * number, 10) for number in range(10)]
    assert parts[0].stabilisation == pytest.approx(1e3 * 5.0) and parts[0].acquisition == pytest.approx(4.5e3)
    assert parts[9].stabilisation == parts[9].acquisition == pytest.approx(1e3 * 94.5)
    assert len(layout_presets.windows(outcome, 300)) == 100


def test_a_run_that_fails_says_why_in_one_line(run, cli):
    said = run("--points", "default", "--mpirun", "/no/mpirun", code=3).err
    assert "/no/mpirun" in said
    said = run("--points", "default", "--set", "Targets=4,ObjectClass=S64", code=1).err
    assert "stepstore-bench-layouts: " in said and "S64" in said and len(said.strip().splitlines()) == 1
    assert not list(cli.directory.glob("stepstore-bench-*"))


def test_pools_in_files(run, cli):
    records = run("--on", "files", "--no-bp5", "--sizes", "2k", "--points", "layouts", "--json").json
    names = {one["case"].split("/")[1] for one in records}
    assert names >= {"array-aligned", "kv", "array", "array-adaptive", "posix"}
    assert all(one["end_to_end"] > 0 for one in records)
    # They have no snapshots, so that is where the streams were.
    failed = run("--on", "files", "--no-bp5", "--sizes", "2k", "--points", "Steps=snapshot", code=1)
    assert "snapshot" in failed.err
    refused(run, cli, "--on", "files", "--location", "rados://x", says="not both")
