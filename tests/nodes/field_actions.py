"""What a machine does with fields, Zarr arrays and files of fsspec in test_fields.py. A worker runs these."""

from __future__ import annotations

from typing import Any

import fsspec
import numpy as np
import stepstore
import zarr
from stepstore.blobs.filesystem import StepstoreFileSystem
from stepstore.fdb5 import load_fdb
from stepstore.zarr import Store

DATASET = {"class": "rd", "expver": "xxxx", "stream": "oper", "date": "20260101", "time": "0000"}
INDEX = {**DATASET, "type": "fc", "levtype": "pl"}
opened: dict[str, Any] = {}


def make(pool: str) -> None:
    stepstore.Pool.create(pool)


# ---- fields, through FDB


def fdb(pool: str, schema: str) -> Any:
    if pool not in opened:
        kind = {"type": "local", "engine": "stepstore", "store": "stepstore"}
        opened[pool] = load_fdb()({**kind, "schema": schema, "stepstore": {"pool": pool}})
    return opened[pool]


def identifier(step: int) -> dict[str, str]:
    return {**INDEX, "step": str(step), "levelist": "500", "param": "130"}


def content(who: str, step: int) -> bytes:
    return f"{who} wrote {step}. ".encode() * 40


def archive(pool: str, schema: str, who: str, flushes: list[list[int]]) -> None:
    """Archives fields of these steps, one flush after the other."""
    archive_of = fdb(pool, schema)
    for steps in flushes:
        for step in steps:
            archive_of.archive(content(who, step), identifier(step))
        archive_of.flush()


def who_wrote(pool: str, schema: str, steps: list[int]) -> list[str]:
    """Of each field; it must be whole."""
    found = []
    for step in steps:
        with fdb(pool, schema).retrieve(identifier(step)) as handle:
            data = handle.read()
        who = data.split(b" ")[0].decode()
        assert data == content(who, step), f"step {step} is {data[:60]!r}"
        found.append(who)
    return found


def listed(pool: str, schema: str, masked: bool) -> list[tuple[int, str]]:
    """The fields in the order of the listing: steps and where they are. `masked`: replaced ones too."""
    elements = fdb(pool, schema).list(DATASET, include_masked=masked)
    return [(int(one.combined_key()["step"]), str(one.uri)) for one in elements]


# ---- Zarr


def make_array(pool: str, chunks: int, size: int) -> None:
    """Both machines may: the second one opens it."""
    store = Store(f"{pool}/box/cube")
    zarr.create_array(store, shape=(chunks * size,), chunks=(size,), dtype="i8", fill_value=-1)


def write_chunks(pool: str, size: int, chunks: list[int], value: int) -> None:
    array = zarr.open_array(Store(f"{pool}/box/cube"), mode="r+")
    for chunk in chunks:
        array[chunk * size : (chunk + 1) * size] = value


def chunk_values(pool: str, size: int) -> list[list[int]]:
    """Of each chunk the values that are in it."""
    read = np.asarray(zarr.open_array(Store(f"{pool}/box/cube"), mode="r")[:])
    return [np.unique(part).tolist() for part in read.reshape(-1, size)]


# ---- fsspec


def file_system() -> Any:
    fsspec.register_implementation("stepstore", StepstoreFileSystem, clobber=True)
    return fsspec.filesystem("stepstore")


def append(path: str, who: str, lines: int) -> None:
    for line in range(lines):
        with file_system().open(path, "ab") as file:
            file.write(f"{who} {line}\n".encode())


def lines_of(path: str) -> list[str]:
    return list(file_system().cat_file(path).decode().splitlines())
