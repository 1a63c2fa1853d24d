"""Handles that are pickled: the process that gets one opens the same, wherever it runs."""

from __future__ import annotations

import concurrent.futures
import copy
import functools
import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepstore
from stepstore import _core, blobs
from stepstore.blobs import Blobs, open_blobs
from stepstore.handles import Handle, StoredObject


def look(handle: Any) -> Any:
    """What one sees through a handle."""
    match handle:
        case stepstore.Pool():
            return handle.containers()
        case stepstore.Container():
            return handle.label, dict(handle.key_value(1))
        case stepstore.KeyValue():
            return dict(handle)
        case stepstore.Array():
            return handle.dtype, bytes(handle.read())
        case stepstore.Arrays():
            return handle.names(), handle.read("T").tolist()
        case stepstore.Steps():
            return len(handle), handle["x"].tolist()
        case stepstore.FileSystem():
            return [(entry.name, entry.status) for entry in handle.entries()]
        case Blobs():
            return handle.keys(), handle.read("name")
    raise AssertionError(type(handle))


HANDLES: dict[str, Callable[[stepstore.Pool, stepstore.Container, str], Any]] = {
    "pool": lambda pool, box, place: pool,
    "container": lambda pool, box, place: box,
    "snapshot": lambda pool, box, place: box.at_snapshot("before"),
    "key-value": lambda pool, box, place: box.key_value(1),
    "key-value at a snapshot": lambda pool, box, place: box.at_snapshot("before").key_value(1),
    "array": lambda pool, box, place: box.open_array(2, dtype="f8"),
    "view": lambda pool, box, place: box.open_array(2).view("i8"),
    "bytes": lambda pool, box, place: box.open_array(
        box.object_id(3, kind="array_bytes"), cell_size=4, chunk_size=8, dtype="f4"
    ),
    "arrays": lambda pool, box, place: stepstore.open_arrays(f"{place}/arrays"),
    "steps": lambda pool, box, place: stepstore.open_steps(f"{place}/box/run"),
    "file system": lambda pool, box, place: stepstore.open_file_system(f"{place}/files"),
    "blobs": lambda pool, box, place: open_blobs(place, "box"),
    "blobs at a snapshot": lambda pool, box, place: open_blobs(place, "box", snapshot="before"),
}
# What has no location, and is pickled as it is.
PLAIN = {
    stepstore.ArrayInfo,
    stepstore.Attribute,
    stepstore.Block,
    stepstore.Error,
    stepstore.Field,
    stepstore.FileStatus,
    stepstore.ObjectId,
    stepstore.Snapshot,
    stepstore.StepStatus,
    stepstore.Structure,
    stepstore.Variable,
    blobs.BlobInfo,
    blobs.LargeError,
    blobs.Place,
}
REFUSED = {stepstore.Writer, stepstore.WriterStep, blobs.BlobWriter}


@pytest.fixture
def filled(pool: stepstore.Pool, box: stepstore.Container) -> Iterator[tuple[Any, Any, str]]:
    values = box.key_value(1)
    values["k"] = b"old"
    open_blobs(pool.location, "box").write("name", b"old")
    box.create_snapshot("before")
    values["k"] = b"new"
    open_blobs(pool.location, "box").write("name", b"new")
    box.create_array(2, dtype="f8", size=4).write(0, np.arange(4.0))
    box.create_array(box.object_id(3, kind="array_bytes"), cell_size=4, chunk_size=8).write(
        0, np.arange(4, dtype="f4")
    )
    with stepstore.open_arrays(f"{pool.location}/arrays", write=True) as arrays:
        arrays.write("T", np.arange(3.0))
    with stepstore.Writer(f"{pool.location}/box/run") as writer, writer.step() as step:
        step["x"] = np.arange(5)
    _core.create_file_system(pool.location, "files")
    stepstore.open_file_system(f"{pool.location}/files").mkdir("d")
    yield pool, box, pool.location


