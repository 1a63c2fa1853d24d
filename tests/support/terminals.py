"""What a command prints on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios


def on_terminal(cli, columns: int, *arguments: object, colours: bool = False) -> tuple[str, str]:
    """On one of so many columns: stdout with what commands the terminal, and stderr. The command succeeds."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**cli.environment, "TERM": "xterm-256color" if colours else "xterm"}
    for name in ("COLUMNS", *(["NO_COLOR"] if colours else [])):
        environment.pop(name, None)
    with subprocess.Popen(
        [sys.executable, "-m", "stepstore", *map(str, arguments)],
        cwd=cli.directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.PIPE,
    ) as running:
        os.close(follower)
        told = b""
        try:
            while piece := os.read(leader, 1 << 16):
                told += piece
        except OSError:  # the program has ended
            pass
        errors = running.stderr.read().decode()
    os.close(leader)
    assert running.returncode == 0, errors
    return told.decode().replace("\r\n", "\n"), errors
