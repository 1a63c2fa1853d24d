"""stepstore bench fields: FDB's C++ interface on its engine for files (toc) and on Stepstore in turn."""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, ExitCode, human_bytes, show
from stepstore.errors import Error
from stepstore.lab.benchmarks import ceph, memory
from stepstore.lab.benchmarks.field_figures import write_figures
from stepstore.lab.benchmarks.grib import PARAMETERS, write_plan
from stepstore.lab.figures import require_matplotlib
from stepstore.lab.benchmarks.machine import others_share
from stepstore.lab.benchmarks.options import Parser, location
from stepstore.lab.benchmarks.report import Case, report
from stepstore.paths import fdb5_directories, program
from stepstore.processes import run_program
from stepstore.store import Pool

_MIB = 1 << 20
_SMALL = 64 << 10
_WHEELS = ("fdb5lib", "eckitlib", "metkitlib", "eccodeslib")
_TYPES = (
    "param: Param;\nstep: Step;\ndate: Date;\nlevelist: Double;\nexpver: Expver;\ntime: Time;\n"
    "number: Integer;\n\n"
)
_SCHEMAS = {  # keywords of the second and of the third level
    "element": (("type", "levtype"), ("step", "number", "levelist", "param")),
    "collocation": (("type", "levtype", "number", "levelist"), ("step", "param")),
}
_OWN_ENGINES = ("nothing", "plan")  # of the benchmark's program
_PATTERNS = ("separate", "contention", "operational")
_FIRST = 5  # processes that retrieve one field, in a round


def fields(words: list[str]) -> None:
    """Archive, retrieve and list fields, next to FDB's own files."""
    options = _options(words)
    tools = _Tools()
    if options.figures:
        require_matplotlib()
        os.makedirs(options.figures, exist_ok=True)
    cases: list[Case] = []
    for schema in options.schemas:
        for size in options.sizes:
            for processes in options.processes:
                cases += _Setting(options, tools, schema, size, processes).measure()
    made = []
    if options.figures:
        made = write_figures([case.record() for case in cases], Path(options.figures))
    report(cases, options.json, "toc")
    if made and not options.json:
        show(f"figures: {', '.join(map(str, made))}")


def _options(words: list[str]) -> argparse.Namespace:
    parser = Parser(
        "fields",
        "Archive, list and retrieve GRIB fields through FDB's C++ interface. It uses FDB's "
        "engine for files (toc) and Stepstore in turn, in new directories on the same file system. "
        "Bandwidth is global: bytes by the time from the first process's beginning to the last one's end. "
        "The time includes what FDB opens and makes, except the pool. Every process archives a number "
        "(ensemble member) of its own and flushes after each step. What is read is compared with what was "
        "archived. Each engine is first in every other round.",
        epilog="Patterns. separate: all write, one process lists, all read. contention: as many processes "
        "read existing fields while others write. operational: readers follow the writers step by step, "
        "and each takes some parameters of all numbers and levels.",
    )
    parser.list("processes", [1, 4, 8], "writers, and as many readers")
    parser.add_argument(
        "--sizes",
        type=_sizes,
        default=[1536, 64 << 10, _MIB, 4 * _MIB],
        metavar="BYTES,...",
        help="of a field: 1.5k,64k,1M,4M (the default)",
    )
    parser.list("patterns", _PATTERNS, "what is measured", "NAME,...", _words(_PATTERNS))
    parser.list(
        "schemas",
        ["element"],
        "the key with number and levelist: element, collocation",
        "NAME,...",
        _words(tuple(_SCHEMAS)),
    )
    parser.number("steps", 10, "steps of a process")
    parser.number("params", 10, f"parameters of a step, at most {len(PARAMETERS)}")
    parser.number("levels", 20, "levels of a parameter")
    parser.number(
        "space",
        4096,
        "MiB on the disk at once, at most: larger fields have fewer steps, then fewer levels",
        "MIB",
    )
    add = parser.add_argument
    add(
        "--archive",
        choices=("key", "message"),
        default="key",
        help="give FDB keys and bytes (default), or messages, whose keys it decodes",
    )
    add(
        "--settings",
        default="",
        metavar="NAME=VALUE,...",
        help="settings of the section 'stepstore' of FDB's configuration, such as "
        "verify=false,durability=power",
    )
    add(
        "--client",
        choices=("stepstore", "local"),
        default="stepstore",
        help="type of FDB client for our engine: ours (default), or FDB's own",
    )
    parser.add_on()
    ceph.add_location(parser)
    add("--quick", action="store_true", help="few small cases, to see that it works")
    add("--figures", metavar="DIR", help="draw a figure there, as PNG and SVG with the numbers as CSV")
    options = parser.parse_args(words)
    if options.quick:
        options.processes, options.sizes, options.rounds = [1, 2], [1536, _MIB], 1
        options.steps, options.params, options.levels = 2, 3, 4
    counts = (options.steps, options.params, options.levels, options.rounds, options.space)
    if min(*options.processes, *options.sizes, *counts) < 1:
        parser.error("give at least 1 for processes, sizes, steps, params, levels, rounds and space")
    limits = ((max(options.processes), 32), (options.steps, 240), (options.levels, 1000))
    if options.params > len(PARAMETERS) or any(given > most for given, most in limits):
        parser.error(f"give at most 32 processes, 240 steps, {len(PARAMETERS)} parameters and 1000 levels")
    if min(options.sizes) < 512:
        parser.error("give sizes of at least 512 bytes")
    for setting in filter(None, options.settings.split(",")):
        if "=" not in setting:
            parser.error(f"--settings {setting}: give NAME=VALUE")
    options.pool = ceph.own_pool(parser, options)
    return options


