"""Pools in files on the simulated file system. The requests are those that the system is really asked for.
They take the time that can be worked out by hand. The estimate says what the simulation says."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
from collections import Counter

import pytest
from stepstore.console import CommandError
from stepstore.lab.simulation.cluster import Cluster, Parameter, load, named
from stepstore.lab.simulation.run import Simulator
from stepstore.paths import program

pytestmark = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_SIMULATE") != "1" or os.environ.get("STEPSTORE_TEST_ESTIMATE") != "1",
    reason="needs stepstore-simulate (SimGrid) and stepstore-estimate",
)
MILLISECOND = 1e-3
_ONES = ("name_servers", "servers", "engines", "targets", "ranks_per_node", "file_stripes")
_SIZES = ("file_rpc", "file_stripe", "toc_record", "toc_entry", "toc_buffer", "buffer_size")
SETTLED = 3  # steps from which on nothing is new


def free(**values):
    """A cluster that takes no time, but for what is given."""
    usual = dict.fromkeys(_ONES, 1) | dict.fromkeys(_SIZES, 1 << 20) | {"memory": 1 << 40, "bisection": 1e15}
    usual |= {"buffers": 1024} | values
    parameters = [
        Parameter(one.section, one.name, usual.get(one.name, 1e15 if "bandwidth" in one.name else 0), "", "")
        for one in load().parameters
    ]
    return Cluster("a test", tuple(parameters))


def job(layout, ranks=3, steps=6, size="1k", **more):
    counts = {"writers": ranks, "readers": ranks, "steps": steps, "size": size}
    return {**counts, "set": f"Layout={layout}", "read": "ReadAhead=0", "on": "files", **more}


def steady(found):
    """Of a writer's later steps, in milliseconds."""
    return [1e3 * one for one in found["stabilisation"]["by_step"][SETTLED:]]


# ---- requests

CALLS = re.compile(r"(\w+)\((.*)\) += (-?\d+)")
CHANGES = ("linkat", "symlinkat", "renameat", "renameat2", "mkdirat", "unlinkat")
READS = ("pread64", "preadv")
TRACED = (*CHANGES, *READS, "openat", "openat2", "pwritev", "getdents64", "fsync", "fdatasync")


def system_calls(folder, description):
    """What the simulation's process really asks the system for, by the names of its own counts."""
    file = folder / "job.json"
    file.write_text(json.dumps(description))
    strace = ["strace", "-ff", "-o", folder / "trace", "-e", f"trace={','.join(TRACED)}"]
    done = subprocess.run([*strace, program("stepstore-simulate"), file], capture_output=True, check=True)
    counts = Counter()
    for trace in folder.glob("trace.*"):
        text = trace.read_text(errors="replace")
        trace.unlink()
        if "pwritev(" not in text:  # the process that only waits, and removes all files at the end
            continue
        for name, arguments, result in lines(text):
            counts += counted(name, arguments, int(result))
    return counts, json.loads(done.stdout)["files"]


def lines(text):
    return [found.groups() for line in text.splitlines() if (found := CALLS.match(line))]


def counted(name, arguments, result):
    if result < 0:
        return Counter()
    if name in CHANGES or (name == "openat2" and "O_EXCL" in arguments):
        return Counter(changes=1)
    if name == "getdents64":  # the last one of a listing
        return Counter(listings=int(result == 0))
    if name == "openat" and "O_DIRECTORY" in arguments:  # lists, to count the files at the end
        return Counter(listings=-1)
    kinds = {"pwritev": "writes", "fsync": "syncs", "fdatasync": "syncs"} | dict.fromkeys(READS, "reads")
    return Counter({kinds[name]: 1}) if name in kinds and (name not in READS or result > 0) else Counter()


def added(before, after):
    return {name: after[name] - before[name] for name in ("changes", "reads", "writes", "syncs")}


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("layout", ["kv", "array-aligned", "array"])
def test_the_requests_are_those_that_the_system_is_asked_for(tmp_path, layout):
    machine = free().values()
    real, simulated = [], []
    for steps in (4, 8):  # what is done once is in both
        calls, files = system_calls(tmp_path, {"machine": machine, "job": job(layout, steps=steps)})
        real.append(calls)
        simulated.append(Counter(files["written"]) + Counter(files["read"]))
    assert added(*simulated) == added(*real)
    assert added(*simulated)["writes"] >= 3 * 4


