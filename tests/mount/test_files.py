"""What programs do with files, on a mount."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import shutil
import stat
import subprocess
import sys
import threading
import time

import pytest
from conftest import EXCHANGE, NOREPLACE, errno_of, rename, wait_until


def run(*words, cwd=None, **others):
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, capture_output=True, text=True, timeout=120, check=False, **others
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def tree(tmp_path):
    """Files of many sizes, with links, modes and times."""
    top = tmp_path / "tree"
    for number, size in enumerate((0, 1, 4095, 4096, 4097, 1 << 20, (1 << 20) + 1, 3_000_000)):
        folder = top / f"d{number % 3}" / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"f{number}"
        file.write_bytes(bytes(i * number % 251 for i in range(4096)) * (size // 4096) + b"x" * (size % 4096))
        file.chmod(0o600 | number)
        os.utime(file, ns=(10**18 + number, 10**18 + number))
    (top / "link").symlink_to("d0/deep/f0")
    (top / "dangling").symlink_to("no/such")
    (top / "name with spaces, \u00fc, \n").write_text("text")
    os.utime(top / "d0", ns=(10**18, 10**18))
    return top


def contents(top):
    found = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            what = None
            if stat.S_ISLNK(status.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    what = (file.read(), status.st_mtime_ns, status.st_size)
            found[os.path.relpath(path, top)] = (status.st_mode, status.st_uid, status.st_gid, what)
    return found


def test_cp_keeps_all(top, tree):
    run("cp", "-a", tree, top / "copy")
    assert contents(top / "copy") == contents(tree)
    assert (top / "copy/d0").stat().st_mtime_ns == 10**18
    run("diff", "-r", "--no-dereference", tree, top / "copy")
    run("rm", "-r", top / "copy")
    assert os.listdir(top) == []


def test_tar_both_ways(top, tree, tmp_path):
    run("tar", "--format=posix", "-cf", top / "tree.tar", "-C", tree, ".")
    (top / "out").mkdir()
    run("tar", "-xpf", top / "tree.tar", "-C", top / "out")
    assert contents(top / "out") == contents(tree)
    (tmp_path / "back").mkdir()
    run("sh", "-c", f"tar --format=posix -cf - -C {top}/out . | tar -xpf - -C {tmp_path}/back")
    assert contents(tmp_path / "back") == contents(tree)


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_git(top, tree, tmp_path):
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }

    def git(*words, cwd=top / "work"):
        return run("git", *words, cwd=cwd, env=environment)

    (top / "work").mkdir()
    git("init", "-q")
    run("cp", "-a", f"{tree}/.", top / "work")
    git("add", "-A")
    git("commit", "-qm", "one")
    (top / "work/d1/deep/f1").write_text("changed")
    git("commit", "-qam", "two")
    git("gc", "-q")
    git("fsck", "--strict")
    git("clone", "-q", "work", "clone", cwd=top)
    assert git("status", "--porcelain", cwd=top / "clone") == ""
    assert len(git("log", "--format=%H", cwd=top / "clone").split()) == 2


def test_what_is_appended_goes_to_the_end(top):
    file = top / "log"

    def append(who):
        with open(file, "ab", buffering=0) as opened:
            for number in range(200):
                opened.write(b"%d %d\n" % (who, number))

    threads = [threading.Thread(target=append, args=(who,)) for who in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(file.read_bytes().split(b"\n")[:-1]) == sorted(
        b"%d %d" % (who, number) for who in range(4) for number in range(200)
    )


def test_listing_while_entries_come_and_go(top):
    for number in range(1000):
        (top / f"f{number}").touch()
    with os.scandir(top) as listing:
        first = {next(listing).name for _ in range(100)}
        for number in range(0, 1000, 2):
            (top / f"f{number}").unlink()
        for number in range(300):
            (top / f"g{number}").touch()
        names = [entry.name for entry in listing]
    assert len(names) == len(set(names)) and not first & set(names)
    assert {f"f{number}" for number in range(1, 1000, 2)} <= first | set(names)
    assert len(os.listdir(top)) == 800


def test_an_open_file_stays_when_its_name_goes(top):
    for replace in (False, True):
        with open(top / "f", "w+b", buffering=0) as file:
            file.write(b"kept")
            if replace:
                (top / "g").write_bytes(b"new")
                os.rename(top / "g", top / "f")
            else:
                (top / "f").unlink()
            assert (top / "f").exists() == replace
            file.write(b" and more")
            assert os.pread(file.fileno(), 99, 0) == b"kept and more"
            assert os.fstat(file.fileno()).st_size == 13
            os.ftruncate(file.fileno(), 2)
            assert os.pread(file.fileno(), 99, 0) == b"ke"
    wait_until(lambda: os.listdir(top) == ["f"])  # the kernel tells of the last close after it
    assert (top / "f").read_bytes() == b"new"


def test_renames_with_flags(top):
    (top / "d").mkdir()
    (top / "a").write_text("a")
    (top / "d/b").write_text("b")
    assert errno_of(rename, top / "a", top / "d/b", NOREPLACE) == errno.EEXIST
    rename(top / "a", top / "d/b", EXCHANGE)
    assert ((top / "a").read_text(), (top / "d/b").read_text()) == ("b", "a")
    rename(top / "a", top / "d/c", NOREPLACE)
    assert sorted(os.listdir(top / "d")) == ["b", "c"]
    assert errno_of(rename, top / "d", top / "none", EXCHANGE) == errno.ENOENT
    assert errno_of(os.rename, top / "d", top / "d/below") == errno.EINVAL


def test_attributes(top):
    file = top / "f"
    file.touch()
    os.setxattr(file, "user.one", b"1")
    os.setxattr(file, "user.two", b"2" * 65536)
    os.setxattr(top, "trusted.of.the.root", b"x")
    assert sorted(os.listxattr(file)) == ["user.one", "user.two"]
    assert os.listxattr(top) == ["trusted.of.the.root"]
    assert os.getxattr(file, "user.two") == b"2" * 65536
    assert errno_of(os.setxattr, file, "user.one", b"x", os.XATTR_CREATE) == errno.EEXIST
    assert errno_of(os.setxattr, file, "user.no", b"x", os.XATTR_REPLACE) == errno.ENODATA
    os.removexattr(file, "user.two")
    assert errno_of(os.removexattr, file, "user.two") == errno.ENODATA
    assert errno_of(os.getxattr, file, "user.two") == errno.ENODATA
    assert errno_of(os.setxattr, file, "user.empty", b"") == errno.ENOTSUP
    assert errno_of(os.setxattr, file, "security.capability", b"\1\0\0\2" + bytes(16)) == errno.ENOTSUP
    os.chown(file, 12, 34)
    file.chmod(0o640)
    os.utime(file, ns=(5, 7_000_000_009))
    found = file.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12, 34, 0o640)
    assert found.st_mtime_ns == 7_000_000_009
    file.write_bytes(b"later")
    assert time.time() - 60 < file.stat().st_mtime < time.time() + 60
    assert os.listxattr(file) == ["user.one"]


def test_what_is_not_there_is_refused_by_name(top):
    (top / "f").touch()
    (top / "d").mkdir()
    assert errno_of(os.link, top / "f", top / "g") == errno.EPERM
    assert errno_of(os.mkfifo, top / "g") == errno.EPERM
    assert errno_of(os.mknod, top / "g", stat.S_IFCHR | 0o600, os.makedev(1, 3)) == errno.EPERM
    assert errno_of((top / "d").chmod, 0o1777) == errno.ENOTSUP
    assert errno_of((top / ("n" * 256)).touch) == errno.ENAMETOOLONG
    (top / ("n" * 255)).touch()
    os.mknod(top / "g", stat.S_IFREG | 0o600)
    assert (top / "g").is_file()


def test_a_group_comes_from_above(top):
    (top / "d").mkdir()
    os.chown(top / "d", 0, 77)
    (top / "d").chmod(0o2775)
    (top / "d/f").touch()
    (top / "d/e").mkdir()
    assert (top / "d/f").stat().st_gid == (top / "d/e").stat().st_gid == 77
    assert (top / "d/e").stat().st_mode & stat.S_ISGID


def test_memory_that_is_mapped(top):
    with open(top / "f", "w+b") as file:
        file.truncate(1 << 20)
        with mmap.mmap(file.fileno(), 1 << 20) as mapped:
            mapped[4090:4100] = b"0123456789"
            mapped.flush()
    assert (top / "f").read_bytes()[4090:4100] == b"0123456789"


def test_large_offsets_and_holes(top):
    with open(top / "f", "w+b") as file:
        file.seek(5 << 40)
        file.write(b"end")
    assert (top / "f").stat().st_size == (5 << 40) + 3
    with open(top / "f", "rb") as file:
        assert file.read(10) == bytes(10)
        file.seek(5 << 40)
        assert file.read() == b"end"
    os.truncate(top / "f", 1)
    assert (top / "f").read_bytes() == b"\0"


def test_space_is_the_pools(top):
    found, of_pool = os.statvfs(top), os.statvfs(top.parent.parent / "pool")
    assert found.f_blocks * found.f_frsize == pytest.approx(of_pool.f_blocks * of_pool.f_frsize, rel=0.01)
    assert found.f_namemax == 255


def test_inodes_are_those_of_objects(top):
    numbers = set()
    for name in "abcdef":
        (top / name).touch()
        numbers.add((top / name).stat().st_ino)
    assert len(numbers) == 6
    os.rename(top / "a", top / "moved")
    assert (top / "moved").stat().st_ino in numbers


def test_locks_are_the_machines(top):
    run("flock", top, "true")
    code = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with open(top / "f", "w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        other = subprocess.run([sys.executable, "-c", code, top / "f"], capture_output=True, check=False)
        assert other.returncode != 0 and b"BlockingIOError" in other.stderr
