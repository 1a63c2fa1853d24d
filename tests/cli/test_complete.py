"""What a shell offers at a tab, through the call that shells make."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import stepstore
from stepstore.blobs import open_blobs
from stepstore.paths import daos_root

HOSTILE = ["a b", "$(touch pwned)", "`touch pwned`", "q'u\"o", "semi;colon&", "star*", "back\\slash", "#x"]
HIDDEN = ["new\nline", "\x1b]52;c;x\x07", "turn\u202eed"]


@pytest.fixture
def pool(cli):
    """out and local:labelled: a stream, an array, blobs, an object, a snapshot."""
    for place in (cli.directory / "out", cli.directory / "root" / "labelled"):
        stepstore.Pool.create(place)
        with stepstore.Writer(f"{place}/default/gs") as writer, writer.step() as step:
            step["U"] = np.zeros(3)
            step["V"] = np.zeros(3)
        with stepstore.open_arrays(f"{place}/default", write=True) as arrays:
            arrays.write("T", np.zeros(3))
        open_blobs(str(place), "default").write("tables/cells.bin", b"x")
        with stepstore.Pool.connect(place) as opened, opened.open_container("default") as box:
            box.create_snapshot("before")
            with box.key_value(7) as values:
                values["k"] = b"v"
    return cli.directory / "out"


def ask(cli, *words, shell="bash", **environment):
    """The offers for the last word, also from a loaded machine if its time is not the subject."""
    environment.setdefault("STEPSTORE_COMPLETE_SECONDS", "30")
    asked = {"COMP_WORDS": "\n".join(("stepstore", *words)), "COMP_CWORD": str(len(words))}
    if shell != "bash":
        asked = {"_TYPER_COMPLETE_ARGS": shlex.join(("stepstore", *words[:-1])) + " " + words[-1]}
        asked["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    done = subprocess.run(
        [sys.executable, "-m", "stepstore"],
        cwd=cli.directory,
        env={**cli.environment, **asked, "_STEPSTORE_COMPLETE": f"complete_{shell}", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


CASES = [
    (("ls", "out/"), {"out/default", "out/default/"}),
    (("ls", "out/default/"), {f"out/default/{name}" for name in ("gs", "gs/", "T", "tables", "tables/")}),
    (("cat", "out/default/tables/"), {"out/default/tables/cells.bin"}),
    (("cat", "out/default/gs/"), {"out/default/gs/U", "out/default/gs/V"}),
    (("stat", "stepstore://out/default/g"), {f"stepstore://out/default/{name}" for name in ("gs", "gs/")}),
    (("steps", "out/default/"), {"out/default/gs"}),
    (("rm", "--yes", "out/default/"), {"out/default/gs"}),
    (("export", "out/default/"), {"out/default/gs", "out/default/T"}),
    (("copy", "out/default/gs", "out/default/T"), {"out/default/T"}),
    (("cont", "query", "out/d"), {"out/default"}),
    (("steps", "out/default/gs", ""), {"U", "V"}),
    (("export", "out/default/gs", "x.nc", "--variables", "U,"), {"U,U", "U,V"}),
    (("ls", "out/default", "--snapshot", ""), {"before"}),
    (("ls", "out", "--snapshot", "b"), {"before"}),
    (("snapshot", "destroy", "out/default", ""), {"before"}),
    (("pool", "create", "x", "--durability", ""), {"process", "power"}),
    (("pool", "create", "x", "--on=f"), {"files"}),
    (("export", "out/default/gs", "x", "--format", "n"), {"netcdf", "npy", "npz"}),
    (("simulate", "f"), {"figures"}),
    (("bench", "z"), {"zarr"}),
    (("sn",), {"snapshot"}),
    (("snapshot", "agg"), {"aggregate"}),
    (("pool", "query", "local:lab"), {"local:labelled"}),
    (("ls", "local:labelled/default/g"), {"local:labelled/default/gs", "local:labelled/default/gs/"}),
]


@pytest.mark.parametrize(
    ("words", "offered"), CASES, ids=lambda one: " ".join(one) if isinstance(one, tuple) else ""
)
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_names_are_offered(cli, pool, words, offered, shell):
    shown = [line.partition("\t")[0] for line in ask(cli, *words, shell=shell)]
    if shell == "bash" and ":" in words[-1]:  # bash replaces what is after a ':'
        offered = {name[name.rindex(":") + 1 :] for name in offered}
    assert set(shown) == offered and len(shown) == len(offered)


def test_an_object_is_offered_by_its_id(cli, pool):
    name = next(one["name"] for one in cli("ls", "out/default", "--json").json if one["type"] == "key_value")
    assert f"out/default/{name}" in ask(cli, "cat", f"out/default/{name[:4]}")
    assert ask(cli, "cat", f"out/default/{name}/") == [f"out/default/{name}/k"]


def test_bash_divides_a_location_at_its_colons(cli, pool):
    assert ask(cli, "ls", "local", ":", "labelled/default/T") == ["labelled/default/T"]
    assert ask(cli, "ls", "stepstore", ":", "//local", ":", "labelled/default/T") == ["labelled/default/T"]
    assert set(ask(cli, "ls", "local", ":")) == {"labelled"}
    assert set(ask(cli, "steps", "out/default/gs", "--steps", "3", ":", "")) == {"U", "V"}


def test_what_is_not_there_offers_nothing_and_makes_nothing(cli):
    for words in (
        ("ls", "absent/"),
        ("ls", "local:absent/"),
        ("steps", "absent/x/y", ""),
        ("ls", "a", "--snapshot", ""),
    ):
        assert ask(cli, *words) == []
    for location in (
        "rados://absent/x/",
        "daos://absent/",
        "nonsense://x/",
        "stepstore://",
        "\x1b",
        "/",
        "..",
        "",
    ):
        assert ask(cli, "ls", location) == []
    assert not (cli.directory / "absent").exists() and not (cli.directory / "root").exists()


def written(folder: Path):
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    at_work = ("lock.mdb", "shared")  # who looks at a pool, and what it counts
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.name not in at_work}


def test_nothing_is_written(cli, pool):
    before = written(pool)
    for words, _ in CASES:
        ask(cli, *words)
    assert written(pool) == before


def test_a_damaged_pool_offers_what_it_can_and_says_nothing(cli, pool):
    for file in pool.rglob("data.mdb"):
        os.truncate(file, 4096)
    for words, _ in CASES[:16]:
        ask(cli, *words)
    (pool / "stepstore.pool").write_bytes(b"\xff" * 100)
    for words, _ in CASES[:3]:
        assert ask(cli, *words) == []


def test_a_damaged_stream_hides_no_other_name(cli, pool):
    from stepstore.kinds import STREAMS_HI

    with stepstore.Pool.connect(pool) as opened, opened.open_container("default") as box:
        with box.key_value(box.object_id(0, STREAMS_HI)) as streams:
            streams["gs"] = bytes(streams["gs"])[:-1] + b"\xee"
    assert "out/default/T" in ask(cli, "ls", "out/default/")
    assert ask(cli, "cat", "out/default/gs/") == []


# ---- hostile names
@pytest.fixture
def hostile(cli, pool):
    blobs = open_blobs(str(pool), "default")
    for name in [*HOSTILE, *HIDDEN]:
        blobs.write(f"evil/{name}", b"x")
    return "out/default/evil/"


def test_bash_gets_each_name_as_one_word(cli, hostile):
    shown = ask(cli, "cat", hostile)
    done = subprocess.run(
        ["bash", "-c", "for word in " + " ".join(shown) + "; do printf '%s\\n' \"$word\"; done"],
        cwd=cli.directory,
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(done.stdout.splitlines()) == sorted(hostile + name for name in HOSTILE)
    assert not (cli.directory / "pwned").exists()
    assert ask(cli, "cat", f"'{hostile}") == []  # within quotes the backslashes would be part of the name


def test_shells_that_evaluate_get_plain_names_alone(cli, hostile):
    open_blobs(str(cli.directory / "out"), "default").write("evil/plain", b"x")
    shown = " ".join(ask(cli, "cat", hostile, shell="zsh"))
    assert shown == f"""_arguments '*: :(("{hostile}plain":"blob"))'"""
    fish = [
        line.partition("\t")[0] for line in ask(cli, "cat", hostile, shell="fish")
    ]  # it quotes them itself
    assert sorted(fish) == sorted(hostile + name for name in [*HOSTILE, "plain"])


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_a_real_bash_completes(cli, hostile):
    (cli.directory / "bin").mkdir()
    command = cli.directory / "bin" / "stepstore"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m stepstore "$@"\n')
    command.chmod(0o755)
    script = """
        eval "$(_STEPSTORE_COMPLETE=source_bash stepstore)"
        complete -p stepstore >&2
        COMP_WORDS=(stepstore cat 'out/default/evil/s') COMP_CWORD=2
        _stepstore_completion stepstore
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=cli.directory,
        env={**cli.environment, "PATH": f"{command.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_stepstore_completion stepstore" in done.stderr
    assert set(done.stdout.splitlines()) == {r"out/default/evil/semi\;colon\&", r"out/default/evil/star\*"}


# ---- time
def test_it_is_fast_in_a_large_container(cli, pool):
    blobs = open_blobs(str(pool), "default")
    for number in range(2000):
        blobs.write(f"many/{number}", b"")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert len(ask(cli, "cat", "out/default/many/")) == 500
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1
    )  # 0.3 s of a free processor


