"""What a location holds: pools, containers, and all that is in them, by name, with facts.

The commands ls, tree, stat, cat and du print what is found here. A thing that is damaged has an error in the
place of its facts, and does not end a listing.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from stepstore import _core
from stepstore.errors import DER_INVAL, DER_NONEXIST, DER_NOSYS, Error
from stepstore.kinds import (
    ARRAYS_HI,
    FIELDS_HI,
    FIELDS_ROOT,
    INDEX_HI,
    OWNED,
    array_names,
    dataset_record,
    stream_names,
    user_half,
    zarr_node,
)
from stepstore.store import ObjectId
from stepstore.view.data import ArrayNode, StreamNode
from stepstore.view.file_system import named_entry, no_entry
from stepstore.view.files import BlobNode, FolderNode
from stepstore.view.node import Broken, Inside, Node
from stepstore.view.objects import CollocationNode, ObjectNode

# From so many objects on the sizes of all are asked for at once.
_FEW = 20
_PLURALS = {
    "directory": ("directory", "directories"),
    "key_value": ("key-value", "key-values"),
    "zarr_group": ("Zarr group", "Zarr groups"),
    "zarr_array": ("Zarr array", "Zarr arrays"),
    "value": ("value", "values"),
    "records": ("array of records", "arrays of records"),
    "error": ("part that cannot be read", "parts that cannot be read"),
}


class DirectoryNode(Node):
    """A directory that is no pool, with pools somewhere below it."""

    kind = "directory"

    def __init__(self, path: str):
        super().__init__(path, path)

    def children(self, everything: bool = False) -> Iterator[Node]:
        for told in _core.pool_list(self.location):
            if "error" in told:
                yield Broken(self._below(told["path"]), told["path"], Error(DER_INVAL, told["error"]))
            else:
                yield PoolNode(told["path"], name=self._below(told["path"]))

    def _below(self, path: str) -> str:
        here = os.path.realpath(self.location) + "/"
        return os.path.realpath(path).removeprefix(here) or path


class PoolNode(Node):
    kind = "pool"

    def __init__(self, location: str, snapshot: str | None = None, name: str = ""):
        super().__init__(name or location, location)
        self._snapshot = snapshot
        self._pool: _core.Pool | None = None

    def opened(self) -> _core.Pool:
        if self._pool is None:
            self._pool = _core.Pool.connect(self.location, True)
        return self._pool

    def facts(self) -> dict[str, Any]:
        return _core.pool_describe(self.location)

    def children(self, everything: bool = False) -> Iterator[Node]:
        found = sorted((label or uuid, uuid) for uuid, label in self.opened().containers())
        for name, uuid in found:
            if name == FIELDS_ROOT and not everything:
                continue  # it names the datasets, which are listed themselves
            yield ContainerNode(self.location, name, self._snapshot, uuid)


class ContainerNode(Node):
    """Its kind is "dataset" if it has fields of an FDB, and "file_system" if it has one."""

    costly = True

    def __init__(self, pool: str, label: str, snapshot: str | None = None, uuid: str = ""):
        super().__init__(label, f"{pool}/{label}")
        self._pool, self._snapshot = pool, snapshot
        self._uuid = uuid
        self._inside: Inside | None = None

    @property
    def inside(self) -> Inside:
        if self._inside is None:
            self._inside = Inside(self._pool, self.name, self._snapshot)
        return self._inside

    @property
    def kind(self) -> str:  # type: ignore[override]
        try:
            if self.name.startswith("fields-") and dataset_record(self.inside.container):
                return "dataset"
            return "file_system" if self.inside.files else "container"
        except Error:
            return "container"

    def facts(self) -> dict[str, Any]:
        found = Counter(one.kind for one in self.children() if one.name != ".")
        return {"uuid": self._uuid, "holds": dict(found)}

    def children(self, everything: bool = False) -> Iterator[Node]:
        yield from self.names(everything)
        if everything or self.kind == "container":
            yield from self.objects(everything)

    def names(self, everything: bool = False) -> Iterator[Node]:
        parts: list[Callable[[bool], Iterator[Node]]] = [self._streams, self._arrays, self._files]
        if (kind := self.kind) != "container":
            parts = [self._collocations if kind == "dataset" else self._entries]
        for part in parts:
            yield from self._part(part, everything)

    def objects(self, everything: bool = False) -> Iterator[Node]:
        """By their ids. Of many their sizes are asked too."""
        return self._part(self._objects, everything)

    def _part(self, part: Callable[[bool], Iterator[Node]], everything: bool) -> Iterator[Node]:
        name = part.__name__.strip("_")
        try:
            yield from part(everything)
        except Error as error:
            if error.code != DER_NOSYS:  # a DAOS system lists no objects
                yield Broken(name, f"{self.location}: its {name}", error)

    def _streams(self, _: bool) -> Iterator[Node]:
        return (StreamNode(self.inside, name) for name in stream_names(self.inside.container))

    def _arrays(self, _: bool) -> Iterator[Node]:
        return (ArrayNode(self.inside, name) for name in array_names(self.inside.container))

    def _files(self, everything: bool) -> Iterator[Node]:
        root = FolderNode(self.inside, "", ".")
        if root.kind != "folder" or zarr_node(self.inside.blobs, ""):  # which says what is wrong with it
            yield _Itself(self.inside, "", ".")
        yield from root.children(everything)

    def _entries(self, everything: bool) -> Iterator[Node]:
        root = named_entry(self.inside, "")
        return iter(()) if root is None else root.children(everything)

    def _collocations(self, _: bool) -> Iterator[Node]:
        inside = self.inside
        with inside.container.key_value(_main(inside), read_only=True) as values:
            names = sorted(one.decode("utf-8", "surrogateescape") for one in values.keys_below("c/"))
        return (CollocationNode(inside, name.removeprefix("c/")) for name in names)

    def _objects(self, everything: bool) -> Iterator[Node]:
        inside = self.inside
        hidden: set[ObjectId] = set()
        if not everything:
            if names := array_names(inside.container):
                hidden = {_core.array_head(inside.container._handle, name) for name in ["", *names]}
        found = [(ObjectId(one["hi"], one["lo"]), one) for one in inside.objects()]
        wanted = [
            (oid, one)
            for oid, one in found
            if everything or (one["hi"] & 0xFFFFFFFF not in OWNED and not (hidden and oid in hidden))
        ]
        sized: dict[tuple[int, int], dict[str, Any]] = {}
        if _FEW < len(wanted) > len(found) // 2:
            with contextlib.suppress(Error):  # of one that is damaged: it says so itself
                sized = {(one["hi"], one["lo"]): one for one in inside.objects(sizes=True)}
        with_arrays = ARRAYS_HI in {one["hi"] & 0xFFFFFFFF for _, one in found}
        for oid, one in wanted:
            if with_arrays and not everything and self._is_removed_array(oid, one["type"]):
                continue
            yield ObjectNode(inside, oid, one["type"], sized.get((one["hi"], one["lo"])))

    def _is_removed_array(self, oid: ObjectId, kind: str) -> bool:
        """Its head stays, under an id that is made of its name."""
        if kind != "key_value" or user_half(oid) == 0:
            return False
        with contextlib.suppress(Error):  # what is wrong with it, its own listing says
            with self.inside.container.key_value(oid, read_only=True) as values:
                header = values.get("header")
            return header is not None and bool(_core.array_header(header)["removed"])
        return False

    def used(self) -> int:
        if self.kind == "file_system":
            return sum(child.used() for child in self.names())
        if self.kind != "dataset":
            return super().used()
        inside = self.inside
        chunk = _core.dataset_options(dataset_record(inside.container) or b"")["chunk_size"]
        found = [ObjectId(one["hi"], one["lo"]) for one in inside.objects()]
        fields = sum(inside.size_of(oid, chunk) for oid in found if user_half(oid) == FIELDS_HI)
        return fields + sum(inside.size_of_values(oid) for oid in found if user_half(oid) == INDEX_HI)


class _Itself(FolderNode):
    """The Zarr group or array that a container is. What is in it is in the container's listing."""

    def children(self, everything: bool = False) -> Iterator[Node]:
        return iter(())

    def used(self) -> int:
        found = (self._inside.blobs.info(name.encode()) for name in ("zarr.json", ".zgroup", ".zattrs"))
        chunks = (one.used() for one in FolderNode.children(self, True) if self.kind == "zarr_array")
        return sum(info[0] for info in found if info) + sum(chunks)


