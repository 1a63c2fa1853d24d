"""The demo of `make demo`, small, on the build tree: the whole way from the simulation to the report."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINES = ["bp5", "posix", "kv", "array", "array-aligned"]


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
    command = [sys.executable, ROOT / "examples" / "report.py", "compare", directory, *ENGINES]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_layout_gives_what_bp5_gives(demo):
    directory, shown = demo
    results = json.loads((directory / "results.json").read_text())
    assert [row["engine"] for row in results["engines"]] == ENGINES
    assert results["steps"] == 4 and results["ranks"] == 4
    assert results["differences"] == {name: [] for name in ENGINES}
    for row in results["engines"]:
        assert row["stabilisation_ms"] > 0 and row["acquisition_ms"] > 0
    assert shown.count("equal, bit for bit") == 4
    assert "first result" in shown


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
    live = directory / "array" / "live.json"
    read = json.loads(live.read_text())
    read["steps"][1]["V"]["sha256"] = "0" * 64
    live.write_text(json.dumps(read))
    done = compare(directory)
    assert done.returncode == 1 and "array: step 6: V differs" in done.stderr
    read["steps"].pop()
    live.write_text(json.dumps(read))
    done = compare(directory)
    assert done.returncode == 1 and "array: steps [3, 6, 9] instead of [3, 6, 9, 12]" in done.stderr
