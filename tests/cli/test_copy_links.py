"""stepstore copy of pools in which somebody put links: each entry of a pool in turn leads elsewhere, at the
source and at the target. Nothing elsewhere is opened, made or changed. A new kind of file is covered too."""

import ctypes
import os
import pickle
import shutil
import struct
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
import stepstore
from conftest import CommandLine
from copies import contents, everything, healthy
from stepstore import _core
from stepstore.arrays import open_arrays
from stepstore.blobs import Blobs
from stepstore.cli import copy as _loaded_once  # noqa: F401
from stepstore.cli import main
from stepstore.copying import files, plan
from stepstore.store import Pool
from streams import write_stream
from test_copy_sources import HAVE_FDB, archive, messages, our_config

KINDS = ("absolute", "dangling", "relative")


FRAME = 20  # bytes before the body of a record: base/record.h


class Watch:
    """Tells what happens to a folder and all below it, by inotify: who opens, changes or makes something."""

    EVENTS = (
        0x00000001 | 0x00000002 | 0x00000004 | 0x00000020 | 0x000007C0
    )  # access modify attrib open move...
    libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, folder: Path):
        self.descriptor = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.descriptor >= 0
        self.names = {}
        for one in [folder, *folder.rglob("*")]:
            if not one.is_symlink():
                number = self.libc.inotify_add_watch(self.descriptor, os.fsencode(one), self.EVENTS)
                assert number >= 0
                self.names[number] = one
        self.seen()  # walking through it is no event of others

    def seen(self) -> list[str]:
        found = []
        while True:
            try:
                events = os.read(self.descriptor, 1 << 16)
            except BlockingIOError:
                return found
            while events:
                number, mask, _, length = struct.unpack_from("iIII", events)
                name = events[16 : 16 + length].rstrip(b"\0").decode()
                found.append(f"{self.names.get(number, '?')}/{name}: {mask:#x}")
                events = events[16 + length :]

    def close(self):
        os.close(self.descriptor)


