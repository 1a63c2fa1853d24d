"""A stream that is made from something else, under another name until it is whole.

The steps go to a stream of another name, which says that it is a copy at work. When all are there, and
compared, its record gets the stream's name. So nobody takes a half of it for the whole. A step is whole or
not there: a copy that is begun again goes on after the last one.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

from stepstore import _core
from stepstore.copying.mark import Mark
from stepstore.copying.pools import made_pool
from stepstore.copying.task import Options, Place, Report
from stepstore.errors import DER_EXIST, Error
from stepstore.kinds import LEASES_HI, STREAMS_HI, stream_names
from stepstore.store import Container

_AT_WORK = " (copy at work)"


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
            mark.begin(refuse, source=identity)
        if mark.state.get("phase") != "published":
            at_work = destination.stream + _AT_WORK
            fill(Place(destination.pool, destination.container, at_work))
            pool.sync()
            if replace and mark.state.get("phase") != "replacing":
                if destination.stream in stream_names(container):
                    _core.remove_stream(str(destination))
                mark.put(phase="replacing")  # what is there from now on is this one, or another program's
            _rename(container, at_work, destination.stream)
            mark.put(phase="published")
        _forget(container, destination.stream + _AT_WORK)
        mark.remove()
        pool.sync()
    report.streams = 1


def _refuse_to_overwrite(source: str, destination: Place, container: Container, replace: bool) -> None:
    if not replace and destination.stream in stream_names(container):
        raise Error(
            DER_EXIST,
            f"copy {source} to {destination}: there is such a stream: give another destination, or remove "
            "it with 'stepstore rm'",
        )


def _rename(container: Container, at_work: str, name: str) -> None:
    with container.key_value(container.object_id(0, STREAMS_HI)) as streams:
        record = streams.get(at_work)
        if record is None or streams.put_if(name, record, None):
            return
        # Put by this copy before it died, and maybe appended to since: its first segment is the same.
        first, there = (
            _core.stream_record(one, name)["segments"][0]["first"] for one in (record, streams[name])
        )
        if first != there:
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
