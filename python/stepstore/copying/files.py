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
    if not any(one["directory"] for one in stream.told["segments"]):
        return
    try:
        _core.pool_path(destination.pool)
    except Error as error:
        raise Error(
            DER_NOSYS,
            f"copy stream {source} to {destination}: its layout is posix, so its data are files in the "
            "pool's directory, and there is none: copy it to a pool on a file system",
        ) from error
    for before, after in _folders(stream, destination):
        for name in _core.stream_files(source.pool, before):
            with (
                contextlib.closing(_core.StreamFile(source.pool, before, name)) as old,
                contextlib.closing(_core.StreamFile(destination.pool, after, name, make=True)) as new,
            ):
                report.expect(old.size() * (2 if verify else 1))
                _copy_file(old, new, report)
                if verify:
                    try:
                        _compare(old, new, report)
                    except Error:
                        new.remove()  # the next run copies it again
                        raise


def compare(stream: Stream, source: Place, destination: Place, report: Report) -> None:
    """A copy that is there. DER_CSUM: the first difference."""
    for before, after in _folders(stream, destination):
        names, there = (
            sorted(_core.stream_files(*one)) for one in ((source.pool, before), (destination.pool, after))
        )
        if names != there:
            raise differs(f"stream {source}", "the names of its files")
        for name in names:
            with (
                contextlib.closing(_core.StreamFile(source.pool, before, name)) as old,
                contextlib.closing(_core.StreamFile(destination.pool, after, name)) as new,
            ):
                if old.size() != new.size():
                    raise differs(f"file {old.path}", "their sizes")
                report.expect(old.size())
                _compare(old, new, report)


def _folders(stream: Stream, destination: Place) -> list[tuple[str, str]]:
    """Of each segment that has files, in the source and in the copy."""
    moved = _core.stream_record(
        _core.moved_record(stream.record, stream.destination._handle, stream.firsts, stream.steps),
        str(destination),
    )
    pairs = zip(stream.told["segments"], moved["segments"], strict=True)
    return [(old["directory"], new["directory"]) for old, new in pairs if old["directory"]]


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
            raise differs(f"file {old.path}", f"the piece at byte {at}")
        at += len(piece)
        report.was_compared(len(piece))
