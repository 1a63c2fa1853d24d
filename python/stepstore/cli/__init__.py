"""The command line `stepstore`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import stepstore
from stepstore.cli import complete
from stepstore.cli.common import JsonOption, emit, exit_code_of, fail
from stepstore.cli.pages import Application, Command, Group, page_of
from stepstore.console import CommandError, ExitCode, Settings, prepare_console
from stepstore.errors import Error
from stepstore.help import rendered
from stepstore.paths import PRELOAD, daos_root, fdb5_directories, pkg_config_directory, plugin_directory

# Panels of the help of all.
TOPICS: dict[str, list[tuple[str, str]]] = {
    "A LOCATION is": [
        ("POOL", "A directory, local:LABEL, shared:DIRECTORY, or rados://CEPHPOOL/NAMESPACE."),
        ("POOL/CONTAINER", "All in a container. A stream of an application lies in 'default'."),
        ("POOL/CONTAINER/NAME", "A stream, array, Zarr group, blob or file."),
        ("POOL/CONTAINER/STREAM/VARIABLE", "A variable of a stream."),
        ("POOL/CONTAINER/HI.LO[/KEY]", "An object, or one of its keys."),
        ("stepstore://LOCATION", "The same. Zarr and fsspec need it so."),
    ],
    "Exit codes": [
        ("0", "Done."),
        ("1", "Failure."),
        ("2", "Wrong usage."),
        ("3", "Not found."),
        ("4", "Damage found."),
        ("130", "Interrupted."),
    ],
}

_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
# Where each command is: the module below this one, the function or typer application in it, its settings.
_COMMANDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ls": ("listing", "ls", {}),
    "tree": ("listing", "tree", {}),
    "stat": ("browse", "stat", {}),
    "cat": ("browse", "cat", {}),
    "du": ("listing", "du", {}),
    "steps": ("steps", "steps", {}),
    "rm": ("remove", "remove", {}),
    "cp": ("cp", "cp", {}),
    "copy": ("copy", "copy", {}),
    "export": ("exchange", "export", {}),
    "import": ("exchange", "import_", {}),
    "report": ("report", "report", {}),
    "bench": ("bench", "bench", _PASSED_ON),
    "simulate": ("simulate", "simulate", _PASSED_ON),
    "advise": ("advise", "advise", _PASSED_ON),
    "pool": ("pool", "app", {}),
    "cont": ("cont", "app", {}),
    "snapshot": ("snapshot", "app", {}),
    "mount": ("mount", "mount", {}),
    "unmount": ("mount", "unmount", {}),
    "demo": ("demo", "app", {}),
    "adios2-build": ("adios2_build", "adios2_build", {}),
}


_PANELS = {
    "Look": ("ls", "tree", "stat", "cat", "du", "steps"),
    "Change": ("cp", "copy", "export", "import", "rm", "pool", "cont", "snapshot", "mount", "unmount"),
    "Measure and predict": ("bench", "simulate", "advise", "report", "demo"),
    "Set up": (
        "plugin-path",
        "pkg-config-path",
        "daos-root",
        "fdb5-env",
        "adios2-env",
        "adios2-build",
        "version",
    ),
}


class _Commands(Group):
    """The group of all commands. A module of them is imported when one of its commands is called, or when the
    help lists all: with all of them (numpy, progress bars) the start takes twice as long."""

    _only_names = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        self._only_names = True
        return super().shell_complete(ctx, incomplete)

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for panel in _PANELS.values() for name in panel]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self._only_names:
            return Command(cmd_name)
        if cmd_name in _COMMANDS:
            loaded = self._loaded(cmd_name)
        elif (loaded := super().get_command(ctx, cmd_name)) is None:
            return None
        loaded.rich_help_panel = next((title for title, those in _PANELS.items() if cmd_name in those), None)
        return loaded

    def _loaded(self, cmd_name: str) -> Any:
        module, name, settings = _COMMANDS[cmd_name]
        command = getattr(importlib.import_module(f"stepstore.cli.{module}"), name)
        if isinstance(command, typer.Typer):
            loaded: Any = typer.main.get_group(command)
        else:
            alone = typer.Typer(add_completion=False)
            alone.command(cmd_name, cls=Command, context_settings=settings)(command)
            loaded = typer.main.get_command(alone)
        loaded.name = cmd_name
        return loaded

    def format_help(self, ctx: Any, formatter: Any) -> None:
        page = page_of(self, ctx)
        page.panels |= TOPICS
        formatter.write(rendered(page))


app = Application(
    name="stepstore",
    cls=_Commands,
    help="Make, show, check and copy pools, containers, objects and streams of steps.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"stepstore {stepstore.__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_print_version, is_eager=True, help="Print the version of Stepstore."
        ),
    ] = False,
) -> None:
    Settings.debug = debug or bool(os.environ.get("STEPSTORE_DEBUG"))


@app.command("plugin-path")
def plugin_path() -> None:
    """Print the directory with the ADIOS2 plugin, for ADIOS2_PLUGIN_PATH."""
    print(stepstore.plugin_path())


@app.command("daos-root")
def daos_root_path() -> None:
    """Print the folder that programs written for DAOS are built with, for DAOS_ROOT."""
    print(daos_root())


@app.command("pkg-config-path")
def pkg_config_path() -> None:
    """Print the directory with stepstore-c.pc and stepstore-fortran.pc, for PKG_CONFIG_PATH."""
    print(pkg_config_directory())


@app.command("fdb5-env")
def fdb5_env() -> None:
    """Print what a shell has to set so that FDB's tools are found, and they and pyfdb load the plugin."""
    manifests, libraries = fdb5_directories()
    print(f"export PLUGINS_MANIFEST_PATH={shlex.quote(str(manifests))}")
    print(f"export DYNAMIC_LIBRARY_PATH={shlex.quote(str(libraries))}")
    # The wheel keeps FDB's tools to itself. After all others: who has another FDB in the path means that
    # one.
    wheel = importlib.util.find_spec("fdb5lib")
    if wheel and wheel.origin:
        print(f'export PATH="$PATH:"{shlex.quote(str(Path(wheel.origin).parent / "bin"))}')


