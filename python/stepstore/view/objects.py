"""Objects by id, keys of key-values, dkeys and akeys, and collocations of datasets of fields."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from typing import Any

from stepstore import _core
from stepstore.buffers import escape, unescape
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.store import ObjectId
from stepstore.view.node import Inside, Node


class ObjectNode(Node):
    """told: what the container says of it, if that has been asked for."""

    def __init__(self, inside: Inside, oid: ObjectId, kind: str, told: dict[str, Any] | None = None):
        name = f"{oid.hi}.{oid.lo}"
        super().__init__(name, f"{inside.place}/{name}")
        self._inside, self._told = inside, told
        self.kind = kind
        self.oid = oid

    def facts(self) -> dict[str, Any]:
        told = self._told
        if told is None:
            inside = self._inside
            told = _core.container_object(inside.pool, inside.label, self.oid, inside.epoch)
        told = dict(told)
        del told["type"]
        return told

    def children(self, everything: bool = False) -> Iterator[Node]:
        if self.kind == "object":
            return iter([AkeyNode(self, dkey, akey) for dkey in self.dkeys() for akey in self.akeys(dkey)])
        if self.kind != "key_value":
            return iter(())
        with self._inside.container.key_value(self.oid, read_only=True) as values:
            return iter([KeyNode(self, raw) for raw in sorted(values.raw_keys())])

    def opened(self) -> AbstractContextManager[_core.Object]:
        """One of dkeys and akeys."""
        return closing(self._inside.container._handle.object(self.oid, True))

    def dkeys(self) -> list[bytes]:
        found: list[bytes] = []
        with self.opened() as opened:
            opened.list_dkeys(found.extend)
        return sorted(found)

    def akeys(self, dkey: bytes) -> list[bytes]:
        found: list[bytes] = []
        with self.opened() as opened:
            opened.list_akeys(dkey, found.extend)
        return sorted(found)

    def key(self, text: str) -> Node:
        """A key, a dkey, or DKEY/AKEY. DER_NONEXIST: it has no such key. DER_INVAL: it is an array."""
        if self.kind == "object":
            dkey, _, akey = text.partition("/")
            inner = AkeyNode(self, unescape(dkey), unescape(akey)) if akey else DkeyNode(self, unescape(dkey))
            inner.facts()
            return inner
        found = KeyNode(self, unescape(text))
        if self.kind != "key_value":
            raise Error(DER_INVAL, f"{self.location}: an array has no keys: leave out {found.name!r}")
        found.facts()
        return found

    def used(self) -> int:
        if self.kind == "key_value":
            return self._inside.size_of_values(self.oid)
        if self.kind == "object":
            return super().used()
        told = self.facts()
        if "cell_size" not in told or "size" not in told:
            return 0  # of an array that does not keep its sizes nobody knows
        return int(told["size"] * told["cell_size"])


class KeyNode(Node):
    kind = "key"

    def __init__(self, owner: ObjectNode, raw: bytes):
        super().__init__(escape(raw), f"{owner.location}/{escape(raw)}")
        self._owner, self._raw = owner, raw

    def _missing(self) -> Error:
        owner = self._owner
        return Error(DER_NONEXIST, f"{owner.location}: object {owner.oid} has no key {self.name}")

    def facts(self) -> dict[str, Any]:
        with self._owner._inside.container.key_value(self._owner.oid, read_only=True) as values:
            size = values.size(self._raw)
        if size is None:
            raise self._missing()
        return {"object": self._owner.name, "key": self.name, "size": size}

    def used(self) -> int:
        return int(self.facts()["size"])

    def data(self) -> Any:
        with self._owner._inside.container.key_value(self._owner.oid, read_only=True) as values:
            value = values.get(self._raw)
        if value is None:
            raise self._missing()
        return value


def _dkey_text(raw: bytes) -> str:
    return escape(raw).replace("/", "%2f")  # the first '/' of a location ends it


class DkeyNode(Node):
    kind = "dkey"

    def __init__(self, owner: ObjectNode, raw: bytes):
        super().__init__(_dkey_text(raw), f"{owner.location}/{_dkey_text(raw)}")
        self._owner, self._raw = owner, raw

    def facts(self) -> dict[str, Any]:
        akeys = self._owner.akeys(self._raw) if self._raw else []
        if not akeys:
            owner = self._owner
            raise Error(DER_NONEXIST, f"{owner.location}: object {owner.oid} has no dkey {self.name}")
        return {"object": self._owner.name, "dkey": self.name, "akeys": len(akeys)}

    def children(self, everything: bool = False) -> Iterator[Node]:
        for akey in self._owner.akeys(self._raw):
            node = AkeyNode(self._owner, self._raw, akey)
            node.name = escape(akey)
            yield node


class Records:
    """An array of records. Those that are not stored read as zeros, as the cells of an array do."""

    def __init__(self, node: AkeyNode, cell_size: int, size: int):
        self._node = node
        self.cell_size, self.size = cell_size, size

    def read(self, first: int, cells: int) -> bytes:
        memory = bytearray(cells * self.cell_size)
        node = self._node
        with node.owner.opened() as opened:
            opened.read_records(node.dkey, node.akey, self.cell_size, [(first, cells)], memory)
        return bytes(memory)


class AkeyNode(Node):
    """Its kind is "value", a single one, or "records", an array of them."""

    def __init__(self, owner: ObjectNode, dkey: bytes, akey: bytes):
        name = f"{_dkey_text(dkey)}/{escape(akey)}"
        super().__init__(name, f"{owner.location}/{name}")
        self.owner, self.dkey, self.akey = owner, dkey, akey

    @functools.cached_property
    def _described(self) -> tuple[str, int] | None:
        if not self.dkey:
            return None
        with self.owner.opened() as opened:
            return opened.describe(self.dkey, self.akey)

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "records" if self._described and self._described[0] == "array" else "value"

    def _missing(self) -> Error:
        owner = self.owner
        return Error(DER_NONEXIST, f"{owner.location}: object {owner.oid} has no akey {self.name}")

    def facts(self) -> dict[str, Any]:
        if self._described is None:
            raise self._missing()
        kind, size = self._described
        told = {"object": self.owner.name, "dkey": _dkey_text(self.dkey), "akey": escape(self.akey)}
        if kind == "single":
            return {**told, "size": size}
        records, end = self._counted()
        return {**told, "size": records * size, "record_size": size, "records": records, "end": end}

    def _counted(self) -> tuple[int, int]:
        """How many records there are, and the number after the last."""
        records = end = 0

        def count(page: list[tuple[int, int]]) -> None:
            nonlocal records, end
            records += sum(length for _, length in page)
            end = sum(page[-1])

        with self.owner.opened() as opened:
            opened.list_records(self.dkey, self.akey, count)
        return records, end

    def used(self) -> int:
        return int(self.facts()["size"])

    def data(self) -> Any:
        with self.owner.opened() as opened:
            value = opened.get(self.dkey, self.akey)
        if value is None:
            raise self._missing()
        return value

    def records(self) -> Records:
        told = self.facts()
        return Records(self, told["record_size"], told["end"])


class CollocationNode(Node):
    """The fields of a collocation key. `fdb-list` lists them."""

    kind = "collocation"

    def __init__(self, inside: Inside, name: str):
        super().__init__(name, f"{inside.place}/{name}")

    def used(self) -> int:
        return 0  # its fields share objects with those of others: the dataset's are counted
