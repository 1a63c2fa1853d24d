"""stepstore pool: create, list, query, check, compact, destroy."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from stepstore import _core
from stepstore.cli import complete
from stepstore.cli.address import check_text
from stepstore.cli.common import JsonOption, YesOption, confirm, emit, one_of, warn
from stepstore.cli.pages import Application
from stepstore.console import (
    CommandError,
    ExitCode,
    Settings,
    emit_json,
    facts,
    human_bytes,
    show,
    styled,
    table,
)
from stepstore.errors import DER_NONEXIST, Error
from stepstore.store import Pool

app = Application(help="Make, list, check, compact and remove pools, which hold containers.")

PoolArgument = Annotated[
    str,
    typer.Argument(
        metavar="POOL",
        autocompletion=complete.pools,
        help="A directory, local:LABEL under the root directory, shared:DIRECTORY of a pool in files, or "
        "rados://CEPHPOOL/NAMESPACE.",
    ),
]


@app.command()
def create(
    pool: PoolArgument,
    targets: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=256,
            show_default="one per processor, 4 to 16",
            help="Number of targets, up to 256. Writers to different targets never wait for each other.",
        ),
    ] = None,
    durability: Annotated[
        str,
        typer.Option(
            **one_of("process", "power"),
            help="What an acknowledged update survives: the death of a process, or a power failure.",
        ),
    ] = "process",
    label: Annotated[
        str,
        typer.Option(metavar="LABEL", show_default="the last part of the path", help="Its name in lists."),
    ] = "",
    on: Annotated[
        str,
        typer.Option(
            **one_of("machine", "files"),
            help="What keeps the objects: a store of this machine, or plain files on a file system that "
            "machines share, as of shared:DIRECTORY.",
        ),
    ] = "machine",
    target_dir: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIRECTORY",
            help="A directory for targets, instead of POOL. Give one for each disk: they take turns.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a pool. Its directory is made when missing."""
    if on == "files" and targets:
        raise CommandError("--targets: a pool in files has none; leave it out", ExitCode.USAGE)
    check_text(pool)
    if on == "files" and not _core.parse_location(pool).scheme:
        pool = f"shared:{_core.pool_path(pool)}"
    Pool.create(pool, label=label, targets=targets or 0, durability=durability, target_dirs=target_dir or ())
    made = describe(pool)
    emit(as_json, made, lambda: f"made pool {made['label']} in {made['path']}")


def describe(pool: str) -> dict[str, Any]:
    with naming(pool):
        return _core.pool_describe(pool)


@contextlib.contextmanager
def naming(pool: str) -> Iterator[None]:
    """The store names the directories it looked in; users also want to see what they typed."""
    try:
        yield
    except Error as error:
        if error.code == DER_NONEXIST and pool not in str(error):
            raise Error(error.code, f"{pool}: no such pool: {error}") from error
        raise


