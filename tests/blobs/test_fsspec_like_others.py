"""stepstore:// does what LocalFileSystem or MemoryFileSystem of fsspec does: the same results and errors,
also for other spellings of a path. A file that is written while its container is removed stays."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import pytest

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.local import LocalFileSystem  # noqa: E402
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

from stepstore import _core  # noqa: E402
from stepstore.blobs.filesystem import StepstoreFileSystem  # noqa: E402

FILES = ["f0", "f1", "f2"]
FOLDERS = ["d0", "d1"]


class System:
    """A filesystem below a root, and what a call gives there, with names relative to the root."""

    def __init__(self, fs: Any, root: str) -> None:
        self.fs, self.root = fs, root

    def relative(self, name: str) -> str:
        assert name == self.root or name.startswith(self.root + "/"), (name, self.root)
        return name[len(self.root) + 1 :]

    def outcome(self, call: Callable[[System], Any]) -> Any:
        """The result, or what kind of error."""
        try:
            return "done", call(self)
        except FileNotFoundError:
            return ("missing",)
        except FileExistsError:
            return ("exists",)
        except (OSError, ValueError, NotImplementedError):
            return ("refused",)

    def tree(self) -> dict[str, bytes | None]:
        """All that there is: bytes of a file, None of a directory."""
        found: dict[str, bytes | None] = {}
        left = [self.root]
        while left:
            for one in self.fs.ls(left.pop(), detail=True):
                is_folder = one["type"] == "directory"
                found[self.relative(one["name"])] = None if is_folder else self.fs.cat_file(one["name"])
                left += [one["name"]] if is_folder else []
        return found

    def become(self, tree: dict[str, bytes | None]) -> None:
        if self.fs.exists(self.root):
            self.fs.rm(self.root, recursive=True)
        self.fs.makedirs(self.root, exist_ok=True)
        for name, data in sorted(tree.items()):
            if data is None:
                self.fs.makedirs(f"{self.root}/{name}", exist_ok=True)
            else:
                self.fs.pipe_file(f"{self.root}/{name}", data)


def respelled(dice: random.Random, path: str) -> str:
    """The same path in another spelling."""
    parts = path.split("/")
    for _ in range(dice.randrange(3)):
        parts.insert(dice.randrange(2, len(parts)), dice.choice(["", "."]))
    return dice.choice(["", "stepstore://"]) + "/".join(parts)


def listed(system: System, found: Any) -> Any:
    """What a listing tells, sorted."""
    if isinstance(found, dict):
        found = list(found.values())
    rows = [
        (system.relative(one["name"]), one["type"], one["size"] if one["type"] == "file" else 0)
        if isinstance(one, dict)
        else system.relative(one)
        for one in found
    ]
    return sorted(rows)


def walked(system: System, found: Any) -> Any:
    return sorted((system.relative(path), sorted(dirs), sorted(files)) for path, dirs, files in found)


class Plays:
    """Calls at random, each as a function of a system. `at` gives the path of a name there."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def folder(self, least: int = 0) -> str:
        return "/".join(self.dice.choice(FOLDERS) for _ in range(self.dice.randrange(least, 3)))

    def file(self) -> str:
        return "/".join(filter(None, (self.folder(), self.dice.choice(FILES))))

    def any(self) -> str:
        return self.file() if self.dice.random() < 0.5 else self.folder(1)

    def data(self) -> bytes:
        return self.dice.randbytes(self.dice.choice([0, 1, 5, 40_000]))

    def reads(self, at: Callable[[System, str], str]) -> Callable[[System], Any]:
        path, dice = self.any(), self.dice
        start, end = dice.choice([None, 0, 1, -2]), dice.choice([None, 0, 3, -1, 50_000])
        depth, withdirs, detail = dice.choice([None, 1, 2, 0]), dice.random() < 0.5, dice.random() < 0.5
        pattern = dice.choice(["**", "*", "*/*", "d0/*", "f?"])
        return dice.choice(
            [
                lambda on: on.fs.cat_file(at(on, path), start, end),
                lambda on: on.fs.open(at(on, path), "rb").read(),
                lambda on: on.fs.exists(at(on, path)),
                lambda on: on.fs.isdir(at(on, path)),
                lambda on: on.fs.isfile(at(on, path)),
                lambda on: listed(on, [on.fs.info(at(on, path))]),
                lambda on: listed(on, on.fs.ls(at(on, path), detail=detail)),
                lambda on: listed(
                    on, on.fs.find(at(on, path), maxdepth=depth, withdirs=withdirs, detail=detail)
                ),
                lambda on: walked(on, on.fs.walk(at(on, path), maxdepth=depth)),
                lambda on: listed(on, on.fs.glob(f"{on.root}/{pattern}")),
                lambda on: on.fs.du(at(on, path)),
                lambda on: on.fs.head(at(on, path), 3) + on.fs.tail(at(on, path), 3),
            ]
        )

    def writes(self, at: Callable[[System, str], str]) -> Callable[[System], Any]:
        file, folder, path, data = self.file(), self.folder(1), self.any(), self.data()
        flag = self.dice.random() < 0.5

        def written(mode: str) -> Callable[[System], None]:
            def call(on: System) -> None:
                with on.fs.open(at(on, file), mode) as opened:
                    opened.write(data)

            return call

        return self.dice.choice(
            [
                lambda on: on.fs.pipe_file(at(on, file), data),
                lambda on: on.fs.pipe_file(at(on, file), data, mode="create"),
                written("wb"),
                written("ab"),
                written("xb"),
                lambda on: on.fs.touch(at(on, file), truncate=flag),
                lambda on: on.fs.mkdir(at(on, folder), create_parents=flag),
                lambda on: on.fs.makedirs(at(on, folder), exist_ok=flag),
                lambda on: on.fs.rmdir(at(on, folder)),
                lambda on: on.fs.rm_file(at(on, path)),
                lambda on: on.fs.rm(at(on, path), recursive=flag),
            ]
        )

    def pair(self, ours: System) -> tuple[str, str]:
        """What is copied or moved, and where to. No file gets the name of a directory."""
        if self.dice.random() < 0.4:
            return self.folder(1), self.folder(1)
        target = self.any()
        if target.split("/")[-1] in FOLDERS and not ours.fs.isdir(f"{ours.root}/{target}"):
            target = self.file()
        return self.file(), target


