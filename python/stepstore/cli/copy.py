"""stepstore copy: from any location to any other."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from stepstore import _core
from stepstore.cli import complete
from stepstore.cli.address import resolve
from stepstore.cli.common import JsonOption, emit, on_interrupt, usage_error
from stepstore.cli.progress import Bar, told_of
from stepstore.console import human_bytes, human_time
from stepstore.copying import bp, fdb, pools
from stepstore.copying.task import Options, Place, Report


def copy(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC",
            autocompletion=complete.locations,
            help="POOL, POOL/CONTAINER, POOL/CONTAINER/STREAM or POOL/CONTAINER/HI.LO; FILE.bp; "
            "fdb:CONFIG.yaml.",
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="DST",
            autocompletion=complete.locations,
            help="A pool, made if it is missing, or what follows it as in SRC.",
        ),
    ],
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Compare all of the copy with the source.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be copied, and change nothing in DST.")
    ] = False,
    chunk_size: Annotated[
        int | None,
        typer.Option(
            metavar="CELLS", min=1, help="Cells in a chunk, of arrays that do not keep their sizes."
        ),
    ] = None,
    cell_size: Annotated[
        int,
        typer.Option(
            metavar="BYTES",
            min=1,
            show_default="1 B",
            help="Bytes in a cell, of arrays that do not keep their sizes.",
        ),
    ] = 1,
    threads: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="Objects that are copied at once, up to 64.")
    ] = 4,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Go on with a copy whose process died on another machine.")
    ] = False,
    request: Annotated[
        str, typer.Option(metavar="KEY=VALUE,...", help="With fdb: only the fields that match.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Copy a pool, container, stream, dataset or object, a BP file, or the fields of an FDB.

    The same command again goes on with a copy that was interrupted, or says that the copy is complete
    already."""
    options = Options(verify, dry_run, take_over, threads, chunk_size, cell_size)
    if request and not fdb.is_source(source):
        usage_error("--request chooses fields of an FDB: give fdb:CONFIG.yaml as SRC")
    started = time.monotonic()
    report = Report()
    with on_interrupt(lambda: _left(target, dry_run, report)), Bar("copying") as bar:
        report.progress = bar.move
        if fdb.is_source(source):
            fdb.copy(source, _pool_of(target), request, options, report)
            value: dict[str, Any] = {"source": source, "target": target}
        elif bp.is_source(source):
            to = _stream_place(target, Path(source).name.removesuffix(".bp"))
            bp.copy(Path(source), to, options, report)
            value = {"source": source, "target": str(to)}
        else:
            place, to = _places(source, target)
            pools.copy(place, to, options, report)
            value = {"source": str(place), "target": str(to)}
    value |= {
        "dry_run": dry_run,
        "written": not (dry_run or report.complete),
        "verified": verify and not dry_run,
        "containers": report.containers,
        "streams": report.streams,
        "objects": report.objects,
        **told_of(report, started),
    }
    emit(as_json, value, lambda: _summary(value))


def _left(target: str, dry_run: bool, report: Report) -> str:
    if dry_run:
        return "nothing was changed"
    return (
        f"{human_bytes(report.bytes)} of {report.objects} objects are copied, and {target} is not whole yet: "
        "run the same command again, it goes on from there"
    )


def _summary(value: dict[str, Any]) -> str:
    seconds = value["seconds"]
    if value["dry_run"]:
        return (
            f"would copy {value['source']} to {value['target']}: {value['objects']} objects, at least "
            f"{human_bytes(value['bytes'])}"
        )
    if not value["written"]:
        return (
            f"complete already: {value['target']} holds the same as {value['source']}, compared bit for bit"
        )
    rate = f"{human_time(seconds)}, {human_bytes(value['bytes'] / max(seconds, 1e-9))}/s"
    verified = "compared with the source" if value["verified"] else "not compared with the source"
    return (
        f"copied {value['source']} to {value['target']}: {value['objects']} objects, "
        f"{human_bytes(value['bytes'])} ({rate}), {verified}"
    )


# ---- what the locations name
def _places(source: str, target: str) -> tuple[Place, Place]:
    """What DST leaves out is named as in SRC."""
    old, new = resolve(source), resolve(target, may_be_new=True)
    for address in (old, new):
        if address.key is not None:
            usage_error(f"{address.text!r} names a key: copy the object: leave out the key")
    place = Place(old.pool, old.container, old.stream, old.object_id)
    container = new.container or old.container
    if new.container and not old.container:
        usage_error(f"a pool is copied to a pool: leave out /{new.container} of {target!r}")
    if new.rest and not old.rest:
        usage_error(f"a container is copied to a container: leave out /{new.rest} of {target!r}")
    if bool(new.object_id) > bool(old.object_id) or (new.stream and old.object_id):
        usage_error(f"{source!r} and {target!r}: an object is copied to an object, a stream to a stream")
    if new.object_id and new.object_id != old.object_id:
        usage_error(f"{target!r}: an object keeps its id: leave out /{new.rest}")
    stream = (new.stream or old.stream) if old.stream else ""
    return place, Place(new.pool, container, stream, old.object_id)


def _stream_place(target: str, name: str) -> Place:
    address = resolve(target, may_be_new=True)
    if address.object_id:
        usage_error(f"{target!r} is an object: a BP file is copied to a stream")
    return Place(address.pool, address.container or "default", address.stream or name)


def _pool_of(target: str) -> str:
    address = resolve(target, may_be_new=True)
    if address.container:
        usage_error(f"{target!r}: fields are copied to a pool, which has a container for each dataset")
    return _core.absolute_location(address.pool)
