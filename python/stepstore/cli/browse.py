"""stepstore ls, stat, cat: looking into pools, containers and objects."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from stepstore import _core
from stepstore.array import Array
from stepstore.buffers import decode_key, escape
from stepstore.cli.address import Address, not_found, open_container, resolve
from stepstore.cli.common import JsonOption, SnapshotOption, emit, usage_error, warn, write_value
from stepstore.console import facts, human_bytes, moment, table
from stepstore.copying.mark import unfinished
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.key_value import KeyValue
from stepstore.store import Container

LocationArgument = Annotated[
    str,
    typer.Argument(
        metavar="LOCATION",
        help="POOL, POOL/CONTAINER, POOL/CONTAINER/STREAM, POOL/CONTAINER/HI.LO (an object) or "
        "POOL/CONTAINER/HI.LO/KEY",
    ),
]
_COPY_BYTES = 16 << 20


# ---- what is there
def _epoch_of(address: Address, snapshot: str | None) -> int | None:
    if not snapshot:
        return None
    pool, container = open_container(address)
    with pool, container:
        return container.epoch_of(snapshot)


def objects_of(address: Address, snapshot: str | None, *, sizes: bool) -> list[dict[str, Any]]:
    """All objects of a container. Their sizes are asked of each by itself."""
    return _core.container_objects(address.pool, address.container, _epoch_of(address, snapshot), sizes)


def streams_of(address: Address) -> list[str]:
    return sorted(decode_key(name) for name in _core.list_streams(f"{address.pool}/{address.container}"))


def object_of(address: Address, snapshot: str | None) -> dict[str, Any]:
    """What the container knows of the object that the address names."""
    wanted = address.object_id
    if wanted is None:
        raise not_found(f"{address.text}: this is not an object: give POOL/CONTAINER/HI.LO")
    epoch = _epoch_of(address, snapshot)
    try:
        return _core.container_object(address.pool, address.container, wanted, epoch)
    except Error as error:
        if error.code not in (DER_NONEXIST, DER_INVAL):  # DER_INVAL: no object can have this id
            raise
        raise not_found(
            f"{address.text}: container {address.container} has no object {wanted}: 'stepstore ls "
            f"{address.pool}/{address.container}' lists them"
        ) from None


def is_array(entry: dict[str, Any]) -> bool:
    return "array" in entry["type"]


def container_summary(address: Address) -> dict[str, Any]:
    query = _core.container_query(address.pool, address.container)
    objects = objects_of(address, None, sizes=False)
    return {
        "label": address.container,
        "uuid": query["uuid"],
        "objects": len(objects),
        "key_values": sum(1 for entry in objects if not is_array(entry)),
        "arrays": sum(1 for entry in objects if is_array(entry)),
        "streams": len(streams_of(address)),
        "snapshots": query["snapshots"],
        "latest_snapshot": query["latest_snapshot"],
    }


def warn_of_unfinished_copies(address: Address) -> None:
    pool, container = open_container(address)
    with pool, container:
        for copy in unfinished(container):
            what = f"{address.container}/{copy['name']}".rstrip("/")
            warn(
                f"{address.pool}/{what} is an unfinished copy of {copy['source']['text']}: the same "
                "'stepstore copy' again goes on with it"
            )


def _key_value(container: Container, address: Address) -> KeyValue:
    return container.key_value(address.object_id, read_only=True)  # type: ignore[arg-type]


# ---- ls
def ls(
    location: LocationArgument,
    long: Annotated[bool, typer.Option("--long", "-l", help="Also sizes and classes.")] = False,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what a location holds: containers, streams and objects, or keys."""
    address = resolve(location)
    if not address.container:
        if snapshot:
            usage_error("--snapshot needs a container: give POOL/CONTAINER")
        _list_containers(address, as_json)
    elif not address.rest:
        _list_container(address, long, snapshot, as_json)
    elif address.object_id is None:
        _list_stream(address, snapshot, as_json)
    else:
        _list_object(address, long, snapshot, as_json)


def _list_containers(address: Address, as_json: bool) -> None:
    handle = _core.Pool.connect(address.pool, True)
    found = [
        {"type": "container", "name": label or uuid, "uuid": uuid} for uuid, label in handle.containers()
    ]
    handle.close()
    found.sort(key=lambda entry: entry["name"])
    emit(as_json, found, lambda: table(["CONTAINER", "UUID"], [(c["name"], c["uuid"]) for c in found]))


