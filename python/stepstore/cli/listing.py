"""stepstore ls, tree and du: what pools, containers, streams, folders and objects hold, by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from stepstore import _core
from stepstore.cli.address import Address, resolve
from stepstore.cli.browse import LocationArgument, looked_at, warn_of_unfinished_copies
from stepstore.cli.common import JsonOption, SnapshotOption, emit, exit_code_of, usage_error, warn
from stepstore.console import CommandError, ExitCode, Settings, human_bytes, moment, show, styled, table
from stepstore.errors import Error
from stepstore.view import ContainerNode, DirectoryNode, PoolNode, described, is_gone, listed, summary
from stepstore.view.node import Node

AllOption = Annotated[
    bool,
    typer.Option(
        "--all", "-a", help="Also list what streams, arrays and blobs consist of: objects, chunks, metadata."
    ),
]
# Of so many streams, arrays and containers facts are told without -l.
_MOST_COSTLY = 500
_LEAVES = {
    "array",
    "zarr_array",
    "blob",
    "key",
    "variable",
    "collocation",
    "value",
    "records",
    "file",
    "link",
}


@dataclass
class _Row:
    kind: str
    name: str
    depth: int
    facts: dict[str, Any]
    error: Error | None


class _Rows:
    """Walks through nodes, and remembers what is wrong with them."""

    def __init__(self, everything: bool, all_facts: bool):
        self._everything, self._all_facts = everything, all_facts
        self._costly = 0
        self._without = 0
        self._errors: list[tuple[Node, Error]] = []

    def of(self, node: Node, levels: int, prefix: str = "", depth: int = 0) -> Iterator[_Row]:
        """What is in a node, so many levels deep."""
        for child in listed(node, self._everything):
            name = prefix + child.name
            with child.held():
                if (row := self.row(child, name, depth)) is None:
                    continue
                yield row
                if levels > 1 and child.kind not in (*_LEAVES, "key_value", "object", "error"):
                    yield from self.of(child, levels - 1, f"{name}/", depth + 1)

    def row(self, node: Node, name: str, depth: int = 0) -> _Row | None:
        self._costly += node.costly
        if node.costly and not self._all_facts and self._costly > _MOST_COSTLY:
            self._without += 1
            return _Row(node.kind, name, depth, {}, None)
        found, error = described(node)
        if error is not None:
            if is_gone(node, error):
                return None
            self._errors.append((node, error))
        return _Row(node.kind, name, depth, found, error)

    def end(self) -> None:
        """Says what was left out and what is damaged."""
        if self._without:
            warn(f"of {self._without:,} entries only the names are shown: -l reads all")
        _exit_from(self._errors)


def _exit_from(errors: list[tuple[Node, Error]]) -> None:
    for node, error in errors:
        warn(f"{node.location}: {error} [{error.name}]")
    codes = {exit_code_of(error) for _, error in errors}
    if codes:
        raise typer.Exit(ExitCode.DAMAGE if ExitCode.DAMAGE in codes else ExitCode.FAILURE)


def _node_of(location: str, snapshot: str | None) -> tuple[Node, Address | None]:
    """What a location names. A directory with pools below it is not one itself."""
    try:
        address = resolve(location)
    except CommandError as error:
        path = location.removeprefix("stepstore://")
        if error.code == ExitCode.NOT_FOUND and os.path.isdir(path) and _core.pool_list(path):
            return DirectoryNode(path), None
        raise
    if snapshot and not address.container:
        usage_error("--snapshot needs a container: give POOL/CONTAINER")
    return looked_at(address, snapshot), address


def _told(rows: _Rows, node: Node, levels: int) -> Iterator[_Row]:
    """A leaf is listed itself. The only container of a pool is gone through."""
    if node.kind in _LEAVES:
        if (row := rows.row(node, node.name)) is not None:
            yield row
        return
    if isinstance(node, PoolNode) and levels == 1 and len(containers := list(listed(node))) == 1:
        (only,) = containers
        if (row := rows.row(only, only.name)) is not None:
            yield row
        yield from rows.of(only, 1, f"{only.name}/", 1)
        return
    yield from rows.of(node, levels)


def _as_json(row: _Row) -> dict[str, Any]:
    told = {"type": row.kind, "name": row.name, **_without_place(row)}
    return told if row.error is None else {**told, "error": str(row.error)}


def _without_place(row: _Row) -> dict[str, Any]:
    """A stream tells where it is: its name says that."""
    left_out = {"pool", "container", "stream"} if row.kind == "stream" else {"targets"}
    return {name: value for name, value in row.facts.items() if name not in left_out}


# ---- ls
def ls(
    location: LocationArgument,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", "-R", help="Also list what is in them.")
    ] = False,
    long: Annotated[
        bool, typer.Option("--long", "-l", help="Add classes, chunks, dates and blocks.")
    ] = False,
    everything: AllOption = False,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what a location holds: pools, containers, streams, variables, arrays, Zarr, blobs, keys."""
    node, address = _node_of(location, snapshot)
    if isinstance(node, ContainerNode) and address is not None:
        _warn_of_copies(address)
    rows = _Rows(everything, long or as_json)
    found = list(_told(rows, node, 1 << 30 if recursive else 1))
    emit(as_json, [_as_json(row) for row in found], lambda: _table(found, long))
    rows.end()


