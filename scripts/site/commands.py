"""The page of all commands and their options, from the command line itself."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

_HEAD = """\
# All commands

Made from the help texts of `stepstore` {version}. [The guide](../cli.md) explains locations, exit codes and
the longer commands.
"""


def page() -> str:
    import stepstore
    import typer
    from stepstore.cli import TOPICS, app

    top = typer.main.get_command(app)
    context = top.make_context("stepstore", [], resilient_parsing=True)
    parts = [_HEAD.format(version=stepstore.__version__)]
    parts += ["\n".join(_table(title, rows)) for title, rows in TOPICS.items()]
    parts += [_command(top, context, [name]) for name in top.list_commands(context)]
    return "\n".join(parts)


def _text(text: str | None) -> str:
    """A help text as Markdown."""
    return re.sub(r"([<*])", r"\\\1", (text or "").strip())


def _table(title: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    shown = ((name.replace("|", r"\|"), _text(meaning).replace("|", r"\|")) for name, meaning in rows)
    return [
        f"| {title.lower()} | |",
        "|---|---|",
        *(f"| `{name}` | {meaning} |" for name, meaning in shown),
        "",
    ]


def _command(group: Any, parent: Any, path: list[str]) -> str:
    from stepstore.cli.pages import page_of
    from stepstore.examples import EXAMPLES

    command = group.get_command(parent, path[-1])
    context = type(parent)(command, info_name=path[-1], parent=parent)
    lines = [f"{'#' * (len(path) + 1)} `stepstore {' '.join(path)}`", "", _text(command.help), ""]
    if hasattr(command, "list_commands"):
        inner = command.list_commands(context)
        return "\n".join([*lines, *(_command(command, context, [*path, name]) for name in inner)])
    if command.context_settings.get("ignore_unknown_options"):
        return "\n".join([*lines, *_passed_on(path)])
    told = page_of(command, context)
    lines += ["```text", told.usage, "```", ""]
    for title, rows in told.panels.items():
        lines += _table(title, rows)
    examples = (f"{line}    # {meaning}" for line, meaning in EXAMPLES[told.path])
    return "\n".join([*lines, "```sh", *examples, "```", ""])


def _passed_on(path: list[str]) -> list[str]:
    """The help of a command that reads its words itself."""
    done = subprocess.run(
        [sys.executable, "-m", "stepstore", *path, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "100", "NO_COLOR": "1", "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
    )
    return ["```text", done.stdout.strip(), "```", ""]
