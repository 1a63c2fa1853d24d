#!/usr/bin/env python3
"""The demo's report: the times of the same run through each engine, and whether all gave the same bytes.

report.py prepare JSON              before a run: settles the memory, and looks what else the machine does
report.py acquire CONFIG JSON       reads a finished run, chosen by ADIOS2's configuration, and times the
                                    acquisition of a step
report.py compare DIRECTORY NAME... compares the runs in DIRECTORY/rounds/1/NAME, .../2/NAME and so on with
                                    the first of them; prints the table, draws timings.png, writes
                                    results.json. A run async-write at the end is the one before it with
                                    AsyncWrite: it gets a line of its own
report.py same REFERENCE RUN        whether what was read of the run in the folder RUN is what was read of the
                                    one in REFERENCE
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from pathlib import Path

IO_NAME = "SimulationOutput"
REPETITIONS = 5
ENOUGH_ROUNDS = 5  # for a median to be trusted
BESIDE = "async-write"  # the run whose steps are written beside the computation
PARTS = ("writer", "live", "acquire", "profile", "others")


# ---- before a run
def prepare(path: str, quick: bool) -> None:
    """Makes runs comparable: each begins with memory that was just used, and after the write-back of the
    previous run."""
    from stepstore.lab.benchmarks.machine import others_share
    from stepstore.lab.benchmarks.memory import settle

    if not quick:
        settle(1 << 29)
    Path(path).write_text(json.dumps({"share": others_share(0.1 if quick else 0.5)}) + "\n")


# ---- acquisition alone
def acquire(config: str, path: str) -> None:
    """Opens the finished run and walks through its steps, reading no data: the time until a step can be
    used. An engine may fetch many steps with the first, so the result is the mean over all of them. The
    opening, a one-off cost, is timed separately."""
    import adios2

    runs = []
    for number in range(REPETITIONS):
        io = adios2.Adios(config).declare_io(IO_NAME)
        begin = time.perf_counter()
        engine = io.open("gray-scott.bp", adios2.bindings.Mode.Read)
        opened = time.perf_counter() - begin
        steps = []
        while True:
            begin = time.perf_counter()
            status = engine.begin_step(adios2.bindings.StepMode.Read, 10.0)
            seconds = time.perf_counter() - begin
            if status != adios2.bindings.StepStatus.OK:
                break
            steps.append(seconds)
            engine.end_step()
        engine.close()
        if status != adios2.bindings.StepStatus.EndOfStream or not steps:
            sys.exit(
                f"report: reading {config} again (pass {number}) ended with {status} after {len(steps)} steps"
            )
        runs.append({"open_seconds": opened, "begin_step_seconds": steps})
    Path(path).write_text(json.dumps(runs, indent=1) + "\n")


# ---- comparing
def load(directory: Path, name: str) -> dict:
    """A run: what its parts have written, and the engine's name."""
    run = {"engine": name}
    for part in PARTS:
        file = directory / name / f"{part}.json"
        run[part] = json.loads(file.read_text()) if file.exists() else None
    return run


def differences(reference: dict, run: dict) -> list[str]:
    """The differences of a run from the reference: steps, shapes, hashes of the fields' bytes, attributes."""
    found = []
    expected, got = reference["live"]["steps"], run["live"]["steps"]
    if [s["step"] for s in expected] != [s["step"] for s in got]:
        found.append(f"steps {[s['step'] for s in got]} instead of {[s['step'] for s in expected]}")
    for one, other in zip(expected, got, strict=False):
        found += [
            f"step {one['step']}: {part} differs" for part in ("shape", "U", "V") if one[part] != other[part]
        ]
    if reference["live"]["attributes"] != run["live"]["attributes"]:
        found.append(f"attributes {run['live']['attributes']} instead of {reference['live']['attributes']}")
    return found


def summary(run: dict) -> dict[str, float]:
    """Of one run, milliseconds per step. The first step is left out of the writer's and the live times: it
    carries one-off costs."""
    outputs = run["writer"]["outputs"]
    later = outputs[1:] or outputs
    acquisitions = [statistics.mean(r["begin_step_seconds"]) for r in run["acquire"]]
    live = [
        seen["available"] - (written["published"] - written["end_step_seconds"])
        for seen, written in zip(run["live"]["steps"], outputs, strict=False)
    ]
    stabilisation = 1e3 * statistics.median(o["end_step_seconds"] for o in later)
    acquisition = 1e3 * statistics.median(acquisitions)
    found = {
        "stabilisation_ms": stabilisation,
        "acquisition_ms": acquisition,
        "end_to_end_ms": stabilisation + acquisition,
        "live_ms": 1e3 * statistics.median(live[1:] or live),
        "first_step_ms": 1e3 * outputs[0]["end_step_seconds"],
        "open_ms": 1e3 * statistics.median(r["open_seconds"] for r in run["acquire"]),
    }
    if run["profile"]:
        ranks = [rank for rank in run["profile"]["ranks"] if rank["steps"]]
        found["metadata_ms"] = 1e3 * max(rank["stabilisation_seconds"] / rank["steps"] for rank in ranks)
        found["data_ms"] = 1e3 * max(rank["data_seconds"] / rank["steps"] for rank in ranks)
        found["metadata_bytes"] = sum(rank["metadata_bytes"] / rank["steps"] for rank in ranks)
    return found


