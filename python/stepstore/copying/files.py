"""The files of streams with the layout posix: they lie in the directory of their pool."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from stepstore import _core
from stepstore.copying.objects import PIECE, differs
from stepstore.errors import DER_NOSYS, Error

if TYPE_CHECKING:
    from stepstore.copying.containers import Place, Report
    from stepstore.copying.plan import Stream


def copy(stream: Stream, source: Place, target: Place, verify: bool, report: Report) -> None:
    """What is in the copy already is compared, not written again."""
    folders = [one["directory"] for one in stream.told["segments"]]
    if not any(folders):
        return
    old = Path(_core.pool_path(source.pool))
    try:
        new = Path(_core.pool_path(target.pool))
    except Error as error:
        raise Error(
            DER_NOSYS,
            f"copy stream {source} to {target}: its layout is posix, so its data are files in the pool's "
            "directory, and there is none: copy it to a pool on a file system",
        ) from error
    moved = _core.stream_record(
        _core.moved_record(stream.record, stream.target._handle, stream.firsts, stream.steps), str(target)
    )
    for before, after in zip(folders, (one["directory"] for one in moved["segments"]), strict=True):
        for file in sorted((old / before).iterdir()):
            report.expect(file.stat().st_size * (2 if verify else 1))
            copied = new / after / file.name
            copied.parent.mkdir(parents=True, exist_ok=True)
            _copy_file(file, copied, report)
            if verify:
                _compare(file, copied, report)


def _copy_file(source: Path, target: Path, report: Report) -> None:
    with source.open("rb") as old, target.open("ab") as new:
        end = os.fstat(old.fileno()).st_size  # a writer may append meanwhile
        old.seek(min(new.tell(), end))
        while piece := old.read(min(PIECE, end - old.tell())):
            new.write(piece)
            report.copied(len(piece))
        new.flush()
        os.fsync(new.fileno())


def _compare(source: Path, target: Path, report: Report) -> None:
    with source.open("rb") as old, target.open("rb") as new:
        while piece := new.read(PIECE):
            if piece != old.read(len(piece)):
                target.unlink()  # the next run copies it again
                raise differs(f"file {source}", f"the piece at byte {new.tell() - len(piece)}")
            report.was_compared(len(piece))
