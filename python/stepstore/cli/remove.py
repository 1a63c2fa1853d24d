"""stepstore rm: removes a stream, a file or directory, or what an interrupted import has left."""

from __future__ import annotations

from typing import Annotated

import typer

from stepstore import _core
from stepstore.cli import complete
from stepstore.cli.address import not_found, resolve
from stepstore.cli.browse import streams_of
from stepstore.cli.common import YesOption, confirm, usage_error
from stepstore.console import show
from stepstore.copying.at_work import AT_WORK, give_up
from stepstore.copying.task import Place
from stepstore.file_paths import as_error
from stepstore.file_system import FileSystem, find_file_system


def remove(
    location: Annotated[
        str,
        typer.Argument(
            metavar="POOL/CONTAINER/NAME",
            autocompletion=complete.removed,
            help="A stream, or a file or directory of a file system.",
        ),
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", "-R", help="Remove a directory with all that is in it.")
    ] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Remove an import whose process died on another machine.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Remove a stream of steps with all its objects, a file, or what an interrupted import has left.

    A stream that is being written is refused, and so is an import at work."""
    address = resolve(location)
    files = find_file_system(address.pool, address.container, read_only=False) if address.rest else None
    if files is not None:
        with files:
            _remove_entry(files, address.rest, recursive, yes)
        return
    if not address.stream:
        usage_error(f"{location!r} names no stream: 'cont destroy' removes containers, 'pool destroy' pools")
    where = f"{address.pool}/{address.container}"
    if address.stream.endswith(AT_WORK):
        place = Place(address.pool, address.container, address.stream.removesuffix(AT_WORK))
        confirm(f"Remove the unfinished stream {place.stream} of {where}?", yes)
        if give_up(place, take_over):
            show(f"removed the unfinished stream {place.stream}")
            return
    if address.stream not in streams_of(address):  # said before the question
        raise not_found(f"{where} has no stream {address.stream}: 'stepstore ls {where}' lists them")
    confirm(f"Remove the stream {address.stream} of {where}?", yes)
    _core.remove_stream(f"{where}/{address.stream}")
    show(f"removed stream {address.stream}")


def _remove_entry(files: FileSystem, path: str, recursive: bool, yes: bool) -> None:
    where = f"{files.location}/{path}"
    try:
        kind = files.status(path, follow=False).kind
    except (FileNotFoundError, NotADirectoryError):
        raise not_found(
            f"{where}: there is no such file: 'stepstore ls {files.location}' lists them"
        ) from None
    except OSError as error:
        if not recursive:
            raise as_error(error, files.location) from error
        kind = "damaged entry"
    if kind == "directory" and not recursive:
        usage_error(f"{where} is a directory: -r removes it with all that is in it")
    confirm(f"Remove the {kind} {where}?", yes)
    try:
        files.remove(path, recursive=recursive)
    except OSError as error:
        raise as_error(error, files.location) from error
    show(f"removed {kind} {path}")
