"""What a container holds, and what of it a copy takes: objects, where they go, how they are opened.

A byte array does not keep its chunk size. Who wrote it knows: the record of a stream, a dataset's options, an
array's header, the space of blobs. For other byte arrays the user says it.

Objects of our libraries are found by ids that they make from a name or number. Where the class is one over
all targets, the id depends on how many targets the pool has. So such ids are made anew in the destination.
"""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from stepstore import _core
from stepstore.copying.objects import Keep, everything
from stepstore.errors import DER_INVAL, DER_NONEXIST, DER_NOSYS, DER_NOTSUPPORTED, Error
from stepstore.kinds import (
    ARRAY_DATA_HI,
    ARRAYS_HI,
    DATA_HI,
    DIRECTORY_HI,
    FIELDS_HI,
    INDEX_HI,
    LEASES_HI,
    MARK_HI,
    STEPS_HI,
    STREAMS_HI,
    WRITERS_HI,
    array_names,
    dataset_record,
    type_of,
    user_half,
)
from stepstore.store import Container, ObjectId

# Their numbers are from the container's counter.
NUMBERED = (STEPS_HI, INDEX_HI, FIELDS_HI, ARRAY_DATA_HI, DATA_HI)

_BLOB_CHUNK = 1 << 40
_MOST_NAMED = 5


def _number(oid: ObjectId) -> int:
    return oid.lo


@dataclass(frozen=True)
class Item:
    """An object to copy."""

    source: ObjectId
    destination: ObjectId
    chunk: int = 0  # of a byte array, in cells
    cell: int = 1
    keep: Keep = everything
    makes_valid: bool = False  # it tells readers that the others are there: copied when they are
    over: bool = False  # its copy holds what it was before: step_snapshots.py


@dataclass
class Stream:
    """A stream of steps to copy; its record is put when all is there."""

    name: str
    new_name: str
    record: bytes
    steps: int
    told: dict[str, Any]
    firsts: list[int]  # of its segments' objects, in the destination
    destination: Container

    def holds_data(self, segment: int, oid: ObjectId) -> bool:
        part = self.told["segments"][segment]
        return bool(part["data"] <= oid.lo < part["data"] + part["ranks"])

    def new_id_of(self, segment: int, oid: ObjectId) -> ObjectId:
        number = oid.lo - self.told["segments"][segment]["first"] + self.firsts[segment]
        made = self.told["data_object_class" if self.holds_data(segment, oid) else "object_class"]
        return self.destination.object_id(number, STEPS_HI, kind=type_of(oid), object_class=made)


@dataclass
class Plan:
    items: list[Item] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    dataset: bool = False


def objects_of(container: Container) -> list[ObjectId]:
    """Of a container, or of one at a snapshot."""
    try:
        return container._handle.objects()
    except Error as error:
        if error.code != DER_NOSYS:
            raise
    epoch = container._handle.create_snapshot("", True)  # a DAOS system lists those of a snapshot
    try:
        with container.at_snapshot(epoch) as then:
            return then._handle.objects()
    finally:
        container.destroy_snapshot(epoch)


def make_snapshot(container: Container, name: str, *, objects: bool = False) -> int:
    """With that name where snapshots can have one. objects: objects_of() will be asked of it."""
    try:
        return container._handle.create_snapshot(name, objects)
    except Error as error:
        if error.code != DER_NOSYS:
            raise
    return container._handle.create_snapshot("", objects)


@contextlib.contextmanager
def open_copied(
    container: Container, item: Item, oid: ObjectId, make: _core.Array | None = None
) -> Iterator[_core.Array]:
    """An array of an item. make: it may not be there, and is made like this one."""
    handle = container._handle
    if type_of(oid) == "array_bytes":
        array: _core.Array | None = handle.open_array_with(oid, item.cell, item.chunk, make is None)
    else:
        array = handle.open_array(oid, make is None)
        if array is None and make is not None:
            array = handle.create_array(oid, make.cell_size, make.chunk_size)
    if array is None:
        raise Error(DER_NONEXIST, f"container {container.label} has no array {oid}: it was removed meanwhile")
    try:
        yield array
    finally:
        array.close()


def refuse_akeys(objects: list[ObjectId], source: str, where: str) -> None:
    """A pool in files has no such objects."""
    found = [str(oid) for oid in objects if type_of(oid) == "object"]
    if found:
        named = ", ".join(found[:_MOST_NAMED]) + (", ..." if len(found) > _MOST_NAMED else "")
        raise Error(
            DER_NOTSUPPORTED,
            f"copy {source} to {where}: it has objects of dkeys and akeys, which pools in files do "
            f"not keep: {named}: copy to a pool of another kind",
        )


def refuse_too_wide(destination: Container, items: list[Item], where: str) -> None:
    """The id of an object says over how many targets it is spread. A DAOS system opens none that is spread
    over more than it has; a pool of ours does."""
    for item in {one.destination.hi: one for one in items}.values():
        try:
            if type_of(item.destination) == "key_value":
                destination.key_value(item.destination, read_only=True).close()
            elif type_of(item.destination) == "object":
                destination._handle.object(item.destination, True).close()
            else:
                with open_copied(destination, item, item.destination):
                    pass
        except Error as error:
            if error.code == DER_NONEXIST:
                continue
            if error.code != DER_INVAL:
                raise
            groups = item.destination.hi >> 32 & 0xFFFF
            raise Error(
                DER_INVAL,
                f"copy object {item.source} to {where}: its id says that it is spread over {groups} targets, "
                f"and the DAOS system does not open it: copy to a pool with {groups} targets or more",
            ) from error


# ---- streams
def stream_record(container: Container, name: str) -> bytes | None:
    with container.key_value(container.object_id(0, STREAMS_HI), read_only=True) as streams:
        return streams.get(name)