def in_child(work):
    """What it gives, of a fork of this process: no handle stays open here, and all modules are loaded."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(work(), pipe)
        except BaseException:  # noqa: BLE001  a child ends here, whatever happens
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    status = os.waitpid(child, 0)[1]
    assert status == 0 and told, f"the child ended with {status}"
    return pickle.loads(told)


def copy(cli: CommandLine, *arguments: object, before=lambda: None) -> tuple[int, str]:
    """The command: exit code, what it said. before: what it does first."""
    told = cli.directory / "told"

    def run():
        os.chdir(cli.directory)
        os.environ.update(cli.environment)
        sys.stdout = sys.stderr = told.open("w")
        sys.argv = ["stepstore", "copy", *map(str, arguments)]
        before()
        try:
            main()
        except SystemExit as end:
            return end.code or 0
        finally:
            sys.stdout.flush()
        return 0

    code = in_child(run)
    said = told.read_text()
    told.unlink()
    assert "Traceback" not in said, said
    return code, said


class Spoilt:
    """One entry of a pool is a link, until the end of the block. `elsewhere` has what was there."""

    def __init__(self, entry: Path, kind: str, elsewhere: Path):
        self.entry, self.kind, self.elsewhere = entry, kind, elsewhere
        self.aside = elsewhere.parent / "aside"

    def __enter__(self):
        self.elsewhere.mkdir()
        (self.elsewhere / "key").write_bytes(b"secret")
        shutil.copytree(
            self.entry, self.elsewhere / "it", symlinks=True
        ) if self.entry.is_dir() else shutil.copy2(self.entry, self.elsewhere / "it")
        self.entry.rename(self.aside)
        to = {
            "absolute": self.elsewhere / "it",
            "relative": Path(os.path.relpath(self.elsewhere / "it", self.entry.parent)),
            "dangling": self.elsewhere / "not-there",
        }[self.kind]
        self.entry.symlink_to(to)
        self.before = sorted(os.listdir(self.elsewhere))
        self.watch = Watch(self.elsewhere)
        return self

    def __exit__(self, *error):
        seen = self.watch.seen()
        self.watch.close()
        left = sorted(os.listdir(self.elsewhere))
        if self.entry.is_symlink():
            self.entry.unlink()
        elif self.entry.exists():  # it was taken away and made anew
            shutil.rmtree(self.entry) if self.entry.is_dir() else self.entry.unlink()
        self.aside.rename(self.entry)
        shutil.rmtree(self.elsewhere)
        if error == (None, None, None):
            assert not seen, f"{self.entry} as {self.kind} link: {seen}"
            assert left == self.before


def entries(pool: Path) -> list[Path]:
    return sorted(one for one in pool.rglob("*") if not one.is_symlink())


def write_house(cli: CommandLine, *, fields: bool = HAVE_FDB) -> Path:
    """A pool with something of everything: a stream whose data are files, with its profile, blobs, arrays, a
    dataset of fields."""
    house = cli.directory / "s"
    stepstore.Pool.create(house, targets=1)
    write_stream(cli.directory, "2", "Layout=posix", "Profile=on")
    with Pool.connect(house) as opened, opened.create_container("blobs") as box:
        blobs = Blobs(opened, box)
        blobs.write("small", b"small")
        blobs.write("large", os.urandom(300_000))
    with open_arrays(f"{house}/grids", write=True) as arrays:
        arrays.write("a", np.arange(50_000.0))
    if fields:
        archive(cli, our_config(cli, house))
    return house


def all_of(cli: CommandLine, pool: Path, *, fields: bool = HAVE_FDB) -> tuple:
    return in_child(
        lambda: (
            everything(str(pool)),
            contents(str(pool), "blobs"),
            contents(str(pool), "grids"),
            sorted(messages(our_config(cli, pool)).items()) if fields else None,
        )
    )


def about(entry: Path, pool: Path) -> list[Path]:
    """The entry, and what is below it: an error names the file that could not be opened."""
    below = [*entry.rglob("*")] if entry.is_dir() else []
    return [entry.relative_to(pool), *(one.relative_to(pool) for one in below)]


def test_no_entry_of_the_source_leads_elsewhere(cli):
    house = write_house(cli)
    expected = all_of(cli, house)
    refused = set()
    for number, entry in enumerate(entries(house)):
        names = about(entry, house)
        with Spoilt(entry, KINDS[number % len(KINDS)], cli.directory / "elsewhere"):
            code, said = copy(cli, "s", "q")
        if code == 0:  # nothing of a copy: a lock, a profile
            assert all_of(cli, cli.directory / "q") == expected, entry
            shutil.rmtree(cli.directory / "q")
        else:
            refused.add(str(entry.relative_to(house)))
            assert "symbolic link" in said and any(str(name) in said for name in names), (entry, said)
    assert copy(cli, "s", "q")[0] == 0  # it goes on with what was copied
    assert all_of(cli, cli.directory / "q") == expected
    healthy(cli, "q")
    assert refused >= {"files", "files/default/0/blocks.0", "files/default/0/index", "meta/data.mdb"}, refused


def test_no_entry_of_the_target_leads_elsewhere(cli):
    house = write_house(cli, fields=False)
    expected = all_of(cli, house, fields=False)
    target = cli.directory / "q"
    assert copy(cli, "s", "q")[0] == 0
    shutil.copytree(target, cli.directory / "before")
    for number, entry in enumerate(entries(target)):
        names = about(entry, target)
        with Spoilt(entry, KINDS[number % len(KINDS)], cli.directory / "elsewhere"):
            code, said = copy(cli, "s/default/main", "q/default/again")
        if code != 0:
            assert "symbolic link" in said and any(str(name) in said for name in names), (entry, said)
            assert all_of(cli, target, fields=False) == expected, entry
            assert copy(cli, "s/default/main", "q/default/again")[0] == 0, entry
        assert in_child(lambda: everything(f"{target}/default/again")) == expected[0]
        shutil.rmtree(target)
        shutil.copytree(cli.directory / "before", target)


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_link_that_is_put_while_the_copy_runs_is_not_followed(cli, side, whole):
    house = write_house(cli, fields=False)
    expected = all_of(cli, house, fields=False)
    assert copy(cli, "s/blobs", "q")[0] == 0  # the target is there
    swapped = []

    def swap_when_two_are_copied():
        copy_file = files._copy_file

        def and_swap(old, new, report):
            copy_file(old, new, report)
            swapped.append(old)
            if len(swapped) != 2:
                return
            file = Path((old if side == "source" else new).path)
            place = file.parents[2] if whole else file.parent
            place.rename(cli.directory / "aside")
            place.symlink_to(cli.directory / "elsewhere")

        files._copy_file = and_swap

    elsewhere = cli.directory / "elsewhere"
    shutil.copytree(house / "files", elsewhere)
    for one in (house / "files").rglob("*"):
        if one.is_file():
            shutil.copy2(one, elsewhere / one.name)
    watch = Watch(elsewhere)
    code, said = copy(cli, "s/default/main", "q/default/main", before=swap_when_two_are_copied)
    assert not watch.seen()
    watch.close()
    assert code != 0 and "symbolic link" in said and "/files" in said, said
    link = next(one for one in cli.directory.rglob("*") if one.is_symlink())
    link.unlink()
    (cli.directory / "aside").rename(link)
    assert copy(cli, "s/default/main", "q/default/main")[0] == 0
    assert all_of(cli, house, fields=False) == expected
    assert in_child(lambda: everything(str(cli.directory / "q"))) == expected[0]
    healthy(cli, "q")


def test_the_directory_of_a_record_is_not_believed(cli):
    house = write_house(cli, fields=False)
    with Pool.connect(house) as opened, opened.open_container("default") as box:
        record = bytearray(plan.stream_record(box, "main"))
        directory = _core.stream_record(bytes(record), "main")["segments"][0]["directory"].encode()
        outside = "../" + "x" * (len(directory) - 3)
        shutil.copytree(house / os.fsdecode(directory), house / outside)
        at = record.index(directory)
        xxhash = ctypes.CDLL("libxxhash.so.0")
        xxhash.XXH3_64bits.restype = ctypes.c_uint64
        xxhash.XXH3_64bits.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
        for forged in (outside, "/" + "x" * (len(directory) - 1)):
            record[at : at + len(directory)] = forged.encode()
            body = bytes(record[FRAME:])
            record[FRAME - 8 : FRAME] = struct.pack("<Q", xxhash.XXH3_64bits(body, len(body)))
            with box.key_value(box.object_id(0, plan.STREAMS_HI)) as streams:
                streams["main"] = bytes(record)
            watch = Watch(house.parent / Path(outside).name)
            code, said = copy(cli, "s", "q")
            assert not watch.seen()
            watch.close()
            assert code != 0 and forged in said, said