def _list_container(address: Address, long: bool, snapshot: str | None, as_json: bool) -> None:
    warn_of_unfinished_copies(address)
    objects = objects_of(address, snapshot, sizes=long or as_json)
    for entry in objects:
        entry["name"] = f"{entry['hi']}.{entry['lo']}"
    streams = [] if snapshot else [{"type": "stream", "name": name} for name in streams_of(address)]
    columns: list[str | tuple[str, str]] = ["TYPE", "NAME"]
    if long:
        columns += ["CLASS", ("SIZE", "right"), "CELLS"]

    def rows() -> Iterator[tuple[str, ...]]:
        for entry in streams:
            name = escape(entry["name"].encode("utf-8", "surrogateescape"))
            yield ("stream", name, "", "", "") if long else ("stream", name)
        for entry in objects:
            yield (entry["type"], entry["name"], *(_sizes(entry) if long else ()))

    emit(as_json, streams + objects, lambda: table(columns, rows()))


def _sizes(entry: dict[str, Any]) -> tuple[str, str, str]:
    size = f"{entry['size']} cells" if "size" in entry else f"{entry['keys']} keys" if "keys" in entry else ""
    cells = (
        f"{entry['cell_size']} B cells, {human_bytes(entry['cell_size'] * entry['chunk_size'])} chunks"
        if "cell_size" in entry
        else ""
    )
    return entry["class"], size, cells


def _list_stream(address: Address, snapshot: str | None, as_json: bool) -> None:
    if snapshot:
        usage_error("--snapshot lists objects: give POOL/CONTAINER or an object of it")
    inside = [
        name for name in streams_of(address) if name == address.rest or name.startswith(address.rest + "/")
    ]
    if not inside:
        raise not_found(
            f"{address.text}: container {address.container} has no stream {address.rest!r} and no object "
            "with that id"
        )
    found = [{"type": "stream", "name": name} for name in inside]
    emit(as_json, found, lambda: table(["TYPE", "NAME"], [("stream", name) for name in inside]))


def _list_object(address: Address, long: bool, snapshot: str | None, as_json: bool) -> None:
    entry = object_of(address, snapshot)
    if is_array(entry):
        entry = {**entry, "name": f"{entry['hi']}.{entry['lo']}"}
        row = (entry["type"], entry["name"], entry.get("size", ""))
        return emit(as_json, [entry], lambda: table(["TYPE", "NAME", "SIZE"], [row]))
    pool, container = open_container(address, snapshot)
    with pool, container, _key_value(container, address) as values:
        keys = sorted(values.raw_keys())
        if address.key is not None:
            keys = [key for key in keys if key == address.key]
            if not keys:
                raise not_found(
                    f"{address.text}: object {address.object_id} has no key {escape(address.key)}"
                )
        found = [
            {"type": "key", "key": escape(key), "size": values.size(key) if long or as_json else None}
            for key in keys
        ]
    columns: list[Any] = ["KEY", ("SIZE", "right")] if long else ["KEY"]
    emit(as_json, found, lambda: table(columns, [[e["key"], e["size"]][: len(columns)] for e in found]))


# ---- stat
# What is counted in bytes and in cells.
_BYTES = {"space_total", "space_free", "cell_size"}
_BYTES_OF = {("stream", "chunk_size"), ("stream", "data_chunk_size"), ("key", "size")}
_CELLS_OF = {("object", "size"), ("object", "chunk_size")}


def stat(location: LocationArgument, snapshot: SnapshotOption = None, as_json: JsonOption = False) -> None:
    """Show all that is known about a pool, container, stream, object or key."""
    address = resolve(location)
    if snapshot and (not address.container or address.object_id is None):
        usage_error("--snapshot with stat is for objects and keys: give POOL/CONTAINER/HI.LO[/KEY]")
    value = _stat(address, snapshot)
    emit(as_json, value, lambda: facts(for_people(value["type"], value)))