@pytest.fixture(params=["blobs", "files"])
def systems(request: Any, pool: str, tmp_path: Path) -> Iterator[tuple[System, System, System]]:
    memory = System(MemoryFileSystem(), f"/{uuid.uuid4()}")
    local = System(LocalFileSystem(auto_mkdir=True), f"{tmp_path}/root")
    if request.param == "files":
        _core.create_file_system(pool, "box")
    ours = System(StepstoreFileSystem(skip_instance_cache=True), f"{pool}/box")
    yield ours, local, memory
    if memory.fs.exists(memory.root):
        memory.fs.rm(memory.root, recursive=True)


@pytest.mark.parametrize("seed", range(24))
def test_it_does_what_other_filesystems_do(systems: tuple[System, System, System], seed: int) -> None:
    ours, *others = systems
    dice = random.Random(seed)
    plays = Plays(dice)
    for one in systems:
        one.become({})
    for _ in range(80):

        def at(on: System, name: str) -> str:
            path = f"{on.root}/{name}"
            return respelled(dice, path) if on is ours and "://" not in path else path

        kind = dice.random()
        source, target = plays.pair(ours)
        whole = dice.random() < 0.5
        if kind < 0.4:
            call = plays.reads(at)
        elif kind < 0.8:
            call = plays.writes(at)
        elif kind < 0.9:

            def call(on: System) -> None:
                on.fs.copy(at(on, source), at(on, target), recursive=whole)
        else:

            def call(on: System) -> None:
                on.fs.mv(at(on, source), at(on, target), recursive=True)

            if f"{target}/".startswith(f"{source}/") or target == source.rpartition("/")[0]:
                # To where it is, or into itself: a MemoryFileSystem loses all that is moved.
                before = ours.tree()
                outcome = ours.outcome(call)
                assert ours.tree() == before, (seed, source, target)
                into_itself = target != source and target.startswith(source) and source in before
                assert outcome in ([("refused",)] if into_itself else [("done", None), ("missing",)])
                continue
        got = (ours.outcome(call), ours.tree())
        expected = [(one.outcome(call), one.tree()) for one in others]
        assert got in expected, (seed, got[0], [one[0] for one in expected], source, target)
        for one in others:
            if one.tree() != got[1]:
                one.become(got[1])