class _Streams(Node):
    """The streams whose names begin with a name and '/'."""

    kind = "folder"

    def __init__(self, inside: Inside, name: str, names: list[str]):
        super().__init__(name, f"{inside.place}/{name}")
        self._inside, self._names = inside, names

    def children(self, everything: bool = False) -> Iterator[Node]:
        return (StreamNode(self._inside, name) for name in self._names)


def _main(inside: Inside) -> ObjectId:
    return inside.container.object_id(0, object_class="S1")


def summary(holds: dict[str, int]) -> str:
    """The kinds in a container, for people."""
    words = []
    for kind, count in holds.items():
        one, many = _PLURALS.get(kind, (kind, f"{kind}s"))
        words.append(f"{count:,} {one if count == 1 else many}")
    return ", ".join(words) or "empty"


def look(pool: str, container: str = "", rest: str = "", snapshot: str | None = None) -> Node:
    """What a location names. Error DER_NONEXIST: there is nothing of this name."""
    if not container:
        top = PoolNode(pool, snapshot)
        top.opened()  # one that is not there is no damaged entry of a listing
        return top
    node = ContainerNode(pool, container, snapshot)
    inside = node.inside
    if not rest:
        return node
    if node.kind == "dataset":
        for one in node.children():
            if one.name == rest:
                return one
    if inside.files is not None:
        entry = named_entry(inside, rest)
        if entry is not None:
            return entry
        if _core.parse_object(rest) is None:
            raise no_entry(inside, rest)
    if (parsed := _core.parse_object(rest)) is not None:
        hi, lo, key = parsed
        told = _core.container_object(pool, container, ObjectId(hi, lo), inside.epoch)
        found = ObjectNode(inside, ObjectId(hi, lo), told["type"])
        return found.key(key) if key else found
    named = _named(inside, rest)
    if named is None:
        raise Error(
            DER_NONEXIST,
            f"{inside.place} has no stream, array, blob or folder {rest!r}, and no object of that id: "
            f"'stepstore ls {inside.place}' lists what it has",
        )
    return named


