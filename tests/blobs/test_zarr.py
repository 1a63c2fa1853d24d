"""stepstore.zarr.Store: zarr-python's own tests of a store, and programs that use Zarr."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

zarr = pytest.importorskip("zarr")
from zarr.core.buffer import Buffer, cpu  # noqa: E402
from zarr.testing.store import StoreTests  # noqa: E402

import stepstore  # noqa: E402
from stepstore.blobs import open_blobs  # noqa: E402
from stepstore.errors import DER_CSUM, DER_INVAL, Error  # noqa: E402
from stepstore.zarr import Store, direct_calls  # noqa: E402

from objects_of_blobs import destroy_array_of  # noqa: E402


class TestStore(StoreTests[Store, cpu.Buffer]):
    """Through blobs below the store, as the tests demand."""

    store_cls = Store
    buffer_cls = cpu.Buffer

    async def set(self, store: Store, key: str, value: Buffer) -> None:
        open_blobs(self.pool, "box").write("at/" + key, value.to_bytes())

    async def get(self, store: Store, key: str) -> Buffer:
        return cpu.Buffer.from_bytes(bytes(open_blobs(self.pool, "box").read("at/" + key)))

    @pytest.fixture
    def store_kwargs(self, pool: str) -> dict[str, Any]:
        type(self).pool = pool
        open_blobs(pool, "box").write("neighbour", b"of another store")
        return {"location": pool + "/box/at"}

    def test_store_repr(self, store: Store) -> None:
        assert repr(store) == f"stepstore.zarr.Store('stepstore://{self.pool}/box/at')"

    def test_store_supports_writes(self, store: Store) -> None:
        assert store.supports_writes and store.supports_deletes

    def test_store_supports_listing(self, store: Store) -> None:
        assert store.supports_listing


@pytest.fixture
def store(pool: str) -> Store:
    return Store(pool)


def test_the_store_makes_its_pool_and_one_to_read_does_not(tmp_path: Path) -> None:
    where = tmp_path / "new.pool"
    with pytest.raises(FileNotFoundError, match="new.pool"):
        zarr.open(Store(where, read_only=True), mode="r")
    assert not where.exists()
    zarr.create_array(Store(where), shape=(4,), dtype="i4")[:] = 7
    with stepstore.Pool.connect(where) as pool:
        assert pool.containers() == ["default"]
    assert zarr.open(Store(where, read_only=True), mode="r")[:].tolist() == [7] * 4


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("shards", [None, (100, 100)])
def test_arrays_come_back(store: Store, zarr_format: int, shards: Any) -> None:
    if shards and zarr_format == 2:
        pytest.skip("version 2 has no shards")
    values = np.random.default_rng(1).normal(size=(300, 200))
    group = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    array = group.create_array("u", shape=values.shape, chunks=(50, 50), shards=shards, dtype="f8")
    array[:] = values
    array.attrs["units"] = "m s-1"
    array[10:20, 30:170] = values[10:20, 30:170] = 1.5
    found = zarr.open_group(Store(store.location, read_only=True), mode="r")
    assert list(found.array_keys()) == ["u"] and found["u"].attrs["units"] == "m s-1"
    assert np.array_equal(found["u"][:], values)
    assert np.array_equal(found["u"][11, 100:150], values[11, 100:150])
    with pytest.raises(ValueError, match="read-only"):
        found["u"][0] = 0


CODECS = {
    "none": {"compressors": None},
    "zstd": {"compressors": zarr.codecs.ZstdCodec()},
    "all": {
        "filters": [zarr.codecs.TransposeCodec(order=(1, 0))],
        "serializer": zarr.codecs.BytesCodec(endian="big"),
        "compressors": [zarr.codecs.GzipCodec(), zarr.codecs.Crc32cCodec()],
    },
}


@pytest.mark.parametrize("codecs", CODECS)
def test_direct_calls_make_the_same_array(pool: str, codecs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    went = _ways(monkeypatch)
    values = np.random.default_rng(4).integers(0, 9, (103, 57)).astype("i4")
    values[20:40, 20:40] = 0  # chunks that are empty
    arrays = []
    for direct in (False, True):
        with direct_calls() if direct else contextlib.nullcontext():
            array = zarr.create_array(
                Store(f"{pool}/box/{direct}"),
                shape=values.shape,
                chunks=(10, 20),
                dtype="i4",
                **CODECS[codecs],
            )
        array[:] = values
        array[5:25, 7] = 3  # parts of chunks
        array[20:40, 20:40] = 0
        array[100, 50:] = np.arange(7)
        arrays.append(array)
    ours = open_blobs(pool, "box")
    assert {key.partition("/")[2] for key in ours.keys("True/")} == {
        key.partition("/")[2] for key in ours.keys("False/")
    }
    for key in ours.keys("True/"):
        if key.endswith("zarr.json") or codecs != "all":  # gzip writes when it compressed
            assert ours.read(key) == ours.read(key.replace("True", "False"))
    for selection in (np.s_[:], np.s_[3:47, 11], np.s_[-1], np.s_[::7, ::3], np.s_[50, 50]):
        assert np.array_equal(arrays[1][selection], arrays[0][selection])
    assert went and all(went)
    assert np.array_equal(zarr.open_array(Store(f"{pool}/box/True"), mode="r")[:], arrays[0][:])


def test_direct_calls_leave_the_rest_to_zarr(pool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    went = _ways(monkeypatch)
    values = np.arange(40_000.0).reshape(200, 200)
    with direct_calls():
        for store in (Store(pool + "/box/a"), zarr.storage.MemoryStore()):
            for more in ({"shards": (100, 100), "chunks": (10, 10)}, {"chunks": (100, 200)}):
                if not isinstance(store, Store):
                    more["chunks"] = (10, 10)
                array = zarr.create_array(store, shape=(200, 200), dtype="f8", overwrite=True, **more)
                array[:] = values
                assert np.array_equal(array[:], values)
        array = zarr.create_array(Store(pool + "/box/b"), shape=(9,), dtype="i4", zarr_format=2)
        array[:] = 7
        assert array[:].tolist() == [7] * 9
    assert len(went) > 2 and not any(
        went[:-2]
    )  # the last one depends: zarr 3.4 has direct calls for format 2


def _ways(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Gets whether each transfer goes directly."""
    from stepstore.blobs.zarr_pipeline import Pipeline

    went: list[bool] = []
    original = Pipeline._goes_directly

    def look(self: Any, chunks: Any) -> bool:
        went.append(original(self, chunks))
        return went[-1]

    monkeypatch.setattr(Pipeline, "_goes_directly", look)
    return went


