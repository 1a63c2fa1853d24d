"""stepstore.open_file_system: directories, files and links in a container, as Python's own files work."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import threading
from collections.abc import Callable

import pytest
import stepstore
from stepstore import _core
from stepstore.errors import DER_INVAL, DER_NO_HDL, DER_NONEXIST, Error
from stepstore.file_paths import UNFINISHED
from stepstore.file_system import FileSystem, open_file_system


@pytest.fixture
def place(pool: stepstore.Pool) -> str:
    _core.create_file_system(pool.location, "f")
    return f"{pool.location}/f"


@pytest.fixture
def files(place: str) -> FileSystem:
    return open_file_system(place)


def names(files: FileSystem, path: str = "") -> list[str]:
    return [entry.name for entry in files.entries(path)]


def fails(number: int, call: Callable[[], object]) -> OSError:
    with pytest.raises(OSError) as raised:
        call()
    assert raised.value.errno == number, raised.value
    return raised.value


def test_files_are_read_and_written(files: FileSystem) -> None:
    with files.open("a", "wb", permissions=0o640) as file:
        assert file.write(b"hello") == 5
    with files.open("a", "ab") as file:
        file.write(b" world")
    with files.open("/a", "r+b") as file:
        file.seek(6)
        file.write(b"W")
        file.truncate(8)
        file.seek(0)
        assert file.read() == b"hello Wo"
        file.seek(-2, os.SEEK_END)
        assert file.read(1) == b"W" and file.tell() == 7
    status = files.status("a")
    assert (status.kind, status.size, status.mode & 0o777) == ("file", 8, 0o640)
    fails(errno.EEXIST, lambda: files.open("a", "xb"))
    fails(errno.ENOENT, lambda: files.open("none"))
    fails(errno.EISDIR, lambda: files.open("/"))
    with pytest.raises(ValueError, match="mode 'w'"):
        files.open("a", "w")
    with files.open("a") as file, pytest.raises(OSError):
        file.write(b"x")


def test_a_hole_reads_as_zeros(files: FileSystem) -> None:
    raw = files.open_raw("holes", os.O_RDWR | os.O_CREAT)
    raw.write(3 << 20, b"end")
    assert raw.size() == (3 << 20) + 3
    assert raw.read(1 << 20, 10) == bytes(10)
    assert raw.read((3 << 20) - 1, 100) == b"\0end"
    assert raw.read(1 << 30, 10) == b""
    room = bytearray(2)
    assert raw.readinto(3 << 20, room) == 2 and room == b"en"
    raw.close()
    with pytest.raises(Error, match="closed"):
        raw.size()


def test_a_file_of_a_writer_appears_whole(files: FileSystem) -> None:
    files.mkdir("d")
    with files.writer("d/whole") as file:
        file.write(b"x" * 3_000_000)
        file.flush()
        (hidden,) = names(files, "d")
        assert hidden.startswith(UNFINISHED)
    assert names(files, "d") == ["whole"]
    with pytest.raises(ZeroDivisionError), files.writer("d/whole") as file:
        file.write(b"y")
        raise ZeroDivisionError
    lost = files.writer("d/forgotten")
    lost.write(b"z")
    del lost
    assert names(files, "d") == ["whole"] and files.status("d/whole").size == 3_000_000
    files.mkdir("d/taken")
    with files.open("d/taken/x", "wb"):
        pass
    file = files.writer("d/taken")
    fails(errno.EISDIR, file.close)
    assert names(files, "d") == ["taken", "whole"]


def test_directories_links_and_names(files: FileSystem) -> None:
    files.mkdir("a/b/c", parents=True)
    files.mkdir("a/b/c", parents=True)
    fails(errno.EEXIST, lambda: files.mkdir("a/b"))
    files.symlink("b/c", "a/link")
    files.symlink("nowhere", "bad")
    assert files.readlink("a/link") == "b/c"
    assert files.status("a/link").kind == "directory"
    assert files.status("a/link", follow=False).kind == "link"
    fails(errno.ENOENT, lambda: files.status("bad"))
    fails(errno.EINVAL, lambda: files.readlink("a"))
    files.rename("a/b", "moved")
    assert names(files) == ["a", "bad", "moved"] and names(files, "moved") == ["c"]
    fails(errno.ENOTEMPTY, lambda: files.remove("moved"))
    files.remove("moved", recursive=True)
    fails(errno.EBUSY, lambda: files.remove(""))
    fails(errno.EINVAL, lambda: files.status("a/../bad"))
    fails(errno.EINVAL, lambda: files.status("a\0b"))
    fails(errno.ENAMETOOLONG, lambda: files.status("x" * 300))
    strange = os.fsdecode(b"n\xff")
    with files.open(strange, "wb"):
        pass
    assert strange in names(files)
    assert fails(errno.ENOENT, lambda: files.status("none")).filename == "/none"


def test_status_and_attributes(files: FileSystem) -> None:
    with files.open("a", "wb"):
        pass
    for when in (10**18 + 1, 0, -1_500_000_000):
        files.set_status("a", modified=when, mode=0o604, owner=(3, 4))
        status = files.status("a")
        assert (status.modified, status.mode & 0o7777, status.uid, status.gid) == (when, 0o604, 3, 4)
    fails(errno.ENOTSUP, lambda: files.set_status("a", mode=0o1777))
    files.set_attribute("a", "user.x", b"\0\xff")
    files.set_attribute("a", "user.y", b"y" * 65536)
    assert files.attributes("a") == {"user.x": b"\0\xff", "user.y": b"y" * 65536}
    files.set_attribute("a", "user.y", None)
    assert list(files.attributes("a")) == ["user.x"]
    fails(errno.ENODATA, lambda: files.set_attribute("a", "user.y", None))
    fails(errno.EINVAL, lambda: files.set_attribute("a", "user.z", b""))


def test_reading_only_and_snapshots(place: str, files: FileSystem) -> None:
    with files.open("a", "wb") as file:
        file.write(b"old")
    with stepstore.Pool.connect(place.rpartition("/")[0]) as pool, pool.open_container("f") as box:
        epoch = box.create_snapshot("s")
    with files.open("a", "wb") as file:
        file.write(b"newer")
    for snapshot in ("s", epoch):
        with open_file_system(place, snapshot=snapshot) as then:
            assert then.open("a").read() == b"old"
            fails(errno.EPERM, lambda then=then: then.mkdir("d"))
    with open_file_system(place, read_only=True) as reading:
        fails(errno.EPERM, lambda: reading.mkdir("d"))
        fails(errno.EPERM, lambda: reading.remove("a"))
        fails(errno.EPERM, lambda: reading.open("b", "wb"))


def test_what_is_no_file_system_is_refused(place: str, files: FileSystem) -> None:
    pool = place.rpartition("/")[0]
    with stepstore.Pool.connect(pool) as opened, opened.create_container("box"):
        pass
    for location, code in (
        (f"{pool}/box", DER_INVAL),
        (f"{pool}/none", DER_NONEXIST),
        (pool, DER_INVAL),
        (f"{place}/a", DER_INVAL),
    ):
        with pytest.raises(Error) as raised:
            open_file_system(location)
        assert raised.value.code == code, location
    files.close()
    files.close()
    assert files.closed
    with pytest.raises(Error) as raised:
        files.entries()
    assert raised.value.code == DER_NO_HDL


def test_it_is_pickled_and_shown(files: FileSystem) -> None:
    files.mkdir("d")
    again = pickle.loads(pickle.dumps(files))
    assert names(again) == ["d"]
    assert "FileSystem" in repr(files) and "d" in files._repr_html_()


def test_a_forked_child_goes_on(files: FileSystem) -> None:
    raw = files.open_raw("shared", os.O_RDWR | os.O_CREAT)
    raw.write(0, b"parent")
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            assert raw.read(0, 6) == b"parent"
            raw.write(0, b"child!")
            files.mkdir("of the child")
            with files.writer("written") as file:
                file.write(b"c")
            files.close()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert raw.read(0, 6) == b"child!"
    assert names(files) == ["of the child", "shared", "written"]


def test_threads_share_it(files: FileSystem) -> None:
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(20):
                with files.writer(f"{number}-{turn}") as file:
                    file.write(bytes([number]) * 1000)
                with files.open(f"{number}-{turn}") as file:
                    assert file.read() == bytes([number]) * 1000
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed and len(names(files)) == 160


def test_a_listing_has_many_pages(files: FileSystem) -> None:
    for number in range(700):
        files.open_raw(f"{number:03}", os.O_RDWR | os.O_CREAT).close()
    found = files.entries()
    assert [entry.name for entry in found] == [f"{number:03}" for number in range(700)]
    assert all(entry.status and entry.status.kind == "file" for entry in found)
