"""Handles that are pickled: the process that gets one opens the same, wherever it runs."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepstore
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
}


@pytest.fixture
def filled(pool: stepstore.Pool, box: stepstore.Container) -> Iterator[tuple[Any, Any, str]]:
    values = box.key_value(1)
    values["k"] = b"old"
    box.create_snapshot("before")
    values["k"] = b"new"
    box.create_array(2, dtype="f8", size=4).write(0, np.arange(4.0))
    box.create_array(box.object_id(3, kind="array_bytes"), cell_size=4, chunk_size=8).write(
        0, np.arange(4, dtype="f4")
    )
    with stepstore.open_arrays(f"{pool.location}/arrays", write=True) as arrays:
        arrays.write("T", np.arange(3.0))
    with stepstore.Writer(f"{pool.location}/box/run") as writer, writer.step() as step:
        step["x"] = np.arange(5)
    yield pool, box, pool.location


@pytest.mark.parametrize("name", HANDLES)
def test_a_handle_is_the_same_after_pickling(filled, name):
    handle = HANDLES[name](*filled)
    expected = look(handle)
    for again in (pickle.loads(pickle.dumps(handle)), copy.copy(handle), copy.deepcopy(handle)):
        assert look(again) == expected
        again.close()
    assert look(handle) == expected


def test_another_process_gets_them(filled):
    handles = [make(*filled) for make in HANDLES.values()]
    expected = [look(one) for one in handles]
    with multiprocessing.get_context("spawn").Pool(2) as others:
        assert others.map(look, handles, chunksize=3) == expected


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
        if handle not in (pool, box):
            handle.close()
            with pytest.raises(stepstore.Error):
                pickle.dumps(handle)
    with stepstore.open_steps(f"{place}/box/run", stream=True) as walk, pytest.raises(TypeError):
        pickle.dumps(walk)
    with stepstore.Writer(f"{place}/box/other") as writer, pytest.raises(TypeError):
        pickle.dumps(writer)
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
