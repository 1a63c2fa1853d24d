"""Objects by id, keys of key-values, and collocations of datasets of fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepstore import _core
from stepstore.buffers import escape
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
        if self.kind != "key_value":
            return iter(())
        with self._inside.container.key_value(self.oid, read_only=True) as values:
            return iter([KeyNode(self, raw) for raw in sorted(values.raw_keys())])

    def key(self, raw: bytes) -> KeyNode:
        """DER_NONEXIST: it has no such key. DER_INVAL: it is an array."""
        found = KeyNode(self, raw)
        if self.kind != "key_value":
            raise Error(DER_INVAL, f"{self.location}: an array has no keys: leave out {found.name!r}")
        found.facts()
        return found

    def used(self) -> int:
        if self.kind == "key_value":
            return self._inside.size_of_values(self.oid)
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


class CollocationNode(Node):
    """The fields of a collocation key. `fdb-list` lists them."""

    kind = "collocation"

    def __init__(self, inside: Inside, name: str):
        super().__init__(name, f"{inside.place}/{name}")

    def used(self) -> int:
        return 0  # its fields share objects with those of others: the dataset's are counted