def for_people(kind: str, value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values of what stat shows: dates, and bytes with their unit."""
    for name, one in value.items():
        yield name.replace("_", " "), _text(kind, name, one)


def _text(kind: str, name: str, value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)}"
    if isinstance(value, dict):
        return json.dumps(value)
    if name == "created":
        return moment(value)
    if name == "latest_snapshot":
        return f"{value} ({moment(value / 1e9)})" if value else "none"
    if name in _BYTES or (kind, name) in _BYTES_OF:
        return human_bytes(value) if value < 1024 else f"{human_bytes(value)} ({value} B)"
    if (kind, name) in _CELLS_OF:
        return f"{value} cells"
    return str(value)


def _stat(address: Address, snapshot: str | None) -> dict[str, Any]:
    if not address.container:
        return {"type": "pool", **_core.pool_describe(address.pool)}
    if not address.rest:
        warn_of_unfinished_copies(address)
        return {"type": "container", **container_summary(address)}
    if address.object_id is None:
        return _stat_stream(address)
    entry = object_of(address, snapshot)
    entry["object_type"] = entry.pop("type")
    if address.key is None:
        return {"type": "object", **entry}
    if entry["object_type"] and is_array({"type": entry["object_type"]}):
        usage_error(f"{address.text}: an array has no keys")
    pool, container = open_container(address, snapshot)
    with pool, container, _key_value(container, address) as values:
        size = values.size(address.key)
    if size is None:
        raise not_found(f"{address.text}: object {address.object_id} has no key {escape(address.key)}")
    return {"type": "key", "object": str(address.object_id), "key": escape(address.key), "size": size}


def _stat_stream(address: Address) -> dict[str, Any]:
    from stepstore.steps import open_steps

    with open_steps(f"{address.pool}/{address.container}/{address.rest}") as steps:
        return {
            "type": "stream",
            "name": address.rest,
            "steps": len(steps),
            "ended": steps.ended,
            "variables": len(steps.definitions()),
            **steps.describe(),
        }


# ---- cat
def cat(
    location: LocationArgument,
    offset: Annotated[int, typer.Option(min=0, help="Skip this many bytes.")] = 0,
    size: Annotated[int | None, typer.Option(min=0, help="Give at most this many bytes.")] = None,
    cell_size: Annotated[
        int | None,
        typer.Option(
            min=1, help="Bytes in a cell, of an array that does not keep its sizes (type array_bytes)."
        ),
    ] = None,
    chunk_size: Annotated[
        int | None, typer.Option(min=1, help="Cells in a chunk, of an array that does not keep its sizes.")
    ] = None,
    snapshot: SnapshotOption = None,
) -> None:
    """Write the value of a key, or the bytes of an array, to stdout."""
    address = resolve(location)
    if address.object_id is None:
        usage_error(
            f"{location!r} does not name an object: give POOL/CONTAINER/HI.LO[/KEY]; 'stepstore steps' "
            "shows streams"
        )
    if sys.stdout.isatty() and size is None:
        size = 1 << 20  # nobody reads more on a terminal
    entry = object_of(address, snapshot)
    pool, container = open_container(address, snapshot)
    with pool, container:
        if is_array(entry):
            if address.key is not None:
                usage_error(f"{location!r}: an array has no keys: leave out {escape(address.key)!r}")
            if "cell_size" not in entry and chunk_size is None:
                usage_error(
                    f"{location!r}: the array does not keep its sizes: give its --chunk-size, and its "
                    "--cell-size if that is not 1"
                )
            if "cell_size" in entry and (cell_size or chunk_size):
                usage_error(
                    f"{location!r}: the array keeps its sizes: leave out --cell-size and --chunk-size"
                )
            with container.open_array(
                address.object_id, cell_size=cell_size, chunk_size=chunk_size, read_only=True
            ) as array:
                _copy_array(array, offset, size)
            return
        if address.key is None:
            usage_error(
                f"{location!r} is a key-value object: give one of its keys after a '/' ('stepstore ls' lists "
                "them)"
            )
        with _key_value(container, address) as values:
            value = values.get(address.key)
    if value is None:
        raise not_found(f"{location}: object {address.object_id} has no key {escape(address.key)}")
    write_value(value[offset:] if size is None else value[offset : offset + size])


def _copy_array(array: Array, offset: int, size: int | None) -> None:
    cell = array.cell_size
    end = array.size * cell
    if size is not None:
        end = min(end, offset + size)
    position = offset
    while position < end:
        first = position // cell
        cells = max(1, min(_COPY_BYTES // cell, -(-end // cell) - first))
        piece = array.read(first, cells)
        skip = position - first * cell
        piece = piece[skip : skip + end - position]
        if not piece:
            break
        write_value(piece)
        position += len(piece)
