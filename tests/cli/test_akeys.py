"""Objects of dkeys and akeys: ls, stat, cat, du, check, and copies of them."""

import contextlib
import threading

import pytest
import stepstore
from copies import healthy
from stepstore.copying import akeys as copying
from stepstore.copying.objects import PIECE
from stepstore.paths import daos_root
from stepstore.store import Pool
from test_complete import ask

EVIL = b"\x1b[31m/\x00%"  # a terminal escape, a slash, a zero byte
NUMBERS = [(0, 3), (10, 2), (1 << 40, 1)]
DATA = bytes(range(1, 49))


@contextlib.contextmanager
def opened(pool, container="box", read_only=False):
    """The object 7 of dkeys and akeys."""
    with Pool.connect(pool) as connected, connected.open_or_create_container(container) as box:
        oid = box._handle.object_id(7, 0, "object", "S2")
        with contextlib.closing(box._handle.object(oid, read_only)) as found:
            yield found


def contents(pool, container="box"):
    found = {}
    with opened(pool, container, True) as it:
        dkeys = []
        it.list_dkeys(dkeys.extend)
        for dkey in dkeys:
            names = []
            it.list_akeys(dkey, names.extend)
            for akey in names:
                kind, size = it.describe(dkey, akey)
                if kind == "single":
                    found[dkey, akey] = it.get(dkey, akey)
                    continue
                runs = []
                it.list_records(dkey, akey, runs.extend)
                memory = bytearray(sum(count for _, count in runs) * size)
                it.read_records(dkey, akey, size, runs, memory)
                found[dkey, akey] = size, runs, bytes(memory)
    return found


@pytest.fixture
def location(pool):
    with opened(pool) as it:
        it.put(b"d", [(b"a/b", b"hello"), (EVIL, b"evil")])
        it.write_records(b"d", b"numbers", 8, NUMBERS, DATA)
        it.put(EVIL, [(b"a", b"under an evil dkey")])
        return f"./p/box/{it.id}"


# ---- looks
def test_ls_shows_dkeys_and_akeys_escaped(cli, location):
    found = cli("ls", location, "--json").json
    assert {(one["type"], one["name"], one["size"]) for one in found} == {
        ("value", "d/a/b", 5),
        ("value", "d/%1b[31m/%00%25", 4),
        ("records", "d/numbers", 48),
        ("value", "%1b[31m%2f%00%25/a", 18),
    }
    long = cli("ls", "-l", location).out
    assert "6 records of 8 B" in long and "\x1b" not in long and "\0" not in long
    inner = cli("ls", f"{location}/d", "--json").json
    assert [one["name"] for one in inner] == ["%1b[31m/%00%25", "a/b", "numbers"]
    assert [one["dkey"] for one in cli("ls", f"{location}/d/numbers", "--json").json] == ["d"]


def test_ls_tree_and_stat_of_a_container(cli, location):
    name = location.rpartition("/")[2]
    (entry,) = [one for one in cli("ls", "./p/box", "--json").json if one["name"] == name]
    assert (entry["type"], entry["dkeys"], entry["class"]) == ("object", 2, "S2")
    assert "2 dkeys" in cli("ls", "./p/box").out and "object, 2 dkeys" in cli("tree", "./p/box").out
    told = cli("stat", "./p/box", "--json").json
    assert (told["objects"], told["key_values"], told["arrays"]) == (3, 1, 1)
    assert told["holds"]["object"] == 1


def test_stat(cli, location):
    told = cli("stat", location, "--json").json
    assert (told["type"], told["object_type"], told["dkeys"]) == ("object", "object", 2)
    assert cli("stat", f"{location}/d", "--json").json["akeys"] == 3
    assert cli("stat", f"{location}/d/a/b", "--json").json["size"] == 5
    told = cli("stat", f"{location}/d/numbers", "--json").json
    assert (told["type"], told["records"], told["end"]) == ("records", 6, (1 << 40) + 1)
    assert (told["size"], told["record_size"]) == (48, 8)
    cli.fails("stat", f"{location}/absent", code=3, says="no dkey absent")
    cli.fails("stat", f"{location}/d/absent", code=3, says="no akey d/absent")


def test_cat(cli, location):
    assert cli("cat", f"{location}/d/a/b").raw == b"hello"
    assert cli("cat", f"{location}/d/%1b[31m/%00%25").raw == b"evil"
    assert cli("cat", f"{location}/%1b[31m%2f%00%25/a").raw == b"under an evil dkey"
    first = DATA[:24] + bytes(56) + DATA[24:40] + bytes(8)
    assert cli("cat", f"{location}/d/numbers", "--size", len(first)).raw == first
    assert cli("cat", f"{location}/d/numbers", "--offset", (8 << 40) + 3).raw == DATA[43:]
    for more in ("", "/d"):
        cli.fails("cat", location + more, code=2, says="DKEY/AKEY")


def test_du_and_check(cli, location):
    assert cli("du", location, "--json").json["bytes"] == 5 + 4 + 48 + 18
    healthy(cli, "./p")


def test_a_shell_completes_dkeys_and_akeys(cli, location):
    assert {location, f"{location}/"} <= set(ask(cli, "ls", f"{location[:-1]}"))
    names = {f"{location}/d/{akey}" for akey in ("a/b", "numbers", "%1b\\[31m/%00%25")}
    assert set(ask(cli, "cat", f"{location}/d/")) == names


