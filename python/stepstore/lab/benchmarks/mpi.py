"""Runs a program on several ranks of this machine, with the plugin or with one of ADIOS2's own engines."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from stepstore.console import CommandError, ExitCode
from stepstore.lab.benchmarks.options import words
from stepstore.paths import PRELOAD, plugin_directory
from stepstore.processes import run_program

ADIOS2_WITH_MPI = (
    "It needs an ADIOS2 with MPI: run scripts/adios2-mpi.sh and then scripts/setup.sh in a clone (make demo "
    "does both)"
)


@functools.cache
def launcher(given: str) -> tuple[str, ...]:
    """The words that start an MPI program, without the number of ranks. given: the user's; empty: mpirun as
    it is found."""
    if given:
        return tuple(shlex.split(given))
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        raise CommandError(
            "there is no mpirun on the PATH: install MPI, or give the command that starts MPI programs "
            "with --mpirun",
            ExitCode.NOT_FOUND,
        )
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version:
        return (mpirun,)
    # More ranks than cores are the normal case here: a rank that waits makes way for the others.
    flags = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    return (mpirun, *(["--allow-run-as-root"] if os.geteuid() == 0 else []), *flags)


def run(mpirun: str, ranks: int, command: list[str], folder: Path, timeout: float, doors: bool = True) -> str:
    """Runs the command on so many ranks in the folder: what it printed. doors: ADIOS2 has both of ours."""
    return run_line([*launcher(mpirun), "-n", str(ranks), *command], command[0], folder, timeout, doors)


def run_line(line: list[str], name: str, folder: Path, timeout: float, doors: bool = True) -> str:
    """Runs a command line in the folder. name: of the program that it is about."""
    environment = {**os.environ, **(door_variables() if doors else {})}
    try:
        done = run_program(
            line,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout,
        )
    except FileNotFoundError as error:
        raise CommandError(f"cannot start {line[0]}: {error.strerror}", ExitCode.NOT_FOUND) from error
    except subprocess.TimeoutExpired as error:
        raise CommandError(
            f"{shlex.join(line)} was killed after {timeout:.0f} s: give it less to do"
        ) from error
    if done.returncode != 0:
        said = _said(name, done.stderr or done.stdout)
        raise CommandError(f"{shlex.join(line)} failed with status {done.returncode}: {said}")
    return done.stdout


def door_variables() -> dict[str, str]:
    """The environment in which ADIOS2 has both of ours."""
    preload = [os.environ.get("LD_PRELOAD", ""), str(plugin_directory() / PRELOAD)]
    return {"ADIOS2_PLUGIN_PATH": str(plugin_directory()), "LD_PRELOAD": " ".join(filter(None, preload))}


def _said(program: str, output: str) -> str:
    """The lines in which the program names itself, each once, or else the last lines: MPI adds many."""
    lines = output.strip().splitlines()
    own = dict.fromkeys(one for one in lines if one.startswith(f"{Path(program).name}: "))
    return " | ".join(list(own)[:3] or lines[-6:])


def engine(door: str, location: Path | str, more: str) -> list[str]:
    """An engine type and its parameters, as ADIOS2's programs take them on their command line."""
    own = [f"Location={location}", *words(more)]
    if door == "native":
        return ["Stepstore", ",".join(own)]
    return ["Plugin", ",".join(["PluginName=stepstore", "PluginLibrary=stepstore_adios2", *own])]
