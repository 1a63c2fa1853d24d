"""What the commands mount and unmount say and refuse."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest
from conftest import errno_of, stepstore


def says(words, code, text):
    done = stepstore(*words, code=code)
    lines = done.stderr.strip().splitlines()
    assert done.stdout == "" and len(lines) == 1, done.stderr
    assert text in lines[0]


def test_what_is_not_there(mounts, tmp_path):
    (tmp_path / "dir").mkdir()
    says(("mount", f"{mounts.pool}/none", tmp_path / "dir"), 3, 'has no container "none"')
    says(("mount", f"{tmp_path}/nopool/x", tmp_path / "dir"), 3, "there is no pool")
    says(("mount", mounts.location, tmp_path / "nodir"), 3, "there is no such directory: make it")
    says(("mount", mounts.pool, tmp_path / "dir"), 2, "names no container")
    says(("mount", mounts.location, tmp_path / "dir", "--snapshot", "s"), 3, "there is no snapshot 's'")
    assert os.listdir(tmp_path / "dir") == []


def test_what_is_no_place_for_a_mount(mounts, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    says(("mount", mounts.location, tmp_path / "full"), 1, "is not empty")
    says(("mount", mounts.location, tmp_path / "full/file"), 1, "cannot be read: Not a directory")
    place = mounts.new()
    says(("mount", mounts.location, place), 1, "has a container mounted already: unmount it first")
    says(("unmount", tmp_path / "full"), 3, "no container is mounted there")


def test_what_is_no_file_system(mounts, tmp_path):
    (tmp_path / "dir").mkdir()
    stepstore("cont", "create", f"{mounts.pool}/objects")
    says(("mount", f"{mounts.pool}/objects", tmp_path / "dir"), 1, "cannot be mounted: dfs_connect:")
    stepstore("pool", "create", tmp_path / "in_files", "--on", "files")
    stepstore("cont", "create", f"{tmp_path}/in_files/objects")
    says(("mount", f"{tmp_path}/in_files/objects", tmp_path / "dir"), 1, "cannot be mounted: dfs_connect:")


def test_read_only(mounts):
    writable = mounts.new()
    (writable / "f").write_text("text")
    place = mounts.new("--read-only")
    assert (place / "f").read_text() == "text"
    for call in (
        lambda: (place / "g").touch(),
        lambda: (place / "f").write_text("x"),
        lambda: (place / "f").unlink(),
        lambda: (place / "f").chmod(0o600),
        lambda: os.rename(place / "f", place / "g"),
        lambda: os.setxattr(place / "f", "user.a", b"1"),
        lambda: (place / "d").mkdir(),
        lambda: os.utime(place / "f"),
    ):
        assert errno_of(call) == errno.EROFS
    (writable / "g").write_text("new")
    assert (place / "g").read_text() == "new"


def test_a_snapshot(mounts):
    writable = mounts.new()
    (writable / "f").write_text("then")
    (writable / "d").mkdir()
    made = stepstore("snapshot", "create", mounts.location, "--name", "monday", "--json").stdout
    (writable / "f").write_text("now")
    (writable / "d").rmdir()
    epoch = "".join(filter(str.isdigit, made.partition("epoch")[2].partition(",")[0]))
    for name in ("monday", epoch):
        place = mounts.new("--snapshot", name)
        assert (place / "f").read_text() == "then" and sorted(os.listdir(place)) == ["d", "f"]
        assert errno_of((place / "g").touch) == errno.EROFS
    assert (writable / "f").read_text() == "now"


def test_a_relative_pool_and_directory(mounts, tmp_path):
    (tmp_path / "here").mkdir()
    mounts.places.append(tmp_path / "here")
    done = subprocess.run(
        [sys.executable, "-m", "stepstore", "mount", "pool/files", "here"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "mounted pool/files on here\n"
    (tmp_path / "here/f").touch()
    stepstore("unmount", tmp_path / "here")
    assert os.listdir(tmp_path / "here") == []


def test_names_that_a_table_of_mounts_escapes(mounts, tmp_path):
    place = tmp_path / "a dir, with\ttabs\\and\nlines"
    place.mkdir()
    mounts.places.append(place)
    stepstore("mount", mounts.location, place)
    (place / "f").touch()
    says(("mount", mounts.location, place), 1, "has a container mounted already")
    stepstore("unmount", place)
    assert os.listdir(place) == []


@pytest.mark.skipif(not os.path.exists("/usr/bin/setpriv"), reason="no setpriv")
def test_other_users(mounts):
    def as_nobody(*words):
        return subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words],
            capture_output=True,
            text=True,
            check=False,
        )

    alone, shared = mounts.new(), mounts.new("--allow-other")
    for place in (mounts.directory, *mounts.directory.parents[:2]):
        place.chmod(0o755)
    (alone / "open").mkdir()
    (alone / "open").chmod(0o777)
    (alone / "secret").touch(mode=0o600)
    assert "Permission denied" in as_nobody("ls", str(alone)).stderr
    assert as_nobody("ls", str(shared)).stdout == "open\nsecret\n"
    assert "Permission denied" in as_nobody("cat", str(shared / "secret")).stderr
    assert as_nobody("touch", str(shared / "open/theirs")).returncode == 0
    assert (alone / "open/theirs").stat().st_uid == 65534
    assert "Permission denied" in as_nobody("touch", str(shared / "not")).stderr
