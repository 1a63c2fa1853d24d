"""stepstore export and import: data as files of other programs, and back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepstore.cli import complete
from stepstore.cli.address import Address, open_container, resolve
from stepstore.cli.common import JsonOption, SnapshotOption, emit, on_interrupt, one_of, usage_error
from stepstore.cli.progress import Bar, told_of
from stepstore.console import CommandError, human_bytes, human_time
from stepstore.copying.task import Options, Place, Report
from stepstore.errors import DER_NOSYS, Error

if TYPE_CHECKING:
    from stepstore.exchange.format import Compression
    from stepstore.exchange.inward import Import
    from stepstore.exchange.outward import Export

_Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--variables",
        metavar="NAME,...",
        autocompletion=complete.several_variables,
        help="Only these variables. May be given several times.",
    ),
]
_Steps = Annotated[
    str | None, typer.Option("--steps", metavar="A:B", help="Only the steps from A on, before B. Or one: N.")
]
_Format = Annotated[
    str,
    typer.Option(
        "--format",
        **one_of("netcdf", "zarr", "npy", "npz", "bp"),
        show_default="by the ending of the name",
        help="The format of the file.",
    ),
]
_Replace = Annotated[bool, typer.Option("--replace", help="Replace what is there, when the new is whole.")]


def export(
    location: Annotated[
        str,
        typer.Argument(
            metavar="LOCATION", autocompletion=complete.data, help="POOL/CONTAINER/STREAM, or arrays by name."
        ),
    ],
    destination: Annotated[
        Path, typer.Argument(metavar="DEST", help="NAME.nc, NAME.zarr, NAME.npy, NAME.npz or NAME.bp.")
    ],
    format: _Format = "",
    variables: _Variables = None,
    steps: _Steps = None,
    replace: _Replace = False,
    compression: Annotated[
        str,
        typer.Option(
            "--compression",
            metavar="NAME[:LEVEL]",
            help="zlib or zstd of NetCDF, gzip or zstd of Zarr. Default: none in NetCDF, Zarr's own.",
        ),
    ] = "",
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a stream of steps, or arrays, to a NetCDF-4 file, a Zarr store, NumPy files or a BP file.

    All is read back and compared before DEST gets its name. The same command again goes on after an
    interruption, or says that DEST is complete already."""
    with _needs_xarray():
        from stepstore.exchange.outward import Export

    address = resolve(location)
    where = "/".join(filter(None, (address.pool, address.container, address.rest)))
    report = Report()
    task = Export(
        where,
        destination,
        format,
        _names(variables),
        _slice(steps),
        replace,
        report,
        _epoch(address, snapshot),
        _compression(compression),
    )
    left = f"{destination} is not changed; the same command again makes it"
    _run(task, report, "exporting", location, str(destination), left, as_json)


def import_(
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="A file of NetCDF, HDF5 or BP, a Zarr store, or NumPy files."),
    ],
    location: Annotated[
        str,
        typer.Argument(
            metavar="LOCATION",
            autocompletion=complete.streams,
            help="POOL, POOL/CONTAINER or POOL/CONTAINER/STREAM. Made if missing.",
        ),
    ],
    format: _Format = "",
    variables: _Variables = None,
    steps: _Steps = None,
    along: Annotated[
        str | None,
        typer.Option(
            "--along",
            metavar="DIMENSION",
            show_default="step, or the one of NetCDF that can grow",
            help="The dimension whose places become steps.",
        ),
    ] = None,
    replace: _Replace = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Compare all of the stream with the source.")
    ] = True,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Go on with an import whose process died on another machine.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read a NetCDF or HDF5 file, a Zarr store, a BP file, or exported NumPy files into a stream of steps.

    All is compared before the stream gets its name. The same command again goes on after an interruption, or
    says that the stream is complete already."""
    with _needs_xarray():
        from stepstore.exchange.inward import Import

    address = resolve(location, may_be_new=True)
    if address.object_id:
        usage_error(f"{location!r} is an object: files are imported to a stream")
    place = Place(address.pool, address.container or "default", address.stream or source.stem)
    report = Report()
    task = Import(
        source,
        place,
        format,
        _names(variables),
        _slice(steps),
        along,
        replace,
        Options(verify=verify, take_over=take_over),
        report,
    )
    left = f"{place} is not there yet: run the same command again, it goes on"
    _run(task, report, "importing", str(source), str(place), left, as_json, verify)


@contextlib.contextmanager
def _needs_xarray() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        if error.name not in ("xarray", "pandas"):
            raise
        raise Error(
            DER_NOSYS,
            "export and import need the package xarray: python -m pip install 'stepstore[netcdf]', or "
            "'stepstore[zarr,xarray]'",
        ) from error


def _run(
    task: Export | Import,
    report: Report,
    word: str,
    source: str,
    target: str,
    left: str,
    as_json: bool,
    verified: bool = True,
) -> None:
    started = time.monotonic()
    try:
        with on_interrupt(lambda: left), Bar(word) as bar:
            report.progress = bar.move
            written = task.run()
    except Error:
        raise
    except RuntimeError as error:  # of the libraries of the formats
        raise CommandError(f"{word} {source} to {target}: {error}") from error
    value = {
        "source": source,
        "target": target,
        "written": written,
        "verified": verified,
        **told_of(report, started),
    }
    emit(as_json, value, lambda: _summary(value, word))


def _summary(value: dict[str, Any], word: str) -> str:
    done = word.removesuffix("ing") + "ed"
    if not value["written"]:
        return (
            f"complete already: {value['target']} holds the same as {value['source']}, compared bit for bit"
        )
    seconds = value["seconds"]
    rate = f"{human_time(seconds)}, {human_bytes(value['bytes'] / max(seconds, 1e-9))}/s"
    told = "compared with the source" if value["verified"] else "not compared with the source"
    again = "; it went on after an interruption" if value["resumed"] else ""
    what = f"{done} {value['source']} to {value['target']}"
    return f"{what}: {human_bytes(value['bytes'])} ({rate}), {told}{again}"


# ---- options
def _epoch(address: Address, snapshot: str | None) -> int:
    if snapshot is None:
        return 0
    pool, container = open_container(address)
    with pool, container:
        return container.epoch_of(snapshot)


def _compression(text: str) -> Compression | None:
    from stepstore.exchange.format import Compression

    name, colon, level = text.partition(":")
    if colon and not level.isdecimal():
        usage_error(f"--compression {text!r}: give NAME or NAME:LEVEL, such as zstd:3")
    return Compression(name, int(level) if colon else None) if text else None


def _names(given: list[str] | None) -> list[str]:
    return [name for one in given or () for name in one.split(",") if name]


def _slice(text: str | None) -> slice | None:
    if text is None:
        return None
    try:
        ends = [int(part) if part else None for part in text.split(":")]
    except ValueError:
        ends = []
    if len(ends) == 2:
        return slice(*ends)
    if len(ends) == 1 and ends[0] is not None:
        return slice(ends[0], ends[0] + 1 or None)
    usage_error(f"--steps {text!r}: give N, or A:B")
