"""A stream, read by boxes and through xarray, gives what numpy and xarray give of the same values in memory.
Every type, extents of zero, every kind of index, and those that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepstore

adios2 = pytest.importorskip("adios2")
xr = pytest.importorskip("xarray")

STEPS = 3
SHAPES = {"plain": (6, 5), "line": (7,), "cube": (2, 3, 4), "no rows": (0, 5), "no columns": (6, 0)}
TYPES = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "c8", "c16"]
ROUNDS = 60  # keys for each variable


def made(code: str, shape: tuple[int, ...], step: int) -> Any:
    """Values that differ, with the extremes of their type."""
    dtype = np.dtype(code)
    numbers = np.arange(int(np.prod(shape)), dtype="f8") * 7 - 40 * (dtype.kind != "u") + step
    values = (numbers + (1j * numbers if dtype.kind == "c" else 0)).astype(dtype)
    if dtype.kind in "iu":
        values[:1], values[-1:] = np.iinfo(dtype).min, np.iinfo(dtype).max
    else:
        values[:1], values[-1:] = np.nan, -np.inf
    return values.reshape(shape)


def name_of(code: str, shape: str) -> str:
    return f"{code} {shape}"


@pytest.fixture(scope="module")
def location(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("numpy") / "p"
    io = adios2.Adios().declare_io("out")
    io.set_engine("Stepstore")
    with adios2.Stream(io, str(where), "w") as stream:
        for step in stream.steps(STEPS):
            for code in TYPES:
                for shape, extents in SHAPES.items():
                    values = made(code, extents, step.current_step())
                    # Two blocks where there are two rows.
                    middle = extents[0] // 2
                    for first, last in ((0, middle), (middle, extents[0])) if middle else ((0, extents[0]),):
                        part = np.ascontiguousarray(values[first:last])
                        start = [first, *[0] * (len(extents) - 1)]
                        stream.write(name_of(code, shape), part, list(extents), start, list(part.shape))
    return where


@pytest.fixture(scope="module")
def steps(location: Path) -> Iterator[stepstore.Steps]:
    with stepstore.open_steps(location) as opened:
        yield opened


def same(found: Any, wanted: Any) -> bool:
    return found.dtype == wanted.dtype and np.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc")


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes(steps: stepstore.Steps, shape: str) -> None:
    extents = SHAPES[shape]
    random = np.random.default_rng(1)
    for code in TYPES:
        for _ in range(ROUNDS):
            step = int(random.integers(STEPS))
            start = [int(random.integers(extent + 1)) for extent in extents]
            count = [int(random.integers(extent - s + 1)) for s, extent in zip(start, extents, strict=True)]
            given = [-1 if random.random() < 0.2 else one for one in count]
            box = tuple(
                slice(s, extent if g == -1 else s + g)
                for s, g, extent in zip(start, given, extents, strict=True)
            )
            found = steps.read(name_of(code, shape), step, start=start, count=given)
            assert same(found, made(code, extents, step)[box]), (code, step, start, given)


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes_that_are_not_inside(steps: stepstore.Steps, shape: str) -> None:
    extents = SHAPES[shape]
    for axis, extent in enumerate(extents):
        for start, count in (
            (-1, 1),
            (0, extent + 1),
            (extent + 1, 0),
            (extent, 1),
            (0, -2),
            (extent + 1, -1),
        ):
            starts, counts = [0] * len(extents), [0] * len(extents)
            starts[axis], counts[axis] = start, count
            with pytest.raises(stepstore.Error, match="not inside"):
                steps.read(name_of("f8", shape), 0, start=starts, count=counts)


def random_key(random: np.random.Generator, extent: int) -> Any:
    """Of one dimension; one in a few is beyond its end."""
    kind = random.integers(6)
    beyond = extent + 2 * int(random.random() < 0.1)
    if kind == 0:
        return int(random.integers(-beyond, beyond)) if beyond else 0
    if kind == 1:
        return random.integers(-beyond, beyond, size=random.integers(5)) if beyond else np.empty(0, int)
    if kind == 2:
        return random.random(extent) < 0.5
    ends = [None, *range(-extent - 2, extent + 3)]
    while True:
        begin, end = (ends[random.integers(len(ends))] for _ in range(2))
        key = slice(begin, end, [None, 1, 2, 3, -1, -2, -3][random.integers(7)])
        # xarray itself fails on a falling slice of nothing, before it asks for anything.
        if extent == 0 or key.step is None or key.step > 0 or len(range(extent)[key]):
            return key if extent else slice(None)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_index_of_xarray(location: Path, shape: str) -> None:
    random = np.random.default_rng(2)
    refused = 0
    with xr.open_dataset(location, engine="stepstore") as dataset:
        for code in TYPES:
            stored = dataset[name_of(code, shape)]
            extents = (STEPS, *SHAPES[shape])
            assert stored.shape == extents
            values = np.stack([made(code, SHAPES[shape], step) for step in range(STEPS)])
            memory = xr.DataArray(values, dims=stored.dims)
            for _ in range(ROUNDS):
                key = {
                    dimension: random_key(random, extent)
                    for dimension, extent in zip(stored.dims, extents, strict=True)
                    if random.random() < 0.7
                }
                try:
                    wanted = memory.isel(key).values
                except IndexError:
                    refused += 1
                    with pytest.raises(IndexError):
                        stored.isel(key).load()
                        pytest.fail(f"{code} {extents} {key} is not refused")
                    continue
                if wanted.size == 0 and any(
                    np.any((np.asarray(one) < -extent) | (np.asarray(one) >= extent))
                    for dimension, extent in zip(stored.dims, extents, strict=True)
                    if not isinstance(one := key.get(dimension, 0), slice) and np.asarray(one).dtype != bool
                ):
                    continue  # numpy looks at no index where nothing is selected; ours may
                found = stored.isel(key).values
                assert found.shape == wanted.shape and same(found, wanted), (code, key)
    assert refused > 0
