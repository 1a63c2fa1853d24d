"""stepstore stat and cat: all that is known of one thing, and its value."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer

from stepstore import _core
from stepstore.array import Array
from stepstore.buffers import decode_key
from stepstore.cli import complete
from stepstore.cli.address import Address, not_found, open_container, resolve
from stepstore.cli.common import JsonOption, SnapshotOption, emit, print_line, usage_error, warn, write_value
from stepstore.console import facts, human_bytes, moment
from stepstore.copying.at_work import AT_WORK, is_at_work
from stepstore.copying.mark import unfinished
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.view import look, summary
from stepstore.view.file_system import Content, EntryNode
from stepstore.view.node import Node
from stepstore.view.objects import AkeyNode, ObjectNode, Records

LocationArgument = Annotated[
    str,
    typer.Argument(
        metavar="LOCATION",
        autocompletion=complete.locations,
        help="POOL, POOL/CONTAINER, POOL/CONTAINER/NAME of a stream, array, Zarr group, blob or file, "
        "POOL/CONTAINER/STREAM/VARIABLE, POOL/CONTAINER/HI.LO (an object) or POOL/CONTAINER/HI.LO/KEY.",
    ),
]
_COPY_BYTES = 16 << 20
_MOST_ON_TERMINAL = 1 << 20  # bytes: nobody reads more


# ---- what is there
def streams_of(address: Address) -> list[str]:
    return sorted(decode_key(name) for name in _core.list_streams(f"{address.pool}/{address.container}"))


def looked_at(address: Address, snapshot: str | None) -> Node:
    """What an address names. Exit code 3: nothing."""
    if not address.container:
        return look(address.pool)
    open_container(address, snapshot)[0].close()  # a missing one, or a snapshot, has an error of its own
    try:
        return look(address.pool, address.container, address.rest, snapshot)
    except Error as error:
        wanted = address.object_id
        if wanted is not None and address.key is not None and str(error).startswith(address.pool):
            if error.code == DER_INVAL:
                usage_error(f"{address.text}: {error}")
            raise
        if wanted is not None and error.code in (DER_NONEXIST, DER_INVAL):  # no object can have this id
            raise not_found(
                f"{address.text}: container {address.container} has no object {wanted}: 'stepstore ls "
                f"{address.pool}/{address.container}' lists them"
            ) from None
        raise


def is_array(entry: dict[str, Any]) -> bool:
    return "array" in entry["type"]


def container_summary(address: Address) -> dict[str, Any]:
    query = _core.container_query(address.pool, address.container)
    objects = _core.container_objects(address.pool, address.container, None, False)
    return {
        "label": address.container,
        "uuid": query["uuid"],
        "objects": len(objects),
        "key_values": sum(1 for entry in objects if entry["type"] == "key_value"),
        "arrays": sum(1 for entry in objects if is_array(entry)),
        "streams": len(streams_of(address)),
        "snapshots": query["snapshots"],
        "latest_snapshot": query["latest_snapshot"],
    }


def warn_of_unfinished_copies(address: Address) -> None:
    pool, container = open_container(address)
    with pool, container:
        for copy in unfinished(container):
            what = f"{address.pool}/{address.container}/{copy['name']}".rstrip("/")
            since = f", begun {moment(copy['begun'])}" if "begun" in copy else ""
            remove = f"; 'stepstore rm \"{what}{AT_WORK}\"' removes it" if is_at_work(copy) else ""
            warn(
                f"{what} is an unfinished copy of {copy['source']['text']}{since}: the same command again "
                f"goes on with it{remove}"
            )


# ---- stat
# What is counted in bytes and in cells.
_BYTES = {"space_total", "space_free", "cell_size", "bytes"}
_BYTES_OF = {
    ("stream", "chunk_size"),
    ("stream", "data_chunk_size"),
    ("array", "chunk_size"),
    ("key", "size"),
    ("value", "size"),
    ("records", "size"),
    ("records", "record_size"),
    ("blob", "size"),
    ("file", "size"),
}
_CELLS_OF = {("object", "size"), ("object", "chunk_size")}


def stat(location: LocationArgument, snapshot: SnapshotOption = None, as_json: JsonOption = False) -> None:
    """Show all that is known about a pool, container, stream, variable, array, blob, object or key."""
    address = resolve(location)
    if snapshot and not address.rest:
        usage_error("--snapshot with stat is for what is in a container: give POOL/CONTAINER/...")
    value = _stat(address, snapshot)
    emit(as_json, value, lambda: facts(for_people(value["type"], value)))


def for_people(kind: str, value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values of what stat shows: dates, and bytes with their unit."""
    for name, one in value.items():
        if name == "attributes":
            yield from ((f"attribute {key}", str(told)) for key, told in one.items())
        else:
            yield name.replace("_", " "), _text(kind, name, one)


def _text(kind: str, name: str, value: Any) -> str:
    if isinstance(value, list):
        return "x".join(map(str, value)) if name in ("shape", "chunks") else f"{len(value)}"
    if isinstance(value, dict):
        return summary(value) if name == "holds" else json.dumps(value)
    if name in ("created", "modified"):
        return moment(value)
    if name == "latest_snapshot":
        return f"{value} ({moment(value / 1e9)})" if value else "none"
    if name in _BYTES or (kind, name) in _BYTES_OF:
        return human_bytes(value) if value < 1024 else f"{human_bytes(value)} ({value} B)"
    if (kind, name) in _CELLS_OF:
        return f"{value} cells"
    return str(value)