def test_a_step_costs_a_rank_one_write_and_a_put_what_the_documentation_says():
    few, many = (
        {
            layout: Simulator(free()).run(job(layout, steps=steps))["files"]
            for layout in ("array-aligned", "kv")
        }
        for steps in (100, 110)  # the directories of most keys are there
    )

    def of_step(layout, side):
        pairs = ((name, many[layout][side][name] - few[layout][side][name]) for name in few[layout][side])
        return {name: count / 10 / (3 if side == "written" else 1) for name, count in pairs if count}

    assert of_step("array-aligned", "written") == {"writes": 1, "syncs": 1}
    assert of_step("array-aligned", "read") == {"reads": 3}  # each rank is a node with a file of its own
    # docs/nodes.md: list, create, write, link, unlink. What it asks for beside that changes nothing.
    put = of_step("kv", "written")
    assert put["writes"] == 1
    assert (put["listings"], put["changes"]) == (pytest.approx(1, abs=0.1), pytest.approx(3, abs=0.2))
    get = of_step("kv", "read")  # of 3 values
    assert (get["listings"], get["reads"]) == (3, 3) and "changes" not in get
    assert many["kv"]["of_stream"] - few["kv"]["of_stream"] == 10 * 3
    assert many["array-aligned"]["of_stream"] == few["array-aligned"]["of_stream"]


def test_a_rank_makes_no_name_when_it_opens_a_stream():
    def changes(layout, ranks):  # of all that is done once
        cluster = free(ranks_per_node=16)
        return Simulator(cluster).run(job(layout, ranks=ranks, steps=3))["files"]["written"]["changes"]

    of_rank = {
        layout: (changes(layout, 48) - changes(layout, 16)) / 32
        for layout in ("array-aligned", "array-adaptive")
    }
    assert of_rank["array-aligned"] < 0.5  # a metadata file for each node
    assert of_rank["array-adaptive"] > 6  # two keys of each rank


# ---- times


def test_a_step_takes_its_sync():
    found = Simulator(free(file_sync=MILLISECOND)).run(job("array-aligned"))
    assert steady(found) == pytest.approx([1, 1, 1])


def test_a_metadata_server_serves_one_request_after_the_other():
    changes = 3 * 4 + 0.5  # of a step: 3 of each rank, and now and then a directory
    for servers, least, most in ((1, changes / 2, changes), (64, 3, changes - 1)):
        cluster = free(name_change=MILLISECOND, name_servers=servers)
        found = Simulator(cluster).run(job("kv", ranks=4, steps=8))
        mean = sum(steady(found)) / len(steady(found))
        assert least <= mean <= most


def test_a_directory_turns_from_node_to_node():
    times = []
    for ranks_per_node in (1, 64):  # each rank's definitions lie in buckets that all use
        cluster = free(name_turn=MILLISECOND, ranks_per_node=ranks_per_node)
        found = Simulator(cluster).run(job("kv", ranks=64, steps=2))
        times.append(found["stabilisation"]["by_step"][0])
    assert times[0] > MILLISECOND / 4 and times[1] < 1e-6


def test_nodes_that_write_into_what_one_lock_covers_wait_for_each_other():
    locks = {"file_lock": 1e-9, "file_give_back": MILLISECOND}
    one_file = job("array-aligned,Objects=single", ranks=4)
    at_once = Simulator(free(**locks, file_lock_span=64 << 10)).run(one_file)
    assert max(steady(at_once)) < 1e-3
    shared = Simulator(free(**locks, file_lock_span=128 << 10)).run(one_file)
    assert steady(shared) == pytest.approx([0.5] * 3, rel=1e-3)  # half of the ranks wait for another
    one_node = Simulator(free(**locks, ranks_per_node=4)).run(one_file)
    assert max(steady(one_node)) < 1e-3
    own_files = Simulator(free(**locks, file_lock_span=128 << 10)).run(job("array-aligned", ranks=4))
    assert max(steady(own_files)) < 1e-3


