"""The files that describe a cluster: TOML, with a value, a unit and a source for each parameter."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepstore.console import CommandError

FOLDER = Path(__file__).parent / "clusters"
REFERENCE = FOLDER / "reference.toml"
LUSTRE = "lustre"  # by its name: the usual one of pools in files


@dataclass(frozen=True)
class Parameter:
    section: str
    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True)
class Cluster:
    name: str
    parameters: tuple[Parameter, ...]

    def values(self, **others: float) -> dict[str, float]:
        """What the program takes, with other values where some are given."""
        values = {one.name: one.value for one in self.parameters}
        for name in others:
            if name not in values:
                raise CommandError(f"{self.name} has no parameter {name!r}; it has {', '.join(values)}")
        return values | others


def load(path: Path = REFERENCE) -> Cluster:
    """Raises CommandError, which names the file and the parameter. Ranges are checked by the program."""
    try:
        sections = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}: give a file as {REFERENCE.name}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} is no TOML: {error}") from error
    parameters = [_parameter(path, section, name, entry) for section, name, entry in _entries(path, sections)]
    twice = {one.name for one in parameters if [other.name for other in parameters].count(one.name) > 1}
    if twice:
        raise CommandError(f"{path}: {', '.join(sorted(twice))} is there twice")
    return Cluster(path.stem, tuple(parameters))


def named(text: str) -> Path:
    """A cluster by the name of one that comes with Stepstore, or by its file."""
    known = FOLDER / f"{text}.toml"
    if known.is_file():
        return known
    if "/" in text or text.endswith(".toml"):
        return Path(text)
    there = ", ".join(sorted(one.stem for one in FOLDER.glob("*.toml")))
    raise CommandError(f"no cluster {text!r}: give one of {there}, or a file that ends in .toml")


def _entries(path: Path, sections: dict[str, Any]) -> list[tuple[str, str, Any]]:
    for section, entries in sections.items():
        if not isinstance(entries, dict):
            raise CommandError(f"{path}: {section} stands in no section")
    return [
        (section, name, entry) for section, entries in sections.items() for name, entry in entries.items()
    ]


def _parameter(path: Path, section: str, name: str, entry: Any) -> Parameter:
    wanted = {"value", "unit", "source"}
    if not isinstance(entry, dict) or set(entry) != wanted:
        raise CommandError(
            f"{path}: {section}.{name} must have {', '.join(sorted(wanted))}, and nothing else"
        )
    if isinstance(entry["value"], bool) or not isinstance(entry["value"], int | float):
        raise CommandError(f"{path}: the value of {section}.{name} is no number")
    if not all(isinstance(entry[one], str) and entry[one] for one in ("unit", "source")):
        raise CommandError(f"{path}: {section}.{name} needs a unit and a source, as text")
    return Parameter(section, name, entry["value"], entry["unit"], entry["source"])