def test_a_move_onto_itself_changes_nothing(pool: str, tmp_path: Path) -> None:
    fs = StepstoreFileSystem(skip_instance_cache=True)
    fs.pipe({f"{pool}/box/d/f": b"1", f"{pool}/box/d/e/g": b"2" * 100_000})
    before = System(fs, f"{pool}/box").tree()
    spellings = [f"{pool}/box//d", f"stepstore://{pool}/./box/d/", f"{pool}//box/d/."]
    if "://" not in pool:
        os.symlink(pool, tmp_path / "link")
        spellings += [f"{tmp_path}/link/box/d", os.path.relpath(pool) + "/box/d"]
    for spelling in spellings:
        fs.mv(f"{pool}/box/d", spelling, recursive=True)
        fs.mv(f"{spelling}/f", f"{pool}/box/d/f")
        fs.mv(f"{pool}/box/d/f", f"{spelling}/f")
        with pytest.raises(OSError, match="into itself"):
            fs.mv(f"{pool}/box/d", f"{spelling}/e", recursive=True)
        with pytest.raises(OSError, match="into itself"):
            fs.mv(f"{pool}/box", f"{spelling}/e", recursive=True)
        assert System(fs, f"{pool}/box").tree() == before
    fs.mv(f"{pool}/box/d/f", f"{pool}/box/d")  # into the directory where it is
    assert System(fs, f"{pool}/box").tree() == before


def test_a_path_means_one_file_whatever_was_seen_before(pool: str) -> None:
    for spelling in (f"{pool}/box//a///b", f"{pool}//box/./a/b", f"stepstore://{pool}/box/a/b/"):
        for seen in (False, True):
            fs = StepstoreFileSystem(skip_instance_cache=True)
            if seen:
                fs.exists(f"{pool}/box/a/b")
            fs.pipe_file(spelling, spelling.encode())
            assert fs.find(f"{pool}/box") == [f"{pool}/box/a/b"]
            assert fs.cat_file(f"{pool}/box/a/b") == spelling.encode()
            with pytest.raises(OSError, match=r"'\.\.'"):
                fs.pipe_file(f"{pool}/box/a/../c", b"")


def test_a_container_that_is_removed_is_hidden_and_comes_back(pool: str) -> None:
    fs = StepstoreFileSystem(skip_instance_cache=True)
    box = f"{pool}/box"
    for remove in (fs.rmdir, lambda path: fs.rm(path, recursive=True)):
        fs.makedirs(box)
        remove(box)
        assert not fs.exists(box) and fs.ls(pool) == [] and fs.find(box) == []
        for call in (fs.ls, fs.rmdir, fs.rm, fs.info):
            with pytest.raises(FileNotFoundError):
                call(box)
    fs.pipe_file(f"{box}/f", b"x")
    assert fs.ls(pool, detail=False) == [box] and fs.ls(box, detail=False) == [f"{box}/f"]
    fs.rm(f"{box}/f")
    assert fs.ls(pool) == []
    fs.mkdir(box)
    assert fs.ls(box) == [] and fs.isdir(box)