def _stat(address: Address, snapshot: str | None) -> dict[str, Any]:
    node = looked_at(address, snapshot)
    if not address.container:
        return {"type": "pool", **node.facts()}
    if not address.rest:
        warn_of_unfinished_copies(address)
        return {"type": "container", **container_summary(address), "holds": node.facts()["holds"]}
    if isinstance(node, ObjectNode):
        return {"type": "object", **node.facts(), "object_type": node.kind}
    if node.kind in ("key", "dkey", "value", "records"):
        return {"type": node.kind, **node.facts()}
    name = address.rest if node.kind == "stream" else node.name
    attributes = {key: _plain(value) for key, value in node.attributes().items()}
    return {"type": node.kind, "name": name, **node.facts(), "attributes": attributes}


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


# ---- cat
def cat(
    location: LocationArgument,
    offset: Annotated[
        int, typer.Option(metavar="BYTES", min=0, show_default="0 B", help="Skip so many bytes.")
    ] = 0,
    size: Annotated[
        int | None, typer.Option(metavar="BYTES", min=0, help="Give at most so many bytes.")
    ] = None,
    cell_size: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES",
            min=1,
            help="Bytes in a cell, of an array that does not keep its sizes (type array_bytes).",
        ),
    ] = None,
    chunk_size: Annotated[
        int | None,
        typer.Option(
            metavar="CELLS", min=1, help="Cells in a chunk, of an array that does not keep its sizes."
        ),
    ] = None,
    snapshot: SnapshotOption = None,
) -> None:
    """Write the value of a key, a blob, or the bytes of an array or variable, to stdout.

    Of a variable those of the last step that has it. On a terminal arrays are printed as numbers, with their
    indexes."""
    address = resolve(location)
    if not address.rest:
        usage_error(
            f"{location!r} does not name an object: give POOL/CONTAINER/HI.LO[/KEY], or the name of an "
            "array, variable or blob"
        )
    on_terminal = sys.stdout.isatty()
    if on_terminal and size is None:
        size = _MOST_ON_TERMINAL
    node = looked_at(address, snapshot)
    if isinstance(node, ObjectNode) and is_array({"type": node.kind}):
        _cat_array_object(address, node, snapshot, offset, size, cell_size, chunk_size)
        return
    if node.kind == "key_value":
        usage_error(
            f"{location!r} is a key-value object: give one of its keys after a '/' ('stepstore ls' lists "
            "them)"
        )
    if node.kind in ("object", "dkey"):
        usage_error(
            f"{location!r} has values under dkeys and akeys: give HI.LO/DKEY/AKEY ('stepstore ls' lists them)"
        )
    if isinstance(node, AkeyNode) and node.kind == "records":
        _copy_array(node.records(), offset, size)
        return
    if isinstance(node, EntryNode) and node.kind != "directory":
        with node.followed().opened() as content:
            _copy_array(content, offset, size)
        return
    if node.kind not in _WITH_DATA:
        usage_error(
            f"{location!r} is a {node.kind.replace('_', ' ')}: give something in it ('stepstore ls' lists "
            "it); 'stepstore steps' shows streams"
        )
    value = node.data()
    if isinstance(value, bytes | bytearray | memoryview | str):
        value = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    elif on_terminal and size is not None and not offset:
        _print_numbers(value, size)
        return
    else:
        value = value.tobytes()
    write_value(value[offset:] if size is None else value[offset : offset + size])


def _print_numbers(values: Any, size: int) -> None:
    """Whole lines, up to so many bytes of text."""
    from stepstore.cli.dump import lines_of

    left = size
    for line in lines_of(values, (0,) * np.ndim(values), 6):
        left -= len(line)
        if left < 0:
            warn("further values are left out on a terminal: --size BYTES of text shows more")
            return
        print_line(line)


_WITH_DATA = {"key", "value", "blob", "array", "zarr_array", "variable"}


def _cat_array_object(
    address: Address,
    node: ObjectNode,
    snapshot: str | None,
    offset: int,
    size: int | None,
    cell_size: int | None,
    chunk_size: int | None,
) -> None:
    entry, location = node.facts(), address.text
    if "cell_size" not in entry and chunk_size is None:
        usage_error(
            f"{location!r}: the array does not keep its sizes: give its --chunk-size, and its --cell-size if "
            "that is not 1"
        )
    if "cell_size" in entry and (cell_size or chunk_size):
        usage_error(f"{location!r}: the array keeps its sizes: leave out --cell-size and --chunk-size")
    pool, container = open_container(address, snapshot)
    with (
        pool,
        container,
        container.open_array(node.oid, cell_size=cell_size, chunk_size=chunk_size, read_only=True) as array,
    ):
        _copy_array(array, offset, size)


def _copy_array(array: Array | Records | Content, offset: int, size: int | None) -> None:
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