@app.command("adios2-env")
def adios2_env(
    default: Annotated[
        bool,
        typer.Option(
            "--default", help="Let programs that name no engine read pools too: FileReader(path), bpls PATH."
        ),
    ] = False,
) -> None:
    """Print what a shell has to set so that every ADIOS2 program knows the engine type Stepstore."""
    libraries = plugin_directory()
    print(f'export LD_PRELOAD={shlex.quote(str(libraries / PRELOAD))}"${{LD_PRELOAD:+:$LD_PRELOAD}}"')
    print(f"export ADIOS2_PLUGIN_PATH={shlex.quote(str(libraries))}")
    if default:
        print("export STEPSTORE_ADIOS2_DEFAULT=on")


@app.command("version")
def version(as_json: JsonOption = False) -> None:
    """Print the version of Stepstore and where its parts are."""
    try:
        plugin: str | None = stepstore.plugin_path()
    except Error:
        plugin = None
    value = {"version": stepstore.__version__, "plugin_path": plugin, "python": sys.version.split()[0]}
    emit(as_json, value, lambda: f"stepstore {stepstore.__version__}")


# typer carries a click of its own or uses the one that is installed: take the classes from where it has them.
_CLICK: dict[str, Any] = {kind.__name__: kind for kind in typer.BadParameter.__mro__}
_UsageError, _ClickException = _CLICK["UsageError"], _CLICK["ClickException"]


def main() -> None:
    """Runs the command line; an error is one line on stderr and an exit code, never a traceback (but with
    --debug)."""
    if complete.is_asked():
        complete.answer(lambda: app(prog_name="stepstore", standalone_mode=False))
    prepare_console()
    Settings.debug = bool(os.environ.get("STEPSTORE_DEBUG"))
    try:
        code = app(prog_name="stepstore", standalone_mode=False) or 0
        if code == ExitCode.INTERRUPTED:  # what typer makes of Ctrl-C, in the versions that raise no Abort
            fail("interrupted")
        sys.stdout.flush()  # here, where a closed pipe is understood; not while the interpreter ends
        sys.exit(code)
    except _ClickException as error:
        _exit_from_usage(error)
    except typer.Abort as error:
        if isinstance(error.__cause__, EOFError):  # at a question
            sys.exit(ExitCode.FAILURE)
        _exit(error, "interrupted", ExitCode.INTERRUPTED)
    except CommandError as error:
        _exit(error, str(error), error.code)
    except Error as error:
        _exit(error, f"{error} [{error.name}]", exit_code_of(error))
    except BrokenPipeError:
        # The reader of our output went away (`stepstore ls | head`): nothing is wrong with the store.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.FAILURE)
    except OSError as error:
        _exit(error, f"{error.filename or 'the system'}: {error.strerror or error}", ExitCode.FAILURE)
    except MemoryError as error:
        _exit(error, "out of memory: ask for less at a time (--offset, --size, -c)", ExitCode.FAILURE)
    except (ValueError, TypeError) as error:
        _exit(error, f"{error} (run with --debug to see where)", ExitCode.FAILURE)


def _exit_from_usage(error: Exception) -> NoReturn:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        sys.exit(ExitCode.USAGE)
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "stepstore"
    message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    fail(f"{message}: '{path} --help' shows the usage")
    sys.exit(ExitCode.USAGE if isinstance(error, _UsageError) else ExitCode.FAILURE)


def _exit(error: BaseException, message: str, code: int) -> NoReturn:
    if Settings.debug:
        raise error
    fail(message)
    sys.exit(int(code))
