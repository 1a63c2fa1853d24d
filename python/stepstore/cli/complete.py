"""What a shell offers at a tab: names of containers, streams, variables, snapshots and values of options.

The names are those of the view, which `ls` lists. Nothing is written, an error offers nothing, and a look
that takes long is given up. Locations on a network are not looked at. A name is offered only if the shell can
take it as one word. bash gets it with backslashes. zsh and PowerShell evaluate what they are given, so they
get only names without special characters.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import typer

from stepstore import _core
from stepstore.printable import printable

_VARIABLE = "_STEPSTORE_COMPLETE"  # set by the shell: complete_bash, source_zsh
_SECONDS = 3.0  # a shell that waits for longer is no help; a free machine takes 0.3
_MOST = 500  # names that are looked at further than others
_SPECIAL = re.compile(r"([^\w@%+=:,./-])")
_SCHEME = re.compile(r"(^|//)(stepstore|local|shared|rados|daos|fdb):$")
_OPENED = {"container", "dataset", "stream", "folder", "zarr_group", "key_value"}
_ALL = _OPENED | {"variable", "array", "zarr_array", "blob", "collocation", "key", "array_bytes"}
_NETWORKS = ("rados", "daos")

Found = list[tuple[str, str]]


def _quiet(look: Callable[[typer.Context, str], Iterator[tuple[str, str]]]) -> Callable[..., Found]:
    """As typer calls it. What was found before an error is offered."""

    def offered(ctx: typer.Context, incomplete: str) -> Found:
        found: dict[str, str] = {}
        with contextlib.suppress(Exception):
            for name, kind in look(ctx, incomplete):
                goes_on = name != incomplete or not name.endswith("/")
                if name.startswith(incomplete) and goes_on and _is_word(name):
                    found[name] = kind
                if len(found) >= _MOST:
                    break
        return list(found.items())

    return offered


def _is_word(name: str) -> bool:
    evaluated = os.environ.get(_VARIABLE, "").endswith(("_zsh", "_powershell", "_pwsh"))
    return printable(name) == name and not (evaluated and _SPECIAL.search(name))


# ---- locations
@_quiet
def pools(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Labels. Directories are the shell's."""
    return _labels(incomplete)


@_quiet
def containers(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    return _locations(incomplete, {"container", "dataset"})


@_quiet
def streams(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    return _locations(incomplete, {"container", "stream"})


@_quiet
def data(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Streams and arrays."""
    return _locations(incomplete, {"container", "stream", "array"})


@_quiet
def locations(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    return _locations(incomplete, None)


def _labels(incomplete: str) -> Iterator[tuple[str, str]]:
    from stepstore.view import DirectoryNode

    before = "stepstore://" if incomplete.startswith("stepstore://") else ""
    bare = incomplete.removeprefix(before)
    if ":" not in bare or "/" in bare:
        return
    for node in DirectoryNode(os.path.dirname(_core.pool_path("local:label"))).children():
        if node.kind == "pool":
            yield f"{before}local:{node.name}", "pool"


def _locations(incomplete: str, kinds: set[str] | None) -> Iterator[tuple[str, str]]:
    """kinds: None: all. What has more in it is offered with a '/' too, so that one can go on."""
    yield from _labels(incomplete)
    before = "stepstore://" if incomplete.startswith("stepstore://") else ""
    bare = incomplete.removeprefix(before)
    if _core.parse_location(bare).scheme in _NETWORKS:
        return
    pool, rest, exists = _core.find_pool(bare)
    if not exists or not bare.startswith(f"{pool}/"):
        return
    for node in _inside(pool, rest):
        if node.kind not in (kinds or _ALL):
            continue
        kind = node.kind.replace("_", " ")
        yield before + node.location, kind
        if node.kind in _OPENED and (kinds is None or "stream" in kinds and node.kind == "container"):
            yield f"{before}{node.location}/", kind


def _inside(pool: str, rest: str) -> Iterator[Any]:
    from stepstore.view import ContainerNode, PoolNode, look

    container, slash, name = rest.lstrip("/").partition("/")
    if not slash:
        yield from PoolNode(pool).children()
        return
    whole = ContainerNode(pool, container)
    yield from whole.names()
    if name[:1].isdigit():
        yield from whole.objects()
    folder, slash, _ = name.rpartition("/")
    if slash:
        yield from look(pool, container, folder).names()


# ---- what is in the location that was given before
@_quiet
def snapshots(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    from stepstore.view.node import Inside

    pool, rest, exists = _core.find_pool(_location(ctx))
    if exists:
        for epoch, name in Inside(pool, rest.strip("/").split("/")[0] or "default").snapshots():
            yield name or str(epoch), "snapshot"


@_quiet
def variables(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    yield from ((name, "variable") for name in _variables(ctx))


@_quiet
def several_variables(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """After a comma the next one."""
    before, comma, _ = incomplete.rpartition(",")
    yield from ((f"{before}{comma}{name}", "variable") for name in _variables(ctx))


def _variables(ctx: typer.Context) -> Iterable[str]:
    from stepstore.steps import open_steps

    with open_steps(_location(ctx)) as steps:
        return sorted(steps.definitions())


def _location(ctx: typer.Context) -> str:
    # After an option that waits for its value, typer has not come to the arguments.
    given = str(ctx.params.get("location") or next(iter(ctx.args), ""))
    return "" if _core.parse_location(given).scheme in _NETWORKS else given


# ---- the call of a shell
def is_asked() -> bool:
    return os.environ.get(_VARIABLE, "").startswith("complete_")


def answer(application: Callable[[], Any]) -> NoReturn:
    """Prints what the application offers, as the shell takes it."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)  # for what the store warns of, too
    limit = threading.Timer(_SECONDS, os._exit, (0,))
    limit.daemon = True
    limit.start()
    in_bash = os.environ[_VARIABLE] == "complete_bash"
    current = _join_words() if in_bash else ""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit, Exception):
        application()
    lines = told.getvalue().splitlines()
    if in_bash:
        lines = [word for line in lines for word in _as_bash_takes(line, current)]
    sys.stdout.write("".join(f"{line}\n" for line in lines if line))
    sys.stdout.flush()
    os._exit(0)  # a look that was given up may still hold a lock


def _join_words() -> str:
    """bash divides words at ':'. Puts the parts of locations together again. The word at the cursor."""
    words, cursor = os.environ.get("COMP_WORDS", "").split("\n"), int(os.environ.get("COMP_CWORD", "0"))
    joined: list[str] = []
    place = cursor
    for number, word in enumerate(words):
        if joined and (_SCHEME.search(joined[-1] + (":" if word[:1] == ":" else ""))):
            joined[-1] += word
            place -= number <= cursor
        else:
            joined.append(word)
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(joined), str(place)
    return joined[place] if place < len(joined) else ""


def _as_bash_takes(name: str, current: str) -> Iterator[str]:
    """It replaces what is after the last ':'. Within quotes backslashes would be part of a name."""
    escaped = _SPECIAL.sub(r"\\\1", name)
    if current[:1] in ("'", '"') and escaped != name:
        return
    yield escaped[current.rfind(":") + 1 :] if ":" in current else escaped
