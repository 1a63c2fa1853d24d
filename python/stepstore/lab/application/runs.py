"""Runs the application of `stepstore bench application`: gray-scott-amr through an engine of ADIOS2, and the
analysis that reads what it wrote."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import xml.etree.ElementTree as ET
from argparse import Namespace
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, ExitCode
from stepstore.errors import Error
from stepstore.lab.benchmarks.mpi import ADIOS2_WITH_MPI, engine, run, run_line
from stepstore.paths import program

BP5 = "bp5"
_NAME = "gray-scott-amr"
_FILE = "gray-scott-amr.bp"
_COLUMNS = ("step", "steps", "metadata_bytes")
_ANALYSIS = Path(__file__).with_name("amr_analysis.py")
_TIMEOUT = 3600.0  # seconds for one run
# The parts of BP5's EndStep that are metadata's: to make it, and to gather and write it.
_BP5_METADATA = ("ES_CloseTS_mus", "ES_MDAgg_mus")


@dataclass
class Measured:
    """One run. Milliseconds of a rank and output, means over both."""

    engine: str
    output: float
    stabilisation: float
    metadata: list[tuple[float, ...]] = field(default_factory=list)
    """Bytes of metadata that a rank stored in an output, its boxes, those that were new, and those that were
    new in the output before."""

    @property
    def share(self) -> float:
        """Percent of the output's time."""
        return 100 * self.stabilisation / self.output


class Application:
    def __init__(self, options: Namespace, folder: Path):
        self._options, self._folder = options, folder
        try:
            self._program = str(program(_NAME))
        except Error as error:
            raise CommandError(f"{error}. {ADIOS2_WITH_MPI}", ExitCode.NOT_FOUND) from error
        self.reference: list[dict[str, Any]] | None = None  # what BP5 gave, or the first engine
        self.plane: dict[str, Any] | None = None

    def measure(self, name: str) -> Measured:
        """Writes through the engine, reads it back, and compares what was read with the others."""
        place = self._folder / "run"
        place.mkdir()
        try:
            self._configure(name, place)
            timings = self._run(self._options.ranks, place, self._settings())
            self._compare(name, place)
            return _measured(name, timings, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def decomposed(self, problem: list[str], parts: list[int]) -> dict[str, Any]:
        """The boxes and cells of each rank of so many, for another problem; nothing is written."""
        place = self._folder / "decomposed"
        place.mkdir(exist_ok=True)
        settings = [*problem, "output=", f"parts={','.join(map(str, parts))}"]
        return self._run(min(2, self._options.ranks), place, settings)

    def _settings(self) -> list[str]:
        options = self._options
        return [
            f"L={options.size}",
            f"seeds={options.seeds}",
            f"steps={options.gap * options.outputs}",
            f"plotgap={options.gap}",
            "adios_config=adios2.xml",
        ]

    def _run(self, ranks: int, place: Path, settings: list[str]) -> dict[str, Any]:
        words = [self._program, f"levels={self._options.levels}", "timings=timings.json", *settings]
        run(self._options.mpirun, ranks, words, place, _TIMEOUT)
        return dict(json.loads((place / "timings.json").read_text()))

    def _configure(self, name: str, place: Path) -> None:
        if name == BP5:
            kind, text = "BP5", ""
        else:
            more = f"Layout={name}," + self._options.parameters
            kind, text = engine(self._options.engine, place / "pool", more)
        root = ET.Element("adios-config")
        chosen = ET.SubElement(ET.SubElement(root, "io", name="SimulationOutput"), "engine", type=kind)
        for pair in filter(None, text.split(",")):
            key, _, value = pair.partition("=")
            ET.SubElement(chosen, "parameter", key=key, value=value)
        ET.ElementTree(root).write(place / "adios2.xml")

    def _compare(self, name: str, place: Path) -> None:
        read = self._analysed(place)
        if self.reference is None:
            self.reference = read
        if len(read) != self._options.outputs or read != self.reference:
            wrong = [
                str(other["step"]) for one, other in zip(read, self.reference, strict=False) if one != other
            ]
            raise CommandError(
                f"{name}: what was read is not what the first engine gave: {len(read)} of "
                f"{self._options.outputs} steps, and steps {', '.join(wrong) or 'none'} differ",
                ExitCode.DAMAGE,
            )

    def _analysed(self, place: Path) -> list[dict[str, Any]]:
        plane = [] if self.plane else ["--plane", "plane.npz"]
        words = [sys.executable, str(_ANALYSIS), "--json", "read.json", *plane]
        run_line(words, "analysis", place, _TIMEOUT)
        if plane:
            import numpy as np

            with np.load(place / "plane.npz") as kept:
                self.plane = {key: kept[key] for key in kept.files}
        return list(json.loads((place / "read.json").read_text()))


def _measured(name: str, timings: dict[str, Any], place: Path) -> Measured:
    outputs = timings["outputs"]
    output = 1e3 * statistics.mean(seconds for one in outputs for seconds in one["seconds"])
    count = len(outputs) * timings["ranks"]
    if name == BP5:
        ranks = _parsed(place / _FILE / "profiling.json")
        microseconds = sum(rank[part] for rank in ranks if "rank" in rank for part in _BP5_METADATA)
        return Measured(name, output, 1e-3 * microseconds / count)
    ranks = _parsed(place / "pool" / "files" / "profiling.json")["ranks"]
    seconds = sum(rank["stabilisation_seconds"] for rank in ranks)
    return Measured(name, output, 1e3 * seconds / count, _metadata(ranks, outputs))


def _metadata(ranks: list[dict[str, Any]], outputs: list[dict[str, Any]]) -> list[tuple[float, ...]]:
    """Only where the profile has a row for each step: it has at most 32. Without the first step, which has
    the definitions."""
    return [
        (size, *features(outputs, step, rank))
        for rank, record in enumerate(ranks)
        for step, steps, size in zip(*(record["rows"][name] for name in _COLUMNS), strict=True)
        if steps == 1 and step > 0
    ]


def features(outputs: list[dict[str, Any]], step: int, rank: int) -> tuple[float, float, float]:
    """What the bytes of metadata depend on: boxes, new ones, and new ones in the output before."""
    this, before = outputs[step], outputs[step - 1]
    return this["boxes"][rank], this["changed"][rank], before["changed"][rank]


def _parsed(file: Path) -> Any:
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise CommandError(f"{file.name} of the run cannot be read: {error}") from error
