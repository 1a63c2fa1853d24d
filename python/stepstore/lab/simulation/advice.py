"""Which layout and parameters suit a job on a cluster: estimates of each, the best of them, and why."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from stepstore.console import human_bytes, human_time
from stepstore.lab.benchmarks.layout_points import Layout, Point, Space, all_layouts
from stepstore.lab.simulation.run import Simulator

_WORTH = 0.02  # a variant of the best layout that gains less is not worth a parameter
_MUCH = 4 << 30  # bytes of metadata in the memory of a node
_OF_FILES = ("files", "ranks_per_aggregator", "aggregated")  # what is said of pools in files alone
_BESIDE_TEXT = 130  # bytes of metadata that the engine adds
_SIMULATED_STEPS = 32


@dataclass(frozen=True)
class Job:
    ranks: int
    reader_ranks: int
    steps: int
    size: str  # of a rank's metadata, as `stepstore bench layouts` takes it
    mean: float  # bytes of a rank's metadata
    largest: int
    memory: int | None = None  # bytes that a reader rank may hold
    on: str = "objects"  # or "files": the pool is in files

    @property
    def in_files(self) -> bool:
        return self.on == "files"

    def description(self, point: Point) -> dict[str, Any]:
        return {
            "writers": self.ranks,
            "readers": self.reader_ranks,
            "steps": self.steps,
            "size": self.size,
            "set": point.written,
            "read": point.read,
            "on": self.on,
        }


@dataclass
class Prediction:
    point: Point
    found: dict[str, Any]  # what stepstore-estimate says
    simulated: dict[str, Any] | None = None

    @property
    def stabilisation(self) -> float:
        return float((self.simulated or self.found)["stabilisation"]["mean"])

    @property
    def _acquired(self) -> dict[str, Any]:
        return dict((self.simulated or self.found)["readings"][0]["acquisition"])

    @property
    def acquisition(self) -> float:
        return float(self._acquired["mean"])

    @property
    def broadcast(self) -> float:
        return float(self._acquired["parts"]["broadcast"])

    @property
    def exchange(self) -> float:
        """Of a writer's step, waiting for all other ranks."""
        return float(self.found["stabilisation"]["exchange"])

    @property
    def end_to_end(self) -> float:
        return self.stabilisation + self.acquisition

    @property
    def server(self) -> str:
        """What serves a request."""
        return "server" if "files" in self.found else "target"

    @property
    def memory(self) -> float:
        """Bytes in the reader rank that needs most."""
        return float(max(self.found["memory"].values()))

    def record(self, best: Prediction) -> dict[str, Any]:
        return {
            "point": self.point.name,
            "parameters": self.point.parameters,
            "stabilisation": self.stabilisation,
            "acquisition": self.acquisition,
            "broadcast": self.broadcast,
            "end_to_end": self.end_to_end,
            "times_slower": self.end_to_end / best.end_to_end,
            "simulated": self.simulated is not None,
            "requests": self.found["requests"],
            "memory": self.found["memory"],
            **{name: self.found[name] for name in _OF_FILES if name in self.found},
        }


@dataclass
class Advice:
    best: Prediction
    settings: str  # its parameters that are not the defaults, and the layout
    all: list[Prediction]  # by their times
    reason: str
    notes: list[str] = field(default_factory=list)


