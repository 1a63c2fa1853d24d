"""stepstore simulate measure: describes this machine as a cluster of its own, by the project's benchmarks.
stepstore simulate validate: what `stepstore bench layouts` takes here, next to what is simulated."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, emit_json, show, table
from stepstore.help import Parser
from stepstore.lab.benchmarks.layout_points import Space, all_layouts
from stepstore.lab.benchmarks.layout_runs import Program, Run
from stepstore.lab.benchmarks.machine import BUSY, others_share
from stepstore.lab.benchmarks.mpi import run as run_mpi
from stepstore.lab.benchmarks.options import numbers
from stepstore.lab.simulation.cluster import Parameter, load, named
from stepstore.lab.simulation.run import Simulator
from stepstore.paths import program
from stepstore.processes import run_program

_SIZES = {"5KiB": 5 << 10, "56KiB": 56 << 10}
_TIMEOUT = 600.0
_GOAL = 0.5
_MUCH = 1e15  # a bandwidth that takes no time
_FREE = "assumed: on one machine nothing is between a rank and a target"
_ONCE = "assumed: no part of a step"
_Line = tuple[float, float]  # seconds of a call, and of a byte
_Times = dict[tuple[str, int], dict[str, float]]  # by layout and size: seconds


def measure(arguments: list[str]) -> None:
    parser = _parser(
        "measure", "Measure this machine and write FILE, for 'stepstore simulate --cluster FILE'."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the cluster file to write (.toml)")
    options = _options(parser, arguments)
    if options.file.suffix != ".toml":
        parser.error(f"{options.file}: give a name that ends in .toml")
    if not options.file.absolute().parent.is_dir():
        parser.error(f"there is no directory {options.file.absolute().parent}")
    if max(options.ranks) < 2:
        parser.error("--ranks: give a number above 1 among them")
    found = Measurements(options).parameters()
    begun = options.file.with_name(f".{options.file.name}.{os.getpid()}")
    begun.write_text(_as_toml(found), encoding="utf-8")
    os.replace(begun, options.file)
    show(f"{options.file}: {sum(one.source.startswith('measured') for one in found)} measured parameters")


def _parser(name: str, description: str) -> Parser:
    parser = Parser(f"simulate {name}", description)
    parser.add_argument(
        "--ranks",
        type=numbers,
        default=[2, 4, 8, 16],
        metavar="N,...",
        help="ranks that write, and as many that read (default: 2,4,8,16)",
    )
    parser.add_argument(
        "--directory", metavar="DIR", default="/dev/shm", help="where to write (default: /dev/shm)"
    )
    parser.add_argument(
        "--mpirun",
        metavar="COMMAND",
        default="",
        help="the command that starts MPI programs (default: mpirun)",
    )
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="of each run (default: 2)")
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="of each run (default: 200)")
    return parser


def _options(parser: argparse.ArgumentParser, arguments: list[str]) -> Namespace:
    options = parser.parse_args(arguments)
    if min(options.rounds, options.steps) < 1:
        parser.error("--rounds, --steps: give at least 1")
    if not Path(options.directory).is_dir():
        parser.error(f"--directory: there is no directory {options.directory}")
    return options


class Measurements:
    """What one process, and all processors at once, take for what the engine does."""

    def __init__(self, options: Namespace):
        self._options = options
        self._processors = len(os.sched_getaffinity(0))
        self._store = self._measure_store()
        self._exchanges = [self._measure_exchanges(ranks) for ranks in options.ranks if ranks > 1]
        self._few, self._many = (
            measured_steps(options, self._processors * times, self._processors) for times in (1, 4)
        )

    def parameters(self) -> tuple[Parameter, ...]:
        values = self._values()
        return tuple(
            Parameter(one.section, one.name, values[one.name][0], one.unit, values[one.name][1])
            if one.name in values
            else Parameter(one.section, one.name, one.value, one.unit, "assumed: as in reference.toml")
            for one in load().parameters
        )

    # ---- running
    def _measure_store(self) -> dict[str, _Line]:
        rounds = str(self._options.rounds + 1)
        command = [
            str(program("stepstore-bench-store")),
            "--case",
            "/1p/process",
            "--rounds",
            rounds,
            "--json",
        ]
        done = run_program(
            [*command, "--directory", self._options.directory], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        if done.returncode != 0:
            raise CommandError(f"{command[0]} failed: {done.stderr.strip()}")
        times: dict[str, dict[int, float]] = {}
        for one in json.loads(done.stdout):
            operation, size = one["case"].split("/")[:2]
            if size in _SIZES and one["peer_name"].startswith("pwrite"):
                times.setdefault(operation, {})[_SIZES[size]] = one["ours"] * 1e-6
                times.setdefault(f"file {operation}", {})[_SIZES[size]] = one["peer"] * 1e-6
        return {name: _line(of) for name, of in times.items()}

    def _measure_exchanges(self, ranks: int) -> dict[str, Any]:
        """With as many ranks that wait meanwhile, as readers wait for writers."""
        command = [str(program("stepstore-bench-exchanges")), f"--waiting={ranks}"]
        with tempfile.TemporaryDirectory() as folder:
            printed = run_mpi(self._options.mpirun, 2 * ranks, command, Path(folder), _TIMEOUT, doors=False)
        return dict(json.loads(printed))

    # ---- what follows
    def _values(self) -> dict[str, tuple[float, str]]:
        store = "measured: stepstore bench store, one process, 5 and 56 KiB"
        fetched = (
            "measured: stepstore bench layouts, a reader for each processor, of 1 and 4 writers a processor"
        )
        writes = statistics.mean(self._store[one][1] for one in ("kv_put", "array_write"))
        gets, reads = (self._read(_layout(one)) for one in ("values", "slots"))
        encode, (step, decode) = self._encode(), self._decode()
        free = dict.fromkeys(("server_bandwidth", "client_bandwidth", "bisection"), (_MUCH, _FREE))
        free |= dict.fromkeys(
            ("latency", "call", "further_rpc", "registration", "buffer_shortage"), (0, _FREE)
        )
        free |= dict.fromkeys(("inline_put", "inline_get"), (1 << 30, _FREE))
        free |= dict.fromkeys(("connection", "control", "file_sync"), (0, _ONCE))
        return {
            **free,
            "servers": (1, "measured: one machine"),
            "engines": (1, "measured: one machine"),
            "targets": (min(max(self._processors, 4), 16), "published: one for each processor, 4 to 16"),
            "ranks_per_node": (4096, "measured: one machine"),
            "buffers": (1024, _FREE),
            "processors": (self._processors, "measured: processors that a process may use"),
            **{one: (self._store[one][0], store) for one in ("kv_put", "array_write")},
            "kv_get": (gets[0], fetched),
            "array_read": (reads[0], fetched),
            "further_extent": (reads[0], "assumed: as array_read"),
            "write_bandwidth": (_bandwidth(writes), store),
            "read_bandwidth": (_bandwidth(statistics.mean((gets[1], reads[1]))), fetched),
            "encode": (
                encode[0],
                "measured: stepstore bench layouts, as many writers and readers as processors",
            ),
            "encode_bandwidth": (_bandwidth(encode[1]), "measured: as encode"),
            "decode": (step, fetched),
            "decode_metadata": (decode[0], "measured: as decode"),
            "decode_bandwidth": (_bandwidth(decode[1]), "measured: as decode"),
            "file_request": (self._store["file array_write"][0], store + ", plain files"),
            "file_write_bandwidth": (_bandwidth(self._store["file array_write"][1]), store + ", plain files"),
            "file_read_bandwidth": (_bandwidth(self._store["file array_read"][1]), store + ", plain files"),
            **self._mpi(),
        }

    def _mpi(self) -> dict[str, tuple[float, str]]:
        source = "measured: stepstore-bench-exchanges, as many ranks waiting"
        first = self._exchanges[0]
        bandwidth = first["bytes"] / first["large_broadcast"]
        hop = statistics.geometric_mean(
            one["allgather"] / (2 * _hops(one["ranks"]) * max(1, one["ranks"] / self._processors))
            for one in self._exchanges
        )
        # A gather, and rank 0's answer.
        waits = [
            one["large_gather"] - one["ranks"] * one["bytes"] / bandwidth - hop * (1 + _hops(one["ranks"]))
            for one in self._exchanges
        ]
        messages = [
            max(0.0, wait) / (one["ranks"] - 1) for wait, one in zip(waits, self._exchanges, strict=True)
        ]
        return {
            "mpi_hop": (hop, source),
            "mpi_bandwidth": (bandwidth, source),
            "mpi_gather_message": (statistics.mean(messages), source),
        }

    def _encode(self) -> _Line:
        """A writer's work beside storing: of the layouts in which no rank waits for another."""
        return _line(
            {
                size: statistics.mean(
                    self._few[_layout(places), size]["stabilisation"] - _at(self._store[operation], size)
                    for places, operation in (("values", "kv_put"), ("slots", "array_write"))
                )
                for size in _SIZES.values()
            }
        )

    def _read(self, layout: str) -> _Line:
        """What fetching one rank's metadata of several takes: the mean of few ranks and many."""
        return _line(
            {
                size: statistics.geometric_mean(
                    found[layout, size]["read"] / ranks for found, ranks in self._readings()
                )
                for size in _SIZES.values()
            }
        )

    def _decode(self) -> tuple[float, _Line]:
        """A reader's work on a step, and on each rank's metadata, once it is fetched."""
        # Their readers look at all metadata.
        objects = [one.name for one in all_layouts() if one.metadata != "files"]
        steps, metadata = [], {}
        for size in _SIZES.values():
            (short, few), (long, many) = (
                (statistics.mean(found[name, size]["rest"] for name in objects), ranks)
                for found, ranks in self._readings()
            )
            metadata[size] = max(0.0, (long - short) / (many - few))
            steps.append(max(0.0, short - few * metadata[size]))
        return statistics.mean(steps), _line(metadata)

    def _readings(self) -> tuple[tuple[_Times, int], tuple[_Times, int]]:
        return (self._few, self._processors), (self._many, 4 * self._processors)


