"""Runs the commands whose figures are missing, one after the other."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from stepstore.processes import run_program
from stepstore.lab.reports.chapters import Chapter, Work


class Run:
    def __init__(self, folder: Path, quick: bool, say: Callable[[str], None]):
        self._folder, self._quick, self._say = folder, quick, say
        self.left_out: dict[str, list[str]] = {}  # key of a chapter to what could not be run, and why

    def __call__(self, chapter: Chapter, work: Work) -> None:
        if self._quick and work.quick is None:
            return
        folder = self._folder / chapter.key
        folder.mkdir(parents=True, exist_ok=True)
        words = work.words(self._quick)
        options = [work.folder_option, str(folder)] if work.folder_option else ["--json"]
        command = shlex.join(["stepstore", *words])
        self._say(command)
        begin = time.monotonic()
        done = run_program(
            [sys.executable, "-m", "stepstore", *words, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or ["no message"])[-1].removeprefix("error: ")
            self.left_out.setdefault(chapter.key, []).append(f"{command}: {said}")
            self._say(f"left out: {said}")
            return
        if work.draw:
            work.draw(json.loads(done.stdout), folder, command)
        self._say(f"  {time.monotonic() - begin:.0f} s")
