"""stepstore copy of containers of files: libdfs finds the same files in the copy."""

import os
import shutil
import subprocess

import pytest
from copies import healthy
from stepstore.copying import akeys, file_systems, pools
from stepstore.copying.task import Options, Place, Report
from stepstore.errors import DER_CSUM, Error
from stepstore.paths import daos_root
from stepstore.store import Pool


def tree(cli, what, pool, container="files"):
    program = os.environ["STEPSTORE_TEST_TREE"]  # tests/dfs/tree.c
    done = subprocess.run(
        [program, what, pool, container], cwd=cli.directory, env=cli.environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@pytest.fixture
def files(cli):
    """A container ./one/files with all kinds of entries; what libdfs tells of them."""
    cli("pool", "create", "./one", "--targets", "2")
    tree(cli, "make", "./one")
    listed = tree(cli, "list", "./one")
    assert len(listed.splitlines()) == 18 and "chunk 4096" in listed and "1000000000.123456789" in listed
    return listed


def test_a_copy_has_the_same_files_with_their_times(cli, files):
    told = cli("copy", "one/files", "two", "--json").json
    assert told["verified"] and told["bytes"] > 20 << 20
    assert tree(cli, "list", "./two") == files
    assert "complete already" in cli("copy", "one/files", "two").out
    cli("copy", "one", "three")  # as a whole pool
    assert tree(cli, "list", "./three") == files
    healthy(cli, "two")


@pytest.mark.parametrize("frozen", [True, False], ids=["from a snapshot", "from a pool that is only read"])
def test_new_files_in_a_copy_take_the_objects_of_no_others(cli, files, monkeypatch, frozen):
    """They count on from the source: the copy has its objects under the same numbers."""
    tree(cli, "change", "./one")  # a second mount, with numbers of its own
    if not frozen:
        monkeypatch.setattr(
            pools, "connect_source", lambda where, _: (Pool.connect(where, read_only=True), False)
        )
    source, copy = Place(str(cli.directory / "one"), "files"), Place(str(cli.directory / "two"), "files")
    pools.copy(source, copy, Options(), Report())
    with Pool.connect(copy.pool) as pool, pool.open_container("files") as copied:
        numbers = [entry.inode.oid.lo for entry in file_systems.entries(copied, file_systems.found(copied))]
        assert max(numbers) > 0
        assert copied.allocate_oids(1) > max(numbers)


def test_copies_to_a_daos_system_and_back_have_the_same_files(cli, files):
    """Our own library stands for a DAOS system's."""
    library = {"STEPSTORE_LIBDAOS": str(daos_root() / "lib64" / "libdaos.so.2")}
    cli("pool", "create", "local:made", "--targets", "2")
    cli("copy", "one/files", "daos://made", **library)
    assert tree(cli, "list", "made") == files
    tree(cli, "change", "made")
    changed = tree(cli, "list", "made")
    assert changed != files
    cli("copy", "daos://made/files", "back", **library)
    assert tree(cli, "list", "./back") == changed


def test_a_copy_that_was_killed_at_any_entry_goes_on(cli, files, monkeypatch):
    """Also in the part that sets times."""

    class Killed(Exception):
        pass

    usual = file_systems.keep_times
    for entries in (0, 3, 11):

        def keep(then, copied, files, look, left=[entries]):  # noqa: B006
            def count():
                if left[0] == 0:
                    raise Killed
                left[0] -= 1
                look()

            usual(then, copied, files, count)

        shutil.rmtree(cli.directory / "two", ignore_errors=True)
        places = Place(str(cli.directory / "one"), "files"), Place(str(cli.directory / "two"), "files")
        with monkeypatch.context() as context, pytest.raises(Killed):
            context.setattr(file_systems, "keep_times", keep)
            pools.copy(*places, Options(), Report())
        assert cli("copy", "one/files", "two", "--json").json["resumed"]
        assert tree(cli, "list", "./two") == files


@pytest.mark.parametrize(
    "offset, says",
    [(0, "the records"), (20, "the time of the entry 'odd'"), (36, "the records"), (64, "the records")],
)
def test_a_difference_in_an_entry_is_found(cli, files, offset, says):
    """In its mode, time, chunk size, user."""
    cli("copy", "one/files", "two")
    with (
        Pool.connect(str(cli.directory / "one")) as one,
        one.open_container("files") as source,
        Pool.connect(str(cli.directory / "two")) as two,
        two.open_container("files") as copied,
    ):
        found = file_systems.found(copied)
        entry = next(each for each in file_systems.entries(copied, found) if each.name == b"odd")
        with (
            file_systems._opened(source, entry.directory) as old,
            file_systems._opened(copied, entry.directory, read_only=False) as new,
        ):
            compare = (akeys.compare_akeys, old, new, "it", lambda bytes: None, file_systems.without_times)
            if "time" in says:
                compare = (file_systems.compare_times, source, copied, found)
            compare[0](*compare[1:])
            byte = bytearray(1)
            new.read_records(b"odd", b"DFS_INODE", 1, [(offset, 1)], byte)
            new.write_records(b"odd", b"DFS_INODE", 1, [(offset, 1)], bytes([byte[0] ^ 8]))
            with pytest.raises(Error, match=says):
                compare[0](*compare[1:])
    cli.fails("copy", "one/files", "two", code=1, says="DER_EXIST")


def test_a_container_that_was_made_for_something_else_is_refused(cli, files):
    cli("pool", "create", "./two")
    cli("cont", "create", "./two/files")
    cli.fails("copy", "one/files", "two", code=1, says="not made for its files")
    assert cli("ls", "two", "--json").json  # it is left as it was
    cli("pool", "create", "--on", "files", "./three")
    cli.fails("copy", "one/files", "three", code=1, says="do not keep")
    cli.fails("cont", "query", "./three/files", code=3, says="files")


@pytest.mark.parametrize("offset, byte", [(0, 0xFF), (1, 0x40), (19, 0), (43, 0x80)])
def test_a_damaged_entry_is_named(cli, files, offset, byte):
    """Its mode, the type of its object, its chunk size."""
    with Pool.connect(str(cli.directory / "one")) as pool, pool.open_container("files") as container:
        found = file_systems.found(container)
        with file_systems._opened(container, found.root, read_only=False) as root:
            root.write_records(b"one", b"DFS_INODE", 1, [(offset, 1)], bytes([byte]))
        if offset == 0:  # other permissions, and no damage
            cli("copy", "one/files", "two")
            return
        with pytest.raises(Error, match="the entry 'one'.*dfs_remove") as caught:
            file_systems.chunk_sizes(container, found)
        assert caught.value.code == DER_CSUM
    cli.fails("copy", "one/files", "two", code=4, says="the entry 'one'")


def test_a_directory_within_itself_ends_the_walk(cli, files):
    with Pool.connect(str(cli.directory / "one")) as pool, pool.open_container("files") as container:
        found = file_systems.found(container)
        entry = next(one for one in file_systems.entries(container, found) if one.name == b"deep")
        before = len(list(file_systems.entries(container, found)))
        oid = found.root.lo.to_bytes(8, "little") + found.root.hi.to_bytes(8, "little")
        with file_systems._opened(container, entry.directory, read_only=False) as directory:
            directory.write_records(b"deep", b"DFS_INODE", 1, [(4, 16)], oid)
        assert 0 < len(list(file_systems.entries(container, found))) < before
