"""stepstore simulate: known queues give the times that can be worked out by hand, the same job gives the same
bytes, the reference's statements hold, and what cannot be run is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from stepstore.lab.simulation.cluster import FOLDER, load

pytestmark = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_SIMULATE") != "1", reason="needs stepstore-simulate (SimGrid)"
)
GOLDEN = Path(__file__).with_name("simulated.json")
MILLISECOND = 1e-3


def cluster_file(folder, **values):
    """A cluster that takes no time, but for what is given."""
    ones = ("servers", "engines", "targets", "ranks_per_node", "file_stripes", "name_servers")
    usual = dict.fromkeys(ones, 1)
    usual |= dict.fromkeys(
        ("file_rpc", "file_stripe", "toc_record", "toc_entry", "toc_buffer", "buffer_size"), 1 << 20
    )
    usual["memory"] = 1 << 40
    usual["bisection"] = 1e15
    lines = ["[all]"]
    for one in load().parameters:
        value = values.get(one.name, usual.get(one.name, 1e15 if "bandwidth" in one.name else 0))
        lines.append(f'{one.name} = {{ value = {value}, unit = "{one.unit}", source = "a test" }}')
    path = folder / "cluster.toml"
    path.write_text("\n".join(lines))
    return path


def times(cli, cluster, *options):
    (record,) = cli("simulate", "--cluster", cluster, "--sizes", "1k", "--steps", 3, "--json", *options).json
    return record["measured"][0]


def test_requests_to_one_target_are_served_in_turn(cli):
    cluster = cluster_file(
        cli.directory, kv_put=MILLISECOND, inline_put=1 << 20, inline_get=1 << 20, buffers=1
    )
    written = times(cli, cluster, "--writers", 4, "--points", "kv")["stabilisation"]
    # The ranks agree on the variable in the steps before.
    assert written["by_step"][2] == pytest.approx((1 + 2 + 3 + 4) / 4 * MILLISECOND)


def test_a_transfer_without_a_free_buffer_is_more_work_for_the_target(cli):
    cluster = cluster_file(
        cli.directory,
        array_write=MILLISECOND,
        buffers=2,
        buffer_shortage=10 * MILLISECOND,
        inline_get=1 << 20,
    )
    written = times(cli, cluster, "--writers", 4, "--points", "array-aligned")["stabilisation"]
    assert written["by_step"][2] == pytest.approx((1 + 2 + 13 + 24) / 4 * MILLISECOND)


def test_a_rail_carries_one_message_after_the_other(cli):
    cluster = cluster_file(
        cli.directory,
        client_bandwidth=1e6,
        ranks_per_node=4,
        inline_put=1 << 20,
        inline_get=1 << 20,
        buffers=1,
    )
    written = times(cli, cluster, "--writers", 4, "--points", "kv")["stabilisation"]
    size = written["most"] / 4  # of one message, and of the replies after it
    assert 1.0e-3 < size < 2.0e-3
    other = times(cli, cluster_file(cli.directory, client_bandwidth=1e6, buffers=1, inline_put=1 << 20),
                  "--writers", 4, "--points", "kv")["stabilisation"]  # fmt: skip
    assert other["most"] < written["most"] / 3


def test_reader_ranks_get_the_metadata_by_a_broadcast(cli):
    cluster = cluster_file(cli.directory, mpi_bandwidth=1e6, buffers=1)
    acquired = times(cli, cluster, "--writers", 2, "--readers", 64, "--points", "kv,ReadAhead=0")["reading"]
    parts = acquired["acquisition"]["parts"]
    assert 2 * 2 * 1024 / 1e6 < parts["broadcast"] < 2 * 2 * 1400 / 1e6  # scattered, and gathered again
    assert parts["read"] == pytest.approx(0, abs=1e-9)


def test_requests_and_the_time_of_targets_are_counted(cli):
    cluster = cluster_file(cli.directory, targets=8, kv_put=MILLISECOND, buffers=1)
    found = times(cli, cluster, "--writers", 4, "--points", "kv")
    assert len(found["targets"]) == 8
    assert sum(one["requests"] for one in found["targets"]) >= 4 * 3
    assert sum(one["requests"] for one in found["reading"]["targets"]) >= 4 * 3


def test_a_file_is_written_by_rank_0_and_read_by_the_window(cli):
    cluster = cluster_file(
        cli.directory,
        file_request=MILLISECOND,
        file_sync=MILLISECOND,
        file_metadata=MILLISECOND,
        buffers=1,
        inline_put=1 << 20,
        inline_get=1 << 20,
        file_read_ahead=1 << 20,
    )
    found = times(cli, cluster, "--writers", 4, "--points", "posix")
    written, read = found["stabilisation"]["by_step"], found["reading"]["acquisition"]["by_step"]
    assert written[1] == pytest.approx(3 * MILLISECOND)  # sizes, metadata, and the index
    assert read[0] > MILLISECOND / 2 and read[1:] == pytest.approx([0, 0], abs=1e-9)  # all in the window


def test_ranks_of_one_machine_share_its_processors(cli):
    cluster = cluster_file(
        cli.directory,
        processors=2,
        slice=MILLISECOND,
        ranks_per_node=8,
        encode=MILLISECOND,
        decode_metadata=MILLISECOND,
        buffers=1,
    )
    found = times(cli, cluster, "--writers", 4, "--readers", 2, "--points", "kv,ReadAhead=0")
    # Two work at a time, and each lets the others go first when it has worked for a slice.
    assert found["stabilisation"]["by_step"][2] == pytest.approx(2 * MILLISECOND)
    # Each reader reads for itself, and works on the metadata of 4 ranks.
    assert found["reading"]["acquisition"]["by_step"][2] == pytest.approx(4 * MILLISECOND)
    assert found["reading"]["acquisition"]["parts"]["broadcast"] == 0


def test_on_one_machine_each_extent_that_was_written_is_found_by_itself(cli):
    free = {"ranks_per_node": 8, "further_extent": MILLISECOND, "buffers": 1}
    for processors, extents in ((1, 3), (0, 0)):  # a cluster's targets are asked for one range
        cluster = cluster_file(cli.directory, processors=processors, **free)
        options = ("--writers", 4, "--readers", 1, "--points", "array,ReadAhead=0")
        read = times(cli, cluster, *options)["reading"]["acquisition"]["by_step"]
        assert read[2] == pytest.approx(extents * MILLISECOND, abs=1e-9)


def test_a_target_of_one_machine_needs_a_processor(cli):
    free = {"processors": 1, "ranks_per_node": 8, "targets": 64, "inline_put": 1 << 20, "buffers": 1}
    cluster = cluster_file(cli.directory, kv_put=MILLISECOND, **free)
    written = times(cli, cluster, "--writers", 4, "--points", "kv")["stabilisation"]
    assert written["by_step"][2] == pytest.approx((1 + 2 + 3 + 4) / 4 * MILLISECOND)


def test_the_same_job_gives_the_same_bytes(cli):
    options = ("simulate", "--writers", 6, "--steps", 4, "--sizes", "2k,1k..40k", "--json")
    first, second = cli(*options), cli(*options)
    assert first.raw == second.raw
    measured = [{"case": one["case"], **one["measured"][0]} for one in first.json]
    kept = json.loads(GOLDEN.read_text())
    assert [one["case"] for one in measured] == [one["case"] for one in kept]
    for now, before in zip(measured, kept, strict=True):
        assert now["stabilisation"]["by_step"] == pytest.approx(
            before["stabilisation"], rel=1e-9, abs=2e-9
        ), now["case"]
        assert now["reading"]["acquisition"]["by_step"] == pytest.approx(
            before["acquisition"], rel=1e-9, abs=2e-9
        )


def test_the_table_is_that_of_the_benchmark(cli):
    shown = cli("simulate", "--writers", 2, "--steps", 2, "--sizes", "1k", "--points", "kv").out
    assert "STABILISATION" in shown and "UPDATES" in shown
    assert "virtual time" in shown


def test_each_point_of_the_space_runs(cli):
    records = cli(
        "simulate", "--writers", 3, "--readers", 2, "--steps", 2, "--sizes", "1k", "--points", "all", "--json"
    ).json
    assert len(records) > 50
    assert all(one["ours"] > 0 for one in records)


def test_the_published_statements_hold(cli):
    only = "5,8,9,10,12,13,14,15,16,17"  # that of 11 holds where it is drawn
    found = cli("simulate", "figures", "--no-drawing", "--json", "--only", only, timeout=600).json
    assert len(found["statements"]) > 15 and not found["files"]
    assert [one["statement"] for one in found["statements"] if not one["holds"]] == []
    assert {one["how"] for one in found["statements"]} == {"fitted", "predicted"}


def test_figures_are_drawn_with_their_numbers(cli):
    folder = cli.directory / "drawn"
    found = cli("simulate", "figures", "--directory", folder, "--json", "--only", "11", timeout=600).json
    assert [(one["figure"], one["holds"]) for one in found["statements"]] == [("11", True)]
    assert len(found["files"]) == 5
    names = [f"simulated-11.{kind}" for kind in ("csv", "json", "narrow.svg", "png", "svg")]
    names.append("simulated.statements.json")
    assert sorted(one.name for one in folder.iterdir()) == sorted(names)
    assert (folder / "simulated-11.png").read_bytes().startswith(b"\x89PNG")
    lines = (folder / "simulated-11.csv").read_text().splitlines()
    assert lines[0] == "panel,series,part,case,time_ms" and len(lines) == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--cluster", "nowhere"), "no cluster 'nowhere': give one of lustre, nextgenio, reference"),
        (("--cluster", "no/such.toml"), "no/such.toml"),
        (("--parameter", "targets=0"), "targets is 0, but must be a number from 1 to 256"),
        (("--parameter", "buffers=1000000"), "it has room for buffers=12288"),
        (("--parameter", "targets=many"), "give NAME=NUMBER"),
        (("--parameter", "speed=1"), "has no parameter 'speed'"),
        (("--parameter", "latency=-1"), "latency is -1, but must be a number from 0"),
        (("--writers", "0"), "writers is 0, but must be a whole number from 1"),
        (("--writers", "1000000", "--steps", "1000"), "MiB of memory, and this machine has"),
        (("--sizes", "huge"), "huge"),
    ],
)
def test_what_cannot_be_run_is_refused(cli, options, says):
    done = cli("simulate", *options, code=1)
    assert says in done.err, done.err
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--points", "sideways"), "sideways"),
        (("figures", "--only", "99"), "no figure 99"),
        (("--readers", "0"), "give at least 1 reader"),
    ],
)
def test_wrong_usage_ends_at_once(cli, options, says):
    assert says in cli("simulate", *options, code=2).err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("servers = 3", "stands in no section"),
        ("[servers]\nservers = 3", "servers.servers must have source, unit, value"),
        ('[a]\nservers = { value = "x", unit = "u", source = "s" }', "is no number"),
        ('[a]\nservers = { value = 1, unit = "", source = "s" }', "needs a unit and a source"),
        ("[a", "is no TOML"),
        ('[a]\nservers = { value = 1, unit = "u", source = "s" }', "is missing"),
    ],
)
def test_a_bad_cluster_file_is_refused(cli, text, says):
    path = cli.directory / "bad.toml"
    path.write_text(text)
    assert says in cli("simulate", "--cluster", path, code=1).err


def test_every_parameter_says_where_it_is_from():
    for path in FOLDER.glob("*.toml"):
        for one in load(path).parameters:
            assert one.source.split(":")[0].split(",")[0] in (
                "published",
                "data sheet",
                "assumed",
                "fitted",
                "measured",
                "tutorial",
                "FDB",
            )
