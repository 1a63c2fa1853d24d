"""The page itself: one file, which asks no host for anything."""

from __future__ import annotations

import base64
import re
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stepstore.lab.benchmarks.records import VERDICTS, machine_class
from stepstore.lab.reports.chapters import CHAPTERS, Chapter
from stepstore.lab.reports.collected import Collected, Figure, Provenance

_MOST_ROWS = 400  # of a table in the page; the file that it offers has all
_FORMS = {"low": 0.56, "middle": 0.85, "high": 1.5}  # at most so much height for a width; else "page"
_KINDS = {".svg": "image/svg+xml", ".png": "image/png"}


@dataclass
class Section:
    chapter: Chapter
    figures: list[Figure]
    left_out: list[str]


def render(found: Collected, left_out: dict[str, list[str]], quick: bool, version: str) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("stepstore.lab.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"data_uri": _data_uri, "form": form, "number": number, "load": load_of}
    counts = {verdict: sum(one.verdict == verdict for one in found.statements) for verdict in VERDICTS}
    statements = sorted(found.statements, key=lambda one: (one.reference, _order(one.figure)))
    return environment.get_template("report.html").render(
        sections=_sections(found, left_out),
        statements=statements,
        counts=counts,
        figures=len(found.figures),
        tables=any(one.numbers for one in found.figures),
        most_rows=_MOST_ROWS,
        busy=any(one.made.busy for one in found.figures),
        quick=quick,
        machine=machine_class(),
        date=datetime.now(UTC).date().isoformat(),
        version=version,
    )


def _sections(found: Collected, left_out: dict[str, list[str]]) -> list[Section]:
    """The chapters that have something to show. A figure that no chapter knows has one of its command."""
    sections = []
    rest = list(found.figures)
    for chapter in CHAPTERS:
        figures = [one for one in rest if chapter.has(one.made.command)]
        rest = [one for one in rest if one not in figures]
        if figures or chapter.key in left_out:
            sections.append(Section(chapter, figures, left_out.get(chapter.key, [])))
    for command in dict.fromkeys(" ".join(one.made.command.split()[1:3]) for one in rest):
        figures = [one for one in rest if " ".join(one.made.command.split()[1:3]) == command]
        key = "".join(sign if sign.isalnum() else "-" for sign in command) or "others"
        chapter = Chapter(key, command.capitalize() or "Other figures", "", command)
        sections.append(Section(chapter, figures, []))
    return sections


def _order(figure: str) -> tuple[int, str]:
    return (int(figure), "") if figure.isdigit() else (1 << 20, figure)


def form(picture: Path) -> str:
    """Which height it gets in print: those of report.css fill a page together."""
    content = picture.read_bytes()
    if picture.suffix == ".png":
        width, height = struct.unpack(">II", content[16:24])
    else:
        box = re.search(rb'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', content)
        width, height = map(float, box.groups()) if box else (1, 1)
    return next((name for name, most in _FORMS.items() if height <= most * width), "page")


def _data_uri(file: Path, kind: str = "") -> str:
    content = base64.b64encode(file.read_bytes()).decode("ascii")
    return f"data:{kind or _KINDS[file.suffix]};base64,{content}"


def number(value: Any) -> str:
    """As many digits as people read."""
    try:
        real = float(value)
    except (TypeError, ValueError):
        return "" if value is None else str(value)
    if isinstance(value, str) and value.strip().isdigit() and len(value) < 7:
        return value
    return f"{real:,.0f}" if abs(real) >= 1000 else f"{real:.3g}"


def load_of(made: Provenance, simulated: bool = False) -> str:
    if simulated:
        return "simulated: virtual time, without noise"
    if made.others_share is None:
        return "whether the machine was quiet is not known"
    used = f"other work used {made.others_share:.0%} of the processors"
    return f"busy machine: {used}" if made.busy else f"quiet machine: {used}"
