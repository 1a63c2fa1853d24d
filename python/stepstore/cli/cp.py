"""stepstore cp: files and directories into, out of, and between file systems in containers."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import closing
from typing import Annotated, Any, NamedTuple

import typer

from stepstore import _core
from stepstore.cli import complete
from stepstore.cli.common import JsonOption, emit, exit_code_of, on_interrupt, usage_error, warn
from stepstore.cli.progress import Bar
from stepstore.console import CommandError, ExitCode, human_bytes, human_time
from stepstore.copying.sides import Folder, LocalFolder, StoredFolder
from stepstore.copying.trees import Told, TreeCopy, TreeOptions
from stepstore.errors import DER_INVAL, Error
from stepstore.file_system import FileStatus, FileSystem, open_file_system
from stepstore.kinds import hint


class _Side(NamedTuple):
    """What an argument names: a path of the local file system, or one in a container."""

    text: str
    files: FileSystem | None
    path: str

    @property
    def name(self) -> str:
        """The last part; "": all of it is meant, as with "." and the root."""
        last = self.path.rstrip("/").rpartition("/")[2]
        return "" if last in (".", "..") else last

    def status(self, follow: bool = True) -> FileStatus | None:
        """None: there is nothing."""
        try:
            if self.files is not None:
                return self.files.status(self.path, follow=follow or self.path.endswith("/"))
            found = os.stat(self.path, follow_symlinks=follow)
        except FileNotFoundError:
            return None
        return FileStatus(found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, 0, 0)

    def folder(self) -> Folder:
        return LocalFolder(self.path) if self.files is None else StoredFolder(self.files, self.path)

    def above(self) -> _Side:
        above = self.path.rstrip("/").rpartition("/")[0]
        if self.files is None and not above:
            above = "/" if self.path.startswith("/") else "."
        return self._replace(path=above)


def _side(text: str, *, read_only: bool) -> _Side:
    """A location, if a pool lies along it; else a local path. Exit code 2: a container without files."""
    found = _location(text)
    if found is None:
        if not text:
            usage_error("an empty path: give a file, or POOL/CONTAINER/PATH")
        return _Side(text, None, text)
    pool, rest = found
    container, _, path = rest.lstrip("/").partition("/")
    if not container:
        usage_error(f"{text!r} names a pool only: give POOL/CONTAINER/PATH")
    try:
        return _Side(text, open_file_system(f"{pool}/{container}", read_only=read_only), path)
    except Error as error:
        if error.code == DER_INVAL:
            usage_error(f"{error}; 'stepstore copy' copies containers, and what is in them, as they are")
        raise


def _location(text: str) -> tuple[str, str] | None:
    """The pool, and what follows it."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return None
    try:
        parts = _core.parse_location(text)
        pool, rest, exists = _core.find_pool(text)
    except Error:
        if text.startswith("stepstore://"):
            raise
        return None  # a path that no pool can have
    if not exists and parts.is_path and not text.startswith("stepstore://"):
        return None
    return pool, rest


def cp(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE... TARGET",
            autocompletion=complete.locations,
            help="Local paths, and POOL/CONTAINER/PATH in a container with a file system.",
        ),
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", "-R", help="Copy directories with all that is in them.")
    ] = False,
    archive: Annotated[
        bool, typer.Option("--archive", "-a", help="-r, and keep modes, times and extended attributes.")
    ] = False,
    no_clobber: Annotated[
        bool, typer.Option("--no-clobber", "-n", help="Leave files alone that are there already.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", min=1, max=64, help="Files that are copied at once.")
    ] = 4,
    as_json: JsonOption = False,
) -> None:
    """Copy files and directories into, out of, and between file systems in containers.

    TARGET is a directory that is there, or the new name. A file appears whole, or not."""
    if len(paths) < 2:
        usage_error("give SOURCE and TARGET: one of them as POOL/CONTAINER/PATH")
    started = time.monotonic()
    target = _side(paths[-1], read_only=False)
    sources = [_side(text, read_only=True) for text in paths[:-1]]
    for source in sources:
        if source.files is None and target.files is None:
            usage_error(
                f"{source.text!r} and {target.text!r} are both local: there is no pool along them; give "
                "POOL/CONTAINER/PATH, or use the system's cp"
            )
    os.umask(umask := os.umask(0o077))
    told = Told()
    options = TreeOptions(keep=archive, clobber=not no_clobber, jobs=jobs, umask=umask)
    with on_interrupt(lambda: _left(told, target)), Bar("copying") as bar:
        told.progress = bar.move
        with TreeCopy(options, told) as copy:
            try:
                _copy_all(copy, sources, target, recursive or archive)
            except OSError:
                if not told.failures:  # else it says the same
                    raise
    value = {
        "sources": [one.text for one in sources],
        "target": target.text,
        "files": told.files,
        "directories": told.directories,
        "links": told.links,
        "left_alone": told.kept,
        "bytes": told.bytes,
        "seconds": time.monotonic() - started,
        "notes": told.notes,
        "errors": [str(error) for error in told.failures],
    }
    emit(as_json, value, lambda: _summary(value))
    for text in (*told.notes, *map(str, told.failures)):
        warn(text)
    if told.failures:
        codes = {exit_code_of(error) for error in told.failures}
        raise typer.Exit(ExitCode.DAMAGE if ExitCode.DAMAGE in codes else ExitCode.FAILURE)