def _layout(places: str) -> str:
    """The first one that keeps them so."""
    return next(one.name for one in all_layouts() if one.metadata == places)


def _line(times: dict[int, float]) -> _Line:
    """Through both sizes, and no negative time."""
    (small, short), (large, long) = sorted(times.items())
    slope = max(0.0, (long - short) / (large - small))
    return max(0.0, short - slope * small), slope


def _at(line: _Line, size: int) -> float:
    return line[0] + line[1] * size


def _bandwidth(seconds: float) -> float:
    return min(_MUCH, 1 / seconds) if seconds > 0 else _MUCH


def _hops(ranks: int) -> int:
    return (ranks - 1).bit_length()


def measured_steps(options: Namespace, writers: int, readers: int) -> _Times:
    """Of each layout and size: seconds of a rank and step, means of the rounds, by bench layouts. read and
    rest: of the acquisition."""
    of_bench = Program(options.mpirun)
    job = {"writers": writers, "readers": readers, "steps": options.steps}
    asked = Namespace(**job, live=False, together=False, on="machine")
    times: dict[tuple[str, int], list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="stepstore-measure-", dir=options.directory) as folder:
        for _ in range(options.rounds):
            for point in Space(of_bench.space()).layouts():
                for size in _SIZES.values():
                    place = Path(folder) / "stream"
                    found = Run(asked, of_bench, str(size), point.written, [point], place)()
                    acquired = found["readings"][0]["acquisition"]
                    times.setdefault((point.name, size), []).append(
                        {
                            "stabilisation": found["stabilisation"]["mean"],
                            "acquisition": acquired["mean"],
                            "read": acquired["parts"]["read"],
                            "rest": acquired["mean"] - acquired["parts"]["read"],
                        }
                    )
    return {
        key: {part: statistics.mean(one[part] for one in of) for part in of[0]} for key, of in times.items()
    }


