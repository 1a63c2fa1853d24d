"""Runs the examples of a document in their order, in a directory of their own.

A document is a script for its reader, and so for the tests:

- ```sh: runs in bash, which ends at the first command that fails. The next block begins in the directory and
  with the variables that this one left.
- ```python: runs in one interpreter for the whole page. It starts at the first such block.
- any block with title="FILE" in its first line: is written to that file. It is not run.
- <!-- not run: REASON --> in the line before a block: it is not run.

Blocks of other languages, and blocks without one, are not run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 120  # seconds for a block

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"```(?P<language>\w*)(?P<more>[^\n]*)\n(?P<text>.*?)^```[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    reason: str  # why it is not run
    text: str
    line: int

    @property
    def runs(self) -> bool:
        return self.language in ("sh", "python") and not self.title and not self.reason


def blocks(text: str) -> list[Block]:
    found = []
    for one in _BLOCK.finditer(text):
        title = re.search(r'title="([^"]+)"', one["more"])
        line = text.count("\n", 0, one.start("text"))
        found.append(
            Block(one["language"], title[1] if title else "", one["reason"] or "", one["text"], line)
        )
    return found


class Failed(AssertionError):
    pass


class Session:
    """A reader at work: a directory, the variables of a shell, and an interpreter of Python."""

    def __init__(self, page: Path, directory: Path, environment: dict[str, str]):
        self.page = page
        self.directory = directory
        self._home = directory
        self._tools = directory.with_name(directory.name + ".tools")
        self._tools.mkdir()
        for name, words in {
            "python": [sys.executable],
            "python3": [sys.executable],
            "stepstore": [sys.executable, "-m", "stepstore"],
        }.items():
            command = self._tools / name
            command.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            command.chmod(0o755)
        self.environment = {
            **environment,
            "PATH": f"{self._tools}:{environment.get('PATH', '')}",
            "MPLBACKEND": "Agg",
            # More ranks than cores, also as root.
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
        }
        self._python: subprocess.Popen[str] | None = None
        self._answers = -1
        self._groups: list[int] = []  # of the shells, for the commands that they left in the background

    def run(self, block: Block) -> None:
        if block.reason:
            return
        if block.title:
            file = self.directory / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            self._run_shell(block)
        elif block.language == "python":
            self._run_python(block.text, block.line)

    def python(self, text: str) -> None:
        """A statement of the test, in the interpreter of the page."""
        self._run_python(text, 0)

    def close(self) -> None:
        if self._python is not None:
            assert self._python.stdin
            self._python.stdin.close()
            self._python.wait(timeout=TIMEOUT)
            os.close(self._answers)
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def _run_shell(self, block: Block) -> None:
        state = self._tools / "state"
        script = self._tools / "block.sh"
        keep = f"\n{{ pwd; env -0; }} >{shlex.quote(str(state))}\n"
        script.write_text(block.text + keep, encoding="utf-8")
        # Into a file: a command that the block left in the background would keep a pipe open.
        with (self._tools / "output").open("w+", encoding="utf-8", errors="replace") as output:
            running = subprocess.Popen(
                ["bash", "-euo", "pipefail", str(script)],
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._groups.append(running.pid)
            status = running.wait(timeout=TIMEOUT)
            output.seek(0)
            if status:
                raise Failed(f"{self._where(block.line)}: status {status}\n{block.text}\n{output.read()}")
        place, _, rest = state.read_bytes().partition(b"\n")
        self.directory = Path(os.fsdecode(place))
        pairs = (one.partition(b"=") for one in rest.split(b"\0") if one)
        self.environment = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}

    def _run_python(self, text: str, line: int) -> None:
        if self._python is None:
            self._answers, answers = os.pipe()
            self._python = subprocess.Popen(
                [sys.executable, __file__, str(answers)],
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.PIPE,
                pass_fds=[answers],
                text=True,
            )
            os.close(answers)
        assert self._python.stdin
        task = {"text": text, "line": line, "page": str(self.page), "directory": str(self.directory)}
        self._python.stdin.write(json.dumps(task) + "\n")
        self._python.stdin.flush()
        if not select.select([self._answers], [], [], TIMEOUT)[0]:
            self._python.kill()
            raise Failed(f"{self._where(line)}: not done after {TIMEOUT} s")
        answer = os.read(self._answers, 1 << 20).decode()
        if answer != "done":
            raise Failed(f"{self._where(line)}\n{text}\n{answer or 'the interpreter has ended'}")

    def _where(self, line: int) -> str:
        return f"{self.page.relative_to(ROOT)}:{line + 1}"


def _interpret(answers: int) -> None:
    """The interpreter of a page: a block in each line of stdin, and an answer for each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for task in map(json.loads, sys.stdin):
        os.chdir(task["directory"])
        try:
            exec(compile("\n" * task["line"] + task["text"], task["page"], "exec"), names)  # noqa: S102
            answer = "done"
        except BaseException:
            answer = traceback.format_exc()
        os.write(answers, answer.encode()[-60_000:])


if __name__ == "__main__":
    sys.path[0] = ""  # as in an interpreter at a prompt
    _interpret(int(sys.argv[1]))
