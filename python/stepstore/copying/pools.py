"""Copies what a location names: a pool, or what containers.py copies; makes the destination's pool."""

from __future__ import annotations

import contextlib
import functools
import os
from dataclasses import replace
from typing import Any

from stepstore import _core
from stepstore.copying.containers import ContainerCopy, connect_source
from stepstore.copying.plan import objects_of, refuse_akeys
from stepstore.copying.task import Options, Place, Report
from stepstore.copying.mark import MARKS, Mark, drop_marks, is_unfinished
from stepstore.errors import DER_BUSY, DER_EXIST, DER_INVAL, DER_NONEXIST, Error
from stepstore.kinds import FIELDS_ROOT
from stepstore.store import Pool


def copy(source: Place, destination: Place, options: Options, report: Report) -> None:
    """destination: its container, stream and object are given; the pool is made if it is missing."""
    with contextlib.ExitStack() as stack:
        pool, writable = connect_source(source.pool, report)
        stack.enter_context(pool)
        into = _open_destination(source.pool, destination.pool, options, stack)
        if source.container:
            ContainerCopy(source, destination, options, report).run(pool, writable, into)
            return
        _copy_pool(source.pool, pool, writable, destination.pool, into, options, report)


def _open_destination(
    source: str, destination: str, options: Options, stack: contextlib.ExitStack
) -> Pool | None:
    if not options.dry_run:
        return stack.enter_context(made_pool(destination, _described(source)))
    try:
        return stack.enter_context(Pool.connect(destination, read_only=True))
    except Error as error:
        if error.code != DER_NONEXIST:
            raise
    return None


def made_pool(location: str, like: dict[str, Any] | None = None) -> Pool:
    """Open for writing, and made where there is none. like: the description of a pool."""
    try:
        return Pool.connect(location)
    except Error as error:
        if error.code != DER_NONEXIST:
            raise
    like = like or {}
    with contextlib.suppress(Error):  # of a DAOS system, say, where the next call tells it
        os.makedirs(os.path.dirname(_core.pool_path(location)), exist_ok=True)
    Pool.create(location, targets=len(like.get("targets", ())), durability=like.get("durability", "process"))
    return Pool.connect(location)


def _described(pool: str) -> dict[str, Any]:
    """Of a pool of a DAOS system nothing is told. An error is passed on: a mark that was made without the
    identity of the source would keep the next copy away."""
    return _core.pool_describe(pool) if _core.capabilities(pool).own_store else {}


def _copy_pool(
    source: str,
    pool: Pool,
    writable: bool,
    destination: str,
    into: Pool | None,
    options: Options,
    report: Report,
) -> None:
    """Container by container. Datasets name themselves in the root when they are whole, so the root is not
    copied. While the copy is not whole the destination has a container more, whose mark says what is done."""
    id_ = str(_described(source).get("uuid", source))
    if into and id_ == str(_described(destination).get("uuid", destination)):
        raise Error(DER_INVAL, f"copy {source} to {destination}: it is the same pool: give another one")
    labels = [label for label in pool.containers() if label not in (FIELDS_ROOT, MARKS)]
    if is_unfinished(pool):
        raise Error(
            DER_BUSY,
            f"copy {source}: it is itself an unfinished copy, since it has the container {MARKS}: finish "
            "that first",
        )
    with contextlib.ExitStack() as stack:
        identity = {"id": id_, "text": source}
        mark = _open_mark(into, destination, stack) if into and MARKS in into.containers() else None
        if not mark or not mark.find(identity, options.take_over, only_look=options.dry_run):
            refuse = functools.partial(_refuse_to_overwrite, source, destination, into, labels)
            if (
                into
                and labels
                and _all_complete(source, pool, writable, destination, into, labels, options, report)
            ):
                report.complete = True
                return
            refuse()
            _refuse_akeys(source, pool, labels, destination)
            if into and not options.dry_run:
                mark = mark or _open_mark(into, destination, stack)
                mark.begin(refuse, source=identity)
        for label in labels:
            if mark and mark.noted(label):
                report.resumed = True
                continue
            place = Place(source, label)
            ContainerCopy(place, replace(place, pool=destination), options, report).run(pool, writable, into)
            if mark and not options.dry_run:
                mark.note(label, "copied")
        if mark and not options.dry_run:
            mark.remove()
    if into and not options.dry_run:
        drop_marks(into)
        into.sync()


def _all_complete(
    source: str,
    pool: Pool,
    writable: bool,
    destination: str,
    into: Pool,
    labels: list[str],
    options: Options,
    report: Report,
) -> bool:
    places = (Place(source, label) for label in labels)
    return all(
        ContainerCopy(one, replace(one, pool=destination), options, report).is_complete(pool, writable, into)
        for one in places
    )


def _refuse_akeys(source: str, pool: Pool, labels: list[str], destination: str) -> None:
    """Before the first container is copied. A DAOS system lists objects too slowly for that: each container
    is refused by itself."""
    if _core.capabilities(destination).versions or not _core.capabilities(source).own_store:
        return
    for label in labels:
        with pool.open_container(label, read_only=True) as container:
            refuse_akeys(objects_of(container), f"{source}/{label}", destination)


def _open_mark(into: Pool, destination: str, stack: contextlib.ExitStack) -> Mark:
    marks = stack.enter_context(into.open_or_create_container(MARKS))
    return stack.enter_context(contextlib.closing(Mark(marks, "", destination)))


def _refuse_to_overwrite(source: str, destination: str, into: Pool | None, labels: list[str]) -> None:
    if into and (there := sorted(set(labels).intersection(into.containers()))):
        raise Error(
            DER_EXIST,
            f"copy {source} to {destination}: it has the containers {', '.join(there)}, and no unfinished "
            "copy of this source: copy the containers one by one, under other names, or give another pool",
        )