def over_rounds(runs: list[dict], references: list[dict]) -> dict:
    """Of one engine: the median of the rounds, and from the least to the most of them. How much faster it is
    than the reference was in the same round."""
    rounds = [summary(run) for run in runs]
    theirs = [summary(run)["end_to_end_ms"] for run in references]
    medians = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    spread = {key: [min(one[key] for one in rounds), max(one[key] for one in rounds)] for key in rounds[0]}
    ratios = [their / one["end_to_end_ms"] for their, one in zip(theirs, rounds, strict=True)]
    medians["times_faster"] = statistics.median(theirs) / medians["end_to_end_ms"]
    spread["times_faster"] = [min(ratios), max(ratios)]
    return {"engine": runs[0]["engine"], **medians, "spread": spread, "rounds": rounds}


def machine(rounds: list[list[dict]]) -> dict:
    """The share of the processors that others used, by round; busy: None if it is not known."""
    from stepstore.lab.benchmarks.machine import BUSY

    shares = [[run["others"]["share"] for run in runs] for runs in rounds]
    if any(share is None for runs in shares for share in runs):
        return {"others_share": None, "by_round": None, "busy": None}
    by_round = [statistics.mean(runs) for runs in shares]
    whole = statistics.mean(by_round)
    return {"others_share": whole, "by_round": by_round, "busy": whole >= BUSY}


def verdict_on(machine: dict, rounds: int) -> str:
    """The line that says whether the numbers can be trusted."""
    if machine["busy"] is None:
        return "whether the machine was busy is not known: there is no /proc/stat"
    by_round = ", ".join(f"{share:.0%}" for share in machine["by_round"])
    used = f"before the runs other work used {machine['others_share']:.0%} of its processors"
    if machine["busy"]:
        return (
            f"BUSY MACHINE: {used} (by round: {by_round}). Do not trust these numbers: run it again when the "
            "machine is quiet"
        )
    few = "" if rounds >= ENOUGH_ROUNDS else f"; but {rounds} rounds are too few for numbers to trust"
    return f"the machine was quiet: {used} (by round: {by_round}){few}"


EXPLANATION = """\
Milliseconds per step, of the same application on each engine: the median of {rounds} rounds, and below it the
least and the most of them. A round runs every engine once, one after the other.
  stabilisation  EndStep on the slowest of {ranks} ranks, data and metadata; of a run: median without the
                 first of {steps} steps
  acquisition    BeginStep of one reader of the finished run; of a run: step mean, median of {repetitions}
                 readings
  end to end     their sum, in each round
  times faster   {reference}'s end to end by the engine's
  live           from the begin of EndStep until the analysis on the same machine had the step; median
  metadata, data what the slowest writer spent on each, from the stream's own profile; mean
  open           a reader's one-off cost"""


def digits(value: float) -> str:
    """Three of them, as far as they are behind the point."""
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0}f}"


def range_of(spread: list[float]) -> str:
    least, most = map(digits, spread)
    return f"{least} to {most}" if least != most else ""


