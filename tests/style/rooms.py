#!/usr/bin/env python3
"""Compares the #include lines of the sources with the table of docs/design/rooms.md.

Fails where a room includes what it may not, where an arrow points down the table, and where a room includes a
library that it does not name.
"""

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


def main():
    rooms = read_table()
    if len(rooms) < 10:
        sys.exit(f"{TABLE}: the table of the rooms was not found")
    found = list(violations(rooms))
    print("\n".join(found) if found else f"{len(rooms)} rooms: every include is in the table")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
