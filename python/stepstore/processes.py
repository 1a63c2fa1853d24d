"""Runs other programs. None outlives the call that runs it: not after an error, a time-out, or Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

_SECONDS_TO_END = 10.0


def run_program(
    line: Sequence[str], *, timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run with text. The program gets a session of its own: Ctrl-C on the terminal reaches this
    process only, which then ends the program and all that it has started (mpirun: its ranks), and waits."""
    with subprocess.Popen(line, text=True, start_new_session=True, **options) as running:
        try:
            output, errors = running.communicate(timeout=timeout)
        except BaseException:
            _end(running)
            raise
    return subprocess.CompletedProcess(line, running.returncode, output, errors)


def _end(running: subprocess.Popen[str]) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(running.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.communicate(timeout=_SECONDS_TO_END)
            return