def test_a_reader_gets_the_locks_and_reads_past_the_cache():
    cluster = free(file_request=MILLISECOND, ranks_per_node=4)
    read = Simulator(cluster).run(job("array-aligned"))["readings"][0]["acquisition"]["by_step"]
    assert [1e3 * one for one in read[1:]] == pytest.approx(
        [1] * 5, rel=1e-3
    )  # of 3 ranks at once, each time


def test_the_same_job_takes_the_same_times():
    cluster = load(named("lustre"))
    wanted = [job(layout, ranks=40, size="5000") for layout in ("array-aligned", "kv", "posix")]
    first, second = (Simulator(cluster).run_all([(one, {}) for one in wanted]) for _ in range(2))
    assert first == second


# ---- estimates and advice


@pytest.mark.parametrize("ranks", [64, 320])
def test_the_estimate_is_near_the_simulation(ranks):
    # No two nodes write into what one lock covers.
    layouts = ("array-aligned,ChunkSize=128k", "array-adaptive,ChunkSize=4M", "posix")
    wanted = [(job(layout, ranks, 9, "5000", read="ReadAhead=0"), {}) for layout in layouts]
    cluster = load(named("lustre"))
    still = {"file_turn": 0}  # a data server turns once, when reading begins
    simulated = Simulator(cluster, **still).run_all(wanted)
    estimated = Simulator(cluster, "stepstore-estimate", **still).run_all(wanted)
    for layout, real, guess in zip(layouts, simulated, estimated, strict=True):
        usual = statistics.median(steady(real))  # in a few steps all ranks look whether one was lost
        assert 1e3 * guess["stabilisation"]["mean"] == pytest.approx(usual, rel=0.15), layout
        if layout != "posix":  # whose reader is brought a window
            read = real["readings"][0]["acquisition"]["by_step"][SETTLED:]
            acquired = guess["readings"][0]["acquisition"]["mean"]
            assert 0.5 < acquired * len(read) / sum(read) < 2, layout
        assert guess["files"] == pytest.approx(real["files"]["of_stream"], abs=4)
        opening = real["stabilisation"]["open"] + sum(real["stabilisation"]["by_step"][:SETTLED])
        assert 0.5 < opening / guess["stabilisation"]["open"] < 2


def test_advice_for_a_site_with_nothing_but_a_file_system(cli):
    options = ("advise", "--on", "files", "--ranks", 4096, "--metadata", "56k")
    found = cli(*options, "--json").json
    assert found["cluster"] == "lustre" and found["location"] == "shared:PATH"
    notes = " ".join(found["notes"])
    assert "beside a data file of each rank" in notes
    assert "One rank stores the metadata of 16 (RanksPerAggregator)" in notes
    assert {one["point"].split(",")[0] for one in found["predictions"]} >= {"array", "posix", "kv"}
    assert not any("snapshot" in one["point"] for one in found["predictions"])
    assert "at a location shared:PATH" in cli(*options).out


def test_the_figures_are_estimates(cli):
    folder = cli.directory / "drawn"
    found = cli("simulate", "figures", "--directory", folder, "--json", "--only", "files-1").json
    assert len(found["files"]) == 5 and found["statements"] == []
    rows = (folder / "simulated-files-1.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 4 * 5


@pytest.mark.parametrize(
    ("change", "values", "says"),
    [
        ({"on": "tapes"}, {}, "on is 'tapes': give objects or files"),
        ({"set": "Layout=array,Steps=snapshot"}, {}, "pools in files keep none"),
        ({}, {"processors": 2}, "on one machine a pool in files is not simulated"),
        ({"writers": 1_000_000, "steps": 1}, {}, "open files, and this process may have"),
        ({}, {"name_servers": 0}, "name_servers is 0, but must be a number from 1"),
    ],
)
def test_what_cannot_be_run_is_refused(change, values, says):
    with pytest.raises(CommandError) as error:
        Simulator(free(**values)).run(job("array-aligned") | change)
    assert says in str(error.value) and len(str(error.value).splitlines()) == 1


def test_the_command_says_what_it_simulates(cli):
    shown = cli(
        "simulate", "--on", "files", "--writers", 2, "--steps", 2, "--sizes", "1k", "--points", "kv"
    ).out
    assert "simulated cluster lustre" in shown