@app.command("list")
def list_pools(
    root: Annotated[
        str | None,
        typer.Argument(
            metavar="DIRECTORY", show_default="$STEPSTORE_ROOT", help="The directory to look below."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the pools below a directory."""
    below = root if root is not None else os.path.dirname(_core.pool_path("local:label"))
    found = _core.pool_list(root)
    rows = [(p.get("label", ""), p.get("durability", ""), p.get("containers", ""), p["path"]) for p in found]
    for broken in (p for p in found if "error" in p):
        warn(f"{broken['path']}: {broken['error']}")
    columns: list[Any] = ["LABEL", "DURABILITY", ("CONTAINERS", "right"), "PATH"]
    none = f"there is no pool below {below}: give another directory to look there"
    emit(as_json, found, lambda: table(columns, rows) if rows else none)


@app.command()
def query(pool: PoolArgument, as_json: JsonOption = False) -> None:
    """Show a pool: its format, space, and what its targets hold and did."""
    check_text(pool)
    info = describe(pool)
    if as_json:
        emit_json(info)
        return
    total = info["space_total"]
    space = f"{human_bytes(info['space_free'])} free of {human_bytes(total)}" if total else "not known"
    shown = {name: info[name] for name in ("label", "path", "uuid")}
    shown |= {"back end": f"{info['backend']}, format {info['format']}"}
    shown |= {"durability": info["durability"], "space": space}
    if info["backend"] == "files":
        keys, arrays = (info["targets"][0][f"{part}_bytes"] for part in ("index", "bulk"))
        takes = f"{human_bytes(keys)} of keys and {human_bytes(arrays)} of arrays"
        shown |= {"takes": f"{takes}, in {info['files']:,} files and directories"}
    show(facts(shown.items()))
    if info["backend"] != "files":
        show(_targets_table(info["targets"]))


def _targets_table(targets: list[dict[str, Any]]) -> Any:
    columns = ["TARGET", "INDEX", "BULK", "UPDATES", "FETCHES", "WRITTEN", "READ"]
    names = ("index_bytes", "bulk_bytes", "updates", "fetches", "bytes_written", "bytes_read")
    rows = [
        (number, *(human_bytes(t[name]) if "bytes" in name else t[name] for name in names))
        for number, t in enumerate(targets)
    ]
    return table([(column, "right") for column in columns], rows)


_STYLES = {"damage": "bold red", "reclaimable": "yellow", "info": "cyan"}


@app.command()
def check(
    pool: PoolArgument,
    no_data: Annotated[
        bool, typer.Option("--no-data", help="Check only the structure: do not read and verify every value.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Free space that nothing refers to. Never changes what is referenced."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Walk a whole pool and its streams, and say what is damaged and what can be saved.

    Exit code 4: damage."""
    check_text(pool)
    findings: list[dict[str, Any]] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(
        *columns, console=Settings.err, transient=True, disable=not Settings.err.is_terminal
    ) as progress:
        task = progress.add_task("checking objects")

        def take(finding: dict[str, Any]) -> None:
            findings.append(finding)
            progress.update(task, description=f"checking objects, {len(findings)} findings")

        with naming(pool):
            summary = _core.pool_check(pool, not no_data, repair, take)
        progress.update(task, description="checking streams")
        found, streams = check_streams(pool, data=not no_data)
    findings += found
    summary.update(streams)
    damaged = bool(summary.get("damaged")) or any(f["severity"] == "damage" for f in findings)
    summary["damaged"] = damaged
    if as_json:
        emit_json({"findings": findings, "summary": summary})
    else:
        _show_findings(findings, summary)
    if damaged:
        raise typer.Exit(ExitCode.DAMAGE)


def check_streams(pool: str, *, data: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Findings about the streams of a pool, and the streams looked at. A pool so damaged that its streams
    cannot be walked is a finding too."""
    try:
        report = _core.check_streams(pool, data)
    except Error as error:
        finding = {
            "severity": "damage",
            "where": pool,
            "what": f"the streams cannot be walked: {error}",
            "advice": "what the other findings do not name is untouched: read it with stepstore ls and cat",
        }
        return [finding], {}
    return report["findings"], {"streams": report["streams"]}


def _show_findings(findings: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    for finding in findings:
        line = styled(finding["severity"], _STYLES.get(finding["severity"], ""))
        line.append(styled(f"  {finding['where']}: {finding['what']}", "default not bold"))
        Settings.out.print(line, soft_wrap=True)
        if finding.get("advice"):
            Settings.out.print(styled(f"        {finding['advice']}", "dim"), soft_wrap=True)
    for stream in summary.get("streams", []):
        state = "" if stream["closed"] else ", not ended by its writer"
        show(f"stream {stream['name']}: {stream['layout']}, {stream['whole_steps']} whole steps{state}")
    counted = [
        (name, summary[name]) for name in ("containers", "objects", "records", "extents") if name in summary
    ]
    text = ", ".join(f"{count} {name}" for name, count in counted)
    if "bytes" in summary:
        text += f", {human_bytes(summary['bytes'])}"
    show(f"checked {text}")
    if summary.get("reclaimed_bytes"):
        show(f"freed {human_bytes(summary['reclaimed_bytes'])}")
    elif summary.get("reclaimable_bytes"):
        show(f"{human_bytes(summary['reclaimable_bytes'])} can be freed with --repair")
    verdict = styled("damage found", "bold red") if summary["damaged"] else styled("no damage", "green")
    Settings.out.print(verdict)


@app.command()
def compact(pool: PoolArgument, as_json: JsonOption = False) -> None:
    """Free space that nothing needs, also while the pool is in use.

    Of a pool in files: put many small files into few. No other process may write to it meanwhile."""
    check_text(pool)
    with naming(pool):
        targets = _core.pool_compact(pool)
    given_back = sum(t[f"{part}_before"] - t[f"{part}_after"] for t in targets for part in ("index", "bulk"))
    if as_json:
        emit_json({"targets": targets, "given_back_bytes": given_back})
        return
    files = next((t for t in targets if "files_before" in t), None)
    if files:
        show(f"{files['files_before']:,} files and directories became {files['files_after']:,}")
        show(f"freed {human_bytes(max(given_back, 0))}")
        return
    columns = ["TARGET", "INDEX BEFORE", "AFTER", "BULK BEFORE", "AFTER"]
    sizes = ("index_before", "index_after", "bulk_before", "bulk_after")
    rows = [(t["target"], *(human_bytes(t[size]) for size in sizes)) for t in targets]
    show(table([(column, "right") for column in columns], rows))
    # Others who write meanwhile may have taken more than was given back.
    show(f"freed {human_bytes(max(given_back, 0))}")


@app.command()
def destroy(pool: PoolArgument, yes: YesOption = False) -> None:
    """Remove a pool and all in it."""
    check_text(pool)
    try:
        path = _path_of(pool)  # a missing pool is said before the question
    except Error as error:
        if error.code != DER_NONEXIST:
            raise
        with naming(pool):
            Pool.destroy(pool)  # what a killed maker or destroyer left is no pool any more
        show(f"removed the rest of the pool {pool}")
        return
    confirm(f"Remove the pool in {path} with all its containers?", yes)
    Pool.destroy(pool)
    show(f"removed pool {path}")


def _path_of(pool: str) -> str:
    """The directory of a pool that is there, whole or not."""
    try:
        return str(describe(pool)["path"])
    except Error as error:
        if error.code == DER_NONEXIST:
            raise
        return _core.pool_path(pool)
