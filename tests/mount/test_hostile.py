"""A container that somebody has forged: errors, and a mount that goes on."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess

from conftest import errno_of


def forge(mounts):
    subprocess.run([os.environ["STEPSTORE_TEST_FORGE"], str(mounts.pool)], check=True, timeout=60)


def try_all(path):
    """Every call on one name, whatever it gives."""
    for call in (
        lambda: os.stat(path),
        lambda: os.readlink(path),
        lambda: os.listdir(path),
        lambda: os.listxattr(path, follow_symlinks=False),
        lambda: os.setxattr(path, "user.a", b"1", follow_symlinks=False),
        lambda: os.getxattr(path, "user.a", follow_symlinks=False),
        lambda: os.utime(path, ns=(1, 1), follow_symlinks=False),
        lambda: os.chmod(path, 0o700),
        lambda: os.truncate(path, 5),
        lambda: open(path, "rb").read(1 << 20),
        lambda: open(path, "ab").write(b"more"),
        lambda: os.rename(path, path + b"x"),
        lambda: os.rename(path + b"x", path),
        lambda: open(path + b"/below", "wb").write(b"x"),
    ):
        with contextlib.suppress(OSError):
            call()


def test_a_forged_container(mounts):
    forge(mounts)
    place, other = mounts.new(), mounts.new()
    names = os.listdir(os.fsencode(place))
    assert len(names) == 16 and b"line\nand \x1b[2J \xff" in names
    for name in (b"no kind", b"large chunks", b"long link", b"short inode"):
        found = errno_of(os.lstat, os.fsencode(place) + b"/" + name)
        assert found == (0 if name == b"large chunks" else errno.EIO), name
    assert errno_of(os.listdir, place / "no names") == errno.EIO
    assert errno_of(os.rmdir, place / "no names") == errno.ENOTEMPTY
    assert (place / "two names").read_text() == (other / "one name").read_text() == "text"
    for top in (place, other):
        for folder, folders, files in os.walk(os.fsencode(top)):
            if folder.count(b"/circle") > 5:
                folders.clear()
            for name in (*folders, *files):
                try_all(os.path.join(folder, name))
    for top in (place, other):
        assert (top / "whole").read_bytes().startswith(b"text")
        os.statvfs(top)
    (place / "new").write_text("new")
    assert (other / "new").read_text() == "new"
    shutil.rmtree(place, ignore_errors=True)
    (place / "new").write_text("again")
    assert (other / "new").read_text() == "again"
