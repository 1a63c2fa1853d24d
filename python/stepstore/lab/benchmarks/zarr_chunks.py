"""stepstore bench zarr: Zarr's chunks in a pool, next to zarr-python's own files."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stepstore.console import CommandError, ExitCode
from stepstore.lab.benchmarks import memory
from stepstore.lab.benchmarks.options import Parser
from stepstore.lab.benchmarks.report import Case, report

_MIB = 1 << 20
_DIRECT = ("write, direct calls", "read, direct calls")


def zarr_chunks(words: list[str]) -> None:
    """Write and read an array of chunks, and the chunks alone, next to LocalStore."""
    options = _options(words)
    if importlib.util.find_spec("zarr") is None:
        raise CommandError("this Python has no zarr: pip install 'zarr>=3.1.6'", ExitCode.NOT_FOUND)
    cases: list[Case] = []
    for size in options.sizes:
        chunks = min(options.chunks, options.total * _MIB // size)
        cases += _Setting(options, size, max(chunks, 1)).measure()
    report(cases, options.json, "LocalStore")


def _options(words: list[str]) -> argparse.Namespace:
    parser = Parser(
        "zarr",
        "Write and read a Zarr array without compression, whole, through stepstore.zarr.Store and through "
        "zarr-python's LocalStore in turn, in new directories on the same file system. The cases 'set' and "
        "'get' give the same chunks to the two stores without an array: so the time of zarr itself is not in "
        "them. 'Direct calls' are stepstore.zarr.direct_calls() next to LocalStore as it is. What is read is "
        "compared. Each store is first in every other round.",
    )
    parser.list("sizes", [4096, _MIB], "bytes of a chunk")
    parser.number("chunks", 10000, "chunks of an array, at most")
    parser.number("total", 512, "MiB of an array, at most: it has fewer chunks then", "MIB")
    options = parser.parse_args(words)
    if min(*options.sizes, options.chunks, options.total, options.rounds) < 1 or any(
        size % 8 for size in options.sizes
    ):
        parser.error("give at least 1 for chunks, total and rounds, and sizes that are multiples of 8")
    return options


class _Setting:
    """One size of chunks."""

    def __init__(self, options: argparse.Namespace, size: int, chunks: int):
        self._options, self._size, self._chunks = options, size, chunks
        self._small = size <= 64 << 10
        self._values = np.random.default_rng(1).integers(0, 1 << 40, size * chunks // 8)
        self._cases: dict[str, Case] = {}

    def measure(self) -> list[Case]:
        for turn in range(self._options.rounds):
            found = {}
            for ours in (True, False) if turn % 2 else (False, True):
                folder = tempfile.mkdtemp(prefix="stepstore-bench-", dir=self._options.directory)
                try:
                    found[ours] = dict(self._round(ours, Path(folder)))
                finally:
                    shutil.rmtree(folder)
            for what, value in found[True].items():
                self._case(what).add(value, found[False][what])
            nothing_but_zarr = _memory_store()
            for what, value in self._array(nothing_but_zarr, nothing_but_zarr):
                self._case(what).limit.append(value)
        return list(self._cases.values())

    def _case(self, what: str) -> Case:
        if what not in self._cases:
            name = f"{what}/{self._chunks} chunks of {self._size >> 10} KiB"
            goal = (1 / 3 if self._small else 1.0) if what in ("write", "read", *_DIRECT) else None
            self._cases[what] = Case(name, "us/chunk", goal=goal, more={"bytes": self._size})
        return self._cases[what]

    def _round(self, ours: bool, folder: Path) -> Iterator[tuple[str, float]]:
        from stepstore.zarr import direct_calls

        memory.settle(2 * self._values.nbytes)
        yield from self._array(_store(ours, folder / "array"), _store(ours, folder / "array"))
        if self._small:  # both through zarr's own pipeline above
            with direct_calls() if ours else contextlib.nullcontext():
                for what, value in self._array(
                    _store(ours, folder / "direct"), _store(ours, folder / "direct")
                ):
                    yield what + ", direct calls", value
        yield from asyncio.run(self._chunks_alone(_store(ours, folder / "chunks")))

    def _array(self, store: Any, again: Any) -> Iterator[tuple[str, float]]:
        import zarr

        array = zarr.create_array(
            store,
            shape=self._values.shape,
            chunks=(self._size // 8,),
            dtype=self._values.dtype,
            compressors=None,
            filters=None,
        )
        yield "write", self._each(lambda: array.__setitem__(slice(None), self._values))
        array = zarr.open_array(again, mode="r")
        found: list[Any] = []
        yield "read", self._each(lambda: found.append(array[:]))
        if not np.array_equal(found[0], self._values):
            raise CommandError(f"{store}: an array of {self._size} bytes a chunk reads as other values")

    async def _chunks_alone(self, store: Any) -> list[tuple[str, float]]:
        from zarr.core.buffer import cpu

        size = self._size // 8
        buffers = [
            cpu.Buffer.from_array_like(self._values[at * size : (at + 1) * size].view("u1"))
            for at in range(self._chunks)
        ]
        keys = [f"c/{at}" for at in range(self._chunks)]
        began = time.perf_counter()
        for at in range(0, self._chunks, _AT_ONCE):
            await asyncio.gather(*map(store.set, keys[at : at + _AT_ONCE], buffers[at : at + _AT_ONCE]))
        wrote = time.perf_counter()
        for at in range(0, self._chunks, _AT_ONCE):
            await asyncio.gather(*(store.get(key, cpu.buffer_prototype) for key in keys[at : at + _AT_ONCE]))
        read = time.perf_counter()
        listed = [key async for key in store.list_prefix("c")]
        ended = time.perf_counter()
        if sorted(listed) != sorted(keys):
            raise CommandError(f"{store}: its list of keys is not what was written")
        return [
            (what, seconds / self._chunks * 1e6)
            for what, seconds in (("set", wrote - began), ("get", read - wrote), ("list", ended - read))
        ]

    def _each(self, body: Callable[[], object]) -> float:
        """Microseconds of a chunk."""
        began = time.perf_counter()
        body()
        return (time.perf_counter() - began) / self._chunks * 1e6


def _memory_store() -> Any:
    from zarr.storage import MemoryStore

    return MemoryStore()


# As many calls at once as zarr makes (its setting async.concurrency).
_AT_ONCE = 10


def _store(ours: bool, folder: Path) -> Any:
    if ours:
        from stepstore.zarr import Store

        return Store(folder)
    from zarr.storage import LocalStore

    return LocalStore(folder)
