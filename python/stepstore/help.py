"""Help pages of one style, of commands that typer reads and of those that argparse reads.

A page has a usage, a text, panels of names and meanings, and the examples of its command.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stepstore.examples import EXAMPLES

_WIDEST = 120  # longer lines are hard to read
_WIDEST_NAME = 34


@dataclass
class Page:
    """What the help of a command says. path: the words that call it."""

    path: str
    usage: str
    text: str
    panels: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def add(self, title: str, rows: Iterable[tuple[str, str]]) -> None:
        self.panels.setdefault(title, []).extend(rows)


def sentence(text: str, default: str = "") -> str:
    """A meaning as all pages write it."""
    text = " ".join(text.split()).removesuffix(".")
    if default:
        text += f" (default: {default})"
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def names(long_and_short: Iterable[str], value: str = "") -> str:
    """The names of an option, the short ones first: "-s, --start I,J"."""
    ordered = ", ".join(sorted(long_and_short, key=lambda name: (name.startswith("--"), len(name))))
    return f"{ordered} {value}".strip()


def rendered(page: Page) -> str:
    """The page as text for stdout: with colours if that is a terminal, as wide as that, without trailing
    blanks."""
    console = Console(highlight=False, emoji=False, markup=False)
    console.width = min(console.width, _WIDEST)
    with console.capture() as captured:
        console.print(Text.assemble(("Usage: ", "bold"), page.usage, no_wrap=False))
        for paragraph in filter(None, page.text.split("\n\n")):
            console.print(Padding(Text(" ".join(paragraph.split())), (1, 0, 0, 0)))
        console.print()
        for title, rows in page.panels.items():
            console.print(_panel(title, _table(rows)))
        if examples := EXAMPLES.get(page.path):
            console.print(_panel("Examples", _listed(examples)))
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


def _panel(title: str, inside: RenderableType) -> Panel:
    return Panel(inside, title=title, title_align="left", border_style="dim")


def _table(rows: list[tuple[str, str]]) -> Table:
    """A name that is too long for its column goes on in further lines."""
    every = [len(name) for name, _ in rows]
    width = max((length for length in every if length <= _WIDEST_NAME), default=_WIDEST_NAME)
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(width=width, style="bold cyan", overflow="fold")
    table.add_column(ratio=1)
    for name, meaning in rows:
        first, _, rest = name.partition(" ")
        if len(name) > width and len(first) <= width and rest:
            name = "\n".join(_folded(name, width))
        table.add_row(Text(name), Text(meaning))
    return table


def _folded(name: str, width: int) -> Iterable[str]:
    """Lines of a name, broken at blanks, and at what stands between the values of an option."""
    line = ""
    for part in name.replace("|", "|\0").replace(" ", " \0").split("\0"):
        if line and len((line + part).rstrip()) > width:
            yield line.rstrip()
            line = "  "
        line += part
    yield line.rstrip()


def _listed(examples: Iterable[tuple[str, str]]) -> RenderableType:
    lines: list[RenderableType] = []
    for command, meaning in examples:
        lines += [Text(meaning, style="dim"), Text(f"  {command}", style="bold")]
    return Group(*lines)


class Parser(argparse.ArgumentParser):
    """A parser of argparse whose help is such a page. commands: what may be the first word, and what it
    does."""

    def __init__(self, path: str, description: str, commands: dict[str, str] | None = None, **more: Any):
        self._shown: list[argparse.Action] = []
        self._path, self._commands = path, commands or {}
        super().__init__(prog=f"stepstore {path}", description=description, add_help=False, **more)
        self._help = super().add_argument("-h", "--help", action="help", help="Show this message and exit.")

    def add_argument(self, *words: Any, **settings: Any) -> argparse.Action:
        action = super().add_argument(*words, **settings)
        self._shown.append(action)
        return action

    def format_help(self) -> str:
        """The page as text."""
        arguments = [one for one in self._shown if not one.option_strings]
        options = [one for one in [*self._shown, self._help] if one.option_strings]
        usage = " ".join([self.prog, "[OPTIONS]", *map(_value_of, arguments)])
        page = Page(self._path, usage, "\n\n".join(filter(None, (self.description, self.epilog))))
        if self._commands:
            page.add("Commands", ((name, sentence(what)) for name, what in self._commands.items()))
        if arguments:
            page.add("Arguments", ((_value_of(one), sentence(one.help or "")) for one in arguments))
        page.add(
            "Options",
            ((names(one.option_strings, _value_of(one)), sentence(one.help or "")) for one in options),
        )
        return rendered(page)


def _value_of(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    shown = action.metavar if isinstance(action.metavar, str) else ""
    shown = shown or "|".join(map(str, action.choices or ())) or action.dest.upper()
    return f"{shown}..." if action.nargs in ("+", "*") else shown
