"""The options that the benchmarks share, each described once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from stepstore.help import Parser as HelpParser


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def words(text: str) -> list[str]:
    """What is between commas; empty parts are dropped."""
    return [part for part in text.split(",") if part]


def location(options: argparse.Namespace, path: Path) -> str:
    """Where Stepstore's pool is that lies at this path."""
    return f"shared:{path}" if options.on == "files" else str(path)


class Parser(HelpParser):
    """The command line of `stepstore bench NAME`, with the options that all benchmarks have."""

    def __init__(self, name: str, description: str, **more: Any):
        super().__init__(f"bench {name}", description, **more)
        self.number("rounds", 3, "runs of each; the median counts")
        self.add_argument(
            "--directory",
            metavar="DIR",
            help="where to write, such as /dev/shm (default: the directory for temporary files)",
        )
        self.add_argument("--json", action="store_true", help="print a list of objects instead of a table")

    def add_on(self) -> None:
        self.add_argument(
            "--on",
            choices=("machine", "files"),
            default="machine",
            help="Stepstore's pools: those of one machine (default), or pools in files (shared:), which "
            "several machines can use",
        )

    def number(self, name: str, default: int, what: str, unit: str = "N") -> None:
        text = f"{what} (default: {default})"
        self.add_argument(f"--{name}", type=int, default=default, metavar=unit, help=text)

    def list(self, name: str, default: Any, what: str, unit: str = "N,...", kind: Any = numbers) -> None:
        text = f"{what} (default: {','.join(map(str, default))})"
        self.add_argument(f"--{name}", type=kind, default=default, metavar=unit, help=text)

    def note(self, message: str) -> None:
        print(f"{self.prog}: {message}", file=sys.stderr)

    def add_adios2(self) -> None:
        """The options of the benchmarks that run a program of ADIOS2 with the plugin."""
        self.add_argument(
            "--parameters",
            default="",
            metavar="NAME=VALUE,...",
            help="more parameters of the plugin, such as Layout=kv",
        )
        self.add_argument(
            "--engine",
            choices=("plugin", "native"),
            default="plugin",
            help="how ADIOS2 has Stepstore: as an engine plugin (default), or as the engine type Stepstore",
        )
        self.add_argument(
            "--mpirun",
            metavar="COMMAND",
            default="",
            help="the command that starts MPI programs (default: mpirun)",
        )
