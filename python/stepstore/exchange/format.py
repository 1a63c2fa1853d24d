"""What a format of files is: how its tables are written and read, and what is left by a kill."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from stepstore.errors import DER_NOSYS, Error
from stepstore.exchange.table import Array, Box, Entry, Table


class Compression(NamedTuple):
    """level: None is the library's own."""

    name: str
    level: int | None = None


class TableWriter(Protocol):
    """Gets the pieces of every variable in their order."""

    def write(self, entry: Entry, start: Box, values: Array) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Format:
    """check: raises what the format cannot keep, by the name of the variable. create: (path, table, resumed,
    compression). resumable: pieces that were written stay after a kill. compressions: names of those that it
    has."""

    name: str
    ending: str
    resumable: bool
    check: Callable[[Table], None]
    create: Callable[[Path, Table, bool, Compression | None], TableWriter]
    open: Callable[[Path], Table]
    compressions: tuple[str, ...] = ()


def library(name: str, extra: str) -> Any:
    """DER_NOSYS: it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Error(
            DER_NOSYS, f"this format needs the package {name}: python -m pip install 'stepstore[{extra}]'"
        ) from error