# ---- copies
def test_a_container_is_copied_and_back(cli, pool, location):
    with opened(pool) as it:
        it.put(b"many", [(b"%d" % n, bytes(5000)) for n in range(1000)])
        it.put(b"large", [(b"value", bytes(range(251)) * 100_000)])
        it.write_records(b"large", b"records", 24, [(5, 1_000_000)], b"012345678901234567890123" * 1_000_000)
        it.write_records(b"large", b"scattered", 1, [(3 * n, 1) for n in range(3000)], b"x" * 3000)
        it.write_records(b"large", b"zeros", 8, [(100, 100_000)], bytes(800_000))
    for source, target in (("p/box", "q"), ("q/box", "p/again")):
        told = cli("copy", source, target, "--json").json
        assert told["objects"] == 3 and told["compared_bytes"] == told["bytes"] > 50_000_000
    assert contents(pool, "again") == contents(cli.directory / "q") == contents(pool)
    assert "complete already" in cli("copy", "p/box", "q").out
    healthy(cli, "q")


def test_what_is_copied_to_a_daos_system_and_back_is_the_same(cli, pool, location):
    """Our own library stands for a DAOS system's."""
    library = {"STEPSTORE_LIBDAOS": str(daos_root() / "lib64" / "libdaos.so.2")}
    cli("pool", "create", "local:made")
    cli("copy", "p/box", "daos://made", **library)
    cli("copy", "daos://made/box", "back", **library)
    assert contents(cli.directory / "back") == contents(pool)


def test_one_object_is_copied_alone(cli, pool, location):
    cli("copy", location, "q")
    assert contents(cli.directory / "q") == contents(pool)
    assert len(cli("ls", "q/box", "--json").json) == 1


def test_a_copy_shows_one_moment(cli, pool, location, monkeypatch):
    """Values, records and dkeys change after the copy has read the first dkey."""
    from stepstore.copying import pools
    from stepstore.copying.task import Options, Place, Report

    before = contents(pool)
    changed = threading.Event()
    usual = copying.read_pieces

    def changing(*arguments):
        if not changed.is_set():
            changed.set()
            with opened(pool) as it:
                it.punch(EVIL)
                it.put(b"d", [(b"a/b", b"other")])
                it.write_records(b"d", b"numbers", 8, [(1, 9)], bytes(72))
                it.put(b"new", [(b"a", b"new")])
        usual(*arguments)

    monkeypatch.setattr(copying, "read_pieces", changing)
    place = Place(str(pool), "box")
    pools.copy(place, Place(str(cli.directory / "q"), "box"), Options(threads=1), Report())
    assert changed.is_set() and contents(pool) != before
    assert contents(cli.directory / "q") == before


def test_a_copy_that_died_within_an_object_goes_on(cli, pool, location, monkeypatch):
    from stepstore.copying import pools
    from stepstore.copying.task import Options, Place, Report

    with opened(pool) as it:
        for n in range(20):
            it.put(b"dkey %d" % n, [(b"a", b"%d" % n)])
    before = contents(pool)

    class Died(BaseException):
        pass

    def dies(*_):
        raise Died

    to = Place(str(cli.directory / "q"), "box")
    with monkeypatch.context() as patched:
        patched.setattr(copying, "read_pieces", dies)
        with pytest.raises(Died):
            pools.copy(Place(str(pool), "box"), to, Options(), Report())
    with opened(pool) as it:
        it.put(b"d", [(b"a/b", b"later")])
    report = Report()
    pools.copy(Place(str(pool), "box"), to, Options(), report)
    assert report.resumed and contents(cli.directory / "q") == before


DAMAGES = {
    "a value": (lambda it: it.put(b"d", [(b"a/b", b"other")]), "'a/b'"),
    "a record": (lambda it: it.write_records(b"d", b"numbers", 8, [(11, 1)], bytes(8)), "the records"),
    "a hole": (lambda it: it.write_records(b"d", b"numbers", 8, [(3, 1)], bytes(8)), "which records"),
    "an akey": (lambda it: it.put(b"d", [(b"more", b"x")]), "the number of akeys"),
    "a dkey": (lambda it: it.put(b"more", [(b"a", b"x")]), "the number of dkeys"),
    "none": (lambda it: it.punch(EVIL), "the type or size"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_comparison_finds(cli, pool, location, what):
    damage, says = DAMAGES[what]
    cli("copy", "p/box", "q")
    with opened(cli.directory / "q") as it:
        damage(it)
    with opened(pool, read_only=True) as old, opened(cli.directory / "q", read_only=True) as new:
        with pytest.raises(stepstore.Error, match=says) as raised:
            copying.compare_akeys(old, new, "object 7", lambda _: None)
        assert raised.value.name == "DER_CSUM" and "\x1b" not in str(raised.value)
    cli.fails("copy", "p/box", "q", code=1, says="has objects")


def test_pieces_are_bounded(pool, location, monkeypatch):
    sizes = []
    with opened(pool) as it:
        it.write_records(b"long", b"a", 1, [(0, PIECE + 5), (1 << 30, 10)], bytes(PIECE + 15))
        copying.read_pieces(it, b"long", b"a", 1, lambda runs, memory: sizes.append((runs, len(memory))))
    assert sizes == [([(0, PIECE)], PIECE), ([(PIECE, 5), (1 << 30, 10)], 15)]


def test_a_pool_in_files_is_refused_before_anything_is_copied(cli, pool, location):
    name = location.rpartition("/")[2]
    files = f"shared:{cli.directory}/q"
    with Pool.connect(pool) as connected:
        connected.create_container("a").close()  # which comes before the other
    for source, options in (("p/box", ()), ("p/box", ("--dry-run",)), ("p", ()), (location, ())):
        cli.fails("copy", source, files, *options, code=1, says=(name, "p/box", "pools in files"))
    assert cli("cont", "list", files, "--json").json == []
    assert cli("snapshot", "list", "p/box", "--json").json == []
