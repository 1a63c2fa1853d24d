"""BP4 and BP5 files, through ADIOS2, into a stream of steps. at_work.py has the protocol."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepstore.copying.at_work import make_stream
from stepstore.copying.task import Options, Place, Report, make_or_compare
from stepstore.errors import DER_NONEXIST, DER_NOSYS, Error
from stepstore.paths import COPY, plugin_directory
from stepstore.steps import open_steps


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
    adios2 = importlib.import_module("adios2")  # and with it our engine
    try:
        library = ctypes.CDLL(str(plugin_directory() / COPY))
    except OSError as failure:
        raise Error(
            DER_NOSYS,
            f"read a BP file with ADIOS2 {adios2.__version__}: {failure}. Copies of BP files need "
            "ADIOS2 2.12 or later, here and where Stepstore was built",
        ) from failure
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
    def make() -> None:
        make_copy(source, destination, options, report)

    if options.dry_run or not options.verify:
        make()
    else:
        report.complete = not make_or_compare(make, lambda: compare(source, destination, report))


def make_copy(source: Path, destination: Place, options: Options, report: Report) -> None:
    """Error DER_EXIST: the stream is there already, whatever it holds."""
    if not source.exists():
        raise Error(DER_NONEXIST, f"{source}: there is no such file: give a BP4 or BP5 file")
    size = sum(one.stat().st_size for one in source.rglob("*") if one.is_file())
    if options.dry_run:
        report.bytes = size
        return
    library = _library()

    def fill(place: Place) -> None:
        report.expect(size * (2 if options.verify else 1))
        _fill(library, source, place, options, report)

    make_stream({"id": str(source.absolute()), "text": str(source)}, destination, options, report, fill)


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
        compare(source, place, report)


def compare(source: Path, place: Place, report: Report) -> None:
    """A file with a stream that is there. DER_CSUM: the first difference."""
    _call(
        _library(),
        "stepstore_adios2_compare_file",
        str(source).encode(),
        str(place).encode(),
        moved=report.was_compared,
    )
