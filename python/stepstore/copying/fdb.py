"""The fields of an FDB (toc, or any other), through FDB, into the datasets of a pool.

FDB publishes what was archived with each flush. A copy that is begun again leaves out the fields that are
there with the length that they have in the source. The mark of the copy lies in a container beside the
datasets as long as it is not whole.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stepstore.copying.task import Options, Report, make_or_compare
from stepstore.copying.mark import MARKS, Mark, drop_marks
from stepstore.copying.pools import made_pool
from stepstore.errors import DER_CSUM, DER_EXIST, DER_INVAL, DER_IO, DER_NONEXIST, Error
from stepstore.fdb5 import load_fdb
from stepstore.store import Pool

_SCHEME = "fdb:"
_FIELDS_PER_FLUSH = 10000
_BYTES_PER_FLUSH = 256 << 20
_FieldKey = tuple[tuple[str, str], ...]


def is_source(location: str) -> bool:
    return location.startswith(_SCHEME)


def copy(source: str, pool: str, request: str, options: Options, report: Report) -> None:
    """source: "fdb:" and FDB's configuration, a file. request: "class=rd,step=0"; empty: all fields."""
    config = Path(source.removeprefix(_SCHEME))
    if not config.is_file():
        raise Error(
            DER_NONEXIST, f"{source}: there is no file {config}: give FDB's configuration (config.yaml)"
        )
    selection = _selection(request)
    with _errors(source):
        fdb_class = load_fdb()
        old = fdb_class(config)
        fields = _fields(old, selection)
        if options.dry_run:
            report.objects, report.bytes = len(fields), sum(one.length() for one in fields.values())
            return
        with made_pool(pool) as opened:
            new = fdb_class(_target_config(old, source, pool))
            with contextlib.ExitStack() as stack:
                identity = {"id": f"{config.absolute()} {request}", "text": source}
                mark = _open_mark(opened, pool, stack) if MARKS in opened.containers() else None
                report.resumed = mark is not None and mark.find(identity, options.take_over)
                if not report.resumed:
                    refuse = functools.partial(_refuse_to_overwrite, source, pool, fields, new, selection)
                    if not options.verify:
                        refuse()
                    elif not make_or_compare(
                        refuse, lambda: _compare(fields, _fields(new, selection), pool, report)
                    ):
                        report.complete = True
                        return
                    mark = mark or _open_mark(opened, pool, stack)
                    mark.begin(refuse, source=identity)
                assert mark is not None
                there = _fields(new, selection)
                to_do = {
                    key: one
                    for key, one in fields.items()
                    if key not in there or there[key].length() != one.length()
                }
                report.expect(sum(one.length() for one in to_do.values()))
                _archive(new, to_do, report)
                if options.verify:
                    _compare(fields, _fields(new, selection), pool, report)
                opened.sync()
                mark.remove()
            drop_marks(opened)


def _open_mark(opened: Pool, pool: str, stack: contextlib.ExitStack) -> Mark:
    marks = stack.enter_context(opened.open_or_create_container(MARKS))
    return stack.enter_context(contextlib.closing(Mark(marks, "fields", pool)))


def _selection(request: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in request.split(",") if pair]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise Error(DER_INVAL, f"--request {request!r}: give KEY=VALUE,KEY=VALUE, as fdb-list takes them")
    return {name: value for name, _, value in pairs}


@contextlib.contextmanager
def _errors(source: str) -> Iterator[None]:
    try:
        yield
    except Error:
        raise
    except (RuntimeError, ValueError) as error:
        raise Error(DER_IO, f"copy the fields of {source}: FDB says: {error}") from error


def _target_config(old: Any, source: str, pool: str) -> dict[str, Any]:
    schema = old.config()[0].get("schema")
    if not schema:
        raise Error(
            DER_INVAL, f"copy the fields of {source}: the configuration names no schema: add schema: FILE"
        )
    return {
        "type": "stepstore",
        "schema": schema,
        "engine": "stepstore",
        "store": "stepstore",
        "stepstore": {"pool": pool},
    }


def _fields(fdb: Any, selection: dict[str, str]) -> dict[_FieldKey, Any]:
    return {tuple(one.combined_key().items()): one for one in fdb.list(selection)}


def _refuse_to_overwrite(
    source: str, pool: str, fields: dict[_FieldKey, Any], new: Any, selection: dict[str, str]
) -> None:
    there = _fields(new, selection)
    if both := fields.keys() & there.keys():
        raise Error(
            DER_EXIST,
            f"copy the fields of {source} to {pool}: it has {len(both)} of them already, such as "
            f"{','.join(map('='.join, min(both)))}, and no unfinished copy: wipe them (fdb-wipe), or give "
            "another pool",
        )


def _read(field: Any) -> bytes:
    with field.data_handle as handle:
        data: bytes = handle.read(field.length())
    return data


def _archive(fdb: Any, fields: dict[_FieldKey, Any], report: Report) -> None:
    unflushed = count = 0
    for key, field in fields.items():
        data = _read(field)
        fdb.archive(data, dict(key))
        count, unflushed = count + 1, unflushed + len(data)
        report.objects += 1
        report.copied(len(data))
        if count % _FIELDS_PER_FLUSH == 0 or unflushed >= _BYTES_PER_FLUSH:
            fdb.flush()
            unflushed = 0
    fdb.flush()


def _compare(old: dict[_FieldKey, Any], new: dict[_FieldKey, Any], pool: str, report: Report) -> None:
    report.expect(sum(one.length() for one in old.values()))
    for key, field in old.items():
        data = _read(field)
        if key not in new or _read(new[key]) != data:
            raise Error(
                DER_CSUM,
                f"compare the copied fields in {pool} with their source: {','.join(map('='.join, key))} "
                "differs: wipe it (fdb-wipe), and run the same command again",
            )
        report.was_compared(len(data))
