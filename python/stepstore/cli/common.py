"""What all commands share: exit codes of errors, options, confirmations, warnings."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NoReturn

import typer

from stepstore.cli import complete
from stepstore.console import CommandError, ExitCode, Settings, emit_json, show, styled
from stepstore.errors import Error
from stepstore.printable import printable

_EXIT_OF_NAME = {
    "DER_NONEXIST": ExitCode.NOT_FOUND,
    "DER_EP_OLD": ExitCode.NOT_FOUND,
    "DER_CSUM": ExitCode.DAMAGE,
}


def exit_code_of(error: Error) -> ExitCode:
    return _EXIT_OF_NAME.get(error.name, ExitCode.FAILURE)


def fail(message: str) -> None:
    """One red line on stderr."""
    line = " ".join(message.split())
    Settings.err.print(styled(f"error: {line}", "bold red" if Settings.err.is_terminal else ""))


def warn(message: str) -> None:
    Settings.err.print(styled(f"warning: {message}", "yellow" if Settings.err.is_terminal else ""))


def progress_line(text: str) -> None:
    """On stderr."""
    Settings.err.print(styled(text))


def write_value(data: bytes) -> None:
    """The bytes of a value to stdout; on a terminal as text that it may show, line by line."""
    if sys.stdout.isatty():
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        data = "\n".join(map(printable, lines)).encode("utf-8")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_line(text: str) -> None:
    """One of very many: not through a console, which takes as long as reading them does."""
    sys.stdout.write(printable(text) + "\n")


def usage_error(message: str) -> NoReturn:
    raise CommandError(message, ExitCode.USAGE)


def one_of(*known: str) -> dict[str, Any]:
    """The settings of an option whose values are known: its help lists them, completion knows them, and
    others are refused."""

    def check(param: typer.CallbackParam, value: str | None) -> str | None:
        if value and value not in known:
            usage_error(f"{max(param.opts, key=len)} {value!r}: use {', '.join(known[:-1])} or {known[-1]}")
        return value

    return {"metavar": "|".join(known), "callback": check, "autocompletion": lambda: list(known)}


# ---- options that many commands have
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", "-f", "--force", help="Do not ask for confirmation.")]
SnapshotOption = Annotated[
    str | None,
    typer.Option(
        "--snapshot",
        metavar="NAME|EPOCH",
        autocompletion=complete.snapshots,
        help="Look at the container as it was then.",
    ),
]


@contextlib.contextmanager
def on_interrupt(what_is_left: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C within it ends the command with one line that says what is left, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise CommandError(f"interrupted: {what_is_left()}", ExitCode.INTERRUPTED) from None


def confirm(question: str, yes: bool) -> None:
    """Asks before something is destroyed. Without a terminal there is nobody to ask: then --yes is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        usage_error(f"{question} There is no terminal to ask on: give --yes to do it without a question.")
    if not typer.confirm(printable(question)):
        raise CommandError("nothing was changed")


# ---- output


def emit(as_json: bool, value: Any, render: Callable[[], Any]) -> None:
    """The result of a command: `value` as JSON, or what `render` makes of it."""
    if as_json:
        emit_json(value)
    else:
        show(render())
