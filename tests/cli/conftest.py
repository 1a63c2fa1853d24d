"""Runs the command line as users do: each command is a process of its own, with its exit code and output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import stepstore

sys.path.append(str(Path(__file__).parents[1] / "support"))
from command_server import CommandServer
from streams import write_stream


def pytest_configure(config):
    """Temporary files of this run alone: the directory that pytest shares between runs is closed to other
    users by each."""
    if config.option.basetemp is None:
        config.own_temporary = own = tempfile.TemporaryDirectory(prefix="stepstore-cli-")
        config.option.basetemp = str(Path(own.name) / "tests")
        os.chmod(own.name, 0o755)  # some tests look in as another user


def pytest_unconfigure(config):
    if hasattr(config, "own_temporary"):
        config.own_temporary.cleanup()


@dataclass
class Result:
    code: int
    out: str
    err: str
    raw: bytes

    @property
    def json(self):
        return json.loads(self.out)


class CommandLine:
    """run(...) in `directory`, with a root directory and a home of its own. `anew`: with the limits of this
    process. A command with an environment of its own is started anew too, since its modules may look at it
    while they are imported."""

    def __init__(self, directory: Path, server: CommandServer):
        self.directory = directory
        self._server = server
        self.environment = {
            **os.environ,
            "HOME": str(directory / "home"),
            "STEPSTORE_ROOT": str(directory / "root"),
            "NO_COLOR": "1",
            "PYTHONPATH": os.pathsep.join(
                [str(Path(stepstore.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
            ),
        }
        for name in ("STEPSTORE_DEBUG", "STEPSTORE_BUILD"):
            self.environment.pop(name, None)

    def __call__(
        self,
        *arguments: object,
        code: int = 0,
        stdin: bytes = b"",
        timeout: int = 120,
        anew: bool = False,
        **environment: str,
    ) -> Result:
        words = list(map(str, arguments))
        if anew or environment:
            done = subprocess.run(
                [sys.executable, "-m", "stepstore", *words],
                cwd=self.directory,
                env={**self.environment, **environment},
                input=stdin,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
            found, out, err = done.returncode, done.stdout, done.stderr
        else:
            found, out, err = self._server.run(words, self.directory, self.environment, stdin, timeout)
        result = Result(found, out.decode("utf-8", "replace"), err.decode(), out)
        assert result.code == code, (
            f"{arguments}: exit code {result.code}, not {code}\n{result.out}\n{result.err}"
        )
        assert "Traceback" not in result.err, result.err
        return result

    def fails(
        self, *arguments: object, code: int, says: str | tuple[str, ...] = (), anew: bool = False
    ) -> str:
        """The command fails with this code and one line on stderr that holds these words."""
        result = self(*arguments, code=code, anew=anew)
        assert result.out == "", result.out
        lines = result.err.strip().splitlines()
        assert len(lines) == 1, result.err
        assert lines[0].startswith("error: "), lines[0]
        for word in (says,) if isinstance(says, str) else says:
            assert word in lines[0], f"{word!r} is not in {lines[0]!r}"
        return lines[0]


@pytest.fixture(scope="session")
def command_server() -> Iterator[CommandServer]:
    server = CommandServer()
    yield server
    server.close()


@pytest.fixture
def cli(tmp_path: Path, command_server: CommandServer) -> CommandLine:
    return CommandLine(tmp_path, command_server)


@pytest.fixture
def pool(cli: CommandLine) -> Path:
    """A pool ./p with the container `box`: a key-value object 1 and an array 2."""
    path = cli.directory / "p"
    stepstore.Pool.create(path, targets=8)
    with stepstore.Pool.connect(path) as opened, opened.create_container("box") as box:
        with box.key_value(1) as values:
            values["plain"] = b"hello"
            values["a/b"] = b"slash"
            values[b"\x01\xff%"] = b"binary"
            values["empty"] = b""
        with box.create_array(2, cell_size=4, chunk_size=1024) as array:
            array.write(10, bytes(range(40)))
    return path


def object_names(cli: CommandLine, location: str) -> dict[str, str]:
    """The objects of a container by type: {"key_value": "hi.lo", "array": "hi.lo"}."""
    found = cli("ls", location, "--json").json
    return {
        ("array" if "array" in entry["type"] else "key_value"): entry["name"]
        for entry in found
        if "hi" in entry
    }


@pytest.fixture(scope="session")
def stream_template(tmp_path_factory) -> Path:
    """A pool with a stream; made once."""
    return write_stream(tmp_path_factory.mktemp("stream"))


@pytest.fixture
def snapshot_stream(cli: CommandLine) -> str:
    """./s, a pool with a stream whose steps are kept by snapshots."""
    return str(write_stream(cli.directory, "4", "Steps=snapshot"))


@pytest.fixture
def stream(stream_template: Path, cli: CommandLine) -> str:
    """A copy of that pool, as ./s."""
    subprocess.run(["cp", "-a", "--sparse=always", stream_template, cli.directory / "s"], check=True)
    return "./s"
