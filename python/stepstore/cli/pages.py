"""The commands and groups of the command line: typer's, whose help is a page as stepstore.help makes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from stepstore.help import Page, names, rendered, sentence

_Function = TypeVar("_Function", bound=Callable[..., Any])


def page_of(command: Any, context: Any) -> Page:
    """What the help of a command or group says."""
    shown = [one for one in command.get_params(context) if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name == "option"]
    inner = command.list_commands(context) if hasattr(command, "list_commands") else []
    usage = [context.command_path, *(["[OPTIONS]"] if options else []), *map(_in_usage, arguments)]
    usage += ["COMMAND ..."] if inner else []
    path = context.command_path.partition(" ")[2]
    page = Page(path, " ".join(usage), command.help or "")
    for name in inner:
        one = command.get_command(context, name)
        title = getattr(one, "rich_help_panel", None)
        first = (one.help or "").partition("\n\n")[0]
        page.add(title if isinstance(title, str) else "Commands", [(name, sentence(first))])
    if arguments:
        page.add("Arguments", ((_value(one), sentence(one.help or "", _default(one))) for one in arguments))
    page.add("Options", ((_name(one), sentence(one.help or "", _default(one))) for one in options))
    return page


def _value(param: Any) -> str:
    """What stands for the value of an option or argument. A flag has none."""
    if getattr(param, "is_flag", False):
        return ""
    return str(param.metavar or param.name.upper())


def _in_usage(argument: Any) -> str:
    shown = _value(argument) + ("..." if argument.nargs == -1 else "")
    return shown if argument.required else f"[{shown}]"


def _name(option: Any) -> str:
    return names([*option.opts, *option.secondary_opts], _value(option))


def _default(param: Any) -> str:
    """With its unit, if the option says so."""
    if isinstance(param.show_default, str):
        return str(param.show_default)
    value = param.default
    if param.show_default is False or not isinstance(value, bool | int | float | str | Path) or value == "":
        return ""
    if isinstance(value, bool):
        return str(param.opts[0]) if value else ""
    return str(value)


class _Paged:
    """What commands and groups have in common."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(rendered(page_of(self, ctx)))


class Command(_Paged, TyperCommand):
    """A command with such a page."""


class Group(_Paged, TyperGroup):
    """A group of commands with such a page."""


class Application(typer.Typer):
    """A group whose commands have such pages."""

    def __init__(self, *, cls: Any = Group, **settings: Any) -> None:
        super().__init__(cls=cls, no_args_is_help=True, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Function], _Function]:
        return super().command(name, **{"cls": Command, **settings})