def test_calls_on_what_is_not_there_make_nothing(pool: str, tmp_path: Path) -> None:
    fs = StepstoreFileSystem(skip_instance_cache=True)
    assert fs.find(f"{tmp_path}/nothing/box") == [] and fs.find(f"{tmp_path}/nothing", detail=True) == {}
    assert fs.glob(f"{tmp_path}/nothing/**") == [] and fs.du(f"{tmp_path}/nothing/box") == 0
    assert list(fs.walk(f"{tmp_path}/nothing")) == [] and os.listdir(tmp_path) == []
    for call in (
        lambda: fs.rmdir(f"{pool}/none"),
        lambda: fs.rmdir(f"{pool}/none/d"),
        lambda: fs.rm(f"{pool}/none"),
        lambda: fs.rm(f"{pool}/none/f"),
        lambda: fs.rm(f"{pool}/none", recursive=True),
        lambda: fs.mv(f"{pool}/none/f", f"{pool}/other/f"),
        lambda: fs.cp_file(f"{pool}/none/f", f"{pool}/other/f"),
        lambda: fs.mkdir(f"{pool}/none/a/b", create_parents=False),
    ):
        with pytest.raises(FileNotFoundError):
            call()
    assert fs.ls(pool) == []


# ---- several processes


def together(pool: str, *programs: str) -> list[str]:
    """Runs programs at once, and gives what each printed. `fs` and `box` are there."""
    head = f"""
        import sys
        from stepstore.blobs.filesystem import StepstoreFileSystem
        fs, box = StepstoreFileSystem(), {pool + "/box"!r}
    """
    running = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(program)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for program in programs
    ]
    with ThreadPoolExecutor(len(running)) as threads:
        for ended in as_completed([threads.submit(one.wait) for one in running]):
            if ended.result() != 0:  # the others may wait for it
                for one in running:
                    one.kill()
    assert [one.returncode for one in running] == [0] * len(running)
    return [one.communicate()[0] for one in running]


@pytest.mark.parametrize("before", [0, 60_000])
def test_processes_that_append_lose_no_line(pool: str, before: int) -> None:
    fs = StepstoreFileSystem(skip_instance_cache=True)
    fs.pipe_file(f"{pool}/box/log", b"x" * before)
    append = """
        for n in range(60):
            with fs.open(box + "/log", "ab") as log:
                log.write(b"NAME %d\\n" % n)
            fs.touch(box + "/log", truncate=False)
    """
    together(pool, *(append.replace("NAME", name) for name in "abcd"))
    lines = fs.cat_file(f"{pool}/box/log")[before:].decode().splitlines()
    assert sorted(lines) == sorted(f"{name} {n}" for name in "abcd" for n in range(60))
    for name in "abcd":
        assert [line for line in lines if line[0] == name] == [f"{name} {n}" for n in range(60)]


def test_a_file_that_is_written_while_its_container_is_removed_stays(pool: str) -> None:
    StepstoreFileSystem(skip_instance_cache=True).mkdir(f"{pool}/box")
    write = """
        for n in range(300):
            fs.pipe_file(box + "/f", b"%d" % n)
            assert fs.cat_file(box + "/f") == b"%d" % n, n
            fs.rm_file(box + "/f")
        fs.pipe_file(box + "/end", b"")
    """
    remove = """
        import contextlib
        removed = 0
        while not fs.exists(box + "/end"):
            with contextlib.suppress(OSError):
                fs.rmdir(box)
                removed += 1
            fs.makedirs(box, exist_ok=True)
        print(removed)
    """
    assert int(together(pool, write, remove)[1]) > 0


def test_a_version_that_is_written_during_a_move_stays(pool: str) -> None:
    write = """
        def value(name):
            try:
                return int(fs.cat_file(box + name)[:6])
            except FileNotFoundError:
                return -1
        for n in range(300):
            fs.pipe_file(box + "/from", b"%06d" % n + b"x" * (n % 2 * 100_000))
            # What is not there any more is in the other place: so it is looked at second.
            assert max([value("/from"), value("/to")]) >= n, n
        fs.pipe_file(box + "/end", b"")
    """
    move = """
        moved = 0
        while not fs.exists(box + "/end"):
            try:
                fs.mv(box + "/from", box + "/to")
                moved += 1
            except FileNotFoundError:
                pass
        print(moved)
    """
    assert int(together(pool, write, move)[1]) > 0
