"""The first reference's experiments on the simulated cluster: times of a rank and step, in seconds.

A time over 1,000 steps is a thousandth of the first step, in which all processes connect, and 999 thousandths
of a later one. Fewer steps are simulated: what comes after is the same again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from stepstore.lab.simulation.run import Simulator

E3SM, WARPX = 56_000, 5_000  # bytes of a rank and step
RANKS = (64, 128, 256, 512, 1024)
_STEPS = 9  # that are simulated; the first ones set up what later ones have
_SETTLED = 3  # steps of 1,024 ranks and 5 KB are read by threes


@dataclass(frozen=True)
class Engine:
    """A point of the design space, by the name that the reference gives it."""

    name: str
    writer: str
    reader: str = "ReadAhead=0"


POSIX = Engine("DAOS-POSIX", "Layout=posix")
KV = Engine("DAOS-KV", "Layout=kv")
DENSE = Engine("DAOS-Array", "Layout=array")
ALIGNED = Engine("DAOS-Array aligned", "Layout=array-aligned,ChunkSize=1M")
ADAPTIVE = Engine("ours, array-adaptive", "Layout=array-adaptive")
OURS = replace(ADAPTIVE, name="ours, array-adaptive, reading ahead", reader="ReadAhead=auto")
EVERYONE = replace(KV, name="every rank reads", reader="ReadAhead=0,Readers=everyone")
EXTENDING = replace(DENSE, name="array extended")
SNAPSHOTS = Engine("overwritten, a snapshot for each step", "Layout=array,Steps=snapshot")
NODES = Engine("array-aligned", "Layout=array-aligned")  # in files: one for each node
PUBLISHED = (POSIX, KV, DENSE, ALIGNED)


@dataclass(frozen=True)
class Times:
    stabilisation: float
    acquisition: float
    broadcast: float  # of the acquisition

    @property
    def end_to_end(self) -> float:
        return self.stabilisation + self.acquisition


def job(engine: Engine, ranks: int, size: int, readers: int | None = None) -> dict[str, Any]:
    # Where every rank reads, each is simulated: few steps have to do.
    steps = _SETTLED + 1 if "everyone" in engine.reader else _STEPS
    return {
        "writers": ranks,
        "readers": ranks if readers is None else readers,
        "steps": steps,
        "size": str(size),
        "set": engine.writer,
        "read": engine.reader,
    }


class Experiments:
    def __init__(self, simulator: Simulator):
        self._simulator = simulator

    def prepare(self, wanted: list[tuple[Engine, int, int]]) -> None:
        """Runs them side by side, for steady() and times() to find."""
        self._simulator.run_all([(job(*one), {}) for one in wanted])

    def steady(self, engine: Engine, ranks: int, size: int, readers: int | None = None) -> Times:
        """Of a step in which all processes are connected."""
        written, read = self._phases(engine, ranks, size, readers)
        return Times(
            _mean(written["by_step"][_SETTLED:]),
            _mean(read["by_step"][_SETTLED:]),
            read["parts"]["broadcast"],
        )

    def times(self, engine: Engine, ranks: int, size: int, steps: int = 1000) -> Times:
        """The mean over so many steps, as the reference reports it."""
        written, read = self._phases(engine, ranks, size)
        steady = self.steady(engine, ranks, size)
        return replace(
            steady,
            stabilisation=steady.stabilisation + (written["first"] - steady.stabilisation) / steps,
            acquisition=steady.acquisition + (read["first"] - steady.acquisition) / steps,
        )

    def course(self, engine: Engine, ranks: int, size: int, steps: int, windows: int) -> list[float]:
        """The mean stabilisation in each of so many equal windows of the steps."""
        description = job(engine, ranks, size, 0) | {"steps": steps + _SETTLED}
        series = self._simulator.run(description)["stabilisation"]["by_step"][_SETTLED:]
        long = steps // windows
        return [_mean(series[first : first + long]) for first in range(0, steps, long)]

    def extents(self, ranks: int, size: int, stride: int) -> float:
        """One daos_array_write of each rank and step at this stride, in chunks of 1 MiB."""
        description = {"writers": ranks, "readers": 0, "steps": _STEPS, "size": str(size), "stride": stride}
        return _mean(self._simulator.run(description)["stabilisation"]["by_step"][_SETTLED:])

    def _phases(
        self, engine: Engine, ranks: int, size: int, readers: int | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        done = self._simulator.run(job(engine, ranks, size, readers=readers))
        return done["stabilisation"], done["readings"][0]["acquisition"]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
