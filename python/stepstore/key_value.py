"""Key-value objects as mutable mappings."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, ItemsView, Iterable, Iterator, Mapping, MutableMapping, ValuesView
from typing import TYPE_CHECKING, Any, overload

from stepstore.buffers import Key, checked_key, decode_key, encode_key, memory_of, room_for
from stepstore.errors import DER_EXIST, Error
from stepstore.handles import StoredObject

if TYPE_CHECKING:
    from stepstore import _core
    from stepstore.buffers import Memory, Room

_PUT_TOGETHER = 1024  # pairs of one call of update
_USUAL_SIZE = 4096  # bytes of a value that one call gets


class KeyValue(StoredObject, MutableMapping[Key, "bytes"]):
    """A key-value object, as a mapping of keys to bytes.

    Keys are text or bytes, at least one byte and none of them zero; text is UTF-8, so "a" and b"a" are the
    same key. Listing gives text; bytes that are no UTF-8 come as surrogates, and find the key again. Values
    are bytes. What is put may be text (as UTF-8), bytes, or any object with the buffer protocol.

    Keys come in no promised order, and page by page: a key that is put or removed meanwhile may come or not.
    `len` lists all keys. Each put, get and remove is whole or not at all; several of them are not one.

    Failures of the store are Error: DER_NO_PERM (opened for reading only), DER_NO_HDL (closed), DER_CSUM
    (damaged), DER_NOSPACE. Wrong kinds of keys and values are TypeError.
    """

    _handle: _core.KeyValue

    # ---- one value
    def put(self, key: Key, value: Memory | str, *, condition: str = "none") -> None:
        """condition: "none", "must_not_exist" (else Error DER_EXIST) or "must_exist" (else DER_NONEXIST)."""
        self._handle.put(checked_key(key), memory_of(value), condition)

    @overload
    def get(self, key: Key) -> bytes | None: ...
    @overload
    def get(self, key: Key, default: bytes) -> bytes: ...
    @overload
    def get(self, key: Key, default: Any = None) -> Any: ...
    def get(self, key: Key, default: Any = None) -> Any:
        """The value, or `default` where there is no such key."""
        value = self._handle.get(checked_key(key))
        return default if value is None else value

    def read_into(self, key: Key, into: Room) -> int | None:
        """Reads a value into memory of yours (a bytearray, a numpy array). Returns its size in bytes; where
        that is more than there is room for, nothing is read. None: no such key."""
        return self._handle.read_into(checked_key(key), room_for(into))

    def remove(self, key: Key, *, condition: str = "none") -> bool:
        """Whether there was the key; condition "none" does not look, and says True."""
        return self._handle.remove(checked_key(key), condition)

    def size(self, key: Key) -> int | None:
        """The size of a value in bytes, without reading it; None: no such key."""
        return self._handle.size(checked_key(key))

    def keys_below(self, prefix: Key = "", delimiter: str = "") -> list[bytes]:
        """The keys that begin with `prefix`, sorted, without a walk over the others. delimiter: one character
        of 7 bits; keys that have it after the prefix are given as their part up to and including it,
        once."""
        return self._handle.keys_below(encode_key(prefix), delimiter)

    def exchange(
        self, key: Key, value: Memory | str | None, room: int = 64
    ) -> tuple[int, bytes | None] | None:
        """Puts a value, or removes the key where it is None. Returns what it replaced, from the same
        transaction: its size in bytes, and its bytes where they are no more than `room` (at most 4,096).
        None: there was no value. A DAOS system looks before it puts, in a call of its own."""
        return self._handle.exchange(checked_key(key), None if value is None else memory_of(value), room)

    def put_if(self, key: Key, value: Memory | str, expected: Memory | str | None) -> bool:
        """Puts a value if the key has the expected one at that moment; None: if it is not there. False: it
        has not, and nothing was changed. So a process that was stopped between its look and its put does not
        overwrite what others put meanwhile. Error DER_TIMEDOUT, of a cluster: it is in doubt, and calling
        again with the same `expected` settles it."""
        there = None if expected is None else memory_of(expected)
        return self._handle.put_if(checked_key(key), there, memory_of(value))

    def remove_if(self, key: Key, expected: Memory | str) -> bool:
        """Removes the key if it has the expected value, as put_if."""
        return self._handle.put_if(checked_key(key), memory_of(expected), None)

    def __getitem__(self, key: Key) -> bytes:
        value = self._handle.get(checked_key(key))
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Key, value: Memory | str) -> None:
        self.put(key, value)

    def __delitem__(self, key: Key) -> None:
        if not self.remove(key, condition="must_exist"):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str | bytes) and self.size(key) is not None

    _missing = object()

    def pop(self, key: Key, default: Any = _missing) -> Any:
        """Removes a key, and returns its value. Of several that do this at once, one gets it."""
        while (value := self.get(key)) is not None:
            if self.remove_if(key, value):
                return value
        if default is self._missing:
            raise KeyError(key)
        return default

    def popitem(self) -> tuple[str, bytes]:
        for key in self:
            if (value := self.pop(key, None)) is not None:
                return key, value
        raise KeyError(f"key-value {self.id} is empty")

    def setdefault(self, key: Key, default: Any = None) -> bytes:
        """The value; where there is no such key, `default` is put first. Of several that do this at once,
        one puts, and all get what it put."""
        while (value := self.get(key)) is None:
            try:
                self.put(key, default, condition="must_not_exist")
            except Error as error:
                if error.code != DER_EXIST:
                    raise
        return value

    # ---- many
    def update(self, other: Any = (), /, **more: Any) -> None:
        """Puts all pairs of a mapping or an iterable, in calls of about a thousand of them."""
        pairs: Iterable[tuple[Key, Any]]
        if isinstance(other, KeyValue | Mapping):
            pairs = other.items()
        elif hasattr(other, "keys"):
            pairs = ((key, other[key]) for key in other.keys())  # noqa: SIM118
        else:
            pairs = other
        made = ((checked_key(key), memory_of(value)) for key, value in itertools.chain(pairs, more.items()))
        while page := list(itertools.islice(made, _PUT_TOGETHER)):
            self._handle.put_many(page)

    def clear(self) -> None:
        """Removes all keys that it finds."""
        for page in self.pages():
            for key in page:
                self._handle.remove(key, "none")

    def pages(self) -> Iterator[list[bytes]]:
        """The keys as bytes, up to about a thousand at a time."""
        pages = self._handle.pages()
        while page := pages.next():
            yield page

    def raw_keys(self) -> list[bytes]:
        """All keys as bytes."""
        return list(itertools.chain.from_iterable(self.pages()))

    def items(self) -> ItemsView[str, bytes]:
        """Pairs of key and value; up to about 16 MiB of values are read at a time."""
        return _Items(self)

    def values(self) -> ValuesView[bytes]:
        """The values; up to about 16 MiB are read at a time."""
        return _Values(self)

    def __iter__(self) -> Iterator[str]:
        for page in self.pages():
            yield from map(decode_key, page)

    def __len__(self) -> int:
        return self._handle.count()

    def __bool__(self) -> bool:
        return next(self.pages(), None) is not None

    def _pairs(self) -> Iterator[tuple[bytes, bytes]]:
        for page in self.pages():
            while page:
                values = self._handle.get_many(page)
                for key, value in zip(page, values, strict=False):
                    if value is not None:  # else it was removed meanwhile
                        yield key, value
                page = page[len(values) :]

    # ---- awaitable: docs/python.md says what that costs, and what is in flight
    async def aput(self, key: Key, value: Memory | str, *, condition: str = "none") -> None:
        """put. The memory of a large value must not change before it has completed."""
        await self._waits.queues.call(self._handle, "put", checked_key(key), memory_of(value), condition)

    async def aget(self, key: Key, default: Any = None) -> Any:
        """get."""
        name = checked_key(key)
        room = _USUAL_SIZE
        while True:
            value = await self._waits.queues.call(self._handle, "get", name, room)
            if not isinstance(value, int):
                return default if value is None else value
            room = value  # again with room for all; it may be replaced by a larger one meanwhile

    async def aread_into(self, key: Key, into: Room) -> int | None:
        """read_into."""
        size: int | None = await self._waits.queues.call(
            self._handle, "get_into", checked_key(key), room_for(into)
        )
        return size

    async def asize(self, key: Key) -> int | None:
        """size."""
        return await self.aread_into(key, bytearray())

    async def aremove(self, key: Key, *, condition: str = "none") -> bool:
        """remove."""
        from stepstore.aio import in_thread

        return await in_thread(self._handle.remove, checked_key(key), condition)

    async def apages(self) -> AsyncIterator[list[bytes]]:
        """pages."""
        from stepstore.aio import in_thread

        pages = await in_thread(self._handle.pages)
        while page := await in_thread(pages.next):
            yield page

    def _facts(self) -> Iterator[tuple[str, Any]]:
        from stepstore.notebook import shortened

        yield from super()._facts()
        page = list(map(decode_key, self._handle.pages().next()))  # one call, however many there are
        yield "keys", shortened(sorted(page))


class _Items(ItemsView[str, bytes]):
    _mapping: KeyValue

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        return ((decode_key(key), value) for key, value in self._mapping._pairs())


class _Values(ValuesView[bytes]):
    _mapping: KeyValue

    def __iter__(self) -> Iterator[bytes]:
        return (value for _, value in self._mapping._pairs())
