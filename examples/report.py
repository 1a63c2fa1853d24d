#!/usr/bin/env python3
"""The demo's report: what the same run cost through each engine, and whether all gave the same bytes.

report.py picture POOL PNG          draws the field from a stream of Stepstore
report.py acquire CONFIG JSON       reads a finished run, chosen by ADIOS2's configuration, and times the
                                    acquisition of a step
report.py compare DIRECTORY NAME... compares the runs in DIRECTORY/NAME with the first of them; prints the
                                    table, draws timings.png
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
STYLE = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
}


def pyplot():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(STYLE)
    return plt


# ---- the picture of the field
def picture(pool: str, path: str) -> None:
    """V in the middle plane at four moments, read with Stepstore's own Python package."""
    import numpy as np
    import stepstore

    with stepstore.open_steps(pool) as steps:
        chosen = sorted({int(i) for i in np.linspace(0, len(steps) - 1, 4).round()})
        depth = steps.shape("V")[0] // 2
        planes = [
            (int(steps.read("step", i)), steps.read("V", i, start=(depth, 0, 0), count=(1, -1, -1))[0])
            for i in chosen
        ]
    plt = pyplot()
    highest = max(float(plane.max()) for _, plane in planes)
    figure, axes = plt.subplots(
        1, len(planes), figsize=(3.1 * len(planes), 3.7), layout="constrained", squeeze=False
    )
    for axis, (step, plane) in zip(axes[0], planes, strict=True):
        image = axis.imshow(
            plane, origin="lower", cmap="magma", vmin=0, vmax=highest, interpolation="bicubic"
        )
        axis.set_title(f"step {step}", fontsize=10, fontweight="normal")
        axis.set_xticks([])
        axis.set_yticks([])
        for spine in axis.spines.values():
            spine.set_visible(False)
    figure.colorbar(image, ax=axes, label="V", shrink=0.75, pad=0.01)
    figure.suptitle(
        "Gray-Scott: V in the middle plane, read from objects", x=0.01, ha="left", fontweight="bold"
    )
    figure.savefig(path, dpi=150)


# ---- acquisition alone
def acquire(config: str, path: str) -> None:
    """Opens the finished run and walks through its steps, reading no data: what it takes until a step can be
    used. An engine may fetch many steps with the first; so what counts is the mean over all of them. The
    opening, a one-off cost, is timed apart."""
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
    run = {"name": name}
    for part in ("writer", "live", "acquire", "profile"):
        file = directory / name / f"{part}.json"
        run[part] = json.loads(file.read_text()) if file.exists() else None
    return run


def differences(reference: dict, run: dict) -> list[str]:
    """What run read other than the reference did: steps, shapes, hashes of the fields' bytes, attributes."""
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


def summary(run: dict) -> dict:
    """Milliseconds per step. The first step is left out of the writer's and the live times: it carries
    one-off costs."""
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
        "engine": run["name"],
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


EXPLANATION = """\
Milliseconds per step, of the same application on each engine.
  stabilisation  EndStep on the slowest of {ranks} ranks, data and metadata; median without the first step
  acquisition    BeginStep of one reader of the finished run: step mean, median of {repetitions} readings
  end to end     their sum
  live           from the begin of EndStep until the analysis on the same machine had the step; median
  metadata, data what the slowest writer spent on each, from the stream's own profile; mean
  open           a reader's one-off cost"""


def show(rows: list[dict], verdicts: dict[str, str], ranks: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"The same simulation through {len(rows)} engines", title_justify="left", title_style="bold"
    )
    table.add_column("engine")
    for title in ("stabilisation", "acquisition", "end to end", "live", "metadata", "data", "open"):
        table.add_column(title, justify="right")
    table.add_column("what was read", no_wrap=True)
    for row in rows:
        keys = (
            "stabilisation_ms",
            "acquisition_ms",
            "end_to_end_ms",
            "live_ms",
            "metadata_ms",
            "data_ms",
            "open_ms",
        )
        numbers = [f"{row[key]:.3f}" if key in row else "" for key in keys]
        table.add_row(row["engine"], *numbers, verdicts[row["engine"]])
    console = Console(highlight=False, width=max(shutil.get_terminal_size().columns, 130))
    console.print(table)
    console.print(EXPLANATION.format(ranks=ranks, repetitions=REPETITIONS), style="dim")


def plot(rows: list[dict], ranks: int, path: Path) -> None:
    """Stabilisation and acquisition on top of each other: the end-to-end time of a step."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(8, 0.62 * len(rows) + 1.9), layout="constrained")
    names = [row["engine"] if row["engine"] == "bp5" else f"stepstore {row['engine']}" for row in rows]
    first = [row["stabilisation_ms"] for row in rows]
    second = [row["acquisition_ms"] for row in rows]
    axis.barh(names, first, color="#2a6f97", label="stabilisation (EndStep, slowest rank)", height=0.62)
    axis.barh(
        names, second, left=first, color="#f4a259", label="acquisition (BeginStep, one reader)", height=0.62
    )
    reach = max(row["end_to_end_ms"] for row in rows)
    for number, row in enumerate(rows):
        axis.text(
            row["end_to_end_ms"] + 0.01 * reach,
            number,
            f"{row['end_to_end_ms']:.3g} ms",
            va="center",
            fontsize=9,
        )
    axis.invert_yaxis()
    axis.set_xlim(0, 1.14 * reach)
    axis.set_xlabel("milliseconds per step")
    axis.set_title(f"What a step of Gray-Scott costs on {ranks} ranks, end to end")
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#dddddd", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.4, -0.14), ncols=2, fontsize=9)
    figure.savefig(path, dpi=150)


def compare(directory: Path, names: list[str]) -> int:
    runs = [load(directory, name) for name in names]
    reference = runs[0]
    found = {run["name"]: differences(reference, run) for run in runs}
    verdicts = {name: "different" if found[name] else "equal, bit for bit" for name in names}
    steps = len(reference["live"]["steps"])
    verdicts[names[0]] = f"the reference"
    rows = [summary(run) for run in runs]
    ranks = reference["writer"]["ranks"]
    show(rows, verdicts, ranks)
    plot(rows, ranks, directory / "timings.png")
    result = {"ranks": ranks, "steps": steps, "differences": found, "engines": rows}
    (directory / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    for name, lines in found.items():
        for line in lines:
            print(f"error: {name}: {line}", file=sys.stderr)
    return 1 if steps == 0 or any(found.values()) else 0


def main(arguments: list[str]) -> int:
    match arguments:
        case ["picture", pool, path]:
            picture(pool, path)
        case ["acquire", config, path]:
            acquire(config, path)
        case ["compare", directory, first, second, *more]:
            return compare(Path(directory), [first, second, *more])
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
