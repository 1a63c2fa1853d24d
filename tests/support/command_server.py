"""Runs `stepstore` commands as processes of their own that start in milliseconds.

A process of its own imports the modules of the command line once, and forks each command from there. So a
command has its own memory, descriptors, directory and environment, and ends as `python -m stepstore` does.
The server opens no pool and has one thread: what a command inherits from it is only code.

CommandServer is the side of the test; run as a program, this file is the server.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

_LARGEST = 1 << 20  # bytes of a request
# Modules that a command imported, and that the server imports for the next one.
_KEPT = ("stepstore", "numpy", "matplotlib", "typer", "click", "rich", "pydantic", "jinja2")
_KEPT += ("xarray", "pandas", "dask", "scipy", "pint", "netCDF4", "zarr")
# OpenBLAS makes a thread for each core, and so does NumExpr; Arrow has one that gives memory back. Xarray
# loads them.
_WITHOUT_THREADS = {
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


class CommandServer:
    """One for a run of tests; several threads may run commands at the same time."""

    def __init__(self) -> None:
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(other.fileno())],
                pass_fds=[other.fileno()],
                env={**os.environ, **_WITHOUT_THREADS, "NO_COLOR": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._modules: set[str] = set()

    def close(self) -> None:
        self._control.close()
        self._process.wait()

    def run(
        self, arguments: list[str], cwd: Path, env: dict[str, str], stdin: bytes = b"", timeout: float = 120
    ) -> tuple[int, bytes, bytes]:
        """The exit code (negative: the signal), what was printed, and what was said on stderr.
        subprocess.TimeoutExpired: the command was killed."""
        request = {"arguments": arguments, "cwd": str(cwd), "env": env, "modules": sorted(self._modules)}
        answers, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with (
            answers,
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin)
            given.seek(0)
            with other:
                files = [given.fileno(), out.fileno(), err.fileno(), other.fileno()]
                socket.send_fds(self._control, [json.dumps(request).encode()], files)
            answers.settimeout(timeout)
            begun = answers.recv(100)
            assert begun, "the server of commands has ended: its reason is on stderr"
            pid, status = int(begun), None
            try:
                while answer := answers.recv(_LARGEST):
                    told = json.loads(answer)
                    self._modules.update(told.get("modules", ()))
                    status = told.get("status", status)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(arguments, timeout) from None
            assert status is not None, "the process that watched the command has ended"
            out.seek(0)
            err.seek(0)
            return os.waitstatus_to_exitcode(status), out.read(), err.read()


def _say(answers: socket.socket, **what: object) -> None:
    answers.send(json.dumps(what).encode())


def _become(request: dict, files: list[int]) -> None:
    """The process of a command: its descriptors, directory, environment and arguments."""
    for number in range(3):
        os.dup2(files[number], number)
        os.close(files[number])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    main = importlib.util.find_spec("stepstore.__main__")
    assert main is not None and main.origin is not None
    sys.argv = [main.origin, *request["arguments"]]
    sys.path[0] = request["cwd"]
    answers = socket.socket(fileno=files[3])
    os.set_inheritable(answers.fileno(), False)
    before = set(sys.modules)

    def tell() -> None:
        new = sys.modules.keys() - before
        _say(answers, modules=sorted(name for name in new if name.partition(".")[0] in _KEPT))

    atexit.register(tell)


def _import_without_threads(names: list[str]) -> bool:
    """Imports them, unless they start a thread: a child tries it first."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        try:
            list(map(importlib.import_module, names))
            os._exit(len(os.listdir("/proc/self/task")) - 1)
        except BaseException:
            os._exit(1)
    if os.waitpid(pid, 0)[1] != 0:
        return False
    list(map(importlib.import_module, names))
    return True


def _serve(control: socket.socket) -> None:
    refused: set[str] = set()
    while True:
        message, files, _, _ = socket.recv_fds(control, _LARGEST, 4)
        if not message:
            return
        request = json.loads(message)
        new = [name for name in request["modules"] if name not in sys.modules and name not in refused]
        if new and not _import_without_threads(new):
            refused.update(new)
        threads = os.listdir("/proc/self/task")
        assert len(threads) == 1, f"a process with {len(threads)} threads must not fork"
        gc.freeze()  # a command that ends does not walk over what it inherits
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pid = os.fork()
            if pid == 0:
                _become(request, files)
                from stepstore.cli import main

                main()
                os._exit(70)  # it always raises SystemExit
            with socket.socket(fileno=files[3]) as answers:
                answers.send(str(pid).encode())
                _, status = os.waitpid(pid, 0)
                _say(answers, status=status)
            os._exit(0)
        for file in files:
            os.close(file)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