def _as_toml(parameters: tuple[Parameter, ...]) -> str:
    lines = ["# This machine as a cluster of its own: stepstore simulate measure."]
    sections = dict.fromkeys(one.section for one in parameters)
    for section in sections:
        lines += ["", f"[{section}]"]
        lines += [
            f'{one.name} = {{ value = {one.value:.4g}, unit = "{one.unit}", source = "{one.source}" }}'
            if isinstance(one.value, float)
            else f'{one.name} = {{ value = {one.value}, unit = "{one.unit}", source = "{one.source}" }}'
            for one in parameters
            if one.section == section
        ]
    return "\n".join(lines) + "\n"


# ---- validation


def validate(arguments: list[str]) -> None:
    parser = _parser(
        "validate",
        "Run 'stepstore bench layouts' on this machine, and simulate the same with a cluster file of it. "
        "Prints both, and simulated by measured.",
    )
    parser.add_argument("--cluster", required=True, metavar="FILE", help="of 'stepstore simulate measure'")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = _options(parser, arguments)
    simulator = Simulator(load(named(options.cluster)))
    share = others_share()
    records = [one for ranks in options.ranks for one in _compared(options, simulator, ranks)]
    if options.json:
        return emit_json(records)
    _show(records, options.steps)
    if share is not None and share >= BUSY:
        show(f"BUSY MACHINE: other work used {share:.0%} of its processors before")


