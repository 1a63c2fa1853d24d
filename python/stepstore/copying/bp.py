"""BP4 and BP5 files, through ADIOS2, into a stream of steps.

The steps go to a stream of another name, which says that it is a copy at work. When all are there, and
compared, its record gets the stream's name. So nobody takes a half of it for the whole. A step is whole or
not there: a copy that is begun again goes on after the last one.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepstore import _core
from stepstore.copying.task import Options, Place, Report
from stepstore.copying.mark import Mark
from stepstore.copying.pools import made_pool
from stepstore.errors import DER_EXIST, DER_NONEXIST, DER_NOSYS, Error
from stepstore.paths import COPY, plugin_directory
from stepstore.kinds import LEASES_HI, STREAMS_HI, stream_names
from stepstore.steps import open_steps
from stepstore.store import Container

_AT_WORK = " (copy at work)"


def is_source(location: str) -> bool:
    """A BP4 or BP5 file is a directory with an index of its metadata."""
    return os.path.isfile(os.path.join(location, "md.idx")) or location.rstrip("/").endswith(".bp")


class _Copied(ctypes.Structure):
    _fields_ = (("steps", ctypes.c_uint64), ("blocks", ctypes.c_uint64), ("ended", ctypes.c_bool))


_Moved = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)


def _library() -> ctypes.CDLL:
    if importlib.util.find_spec("adios2") is None:
        raise Error(
            DER_NOSYS, "read a BP file: this Python has no package adios2: python -m pip install adios2"
        )
    importlib.import_module("adios2")  # and with it our engine
    library = ctypes.CDLL(str(plugin_directory() / COPY))
    library.stepstore_adios2_copy_error.restype = ctypes.c_char_p
    return library


def _call(library: ctypes.CDLL, name: str, *arguments: Any, moved: Callable[[int], None]) -> _Copied:
    done = _Copied()
    raised: list[BaseException] = []

    def told(count: int, _: int | None) -> int:
        try:
            moved(count)
        except BaseException as error:  # noqa: BLE001  it must not pass through C
            raised.append(error)
            return 1
        return 0

    code = getattr(library, name)(*arguments, _Moved(told), None, ctypes.byref(done))
    if raised:
        raise raised[0]
    if code != 0:
        raise Error(code, library.stepstore_adios2_copy_error().decode("utf-8", "replace"))
    return done


def copy(source: Path, destination: Place, options: Options, report: Report) -> None:
    if not source.exists():
        raise Error(DER_NONEXIST, f"{source}: there is no such file: give a BP4 or BP5 file")
    size = sum(one.stat().st_size for one in source.rglob("*") if one.is_file())
    if options.dry_run:
        report.bytes = size
        return
    library = _library()
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(made_pool(destination.pool))
        container = stack.enter_context(pool.open_or_create_container(destination.container))
        mark = stack.enter_context(contextlib.closing(Mark(container, destination.stream, str(destination))))
        identity = {"id": str(source.absolute()), "text": str(source)}
        report.resumed = mark.find(identity, options.take_over)
        if not report.resumed:
            refuse = functools.partial(_refuse_to_overwrite, source, destination, container)
            refuse()
            mark.begin(refuse, source=identity)
        if mark.state.get("phase") != "published":
            report.expect(size * (2 if options.verify else 1))
            at_work = destination.stream + _AT_WORK
            _fill(library, source, Place(destination.pool, destination.container, at_work), options, report)
            pool.sync()
            _rename(container, at_work, destination.stream)
            mark.put(phase="published")
        _forget(container, destination.stream + _AT_WORK)
        mark.remove()
        pool.sync()
    report.streams = 1


def _refuse_to_overwrite(source: Path, destination: Place, container: Container) -> None:
    if destination.stream in stream_names(container):
        raise Error(
            DER_EXIST,
            f"copy {source} to {destination}: there is such a stream: give another destination, or remove "
            "it with 'stepstore rm'",
        )


def _fill(library: ctypes.CDLL, source: Path, place: Place, options: Options, report: Report) -> None:
    there = 0
    with contextlib.suppress(Error), open_steps(str(place)) as steps:  # none: the copy begins
        there = len(steps)
    file, stream = str(source).encode(), str(place).encode()
    done = _call(
        library, "stepstore_adios2_copy_file", file, stream, ctypes.c_uint64(there), moved=report.copied
    )
    report.objects += done.blocks
    if not done.ended:
        report.note(
            f"{source} is being written, or was not closed: the {done.steps} steps are copied that are whole"
        )
    if options.verify:
        _call(library, "stepstore_adios2_compare_file", file, stream, moved=report.was_compared)


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
