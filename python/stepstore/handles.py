"""What all handles of the store share: they close, and work in `with`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from stepstore import _core
from stepstore.errors import DER_NO_HDL, Error

if TYPE_CHECKING:
    from typing import Self

    from stepstore._core import ObjectId
    from stepstore.aio import Queues


class Waits:
    """What a pool shares with everything that is opened from it: its location, and awaited calls in flight.

    Parameters
    ----------
    location : str
        The location of the pool, as it was given.
    read_only : bool, optional
        Whether the pool was opened for reading only.
    """

    def __init__(self, location: str, read_only: bool = False) -> None:
        self.location = location
        self.elsewhere = _core.absolute_location(location)  # the same in any directory
        self.read_only = read_only
        self._queues: Queues | None = None

    @property
    def queues(self) -> Queues:
        """The event queues of the pool, made at the first use."""
        if self._queues is None:
            from stepstore.aio import Queues  # asyncio takes longer to import than all else here

            self._queues = Queues()
        return self._queues

    def close(self) -> None:
        """Wait for the awaited calls in flight."""
        if self._queues is not None:
            self._queues.close()


class Handle:
    """Something open. `with` closes it, and so does the garbage collector.

    It can be pickled while it is open, for a process of `multiprocessing`, joblib or Dask. Who unpickles it
    opens the same anew, by its location.

    Parameters
    ----------
    handle : object
        The object of the extension.
    waits : Waits
        The location and the awaited calls, which the pool shares.
    """

    def __init__(self, handle: Any, waits: Waits):
        self._handle = handle
        self._waits = waits
        self._opened_by: tuple[Callable[..., Any], tuple[Any, ...]] | None = None  # how to open it anew

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.closed:
            raise Error(DER_NO_HDL, f"a closed {self._name} cannot be pickled: open it again")
        if self._opened_by is None:
            raise TypeError(f"a {self._name} that was opened like this cannot be pickled")
        return self._opened_by

    def close(self) -> None:
        """Close it. What was opened from it stays open, and a second call does nothing."""
        self._handle.close()

    @property
    def closed(self) -> bool:
        """Whether it is closed: no other call works then."""
        closed: bool = self._handle.closed
        return closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- how it shows itself: also when it is closed, and without a walk over what it holds
    @property
    def _name(self) -> str:
        return f"stepstore.{type(self).__name__}"

    def _facts(self) -> Iterator[tuple[str, Any]]:
        """What a notebook shows; after an Error nothing more."""
        return iter(())

    def __repr__(self) -> str:
        return f"<closed {self._name}>" if self.closed else f"<{self._name}>"

    def _repr_html_(self) -> str:
        from stepstore.notebook import table

        return table(self._name, [("", "closed")] if self.closed else self._facts())


class StoredObject(Handle):
    """What key-values and arrays have in common.

    Parameters
    ----------
    handle : object
        The object of the extension.
    waits : Waits
        The location and the awaited calls, which the pool shares.
    container : str
        The label of the container that the object lies in.
    """

    def __init__(self, handle: Any, waits: Waits, container: str):
        super().__init__(handle, waits)
        self._container = container

    @property
    def id(self) -> ObjectId:
        """The full id of the object, which contains its kind and class."""
        found: ObjectId = self._handle.id
        return found

    def destroy(self) -> None:
        """Remove the object with all that it holds. Snapshots keep what they have of it."""
        self._handle.destroy()

    def _facts(self) -> Iterator[tuple[str, Any]]:
        yield "object", self.id
        yield "container", self._container
        yield "pool", self._waits.location

    def __repr__(self) -> str:
        if self.closed:
            return super().__repr__()
        return f"<{self._name} {self.id} in {self._container!r}>"