def _not_a_snapshot(key: bytes) -> bool:
    return not (key.startswith(b"Step") and key.endswith(b"-Snapshot"))


def items_of_stream(stream: Stream, objects: list[ObjectId]) -> list[Item]:
    """Its objects; those of dropped segments are left out."""
    items = []
    keep = _not_a_snapshot if stream.told["in_place"] else everything
    for oid in objects:
        if user_half(oid) != STEPS_HI:
            continue
        for number, segment in enumerate(stream.told["segments"]):
            if not segment["first"] <= oid.lo < segment["first"] + segment["numbers"]:
                continue
            is_data = stream.holds_data(number, oid)
            chunk = stream.told["data_chunk_size" if is_data else "chunk_size"]
            over = stream.told["in_place"] and not is_data
            items.append(Item(oid, stream.new_id_of(number, oid), chunk, keep=keep, over=over))
    return items


# ---- the other owners: objects by id, with what to do of each
def _items_of_arrays(
    source: Container, destination: Container, objects: list[ObjectId]
) -> dict[ObjectId, Item]:
    data = sorted((oid for oid in objects if user_half(oid) == ARRAY_DATA_HI), key=_number)
    name_list = source.object_id(0, ARRAYS_HI)
    items = {name_list: Item(name_list, destination.object_id(0, ARRAYS_HI), makes_valid=True)}
    for name in ["", *array_names(source)]:
        head = _core.array_head(source._handle, name)
        items[head] = Item(
            head, _core.array_head(destination._handle, name), keep=_lasting_key_of_head, makes_valid=True
        )
        with source.key_value(head, read_only=True) as values:
            value = values.get("header")
        header = _core.array_header(value) if value else None
        if header is None or header["removed"]:
            continue
        made = {"kind": "array_bytes", "object_class": header["object_class"]}
        for first, count in header["objects"]:
            # Those that are there: a header may name any number of them.
            begin = bisect.bisect_left(data, first, key=_number)
            for old in data[begin : bisect.bisect_left(data, first + count, key=_number)]:
                new = destination.object_id(old.lo, ARRAY_DATA_HI, **made)
                items[old] = Item(old, new, header["chunk_size"])
    return items


def _lasting_key_of_head(key: bytes) -> bool:
    return not key.startswith(b"writing/")  # marks of processes


def lasting_key_of_dataset(key: bytes) -> bool:
    return not key.startswith(b"w/")  # writing processes


def _item_of_dataset(oid: ObjectId, destination: Container, options: dict[str, Any]) -> Item:
    half = user_half(oid)
    if half == FIELDS_HI:
        to = destination.object_id(oid.lo, half, kind="array_bytes", object_class=options["data_class"])
        return Item(oid, to, options["chunk_size"])
    if half == INDEX_HI:
        return Item(oid, destination.object_id(oid.lo, half, object_class=options["index_class"]))
    return Item(oid, oid, keep=lasting_key_of_dataset, makes_valid=True)  # 0.0


def _item_of_blobs(oid: ObjectId, destination: Container) -> Item:
    if user_half(oid) == DATA_HI:
        return Item(oid, oid, _BLOB_CHUNK)
    if user_half(oid) == DIRECTORY_HI:
        return Item(oid, destination.object_id(0, DIRECTORY_HI, object_class="SX"), makes_valid=True)
    return Item(oid, oid)


def _item_of_others(oid: ObjectId, source: Container, chunk: int | None, cell: int) -> Item:
    if type_of(oid) == "array_bytes" and chunk is None:
        raise Error(
            DER_INVAL,
            f"copy object {oid} of {source.label}: the array does not keep its sizes: give its --chunk-size, "
            "and its --cell-size if that is not 1",
        )
    return Item(oid, oid, chunk or 0, cell)


def items_of_container(
    source: Container,
    destination: Container,
    objects: list[ObjectId],
    streams: list[Stream],
    chunk: int | None,
    cell: int,
    files: dict[ObjectId, int] | None = None,
) -> list[Item]:
    """All that lasts of a container, of its objects. files: of a container of files the chunk sizes of those
    that have a name."""
    items = [item for stream in streams for item in items_of_stream(stream, objects)]
    record = dataset_record(source)
    options = _core.dataset_options(record) if record else None
    arrays = None
    for oid in objects:
        half = user_half(oid)
        if type_of(oid) == "object":  # our libraries have none
            items.append(Item(oid, oid))
            continue
        if files is not None and type_of(oid) == "array_bytes":
            if oid in files:  # else what a killed removal has left
                items.append(Item(oid, oid, files[oid]))
            continue
        if half in (STREAMS_HI, STEPS_HI, LEASES_HI, MARK_HI):
            continue
        if options and (half in (INDEX_HI, FIELDS_HI) or oid == _main_id(source)):
            items.append(_item_of_dataset(oid, destination, options))
            continue
        if half in (DIRECTORY_HI, WRITERS_HI, DATA_HI):
            items.append(_item_of_blobs(oid, destination))
            continue
        if arrays is None:
            arrays = _items_of_arrays(source, destination, objects)
        if oid in arrays:
            items.append(arrays[oid])
        elif half != ARRAY_DATA_HI:  # one that no header names is not published, or of a version before
            items.append(_item_of_others(oid, source, chunk, cell))
    return items


def item_of_object(
    source: Container, oid: ObjectId, objects: list[ObjectId], chunk: int | None, cell: int
) -> Item:
    if oid not in objects:
        raise Error(DER_NONEXIST, f"container {source.label} has no object {oid}: 'stepstore ls' lists them")
    return _item_of_others(oid, source, chunk, cell)


def _main_id(container: Container) -> ObjectId:
    return container.object_id(0, object_class="S1")
