"""What bad input and a bad disk get: one line that names the thing, an exit code, and nothing lost."""

import ctypes
import os
import subprocess
import sys

import pytest
import stepstore
from conftest import object_names
from streams import flip

EVERY_LOOK = [("pool", "query"), ("pool", "check"), ("cont", "list"), ("ls",), ("stat",), ("steps",)]


@pytest.mark.parametrize("command", EVERY_LOOK, ids=" ".join)
def test_no_pool_there(cli, command):
    cli.fails(*command, "./absent", code=3, says="absent")
    cli.fails(*command, "absentlabel", code=3, says="absentlabel")
    assert not (cli.directory / "absent").exists()


@pytest.mark.parametrize("command", EVERY_LOOK, ids=" ".join)
def test_a_directory_that_is_no_pool(cli, command):
    (cli.directory / "plain").mkdir()
    (cli.directory / "plain" / "data.txt").write_text("x")
    cli.fails(*command, "./plain", code=3, says="plain")
    assert (cli.directory / "plain" / "data.txt").read_text() == "x"


@pytest.mark.parametrize(
    "command", [("cont", "query"), ("ls",), ("stat",), ("snapshot", "list")], ids=" ".join
)
def test_no_container_there(cli, pool, command):
    cli.fails(*command, "./p/absent", code=3, says="absent")


def test_malformed_locations(cli, pool):
    cli.fails("ls", "", code=2, says="empty")
    cli.fails("cont", "query", "./p", code=2, says="CONTAINER")
    cli.fails("cont", "create", "./p/bad label!", code=1, says="bad label!")
    cli.fails("cat", "./p/box", code=2, says="HI.LO")
    cli.fails("steps", "./p/box/1.2", code=2, says="object")
    cli.fails("ls", b"./p/box/\xff".decode("utf-8", "surrogateescape"), code=2, says="%xx")
    cli.fails("steps", "./p/" + "c" * 200, code=2, says="c" * 100)
    cli.fails("ls", "s3://bucket/p", code=2, says="does not know")
    cli.fails("ls", "./p/box/../other", code=2, says="part")


