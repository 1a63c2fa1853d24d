"""The cluster of the tests itself: it ends with its owner, and leaves neither processes nor files."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

CEPH = Path(__file__).parents[1] / "support" / "ceph.py"


def daemons(directory: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if entry.name.isdigit() and os.fsencode(directory) in command and command.startswith(b"ceph-"):
            found.append(int(entry.name))
    return found


def test_a_cluster_ends_with_its_owner_and_leaves_nothing() -> None:
    directory = Path(tempfile.mkdtemp(prefix="stepstore-ceph-"))
    owner = subprocess.Popen(["sleep", "600"])
    try:
        subprocess.run([CEPH, "start", directory, "--pool", "p", "--owner", str(owner.pid)], check=True)
        assert len(daemons(directory)) == 2
    finally:
        owner.kill()
        owner.wait()
    end = time.monotonic() + 60
    while (directory.exists() or daemons(directory)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not directory.exists() and daemons(directory) == []


def test_what_has_to_be_installed_is_named(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to("/usr/bin/python3")
    done = subprocess.run(
        ["/usr/bin/python3", CEPH, "start", tmp_path / "cluster"],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "there is no ceph-mon: install" in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "cluster").exists()


def test_what_is_no_cluster_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    for command in (["start", tmp_path], ["stop", tmp_path]):
        done = subprocess.run([CEPH, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "holds something else" in done.stderr
    assert (tmp_path / "precious").exists()
