"""The help of every command: of one style, and with examples that run."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shlex

import numpy as np
import pytest
import stepstore
import stepstore.cli
import stepstore.help
import typer
from stepstore.blobs import open_blobs
from stepstore.cli.bench import MODULES, PROGRAMS
from stepstore.examples import EXAMPLES

TOP = typer.main.get_group(stepstore.cli.app)
PASSED_ON = ("bench", "simulate", "advise")


def walk(command, path, parent=None):
    """Every command and group: its words, itself, its context."""
    context = command.make_context(
        path[-1] if path else "stepstore", [], parent=parent, resilient_parsing=True
    )
    yield path, command, context
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from walk(command.get_command(context, name), (*path, name), context)


COMMANDS = {path: (command, context) for path, command, context in walk(TOP, ())}
READ_BY_ARGPARSE = {
    **{("bench", name): place for name, (place, _) in MODULES.items()},
    ("simulate",): "stepstore.lab.simulation.command:simulate",
    **{
        ("simulate", name): "stepstore.lab.simulation.command:simulate"
        for name in ("figures", "measure", "validate")
    },
    ("advise",): "stepstore.lab.simulation.advise:advise",
}
PAGES = sorted({*COMMANDS, *READ_BY_ARGPARSE})


def test_there_are_the_commands_of_every_kind():
    assert {("ls",), ("pool", "create"), ("demo", "fields"), ("bench",), ("version",)} <= set(COMMANDS)


@pytest.mark.parametrize("path", PAGES, ids=" ".join)
def test_the_page_of_a_command(cli, path):
    shown = cli(*path, "--help").out
    assert shown.lstrip().startswith(" ".join(("Usage: stepstore", *path)))
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80 and not any(line.endswith(" ") for line in lines)
    titles = re.findall(r"^╭─ ([^─]+) ─", shown, re.MULTILINE)
    assert titles[-1] == "Examples" and "Options" in titles
    assert not re.search(r"<\w+>|\[required\]|INTEGER|TEXT\b", shown)
    text = shown.split("\n\n")[1].split()
    assert not text[0].endswith("s") or text[0] in ("Compress", "Pass"), "say what it does: 'List ...'"
    assert text[0][:1].isupper()


def test_wide_and_narrow_terminals(cli):
    for columns in (60, 80, 120, 300):
        shown = cli("pool", "create", "--help", COLUMNS=str(columns)).out.splitlines()
        assert max(map(len, shown)) == min(columns, 120)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_and_argument_is_explained(path):
    command, context = COMMANDS[path]
    for one in command.get_params(context):
        if path[-1:] in [(name,) for name in PASSED_ON]:
            continue
        assert getattr(one, "help", None), f"{one.name} has no help"
        if one.name not in ("install_completion", "show_completion", "help"):
            assert getattr(one, "is_flag", False) or one.metavar, f"{one.name} has no metavar"


@pytest.mark.parametrize("path", READ_BY_ARGPARSE, ids=" ".join)
def test_every_option_that_argparse_reads_is_explained(path, monkeypatch):
    module, function = READ_BY_ARGPARSE[path].split(":")
    parsers = []

    def keep(self, arguments):
        parsers.append(self)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", keep)
    with pytest.raises(Parsed):
        getattr(importlib.import_module(module), function)(list(path[1:]) if path[0] == "simulate" else [])
    (parser,) = parsers
    assert isinstance(parser, stepstore.help.Parser)
    for one in parser._actions:
        assert one.help and (one.nargs == 0 or one.metavar or one.choices), one.dest


def test_every_command_has_examples():
    paths = {" ".join(path) for path in PAGES}
    assert paths == set(EXAMPLES)


ALL = [(path, line) for path, examples in EXAMPLES.items() for line, _ in examples]


@pytest.mark.parametrize(("path", "line"), ALL)
def test_an_example_fits_and_names_its_command(path, line):
    assert len(line) <= 74
    assert f"stepstore {path}" in line


class Parsed(Exception):
    pass


@pytest.mark.parametrize("line", [line for path, line in ALL if path.split(" ")[0] in PASSED_ON])
def test_an_example_of_argparse_is_read(line, monkeypatch):
    read = argparse.ArgumentParser.parse_args

    def stop(self, arguments):
        read(self, arguments)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    command, *words = shlex.split(line)[1:]
    if words[0] in PROGRAMS:
        pytest.skip("a program of C++ reads it")
    place = READ_BY_ARGPARSE[(command, words.pop(0)) if command == "bench" else (command,)]
    module, function = place.split(":")
    with pytest.raises(Parsed):
        getattr(importlib.import_module(module), function)(words)


def prepared(directory):
    """What the examples are about."""
    pool = directory / "out"
    stepstore.Pool.create(pool)
    for name, options in (("gs", {}), ("kept", {"Steps": "snapshot"})):
        with stepstore.Writer(f"{pool}/default/{name}", **options) as writer:
            for number in range(4):
                with writer.step() as step:
                    step["U"] = np.full((4, 5), float(number))
                    step["V"] = np.arange(6)
    open_blobs(str(pool), "default").write("notes.txt", b"hello\n")
    for disk in ("d1", "d2"):
        (directory / disk).mkdir()


# What takes minutes, or needs FDB or FUSE (mount.command).
NOT_RUN = (*PASSED_ON, "report", "demo", "mount", "unmount", "adios2-build")
NEEDED = {
    "fdb5-env": "STEPSTORE_TEST_FDB5",
    "adios2-env": "STEPSTORE_TEST_PLUGIN",
    "plugin-path": "STEPSTORE_TEST_PLUGIN",
}


def test_the_examples_run_in_their_order(cli):
    for package in ("netCDF4", "xarray", "zarr"):
        pytest.importorskip(package)
    prepared(cli.directory)
    for path, line in ALL:
        if path.split(" ")[0] in NOT_RUN or os.environ.get(NEEDED.get(path, "")) == "0":
            continue
        called = re.search(r"\$\(([^)]*)\)", line)  # a shell's line around the command
        cli(*shlex.split(called[1] if called else line.partition(">")[0])[1:])
