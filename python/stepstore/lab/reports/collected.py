"""What commands have left in folders: figures (NAME.svg, NAME.narrow.svg, NAME.csv and NAME.json) and
statements (NAME.statements.json), as stepstore.lab.benchmarks.records describes them."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stepstore.console import CommandError
from stepstore.lab.benchmarks.machine import BUSY
from stepstore.lab.benchmarks.records import FIRST_REFERENCE, SECOND_REFERENCE, VERDICTS
from stepstore.lab.figures import heading

_STATEMENTS = ".statements.json"


@dataclass(frozen=True)
class Provenance:
    command: str
    machine: str
    date: str
    others_share: float | None  # of the processors' time, that other work used

    @property
    def busy(self) -> bool:
        return self.others_share is not None and self.others_share >= BUSY


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    alt: str
    simulated: bool
    made: Provenance
    picture: Path  # SVG, or PNG where the SVG is very large
    narrow: Path | None  # its panels below each other, for a phone
    numbers: Path | None
    note: str = ""

    def rows(self) -> list[list[str]]:
        """The first is the header, with units."""
        if self.numbers is None:
            return []
        with self.numbers.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
        return [[heading(one, rows[0]) for one in rows[0]], *rows[1:]] if rows else []


@dataclass(frozen=True)
class Statement:
    reference: str
    figure: str
    text: str
    unit: str  # of what is published and found; empty for a ratio
    published: float | None
    kind: str  # about, at most, above
    found: float | None
    ratio: float | None
    how: str  # measured, fitted, predicted
    verdict: str
    why: str
    made: Provenance


@dataclass
class Collected:
    figures: list[Figure]
    statements: list[Statement]

    def has(self, statement: Statement) -> bool:
        """Whether it is there already, from another run that gave the same."""
        return any(replace(one, made=statement.made) == statement for one in self.statements)

    def commands(self) -> set[str]:
        made = [*(one.made for one in self.figures), *(one.made for one in self.statements)]
        return {one.command for one in made}


_MOST_SVG = 1 << 20


def collect(folders: list[Path]) -> Collected:
    """Everything below the folders, each file once. Raises CommandError, which names the file."""
    found = Collected([], [])
    files = dict.fromkeys(file.resolve() for folder in folders for file in folder.rglob("*.json"))
    for file in sorted(files, key=_natural):
        if file.name.endswith(_STATEMENTS):
            found.statements += [one for one in _statements(file) if not found.has(one)]
        elif _picture(file) is not None:
            found.figures.append(_figure(file))
    return found


def _natural(file: Path) -> list[Any]:
    """So that figure 9 comes before figure 10."""
    return [
        (int(part), "") if part.isdigit() else (0, part)
        for part in re.split(r"(\d+)", str(file.with_suffix("")))
    ]


def _picture(file: Path) -> Path | None:
    svg, png = file.with_suffix(".svg"), file.with_suffix(".png")
    if svg.is_file() and (svg.stat().st_size <= _MOST_SVG or not png.is_file()):
        return svg
    return png if png.is_file() else None


def _figure(file: Path) -> Figure:
    about = _parsed(file)
    picture, numbers = _picture(file), file.with_suffix(".csv")
    narrow = file.with_suffix(".narrow.svg")
    assert picture is not None
    title = about.get("title") or file.stem
    return Figure(
        name=file.stem,
        title=title,
        alt=about.get("alt") or title,
        simulated=about.get("source") == "simulated",
        made=_provenance(about),
        picture=picture,
        narrow=narrow if narrow.is_file() and narrow.stat().st_size <= _MOST_SVG else None,
        numbers=numbers if numbers.is_file() else None,
        note=about.get("note", ""),
    )


def _statements(file: Path) -> list[Statement]:
    about = _parsed(file)
    made = _provenance(about)
    return [_statement(file, one, made) for one in about.get("statements", [])]


def _statement(file: Path, one: dict[str, Any], made: Provenance) -> Statement:
    verdict = one.get("verdict") or ("reproduced" if one.get("holds") else "missed")
    if verdict not in VERDICTS:
        raise CommandError(f"{file}: the verdict {verdict!r} is not one of {', '.join(VERDICTS)}")
    how = one.get("how", "measured")
    if "statement" not in one:
        raise CommandError(f"{file}: a statement has no field 'statement'")
    figure = str(one.get("figure", ""))
    return Statement(
        reference=one.get("reference", SECOND_REFERENCE if figure.startswith("fdb") else FIRST_REFERENCE),
        figure=figure.removeprefix("fdb-"),
        text=one["statement"],
        unit=one.get("unit", ""),
        published=one.get("published"),
        kind=one.get("kind", "about"),
        found=one.get("found", one.get("simulated")),
        ratio=one.get("ratio"),
        how=how,
        verdict=verdict,
        why=one.get("why") or _REASONS.get((how, verdict), ""),
        made=made,
    )


_REASONS = {
    ("fitted", "reproduced"): "a parameter of the simulated cluster was chosen so that it holds",
    ("predicted", "reproduced"): "follows from the parameters; none was chosen for it",
    ("fitted", "missed"): "no value of the parameters gives this and the other statements",
    ("predicted", "missed"): "the parameters that give the other statements do not give this one",
}


def _provenance(about: dict[str, Any]) -> Provenance:
    return Provenance(
        command=about.get("command", ""),
        machine=about.get("machine", ""),
        date=about.get("date", ""),
        others_share=about.get("others_share"),
    )


def _parsed(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(found, dict):
        raise CommandError(f"{file}: a figure is described by an object, not a {type(found).__name__}")
    return found