def show(rows: list[dict], verdicts: dict[str, str], explanation: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    title = f"The same simulation through {len(rows)} engines"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("engine", no_wrap=True)
    spread = ("stabilisation", "acquisition", "end to end", "times faster", "live")
    single = ("metadata", "data", "open")
    for name in (*spread, *single):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("what was read", no_wrap=True)
    for row in rows:
        cells = []
        for name in (*spread, *single):
            key = name.replace(" ", "_") + ("" if name == "times faster" else "_ms")
            cell = digits(row[key]) if key in row else ""
            cells.append(f"{cell}\n[dim]{range_of(row['spread'][key])}[/dim]" if name in spread else cell)
        table.add_row(row["engine"], *cells, verdicts[row["engine"]])
    console = Console(highlight=False, width=max(shutil.get_terminal_size().columns, 150))
    console.print(table)
    console.print(explanation, style="dim")


def headline(reference: dict, best: dict, rounds: int) -> str:
    return (
        f"a step end to end: {reference['engine']} {digits(reference['end_to_end_ms'])} ms, Stepstore "
        f"({best['engine']}) {digits(best['end_to_end_ms'])} ms: {digits(best['times_faster'])} times faster "
        f"({range_of(best['spread']['times_faster'])}); medians of {rounds} rounds, and their range"
    )


def beside_line(plain: dict, beside: dict) -> str:
    """What AsyncWrite hides: EndStep returns earlier, and readers have the step as before, or later."""
    saved, live = (
        [f"{digits(row[key])} ms ({range_of(row['spread'][key])})" for row in (beside, plain)]
        for key in ("stabilisation_ms", "live_ms")
    )
    return (
        f"with AsyncWrite ({plain['engine']}): EndStep returns after {saved[0]} instead of {saved[1]}; the "
        f"analysis has the step after {live[0]} instead of {live[1]}"
    )


def plot(rows: list[dict], ranks: int, rounds: int, busy: bool, path: Path) -> None:
    """Stabilisation and acquisition on top of each other, medians; a line from the least to the most of the
    end-to-end times of a step in the rounds."""
    from stepstore.lab.figures import LOWER, Quantity, blank, entitle, parts, save_picture

    figure, (panel,) = blank(8, 0.62 * len(rows) + 1.6)
    quantity = Quantity(
        "time of a step, end to end" + ("; BUSY MACHINE" if busy else ""), "ms", "time_ms", LOWER
    )
    values = {
        "stabilisation (EndStep, slowest rank)": [row["stabilisation_ms"] for row in rows],
        "acquisition (BeginStep, one reader)": [row["acquisition_ms"] for row in rows],
    }
    names = ["BP5 (files)" if row["engine"] == "bp5" else f"stepstore {row['engine']}" for row in rows]
    ranges = [tuple(row["spread"]["end_to_end_ms"]) for row in rows]
    whole = [row["end_to_end_ms"] for row in rows]
    parts(figure, panel, names, quantity, values, ranges, whole)
    entitle(figure, f"What a step of Gray-Scott costs on {ranks} ranks: medians of {rounds} rounds")
    save_picture(path, figure)


def load_rounds(directory: Path, names: list[str]) -> list[list[dict]]:
    rounds = sorted((directory / "rounds").iterdir(), key=lambda path: int(path.name))
    return [[load(path, name) for name in names] for path in rounds]


def same(reference: Path, run: Path) -> int:
    one, other = (load(path.parent, path.name) for path in (reference, run))
    found = differences(one, other)
    verdict = "different" if found else "equal, bit for bit"
    print(f"{run.name}: {len(other['live']['steps'])} steps, {verdict} with {reference.name}")
    for line in found:
        print(f"error: {run.name}: {line}", file=sys.stderr)
    return 1 if found or not one["live"]["steps"] else 0


def compare(directory: Path, names: list[str]) -> int:
    rounds = load_rounds(directory, names)
    reference = rounds[0][0]
    found: dict[str, list[str]] = {name: [] for name in names}
    for number, runs in enumerate(rounds, start=1):
        for run in runs:
            found[run["engine"]] += [f"round {number}: {line}" for line in differences(reference, run)]
    verdicts = {name: "different" if found[name] else "equal, bit for bit" for name in names}
    if not found[names[0]]:
        verdicts[names[0]] = "the reference"
    by_engine = list(zip(*rounds, strict=True))
    rows = [over_rounds(list(runs), list(by_engine[0])) for runs in by_engine]
    beside = rows.pop() if names[-1] == BESIDE else None
    ranks, steps = reference["writer"]["ranks"], len(reference["live"]["steps"])
    conditions = machine(rounds)
    explanation = EXPLANATION.format(
        rounds=len(rounds), ranks=ranks, steps=steps, repetitions=REPETITIONS, reference=names[0]
    )
    show(rows, verdicts, explanation)
    print(headline(rows[0], rows[-1], len(rounds)))
    if beside is not None:
        print(beside_line(rows[-1], beside))
    print(verdict_on(conditions, len(rounds)))
    plot(rows, ranks, len(rounds), conditions["busy"] is True, directory / "timings.png")
    result = {
        "ranks": ranks,
        "steps": steps,
        "rounds": len(rounds),
        "machine": conditions,
        "differences": found,
        "engines": rows,
        "async_write": beside,
        "raw": rounds,
    }
    (directory / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    for name, lines in found.items():
        for line in lines:
            print(f"error: {name}: {line}", file=sys.stderr)
    return 1 if steps == 0 or any(found.values()) else 0


def main(arguments: list[str]) -> int:
    match arguments:
        case ["prepare", path]:
            prepare(path, quick=False)
        case ["prepare", "--quick", path]:
            prepare(path, quick=True)
        case ["acquire", config, path]:
            acquire(config, path)
        case ["same", reference, run]:
            return same(Path(reference), Path(run))
        case ["compare", directory, first, second, *more]:
            return compare(Path(directory), [first, second, *more])
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
