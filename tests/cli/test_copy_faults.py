"""stepstore copy that is interrupted, refused, or finds something else than it wrote."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import stepstore
from conftest import object_names
from copies import contents, everything, healthy
from stepstore.copying import containers, plan, pools
from stepstore.copying.task import Options, Place, Report
from stepstore.copying.mark import unfinished
from stepstore.errors import DER_INVAL, Error
from stepstore.paths import daos_root
from stepstore.steps import open_steps
from stepstore.store import Pool
from streams import write_stream
from test_errors import as_nobody, foreign  # noqa: F401  a fixture

MIB = 1 << 20


@pytest.fixture
def large(cli):
    """A pool ./big with a container of 32 MiB in arrays, and many keys."""
    where = str(cli.directory / "big")
    stepstore.Pool.create(where, targets=4)
    random = np.random.default_rng(1)
    with stepstore.Pool.connect(where) as pool, pool.create_container("box") as box:
        for number in range(1, 5):
            with box.create_array(number, chunk_size=MIB) as array:
                array.write(0, random.bytes(8 * MIB + number))
        with box.key_value(9) as values:
            values.update({f"key {i}": os.urandom(2000) for i in range(3000)})
    return where


def begun(cli, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "stepstore", "copy", *arguments],
        cwd=cli.directory,
        env=cli.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_when(process, is_time):
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end and not is_time():
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()


def marks(where, container):
    """The unfinished copies to a container; None: there is no such container."""
    try:
        with Pool.connect(where, read_only=True) as pool:
            with pool.open_container(container, read_only=True) as box:
                return unfinished(box)
    except stepstore.Error:
        return None


def stored(folder):
    return sum(file.stat().st_blocks * 512 for file in Path(folder).rglob("*") if file.is_file())


# ---- interrupted
@pytest.mark.parametrize("mib", [0, 10, 38])
def test_a_killed_copy_goes_on_and_ends_with_the_same(cli, large, mib):
    target = cli.directory / "q"
    process = begun(cli, "big", "q")
    kill_when(process, lambda: target.exists() and marks(target, "box") and stored(target) >= mib * MIB)
    if process.returncode == -signal.SIGKILL and marks(target, "box"):
        listed = cli("ls", "q", "--json")
        assert "unfinished copy" in cli("ls", "q/box").err and "unfinished copy" in cli("stat", "q/box").err
        assert "stepstore-copying" in listed.out
    told = cli("copy", "big", "q", "--json").json
    assert told["resumed"] and told["verified"]
    assert contents(target, "box") == contents(large, "box")
    assert marks(target, "box") == []
    assert cli("cont", "list", "q", "--json").json[0]["label"] == "box"
    assert cli("snapshot", "list", "big/box", "--json").json == []
    healthy(cli, "q")


def test_what_was_copied_before_is_not_copied_again(cli, large, monkeypatch):
    class Died(Exception):
        pass

    def dies(*_, **__):
        raise Died

    monkeypatch.setattr(containers, "compare_array", dies)
    source, target = Place(large, "box"), Place(str(cli.directory / "q"), "box")
    with pytest.raises(Died):
        pools.copy(source, target, Options(), first := Report())
    monkeypatch.undo()
    pools.copy(source, target, Options(), second := Report())
    assert first.bytes > 32 * MIB and second.bytes == 0 and second.compared > 32 * MIB
    assert contents(target.pool, "box") == contents(large, "box")


def test_a_resumed_copy_is_of_the_moment_when_it_began(cli, large, monkeypatch):
    before = contents(large, "box")
    monkeypatch.setattr(containers, "compare_key_value", lambda *_: 1 / 0)
    source, target = Place(large, "box"), Place(str(cli.directory / "q"), "box")
    with pytest.raises(ZeroDivisionError):
        pools.copy(source, target, Options(), Report())
    monkeypatch.undo()
    with Pool.connect(large) as pool, pool.open_container("box") as box, box.key_value(9) as values:
        values["new"] = "later"
        del values["key 1"]
    pools.copy(source, target, Options(), Report())
    assert contents(target.pool, "box") == before


def test_a_half_made_copy_of_a_stream_is_no_stream(cli, monkeypatch):
    source = write_stream(cli.directory)
    monkeypatch.setattr(containers, "compare_array", lambda *_: 1 / 0)
    place = Place(str(source), "default", "main")
    target = Place(str(cli.directory / "q"), "box", "copied")
    with pytest.raises(ZeroDivisionError):
        pools.copy(place, target, Options(), Report())
    monkeypatch.undo()
    with pytest.raises(stepstore.Error, match="no stream"):
        open_steps(str(target))
    assert [one["name"] for one in marks(target.pool, "box")] == ["copied"]
    report = Report()
    pools.copy(place, target, Options(), report)
    assert report.resumed and everything(str(target)) == everything(str(place))


def test_two_processes_do_not_copy_to_one_place(cli, large):
    process = begun(cli, "big/box", "./q")
    try:
        end = time.monotonic() + 60
        while not marks(cli.directory / "q", "box") and process.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)
        if marks(cli.directory / "q", "box"):
            cli.fails(
                "copy", "big/box", "q", code=1, says=(f"process {process.pid} copies this", "--take-over")
            )
            cli.fails("copy", "big/box", "q", "--dry-run", code=1, says="DER_BUSY")
    finally:
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0
    assert contents(cli.directory / "q", "box") == contents(large, "box")


# ---- verification
@pytest.mark.parametrize("kind", ["array", "key_value"])
def test_verification_finds_a_byte_that_was_stored_wrong(cli, pool, monkeypatch, kind):
    name = object_names(cli, "p/box")[kind]

    def spoil_array(source, target, *rest, **more):
        copy_array(source, target, *rest, **more)
        target.write(12, b"\xff\xff\xff\xff")

    def spoil_values(source, target, *rest):
        copy_key_value(source, target, *rest)
        target.put(b"plain", b"hellp")

    copy_array, copy_key_value = containers.copy_array, containers.copy_key_value
    monkeypatch.setattr(containers, "copy_array", spoil_array)
    monkeypatch.setattr(containers, "copy_key_value", spoil_values)
    source, target = Place(str(pool), "box", oid=None), Place(str(cli.directory / "q"), "box")
    with pytest.raises(stepstore.Error, match="differ in") as caught:
        pools.copy(source, target, Options(threads=1), Report())
    assert caught.value.name == "DER_CSUM" and str(caught.value).startswith("compare the copy of object")
    monkeypatch.undo()
    for _ in range(2):  # each attempt finds one of the two, and then all is right
        try:
            pools.copy(source, target, Options(), Report())
            break
        except stepstore.Error as error:
            assert error.name == "DER_CSUM"
    else:
        pools.copy(source, target, Options(), Report())
    assert contents(target.pool, "box") == contents(pool, "box")
    assert name in contents(target.pool, "box")


def test_without_verification_nothing_is_compared(cli, pool):
    told = cli("copy", "p/box", "q", "--no-verify", "--json").json
    assert told["verified"] is False and told["compared_bytes"] == 0
    assert contents(cli.directory / "q", "box") == contents(pool, "box")


# ---- sources that are written
def test_of_a_live_stream_what_is_published_is_copied(cli):
    if os.environ.get("STEPSTORE_TEST_PLUGIN") == "0":
        pytest.skip("built without the ADIOS2 plugin")
    program = Path(__file__).parents[1] / "support" / "write_kinds.py"
    writer = subprocess.Popen(
        [sys.executable, program, "live", "./s", "5"],
        cwd=cli.directory,
        env={**cli.environment, "ADIOS2_PLUGIN_PATH": stepstore.plugin_path()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout.readline() == "ready\n"
    done = cli("copy", "s/default/main", "q")
    assert "warning: s/default/main has not been ended by its writer: the 2 steps are copied" in done.err
    writer.communicate("go on\n", timeout=60)
    with open_steps(f"{cli.directory}/q") as stream:
        assert len(stream) == 2 and stream.ended
    whole = everything(f"{cli.directory}/s")
    copied = everything(f"{cli.directory}/q")
    assert whole[: len(copied)] == copied


# ---- refused
def test_bad_places_are_refused_each_with_one_sentence(cli, pool):
    cli.fails("copy", "p/box", "p/box", code=1, says=("it is the same place", "DER_INVAL"))
    cli.fails("copy", "p", "./p", code=1, says="it is the same pool")
    cli.fails("copy", "nothing", "q", code=3, says=("nothing", "there is no pool"))
    cli.fails("copy", "p/nothing", "q", code=3, says="nothing")
    cli.fails("copy", "p/box/nothing", "q", code=3, says="has no stream nothing")
    cli.fails("copy", "p", "p/box", code=2, says="a pool is copied to a pool")
    cli("cont", "create", "p/full")
    with Pool.connect(pool) as opened, opened.open_container("full") as box, box.key_value(5) as values:
        values["a"] = "b"
    cli.fails("copy", "p/box", "p/full", code=1, says=("the container has objects", "DER_EXIST"))
    cli.fails("copy", "p/box", "q", "--request", "a=b", code=2, says="fdb:")
    assert [one["label"] for one in cli("cont", "list", "p", "--json").json] == ["box", "full"]


def test_an_unfinished_copy_of_something_else_is_left_alone(cli, pool, monkeypatch):
    monkeypatch.setattr(containers, "compare_key_value", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pools.copy(Place(str(pool), "box"), Place(str(cli.directory / "q"), "box"), Options(), Report())
    cli("cont", "create", "p/empty")
    cli.fails("copy", "p/empty", "q/box", code=1, says=("unfinished copy of", "p/box", "DER_EXIST"))
    cli.fails("copy", "q/box", "r", code=1, says=("itself an unfinished copy", "DER_BUSY"))


def test_a_copy_that_began_without_a_snapshot_may_end_where_there_could_be_one(cli, pool, monkeypatch):
    source, target = Place(str(pool), "box"), Place(str(cli.directory / "q"), "box")
    monkeypatch.setattr(containers, "compare_key_value", lambda *_: 1 / 0)
    monkeypatch.setattr(
        pools, "connect_source", lambda where, _: (Pool.connect(where, read_only=True), False)
    )
    with pytest.raises(ZeroDivisionError):
        pools.copy(source, target, Options(), Report())
    monkeypatch.undo()
    report = Report()
    pools.copy(source, target, Options(), report)
    assert report.resumed and contents(target.pool, "box") == contents(pool, "box")


def test_a_destination_without_permission_and_a_source_that_can_only_be_read(cli, foreign):  # noqa: F811
    closed = cli.directory / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    done = as_nobody(cli, "copy", "./p/box", "./closed/q")
    assert done.returncode == 1 and "closed" in done.stderr and "DER_NO_PERM" in done.stderr
    (cli.directory / "open").mkdir()
    (cli.directory / "open").chmod(0o777)
    done = as_nobody(cli, "copy", "./p/box", "./open/q")
    assert done.returncode == 0, done.stderr
    assert "cannot be written, so no snapshot is made" in done.stderr
    assert contents(cli.directory / "open/q", "box") == contents(foreign, "box")


# ---- a DAOS system
def test_what_is_copied_to_a_daos_system_and_back_is_the_same(cli, pool):
    """Our own library stands for a DAOS system's: it connects to the pool by its label."""
    source = write_stream(cli.directory)
    expected = everything(f"{source}/default/main")
    library = {"STEPSTORE_LIBDAOS": str(daos_root() / "lib64" / "libdaos.so.2")}
    cli("pool", "create", "local:made")
    cli("copy", "p/box", "daos://made", **library)
    cli("copy", "s/default/main", "daos://made/streams/one", **library)
    cli("copy", "daos://made/box", "back", **library)
    assert contents(cli.directory / "back", "box") == contents(pool, "box")
    cli("copy", "daos://made/streams/one", "back/streams", **library)
    assert everything(f"{cli.directory}/back/streams/one") == expected
    cli("copy", "daos://made", "all", **library)
    assert contents(cli.directory / "all", "box") == contents(pool, "box")
    cli("pool", "check", "local:made")


def test_an_object_on_more_targets_than_a_daos_system_has_is_refused(pool, monkeypatch):
    """Such a system opens it with -DER_INVAL."""
    with Pool.connect(pool) as opened, opened.open_container("box") as box:
        items = [plan.Item(oid, oid) for oid in box._handle.objects()]
        plan.refuse_too_wide(box, items, "daos://tank/box")

        def refuse(oid, **_):
            raise Error(DER_INVAL, "a parameter is not valid")

        monkeypatch.setattr(box, "key_value", refuse)
        with pytest.raises(Error, match=r"spread over 8 targets.*8 targets or more") as told:
            plan.refuse_too_wide(box, items, "daos://tank/box")
        assert told.value.code == DER_INVAL and "daos://tank/box" in str(told.value)
