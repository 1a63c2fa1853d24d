"""A stream that is made from something else, under another name until it is whole.

The steps go to a stream of another name, which says that it is a copy at work. When all are there, and
compared, its record gets the stream's name. So nobody takes a half of it for the whole. A step is whole or
not there: a copy that is begun again goes on after the last one.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from stepstore import _core
from stepstore.copying.mark import Mark
from stepstore.copying.pools import made_pool
from stepstore.copying.task import Options, Place, Report
from stepstore.errors import DER_BUSY, DER_CSUM, DER_EXIST, DER_NONEXIST, Error
from stepstore.kinds import LEASES_HI, STREAMS_HI, stream_names
from stepstore.store import Container, Pool

AT_WORK = " (copy at work)"


def make_stream(
    identity: dict[str, str],
    destination: Place,
    options: Options,
    report: Report,
    fill: Callable[[Place], None],
    *,
    replace: bool = False,
) -> None:
    """identity: of the source, as the mark has it. fill: writes the steps that are not there yet to a place,
    and compares them. replace: a stream of this name is removed when the new one is whole."""
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(made_pool(destination.pool))
        container = stack.enter_context(pool.open_or_create_container(destination.container))
        mark = stack.enter_context(contextlib.closing(Mark(container, destination.stream, str(destination))))
        report.resumed = mark.find(identity, options.take_over)
        if not report.resumed:
            refuse = functools.partial(
                _refuse_to_overwrite, identity["text"], destination, container, replace
            )
            refuse()
            mark.begin(refuse, source=identity, at_work=True)
        if mark.state.get("phase") != "published":
            at_work = destination.stream + AT_WORK
            _fill(fill, Place(destination.pool, destination.container, at_work))
            pool.sync()
            _make_way(container, destination, mark, replace)
            _rename(container, at_work, destination.stream)
            mark.put(phase="published")
        _forget(container, destination.stream + AT_WORK)
        mark.remove()
        pool.sync()
    report.streams = 1


def is_at_work(state: dict[str, Any]) -> bool:
    """Whether a mark is one of make_stream."""
    return state.get("at_work") is True


def give_up(destination: Place, take_over: bool) -> bool:
    """Removes what an unfinished make_stream has left. False: there is none. Errors: DER_BUSY: a process is
    at work on it, or it is a copy of another kind."""
    with (
        Pool.connect(destination.pool) as pool,
        pool.open_container(destination.container) as container,
        contextlib.closing(Mark(container, destination.stream, str(destination))) as mark,
    ):
        if not mark.take(take_over):
            return False
        if not is_at_work(mark.state):
            raise Error(
                DER_BUSY,
                f"{destination} is an unfinished copy object by object: finish it with the same 'stepstore "
                "copy', or remove its container",
            )
        try:
            _core.remove_stream(f"{destination}{AT_WORK}")
        except Error as error:
            if error.code != DER_NONEXIST:  # it died before its first step
                raise
        _forget(container, destination.stream + AT_WORK)
        mark.remove()
        pool.sync()
    return True


def _refuse_to_overwrite(source: str, destination: Place, container: Container, replace: bool) -> None:
    if not replace and destination.stream in stream_names(container):
        raise Error(
            DER_EXIST,
            f"copy {source} to {destination}: there is such a stream: give another destination, or remove "
            "it with 'stepstore rm'",
        )


def _fill(fill: Callable[[Place], None], place: Place) -> None:
    """What differs from the source, which may have changed since a copy was interrupted, is written anew by
    the next copy."""
    try:
        fill(place)
    except Error as error:
        if error.code == DER_CSUM:
            with contextlib.suppress(Error):
                _core.remove_stream(str(place))
        raise


def _make_way(container: Container, destination: Place, mark: Mark, replace: bool) -> None:
    """Removes the stream that was there when the mark says so. One that another program has made since stays,
    and _rename finds it."""
    there = _first_number(container, destination.stream)
    if there is None:
        return
    if replace and "replaces" not in mark.state:
        mark.put(replaces=there)
    if mark.state.get("replaces") == there:
        _core.remove_stream(str(destination))


def _first_number(container: Container, name: str) -> int | None:
    """Of a stream's first segment: it is no other stream's, and stays when the stream is appended to."""
    with container.key_value(container.object_id(0, STREAMS_HI), read_only=True) as streams:
        record = streams.get(name)
    return None if record is None else _first_of(record, name)


def _first_of(record: bytes, name: str) -> int | None:
    segments = _core.stream_record(record, name)["segments"]
    return segments[0]["first"] if segments else None


def _rename(container: Container, at_work: str, name: str) -> None:
    with container.key_value(container.object_id(0, STREAMS_HI)) as streams:
        record = streams.get(at_work)
        if record is None or streams.put_if(name, record, None):
            return
        # It may have been put by this copy before it died, and appended to since.
        if _first_of(record, name) != _first_of(streams[name], name):
            raise Error(
                DER_EXIST,
                f"another program has made the stream {name} while it was copied to: give another "
                "destination, or remove that",
            )


def _forget(container: Container, at_work: str) -> None:
    with container.key_value(container.object_id(0, STREAMS_HI)) as streams:
        streams.remove(at_work)
    with container.key_value(container.object_id(0, LEASES_HI)) as leases:
        leases.remove(at_work)