def _copy_all(copy: TreeCopy, sources: list[_Side], target: _Side, recursive: bool) -> None:
    there = target.status()
    into = there is not None and stat.S_ISDIR(there.mode)
    if len(sources) > 1 and not into:
        usage_error(f"{target.text!r} is no directory: of several sources the target is one that is there")
    if not into and target.path.endswith("/") and not recursive:
        raise _not_there(target.text, "there is no such directory")
    if not into and target.above().status() is None:
        raise _not_there(target.text, "the directory that it is to lie in is not there")
    for source in sources:
        _copy_one(copy, source, target, into, recursive)


def _copy_one(copy: TreeCopy, source: _Side, target: _Side, into: bool, recursive: bool) -> None:
    status = source.status(follow=not recursive or source.path.endswith("/"))
    if status is None:
        raise _not_there(source.text, "there is no such file or directory" + hint(source.text))
    is_directory = stat.S_ISDIR(status.mode)
    if is_directory and not recursive:
        usage_error(f"{source.text!r} is a directory: -r copies it with all that is in it")
    name = source.name or _name_of_all(source)
    _refuse_itself(source, target._replace(path=f"{target.path}/{name}") if into else target, is_directory)
    if is_directory and (not source.name or source.path.endswith("/")):
        # All that is in it: of a root there is no entry.
        with closing(source.folder()) as old:
            if into and not name:
                with closing(target.folder()) as new:
                    copy.contents(old, new)
                return
            above, name = (target, name) if into else (target.above(), target.name)
            with closing(above.folder()) as outer:
                copy.folder(old, status, outer, name)
        return
    above = target if into else target.above()
    with closing(_followed(source, status)) as old, closing(above.folder()) as new:
        copy.entry(old, _last(source, status), new, name if into else target.name)


def _name_of_all(source: _Side) -> str:
    """Of a root its container's; of "." none: then what is in it goes into the target itself."""
    return "" if source.files is None or source.path.strip("/") else source.files.location.rpartition("/")[2]


def _followed(source: _Side, status: FileStatus) -> Folder:
    return _target_of(source, status).above().folder()


def _last(source: _Side, status: FileStatus) -> str:
    return _target_of(source, status).name


def _target_of(source: _Side, status: FileStatus) -> _Side:
    """Of a link that is followed, the file that it points to."""
    at = source.status(follow=False)
    if status.kind == "link" or at is None or at.kind != "link":
        return source
    if source.files is None:
        return source._replace(path=os.path.realpath(source.path))
    seen = source
    for _ in range(40):
        if (found := seen.status(follow=False)) is None or found.kind != "link":
            return seen
        assert seen.files is not None
        link = seen.files.readlink(seen.path)
        joined = link if link.startswith("/") else f"{seen.above().path}/{link}"
        seen = seen._replace(path=os.path.normpath(joined))
    raise OSError(errno.ELOOP, "there are too many links", source.text)


def _refuse_itself(source: _Side, target: _Side, is_directory: bool) -> None:
    if source.files is None or target.files is None:
        return
    places = [
        (*_core.split_location(one.files.location)[:2], os.path.normpath(f"/{one.path}"))
        for one in (source, target)
        if one.files is not None
    ]
    (old_pool, old_box, old), (new_pool, new_box, new) = places
    if (os.path.realpath(old_pool), old_box) != (os.path.realpath(new_pool), new_box):
        return
    if old == new:
        usage_error(f"{source.text!r} and {target.text!r} are the same")
    if is_directory and f"{new}/".startswith(f"{old.rstrip('/')}/"):
        usage_error(f"{source.text!r}: a directory is not copied into itself")


def _not_there(text: str, why: str) -> CommandError:
    return CommandError(f"{text}: {why}", ExitCode.NOT_FOUND)


def _left(told: Told, target: _Side) -> str:
    return (
        f"{told.files} files are whole in {target.text}, the others are not there: the same command again "
        "copies all; with --no-clobber it leaves out those that are there"
    )


def _summary(value: dict[str, Any]) -> str:
    seconds = value["seconds"]
    rate = f"{human_time(seconds)}, {human_bytes(value['bytes'] / max(seconds, 1e-9))}/s"
    parts = [
        f"{value['files']} {'file' if value['files'] == 1 else 'files'}",
        f"{human_bytes(value['bytes'])} ({rate})",
    ]
    parts[1:1] = [f"{value[what]} {what}" for what in ("directories", "links") if value[what]]
    if value["left_alone"]:
        parts.append(f"{value['left_alone']} were there already")
    if value["errors"]:
        parts.append(f"{len(value['errors'])} could not be copied")
    return f"copied to {value['target']}: {', '.join(parts)}"
