"""The points of the design space: how `stepstore bench layouts` names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from stepstore import _core

_WRITERS = ("Layout", "Objects", "Steps")


@dataclass(frozen=True)
class Layout:
    name: str
    metadata: str  # how it keeps them: files, values, dense, slots, rows (src/steps/layouts/layout.h)
    chunk_size: int  # that is usual, bytes


def all_layouts() -> list[Layout]:
    """The default first."""
    return [Layout(*one) for one in _core.layouts()]


@dataclass
class Point:
    name: str
    written: str  # parameters of the writer, with commas between them
    read: str  # of the reader

    @property
    def parameters(self) -> str:
        return f"{self.written},{self.read}"


class Space:
    """What the program says that there is."""

    def __init__(self, space: dict[str, Any]):
        self.choices: dict[str, list[str]] = space["choices"]
        self._writers: list[str] = space["writer"]
        self._readers: list[str] = space["reader"]

    def all(self) -> list[Point]:
        return [self._point(writer, reader) for writer in self._writers for reader in self._readers]

    def layouts(self) -> list[Point]:
        return [self.point({"Layout": layout}) for layout in self.choices["Layout"]]

    def point(self, chosen: dict[str, str]) -> Point:
        """With the default of what is not chosen. Other parameters of a stream may be among the chosen."""
        parts = {name: chosen.get(name, values[0]) for name, values in self.choices.items()}
        more = {name: value for name, value in chosen.items() if name not in parts}
        writer = {name: parts.pop(name) for name in _WRITERS} | more
        return self._point(_joined(writer), _joined(parts))

    def _point(self, writer: str, reader: str) -> Point:
        chosen = dict(pair.split("=", 1) for pair in f"{writer},{reader}".split(","))
        words = []
        for name, value in chosen.items():
            if name == "Layout":
                words.append(value)
            elif name not in self.choices or name == "ReadAhead" and value != self.choices[name][0]:
                words.append(f"{name}={value}")
            elif value != self.choices[name][0]:
                words.append(value)
        return Point(",".join(words), writer, reader)


def chosen_points(wanted: list[str], space: Space, refuse: Callable[[str], NoReturn]) -> list[Point]:
    """The points that a user has named, each once."""
    points: dict[str, Point] = {}
    for word in wanted:
        if word == "all":
            named = space.all()
        elif word == "layouts":
            named = space.layouts()
        else:
            named = [space.point({} if word == "default" else _parsed(word, space, refuse))]
        points.update({point.name: point for point in named})
    return list(points.values())


def _parsed(word: str, space: Space, refuse: Callable[[str], NoReturn]) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for part in filter(None, word.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            value = part
            known = [key for key, values in space.choices.items() if part in values and key != "ReadAhead"]
            if not known:
                every = [one for key, values in space.choices.items() if key != "ReadAhead" for one in values]
                refuse(
                    f"there is no point {part!r}: give all, layouts, default, NAME=VALUE, or some of "
                    f"{', '.join(every)}"
                )
            name = known[0]
        else:
            name = next((key for key in space.choices if key.lower() == name.lower()), name)
        if name in chosen:
            refuse(f"point {word!r}: {name} is given twice")
        chosen[name] = value
    return chosen


def _joined(parameters: dict[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in parameters.items())