def _sizes(text: str) -> list[int]:
    units = {"k": 1 << 10, "m": _MIB}
    return [int(float(part.rstrip("kKmM")) * units.get(part[-1:].lower(), 1)) for part in text.split(",")]


def _words(known: tuple[str, ...]) -> Any:
    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        for word in chosen:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r}: give one of {', '.join(known)}")
        return chosen

    return parse


class _Tools:
    """What the benchmark needs: the wheels, the plugin and the program. Names all that is missing, before
    anything is measured."""

    def __init__(self) -> None:
        missing = [name for name in (*_WHEELS, "eccodes") if importlib.util.find_spec(name) is None]
        if missing:
            raise CommandError(
                f"FDB5 is not installed: this Python has no {', '.join(missing)}: pip install pyfdb fdb5lib "
                "eccodes",
                ExitCode.NOT_FOUND,
            )
        try:
            self.program = program("stepstore-bench-fields")
            self.manifests, self.libraries = fdb5_directories()
        except Error as error:
            raise CommandError(
                f"{error}: install FDB5's wheels, and build again (docs/fdb.md)", ExitCode.NOT_FOUND
            ) from error
        origins = (importlib.util.find_spec(name) for name in _WHEELS)
        self.wheels = [str(Path(str(spec.origin)).parent / "lib64") for spec in origins if spec]