# What does not answer: a loop of Python, a library that keeps the interpreter for itself, and more names than
# a pipe takes before the look hangs.
HANGS = [
    "time.sleep(60)",
    "ctypes.PyDLL(None).sleep(60)",
    "os.write(1, b'out/part\\n' * 50000) and ctypes.PyDLL(None).sleep(60)",
]


@pytest.mark.parametrize("hangs", HANGS)
def test_a_look_that_takes_long_is_given_up_and_ends(cli, pool, hangs):
    program = f"""
import ctypes, os, time, stepstore.cli, stepstore.cli.complete
print(os.getpid(), flush=True)
def look(*_):
    open("child", "w").write(str(os.getpid()))
    {hangs}
stepstore.cli.complete._locations = look
stepstore.cli.main()
"""
    asked = {"COMP_WORDS": "stepstore\nls\nout/", "COMP_CWORD": "2", "_STEPSTORE_COMPLETE": "complete_bash"}
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**cli.environment, **asked},
        cwd=cli.directory,
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert 1 < time.monotonic() - begin < 5  # 1.5 s, and the interpreter's start on a loaded machine
    looked = int((cli.directory / "child").read_text())
    assert done.stdout.split() != [] and int(done.stdout) != looked and done.stderr == b""
    wait_until(lambda: not is_alive(looked))


