"""What a job with nothing but a parallel file system would take: a pool in files, next to one file that
rank 0 writes on the same file system, and next to DAOS. Estimated, so that it goes up to 16,384 ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepstore.lab.figures import ON_RANKS, TIME
from stepstore.lab.simulation.experiments import ADAPTIVE, DENSE, NODES, POSIX, Engine
from stepstore.lab.simulation.figures import Drawn, Panel
from stepstore.lab.simulation.run import Simulator

ESTIMATE = "stepstore-estimate"
SIZES = {"5 KB": 5_000, "56 KB": 56_000}
RANKS = (64, 256, 1024, 4096, 16384)
_STEPS = 100


@dataclass(frozen=True)
class Place:
    """A layout on the object store or on the file system."""

    name: str
    engine: Engine
    on: str


PLACES = (
    Place("rank 0 gathers, as BP5 (posix)", POSIX, "files"),
    Place(f"pool in files, {NODES.name}", NODES, "files"),
    Place("pool in files, array", DENSE, "files"),
    Place("DAOS, array-adaptive", ADAPTIVE, "objects"),
)


class FilesExperiments:
    def __init__(self, estimator: Simulator):
        self._estimator = estimator

    def prepare(self, wanted: list[tuple[Place, int, int]]) -> None:
        self._estimator.run_all([(_job(*one), {}) for one in wanted])

    def times(self, place: Place, ranks: int, size: int) -> dict[str, float]:
        """Seconds of a rank and step."""
        found = self._estimator.run(_job(place, ranks, size))
        return {
            "stabilisation": found["stabilisation"]["mean"],
            "acquisition": found["readings"][0]["acquisition"]["mean"],
        }


def _job(place: Place, ranks: int, size: int) -> dict[str, Any]:
    counts = {"writers": ranks, "readers": ranks, "steps": _STEPS, "size": str(size)}
    return {**counts, "set": place.engine.writer, "read": "", "on": place.on}


def _panels(lab: FilesExperiments, text: str) -> list[Panel]:
    return [
        Panel(
            f"{part}, {text}",
            ON_RANKS,
            TIME,
            RANKS,
            {one.name: [1e3 * lab.times(one, ranks, SIZES[text])[part] for ranks in RANKS] for one in PLACES},
            bars=False,
        )
        for part in ("stabilisation", "acquisition")
    ]


def _drawn(number: int, text: str) -> Drawn:
    return Drawn(
        f"files-{number}",
        f"files-{number}: pools in files, metadata of {text}, estimated",
        lambda lab: _panels(lab, text),
        tuple((place, ranks, SIZES[text]) for place in PLACES for ranks in RANKS),
    )


FILES_FIGURES = tuple(_drawn(number, text) for number, text in enumerate(SIZES, 1))
