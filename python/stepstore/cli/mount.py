"""stepstore mount and unmount: the file system of a container as a directory (docs/mount.md)."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from stepstore import _core
from stepstore.cli.address import Address
from stepstore.cli.common import SnapshotOption, usage_error
from stepstore.cli.cont import ContainerArgument, container_address
from stepstore.console import CommandError, ExitCode, show
from stepstore.errors import Error
from stepstore.paths import program

PROGRAM = "stepstore-mount"
KIND = "fuse.stepstore"
DEVICE = "/dev/fuse"
HELPER = "fusermount3"

DirectoryArgument = Annotated[
    str, typer.Argument(metavar="DIR", help="The directory in which the files are, or shall be.")
]


def mount(
    location: ContainerArgument,
    directory: DirectoryArgument,
    read_only: Annotated[bool, typer.Option("--read-only", "-r", help="Let nobody change anything.")] = False,
    snapshot: SnapshotOption = None,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay, and unmount at Ctrl-C.")] = False,
    allow_other: Annotated[
        bool, typer.Option("--allow-other", help="Also for other users, as modes and owners allow it.")
    ] = False,
) -> None:
    """Show the files of a container in a directory, for every program."""
    address = container_address(location)
    if address.is_of_daos_system:
        usage_error(f"{address.pool} is of a DAOS system: use its own tool, dfuse")
    _require_free(directory)
    words = [
        _program(),
        *(["--read-only"] if read_only else []),
        *(["--allow-other"] if allow_other else []),
        *([f"--snapshot={snapshot}"] if snapshot else []),
        *(["--foreground"] if foreground else []),
        "--",
        _absolute(address),
        address.container,
        os.path.realpath(directory),
    ]
    if foreground:
        sys.stdout.flush()
        os.execv(words[0], words)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"{PROGRAM} ended with status {done.returncode}"]
        missing = done.returncode == ExitCode.NOT_FOUND
        raise CommandError(
            f"{location} cannot be mounted: {'; '.join(said)}",
            ExitCode.NOT_FOUND if missing else ExitCode.FAILURE,
        )
    show(f"mounted {location} on {directory}")


def unmount(
    directory: DirectoryArgument,
    lazy: Annotated[
        bool,
        typer.Option("--lazy", help="Also while it is in use: it goes when the last program has closed it."),
    ] = False,
) -> None:
    """End a mount."""
    if _kind_of_mount(directory) != KIND:
        raise CommandError(f"{directory}: no container is mounted there", ExitCode.NOT_FOUND)
    place = os.path.realpath(directory)
    if helper := shutil.which(HELPER):
        words = [helper, "-u", *(["-z"] if lazy else []), "--", place]
    else:
        if os.geteuid() != 0:
            raise CommandError(f"there is no {HELPER}: install the package fuse3")
        words = ["umount", *(["-l"] if lazy else []), "--", place]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        show(f"unmounted {directory}")
        return
    said = done.stderr.strip() or f"{words[0]} ended with status {done.returncode}"
    if "busy" in said:
        said = "a program has a file or its working directory there; end it, or give --lazy"
    raise CommandError(f"{directory} cannot be unmounted: {said}")


def _program() -> str:
    try:
        found = program(PROGRAM)
    except Error:
        raise CommandError(
            f"{PROGRAM} is not in this installation: install libfuse3-dev and fuse3, and build Stepstore "
            "again from its sources; wheels do not have it"
        ) from None
    if not os.path.exists(DEVICE):
        raise CommandError(f"there is no {DEVICE}: load the module fuse, or give the device to the container")
    if os.geteuid() != 0 and not shutil.which(HELPER):
        raise CommandError(f"there is no {HELPER}: install the package fuse3")
    return str(found)


def _absolute(address: Address) -> str:
    """The pool for a process with another working directory."""
    if _core.capabilities(address.pool).directory:
        return os.path.abspath(_core.pool_path(address.pool))
    return address.pool


def _kind_of_mount(directory: str) -> str:
    """Of the last one at a directory; "" if there is none."""
    place = os.path.realpath(directory)
    kind = ""
    for line in (
        Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    ):
        front, _, back = line.partition(" - ")
        escaped = front.split(" ")[4]
        if re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), escaped) == place:
            kind = back.split(" ")[0]
    return kind


def _require_free(directory: str) -> None:
    """DIR is an empty directory where nothing is mounted."""

    def refuse(why: str) -> NoReturn:
        raise CommandError(f"{directory} {why}")

    try:
        entries = os.listdir(directory)
    except OSError as error:
        if error.errno == errno.ENOTCONN:
            refuse(
                "is a mount whose process has died: 'stepstore unmount DIR' or 'fusermount3 -u DIR' ends it"
            )
        if isinstance(error, FileNotFoundError):
            raise CommandError(
                f"{directory}: there is no such directory: make it", ExitCode.NOT_FOUND
            ) from None
        refuse(f"cannot be read: {error.strerror}")
    if _kind_of_mount(directory) == KIND:
        refuse("has a container mounted already: unmount it first")
    if entries:
        refuse("is not empty: its entries could not be seen; give an empty directory")