def test_debug_shows_where(cli):
    done = subprocess.run(
        [sys.executable, "-m", "stepstore", "--debug", "ls", "./absent"],
        cwd=cli.directory, env=cli.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "Traceback" in done.stderr


def test_a_damaged_value_is_told_not_given(cli, pool):
    marker = b"this value will be damaged by a bad disk"
    with (
        stepstore.Pool.connect(pool) as opened,
        opened.create_container("hurt") as hurt,
        hurt.key_value(1) as values,
    ):
        values["victim"] = marker
        values["fine"] = b"untouched"
    name = object_names(cli, "./p/hurt")["key_value"]
    flip(pool, marker)
    assert cli.fails("cat", f"./p/hurt/{name}/victim", code=4, says="DER_CSUM")
    assert cli("cat", f"./p/hurt/{name}/fine").raw == b"untouched"


def test_a_damaged_array_is_told_not_given(cli, pool):
    block = bytes(range(256)) * 1024
    with (
        stepstore.Pool.connect(pool) as opened,
        opened.create_container("hurt") as hurt,
        hurt.create_array(1) as array,
    ):
        array.write(0, block)
        array.write(1 << 20, block[::-1])
    name = object_names(cli, "./p/hurt")["array"]
    flip(pool, block[:4096])
    assert "DER_CSUM" in cli("cat", f"./p/hurt/{name}", code=4).err
    assert cli("cat", f"./p/hurt/{name}", "--offset", 1 << 20).raw == block[::-1]


def test_a_truncated_pool(cli, pool):
    marker = os.urandom(300_000)
    with (
        stepstore.Pool.connect(pool) as opened,
        opened.open_container("box") as box,
        box.create_array(9) as array,
    ):
        array.write(0, marker)
    names = [e["name"] for e in cli("ls", "./p/box", "--json").json if e.get("size") == 300_000]
    for file in pool.rglob("*"):
        if file.is_file() and marker[:64] in file.read_bytes():
            os.truncate(file, 1000)
    assert "error" in cli("cat", f"./p/box/{names[0]}", code=4).err
    assert cli("pool", "check", "./p", "--json", code=4).json["summary"]["damaged"] is True
    name = next(e["name"] for e in cli("ls", "./p/box", "--json").json if "keys" in e)
    assert cli("cat", f"./p/box/{name}/plain").raw == b"hello"


# Runs the command line with the imports done as root and the work as somebody else: a root of containers may
# read and write everything.
AS_NOBODY = """
import contextlib, io, os, sys
import stepstore.cli
# What is imported later may lie where only root may look.
for first in (["--help"], ["version"], ["nonsense"], ["ls", "./absent"], ["pool", "list", "/proc/self/task"]):
    sys.argv[1:], arguments = first, sys.argv[1:]
    silence = io.StringIO()
    with contextlib.redirect_stderr(silence), contextlib.redirect_stdout(silence):
        with contextlib.suppress(SystemExit):
            stepstore.cli.main()
    sys.argv[1:] = arguments
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
stepstore.cli.main()
"""


def as_nobody(cli, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *map(str, arguments)],
        cwd=cli.directory,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def foreign(cli, pool, request):
    """The pool ./p, which others may look at but not change, also when the tests run as an ordinary user."""
    for folder in [cli.directory, *cli.directory.parents]:
        folder.chmod(0o755)
        if str(folder) == request.config.option.basetemp:
            break
    for path in [pool, *pool.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield pool
    for path in [pool, *pool.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_pool_owned_by_somebody_else_can_be_read_not_written(cli, foreign):
    done = as_nobody(cli, "ls", "./p/box", "--json")
    assert done.returncode == 0, done.stderr
    done = as_nobody(cli, "cont", "create", "./p/mine")
    assert done.returncode == 1 and "DER_NO_PERM" in done.stderr and "p" in done.stderr
    done = as_nobody(cli, "pool", "destroy", "./p", "--yes")
    assert done.returncode == 1 and "DER_NO_PERM" in done.stderr
    assert cli("cont", "list", "./p", "--json").json[0]["label"] == "box"


def test_a_pool_that_must_not_be_looked_at(cli, foreign):
    foreign.chmod(0)
    for command in (
        ("pool", "query", "./p"),
        ("pool", "check", "./p"),
        ("ls", "./p/box"),
        ("pool", "destroy", "./p", "--yes"),
    ):
        done = as_nobody(cli, *command)
        assert done.returncode == 1 and "DER_NO_PERM" in done.stderr and str(foreign) in done.stderr, (
            done.stderr
        )
    foreign.chmod(0o755)
    assert cli("cont", "list", "./p", "--json").json[0]["label"] == "box"


def test_a_directory_where_nothing_may_be_made(cli, foreign):
    closed = cli.directory / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    done = as_nobody(cli, "pool", "create", "./closed/p")
    assert done.returncode == 1 and "DER_NO_PERM" in done.stderr and "closed" in done.stderr


def sealed_format(text: str) -> str:
    """A pool's format file with the checksum that belongs to it."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_64bits.restype = ctypes.c_uint64
    library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    lines = text.encode()
    return f"{text}checksum {library.XXH3_64bits(lines, len(lines)):016x}\n"


def rewrite_format(pool, change):
    file = pool / "stepstore.pool"
    body = file.read_text().rsplit("checksum ", 1)[0]
    assert file.read_text() == sealed_format(body), "the format file is not as docs/format.md has it"
    file.chmod(0o644)
    file.write_text(sealed_format(change(body)))


@pytest.mark.parametrize("command", [("pool", "query"), ("ls",), ("steps",), ("cont", "list")], ids=" ".join)
def test_a_pool_of_a_newer_format(cli, pool, command):
    rewrite_format(pool, lambda text: text.replace("version 4\n", "version 99\n"))
    cli.fails(*command, "./p", code=1, says=("DER_DF_INCOMPT", "99"))
    rewrite_format(pool, lambda text: text.replace("version 99\n", "version 4\n"))
    assert cli("cont", "list", "./p", "--json").json[0]["label"] == "box"


def test_a_damaged_format_file(cli, pool):
    file = pool / "stepstore.pool"
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"targets 8", b"targets 9"))
    assert "stepstore.pool" in cli.fails("ls", "./p", code=1, says="DER_DF_INVAL")
    report = cli("pool", "check", "./p", "--json", code=4).json
    assert report["summary"]["damaged"] is True
    file.write_bytes(whole)
    assert cli("cont", "list", "./p", "--json").json[0]["label"] == "box"


def test_a_lost_target(cli, pool):
    (pool / "target-003" / "data.mdb").unlink()
    report = cli("pool", "check", "./p", "--json", code=4).json
    assert any(
        "target-003" in f["where"] + f["what"] or "target 3" in f["where"] + f["what"]
        for f in report["findings"]
    )


def test_a_full_disk(cli, pool):
    """Played by a limit on the size of files, in a process of its own."""
    program = """
import resource, signal, sys
import stepstore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with stepstore.Pool.connect("./p") as pool, pool.open_container("box") as box, box.key_value(5) as values:
    values["before"] = b"b" * 1000
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, resource.RLIM_INFINITY))
    try:
        values["large"] = b"x" * (30 << 20)
    except stepstore.Error as error:
        print(error)
    sys.exit(0 if "large" not in values and values["before"] == b"b" * 1000 else 1)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cli.directory,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "DER_NOSPACE" in done.stdout and "'large'" in done.stdout and str(pool) in done.stdout
    assert cli("pool", "check", "./p", "--json").json["summary"]["damaged"] is False
    # A pool that cannot be made is not there.
    program = """
import resource, runpy, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
sys.argv = ["stepstore", "pool", "create", "./q"]
runpy.run_module("stepstore", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=cli.directory,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "DER_NOSPACE" in done.stderr and "q" in done.stderr, done.stderr
    cli.fails("pool", "query", "./q", code=3, says="q")


def test_a_damaged_key_is_told(cli, pool):
    marker = b"the-key-that-a-bad-disk-changes"
    with (
        stepstore.Pool.connect(pool) as opened,
        opened.create_container("hurt") as hurt,
        hurt.key_value(1) as values,
    ):
        values[marker] = b"value"
    name = object_names(cli, "./p/hurt")["key_value"]
    flip(pool, marker)
    cli.fails("cat", f"./p/hurt/{name}/{marker.decode()}", code=4, says="DER_CSUM")
    assert cli("pool", "check", "./p", "--json", code=4).json["summary"]["damaged"] is True


def test_no_stream_there(cli, pool):
    cli.fails("steps", "./p/box", code=3, says=("./p/box", "main"))
    cli.fails("steps", "./p/box/absent", code=3, says="absent")


def test_values_that_no_object_can_have(cli, pool):
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        for wrong in ({"cell_size": 0}, {"chunk_size": 0}):
            with pytest.raises(stepstore.Error, match="is 0") as refused:
                box.create_array(7, **wrong)
            assert refused.value.name == "DER_INVAL"
        for wrong in ("S3", "nonsense", "EC_2P1G1"):
            with pytest.raises(stepstore.Error, match=wrong):
                box.object_id(7, object_class=wrong)
    assert len(object_names(cli, "./p/box")) == 2


def test_a_closed_handle(cli, pool):
    opened = stepstore.Pool.connect(pool)
    box = opened.open_container("box")
    values = box.key_value(1)
    values.close()
    with pytest.raises((stepstore.Error, ValueError), match="closed"):
        values["plain"]
    box.close()
    with pytest.raises((stepstore.Error, ValueError), match="closed"):
        box.key_value(1)
    opened.close()
    with pytest.raises((stepstore.Error, ValueError), match="closed"):
        opened.open_container("box")