def test_groups_are_deleted_and_consolidated(store: Store) -> None:
    root = zarr.open_group(store, mode="w")
    for name in ("a", "b"):
        root.create_group(name).create_array("x", shape=(3,), dtype="i8")[:] = [1, 2, 3]
    del root["a"]
    assert sorted(root.group_keys()) == ["b"]
    zarr.consolidate_metadata(store)
    assert zarr.open_consolidated(store)["b/x"][:].tolist() == [1, 2, 3]


def test_the_store_is_sent_to_other_processes(store: Store) -> None:
    array = zarr.create_array(store, name="x", shape=(8, 20_000), chunks=(1, 20_000), dtype="f8")
    with ProcessPoolExecutor(2) as workers:
        sums = list(workers.map(_fill, [(array, row) for row in range(8)]))
    assert sums == [row * 20_000 for row in range(8)]
    assert array[:].sum() == sum(sums)
    again = pickle.loads(pickle.dumps(Store(store.location, read_only=True)))
    assert again.read_only and again == store


def _fill(job: tuple[Any, int]) -> float:
    array, row = job
    array[row] = row
    return float(array[row].sum())


def test_a_snapshot_is_a_store(pool: str) -> None:
    array = zarr.create_array(Store(pool + "/box"), shape=(100_000,), chunks=(50_000,), dtype="f8")
    array[:] = 1
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        box.create_snapshot("then")
    array[:] = 2
    then = Store(pool + "/box", snapshot="then")
    assert zarr.open_array(then, mode="r")[:].sum() == 100_000
    assert then.read_only and then != Store(pool + "/box") and "then" in repr(then)
    with pytest.raises(ValueError, match="snapshot cannot be written"):
        then.with_read_only(False)
    with pytest.raises(FileNotFoundError, match="has no snapshot"):
        zarr.open_array(Store(pool + "/box", snapshot="never"), mode="r")


def test_bad_input_is_named(store: Store) -> None:
    with pytest.raises(TypeError, match="zarr Buffer, not bytes"):
        asyncio.run(store.set("k", b"bytes"))
    with pytest.raises(Error, match="zero byte") as caught:
        asyncio.run(store.set("a\0b", cpu.Buffer.from_bytes(b"x")))
    assert caught.value.code == DER_INVAL
    with pytest.raises(FileNotFoundError, match="none"):
        asyncio.run(store.getsize("none"))


def test_a_damaged_chunk_is_an_error(store: Store, pool: str) -> None:
    array = zarr.create_array(store, shape=(100_000,), chunks=(50_000,), dtype="f8", compressors=None)
    array[:] = 1
    blobs = open_blobs(pool, "default")
    destroy_array_of(blobs, "c/1")
    assert array[:50_000].sum() == 50_000
    with pytest.raises(Error) as caught:
        array[:]
    assert caught.value.code == DER_CSUM


def test_xarray(store: Store) -> None:
    xarray = pytest.importorskip("xarray")
    written = xarray.Dataset(
        {"t": (("time", "x"), np.arange(2000.0).reshape(20, 100), {"units": "K"})},
        {"time": np.arange(20), "x": np.linspace(0, 1, 100)},
        {"title": "a run"},
    )
    written.to_zarr(store, mode="w")
    xarray.testing.assert_identical(xarray.open_zarr(Store(store.location, read_only=True)).load(), written)
    written.isel(time=slice(0, 5)).assign_coords(time=np.arange(20, 25)).to_zarr(store, append_dim="time")
    assert xarray.open_zarr(store).sizes["time"] == 25


def test_anndata(store: Store) -> None:
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(np.random.default_rng(2).normal(size=(50, 30)).astype("f4"))
    cells.obs["kind"] = ["a", "b"] * 25
    cells.layers["raw"] = cells.X * 2
    cells.write_zarr(store)
    found = anndata.read_zarr(Store(store.location, read_only=True))
    assert np.array_equal(found.X, cells.X) and np.array_equal(found.layers["raw"], cells.X * 2)
    assert found.obs["kind"].tolist() == ["a", "b"] * 25


def test_a_url_of_the_filesystem_is_a_store(pool: str) -> None:
    fsspec = pytest.importorskip("fsspec")
    # The entry point of the installed package, in a build tree that is not installed.
    fsspec.register_implementation(
        "stepstore", "stepstore.blobs.filesystem.StepstoreFileSystem", clobber=True
    )
    array = zarr.create_array(f"stepstore://{pool}/box/u.zarr", shape=(1000,), chunks=(100,), dtype="i4")
    array[:] = np.arange(1000)
    assert np.array_equal(zarr.open_array(Store(pool + "/box/u.zarr"), mode="r")[:], np.arange(1000))
