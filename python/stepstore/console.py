"""What rooms print with: the console, lines and tables on it, JSON, and the error that ends a command."""

from __future__ import annotations

import datetime
import enum
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stepstore.printable import human_bytes as human_bytes
from stepstore.printable import printable


class ExitCode(enum.IntEnum):
    """The exit codes of every command; docs/cli.md lists them for users."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_FOUND = 3
    DAMAGE = 4
    INTERRUPTED = 130  # as a shell says it of a program that Ctrl-C ended


class CommandError(Exception):
    """A failure of the command line itself, with its exit code and what to do."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILURE):
        super().__init__(message)
        self.code = code


class Settings:
    """The global options, set once by the callback of the application."""

    debug = False
    # Tables are laid out for a terminal's width, and never where a program reads them.
    out = Console(highlight=False, soft_wrap=False)
    err = Console(stderr=True, highlight=False, soft_wrap=True)


def prepare_console() -> None:
    Settings.out = Console(highlight=False, width=None if sys.stdout.isatty() else 1000)
    Settings.err = Console(stderr=True, highlight=False, soft_wrap=True)


def styled(text: str, style: str = "") -> Text:
    """A line for a console. Whatever is printed comes through here, table() or emit_json(): names and values
    of a pool are what others wrote (stepstore.printable)."""
    return Text(printable(text), style=style)


def emit_json(value: Any) -> None:
    text = json.dumps(value, indent=2, default=_plain, ensure_ascii=True)
    sys.stdout.write(text.replace("\x7f", "\\u007f"))
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):  # numpy scalars
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def text_width(text: str) -> int:
    """In columns of a terminal."""
    return len(text) if text.isascii() else cell_len(text)


def _printable(cell: Any) -> str:
    return printable(str(cell))


def padded(column: list[str], width: int, right: bool) -> Iterator[str]:
    """Texts with blanks before or after them, so that each is as wide."""
    for text in column:
        left = max(0, width - text_width(text))
        yield text.rjust(len(text) + left) if right else text.ljust(len(text) + left)


class _Rows:
    """Columns under titles. Not a rich Table, nor lines printed by rich: that takes 0.02 to 0.1 ms a row.

    No value is ever cut. Where a row does not fit the terminal, it goes on in further lines, which are
    indented, and so do the titles."""

    def __init__(self, right: list[bool], columns: list[list[str]]):
        self.right, self.columns = right, columns

    def print(self, console: Console) -> None:
        widths = [max(map(text_width, column)) for column in self.columns]
        columns = list(map(padded, self.columns, widths, self.right))
        parts = [
            map("  ".join, zip(*columns[first:last], strict=True))
            for first, last in _line_breaks(widths, console.width)
        ]
        titles, *rows = map(_lines_of_row, zip(*parts, strict=True))
        console.out(titles, style="bold", highlight=False)
        console.file.write("\n".join([*rows, ""]))


def _lines_of_row(parts: tuple[str, ...]) -> str:
    """Without further lines in which nothing stands."""
    first, *more = parts
    return "\n    ".join([first, *(part for part in more if not part.isspace())]) if more else first


def _line_breaks(widths: list[int], available: int) -> list[tuple[int, int]]:
    """The columns of each line of a row: first, end."""
    found, first, used = [], 0, 0
    for at, width in enumerate(widths):
        if at > first and used + width > available:
            found.append((first, at))
            first, used = at, 4  # the indentation
        used += width + 2
    return [*found, (first, len(widths))]


def table(columns: Sequence[str | tuple[str, str]], rows: Iterable[Iterable[Any]]) -> _Rows:
    """A plain table; a column is a title, or (title, "right")."""
    titles = [column if isinstance(column, str) else column[0] for column in columns]
    right = [not isinstance(column, str) and column[1] == "right" for column in columns]
    return _Rows(right, [list(map(_printable, column)) for column in zip(titles, *rows, strict=True)])


def facts(pairs: Iterable[tuple[str, Any]]) -> Text:
    """Names and values under each other."""
    shown = [(_printable(name), _printable(value)) for name, value in pairs]
    width = max((text_width(name) for name, _ in shown), default=0)
    lines = (
        Text.assemble((name + " " * (width - text_width(name)), "bold"), "  ", value) for name, value in shown
    )
    return Text("\n").join(lines)


def show(what: str | Text | _Rows) -> None:
    """A text is one line: an end of line within it is that of a name."""
    if isinstance(what, _Rows):
        return what.print(Settings.out)
    Settings.out.print(styled(what) if isinstance(what, str) else what, soft_wrap=True)


def moment(seconds: float) -> str:
    """Seconds since 1970, for people."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def human_time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
