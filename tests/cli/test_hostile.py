"""Pools that an enemy made, or may write in: nothing outside of them is read or written by a copy."""

import json
import os
from pathlib import Path

import pytest
from stepstore import _core
from stepstore.copying.mark import MARK_HI, decode_state, mark_id
from stepstore.errors import Error
from stepstore.store import Pool


# ---- files
def below(pool: Path, directory: str = "files/c/1") -> Path:
    (place := pool / directory).mkdir(parents=True)
    return place


def contents_of(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_files_of_a_stream_lie_where_streams_have_theirs(pool):
    secret = pool.parent / "home" / ".ssh"
    secret.mkdir(parents=True)
    (secret / "metadata").write_bytes(b"key")
    place = below(pool)
    (place / "metadata").write_bytes(b"steps")
    (place / "id_rsa").write_bytes(b"key")
    assert _core.stream_files(str(pool), "files/c/1") == ["metadata"]
    assert _core.StreamFile(str(pool), "files/c/1", "metadata").read(0, 9) == b"steps"
    for directory in (
        "../home/.ssh",
        "files/../../home/.ssh",
        str(secret),
        "",
        ".",
        "files",
        "files/c",
        "meta",
    ):
        with pytest.raises(Error, match="names the directory"):
            _core.stream_files(str(pool), directory)
        for make in (False, True):
            with pytest.raises(Error, match="names the directory"):
                _core.StreamFile(str(pool), directory, "metadata", make=make)
    for name in ("id_rsa", "../1/metadata", "blocks.0/x", "/etc/passwd", "blocks.", ""):
        for make in (False, True):
            with pytest.raises(Error, match="no file of a stream"):
                _core.StreamFile(str(pool), "files/c/1", name, make=make)


@pytest.mark.parametrize("part", ["files", "files/c", "files/c/1", "files/c/1/blocks.0"])
def test_no_link_is_followed_to_read_or_to_append(pool, part):
    outside = pool.parent / "outside"
    place = below(pool)
    (place / "blocks.0").write_bytes(b"of the pool")
    (pool / part).rename(outside)
    (pool / part).symlink_to(outside)
    before = outside.read_bytes() if outside.is_file() else contents_of(outside)
    for make in (False, True):
        with pytest.raises(Error):
            _core.StreamFile(str(pool), "files/c/1", "blocks.0", make=make)
    assert before == (outside.read_bytes() if outside.is_file() else contents_of(outside))


def test_a_file_with_another_name_elsewhere_is_left_alone(pool):
    outside = pool.parent / "bashrc"
    outside.write_bytes(b"mine")
    os.link(outside, below(pool) / "blocks.0")
    file = _core.StreamFile(str(pool), "files/c/1", "blocks.0", make=True)
    file.write(file.size(), b"theirs")
    file.close()
    assert outside.read_bytes() == b"mine"


def test_what_a_copy_made_is_gone_on_with(pool):
    for text in (b"first", b"second"):
        file = _core.StreamFile(str(pool), "files/c/1", "index", make=True)
        file.write(file.size(), text)
        file.sync()
        file.close()
    assert (pool / "files/c/1/index").read_bytes() == b"firstsecond"


# ---- marks of copies
def test_a_mark_that_another_put_is_not_believed(cli, pool):
    sound = {"source": {"id": "a/", "text": "a"}, "process": "00", "pid": 1, "name": ""}
    assert decode_state(json.dumps(sound).encode()) == sound
    hostile = [
        b"",
        b"\xff",
        b"[]",
        b"[" * 100_000,
        b'{"source": 1}',
        *(
            json.dumps({**sound, **more}).encode()
            for more in (
                {"source": {"id": 1, "text": "a"}},
                {"process": "zz"},
                {"pid": "1"},
                {"epoch": -1},
                {"epoch": "5"},
                {"epoch": 1 << 64},
                {"steps": {"s": "many"}},
                {"steps": []},
                {"firsts": {"s": 1}},
                {"firsts": {"s": [None]}},
                {"phase": 3},
            )
        ),
    ]
    for value in hostile:
        with pytest.raises(Error, match="the mark of an unfinished copy is damaged"):
            decode_state(value)
    with Pool.connect(pool) as opened, opened.create_container("half") as half:
        assert mark_id(half).hi & 0xFFFFFFFF == MARK_HI
        with half.key_value(mark_id(half)) as values:
            values["copy/"] = hostile[-1]
    cli.fails("copy", "p/box", "p/half", code=4, says="the mark of an unfinished copy is damaged")


def test_a_mark_does_not_make_a_copy_destroy_another_snapshot(cli, pool):
    cli("snapshot", "create", "p/box", "--name", "precious")
    epoch = cli("snapshot", "list", "p/box", "--json").json[0]["epoch"]
    with Pool.connect(pool) as opened, opened.open_container("box") as box:
        identity = {"id": f"{box._handle.uuid()}/", "text": "./p/box"}
        mark = {
            "source": identity,
            "phase": "published",
            "epoch": epoch,
            "process": "00",
            "pid": 1,
            "name": "",
        }
        with opened.create_container("half") as half, half.key_value(mark_id(half)) as values:
            values["copy/"] = json.dumps(mark)
    cli("copy", "p/box", "p/half", "--take-over")
    assert [one["name"] for one in cli("snapshot", "list", "p/box", "--json").json] == ["precious"]