@pytest.mark.parametrize("name", HANDLES)
def test_a_handle_is_the_same_after_pickling(filled, name):
    handle = HANDLES[name](*filled)
    expected = look(handle)
    for again in (pickle.loads(pickle.dumps(handle)), copy.copy(handle), copy.deepcopy(handle)):
        assert look(again) == expected
        if isinstance(again, Handle):
            again.close()
    assert look(handle) == expected


def with_multiprocessing(start: str, handles: list[Any]) -> Any:
    with multiprocessing.get_context(start).Pool(2) as others:
        return others.map(look, handles, chunksize=3)


def with_futures(handles: list[Any]) -> Any:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as others:
        return list(others.map(look, handles))


def with_dask(handles: list[Any]) -> Any:
    dask = pytest.importorskip("dask")
    tasks = [dask.delayed(look)(one) for one in handles]
    return list(dask.compute(*tasks, scheduler="processes", num_workers=2))


def with_joblib(handles: list[Any]) -> Any:
    joblib = pytest.importorskip("joblib")
    return joblib.Parallel(2)(joblib.delayed(look)(one) for one in handles)


@pytest.mark.parametrize(
    "run",
    [
        functools.partial(with_multiprocessing, "spawn"),
        functools.partial(with_multiprocessing, "fork"),
        with_futures,
        with_dask,
        with_joblib,
    ],
    ids=["spawn", "fork", "futures", "dask", "joblib"],
)
def test_another_process_gets_them(filled, run):
    handles = [make(*filled) for make in HANDLES.values()]
    expected = [look(one) for one in handles]
    assert run(handles) == expected


def test_rights_and_closed_ones(filled):
    pool, box, place = filled
    with stepstore.Pool.connect(place, read_only=True) as readers:
        container = pickle.loads(pickle.dumps(readers.open_container("box", read_only=True)))
        with pytest.raises(stepstore.Error) as refused:
            container.key_value(1)["k"] = b"no"
        assert refused.value.name == "DER_NO_PERM"
    values = pickle.loads(pickle.dumps(box.key_value(1, read_only=True)))
    with pytest.raises(stepstore.Error):
        values["k"] = b"no"
    for make in HANDLES.values():
        handle = make(pool, box, place)
        if handle not in (pool, box) and not isinstance(handle, Blobs):
            handle.close()
            with pytest.raises(stepstore.Error):
                pickle.dumps(handle)
    with stepstore.open_steps(f"{place}/box/run", stream=True) as walk, pytest.raises(TypeError):
        pickle.dumps(walk)
    with (
        stepstore.Writer(f"{place}/box/other") as writer,
        writer.step() as step,
        open_blobs(place, "box").writer("other") as other,
    ):
        assert {type(one) for one in (writer, step, other)} == REFUSED
        for one in (writer, step, other):
            with pytest.raises(TypeError, match="cannot be pickled: .* "):
                pickle.dumps(one)
    then = box.at_snapshot("before")
    pickled = pickle.dumps(then)
    box.destroy_snapshot("before")
    with pytest.raises(stepstore.Error, match="no snapshot"):
        pickle.loads(pickled)


def test_a_relative_location_is_the_same_in_another_directory(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stepstore.Pool.create("near", targets=4)
    with stepstore.Pool.connect("near") as pool, pool.create_container("box"):
        pickled = pickle.dumps(pool)
        os.mkdir("below")
        monkeypatch.chdir("below")
        assert pickle.loads(pickled).containers() == ["box"]


def test_every_kind_of_handle_is_in_the_table(filled):
    def kinds(one: type) -> set[type]:
        return {one, *(found for below in one.__subclasses__() for found in kinds(below))}

    known = {type(make(*filled)) for make in HANDLES.values()} | {Handle, StoredObject}
    assert {one for one in kinds(Handle) if one.__module__.startswith("stepstore.")} <= known


def test_every_public_class_is_pickled_or_refused_or_plain(filled):
    public = {
        one
        for module in (stepstore, blobs)
        for name in module.__all__
        if isinstance(one := getattr(module, name), type)
    }
    assert public == {type(make(*filled)) for make in HANDLES.values()} | PLAIN | REFUSED
