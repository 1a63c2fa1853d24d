"""The chapters of the report: what each is about, and the command that makes its figures."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Chapter:
    """Its figures are those of commands that begin with `command`."""

    key: str
    title: str
    introduction: str
    command: str
    full: str = ""  # options, where it is run
    quick: str | None = None  # options of a run of at most a minute; None: not run then
    folder_option: str = "--figures"

    def has(self, command: str) -> bool:
        """Whether a figure's command is this chapter's."""
        words = shlex.split(command)
        wanted = ["stepstore", *shlex.split(self.command)]
        return words[: len(wanted)] == wanted

    def words(self, folder: Path, quick: bool) -> list[str]:
        options = self.quick if quick and self.quick is not None else self.full
        return [*shlex.split(self.command), *shlex.split(options), self.folder_option, str(folder)]


_MEMORY = "--directory /dev/shm"
CHAPTERS = (
    Chapter(
        "application",
        "A complete application",
        "A Gray-Scott simulation whose mesh follows the fronts writes through stock ADIOS2: how many boxes "
        "a rank has, and how large they are, changes with rank and step. How much of an output's time goes "
        "into metadata?",
        "bench application",
        f"--rounds 5 {_MEMORY}",
        f"--ranks 4 --size 64 --outputs 6 --gap 5 --rounds 2 --scale 64,1024 --scale-size 128 {_MEMORY}",
    ),
    Chapter(
        "layouts",
        "The design space, measured",
        "Ranks write a blob of metadata each in every step, and as many ranks read all of them: the "
        "experiment of the first reference, for each layout and for BP5, in interleaved rounds on one "
        "machine.",
        "bench layouts",
        f"--writers 16 --points layouts ReadAhead=0 --steps 200 {_MEMORY}",
        f"--writers 4 --points layouts --steps 40 --rounds 2 {_MEMORY}",
    ),
    Chapter(
        "simulated",
        "The references' figures, simulated",
        "The engine's own code runs on simulated ranks, with an object store and a network whose times come "
        "from a file of parameters. Each figure has the form that the reference gives it.",
        "simulate",
        "figures",
        "figures --only 8,10,12,13",
        folder_option="--directory",
    ),
    Chapter(
        "fields",
        "Weather fields",
        "Fields of a forecast go through FDB into a pool, and back: archive, retrieve and list.",
        "bench fields",
    ),
    Chapter(
        "advice",
        "Advice before a job",
        "What the advisor predicts, next to what was simulated and measured.",
        "advise",
    ),
)


class Run:
    """Runs what is missing, and keeps what could not be run."""

    def __init__(self, folder: Path, quick: bool, say: Callable[[str], None]):
        self._folder, self._quick, self._say = folder, quick, say
        self.left_out: dict[str, str] = {}  # chapter to reason

    def __call__(self, chapter: Chapter) -> None:
        if not chapter.full and chapter.quick is None:
            return
        folder = self._folder / chapter.key
        folder.mkdir(parents=True, exist_ok=True)
        words = chapter.words(folder, self._quick)
        self._say(f"stepstore {shlex.join(words)}")
        done = subprocess.run(
            [sys.executable, "-m", "stepstore", *words], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1].removeprefix("error: ")
            self.left_out[chapter.key] = reason
            self._say(f"left out: {reason}")