class Advisor:
    def __init__(self, estimator: Simulator, simulator: Simulator | None, space: Space):
        """simulator: None: estimates are enough."""
        self._estimator, self._simulator, self._space = estimator, simulator, space
        self._cluster = estimator.values

    def advise(self, job: Job, points: list[Point] | None = None) -> Advice:
        """points: to choose from; else each layout, and what can be varied of the best one."""
        layouts = self._predict(job, points or self._layouts(job))
        best = self._choice(job, layouts)
        variants = [] if points else self._predict(job, self._variants(best.point, job.in_files))
        better = [one for one in variants if self._cost(job, one) < best.end_to_end * (1 - _WORTH)]
        if self._fits(job, best):
            better = [one for one in better if self._fits(job, one)]
        elif fitting := [one for one in variants if self._fits(job, one)]:
            better = fitting
        best = min(better, key=lambda one: self._cost(job, one), default=best)
        ordered = sorted([*layouts, *variants], key=lambda one: one.end_to_end)
        rivals = [one for one in layouts if _layout(one) != _layout(best)]
        advice = Advice(best, self._settings(best.point), ordered, _reason(best, rivals))
        advice.notes = self._notes(job, best, ordered)
        return advice

    # ---- what is compared
    def _layouts(self, job: Job) -> list[Point]:
        return [
            self._space.point({"Layout": layout.name, **_objects(layout, job), **chunk})
            for layout in all_layouts()
            if layout.metadata != "other"  # these cannot be estimated
            for chunk in [*_chunks(layout, job), *self._chunks_of_files(layout, job)]
        ]

    def _chunks_of_files(self, layout: Layout, job: Job) -> list[dict[str, str]]:
        """With which no two nodes write into what one lock covers."""
        span = int(self._cluster["file_lock_span"])
        if not job.in_files or not span or not self._cluster["file_lock"]:
            return []
        slot = _power_of_2(_slot(job))
        return [{"ChunkSize": _size(max(slot, span))}] if layout.metadata == "rows" else []

    def _variants(self, point: Point, in_files: bool) -> list[Point]:
        chosen = dict(pair.split("=", 1) for pair in point.parameters.split(","))
        changes = [
            {name: value}
            for name, values in self._space.choices.items()
            if name != "Layout"
            for value in values
            if value != chosen[name] and value not in ("delegate", "auto")
        ]
        if in_files:
            changes = [one for one in changes if one.get("Steps") != "snapshot"]
        if in_files and _keeps_files(point):  # what many readers of one file cost is not estimated
            changes = [one for one in changes if "Readers" not in one]
        changed = [self._space.point(chosen | change) for change in changes]
        possible = {one.written for one in self._space.all()}
        return [one for one in changed if _without_chunk(one.written) in possible]

    def _predict(self, job: Job, points: list[Point]) -> list[Prediction]:
        descriptions = [job.description(point) for point in points]
        found = self._estimator.run_all([(one, {}) for one in descriptions])
        predictions = [Prediction(point, one) for point, one in zip(points, found, strict=True)]
        if self._simulator:
            fewer = {"steps": min(job.steps, _SIMULATED_STEPS)}
            simulated = self._simulator.run_all([(one | fewer, {}) for one in descriptions])
            for one, run in zip(predictions, simulated, strict=True):
                one.simulated = run
        return predictions

    def _choice(self, job: Job, layouts: list[Prediction]) -> Prediction:
        """Of those that are as good as the best the one that waits for nobody and needs no parameter."""
        least = min(self._cost(job, one) for one in layouts)
        good = [one for one in layouts if self._cost(job, one) <= least * (1 + _WORTH)]
        return min(good, key=lambda one: (one.exchange > 0, "," in one.point.name, one.end_to_end))

    def _cost(self, job: Job, one: Prediction) -> float:
        """Seconds of a step; what does not fit into memory comes last."""
        return one.end_to_end if self._fits(job, one) else 1e9 + one.memory

    @staticmethod
    def _fits(job: Job, one: Prediction) -> bool:
        return job.memory is None or one.memory <= job.memory

    def _settings(self, point: Point) -> str:
        pairs = [pair.split("=", 1) for pair in point.parameters.split(",")]
        usual = {name: values[0] for name, values in self._space.choices.items() if name != "Layout"}
        return ",".join(f"{name}={value}" for name, value in pairs if usual.get(name) != value)

    # ---- what there is to say
    def _notes(self, job: Job, best: Prediction, ordered: list[Prediction]) -> list[str]:
        by_name = {one.point.name: one for one in ordered}
        return [
            *_chunk_note(best, job),
            *_ahead_note(best, by_name, job),
            *self._readers_note(best, by_name, job),
            *_objects_note(best, ordered),
            *(self._file_notes(best, job) if job.in_files else []),
            *self._memory_notes(best, job),
            self._opening_note(best, job),
        ]

    def _file_notes(self, best: Prediction, job: Job) -> list[str]:
        """How many files a stream is, and whether fewer ranks should write."""
        files, aggregated = best.found["files"], best.found.get("aggregated")
        lines = [
            f"The stream has {files:,} files, beside a data file of each rank that writes blocks. "
            f"Each name of a file costs the metadata server {human_time(self._cluster['name_change'])}."
        ]
        together = best.found["ranks_per_aggregator"]
        if together > 1:
            lines.append(
                f"One rank stores the metadata of {together} (RanksPerAggregator), which all wait for it."
            )
        if _keeps_files(best.point):
            lines.append(
                f"{_layout(best)} gathers the metadata of all ranks at rank 0, and does not sync its files "
                "in each step: a node that stops may take the last steps with it."
            )
        elif aggregated and aggregated["ranks"] != together and job.ranks > 1:
            gain = best.stabilisation / aggregated["stabilisation"]
            lines.append(
                f"With RanksPerAggregator={aggregated['ranks']} stabilisation would take "
                f"{human_time(aggregated['stabilisation'])}, {_ratio(gain)} times less."
                if gain > 1 + _WORTH
                else "Another RanksPerAggregator would gain nothing."
            )
        return lines

    def _readers_note(self, best: Prediction, by_name: dict[str, Prediction], job: Job) -> list[str]:
        if job.reader_ranks == 1 or "everyone" in best.point.read:
            return []
        each = [one for name, one in by_name.items() if name == f"{best.point.name},everyone"]
        if not each:
            return []
        bound = "at least " if each[0].found["requests"]["bound"] else ""
        return [
            "Rank 0 of the readers reads for all (Readers=delegate, which Readers=auto means on a cluster). "
            f"If each rank read, acquisition would take {bound}"
            f"{_ratio(each[0].acquisition / best.acquisition)} times as long."
        ]

    def _memory_notes(self, best: Prediction, job: Job) -> list[str]:
        on_node = int(min(job.reader_ranks, self._cluster["ranks_per_node"]))
        reader, root = best.found["memory"]["reader"], best.found["memory"]["root"]
        node = reader * (on_node - 1) + root
        lines = [
            f"A reader rank holds about {human_bytes(reader)} of metadata, rank 0 {human_bytes(root)}, the "
            f"{on_node} ranks of a node {human_bytes(node)}."
        ]
        if job.memory is not None and best.memory > job.memory:
            lines.append(
                f"That is more than --memory, {human_bytes(job.memory)}, also without reading ahead. "
                "Every rank that reads gets the metadata of all writers: only fewer writers or smaller "
                "metadata would fit."
            )
        nodes = -(-job.reader_ranks // on_node)
        if node < _MUCH or on_node == 1:
            return lines
        fewer = replace(job, reader_ranks=nodes, memory=None)
        (one,) = self._estimator.run_all([(fewer.description(best.point), {})])
        took = one["readings"][0]["acquisition"]["mean"]
        lines.append(
            f"Fewer readers would save memory: with one on each node ({nodes} of them) a node holds "
            f"{human_bytes(root)}, and acquisition takes {human_time(took)}."
        )
        return lines

    def _opening_note(self, best: Prediction, job: Job) -> str:
        wrote = best.found["stabilisation"]
        read = best.found["readings"][0]["acquisition"]["open"]
        engines = int(self._cluster["servers"] * self._cluster["engines"])
        per_step = job.steps * best.end_to_end
        if job.in_files:
            return (
                f"Beside {human_time(per_step)} for {job.steps} steps, opening and the definitions take "
                f"the writers about {human_time(wrote['open'])}, with this layout: each rank asks the "
                "metadata server for names, and may make some."
            )
        return (
            f"Beside {human_time(per_step)} for {job.steps} steps, opening takes the writers about "
            f"{human_time(wrote['open'] + wrote['first'])} and the readers {human_time(read)}, with any "
            f"layout: each rank connects to {engines} engines, and to the pool service in its turn."
        )


def _layout(one: Prediction) -> str:
    return one.point.name.split(",")[0]


def _objects(layout: Layout, job: Job) -> dict[str, str]:
    """As the engine chooses them in a pool in files: each node has a metadata file of its own."""
    return {"Objects": "per-machine"} if job.in_files and layout.metadata == "slots" else {}


def _keeps_files(point: Point) -> bool:
    """The metadata lies beside the objects, in files of their own."""
    name = point.name.split(",")[0]
    return any(one.name == name and one.metadata == "files" for one in all_layouts())


def _without_chunk(written: str) -> str:
    return ",".join(pair for pair in written.split(",") if not pair.startswith("ChunkSize="))


def _chunks(layout: Layout, job: Job) -> list[dict[str, str]]:
    """The chunk sizes to compare; {}: the default."""
    slot = _slot(job)
    needed = _power_of_2(slot)
    if layout.metadata in ("slots", "rows") and needed > layout.chunk_size:
        return [{"ChunkSize": _size(needed)}]
    several = _power_of_2(8 * slot)
    if layout.metadata == "dense" and several < layout.chunk_size:
        return [{}, {"ChunkSize": _size(several)}]
    return [{}]


def _slot(job: Job) -> int:
    slot = job.largest + _BESIDE_TEXT
    return slot + slot // 8 + 320  # as large as the engine makes it, at most


def _power_of_2(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _size(number: int) -> str:
    return f"{number >> 20}M" if number % (1 << 20) == 0 else f"{number >> 10}k"


def _bytes_of(pair: str) -> int:
    """Of ChunkSize=SIZE."""
    text = pair.partition("=")[2]
    unit = {"k": 10, "M": 20}.get(text[-1], 0)
    return int(text.rstrip("kM")) << unit


def _ratio(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


def _reason(best: Prediction, rivals: list[Prediction]) -> str:
    if not rivals:
        return f"{best.point.name} is the only layout that was compared."
    second = min(rivals, key=lambda one: one.end_to_end)
    by_writing = second.stabilisation - best.stabilisation
    by_reading = second.acquisition - best.acquisition
    gain = second.end_to_end / best.end_to_end
    start = f"{best.point.name} takes {human_time(best.end_to_end)} for a step end to end"
    if gain < 1 + _WORTH:
        waits = ", but there all ranks wait for one another in every step" if second.exchange else ""
        waits = waits if not best.exchange else ""
        return f"{start}; {second.point.name} is as fast ({human_time(second.end_to_end)}){waits}."
    how = _why_writing(best, second) if by_writing > by_reading else _why_reading(best, second)
    return f"{start}, and the next layout, {second.point.name}, {_ratio(gain)} times as long, because {how}."


def _why_writing(best: Prediction, second: Prediction) -> str:
    theirs, ours = second.found, best.found
    times = f"({human_time(second.stabilisation)}, not {human_time(best.stabilisation)})"
    if second.exchange > 0.5 * (second.stabilisation - best.stabilisation):
        return f"there each writer waits for an exchange of all ranks in every step {times}"
    if theirs["requests"]["short_of_buffers"] > ours["requests"]["short_of_buffers"]:
        return (
            f"there up to {theirs['requests']['busiest_target']} writers meet on one target, which has too "
            f"few buffers for their transfers {times}"
        )
    busiest = theirs["requests"]["busiest_target"]
    what = "writers" if second.server == "target" else "requests"
    return f"there up to {busiest} {what} queue at one {second.server} {times}"


def _why_reading(best: Prediction, second: Prediction) -> str:
    theirs, ours = (one.found["requests"]["reader"] for one in (second, best))
    times = f"({human_time(second.acquisition)}, not {human_time(best.acquisition)})"
    if theirs > 1.2 * ours:
        return f"there a reader needs {theirs:,.0f} requests for a step, here {ours:,.0f} {times}"
    return f"there a reader waits longer for its {theirs:,.0f} requests of a step {times}"


def _chunk_note(best: Prediction, job: Job) -> list[str]:
    chunk = next((pair for pair in best.point.written.split(",") if pair.startswith("ChunkSize=")), None)
    if chunk is None:
        return []
    if job.in_files and job.largest + _BESIDE_TEXT <= _bytes_of(chunk):
        return [f"{chunk}: no two nodes write into what one lock of the file system covers."]
    if best.point.name.startswith("array,"):
        return [f"{chunk}: that of about 8 ranks in a chunk, so that few writers meet on one target."]
    return [f"{chunk}: metadata of {human_bytes(job.largest)} does not fit into a slot of the default chunk."]


def _ahead_note(best: Prediction, by_name: dict[str, Prediction], job: Job) -> list[str]:
    together = best.found["requests"]["together"]
    if "ReadAhead=0" in best.point.read:
        why = "the steps ahead would not fit into memory" if job.memory else "reading ahead gains nothing"
        return [f"ReadAhead=0: {why}."]
    if together < 1.01:
        step = human_bytes(job.ranks * (job.mean + _BESIDE_TEXT))
        return [f"A step has {step} of metadata: ReadAhead=auto reads nothing ahead of it."]
    without = by_name.get(f"{best.point.name},ReadAhead=0")
    gain = f", and saves {1 - best.acquisition / without.acquisition:.0%} of acquisition" if without else ""
    return [f"ReadAhead=auto brings {together:.1f} steps at a time{gain}."]


def _objects_note(best: Prediction, ordered: list[Prediction]) -> list[str]:
    layout = best.point.name.split(",")[0]
    single = "Objects=single" in best.point.written
    words = (
        ("per-step", "one for each step"),
        ("per-writer", "one for each writer"),
        ("per-machine", "one for each node"),
    )
    several = [
        f"{_ratio(one.end_to_end / best.end_to_end)} times as long with {what}"
        for word, what in words
        for one in ordered
        if _layout(one) == layout and word in one.point.name.split(",")
    ]
    if not single or not several:
        return []
    return [f"Objects=single: one metadata object. A step would take {' and '.join(several)}."]