def _named(inside: Inside, rest: str) -> Node | None:
    streams = stream_names(inside.container)
    if rest in streams:
        return StreamNode(inside, rest)
    if rest in array_names(inside.container):
        return ArrayNode(inside, rest)
    name = rest.rpartition("/")[2]
    folder = FolderNode(inside, rest, name)
    if folder.kind != "folder":
        return folder
    key = rest.encode("utf-8", "surrogateescape")
    if inside.blobs.exists(key):
        return BlobNode(inside, rest, name)
    if inside.blobs.is_folder(key):
        return folder
    for stream in sorted(streams, key=len, reverse=True):
        if rest.startswith(f"{stream}/"):
            found = StreamNode(inside, stream).variable(rest.removeprefix(f"{stream}/"))
            if found is not None:
                return found
    below = [one for one in streams if one.startswith(f"{rest}/")]
    return _Streams(inside, rest, below) if below else None


# ---- what does not end at an error
def listed(node: Node, everything: bool = False) -> Iterator[Node]:
    """What is in a node. Where it cannot be listed, a node that says why."""
    try:
        yield from node.children(everything)
    except Error as error:
        yield Broken(node.name, node.location, error)


def described(node: Node) -> tuple[dict[str, Any], Error | None]:
    """Its facts, or why they cannot be read."""
    try:
        return node.facts(), None
    except Error as error:
        return {}, error


def is_gone(node: Node, error: Error | None) -> bool:
    """It was removed since it was listed, or is a name without an array."""
    return error is not None and error.code == DER_NONEXIST and not isinstance(node, StreamNode | Broken)
