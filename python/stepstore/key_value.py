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

    Keys are text or bytes, at least one byte and none of them zero. Text is UTF-8, so "a" and b"a" are the
    same key. Listing gives text. Bytes that are no UTF-8 come as surrogates, and find the key again. Values
    are bytes. A value to put is text (stored as UTF-8), bytes, or any object with the buffer protocol.

    Keys come in no promised order, and page by page: a key that is put or removed meanwhile may come or not.
    `len` lists all keys. Each put, get and remove is whole or not at all; several of them are not one.

    Every call may raise `stepstore.Error`: DER_NO_PERM (open for reading only), DER_NO_HDL (closed), DER_CSUM
    (damaged), DER_NOSPACE (the device is full). A key or value of the wrong kind raises TypeError.

    `Container.key_value` opens one. The methods whose names begin with `a` are awaitable: the call goes on
    while the event loop does other things, and also to its end when its task is cancelled.
    """

    _handle: _core.KeyValue

    # ---- one value
    def put(self, key: Key, value: Memory | str, *, condition: str = "none") -> None:
        """Store a value.

        Parameters
        ----------
        key : str or bytes
            The key.
        value : str, bytes or buffer
            The value. Any contiguous buffer is stored without a copy.
        condition : {"none", "must_not_exist", "must_exist"}, optional
            What must be so at that moment, or nothing is stored.

        Raises
        ------
        Error
            DER_EXIST or DER_NONEXIST: the condition is not met. DER_INVAL: masked elements, or Python
            objects.
        """
        self._handle.put(checked_key(key), memory_of(value), condition)

    @overload
    def get(self, key: Key) -> bytes | None: ...
    @overload
    def get(self, key: Key, default: bytes) -> bytes: ...
    @overload
    def get(self, key: Key, default: Any = None) -> Any: ...
    def get(self, key: Key, default: Any = None) -> Any:
        """Read a value.

        Parameters
        ----------
        key : str or bytes
            The key.
        default : object, optional
            The result if there is no such key.

        Returns
        -------
        bytes or object
            The value, or `default`.
        """
        value = self._handle.get(checked_key(key))
        return default if value is None else value

    def read_into(self, key: Key, into: Room) -> int | None:
        """Read a value into memory of yours.

        Parameters
        ----------
        key : str or bytes
            The key.
        into : bytearray, numpy array or other buffer
            Contiguous and writable memory. Nothing is read if the value is larger.

        Returns
        -------
        int or None
            The size of the value in bytes; None if there is no such key.

        Raises
        ------
        BufferError
            The memory is read-only.
        Error
            DER_INVAL: the memory is not contiguous.
        """
        return self._handle.read_into(checked_key(key), room_for(into))

    def remove(self, key: Key, *, condition: str = "none") -> bool:
        """Remove a key.

        Parameters
        ----------
        key : str or bytes
            The key.
        condition : {"none", "must_exist"}, optional
            With "must_exist" it is looked whether there is the key.

        Returns
        -------
        bool
            Whether there was the key. Without a condition it is not looked, and the result is True.
        """
        return self._handle.remove(checked_key(key), condition)

    def size(self, key: Key) -> int | None:
        """Tell the size of a value without reading it.

        Parameters
        ----------
        key : str or bytes
            The key.

        Returns
        -------
        int or None
            Bytes; None if there is no such key.
        """
        return self._handle.size(checked_key(key))

    def keys_below(self, prefix: Key = "", delimiter: str = "") -> list[bytes]:
        """List the keys that begin with a prefix, without a walk over the others.

        Parameters
        ----------
        prefix : str or bytes, optional
            What the keys begin with. "": all keys.
        delimiter : str, optional
            One character of 7 bits. Keys that have it after the prefix are given as their part up to and
            including it, once. "": all keys are given whole.

        Returns
        -------
        list of bytes
            The keys, sorted.
        """
        return self._handle.keys_below(encode_key(prefix), delimiter)

    def exchange(
        self, key: Key, value: Memory | str | None, room: int = 64
    ) -> tuple[int, bytes | None] | None:
        """Put a value, or remove a key, and tell what it replaced.

        Both happen in one transaction. A DAOS system looks before it puts, in a call of its own.

        Parameters
        ----------
        key : str or bytes
            The key.
        value : str, bytes, buffer or None
            The new value. None removes the key.
        room : int, optional
            The most bytes of the old value that are given back, at most 4,096.

        Returns
        -------
        (int, bytes or None) or None
            The size of the old value in bytes, and its bytes unless they are more than `room`. None: there
            was no value.
        """
        return self._handle.exchange(checked_key(key), None if value is None else memory_of(value), room)

    def put_if(self, key: Key, value: Memory | str, expected: Memory | str | None) -> bool:
        """Put a value if the key still has the expected one.

        So a process that was stopped between its look and its put does not overwrite what others put
        meanwhile.

        Parameters
        ----------
        key : str or bytes
            The key.
        value : str, bytes or buffer
            The new value.
        expected : str, bytes, buffer or None
            The old value. None: the key is not there.

        Returns
        -------
        bool
            False: the key has another value, and nothing was changed.

        Raises
        ------
        Error
            DER_TIMEDOUT, of a cluster: it is in doubt. Calling again with the same `expected` settles it.
            DER_NOSYS: this libdaos has no transactions.
        """
        there = None if expected is None else memory_of(expected)
        return self._handle.put_if(checked_key(key), there, memory_of(value))

    def remove_if(self, key: Key, expected: Memory | str) -> bool:
        """Remove a key if it still has the expected value.

        Parameters
        ----------
        key : str or bytes
            The key.
        expected : str, bytes or buffer
            The old value.

        Returns
        -------
        bool
            False: the key has another value, and nothing was changed.

        Raises
        ------
        Error
            As for `put_if`.
        """
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
        """Remove a key, and return its value. Of several that do this at once, one gets it.

        Parameters
        ----------
        key : str or bytes
            The key.
        default : object, optional
            The result if there is no such key.

        Returns
        -------
        bytes or object
            The value that was removed, or `default`.

        Raises
        ------
        KeyError
            There is no such key, and no `default` was given.
        """
        while (value := self.get(key)) is not None:
            if self.remove_if(key, value):
                return value
        if default is self._missing:
            raise KeyError(key)
        return default

    def popitem(self) -> tuple[str, bytes]:
        """Remove some key, and return it with its value.

        Returns
        -------
        (str, bytes)
            The key and the value.

        Raises
        ------
        KeyError
            There are no keys.
        """
        for key in self:
            if (value := self.pop(key, None)) is not None:
                return key, value
        raise KeyError(f"key-value {self.id} is empty")

    def setdefault(self, key: Key, default: Any = None) -> bytes:
        """Read a value, and put a default first if there is none.

        Of several that do this at once, one puts. All get what it put.

        Parameters
        ----------
        key : str or bytes
            The key.
        default : str, bytes or buffer
            What is put if there is no such key. The default None is refused.

        Returns
        -------
        bytes
            The value.

        Raises
        ------
        TypeError
            There is no such key, and `default` is no value.
        """
        while (value := self.get(key)) is None:
            try:
                self.put(key, default, condition="must_not_exist")
            except Error as error:
                if error.code != DER_EXIST:
                    raise
        return value

    # ---- many
    def update(self, other: Any = (), /, **more: Any) -> None:
        """Put all pairs of a mapping or an iterable, about a thousand in one call.

        The calls are not one transaction: after an error the pairs of earlier calls are stored.

        Parameters
        ----------
        other : mapping or iterable of pairs, optional
            Keys and values.
        **more : str, bytes or buffer
            More values, by their keys.
        """
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
        """Remove all keys that a listing finds, one after the other."""
        for page in self.pages():
            for key in page:
                self._handle.remove(key, "none")

    def pages(self) -> Iterator[list[bytes]]:
        """Walk over the keys as bytes.

        Yields
        ------
        list of bytes
            Up to about a thousand keys, in no promised order.
        """
        pages = self._handle.pages()
        while page := pages.next():
            yield page

    def raw_keys(self) -> list[bytes]:
        """List all keys as bytes.

        Returns
        -------
        list of bytes
            The keys, in no promised order.
        """
        return list(itertools.chain.from_iterable(self.pages()))

    def items(self) -> ItemsView[str, bytes]:
        """View the pairs of key and value. Iterating reads up to about 16 MiB of values at a time.

        Returns
        -------
        ItemsView
            Keys as text, values as bytes.
        """
        return _Items(self)

    def values(self) -> ValuesView[bytes]:
        """View the values. Iterating reads up to about 16 MiB of them at a time.

        Returns
        -------
        ValuesView
            Values as bytes.
        """
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
        """Store a value, awaitable. See `put`.

        Parameters
        ----------
        key : str or bytes
            The key.
        value : str, bytes or buffer
            The value. Its memory must not change before the call has completed.
        condition : {"none", "must_not_exist", "must_exist"}, optional
            As for `put`.

        Raises
        ------
        Error
            As for `put`.
        """
        await self._waits.queues.call(self._handle, "put", checked_key(key), memory_of(value), condition)

    async def aget(self, key: Key, default: Any = None) -> Any:
        """Read a value, awaitable. See `get`.

        Parameters
        ----------
        key : str or bytes
            The key.
        default : object, optional
            The result if there is no such key.

        Returns
        -------
        bytes or object
            The value, or `default`.
        """
        name = checked_key(key)
        room = _USUAL_SIZE
        while True:
            value = await self._waits.queues.call(self._handle, "get", name, room)
            if not isinstance(value, int):
                return default if value is None else value
            room = value  # again with room for all; it may be replaced by a larger one meanwhile

    async def aread_into(self, key: Key, into: Room) -> int | None:
        """Read a value into memory of yours, awaitable. See `read_into`.

        Parameters
        ----------
        key : str or bytes
            The key.
        into : bytearray, numpy array or other buffer
            Contiguous and writable memory. Nothing is read if the value is larger.

        Returns
        -------
        int or None
            The size of the value in bytes; None if there is no such key.

        Raises
        ------
        BufferError
            The memory is read-only.
        Error
            DER_INVAL: the memory is not contiguous.
        """
        size: int | None = await self._waits.queues.call(
            self._handle, "get_into", checked_key(key), room_for(into)
        )
        return size

    async def asize(self, key: Key) -> int | None:
        """Tell the size of a value, awaitable. See `size`.

        Parameters
        ----------
        key : str or bytes
            The key.

        Returns
        -------
        int or None
            Bytes; None if there is no such key.
        """
        return await self.aread_into(key, bytearray())

    async def aremove(self, key: Key, *, condition: str = "none") -> bool:
        """Remove a key, awaitable. See `remove`.

        Parameters
        ----------
        key : str or bytes
            The key.
        condition : {"none", "must_exist"}, optional
            As for `remove`.

        Returns
        -------
        bool
            Whether there was the key. Without a condition it is not looked, and the result is True.
        """
        from stepstore.aio import in_thread

        return await in_thread(self._handle.remove, checked_key(key), condition)

    async def apages(self) -> AsyncIterator[list[bytes]]:
        """Walk over the keys as bytes, for `async for`. See `pages`.

        Yields
        ------
        list of bytes
            Up to about a thousand keys, in no promised order.
        """
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
