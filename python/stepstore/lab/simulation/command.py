"""stepstore simulate: a job on a simulated cluster; stepstore simulate figures: the reference's figures."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, emit_json, show, table
from stepstore.help import Parser
from stepstore.lab.figures import require_matplotlib
from stepstore.lab.benchmarks.layout_points import Point, Space, chosen_points
from stepstore.lab.benchmarks.layout_report import Outcome, report_json, report_table
from stepstore.lab.benchmarks.options import words
from stepstore.lab.benchmarks.records import write_statements
from stepstore.lab.simulation.cluster import LUSTRE, REFERENCE, load, named
from stepstore.lab.simulation.experiments import Experiments
from stepstore.lab.simulation.field_experiments import FieldExperiments
from stepstore.lab.simulation.field_figures import FIELD_FIGURES, FIELDS_ON_FILES
from stepstore.lab.simulation.field_statements import FIELD_STATEMENTS
from stepstore.lab.simulation.files_figures import ESTIMATE, FILES_FIGURES, FilesExperiments
from stepstore.lab.simulation.figures import FIGURES, Drawn, draw
from stepstore.lab.simulation.goals import goals
from stepstore.lab.simulation.measure import measure, validate
from stepstore.lab.simulation.reasons import why
from stepstore.lab.simulation.run import SIMULATE, Simulator
from stepstore.lab.simulation.statements import GOAL, STATEMENTS, Statement
from stepstore.paths import program


def simulate(arguments: list[str]) -> None:
    signal.signal(signal.SIGTERM, _interrupted)
    if arguments[:1] == ["figures"]:
        return _figures(arguments[1:])
    if arguments[:1] == ["measure"]:
        return measure(arguments[1:])
    if arguments[:1] == ["validate"]:
        return validate(arguments[1:])
    parser = _parser(
        "simulate",
        "Run a job on a simulated cluster: ranks write metadata in every step, other ranks read all of them. "
        "Prints virtual milliseconds of a rank and step, as 'stepstore bench layouts' does.",
        {
            "figures": "draw the references' figures, and compare their statements",
            "measure": "measure this machine, and write a cluster file of it",
            "validate": "compare simulated with measured times on this machine",
        },
    )
    parser.add_argument("--writers", type=int, default=64, metavar="N", help="ranks that write (default: 64)")
    parser.add_argument(
        "--readers", type=int, metavar="N", help="ranks that read (default: as many as write)"
    )
    parser.add_argument("--steps", type=int, default=10, metavar="N", help="steps (default: 10)")
    parser.add_argument(
        "--sizes",
        type=words,
        default=["5k", "56k"],
        metavar="SIZE,...",
        help="bytes of a rank's metadata, also with k or M: SIZE, LEAST..MOST, or @FILE (default: 5k,56k)",
    )
    parser.add_argument(
        "--points",
        nargs="+",
        default=["layouts"],
        metavar="POINT",
        help="'default', 'layouts' (each of them; default), 'all', or choices with commas between them",
    )
    on_option(parser)
    options = parser.parse_args(arguments)
    if options.readers is None:
        options.readers = max(options.writers, 1)
    if options.readers < 1:
        parser.error("give at least 1 reader")
    cluster = cluster_of(options)
    simulator = _simulator(options, cluster)
    points = chosen_points(options.points, Space(space_of("stepstore-simulate")), parser.error)
    outcomes = _outcomes(simulator, options, points)
    if options.json:
        return report_json(outcomes)
    report_table(outcomes, options)
    show(f"simulated cluster {load(named(cluster)).name}: virtual time; one run, for it has no noise")


def _figures(arguments: list[str]) -> None:
    parser = _parser(
        "simulate figures",
        "Run the experiments of the two references on their simulated clusters, draw each figure (PNG, SVG, "
        "CSV) and compare what the references state in numbers. The second reference's figures are "
        "called fdb-N. Those of pools in files, files-N, are of no reference. They compare streams with one "
        "file and with DAOS (1 and 2, which are estimates), and fields with FDB's files and with DAOS (3).",
    )
    known = _known_figures()
    parser.add_argument(
        "--fields-cluster",
        default="nextgenio",
        metavar="NAME|FILE",
        help="the cluster of the second reference's figures (default: nextgenio)",
    )
    parser.add_argument(
        "--files-cluster",
        default=LUSTRE,
        metavar="NAME|FILE",
        help=f"the cluster of the figures about pools in files (default: {LUSTRE})",
    )
    parser.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        default=Path("figures"),
        help="for the files (default: figures)",
    )
    parser.add_argument(
        "--only",
        type=words,
        default=known,
        metavar="N,...",
        help=f"of these figures (default: {','.join(known)})",
    )
    parser.add_argument("--no-drawing", action="store_true", help="compare the statements only")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.only) - set(known)):
        parser.error(f"--only: no figure {', '.join(unknown)}; there are {', '.join(known)}")
    if not options.no_drawing:
        require_matplotlib()
        options.directory.mkdir(parents=True, exist_ok=True)
    cluster = options.cluster or REFERENCE.stem
    metadata = Experiments(_simulator(options, cluster))
    fields = FieldExperiments(_simulator(options, options.fields_cluster))
    files = _drawn(FIGURES, metadata, options, cluster)
    files += _drawn(FIELD_FIGURES, fields, options, options.fields_cluster)
    in_files = FilesExperiments(_simulator(options, options.files_cluster, ESTIMATE))
    files += _drawn(FILES_FIGURES, in_files, options, options.files_cluster)
    in_pools = FieldExperiments(_simulator(options, options.files_cluster))
    files += _drawn(FIELDS_ON_FILES, in_pools, options, options.files_cluster)
    records = _compared(STATEMENTS, metadata, options.only) + _compared(
        FIELD_STATEMENTS, fields, options.only
    )
    if not options.no_drawing:
        write_statements(options.directory, "simulated", records)
        if "13" in options.only:
            write_statements(options.directory, "goals", goals(metadata))
    if options.json:
        return emit_json({"statements": records, "files": [str(file) for file in files]})
    _show_statements(records)
    if files:
        show(f"{len(files)} files in {options.directory}")


def _interrupted(number: int, _: object) -> None:
    """As ^C: what was begun is taken back, and the simulations end."""
    raise SystemExit(128 + number)


def _known_figures() -> list[str]:
    drawn = [one.number for one in (*FIGURES, *FIELD_FIGURES, *FILES_FIGURES, *FIELDS_ON_FILES)]
    stated = [one.figure for one in (*STATEMENTS, *FIELD_STATEMENTS)]
    return sorted({*drawn, *stated}, key=_order)


def _order(number: str) -> tuple[str, int]:
    group, _, own = number.rpartition("-")
    return group, int(own)


def _drawn(figures: tuple[Drawn, ...], lab: Any, options: argparse.Namespace, cluster: str) -> list[Path]:
    chosen = [] if options.no_drawing else [one for one in figures if one.number in options.only]
    lab.prepare([need for one in chosen for need in one.needs])
    caption = f"simulated cluster {load(named(cluster)).name}"
    return [file for one in chosen for file in draw(one, lab, options.directory, caption)]


def _parser(name: str, description: str, commands: dict[str, str] | None = None) -> Parser:
    parser = Parser(name, description, commands)
    cluster_options(parser)
    return parser


def cluster_options(parser: argparse.ArgumentParser) -> None:
    """The options of all commands about a cluster: which one, and how the result is printed."""
    parser.add_argument(
        "--cluster",
        default="",
        metavar="NAME|FILE",
        help="the cluster: one that comes with Stepstore, or a TOML file (default: reference; with --on "
        "files: lustre)",
    )
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another value of a parameter of the cluster; may be given several times",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def on_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--on",
        choices=("objects", "files"),
        default="objects",
        help="what the pool lies on: the cluster's object store (DAOS), or its parallel file system, as a "
        "pool in files (default: objects)",
    )


def cluster_of(options: argparse.Namespace) -> str:
    return str(options.cluster or (LUSTRE if options.on == "files" else REFERENCE.stem))


def chosen_parameters(options: argparse.Namespace) -> dict[str, float]:
    return dict(map(_parameter, options.parameter))


def _simulator(options: argparse.Namespace, cluster: str, name: str = SIMULATE) -> Simulator:
    return Simulator(load(named(cluster)), name, **chosen_parameters(options))


def _parameter(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        number = json.loads(value)
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise CommandError(f"--parameter {text}: give NAME=NUMBER, such as servers=20")
    return name, number


def space_of(name: str) -> dict[str, Any]:
    """The points of the design space, as this program of the installation has it."""
    done = subprocess.run([program(name), "--list"], capture_output=True, check=True)
    return dict(json.loads(done.stdout))


def _outcomes(simulator: Simulator, options: argparse.Namespace, points: list[Point]) -> list[Outcome]:
    outcomes = [Outcome(size, point.name, point) for size in options.sizes for point in points]
    counts = {
        "writers": options.writers,
        "readers": options.readers,
        "steps": options.steps,
        "on": options.on,
    }
    jobs = [
        {**counts, "size": one.size, "set": one.point.written, "read": one.point.read}
        for one in outcomes
        if one.point
    ]
    for one, found in zip(outcomes, simulator.run_all([(job, {}) for job in jobs]), strict=True):
        one.add(found, found["readings"][0])
    return outcomes


def _compared(statements: tuple[Statement, ...], lab: Any, only: list[str]) -> list[dict[str, Any]]:
    return [_record(one, one.value(lab), why(one, lab)) for one in statements if one.figure in only]


def _record(statement: Statement, value: float, reason: str) -> dict[str, Any]:
    return {
        "figure": statement.figure,
        "statement": statement.text,
        "published": statement.published,
        "kind": statement.kind,
        "unit": statement.unit,
        "simulated": value,
        "ratio": value / statement.published,
        "how": "fitted" if statement.fitted else "predicted",
        "holds": statement.holds(value),
        "why": reason,
    }


def _show_statements(records: list[dict[str, Any]]) -> None:
    right = "right"
    columns: list[Any] = ["FIGURE", "STATEMENT", ("PUBLISHED", right), ("SIMULATED", right), ("RATIO", right)]
    rows = [
        (
            one["figure"],
            one["statement"],
            f"{'' if one['kind'] == 'about' else one['kind'] + ' '}{one['published']:g}",
            f"{one['simulated']:.2f}",
            f"{one['ratio']:.2f}",
            one["how"],
            "yes" if one["holds"] else "NO",
        )
        for one in records
    ]
    show(table([*columns, "HOW", f"WITHIN {GOAL:.0%}"], rows))
