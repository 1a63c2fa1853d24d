"""Pools that an enemy made, or may write in: nothing outside of them is read or written, and no name in them
commands the terminal."""

import ast
import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import stepstore
from stepstore import _core
from stepstore.blobs import open_blobs
from stepstore.copying.mark import decode_state, mark_id
from stepstore.kinds import MARK_HI
from stepstore.errors import Error
from stepstore.printable import printable
from stepstore.store import Pool
from streams import write_stream

CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4=\x07"
NAMES = [
    CLIPBOARD,
    "\x1b[2Jcleared",
    "line\nerror: another",
    "back\rover",
    "\x9b31mred",  # the same command in one character
    "abc\u202etxt.exe",
    "\u2066isolated\u2069",
    "=cmd|' /C calc'!A1",
]
COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


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


@pytest.mark.parametrize("side", ["source", "target"])
def test_copy_goes_through_no_link(cli, side):
    """Keys were copied into a pool, and a file outside of it was appended to."""
    stream = write_stream(cli.directory, "2", "Layout=posix")
    outside = cli.directory / "outside"
    if side == "source":
        cli("pool", "create", "./q")
        file = next((stream / "files").rglob("blocks.*"))
        file.rename(outside)
        file.symlink_to(outside)
    else:
        cli("copy", "s", "q")
        cli("rm", "-y", "q/default/main")
        outside.mkdir()
        for folder in sorted((cli.directory / "q/files").iterdir()):
            for one in folder.rglob("*"):
                assert not one.is_file()
            subprocess.run(["rm", "-r", folder], check=True)
            folder.symlink_to(outside)
    before = outside.read_bytes() if side == "source" else contents_of(outside)
    cli("copy", "s/default/main", "q/default/again", code=1)
    assert before == (outside.read_bytes() if side == "source" else contents_of(outside))
    copied = cli.directory / "q/files"
    assert not [one for one in copied.rglob("blocks.*") if one.is_file()]


# ---- marks of copies
def put_mark(container, note):
    with contextlib.closing(_core.Lease(container._handle, mark_id(container), "copy/")) as lease:
        assert lease.take_as_seen(note)


def test_a_mark_that_another_put_is_not_believed(cli, pool):
    sound = {"source": {"id": "a/", "text": "a"}, "name": ""}
    assert decode_state(SimpleNamespace(note=json.dumps(sound).encode())) == sound
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
                {"name": 1},
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
            decode_state(SimpleNamespace(note=value))
    assert _core.decode_lease(b"no record of a lease").note == b""
    with Pool.connect(pool) as opened, opened.create_container("half") as half:
        assert mark_id(half).hi & 0xFFFFFFFF == MARK_HI
        put_mark(half, hostile[-1])
    cli.fails("copy", "p/box", "p/half", code=4, says="the mark of an unfinished copy is damaged")


def test_a_mark_does_not_make_a_copy_destroy_another_snapshot(cli, pool):
    cli("snapshot", "create", "p/box", "--name", "precious")
    epoch = cli("snapshot", "list", "p/box", "--json").json[0]["epoch"]
    with Pool.connect(pool) as opened, opened.open_container("box") as box:
        identity = {"id": f"{box._handle.uuid()}/", "text": "./p/box"}
        mark = {"source": identity, "phase": "published", "epoch": epoch, "name": ""}
        with opened.create_container("half") as half:
            put_mark(half, json.dumps(mark).encode())
    cli("copy", "p/box", "p/half", "--take-over")
    assert [one["name"] for one in cli("snapshot", "list", "p/box", "--json").json] == ["precious"]


# ---- the terminal
def test_text_is_shown_without_commands():
    for name in NAMES:
        shown = printable(name)
        assert not COMMANDS.search(shown) and "\n" not in shown
        assert printable(shown) == shown
    assert printable(CLIPBOARD) == "\\x1b]52;c;cm0gLXJmIH4=\\x07"
    assert printable("abc\u202etxt") == "abc\\u202etxt"
    assert printable("a\nb\tc") == "a\\nb\\tc"
    assert printable("Temperatur °C, 温度, e\u0301, \U0001f30d") == "Temperatur °C, 温度, e\u0301, \U0001f30d"
    assert (
        printable(b"\xff\xc0\x80\xed\xa0\x80".decode("utf-8", "surrogateescape"))
        == "\\xff\\xc0\\x80\\xed\\xa0\\x80"
    )
    assert printable("\ud800") == "\\ud800"
    assert str(Error(-1005, CLIPBOARD)) == printable(CLIPBOARD)


def quiet(result) -> str:
    text = result.out + result.err
    assert not COMMANDS.search(text), repr(text)
    return text


