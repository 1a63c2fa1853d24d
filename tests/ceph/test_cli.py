"""The command line and the Python package on locations rados://."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import stepstore
from stepstore import _core

sys.path.append(str(Path(__file__).parents[1] / "support"))
from command_server import CommandServer

CEPH_POOL = f"rados://{os.environ['STEPSTORE_TEST_RADOS']}"
CEPH = Path(__file__).parents[1] / "support" / "ceph.py"
WRITE_STREAM = CEPH.with_name("write_stream.py")


@functools.cache
def server() -> CommandServer:
    return CommandServer()  # ends with this process


def run(*arguments: str, code: int = 0, **environment: str) -> str:
    """Runs the command line; returns what it printed, or its error where one is expected."""
    ended, *texts = server().run(list(arguments), Path.cwd(), {**os.environ, "NO_COLOR": "1", **environment})
    out, err = (text.decode() for text in texts)
    assert ended == code, out + err
    assert "Traceback" not in err, err
    return err if code else out


@pytest.fixture
def pool() -> Iterator[str]:
    location = f"{CEPH_POOL}/{uuid.uuid4()}"
    run("pool", "create", location, "--label", "weather", "--targets", "4")
    yield location
    run("pool", "destroy", location, "--yes")


def test_a_pool_is_made_shown_checked_and_destroyed() -> None:
    location = f"{CEPH_POOL}/{uuid.uuid4()}"
    assert location in run("pool", "create", location)
    assert "already" in run("pool", "create", location, code=1)
    info = json.loads(run("pool", "query", location, "--json"))
    assert info["backend"] == "rados" and info["path"] == location
    assert "no damage" in run("pool", "check", location)
    run("pool", "compact", location)
    run("pool", "destroy", location, "--yes")
    assert location in run("pool", "query", location, code=3)


def test_streams_are_listed_and_read(pool: str) -> None:
    subprocess.run([sys.executable, WRITE_STREAM, f"{pool}/runs/gs"], check=True)
    assert "runs" in run("ls", pool)
    assert "gs" in run("ls", f"{pool}/runs")
    assert "field" in run("steps", f"{pool}/runs/gs", "-l")
    with stepstore.open_steps(f"{pool}/runs/gs") as steps:
        assert len(steps) == 4
        assert steps.read("field", 3)[0, 0] == 300
    checked = json.loads(run("pool", "check", pool, "--json"))
    assert checked["findings"] == [] and checked["summary"]["streams"][0]["whole_steps"] == 4
    run("rm", f"{pool}/runs/gs", "--yes")
    assert "gs" not in run("ls", f"{pool}/runs")


def offered(*words: str) -> list[str]:
    """What bash gets for the last word: of a location what is after its colon."""
    done = subprocess.run(
        [sys.executable, "-m", "stepstore"],
        env={
            **os.environ,
            "COMP_WORDS": "\n".join(("stepstore", *words)),
            "COMP_CWORD": str(len(words)),
            "_STEPSTORE_COMPLETE": "complete_bash",
            "STEPSTORE_COMPLETE_SECONDS": "30",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_shell_completes_names(pool: str) -> None:
    subprocess.run([sys.executable, WRITE_STREAM, f"{pool}/runs/gs"], check=True)
    run("snapshot", "create", f"{pool}/runs", "--name", "before")
    place = pool.removeprefix("rados:")
    assert offered("ls", f"{pool}/") == [f"{place}/runs", f"{place}/runs/"]
    assert offered("steps", f"{pool}/runs/") == [f"{place}/runs/gs"]
    assert "field" in offered("steps", f"{pool}/runs/gs", "")
    assert offered("ls", f"{pool}/runs", "--snapshot", "") == ["before"]
    assert offered("ls", f"{CEPH_POOL}/{uuid.uuid4()}/") == []


def test_objects_of_dkeys_and_akeys_are_copied_there_and_back(pool: str) -> None:
    with stepstore.Pool.connect(pool) as opened, opened.create_container("box") as box:
        found = box._handle.object(box._handle.object_id(7, 0, "object"))
        for n in range(30):
            found.put(b"dkey %d" % n, [(b"a", b"%d" % n), (b"empty\0", b"x")])
        found.write_records(b"dkey 3", b"records", 8, [(0, 2), (1 << 30, 1)], b"12345678" * 3)
        found.close()
    run("copy", f"{pool}/box", f"{pool}/again")  # which compares them
    object_, *more = json.loads(run("ls", f"{pool}/again", "--json"))
    assert not more and (object_["type"], object_["dkeys"]) == ("object", 30)
    place = f"{pool}/again/{object_['name']}"
    assert len(json.loads(run("ls", place, "--json"))) == 61
    assert run("cat", f"{place}/dkey 3/records", "--offset", str(8 << 30)) == "12345678"
    assert "no damage" in run("pool", "check", pool)


def test_a_file_system_is_filled_listed_and_copied_with_its_attributes(pool: str, tmp_path: Path) -> None:
    run("cont", "create", f"{pool}/files", "--type", "posix")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").write_bytes(b"x" * 3_000_000)
    run("cp", "-a", str(tmp_path / "d"), f"{pool}/files/d")
    assert "a " in run("ls", f"{pool}/files/d") and "file_system" in run("ls", pool)
    run("cp", "-a", f"{pool}/files/d", str(tmp_path / "out"))
    assert (tmp_path / "out/a").read_bytes() == b"x" * 3_000_000
    _core.set_user_attributes(pool, "files", {b"title": b"first"})
    near, back = str(tmp_path / "near"), f"{pool}/back"
    run("pool", "create", near)
    for source, target in ((f"{pool}/files", f"{near}/files"), (f"{near}/files", back)):
        run("copy", "--chunk-size", "1048576", source, target)
        assert _core.user_attributes(*target.rsplit("/", 1)) == {b"title": b"first"}
    assert "3000000" in run("stat", f"{back}/d/a")
    run("rm", "--yes", "-r", f"{back}/d")
    assert run("ls", back, "--json").strip() == "[]"


def test_containers_and_keys(pool: str) -> None:
    run("cont", "create", f"{pool}/box")
    assert "box" in run("cont", "list", pool)
    with (
        stepstore.Pool.connect(pool) as opened,
        opened.open_container("box") as box,
        box.key_value(box.object_id(5, object_class="S1")) as values,
    ):
        values["k"] = b"v"
        assert values["k"] == b"v"
    objects = json.loads(run("ls", f"{pool}/box", "--json"))
    assert [entry["type"] for entry in objects] == ["key_value"]
    run("cont", "destroy", f"{pool}/box", "--yes")
    assert "box" not in run("cont", "list", pool)


def test_what_is_not_there_is_named(pool: str, tmp_path: Path) -> None:
    assert "no-such-pool" in run("ls", "rados://no-such-pool/runs", code=3)
    assert "no pool" in run("ls", f"{CEPH_POOL}/{uuid.uuid4()}", code=3)
    begin = time.monotonic()
    assert "none.conf" in run("ls", pool, code=3, CEPH_CONF=str(tmp_path / "none.conf"))
    nobody = tmp_path / "nobody.conf"
    nobody.write_text("[global]\nmon_host = 127.0.0.1:9\nauth_client_required = none\n")
    assert "no monitor answers" in run("ls", pool, code=1, CEPH_CONF=str(nobody))
    assert time.monotonic() - begin < 60  # not minutes


def user_who_may(what: str, location: str) -> str:
    """CEPH_ARGS of a new user with these rights on the namespace of the location only."""
    ceph_pool, _, namespace = location.removeprefix("rados://").partition("/")
    name = f"user-{uuid.uuid4().hex}"
    directory = Path(os.environ["CEPH_CONF"]).parent
    osd = f"allow {what} pool={ceph_pool} namespace={namespace}"
    subprocess.run([CEPH, "user", directory, name, "mon", "allow r", "osd", osd], check=True)
    return f"--id={name}"


def test_a_user_who_may_only_read_reads_and_does_not_write(pool: str) -> None:
    subprocess.run([sys.executable, WRITE_STREAM, f"{pool}/runs"], check=True)
    reader = user_who_may("r", pool)
    assert "field" in run("steps", f"{pool}/runs", "-l", CEPH_ARGS=reader)
    refused = run("cont", "create", f"{pool}/box", code=1, CEPH_ARGS=reader)
    assert "DER_NO_PERM" in refused and "ask for a Ceph user" in refused


def test_the_least_that_a_writer_may_is_to_read_and_write_its_namespace() -> None:
    location = f"{CEPH_POOL}/{uuid.uuid4()}"
    writer = user_who_may("rw", location)
    run("pool", "create", location, CEPH_ARGS=writer)
    environment = {**os.environ, "CEPH_ARGS": writer}
    subprocess.run([sys.executable, WRITE_STREAM, f"{location}/runs"], check=True, env=environment)
    assert "no damage" in run("pool", "check", location, CEPH_ARGS=writer)
    assert "DER_NO_PERM" in run("pool", "create", f"{location}-other", code=1, CEPH_ARGS=writer)
    run("pool", "destroy", location, "--yes", CEPH_ARGS=writer)


def test_the_store_is_measured_next_to_bare_librados() -> None:
    name = f"{CEPH_POOL}/{uuid.uuid4()}"
    one = ["--rounds", "1", "--operations", "3", "--json"]
    for case in ("kv_put/100B/1p", "array_read/1MiB/1p"):
        told = json.loads(run("bench", "store", "--location", name, "--case", case, *one))
        assert [record["peer_name"] for record in told] == ["librados", "local pool"]
        assert all(record["ours"] > 0 and record["peer"] > 0 for record in told)
    where = ("bench", "store", "--case", "kv_put/100B/1p", *one[:4])
    assert "not of the form" in run(*where, "--location", "rados://", code=1)
    assert "no pool 'none'" in run(*where, "--location", "rados://none", code=1)
    assert "CEPH_CONF" in run(*where, "--location", name, code=1, CEPH_CONF="/none")


def test_benchmarks_refuse_a_location_that_cannot_be_used() -> None:
    for benchmark in ("layouts", "metadata", "fields"):
        assert "rados://POOL" in run("bench", benchmark, "--location", "rados://a/b/c", code=2)