class _Archive:
    """An archive of one engine in a folder of its own, removed at the end, and the program on it."""

    def __init__(self, engine: str, setting: _Setting):
        self._setting, self._engine = setting, engine
        self._folder = Path(tempfile.mkdtemp(prefix=f"{engine}-", dir=setting.folder))
        self._data = self._folder / "data"
        self._data.mkdir()
        collocation, element = (", ".join(level) for level in _SCHEMAS[setting.schema])
        (self._folder / "schema").write_text(
            f"{_TYPES}[ class, expver, stream, date, time, domain\n    [ {collocation}\n        [ {element} "
            "]]]\n"
        )
        store = "file" if engine == "toc" else "nothing" if engine in _OWN_ENGINES else engine
        client = setting.options.client if engine == "stepstore" else "local"
        config: dict[str, Any] = {
            "type": client,
            "engine": engine,
            "store": store,
            "schema": str(self._folder / "schema"),
        }
        if engine == "stepstore":
            given = dict(one.split("=", 1) for one in setting.options.settings.split(",") if one)
            pool = setting.options.pool or location(setting.options, self._data / "pool")
            config["stepstore"] = {"pool": pool, **given}
            # A pool is made once, as the directory that toc's files go to.
            Pool.create(
                pool, targets=int(given.get("targets", 0)), durability=given.get("durability", "process")
            )
        else:
            config["spaces"] = [{"handler": "Default", "roots": [{"path": str(self._data)}]}]
        self._environment = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("FDB", "PLUGINS_", "DYNAMIC_LIBRARY_PATH"))
        }
        self._environment |= {"FDB_CONFIG": json.dumps(config), "FDB_HOME": str(self._folder)}
        tools = setting.tools
        if engine == "stepstore":
            self._environment |= {
                "PLUGINS_MANIFEST_PATH": str(tools.manifests),
                "DYNAMIC_LIBRARY_PATH": str(tools.libraries),
            }
        paths = [*tools.wheels, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        self._environment["LD_LIBRARY_PATH"] = os.pathsep.join(paths)

    def __enter__(self) -> _Archive:
        if self._engine not in _OWN_ENGINES:  # which write nothing
            self._setting.settle()
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder)
        if self._engine == "stepstore" and self._setting.options.pool:
            ceph.remove(self._setting.options.pool)

    def run(self, task: str) -> dict[str, Any]:
        options = self._setting.options
        words = [
            str(self._setting.tools.program),
            task,
            f"--plan={self._setting.plan}",
            f"--processes={self._setting.processes}",
            f"--archive={options.archive}",
        ]
        if self._engine == "plan":
            words.append(f"--copies={self._setting.copies}")
        done = run_program(words, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            said = " ".join(done.stderr.split())[-600:]
            raise CommandError(
                f"{words[0]} {task} with {self._environment['FDB_CONFIG']} failed (status "
                f"{done.returncode}): {said}"
            )
        return dict(json.loads(done.stdout))

    def bytes_on_disk(self) -> int:
        return sum(path.lstat().st_blocks * 512 for path in self._data.rglob("*"))


class _Setting:
    """One schema, size of fields and number of processes."""

    def __init__(self, options: argparse.Namespace, tools: _Tools, schema: str, size: int, processes: int):
        self.options, self.tools, self.schema = options, tools, schema
        self.size, self.processes = size, processes
        self._cases: dict[str, Case] = {}
        self.values = self._values()

    def measure(self) -> list[Case]:
        with tempfile.TemporaryDirectory(prefix="stepstore-bench-", dir=self.options.directory) as folder:
            self.folder = Path(folder)
            free, needed = shutil.disk_usage(folder).free, int(1.2 * self._bytes(self.values))
            if free < needed:
                raise CommandError(
                    f"{folder} has {human_bytes(free)} free, but {human_bytes(needed)} are needed: give "
                    "--space or another --directory"
                )
            self.plan = write_plan(self.folder, self.size, self.values, *_SCHEMAS[self.schema])
            self._length = (self.folder / "template.grib").stat().st_size
            if "separate" in self.options.patterns:
                self._write_copies()
            for turn in range(self.options.rounds):
                self._round(turn)
        return list(self._cases.values())

    def _write_copies(self) -> None:
        """Messages for the engine that reads them without having archived them: more than the processor's
        caches hold."""
        message = (self.folder / "template.grib").read_bytes()
        self.copies = self.folder / "copies"
        with self.copies.open("wb") as file:
            for _ in range(min(self._bytes(self.values), 256 * _MIB) // len(message)):
                file.write(message)

    def settle(self) -> None:
        """What was removed or read before is not to be written back in the middle of the next measurement,
        and memory is there."""
        memory.settle(self._bytes(self.values))

    def _values(self) -> dict[str, range | tuple[int, ...]]:
        shape = {"step": self.options.steps, "levelist": self.options.levels, "param": self.options.params}
        limit = self.options.space * _MIB
        for name in shape:
            while shape[name] > (2 if name == "step" else 1) and self._bytes(self._of(shape)) > limit:
                shape[name] -= 1
        return self._of(shape)

    def _of(self, shape: dict[str, int]) -> dict[str, range | tuple[int, ...]]:
        return {
            "number": range(1, self.processes * (2 if "contention" in self.options.patterns else 1) + 1),
            "step": range(shape["step"]),
            "param": PARAMETERS[: shape["param"]],
            "levelist": range(1, shape["levelist"] + 1),
        }

    def _bytes(self, values: dict[str, range | tuple[int, ...]]) -> int:
        count = self.size
        for those in values.values():
            count *= len(those)
        return count

    def _round(self, turn: int) -> None:
        others_share()
        engines = ["stepstore", "toc"] if turn % 2 else ["toc", "stepstore"]
        found = {engine: dict(self._engine(engine)) for engine in engines}
        ours, peer = found["stepstore"], found["toc"]
        for what in ours:
            self._case(what).add(ours[what], peer[what])
        if "separate" not in self.options.patterns:
            return
        for what, value in self._fdb_itself():
            self._case(what).limit.append(value)
            if what == "write":
                mine, theirs, itself = (
                    self._length / _MIB / bandwidth * 1e6 for bandwidth in (ours[what], peer[what], value)
                )
                self._case("write outside FDB").add(mine - itself, theirs - itself)

    def _fdb_itself(self) -> Iterator[tuple[str, float]]:
        """With an engine that keeps nothing, and one that reads what it never archived with one copy from the
        page cache. No back end with one thread can be faster."""
        if self.size <= _SMALL:
            with _Archive("nothing", self) as archive:
                yield "write", _bandwidth(archive.run("write")["write"])
        with _Archive("plan", self) as archive:
            yield from self._retrieve(archive)

    def _engine(self, engine: str) -> Iterator[tuple[str, float]]:
        """What one round with this engine measures."""
        patterns = self.options.patterns
        if "separate" in patterns or "contention" in patterns:
            with _Archive(engine, self) as archive:
                wrote = archive.run("write")["write"]
                if "separate" in patterns:
                    yield "write", _bandwidth(wrote)
                    if not self.options.pool:  # of two subjects on one medium
                        yield "bytes on disk", archive.bytes_on_disk() / wrote["bytes"]
                    yield from self._retrieve(archive)
                if "contention" in patterns:
                    self.settle()
                    both = archive.run("contention")
                    yield "w+r: write", _bandwidth(both["write"])
                    yield "w+r: read", _bandwidth(both["read"])
        if "operational" in patterns:
            with _Archive(engine, self) as archive:
                both = archive.run("operational")
                yield "operational: write", _bandwidth(both["write"])
                yield "operational: read", _bandwidth(both["read"])
                yield "operational: lag of a step", both["lag"] * 1e3

    def _retrieve(self, archive: _Archive) -> Iterator[tuple[str, float]]:
        yield "list", _each(archive.run("list")["list"])
        yield "read one by one", _bandwidth(archive.run("read")["read"])
        yield "read a step", _bandwidth(archive.run("read-many")["read"])
        times = [archive.run("first") for _ in range(_FIRST)]
        yield "first retrieve, process", statistics.median(one["process"] for one in times) * 1e3
        yield "first retrieve, FDB", statistics.median(one["fdb"] for one in times) * 1e3

    def _case(self, what: str) -> Case:
        if what not in self._cases:
            unit, goal = _REPORTED[what]
            if self.size <= _SMALL:
                goal = _SMALL_GOALS.get(what, goal)
            processes = f"{self.processes} {'process' if self.processes == 1 else 'processes'}"
            where = f"{processes}/{_text(self.size)}/{self.schema}"
            case = Case(f"{what}/{where}", unit, bandwidth=unit == "MiB/s", goal=goal)
            each = [len(self.values[name]) for name in ("step", "param", "levelist")]
            case.more = {
                "what": what,
                "processes": self.processes,
                "field_bytes": self._length,
                "fields_of_a_process": math.prod(each),
                "schema": self.schema,
            }
            self._cases[what] = case
        return self._cases[what]


# What is reported: its unit, and the goal for the ratio of times, ours / toc. Small fields have some goals of
# their own.
_REPORTED: dict[str, tuple[str, float | None]] = {
    "write": ("MiB/s", 1.0),
    "write outside FDB": ("us/field", None),
    "bytes on disk": ("of payload", None),
    "list": ("us/field", 0.5),
    "read one by one": ("MiB/s", 1 / 1.5),
    "read a step": ("MiB/s", 1 / 1.5),
    "first retrieve, process": ("ms", None),
    "first retrieve, FDB": ("ms", 0.5),
    "w+r: write": ("MiB/s", 1.0),
    "w+r: read": ("MiB/s", 1 / 1.5),
    "operational: write": ("MiB/s", None),
    "operational: read": ("MiB/s", None),
    "operational: lag of a step": ("ms", None),
}
_SMALL_GOALS = {"write": None, "write outside FDB": 1 / 1.5, "read one by one": 0.5, "read a step": 0.5}


def _bandwidth(one: dict[str, Any]) -> float:
    return float(one["bytes"] / _MIB / one["seconds"])


def _each(one: dict[str, Any]) -> float:
    """Microseconds of a field."""
    return float(one["seconds"] / one["fields"] * 1e6)


def _text(size: int) -> str:
    return f"{size / _MIB:g} MiB" if size >= _MIB else f"{size / 1024:g} KiB"
