"""What a shell offers at a tab: names of containers, streams, variables, snapshots and values of options.

The names are those of the view, which `ls` lists. Nothing is written, and an error offers nothing. A name is
offered only if the shell can take it as one word. bash gets it with backslashes. zsh and PowerShell evaluate
what they are given, so they get only names without special characters.

A location may be on a cluster or a file system that does not answer. So a child process looks. If it takes
long, it is killed and nothing is offered. The shell never waits for the child: its output is a pipe to us.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import typer

from stepstore import _core
from stepstore.printable import printable

_VARIABLE = "_STEPSTORE_COMPLETE"  # set by the shell: complete_bash, source_zsh
_SECONDS = "STEPSTORE_COMPLETE_SECONDS"
_DEFAULT_SECONDS = 1.5  # and the interpreter starts before: at most 2 s. A free machine takes 0.3
_MOST = 500  # names that are looked at further than others
_SPECIAL = re.compile(r"([^\w@%+=:,./-])")
_SCHEME = re.compile(r"(^|//)(stepstore|local|shared|rados|daos|fdb):$")
_OPENED = {
    "container",
    "dataset",
    "file_system",
    "directory",
    "stream",
    "folder",
    "zarr_group",
    "key_value",
    "object",
    "dkey",
}
_WITH_STREAMS = {"container", "file_system", "directory"}  # or with files
_ALL = _OPENED | {
    "variable",
    "array",
    "zarr_array",
    "blob",
    "file",
    "link",
    "collocation",
    "key",
    "array_bytes",
    "value",
    "records",
}

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
    return _locations(incomplete, {"container", "dataset", "file_system"})


@_quiet
def streams(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    return _locations(incomplete, {"container", "stream"})


@_quiet
def removed(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """What `rm` takes."""
    return _locations(incomplete, {"container", "stream", "file_system", "directory", "file", "link"})


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
    pool, rest = _pool_of(bare)
    if not pool or not bare.startswith(f"{pool}/"):
        return
    for node in _inside(pool, rest):
        if node.kind not in (kinds or _ALL):
            continue
        kind = node.kind.replace("_", " ")
        yield before + node.location, kind
        if node.kind in _OPENED and (kinds is None or "stream" in kinds and node.kind in _WITH_STREAMS):
            yield f"{before}{node.location}/", kind


def _pool_of(location: str) -> tuple[str, str]:
    """The pool and what follows it; "": there is none. Of one on a network its opening says so."""
    pool, rest, exists = _core.find_pool(location)
    return (pool if exists or _core.capabilities(pool).network else ""), rest


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

    pool, rest = _pool_of(_location(ctx))
    if pool:
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
    return str(ctx.params.get("location") or next(iter(ctx.args), ""))


# ---- the call of a shell
def is_asked() -> bool:
    return os.environ.get(_VARIABLE, "").startswith("complete_")


def answer(application: Callable[[], Any]) -> NoReturn:
    """Prints what the application offers, as the shell takes it."""
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 2)  # for what the store warns of, too
    in_bash = os.environ[_VARIABLE] == "complete_bash"
    current = _join_words() if in_bash else ""
    end = time.monotonic() + _limit()
    answers, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(told, 1)  # not the shell's, which waits until nobody has it
        os.dup2(silence, 0)
        _look(application)
    os.close(told)
    try:
        lines = _read(answers, end).decode("utf-8", "surrogateescape").splitlines()
    finally:
        os.kill(child, signal.SIGKILL)  # not waited for: one in the kernel may end later
    if in_bash:
        lines = [word for line in lines for word in _as_bash_takes(line, current)]
    text = "".join(f"{line}\n" for line in lines if line)
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    os._exit(0)


def _limit() -> float:
    try:
        return float(os.environ.get(_SECONDS, _DEFAULT_SECONDS))
    except ValueError:
        return _DEFAULT_SECONDS


def _look(application: Callable[[], Any]) -> NoReturn:
    """In the child. All is written at once, when it is whole."""
    offered = io.StringIO()
    try:
        with contextlib.redirect_stdout(offered), contextlib.suppress(SystemExit, Exception):
            application()
        with open(1, "wb") as pipe:
            pipe.write(offered.getvalue().encode("utf-8", "surrogateescape"))
    finally:
        os._exit(0)  # what the store holds open may wait for a cluster


def _read(answers: int, end: float) -> bytes:
    """All of an answer. b"": it is not whole in time."""
    told = b""
    while select.select([answers], [], [], max(0.0, end - time.monotonic()))[0]:
        if not (piece := os.read(answers, 1 << 16)):
            return told
        told += piece
    return b""


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
