"""The user attributes of a container (daos_cont_set_attr): those of now, as snapshots have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepstore import _core
from stepstore.errors import DER_NOTSUPPORTED, Error

if TYPE_CHECKING:
    from stepstore.copying.task import Place, Report
    from stepstore.store import Container


def _of(place: Place, container: Container) -> dict[bytes, bytes]:
    """A pool in files keeps none, and those of a DAOS system are not read."""
    if not _core.capabilities(place.pool).own_store:
        return {}
    try:
        return _core.user_attributes(place.pool, container._handle.uuid())
    except Error as error:
        if error.code != DER_NOTSUPPORTED:
            raise
        return {}


def copy(source: Place, old: Container, destination: Place, new: Container, report: Report) -> None:
    """Those that the copy has beside them stay."""
    wanted = _of(source, old)
    if not wanted:
        return
    why = "a DAOS system's are set by its own tool"
    if _core.capabilities(destination.pool).own_store:
        try:
            _core.set_user_attributes(destination.pool, new._handle.uuid(), wanted)
            return
        except Error as error:
            if error.code != DER_NOTSUPPORTED:
                raise
            why = "a pool in files keeps none"
    names = ", ".join(sorted(name.decode("utf-8", "surrogateescape") for name in wanted))
    report.note(f"{source}: its user attributes are not in the copy ({why}): {names}")


def differ(source: Place, old: Container, destination: Place, new: Container) -> bool:
    wanted, there = _of(source, old), _of(destination, new)
    return any(there.get(name) != value for name, value in wanted.items())