def _compared(options: Namespace, simulator: Simulator, ranks: int) -> list[dict[str, Any]]:
    measured = measured_steps(options, ranks, ranks)
    layouts = {point.name: point for point in Space(Program(options.mpirun).space()).layouts()}
    jobs = [
        {
            "writers": ranks,
            "readers": ranks,
            "steps": options.steps,
            "size": str(size),
            "set": layouts[name].written,
            "read": layouts[name].read,
            "together": False,
        }
        for name, size in measured
    ]
    records = []
    for (name, size), run in zip(measured, simulator.run_all([(job, {}) for job in jobs]), strict=True):
        simulated = {
            "stabilisation": run["stabilisation"]["mean"],
            "acquisition": run["readings"][0]["acquisition"]["mean"],
        }
        both = {"measured": measured[name, size], "simulated": simulated}
        for times in both.values():
            times["end_to_end"] = times["stabilisation"] + times["acquisition"]
        ratios = {part: simulated[part] / both["measured"][part] for part in simulated}
        records.append({"ranks": ranks, "rank_bytes": size, "layout": name, **both, "ratios": ratios})
    return records


def _show(records: list[dict[str, Any]], steps: int) -> None:
    right = "right"
    parts = ("stabilisation", "acquisition", "end_to_end")
    columns: list[Any] = [("RANKS", right), ("METADATA", right), "LAYOUT"]
    for part in parts:
        columns += [(part.upper().replace("_", " "), right), ("SIMULATED", right), ("RATIO", right)]
    rows = [
        (
            one["ranks"],
            f"{one['rank_bytes'] >> 10}k",
            one["layout"],
            *(
                text
                for part in parts
                for text in (
                    f"{1e3 * one['measured'][part]:.4f}",
                    f"{1e3 * one['simulated'][part]:.4f}",
                    f"{one['ratios'][part]:.2f}",
                )
            ),
        )
        for one in records
    ]
    show(table(columns, rows))
    good = [abs(one["ratios"][part] - 1) <= _GOAL for one in records for part in parts]
    ends = [abs(one["ratios"]["end_to_end"] - 1) <= _GOAL for one in records]
    show(f"milliseconds of a rank and step; ratio: simulated by measured, {steps} steps")
    show(f"within {_GOAL:.0%}: {sum(good)} of {len(good)} times, {sum(ends)} of {len(ends)} end to end")
