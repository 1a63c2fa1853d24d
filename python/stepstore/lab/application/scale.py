"""The application at numbers of ranks that this machine does not have: what each rank would store goes into
the simulated cluster (`stepstore simulate`)."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stepstore.console import CommandError
from stepstore.lab.application.runs import Application, Measured, features
from stepstore.lab.simulation.experiments import ALIGNED, DENSE, KV, OURS, POSIX
from stepstore.lab.simulation.run import Simulator

ENGINES = (POSIX, KV, DENSE, ALIGNED, OURS)
PUBLISHED_SHARE = 21.0  # percent, of POSIX at 1,024 ranks
OVER = 1000  # outputs over which the first one's cost is spread, as in the reference's averages
_SETTLED = 3  # outputs until all processes are connected
_LEAST = 16


class MetadataModel:
    """Bytes of metadata by the boxes of a rank, as the measured runs stored them."""

    def __init__(self, runs: list[Measured]):
        rows = np.array([row for run in runs for row in run.metadata])
        if len(rows) < 8:
            raise CommandError(
                "too few outputs to learn the sizes of metadata from: give at least 4 --outputs"
            )
        known = np.c_[np.ones(len(rows)), rows[:, 1:]]
        self.weights = np.linalg.lstsq(known, rows[:, 0], rcond=None)[0]
        left = rows[:, 0] - known @ self.weights
        spread = rows[:, 0] - rows[:, 0].mean()
        self.explained = 1 - float(left @ left) / max(float(spread @ spread), 1e-9)

    def __call__(self, boxes: float, changed: float, changed_before: float) -> int:
        return max(_LEAST, round(float(self.weights @ [1, boxes, changed, changed_before])))


@dataclass
class AtScale:
    """What the application stores on so many ranks, and its milliseconds of a rank and output."""

    ranks: int
    data_bytes: float  # of all ranks, in an output
    metadata: list[int]  # of each rank, output after output
    stabilisation: dict[str, float]
    once: dict[str, float]  # of it, what the first output costs more, spread over the run

    def share(self, engine: str, bandwidth: float) -> float:
        """Percent of the output's time, where the data are written with so many bytes a second."""
        metadata = self.stabilisation[engine]
        return 100 * metadata / (metadata + 1e3 * self.data_bytes / bandwidth)

    def bandwidth_of(self, engine: str, percent: float) -> float:
        """The bandwidth with which the engine has this share."""
        return 1e3 * self.data_bytes / (self.stabilisation[engine] * (100 / percent - 1))


def simulated(
    application: Application, model: MetadataModel, simulator: Simulator, ranks: list[int], problem: list[str]
) -> list[AtScale]:
    run = application.decomposed(problem, ranks)
    return [_at_scale(run, count, model, simulator) for count in ranks]


def _at_scale(run: dict[str, Any], ranks: int, model: MetadataModel, simulator: Simulator) -> AtScale:
    parts = [one["parts"][str(ranks)] for one in run["outputs"]]
    metadata = [model(*features(parts, step, rank)) for step in range(1, len(parts)) for rank in range(ranks)]
    cells = statistics.mean(sum(part["cells"]) for part in parts)
    with tempfile.TemporaryDirectory(prefix="stepstore-") as folder:
        sizes = Path(folder) / "sizes"
        sizes.write_text("\n".join(map(str, metadata)))
        common = {"writers": ranks, "readers": 0, "steps": len(parts) - 1, "size": f"@{sizes}", "read": ""}
        jobs: list[tuple[dict[str, Any], dict[str, float]]] = [
            ({**common, "set": engine.writer}, {}) for engine in ENGINES
        ]
        found = simulator.run_all(jobs)
    steady, once = {}, {}
    for engine, one in zip(ENGINES, found, strict=True):
        written = one["stabilisation"]
        mean = statistics.mean(written["by_step"][_SETTLED:])
        steady[engine.name] = 1e3 * mean
        once[engine.name] = 1e3 * (written["first"] - mean) / OVER
    times = {name: steady[name] + once[name] for name in steady}
    return AtScale(ranks, cells * run["cell_bytes"], metadata, times, once)
