"""The second reference's experiments on its simulated cluster: bandwidths of weather fields, in bytes per
second from the first beginning to the last end.

Objects, and a pool in files: a step is as the one before, so few are simulated, and the others taken to be
the same again. FDB's files: all steps are simulated, since the table of contents grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepstore.lab.simulation.run import Simulator

SERVERS = (1, 2, 4, 8, 12, 16)
FIELD = 1 << 20  # bytes
_NODES = 2  # client nodes for a server
_PROCESSES = 32  # of a client node
_STEPS_OF_OBJECTS = 4  # that are simulated
OBJECTS, FILES, SHARED = "objects", "files", "shared"
SEPARATE, TOGETHER = "separate", "together"


@dataclass(frozen=True)
class Length:
    """What each process writes, or reads."""

    steps: int
    parameters: int
    levels: int


SHORT, LONG = Length(10, 10, 20), Length(100, 10, 10)


@dataclass(frozen=True)
class Run:
    store: str
    pattern: str
    length: Length
    servers: int
    nodes: int = 0  # client nodes; 0: two for each server

    @property
    def steps(self) -> int:
        return self.length.steps if self.store == FILES else min(self.length.steps, _STEPS_OF_OBJECTS)

    def job(self) -> dict[str, Any]:
        processes = (self.nodes or _NODES * self.servers) * _PROCESSES
        # Together: half of the client nodes write, half read.
        of_a_side = processes if self.pattern == SEPARATE else processes // 2
        return {
            "fields": self.store,
            "pattern": self.pattern,
            "writers": of_a_side,
            "readers": of_a_side,
            "steps": self.steps,
            "parameters": self.length.parameters,
            "levels": self.length.levels,
            "size": FIELD,
        }


@dataclass(frozen=True)
class Side:
    """The writers, or the readers, of a run."""

    bandwidth: float
    process: float  # seconds of the mean process


class FieldExperiments:
    def __init__(self, simulator: Simulator):
        self._simulator = simulator

    def prepare(self, runs: list[Run]) -> None:
        """Runs them side by side, for side() to find."""
        self._simulator.run_all([(one.job(), {"servers": one.servers}) for one in runs])

    def side(self, run: Run, name: str) -> Side:
        """name: written or read."""
        found = self._simulator.run(run.job(), servers=run.servers)[name]
        ends = found["ends"]
        of_a_step = (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else ends[-1]
        more = (run.length.steps - run.steps) * of_a_step
        whole = found["bytes"] * run.length.steps / run.steps
        return Side(whole / (found["seconds"] + more), found["process"] + more)

    def bandwidth(self, name: str, store: str, pattern: str, servers: int, length: Length = LONG) -> float:
        return self.side(Run(store, pattern, length, servers), name).bandwidth
