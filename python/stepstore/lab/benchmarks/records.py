"""What lies beside a figure, for `stepstore report` and for people: how it was made, and which statements
were compared.

A command that draws NAME.svg also writes NAME.json (`stepstore.lab.figures.save` does so),
and what it has compared into NAME.statements.json. The report takes every figure and statement that it finds.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import statistics
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stepstore.lab.benchmarks import machine

VERDICTS = ("reproduced", "beaten", "missed")
FIRST_REFERENCE, SECOND_REFERENCE = "ADIOS2 metadata on DAOS", "FDB on DAOS"
GOALS = "Goals of Stepstore"  # in the place of a reference


def write_whole(file: Path, write: Callable[[Path], object]) -> Path:
    """The file has its name only when it is whole."""
    begun = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        write(begun)
        os.replace(begun, file)
    finally:
        begun.unlink(missing_ok=True)
    return file


def provenance() -> dict[str, Any]:
    """Of what this command makes: how, where, when, and what else the machine did meanwhile."""
    looks = machine.looks
    return {
        "command": shlex.join(["stepstore", *sys.argv[1:]]),
        "machine": machine_class(),
        "date": datetime.now(UTC).date().isoformat(),
        "others_share": statistics.mean(looks) if looks else None,
    }


def machine_class() -> str:
    """Such as '2 cores, Debian 12, virtual machine': enough to judge a number, and no name of a host."""
    cores = os.cpu_count() or 1
    parts = [f"{cores} core{'' if cores == 1 else 's'}", _system()]
    if " hypervisor" in _read("/proc/cpuinfo"):
        parts.append("virtual machine")
    return ", ".join(parts)


def _system() -> str:
    try:
        known = platform.freedesktop_os_release()
    except OSError:
        return platform.system()
    name = known.get("NAME", platform.system()).removesuffix(" GNU/Linux")
    return f"{name} {known.get('VERSION_ID', '')}".strip()


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def describe(figure: Any, simulated: bool) -> dict[str, Any]:
    """A matplotlib figure in words: its title, and what a person hears who cannot see it."""
    title = " ".join(figure.get_suptitle().split())
    panels = []
    for axis in figure.axes:
        names = [name for name in axis.get_legend_handles_labels()[1] if not name.startswith("_")]
        part = " ".join(axis.get_title(loc="left").split())
        panel = f"{part}: " if part else ""
        labels = [label.replace("\n", ", ") for label in (axis.get_ylabel(), axis.get_xlabel())]
        panel += " over ".join(filter(None, labels))
        panels.append(panel + (f"; {', '.join(names)}" if names else ""))
    return {
        "title": title,
        "alt": ". ".join(filter(None, (title, *panels))),
        "source": "simulated" if simulated else "measured",
        **provenance(),
    }


def write_statements(directory: Path, name: str, statements: list[dict[str, Any]]) -> Path:
    """Each statement: figure, statement, published, found (or simulated), how, verdict (of VERDICTS; else
    holds tells it), and where known reference, unit, kind and why."""
    whole = {**provenance(), "statements": statements}
    text = json.dumps(whole, indent=1) + "\n"
    return write_whole(directory / f"{name}.statements.json", lambda file: file.write_text(text))
