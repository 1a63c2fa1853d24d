"""Pools in files, as a user of Python and of the command line meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import stepstore
from stepstore import Error


def command(*words: object, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "stepstore", *map(str, words)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def write(location: str, steps: int = 3) -> None:
    with stepstore.Writer(location) as writer:
        for step in range(steps):
            with writer.step() as values:
                values["U"] = np.full((40, 30), step, dtype=np.float64)
                values["name"] = f"step {step}"


def same_steps(location: str, steps: int = 3) -> None:
    with stepstore.open_steps(location) as stream:
        for step in range(steps):
            assert np.array_equal(stream.read("U", step), np.full((40, 30), step))


def test_the_command_line_makes_looks_checks_and_compacts(tmp_path: Path) -> None:
    pool = tmp_path / "p"
    assert "made pool" in command("pool", "create", pool, "--on", "files")
    assert "files, format 1" in command("pool", "query", pool)
    assert json.loads(command("pool", "query", f"shared:{pool}", "--json"))["backend"] == "files"
    write(str(pool))
    with stepstore.Pool.connect(str(pool)) as opened, opened.create_container("keys") as box:
        for number in range(20):
            box.key_value(1).put(f"key-{number}", b"value")
    assert "default/main/U" in command("ls", "-r", pool)
    assert "damage" not in command("pool", "check", pool).replace("no damage", "")
    command("pool", "check", "--repair", pool)
    assert "files and directories" in command("pool", "query", pool)
    told = json.loads(command("pool", "compact", pool, "--json"))["targets"]
    assert len(told) == 1 and told[0]["files_after"] < told[0]["files_before"]
    assert json.loads(command("pool", "query", pool, "--json"))["files"] < told[0]["files_before"]
    assert "files and directories became" in command("pool", "compact", pool)
    same_steps(f"shared:{pool}")
    assert "a pool in files has none" in command(
        "pool", "create", tmp_path / "q", "--on", "files", "--targets", 4, status=2
    )
    assert "machine or files" in command("pool", "create", tmp_path / "q", "--on", "tape", status=2)
    assert "leave out shared:" in command("pool", "create", f"shared:{pool_on_machine(tmp_path)}", status=1)
    command("pool", "destroy", "--yes", f"shared:{pool}")
    assert not pool.exists()


def pool_on_machine(tmp_path: Path) -> Path:
    command("pool", "create", tmp_path / "machine")
    return tmp_path / "machine"


@pytest.mark.parametrize("there", ["shared:{}/b", "{}/b"])
@pytest.mark.parametrize("here", ["shared:{}/a", "{}/a"])
def test_copies_go_between_all_kinds(tmp_path: Path, here: str, there: str) -> None:
    source, destination = here.format(tmp_path), there.format(tmp_path)
    if source.startswith("shared:") or destination.startswith("shared:"):
        stepstore.Pool.create(source)
        write(f"{source}/box/run")
        with stepstore.Pool.connect(source) as pool, pool.open_container("box") as box:
            box.create_array(box.allocate_oids(1), dtype="f8").write(0, np.arange(1000.0))
        note = command("copy", source, destination)
        assert ("no snapshot is made" in note) == source.startswith("shared:"), note
        same_steps(f"{destination}/box/run")


def test_objects_containers_and_errors(tmp_path: Path) -> None:
    location = f"shared:{tmp_path / 'p'}"
    stepstore.Pool.create(location)
    with stepstore.Pool.connect(str(tmp_path / "p")) as pool:
        assert pool.location == location
        with pool.create_container("box") as box:
            values = box.key_value(box.allocate_oids(1))
            values["a"] = b"1"
            values["b"] = os.urandom(100_000)
            assert sorted(values) == ["a", "b"]
            del values["a"]
            assert "a" not in values
            with pytest.raises(Error, match="newest version alone") as refused:
                box.create_snapshot("s")
            assert refused.value.name == "DER_NOTSUPPORTED"
            array = box.create_array(box.allocate_oids(1), dtype="i4")
            array.write(10, np.arange(5, dtype="i4"))
            assert array.read(8, 7, dtype="i4").tolist() == [0, 0, 0, 1, 2, 3, 4]
        assert pool.containers() == ["box"]


def test_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    from stepstore.zarr import Store

    place = f"shared:{tmp_path / 'p'}/cubes"
    made = zarr.create_array(Store(place), shape=(64, 64), chunks=(16, 16), dtype="f4")
    made[:] = np.arange(64 * 64, dtype="f4").reshape(64, 64)
    again = zarr.open_array(Store(place, read_only=True), mode="r")
    assert np.array_equal(again[:], np.arange(64 * 64, dtype="f4").reshape(64, 64))
    assert (tmp_path / "p/cubes/stepstore.files").exists()
