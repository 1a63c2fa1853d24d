"""The demo of `make demo`, small, on the build tree: the whole way from the simulation to the report."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stepstore.lab.benchmarks.machine import others_share

ROOT = Path(__file__).parents[2]
ROUNDS = 2
ENGINES = ["bp5", "posix", "kv", "array", "array-aligned"]
RUNS = [*ENGINES, "async-write"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    directory = tmp_path_factory.mktemp("demo")
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "STEPSTORE_DEMO_BIN": os.environ["STEPSTORE_TEST_BIN"],
        "STEPSTORE_DEMO_QUICK": "1",
        "STEPSTORE_DEMO_DIR": str(directory),
    }
    done = subprocess.run(
        [ROOT / "scripts" / "demo.sh"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    yield directory, done.stdout
    shutil.rmtree(directory)


def compare(directory):
    command = [sys.executable, ROOT / "examples" / "report.py", "compare", directory, *RUNS]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def results_of(directory):
    return json.loads((directory / "results.json").read_text())


def test_every_layout_gives_what_bp5_gives(demo):
    directory, shown = demo
    results = results_of(directory)
    assert [row["engine"] for row in results["engines"]] == ENGINES
    assert results["steps"] == 4 and results["ranks"] == 4
    assert results["differences"] == {name: [] for name in RUNS}
    for row in results["engines"]:
        assert row["stabilisation_ms"] > 0 and row["acquisition_ms"] > 0
    assert shown.count("equal, bit for bit") == 4
    assert "first result" in shown


def test_it_shows_what_async_write_hides(demo):
    directory, shown = demo
    results = results_of(directory)
    beside, plain = results["async_write"], results["engines"][-1]
    assert "with AsyncWrite (array-aligned): EndStep returns after" in shown
    assert "; the analysis has the step after" in shown
    assert beside["stabilisation_ms"] > 0 and beside["stabilisation_ms"] != plain["stabilisation_ms"]
    config = (directory / "async-write" / "adios2.xml").read_text()
    assert config.count('key="AsyncWrite" value="on"') == 1
    assert "AsyncWrite" not in (directory / "array-aligned" / "adios2.xml").read_text()
    for runs in results["raw"]:
        waits = [[rank["wait_seconds"] for rank in run["profile"]["ranks"]] for run in runs[-2:]]
        assert max(waits[0]) == 0 < max(waits[1])  # the next step for the one before


def test_medians_of_interleaved_rounds_with_their_spread(demo):
    directory, shown = demo
    results = results_of(directory)
    assert results["rounds"] == ROUNDS and "2 rounds. It shows that all works" in shown
    for number, row in enumerate(results["engines"]):
        for key, (least, most) in row["spread"].items():
            assert least <= row[key] <= most
        for one in row["rounds"]:
            assert one["end_to_end_ms"] == one["stabilisation_ms"] + one["acquisition_ms"]
        assert row["end_to_end_ms"] == statistics.median(one["end_to_end_ms"] for one in row["rounds"])
        # The raw numbers are there, and lead to the same.
        outputs = [runs[number]["writer"]["outputs"] for runs in results["raw"]]
        later = [statistics.median(o["end_step_seconds"] for o in one[1:]) * 1e3 for one in outputs]
        assert row["stabilisation_ms"] == statistics.median(later)
        assert len(outputs) == ROUNDS and all(len(one) == results["steps"] for one in outputs)
    reference, best = results["engines"][0], results["engines"][-1]
    assert reference["times_faster"] == 1
    assert best["times_faster"] == reference["end_to_end_ms"] / best["end_to_end_ms"]
    assert f"medians of {ROUNDS} rounds" in shown and " to " in shown
    # Each round began when the one before had ended.
    times = [run["live"]["steps"][-1]["available"] for runs in results["raw"] for run in runs]
    assert times == sorted(times)


def test_it_says_whether_the_machine_was_busy(demo, tmp_path):
    directory = shutil.copytree(demo[0], tmp_path / "copy")
    assert "before the runs other work used" in demo[1]
    for share, says in (
        (0.62, "BUSY MACHINE: before the runs other work used 62%"),
        (0.02, "quiet"),
        (None, "known"),
    ):
        for file in directory.glob("rounds/*/*/others.json"):
            file.write_text(json.dumps({"share": share}))
        done = compare(directory)
        assert done.returncode == 0 and says in done.stdout
        assert results_of(directory)["machine"]["busy"] is (None if share is None else share > 0.1)


def test_other_work_is_measured(tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n")
    later = threading.Timer(0.1, stat.write_text, ["cpu  110 5 110 860 10 1 2 2 0 0\n"])
    later.start()
    assert others_share(0.5, stat) == pytest.approx(0.3)  # 30 of 100: waiting for a disk is not work
    later.join()
    assert others_share(0, stat) is None and others_share(0, tmp_path / "none") is None


def test_it_leaves_its_pictures(demo):
    for name in ("field.png", "timings.png"):
        assert (demo[0] / name).read_bytes().startswith(b"\x89PNG")


def test_the_steps_are_in_objects(demo):
    directory, _ = demo
    names = {file.name for file in (directory / "kv").iterdir()}
    assert "pool" in names and not any(name.endswith(".bp") for name in names)


def test_a_difference_is_found(demo, tmp_path):
    directory = shutil.copytree(demo[0], tmp_path / "copy")
    assert compare(directory).returncode == 0
    live = directory / "rounds" / "2" / "array" / "live.json"
    read = json.loads(live.read_text())
    read["steps"][1]["V"]["sha256"] = "0" * 64
    live.write_text(json.dumps(read))
    done = compare(directory)
    assert done.returncode == 1 and "array: round 2: step 6: V differs" in done.stderr
    read["steps"].pop()
    live.write_text(json.dumps(read))
    done = compare(directory)
    assert done.returncode == 1 and "array: round 2: steps [3, 6, 9] instead of [3, 6, 9, 12]" in done.stderr
