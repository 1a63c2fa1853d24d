"""Locations on the command line: POOL[/CONTAINER[/REST]], REST a stream's name or an object id and a key."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepstore import _core
from stepstore.buffers import escape, unescape
from stepstore.cli.common import usage_error
from stepstore.console import CommandError, ExitCode
from stepstore.errors import Error
from stepstore.store import Container, ObjectId, Pool

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Address:
    """What a location names. rest: what follows the container. Of an object and its key as it was given."""

    text: str
    pool: str
    container: str = ""
    rest: str = ""

    @property
    def is_of_daos_system(self) -> bool:
        """What is there cannot be walked: that is left to the system's own tools."""
        return not _core.capabilities(self.pool).own_store

    @property
    def object_id(self) -> ObjectId | None:
        found = _core.parse_object(self.rest)
        return ObjectId(found[0], found[1]) if found else None

    @property
    def key(self) -> bytes | None:
        found = _core.parse_object(self.rest)
        return unescape(found[2]) if found and found[2] else None

    @property
    def stream(self) -> str:
        """The name of a stream, "" where the location names an object or no more than a container."""
        return "" if self.object_id else self.rest


def resolve(location: str, *, may_be_new: bool = False) -> Address:
    """Splits a location after the pool. may_be_new: all of a path in which there is no pool names one that is
    to be made. Else exit code 3."""
    check_text(location)
    with _usage_errors():
        parts = _core.parse_location(location)
    pool, rest, exists = _core.find_pool(location)
    if not exists and parts.is_path and not may_be_new:
        raise not_found(f"{location}: there is no pool: looked for {_tried(pool)}; {_advice(location)}")
    container, _, rest = rest.lstrip("/").partition("/")
    with _usage_errors():
        if _core.parse_object(rest):
            return Address(location, pool, *_core.parse_names(container, location)[:1], rest)
        return Address(location, pool, *_core.parse_names(f"{container}/{rest}", location))


@contextlib.contextmanager
def _usage_errors() -> Iterator[None]:
    """What the grammar refuses is the user's to mend."""
    try:
        yield
    except Error as error:
        usage_error(str(error))


def _tried(pool: str) -> str:
    with contextlib.suppress(Error):
        return _core.pool_path(pool) + (" and the directories above it" if "/" in pool.strip("/") else "")
    return pool


def _advice(location: str) -> str:
    """Users of labels may leave out `local:`."""
    first = location.split("/")[0]
    with contextlib.suppress(Error):
        if first not in (".", "..") and os.path.exists(_core.pool_path(f"local:{first}")):
            return f"the pool with the label {first} is local:{first}"
    return "'stepstore pool list' shows the pools with labels"


def check_text(location: str) -> None:
    if not location:
        usage_error("an empty location: give POOL[/CONTAINER[/...]]")
    if any("\ud800" <= character <= "\udfff" for character in location):
        usage_error(
            f"{escape(os.fsencode(location))!r}: a location is UTF-8 text; give other bytes of a key as %xx"
        )


def open_container(address: Address, snapshot: str | None = None) -> tuple[Pool, Container]:
    """The container of an address, read-only, at a snapshot where one is named."""
    if not address.container:
        usage_error(f"{address.text!r} names a pool only: give POOL/CONTAINER")
    pool = Pool.connect(address.pool, read_only=True)
    container = pool.open_container(address.container, read_only=True)
    return pool, container.at_snapshot(snapshot) if snapshot else container


def not_found(message: str) -> CommandError:
    return CommandError(message, ExitCode.NOT_FOUND)