def is_alive(process):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(true):
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


# ---- networks
def test_names_on_a_daos_system_are_offered(cli, pool):
    """Our own library stands for a DAOS system's: it connects to the pool by its label."""
    library = {"STEPSTORE_LIBDAOS": str(daos_root() / "lib64" / "libdaos.so.2")}
    assert ask(cli, "ls", "daos://labelled/", **library) == ["//labelled/default", "//labelled/default/"]
    shown = ask(cli, "ls", "daos://labelled/default/g", **library)
    assert shown == ["//labelled/default/gs", "//labelled/default/gs/"]
    assert ask(cli, "steps", "daos://labelled/default/gs", "", **library) == ["U", "V"]
    assert ask(cli, "ls", "daos://absent/", **library) == []


@pytest.mark.skipif(os.environ.get("STEPSTORE_TEST_CEPH") == "0", reason="built without librados")
def test_a_cluster_that_is_silent_does_not_keep_a_shell_waiting(cli):
    """It takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as monitor:
        silent = cli.directory / "silent.conf"
        silent.write_text(
            f"[global]\nmon_host = v2:127.0.0.1:{monitor.getsockname()[1]}\nauth_client_required = none\n"
        )
        begin = time.monotonic()
        offered = ask(
            cli, "ls", "rados://test/runs/", CEPH_CONF=str(silent), STEPSTORE_COMPLETE_SECONDS="1.5"
        )
        assert offered == [] and 1 < time.monotonic() - begin < 5
        monitor.settimeout(10)
        monitor.accept()[0].close()  # it was asked