def _warn_of_copies(address: Address) -> None:
    try:
        warn_of_unfinished_copies(address)
    except Error as error:  # it does not end the listing
        warn(f"{address.text}: {error}")


_COLUMNS: list[tuple[str, str]] = [
    ("TYPE", "left"),
    ("NAME", "left"),
    ("DTYPE", "left"),
    ("SHAPE", "left"),
    ("STEPS", "right"),
    ("SIZE", "right"),
    ("HOLDS", "left"),
    ("DETAILS", "left"),
    ("ERROR", "left"),
]


def _table(rows: list[_Row], long: bool) -> Any:
    """Without columns in which nothing stands."""
    cells = [_cells(row, long) for row in rows]
    used = [at for at, _ in enumerate(_COLUMNS) if at < 2 or any([one[at] for one in cells])]
    return table([_COLUMNS[at] for at in used], [[one[at] for at in used] for one in cells])


def _cells(row: _Row, long: bool) -> tuple[str, ...]:
    told = row.facts
    return (
        row.kind,
        row.name,
        str(told["dtype"]) if "dtype" in told else "",
        "x".join(map(str, told["shape"])) or "single" if "shape" in told else "",
        str(told["steps"]) if "steps" in told else "",
        _size(told),
        summary(told["holds"]) if "holds" in told else "",
        _details(row) if long else "",
        row.error.name if row.error else "",
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _size(told: dict[str, Any]) -> str:
    for what in ("key", "dkey", "akey"):
        if f"{what}s" in told:
            return _counted(told[f"{what}s"], what)
    if "cell_size" in told and "size" in told:
        return human_bytes(told["size"] * told["cell_size"])
    if "bytes" in told:
        return human_bytes(told["bytes"])
    return human_bytes(told["size"]) if "size" in told else ""


def _details(row: _Row) -> str:
    told, words = row.facts, []
    if "class" in told:
        words.append(told["class"])
    if "cell_size" in told:
        chunk = human_bytes(told["cell_size"] * told["chunk_size"])
        words.append(f"{told['size']} cells of {told['cell_size']} B, {chunk} chunks")
    if "record_size" in told:
        words.append(f"{_counted(told['records'], 'record')} of {told['record_size']} B")
    if row.kind == "stream":
        words += [
            _counted(told["variables"], "variable"),
            told["layout"],
            "ended" if told["ended"] else "not ended",
        ]
    if "blocks" in told:
        words.append(f"{_counted(told['blocks'], 'block')}, {told['object_class']}")
    if told.get("grows_along") is not None:
        words.append(f"grows along dimension {told['grows_along']}")
    if row.kind == "variable" and "kind" in told:
        words.append(told["kind"])
    if "chunks" in told:
        words.append(f"chunks of {'x'.join(map(str, told['chunks']))}")
    if "zarr_format" in told:
        words.append(f"Zarr {told['zarr_format']}")
    words += [told[name] for name in ("mode", "owner") if name in told]
    if row.kind == "link":
        words.append(f"to {told['target']}")
    words += [moment(told[name]) for name in ("modified", "created") if name in told]
    if "uuid" in told:
        words.append(told["uuid"])
    return ", ".join(words)


# ---- tree
def tree(
    location: LocationArgument,
    levels: Annotated[
        int | None,
        typer.Option("--levels", "-L", metavar="N", min=1, show_default="all", help="How deep it goes."),
    ] = None,
    everything: AllOption = False,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw all that a location holds as a tree."""
    node, _ = _node_of(location, snapshot)
    rows = _Rows(everything, as_json)
    found = list(rows.of(node, levels or 1 << 30))
    if as_json:
        emit(True, {"type": node.kind, "name": node.name, "children": _nested(found)}, lambda: "")
    else:
        _draw(location, found)
    rows.end()


def _own_name(row: _Row, above: list[str]) -> str:
    return row.name.removeprefix("/".join(above) + "/") if above else row.name


def _nested(rows: list[_Row]) -> list[dict[str, Any]]:
    top: list[dict[str, Any]] = []
    levels = [top]
    names: list[str] = []
    for row in rows:
        del levels[row.depth + 1 :], names[row.depth :]
        children: list[dict[str, Any]] = []
        name = _own_name(row, names)
        levels[-1].append({**_as_json(row), "name": name, "children": children})
        levels.append(children)
        names.append(name)
    return top


def _draw(location: str, rows: list[_Row]) -> None:
    lasts, open_below = [], set[int]()
    for row in reversed(rows):  # from its end a tree tells which entry is the last of its level
        open_below = {depth for depth in open_below if depth <= row.depth}
        lasts.append((row.depth not in open_below, frozenset(open_below)))
        open_below.add(row.depth)
    lines = [styled(location, "bold")]
    names: list[str] = []
    for row, (is_last, below) in zip(rows, reversed(lasts), strict=True):
        del names[row.depth :]
        name = _own_name(row, names)
        names.append(name)
        bars = "".join("│   " if depth in below else "    " for depth in range(row.depth))
        line = styled(f"{bars}{'└── ' if is_last else '├── '}{name}")
        lines.append(line.append(styled(f"  {_in_a_tree(row)}", "dim")))
    for line in lines:
        Settings.out.print(line, soft_wrap=True)


def _in_a_tree(row: _Row) -> str:
    _, _, dtype, shape, steps, size, *_ = _cells(row, False)
    words = [row.kind.replace("_", " "), dtype, shape]
    if steps:
        words.append(_counted(row.facts["steps"], "step"))
    if row.error:
        words.append(row.error.name)
    return ", ".join(word for word in [*words, size] if word)


# ---- du
def du(
    location: LocationArgument,
    total: Annotated[bool, typer.Option("--total", "-s", help="Print only the sum.")] = False,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how many bytes each thing at a location holds.

    Counted are values and blocks as they are stored, without indexes, copies, and what only snapshots need.
    'stepstore pool query' tells the space on the device."""
    node, _ = _node_of(location, snapshot)
    rows: list[tuple[Node, int]] = []
    errors: list[tuple[Node, Error]] = []
    for one in [node] if node.kind in _LEAVES or node.kind == "stream" else listed(node):
        try:
            rows.append((one, one.used()))
        except Error as error:
            if not is_gone(one, error):
                errors.append((one, error))
    sum_ = sum(size for _, size in rows)
    if as_json:
        found = [{"type": one.kind, "name": one.name, "bytes": size} for one, size in rows]
        found += [{"type": one.kind, "name": one.name, "error": str(why)} for one, why in errors]
        emit(True, {"location": location, "bytes": sum_, "entries": found}, lambda: "")
    elif total:
        show(f"{human_bytes(sum_)}  {location}")
    else:
        cells = [(human_bytes(size), one.kind, one.name) for one, size in rows]
        show(table([("SIZE", "right"), "TYPE", "NAME"], [*cells, (human_bytes(sum_), "total", location)]))
    _exit_from(errors)