def test_no_name_of_a_pool_commands_the_terminal(cli, pool):
    with Pool.connect(pool) as opened, opened.open_container("box") as box:
        for name in NAMES:
            box.create_snapshot(name)
        with box.key_value(1) as values:
            for name in NAMES:
                values[name] = name.encode()
    blobs = open_blobs(str(pool), "blobs")
    with stepstore.open_arrays(str(pool / "arrays"), write=True) as arrays:
        for name in NAMES:
            blobs.write(name, b"x")
            arrays.write(name.replace("/", "_"), [1.0])
            arrays.set_attribute(name.replace("/", "_"), "units", name)
    shown = quiet(cli("snapshot", "list", "p/box"))
    assert all(printable(name) in shown for name in NAMES)
    assert len(shown.splitlines()) == 1 + len(NAMES)  # no name makes a line
    told = cli("snapshot", "list", "p/box", "--json")
    quiet(told)
    assert sorted(one["name"] for one in told.json) == sorted(NAMES)
    for arguments in (
        ("ls", "-l", "p"),
        ("ls", "-l", "p/box"),
        ("ls", "-l", "p/blobs"),
        ("ls", "-l", "p/arrays"),
        ("stat", "p/box"),
        ("pool", "check", "p"),
    ):
        quiet(cli(*arguments))
    everything = "".join(NAMES)
    for arguments in (
        ("snapshot", "destroy", "-y", "p/box", f"no {everything}"),
        ("ls", "p/box", "--snapshot", f"no {everything}"),
        ("stat", f"p/{everything}"),
        ("cont", "destroy", "-y", f"p/no{everything}"),
        ("steps", f"p/box/{everything}"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "stepstore", *arguments],
            cwd=cli.directory,
            env=cli.environment,
            capture_output=True,
            check=False,
        )
        assert done.returncode != 0
        text = (done.stdout + done.stderr).decode()
        assert not COMMANDS.search(text) and len(text.splitlines()) == 1, repr(text)


def test_a_message_of_the_store_in_python_and_c_has_no_command(pool):
    with Pool.connect(pool) as opened:
        with pytest.raises(Error) as failed:
            opened.open_container(CLIPBOARD)
        assert not COMMANDS.search(str(failed.value))
        with opened.open_container("box") as box, pytest.raises(Error) as failed:
            box.epoch_of(CLIPBOARD)
        assert not COMMANDS.search(str(failed.value))
    with stepstore.open_arrays(str(pool / "arrays"), write=True) as arrays, pytest.raises(Error) as failed:
        arrays.read(CLIPBOARD)
    assert not COMMANDS.search(str(failed.value))


def test_a_value_is_shown_on_a_terminal_without_commands_and_elsewhere_as_it_is(cli, pool):
    value = f"one\ntwo {CLIPBOARD}\n".encode()
    with Pool.connect(pool) as opened, opened.open_container("box") as box, box.key_value(1) as values:
        values["text"] = value
    objects = {one["type"]: one["name"] for one in cli("ls", "p/box", "--json").json}
    location = f"p/box/{next(name for kind, name in objects.items() if 'array' not in kind)}/text"
    assert cli("cat", location).raw == value
    leader, follower = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "stepstore", "cat", location],
        cwd=cli.directory,
        env=cli.environment,
        stdout=follower,
        stderr=follower,
    )
    assert done.wait(60) == 0
    os.close(follower)
    shown = os.read(leader, 4096).decode().replace("\r\n", "\n")
    os.close(leader)
    assert shown == f"one\ntwo {printable(CLIPBOARD)}\n"


# The program's own words, for a shell to take.
_OWN_WORDS = {
    "_print_version",
    "plugin_path",
    "daos_root_path",
    "pkg_config_path",
    "fdb5_env",
    "adios2_env",
    "bench",
    "answer",  # names that are words of a shell
}


def test_commands_print_through_one_place():
    """styled(), show(), table(), emit() and their like (stepstore.console and cli.common) show any text.
    Nothing else prints."""
    found = []
    for file in sorted((Path(stepstore.__file__).parent / "cli").glob("*.py")):
        if file.name == "common.py":
            continue
        for function in ast.walk(ast.parse(file.read_text())):
            if not isinstance(function, ast.FunctionDef) or function.name in _OWN_WORDS:
                continue
            for node in ast.walk(function):
                if not isinstance(node, ast.Call):
                    continue
                called = ast.unparse(node.func)
                raw = called in (
                    "print",
                    "typer.echo",
                    "typer.secho",
                    "Text",
                    "sys.stdout.write",
                    "sys.stderr.write",
                )
                raw |= called.endswith((".out.print", ".err.print", ".out.out")) and any(
                    isinstance(one, ast.Constant | ast.JoinedStr) for one in node.args
                )
                if raw or called.endswith("stdout.buffer.write"):
                    found.append(f"{file.name}:{node.lineno}: {called}")
    assert not found
