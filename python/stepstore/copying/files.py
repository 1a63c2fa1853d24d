"""The files of streams with the layout posix: they lie in the directory of their pool.

A record may name any directory, and who may write in a pool may put links there. So files are opened by the
extension alone: below the pool, in a stream's directory, and through no link.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from stepstore import _core
from stepstore.copying.objects import PIECE, differs
from stepstore.errors import DER_NOSYS, Error

if TYPE_CHECKING:
    from stepstore.copying.task import Place, Report
    from stepstore.copying.plan import Stream


def copy(stream: Stream, source: Place, destination: Place, verify: bool, report: Report) -> None:
    """What is in the copy already is compared, not written again."""
    folders = [one["directory"] for one in stream.told["segments"]]
    if not any(folders):
        return
    try:
        _core.pool_path(destination.pool)
    except Error as error:
        raise Error(
            DER_NOSYS,
            f"copy stream {source} to {destination}: its layout is posix, so its data are files in the "
            "pool's directory, and there is none: copy it to a pool on a file system",
        ) from error
    moved = _core.stream_record(
        _core.moved_record(stream.record, stream.destination._handle, stream.firsts, stream.steps),
        str(destination),
    )
    for before, after in zip(folders, (one["directory"] for one in moved["segments"]), strict=True):
        for name in _core.stream_files(source.pool, before):
            with (
                contextlib.closing(_core.StreamFile(source.pool, before, name)) as old,
                contextlib.closing(_core.StreamFile(destination.pool, after, name, make=True)) as new,
            ):
                report.expect(old.size() * (2 if verify else 1))
                _copy_file(old, new, report)
                if verify:
                    _compare(old, new, report)


def _copy_file(old: _core.StreamFile, new: _core.StreamFile, report: Report) -> None:
    end = old.size()  # a writer may append meanwhile
    at = min(new.size(), end)
    while at < end and (piece := old.read(at, min(PIECE, end - at))):
        new.write(at, piece)
        at += len(piece)
        report.copied(len(piece))
    new.sync()


def _compare(old: _core.StreamFile, new: _core.StreamFile, report: Report) -> None:
    at = 0
    while piece := new.read(at, PIECE):
        if piece != old.read(at, len(piece)):
            new.remove()  # the next run copies it again
            raise differs(f"file {old.path}", f"the piece at byte {at}")
        at += len(piece)
        report.was_compared(len(piece))
