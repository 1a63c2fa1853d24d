"""Locations on the command line: POOL[/CONTAINER[/REST]], REST a stream's name or an object id and a key."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass

from stepstore import _core
from stepstore.buffers import escape, unescape
from stepstore.cli.common import usage_error
from stepstore.console import CommandError, ExitCode
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.store import Container, ObjectId, Pool

# As `ls` prints them, and as the store's messages do.
_OBJECT = re.compile(r"(\d{1,20})\.(\d{1,20})(?:/(.*))?", re.DOTALL)
_DAOS = "daos://"
# Of these a pool is known by the number of its parts, not by a look: rados://CEPHPOOL/NAMESPACE.
_PARTS_OF_POOL = {_DAOS: 1, "rados://": 2}


@dataclass(frozen=True)
class Address:
    """What a location names. rest: what follows the container, as it was given."""

    text: str
    pool: str
    container: str = ""
    rest: str = ""

    @property
    def is_of_daos_system(self) -> bool:
        """What is there cannot be walked: that is left to the system's own tools."""
        return self.pool.startswith(_DAOS)

    @property
    def object_id(self) -> ObjectId | None:
        match = _OBJECT.fullmatch(self.rest)
        if not match:
            return None
        hi, lo = int(match[1]), int(match[2])
        if max(hi, lo) >= 1 << 64:
            usage_error(f"{self.text!r}: an object id is two numbers below 2^64 with a dot between them")
        return ObjectId(hi, lo)

    @property
    def key(self) -> bytes | None:
        match = _OBJECT.fullmatch(self.rest)
        return unescape(match[3]) if match and match[3] else None

    @property
    def stream(self) -> str:
        """The name of a stream, "" where the location names an object or no more than a container."""
        return "" if _OBJECT.fullmatch(self.rest) else self.rest


def is_pool(location: str) -> bool:
    """Whether the location is a pool, not something in one. A pool that cannot be opened is an error that
    says why."""
    try:
        pool, _, _, exists = _core.resolve_location(location)
        return exists and _core.pool_path(pool) == _core.pool_path(location)
    except Error as error:
        if error.code in (DER_NONEXIST, DER_INVAL):
            return False
        raise


def resolve(location: str) -> Address:
    """Splits a location after the longest beginning that is a pool. Exit code 3 when there is none."""
    check_text(location)
    for scheme, of_pool in _PARTS_OF_POOL.items():
        if location.startswith(scheme):
            parts = location.removeprefix(scheme).split("/", of_pool + 1)
            return Address(location, scheme + "/".join(parts[:of_pool]), *parts[of_pool:])
    parts = location.rstrip("/").split("/") if location.strip("/") else [location]
    for end in range(len(parts), 0, -1):
        pool = "/".join(parts[:end])
        if pool and is_pool(pool):
            return Address(location, pool, *"/".join(parts[end:]).split("/", 1))
    raise not_found(f"{location}: there is no pool: looked for {_tried(parts)}; {_advice(parts[0])}")


def _tried(parts: list[str]) -> str:
    try:
        return _core.pool_path(parts[0] if len(parts) == 1 else "/".join(parts)) + (
            " and the directories above it" if len(parts) > 1 else ""
        )
    except Error:
        return "/".join(parts)


def _advice(first: str) -> str:
    """Users of labels may leave out `local:`."""
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
