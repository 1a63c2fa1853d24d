"""File systems in containers on the command line: ls, tree, stat, cat, du, rm, and cp in, out and between."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stepstore import _core
from stepstore.copying import trees
from stepstore.copying.sides import LocalFolder, LocalSource, StoredFolder, StoredSource
from stepstore.copying.trees import Told, TreeCopy, TreeOptions
from stepstore.file_paths import UNFINISHED
from stepstore.file_system import FileSystem, open_file_system
from stepstore.store import ObjectId, Pool

CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4=\x07"


@pytest.fixture
def files(cli) -> FileSystem:
    """The file system ./p/f, with a few entries."""
    path = str(cli.directory / "p")
    Pool.create(path, targets=4)
    _core.create_file_system(path, "f")
    opened = open_file_system(f"{path}/f")
    opened.mkdir("d/inner", parents=True)
    for name, data in (("d/a.txt", b"hello\n"), ("d/inner/b", b"x" * 5000), ("7.0", b"a name like an id")):
        with opened.open(name, "wb") as file:
            file.write(data)
    opened.symlink("d/a.txt", "link")
    opened.set_attribute("d/a.txt", "user.title", b"greeting")
    opened.set_status("d/a.txt", modified=10**18)
    return opened


def damage(files: FileSystem, name: str) -> None:
    """Writes a kind that does not exist into an inode."""
    pool, container = files.location.rsplit("/", 1)
    found = _core.container_objects(pool, container, None, False)
    with Pool.connect(pool) as opened, opened.open_container(container) as box:
        for one in (one for one in found if one["type"] == "object"):
            handle = box._handle.object(ObjectId(one["hi"], one["lo"]), False)
            names: list[bytes] = []
            handle.list_dkeys(names.extend)
            if name.encode() in names:
                handle.write_records(name.encode(), b"DFS_INODE", 1, [(0, 4)], b"\xff\xff\xff\xff")


# ---- looking
def test_ls_and_tree_list_entries(cli, files):
    assert [(one["type"], one["name"]) for one in cli("ls", "p", "--json").json] == [
        ("file_system", "f"),
        ("file", "f/7.0"),
        ("directory", "f/d"),
        ("link", "f/link"),
    ]
    found = cli("ls", "-r", "p/f", "--json").json
    assert [one["name"] for one in found] == ["7.0", "d", "d/a.txt", "d/inner", "d/inner/b", "link"]
    (text,) = (one for one in found if one["name"] == "d/a.txt")
    assert (text["size"], text["mode"], text["modified"]) == (6, "-rw-r--r--", 10**9)
    assert "to d/a.txt" in cli("ls", "-l", "p/f").out
    assert "-rw-r--r--" in cli("ls", "-l", "p/f/d").out
    assert "a.txt  file, 6 B" in cli("tree", "p/f").out
    assert cli("ls", "p/f/d/inner", "--json").json[0]["name"] == "b"
    assert [one["name"] for one in cli("ls", "p/f/d/a.txt", "--json").json] == ["a.txt"]
    assert any(one["type"] == "object" for one in cli("ls", "-a", "p/f", "--json").json)


def test_stat_cat_and_du(cli, files):
    told = cli("stat", "p/f/d/a.txt", "--json").json
    assert (told["type"], told["size"], told["attributes"]) == ("file", 6, {"user.title": "greeting"})
    assert cli("stat", "p/f/link", "--json").json["target"] == "d/a.txt"
    assert cli("stat", "p/f", "--json").json["holds"] == {"file": 1, "directory": 1, "link": 1}
    assert cli("cat", "p/f/link").raw == b"hello\n"
    assert cli("cat", "p/f/7.0").raw == b"a name like an id"
    assert cli("cat", "p/f/d/a.txt", "--offset", 1, "--size", 3).raw == b"ell"
    assert cli("du", "p/f", "--json").json["bytes"] == 6 + 5000 + 17
    cli.fails("cat", "p/f/d", code=2, says="is a directory")
    cli.fails("ls", "p/f/none", code=3, says=("no file or directory 'none'", "stepstore ls -r"))
    files.symlink("nowhere", "dangling")
    cli.fails("cat", "p/f/dangling", code=3, says="p/f/dangling")


def test_a_snapshot_is_looked_at(cli, files):
    cli("snapshot", "create", "p/f", "--name", "before")
    files.remove("d", recursive=True)
    assert [one["name"] for one in cli("ls", "p/f", "--json").json] == ["7.0", "link"]
    assert cli("cat", "p/f/d/a.txt", "--snapshot", "before").raw == b"hello\n"
    found = cli("ls", "-r", "p/f", "--snapshot", "before", "--json").json
    assert "d/inner/b" in [one["name"] for one in found]


def test_a_damaged_entry_is_named_and_the_rest_is_listed(cli, files):
    damage(files, "a.txt")
    result = cli("ls", "-r", "p/f", code=4)
    assert "inner" in result.out and "7.0" in result.out
    assert "warning: p/f/d/a.txt: " in result.err and "DER_CSUM" in result.err
    cli.fails("cat", "p/f/d/a.txt", code=4, says="p/f/d/a.txt")
    result = cli("cp", "-r", "p/f", "out", code=4)
    assert "p/f/d/a.txt" in result.err
    assert (cli.directory / "out/d/inner/b").read_bytes() == b"x" * 5000
    cli.fails("rm", "--yes", "p/f/d/a.txt", code=4)
    cli("rm", "--yes", "-r", "p/f/d/a.txt")
    assert [one["name"] for one in cli("ls", "p/f/d", "--json").json] == ["inner"]


def test_a_copy_without_properties_is_known_by_its_superblock(cli, files):
    cli("pool", "create", "q")
    cli("copy", "p/f", "q/g", "--chunk-size", 1 << 20)
    assert [one["name"] for one in cli("ls", "q/g", "--json").json] == ["7.0", "d", "link"]
    assert cli("cat", "q/g/d/a.txt").raw == b"hello\n"


def test_rm_removes_files_and_directories(cli, files):
    cli.fails("rm", "--yes", "p/f/d", code=2, says="-r")
    cli.fails("rm", "--yes", "p/f/none", code=3, says="there is no such file")
    cli.fails("rm", "p/f/link", code=2, says="--yes")
    assert cli("rm", "--yes", "p/f/link").out == "removed link link\n"
    assert cli("rm", "--yes", "-r", "p/f/d").out == "removed directory d\n"
    assert [entry.name for entry in files.entries()] == ["7.0"]


def test_names_command_no_terminal(cli, files):
    with files.open(CLIPBOARD, "wb"):
        pass
    for command in (["ls", "p/f"], ["ls", "-l", "-r", "p"], ["tree", "p"], ["du", "p/f"]):
        assert "\x1b" not in cli(*command).out and "\\x1b" in cli(*command).out
    files.mkdir("x")
    cli.fails("cp", f"p/f/{CLIPBOARD}", "p/f/none/x", code=3)
    assert "\x1b" not in cli("cp", "-r", "p/f/", "out").out


def test_completion_offers_files(cli, files):
    environment = {
        **cli.environment,
        "_STEPSTORE_COMPLETE": "complete_bash",
        "COMP_WORDS": "stepstore\ncat\np/f/d/",
        "COMP_CWORD": "2",
        "STEPSTORE_COMPLETE_SECONDS": "20",
    }
    done = subprocess.run(
        [sys.executable, "-m", "stepstore"],
        cwd=cli.directory,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert set(done.stdout.decode().split()) == {"p/f/d/a.txt", "p/f/d/inner", "p/f/d/inner/"}


# ---- cp
def tree_of(root: Path) -> dict[str, tuple[object, ...]]:
    """All that is below a directory: kinds, modes, times in nanoseconds, bytes, targets, attributes."""
    found: dict[str, tuple[object, ...]] = {}
    for one in sorted(root.rglob("*")):
        status = one.lstat()
        content: object = None
        if one.is_symlink():
            content = os.readlink(one)
        elif one.is_file():
            content = one.read_bytes()
        attributes = {} if one.is_symlink() else {name: os.getxattr(one, name) for name in os.listxattr(one)}
        mode = 0 if one.is_symlink() else status.st_mode
        found[os.fsdecode(one.relative_to(root))] = (mode, status.st_mtime_ns, content, attributes)
    return found


def random_tree(root: Path, seed: int) -> None:
    """Names of any bytes, holes, links, modes and times of before 1970."""
    numbers = random.Random(seed)
    folders = [root]
    root.mkdir()
    for count in range(60):
        letters = bytes(
            numbers.choice(b"ab .-\xff\xc3\xa4\n%\\*'\"\x01~") for _ in range(numbers.randint(1, 9))
        )
        path = numbers.choice(folders) / os.fsdecode(b"%d" % count + letters)
        kind = numbers.choice(["file", "file", "file", "folder", "link", "holes"])
        if kind == "folder":
            path.mkdir()
            folders.append(path)
        elif kind == "link":
            path.symlink_to(os.fsdecode(letters) if letters.strip(b"\0") else "x")
        else:
            with path.open("wb") as file:
                if kind == "holes":
                    file.seek(numbers.randrange(3 << 20))
                file.write(numbers.randbytes(numbers.choice([0, 1, 4095, 65536, 70000, 1 << 20])))
                if kind == "holes":
                    file.truncate(file.tell() + numbers.randrange(1 << 20))
            if numbers.random() < 0.3:
                with contextlib.suppress(OSError):  # of a file system without them
                    os.setxattr(path, "user.k", letters)
    for path in sorted(root.rglob("*"), reverse=True):
        when = numbers.randrange(-(10**18), 2 * 10**18)
        os.utime(path, ns=(when, when), follow_symlinks=False)
        if not path.is_symlink():
            path.chmod(
                numbers.choice([0o755, 0o700, 0o751, 0o777]) if path.is_dir() else numbers.randrange(0o1000)
            )


@pytest.mark.parametrize("seed", range(4))
def test_a_random_tree_comes_back_equal(cli, files, seed):
    source = cli.directory / "source"
    random_tree(source, seed)
    cli("cp", "-a", "source", "p/f/in")
    cli("cp", "-a", "p/f/in", "p/f/again")
    cli("cp", "-a", "--jobs", 2, "p/f/again", "out")
    assert tree_of(cli.directory / "out") == tree_of(source)


def test_cp_goes_by_the_rules_of_cp(cli, files):
    (cli.directory / "one").write_bytes(b"one")
    (cli.directory / "two").write_bytes(b"two")
    cli("cp", "one", "p/f/first")  # under a new name
    cli("cp", "one", "two", "p/f/d")  # into a directory
    cli("cp", "two", "p/f/first")  # over a file
    assert cli("cat", "p/f/first").raw == b"two" and cli("cat", "p/f/d/two").raw == b"two"
    cli("cp", "-n", "one", "p/f/first")
    assert cli("cat", "p/f/first").raw == b"two"
    cli("cp", "p/f/link", "out")  # a link is followed
    assert (cli.directory / "out").read_bytes() == b"hello\n"
    cli("cp", "-r", "p/f/link", "same")  # and with -r it is not
    assert os.readlink(cli.directory / "same") == "d/a.txt"
    (cli.directory / "into").mkdir()
    cli("cp", "-r", "p/f", "into")
    assert (cli.directory / "into/f/d/inner/b").read_bytes() == b"x" * 5000
    assert (cli.directory / "into/f/d").stat().st_mode & 0o777 == 0o755
    cli("cp", "-r", "into/f/.", "p/f/d")
    assert cli("cat", "p/f/d/7.0").raw == b"a name like an id"
    for arguments, code, says in (
        (["one"], 2, "SOURCE and TARGET"),
        (["one", "two"], 2, "both local"),
        (["one", "p"], 2, "a pool only"),
        (["into", "p/f/x"], 2, "-r copies it"),
        (["none", "p/f/x"], 3, "no such file"),
        (["one", "two", "p/f/x"], 2, "of several sources"),
        (["one", "p/f/none/x"], 3, "directory that it is to lie in"),
        (["one", "p/none/x"], 3, "DER_NONEXIST"),
        (["p/f/first", "p/f/first"], 2, "are the same"),
        (["-r", "p/f/d", "p/f/d/inner"], 2, "into itself"),
        (["-r", "p/f", "p/f/d"], 2, "into itself"),
        (["p/f/../../one", "x"], 1, "'..'"),
    ):
        cli.fails("cp", *arguments, code=code, says=says)
    cli("cont", "create", "p/objects")
    cli.fails("cp", "one", "p/objects/x", code=2, says=("no file system", "stepstore copy"))
    result = cli("cp", "-r", "into", "p/f/first", code=1)
    assert "which is no directory" in result.err


def test_cp_without_a_keeps_the_bits_of_the_umask(cli, files):
    path = cli.directory / "one"
    path.write_bytes(b"one")
    path.chmod(0o4777)
    cli("cp", "one", "p/f/one")
    assert files.status("one").mode & 0o7777 == 0o755
    cli("cp", "-a", "one", "p/f/kept")
    assert files.status("kept").mode & 0o7777 == 0o4777
    cli("cp", "-a", "p/f/kept", "out")  # what others stored sets no user
    assert (cli.directory / "out").stat().st_mode & 0o7777 == 0o777


def test_links_and_special_files_lead_nowhere(cli, files):
    outside = cli.directory / "outside"
    outside.mkdir()
    files.symlink(str(outside), "evil")
    cli("cp", "-r", "p/f", "out")
    assert (cli.directory / "out/evil").is_symlink()
    files.remove("evil")
    files.mkdir("evil")
    with files.open("evil/key", "wb") as file:
        file.write(b"mine")
    result = cli("cp", "-r", "p/f/.", "out", code=1)
    assert "evil" in result.err and list(outside.iterdir()) == []
    os.mkfifo(cli.directory / "out/pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(cli.directory / "out/socket"))
    result = cli("cp", "-r", "out", "p/f/back", code=1)
    assert result.err.count("a device, a pipe or a socket") == 2
    assert files.readlink("back/evil") == str(outside)


class Renamed(StoredFolder):
    """A file system whose names were made by an enemy."""

    def entries(self):
        for entry, name in zip(super().entries(), ("..", "a/../../b", "", ".", "x\0y"), strict=False):
            yield entry._replace(name=name)

    def status(self, name):
        return self.files.status("7.0")

    def open(self, name):
        return super().open("7.0")


def test_a_name_that_leads_elsewhere_is_refused(cli, files):
    for name in "vwxyz":
        with files.open(f"d/{name}", "wb"):
            pass
    inner = cli.directory / "a" / "b"
    inner.mkdir(parents=True)
    told = Told()
    with TreeCopy(TreeOptions(), told) as copy:
        copy.contents(Renamed(files, "d"), LocalFolder(str(inner)))
    assert len(told.failures) == 5 and told.files == 0
    assert [str(one.relative_to(cli.directory)) for one in (cli.directory / "a").rglob("*")] == ["a/b"]


def test_a_file_that_changes_is_copied_again(cli, files, monkeypatch):
    source = cli.directory / "source"
    source.mkdir()
    (source / "log").write_bytes(b"1" * 100)
    copied, changes = TreeCopy._bytes, [1]

    def meanwhile(self, old, new, size):
        copied(self, old, new, size)
        if changes:
            changes.pop()
            with (source / "log").open("ab") as file:
                file.write(b"2")

    monkeypatch.setattr(trees.TreeCopy, "_bytes", meanwhile)
    told = Told()
    with TreeCopy(TreeOptions(), told) as copy:
        copy.contents(LocalFolder(str(source)), StoredFolder(files, "d"))
    with files.open("d/log") as file:
        assert file.read() == b"1" * 100 + b"2"
    changes.extend([1] * 3)
    with TreeCopy(TreeOptions(), told) as copy:
        copy.contents(LocalFolder(str(source)), StoredFolder(files, "d"))
    assert "changed during each of 3 copies" in str(told.failures[0])
    assert files.status("d/log").size == 101
    assert not [entry for entry in files.entries("d") if entry.name.startswith(UNFINISHED)]


@pytest.mark.parametrize("inward", [True, False])
def test_a_killed_copy_leaves_files_whole_or_not_at_all(cli, files, inward):
    """And the same command again copies all, without what the first one has left."""
    source = cli.directory / "source"
    source.mkdir()
    for number in range(30):
        (source / str(number)).write_bytes(bytes([number]) * (1 << 20))
    cli("cp", "-r", "source", "p/f/in")
    arguments = ["-r", "source", "p/f/target"] if inward else ["-r", "p/f/in", "target"]
    seen = set()
    for wait in range(6):
        child = subprocess.Popen(
            [sys.executable, "-m", "stepstore", "cp", *arguments],
            cwd=cli.directory,
            env=cli.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 30
        while child.poll() is None and time.monotonic() < end:
            there = names(files, cli.directory, inward)
            if len([name for name in there if name.isdigit()]) > len(seen) + wait:
                child.send_signal(signal.SIGKILL)
            time.sleep(0.002)
        child.wait()
        for name in names(files, cli.directory, inward):
            if not name.isdigit():
                continue
            seen.add(name)
            if inward:
                with files.open(f"target/{name}") as file:
                    assert file.read() == bytes([int(name)]) * (1 << 20)
            else:
                assert (cli.directory / "target" / name).read_bytes() == bytes([int(name)]) * (1 << 20)
    if inward:
        cli("cp", "-r", "source", "p/f/target2")
        found = [entry.name for entry in files.entries("target2")]
    else:
        cli("cp", "-r", "p/f/in", "target2")
        found = os.listdir(cli.directory / "target2")
    assert sorted(map(int, found)) == list(range(30))


def names(files: FileSystem, directory: Path, inward: bool) -> list[str]:
    try:
        if inward:
            return [entry.name for entry in files.entries("target")]
        return os.listdir(directory / "target")
    except FileNotFoundError:
        return []


def test_what_a_killed_copy_left_is_not_copied_on(cli, files):
    with files.open(f"d/{UNFINISHED}{'0' * 16}", "wb") as file:
        file.write(b"half")
    result = cli("cp", "-r", "p/f/d", "out")
    assert "is a file that is not whole" in result.err
    assert sorted(os.listdir(cli.directory / "out")) == ["a.txt", "inner"]


@pytest.mark.parametrize("side", [LocalSource, StoredSource])
def test_a_large_file_is_never_whole_in_memory(cli, files, monkeypatch, side):
    source, target = cli.directory / "source", cli.directory / "target"
    source.mkdir()
    target.mkdir()
    data = b"".join(bytes([number + 1]) * (1 << 20) for number in range(20))
    (source / "large").write_bytes(data)
    sizes, read = [], side.read

    def told(self, offset, size):
        sizes.append(size)
        return read(self, offset, size)

    monkeypatch.setattr(side, "read", told)
    with TreeCopy(TreeOptions(), Told()) as copy:
        copy.contents(LocalFolder(str(source)), StoredFolder(files, "d"))
    with TreeCopy(TreeOptions(), Told()) as copy:
        copy.contents(StoredFolder(files, "d"), LocalFolder(str(target)))
    assert len(sizes) >= 5 and max(sizes) <= 4 << 20
    assert (target / "large").read_bytes() == data


def test_holes_stay_holes(cli, files):
    with (cli.directory / "holes").open("wb") as file:
        file.seek(200 << 20)
        file.write(b"end")
    used = cli("du", "p/f", "--json").json["bytes"]
    before = pool_bytes(cli)
    cli("cp", "holes", "p/f/holes")
    assert cli("du", "p/f", "--json").json["bytes"] == used + (200 << 20) + 3
    assert pool_bytes(cli) - before < 16 << 20
    cli("cp", "p/f/holes", "out")
    status = (cli.directory / "out").stat()
    assert (status.st_size, status.st_blocks * 512 < 16 << 20) == ((200 << 20) + 3, True)


def pool_bytes(cli) -> int:
    return sum(one.stat().st_blocks * 512 for one in (cli.directory / "p").rglob("*") if one.is_file())


def test_copy_carries_user_attributes(cli, files):
    place = str(cli.directory / "p")
    wanted = {b"title": b"first run", b"dir\xff": b"\0\1" * 3000}
    _core.set_user_attributes(place, "f", wanted)
    cli("copy", "--chunk-size", 1 << 20, "p", "q")
    assert _core.user_attributes(str(cli.directory / "q"), "f") == wanted
    cli("pool", "create", "r")
    cli("copy", "--chunk-size", 1 << 20, "p/f", "r/f")
    assert _core.user_attributes(str(cli.directory / "r"), "f") == wanted
    assert "complete already" in cli("copy", "--chunk-size", 1 << 20, "p/f", "r/f").out
    _core.set_user_attributes(place, "f", {b"title": b"second run"})
    cli.fails("copy", "--chunk-size", 1 << 20, "p/f", "r/f", code=1, says="DER_EXIST")


def test_user_attributes_that_the_target_cannot_keep_are_named(cli):
    cli("pool", "create", "p")
    cli("cont", "create", "p/box")
    place = cli.directory / "p"
    with Pool.connect(place) as pool, pool.open_container("box") as box, box.key_value(1) as values:
        values["k"] = b"v"
    _core.set_user_attributes(str(cli.directory / "p"), "box", {b"title": b"x"})
    cli("pool", "create", "shared", "--on", "files")
    result = cli("copy", "p/box", "shared/box")
    assert "its user attributes are not in the copy (a pool in files keeps none): title" in result.err
    cli("pool", "create", "back")
    cli("copy", "shared/box", "back/box")
    assert _core.user_attributes(str(cli.directory / "back"), "box") == {}
