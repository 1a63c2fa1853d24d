"""stepstore:// of fsspec on a container with a file system: what blobs do not have, and other packages."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

fsspec = pytest.importorskip("fsspec")

import stepstore  # noqa: E402
from stepstore import _core  # noqa: E402
from stepstore.blobs.filesystem import StepstoreFileSystem  # noqa: E402
from stepstore.file_system import FileSystem  # noqa: E402


@pytest.fixture
def files(pool: str) -> FileSystem:
    _core.create_file_system(pool, "f")
    return stepstore.open_file_system(f"{pool}/f")


@pytest.fixture
def fs(files: FileSystem) -> StepstoreFileSystem:
    return StepstoreFileSystem(skip_instance_cache=True)


def test_what_libdfs_wrote_is_read_and_the_other_way(
    fs: StepstoreFileSystem, files: FileSystem, pool: str
) -> None:
    files.mkdir("d")
    with files.open("d/a", "wb") as file:
        file.write(b"hello")
    assert fs.cat_file(f"{pool}/f/d/a", 1, 3) == b"el"
    with fs.open(f"stepstore://{pool}/f/new/b", "wb") as file:
        file.write(b"from fsspec")
    with files.open("new/b") as file:
        assert file.read() == b"from fsspec"
    with fs.open(f"{pool}/f/new/b", "r+b") as file:
        file.seek(5)
        file.write(b"FSSPEC")
    assert fs.cat(f"{pool}/f/new/b") == b"from FSSPEC"
    assert sorted(fs.find(f"{pool}/f")) == [f"{pool}/f/d/a", f"{pool}/f/new/b"]
    with pytest.raises(FileNotFoundError, match="/f/none"):
        fs.info(f"{pool}/f/none")
    with pytest.raises(FileNotFoundError):
        fs.ls(f"{pool}/f/d/a/below")


def test_times_modes_and_links_are_told(fs: StepstoreFileSystem, files: FileSystem, pool: str) -> None:
    with files.open("a", "wb", permissions=0o640) as file:
        file.write(b"12345")
    files.set_status("a", modified=10**18 + 5000)
    files.mkdir("d")
    files.symlink("a", "to a file")
    files.symlink("d", "to a directory")
    files.symlink("nowhere", "to nothing")
    found = {Path(one["name"]).name: one for one in fs.ls(f"{pool}/f")}
    assert found["a"]["mtime"] == datetime.datetime.fromtimestamp(10**9, datetime.UTC).replace(microsecond=5)
    assert fs.modified(f"{pool}/f/a") == found["a"]["mtime"]
    assert (found["a"]["mode"] & 0o777, found["a"]["islink"]) == (0o640, False)
    assert [found[f"to {what}"]["type"] for what in ("a file", "a directory", "nothing")] == [
        "file",
        "other",
        "other",
    ]
    assert found["to a file"]["size"] == 5 and found["to nothing"]["destination"] == "nowhere"
    assert fs.isdir(f"{pool}/f/to a directory")
    files.symlink("..", "d/loop")
    files.symlink("/", "d/root")
    assert f"{pool}/f/a" in fs.find(f"{pool}/f")  # which ends
    with fs.open(f"{pool}/f/to a file", "wb") as file:
        file.write(b"through the link")
    assert fs.cat_file(f"{pool}/f/a") == b"through the link"
    assert files.readlink("to a file") == "a"


def test_between_blobs_and_files(
    fs: StepstoreFileSystem, files: FileSystem, pool: str, tmp_path: Path
) -> None:
    fs.pipe_file(f"{pool}/box/tree/x", b"x" * 100_000)
    fs.pipe_file(f"{pool}/box/tree/y/z", b"z")
    fs.copy(f"{pool}/box/tree", f"{pool}/f/tree", recursive=True)
    assert fs.cat_file(f"{pool}/f/tree/x") == b"x" * 100_000
    fs.mv(f"{pool}/f/tree", f"{pool}/box/back", recursive=True)
    assert fs.cat_file(f"{pool}/box/back/y/z") == b"z"
    assert files.entries() == []
    fs.get(f"{pool}/box/back", f"{tmp_path}/out", recursive=True)
    fs.put(f"{tmp_path}/out", f"{pool}/f/in", recursive=True)
    assert fs.cat_file(f"{pool}/f/in/y/z") == b"z"
    with pytest.raises(OSError):
        fs.rmdir(f"{pool}/f")
    fs.rm(f"{pool}/f", recursive=True)
    assert fs.ls(f"{pool}/f") == []


def test_a_file_appears_when_it_is_closed(fs: StepstoreFileSystem, files: FileSystem, pool: str) -> None:
    fs.pipe_file(f"{pool}/f/a", b"old")
    with pytest.raises(ZeroDivisionError), fs.open(f"{pool}/f/a", "wb") as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert fs.cat_file(f"{pool}/f/a") == b"old" and [entry.name for entry in files.entries()] == ["a"]
    with pytest.raises(FileExistsError):
        fs.pipe_file(f"{pool}/f/a", b"new", mode="create")
    with pytest.raises(NotImplementedError, match="transactions"), fs.transaction:
        fs.open(f"{pool}/f/b", "wb")


def test_read_only_and_snapshots(files: FileSystem, pool: str) -> None:
    with files.open("a", "wb") as file:
        file.write(b"old")
    with stepstore.Pool.connect(pool) as opened, opened.open_container("f") as box:
        box.create_snapshot("then")
    files.remove("a")
    then = StepstoreFileSystem(snapshot="then", skip_instance_cache=True)
    assert then.cat_file(f"{pool}/f/a") == b"old"
    for fs in (then, StepstoreFileSystem(read_only=True, skip_instance_cache=True)):
        for call in (
            lambda fs=fs: fs.pipe_file(f"{pool}/f/b", b""),
            lambda fs=fs: fs.mkdir(f"{pool}/f/d"),
            lambda fs=fs: fs.rm(f"{pool}/f", recursive=True),
            lambda fs=fs: fs.open(f"{pool}/f/b", "wb"),
        ):
            with pytest.raises(PermissionError, match="read-only"):
                call()


def test_pandas_and_zarr(fs: StepstoreFileSystem, pool: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    frame.to_csv(f"stepstore://{pool}/f/tables/t.csv", index=False)
    assert pandas.read_csv(f"stepstore://{pool}/f/tables/t.csv").equals(frame)
    zarr = pytest.importorskip("zarr")
    target = zarr.storage.FsspecStore.from_url(f"stepstore://{pool}/f/z")
    array = zarr.create_array(target, shape=(10, 10), chunks=(5, 5), dtype="i4")
    array[...] = 7
    again = zarr.open_array(zarr.storage.FsspecStore.from_url(f"stepstore://{pool}/f/z"), mode="r")
    assert (again[...] == 7).all()
    assert fs.exists(f"{pool}/f/z/c/0/1")
