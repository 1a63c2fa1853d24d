#!/usr/bin/env python3
"""Compares the #include lines of the sources, and the imports of the Python package, with the tables of
docs/design/rooms.md.

Fails if a room uses what it may not, or a library that another one owns, if an arrow points down the table,
and if Python modules import each other in a circle.
"""

import ast
import graphlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs/design/rooms.md"
TOP = ("src", "include", "plugins", "sim", "bindings")


class Room:
    def __init__(self, cells):
        names = [re.findall(r"`([^`]+)`", cell) for cell in cells]
        self.paths, self.uses, self.libraries = names[0], names[2], names[3]
        self.name = self.paths[0]


def read_table():
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = [line.strip().strip("|").split("|") for line in lines if line.startswith("| `")]
    return [Room(cells) for cells in rows]


def room_of(path, rooms):
    """The room with the longest path that `path`, relative to the repository, lies in."""
    found = [(len(p), room) for room in rooms for p in room.paths if path == p or path.startswith(p + "/")]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def resolved(include, source):
    for base in (ROOT / "src", ROOT / "include", ROOT / "include/libdaos", source.parent):
        if (base / include).is_file():
            return (base / include).resolve().relative_to(ROOT).as_posix()
    return None


def violations(rooms):
    place = {room.name: number for number, room in enumerate(rooms)}
    for room in rooms:
        for used in room.uses:
            if used not in place:
                yield f"{TABLE.name}: {room.name} uses {used}, which is no room"
            elif place[used] >= place[room.name]:
                yield f"{TABLE.name}: {room.name} uses {used}, which stands below it"
    owners = [(library, room.name) for room in rooms for library in room.libraries]
    yield from violations_of_python(rooms, owners)
    sources = [
        path for top in TOP for path in sorted((ROOT / top).rglob("*")) if path.suffix in (".cc", ".h", ".c")
    ]
    for source in sources:
        name = source.relative_to(ROOT).as_posix()
        room = room_of(name, rooms)
        if room is None:
            yield f"{name}: lies in no room of the table"
            continue
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
            if not match:
                continue
            target = resolved(match.group(1), source)
            if target is None:
                owner = [o for library, o in owners if match.group(1).startswith(library)]
                if owner and room.name not in owner:
                    yield f"{name}:{number}: {match.group(1)} is for {' and '.join(owner)} alone"
                continue
            other = room_of(target, rooms)
            if other is None:
                yield f"{name}:{number}: {target} lies in no room of the table"
            elif other is not room and other.name not in room.uses:
                yield f"{name}:{number}: {room.name} may not include {target} of {other.name}"


def imports(source):
    """Each name that a Python source imports, as module or module.name, with the line."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{source}: an import without the package's name"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def violations_of_python(rooms, owners):
    modules = {}
    for source in sorted((ROOT / "python/stepstore").rglob("*.py")):
        parts = source.relative_to(ROOT / "python").with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = source
    graph = {}
    for module, source in modules.items():
        name = source.relative_to(ROOT).as_posix()
        room = room_of(name, rooms)
        if room is None:
            yield f"{name}: lies in no room of the table"
            continue
        for imported, line in imports(source):
            package = imported.split(".")[0]
            owner = [o for library, o in owners if package == library]
            if owner and room.name not in owner:
                yield f"{name}:{line}: {package} is for {' and '.join(owner)} alone"
            used = imported if imported in modules else imported.rpartition(".")[0]
            if used not in modules or imported == "stepstore._core":
                continue
            if used != module:
                graph.setdefault(module, set()).add(used)
            target = modules[used].relative_to(ROOT).as_posix()
            other = room_of(target, rooms)
            if other is not None and other is not room and other.name not in room.uses:
                yield f"{name}:{line}: {room.name} may not import {target} of {other.name}"
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield f"modules import each other: {' <- '.join(error.args[1])}"


def main():
    rooms = read_table()
    if len(rooms) < 10:
        sys.exit(f"{TABLE}: the table of the rooms was not found")
    found = list(dict.fromkeys(violations(rooms)))
    print("\n".join(found) if found else f"{len(rooms)} rooms: every include and import is in its table")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
