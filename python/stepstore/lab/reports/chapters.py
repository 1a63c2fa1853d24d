"""The chapters of the report: what each is about, and the commands that make its figures."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stepstore.lab.reports.advised import draw_advice


@dataclass(frozen=True)
class Work:
    """A command that leaves figures and statements in a folder."""

    command: str
    full: str  # options
    quick: str | None = None  # options of a run of at most a minute; None: not run then
    folder_option: str = "--figures"  # empty: it prints JSON, from which `draw` makes a figure
    draw: Callable[..., Any] | None = None  # of the JSON, the folder and the whole command

    def words(self, quick: bool) -> list[str]:
        options = self.quick if quick and self.quick is not None else self.full
        return [*shlex.split(self.command), *shlex.split(options)]

    def made(self, command: str) -> bool:
        """Whether the command that a figure names is this one, whatever its other options are."""
        words = shlex.split(command)[1:]
        wanted = shlex.split(self.command)
        presets = [others[others.index("--preset") + 1] for others in (words, wanted) if "--preset" in others]
        same_preset = not presets or (len(presets) == 2 and presets[0] == presets[1])
        beginning = wanted[: wanted.index("--preset")] if "--preset" in wanted else wanted
        return words[: len(beginning)] == beginning and same_preset


@dataclass(frozen=True)
class Chapter:
    key: str
    title: str
    introduction: str
    about: str  # its figures are those of commands that begin so
    works: tuple[Work, ...] = ()

    def has(self, command: str) -> bool:
        wanted = shlex.split(self.about)
        return shlex.split(command)[1 : 1 + len(wanted)] == wanted


def _advice(ranks: int, metadata: str, servers: int, on: str = "") -> Work:
    job = f"--ranks {ranks} --metadata {metadata} --servers {servers}{on and f' --on {on}'}"
    return Work(f"advise {job}", "", "", folder_option="", draw=draw_advice)


_MEMORY = "--directory /dev/shm"
CHAPTERS = (
    Chapter(
        "application",
        "A complete application",
        "A Gray-Scott simulation whose mesh follows the fronts writes through stock ADIOS2: how many boxes "
        "a rank has, and how large they are, changes with rank and step. How much of an output's time goes "
        "into metadata?",
        "bench application",
        (
            Work(
                "bench application",
                f"--rounds 3 --outputs 12 {_MEMORY}",
                "--ranks 4 --size 64 --outputs 6 --gap 5 --rounds 2 --scale 64,1024 --scale-size 128 "
                f"{_MEMORY}",
            ),
        ),
    ),
    Chapter(
        "layouts",
        "The design space, measured",
        "Ranks write metadata in every step, and as many ranks read all of it: the "
        "experiment of the first reference, for each layout and for BP5, in interleaved rounds on one "
        "machine. Then its figures 14 and 15, and its check of space.",
        "bench layouts",
        (
            Work(
                "bench layouts",
                f"--writers 16 --points layouts ReadAhead=0 --steps 100 {_MEMORY}",
                f"--writers 4 --points layouts --steps 40 --rounds 2 {_MEMORY}",
            ),
            Work(
                "bench layouts --preset figure-14",
                f"--writers 4 {_MEMORY}",
                f"--writers 2 --steps 200 {_MEMORY}",
            ),
            Work("bench layouts --preset figure-15", _MEMORY, f"--writers 2 --steps 1000 {_MEMORY}"),
            Work("bench layouts --preset storage", _MEMORY, f"--writers 2 --steps 100 {_MEMORY}"),
        ),
    ),
    Chapter(
        "simulated",
        "The references' figures, simulated",
        "The engine's own code runs on simulated ranks, with an object store and a network whose times come "
        "from a file of parameters. Each figure has the form that the reference gives it.",
        "simulate",
        (Work("simulate figures", "", "--only 8,10,12,13,files-1,files-2", folder_option="--directory"),),
    ),
    Chapter(
        "fields",
        "Weather fields",
        "Fields of a forecast go through FDB into a pool, and back: archive, retrieve and list, next to "
        "FDB's own files.",
        "bench fields",
        (
            Work(
                "bench fields",
                f"--sizes 1.5k,64k,1M --processes 1,4 --space 2048 {_MEMORY}",
                f"--sizes 1.5k,64k --processes 2 --steps 4 --params 5 --levels 5 --rounds 1 {_MEMORY}",
            ),
        ),
    ),
    Chapter(
        "advice",
        "Advice before a job",
        "Which layout the advisor takes for a job, and the times that it predicts for each: up to more ranks "
        "than anybody has published.",
        "advise",
        (
            _advice(64, "5k", 10),
            _advice(1024, "5k", 10),
            _advice(1024, "56k", 10),
            _advice(100_000, "5k", 1000),
            _advice(16_384, "56k", 10, "files"),
        ),
    ),
)
