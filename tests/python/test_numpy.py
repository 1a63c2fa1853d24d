"""What goes in as an array of numpy comes out as the same values, or is refused by name: every door, dtype,
byte order and layout."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepstore
from stepstore.blobs import Blobs, open_blobs

SIMPLE = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", "c8", "c16", "G"]
DTYPES = [np.dtype(one) for one in [*SIMPLE, "S3", "U3", "M8[s]", "m8[ns]", "V4", "O"]]
DTYPES += [np.dtype([("a", ">i4"), ("b", "<f8")]), np.dtype([("a", "O")])]
DTYPES += [one.newbyteorder(">") for one in DTYPES if one.newbyteorder(">") != one]
# Of arrays.h: the same values come back, in the byte order of the machine.
KEPT_BY_ARRAYS = {np.dtype(one) for one in SIMPLE} - {np.dtype(one) for one in ("f2", "g", "G")}


def made(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Values that differ, with extremes, and zeros at the end of texts."""
    count = int(np.prod(shape))
    numbers = np.arange(count) - count // 2
    if dtype.hasobject:
        return np.full(shape, None, dtype)
    if dtype.names:
        values = np.zeros(count, dtype)
        for name in dtype.names:
            values[name] = numbers
    elif dtype.kind in "SU":
        values = np.array(["", "a", "bcd", "e\0f"] * count)[:count].astype(dtype)
    elif dtype.kind == "V":
        values = np.arange(count, dtype="u4").view(dtype)
    elif dtype.kind == "b":
        values = numbers % 3 == 0
    elif dtype.kind in "Mm":
        values = numbers.astype("i8").astype(dtype)
    elif dtype.kind in "iu":
        values = (numbers * 77).astype("i8").astype(dtype)
        values[-1:] = np.iinfo(dtype).min + 1
    else:
        values = (numbers / 3).astype(dtype)
        values[-2:] = [np.nan, -np.inf][: len(values[-2:])]
    return values.astype(dtype).reshape(shape)


def same(found: Any, wanted: Any) -> bool:
    """Long doubles have bytes between them that mean nothing."""
    if wanted.dtype.kind in "fc":
        return found.dtype == wanted.dtype and np.array_equal(found, wanted, equal_nan=True)
    return found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


def read_only(values: Any) -> Any:
    values.flags.writeable = False
    return values


LAYOUTS: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "one dimension": lambda dtype: made(dtype, (12,)),
    "three dimensions": lambda dtype: made(dtype, (2, 3, 4)),
    "Fortran's order": lambda dtype: np.asfortranarray(made(dtype, (3, 4))),
    "falling": lambda dtype: made(dtype, (12,))[::-1],
    "falling in two": lambda dtype: made(dtype, (3, 4))[::-1, ::-1],
    "every third": lambda dtype: made(dtype, (12,))[1::3],
    "a column": lambda dtype: made(dtype, (3, 4))[:, 2],
    "one value many times": lambda dtype: np.broadcast_to(made(dtype, (4,)), (3, 4)),
    "one element": lambda dtype: made(dtype, (1,)),
    "no dimension": lambda dtype: made(dtype, (12,))[3:4].reshape(()),
    "a scalar": lambda dtype: made(dtype, (12,))[3],
    "no elements": lambda dtype: made(dtype, (0,)),
    "no rows": lambda dtype: made(dtype, (0, 3)),
    "no columns": lambda dtype: made(dtype, (3, 0)),
    "read-only": lambda dtype: read_only(made(dtype, (12,))),
    "not masked": lambda dtype: np.ma.masked_array(made(dtype, (12,)), mask=False),
    "masked": lambda dtype: np.ma.masked_array(made(dtype, (12,)), mask=np.arange(12) == 5),
    "odd address": lambda dtype: np.frombuffer(b"x" + made(dtype, (12,)).tobytes(), np.uint8, offset=1).view(
        dtype
    ),
}


class Doors:
    """Each stores values, and gives what is read back. `number` makes names of its own."""

    def __init__(self, pool: stepstore.Pool) -> None:
        self.location = pool.location
        self.box = pool.create_container("doors")
        self.values = self.box.key_value(1)
        self.blobs: Blobs = open_blobs(pool.location, "doors")
        self.arrays = stepstore.open_arrays(f"{pool.location}/arrays", write=True)
        self.arrays.write("of attributes", np.zeros(1))
        self.number = itertools.count(10)

    # ---- bytes: the elements one after the other
    @staticmethod
    def same_kind(raw: Any, given: Any) -> Any:
        shape = np.shape(given)
        return np.frombuffer(bytes(raw), np.uint8).view(given.dtype).reshape(shape)

    def put(self, given: Any) -> Any:
        self.values.put("put", given)
        return self.same_kind(self.values["put"], given)

    def put_many(self, given: Any) -> Any:
        self.values.update({"many": given})
        return self.same_kind(self.values["many"], given)

    def exchange(self, given: Any) -> Any:
        self.values.exchange("exchanged", given)
        return self.same_kind(self.values["exchanged"], given)

    def awaited(self, given: Any) -> Any:
        async def through() -> Any:
            await self.values.aput("awaited", given)
            return await self.values.aget("awaited")

        return self.same_kind(asyncio.run(through()), given)

    def blob(self, given: Any) -> Any:
        self.blobs.write("whole", given)
        return self.same_kind(self.blobs.read("whole"), given)

    def blob_in_pieces(self, given: Any) -> Any:
        with self.blobs.writer("pieces") as writer:
            writer.write(b"before")
            writer.write(given)
        read = self.blobs.read("pieces")
        assert read is not None and bytes(read[:6]) == b"before"
        return self.same_kind(read[6:], given)

    def cells(self, given: Any) -> Any:
        array = self.box.create_array(next(self.number))
        array.write(0, given)
        return self.same_kind(array.read(), given)

    # ---- cells with a dtype
    def typed(self, given: Any) -> Any:
        array = self.box.create_array(next(self.number), dtype=given.dtype)
        array.write(0, given)
        return array.read(dtype=given.dtype).reshape(np.shape(given))

    def assigned(self, given: Any) -> Any:
        count = given.size
        array = self.box.create_array(next(self.number), dtype=given.dtype, size=count)
        array[:] = given if np.ndim(given) < 2 else given.reshape(-1)
        return array[:].reshape(np.shape(given))

    def into_memory(self, given: Any) -> Any:
        array = self.box.create_array(next(self.number), dtype=given.dtype)
        array.write(0, given)
        return array.read(0, out=np.empty(np.shape(given), given.dtype))

    # ---- arrays of parallel programs
    def whole(self, given: Any) -> Any:
        self.arrays.write("whole", given)
        return self.arrays.read("whole")

    def appended(self, given: Any) -> Any:
        name = f"appended {next(self.number)}"
        self.arrays.write(name, given[:1], append=0)
        self.arrays.write(name, given[1:], append=0)
        out = np.empty(given.shape, given.dtype.newbyteorder("="))
        assert self.arrays.read(name, out=out) is out
        return out

    def attribute(self, given: Any) -> Any:
        self.arrays.set_attribute("of attributes", "it", given)
        return self.arrays.attributes("of attributes")["it"]


RAW = ["put", "put_many", "exchange", "awaited", "blob", "blob_in_pieces", "cells"]
TYPED = ["typed", "assigned", "into_memory"]
OF_ARRAYS = ["whole", "appended", "attribute"]


def is_kept(door: str, layout: str, given: Any) -> bool:
    """What has to come back. All else has to be refused."""
    if given.dtype.hasobject or layout == "masked":
        return False
    if door in RAW + TYPED:
        return True
    if given.dtype.newbyteorder("=") not in KEPT_BY_ARRAYS and given.dtype.kind != "S":
        return False
    if door == "attribute":
        return np.ndim(given) < 2 and not (given.dtype.kind == "S" and given.size == 0)
    return np.ndim(given) > 0


def expected(door: str, given: Any) -> Any:
    if door in OF_ARRAYS:
        given = np.asarray(given).astype(given.dtype.newbyteorder("="))
    if door == "attribute" and given.size == 1:
        given = given.reshape(-1)[0]
        return given.decode() if given.dtype.kind == "S" else given
    return given


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Doors:
    location = tmp_path_factory.mktemp("doors") / "p"
    stepstore.Pool.create(location, targets=1)
    return Doors(stepstore.Pool.connect(location))


@pytest.mark.parametrize("door", RAW + TYPED + OF_ARRAYS)
def test_values_come_back_or_are_refused_by_name(doors: Doors, door: str) -> None:
    through = getattr(doors, door)
    for dtype, (layout, make) in itertools.product(DTYPES, LAYOUTS.items()):
        if dtype.hasobject and layout in ("odd address", "a scalar", "no dimension"):
            continue  # there are no such arrays
        if dtype.kind in "SU" and layout == "a scalar":
            continue  # a text, or bytes
        given = make(dtype)
        what = (door, dtype, layout)
        if door == "appended" and np.ndim(given) == 0:
            continue
        if is_kept(door, layout, given):
            found, wanted = through(given), expected(door, given)
            assert np.shape(found) == np.shape(wanted), what
            if isinstance(wanted, str):
                assert found == wanted, what
            else:
                assert same(found, wanted), (*what, found)
            continue
        with pytest.raises(stepstore.Error) as refused:
            through(given)
            pytest.fail(f"{what} is neither kept nor refused")
        assert refused.value.name == "DER_INVAL", what
        told = str(refused.value)
        assert str(given.dtype) in told or "dimension" in told or "no texts" in told, (*what, told)
        assert any(word in told for word in ("astype", "filled", "ravel", "dimension", "leave it")), told


def test_elements_of_another_dtype_are_not_taken_for_those_of_an_array(box: stepstore.Container) -> None:
    array = box.create_array(1, dtype="f8")
    array.write(0, np.arange(3.0))
    for wrong in (np.arange(3), np.arange(3, dtype=">f8"), np.arange(6, dtype="f4")):
        for call in (
            lambda wrong=wrong: array.write(0, wrong),
            lambda wrong=wrong: array.read(0, out=wrong.copy()),
            lambda wrong=wrong: asyncio.run(array.awrite(0, wrong)),
            lambda wrong=wrong: asyncio.run(array.aread(0, out=wrong.copy())),
        ):
            with pytest.raises(stepstore.Error, match=f"{wrong.dtype}.* float64.*view"):
                call()
    assert array[:].tolist() == [0, 1, 2]
    array[:] = np.arange(5, 8, dtype=">i2")  # is converted
    assert array[:].tolist() == [5, 6, 7]
    array.write(0, np.arange(3.0).view("u1"))  # bytes
    array.write(2, np.float64(9).tobytes())
    assert array[:].tolist() == [0, 1, 9]


def test_masks_are_told_of(doors: Doors) -> None:
    masked = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    for call in (
        lambda: doors.values.put("k", masked),
        lambda: doors.values.put("k", np.ma.masked),
        lambda: doors.arrays.write("m", masked),
        lambda: doors.arrays.set_attribute("", "m", masked),
        lambda: doors.blobs.write("m", masked),
    ):
        with pytest.raises(stepstore.Error, match=r"1 of \d elements are masked .*filled"):
            call()
    doors.arrays.write("m", np.zeros(3))
    with pytest.raises(stepstore.Error, match="masked array.*data"):
        doors.arrays.read("m", out=np.ma.masked_array(np.zeros(3), mask=[0, 1, 0]))


def test_attributes_that_are_texts_keep_their_zeros(doors: Doors) -> None:
    for text in ("", "a", "a\0", "a\0b", "\0", np.str_("é"), np.bytes_(b"ab"), np.bytes_(b"")):
        doors.arrays.set_attribute("", "text", text)
        wanted = text.decode() if isinstance(text, bytes) else text
        assert doors.arrays.attributes()["text"] == wanted


def test_zarr_keeps_what_it_keeps_in_memory(doors: Doors) -> None:
    zarr = pytest.importorskip("zarr")
    from stepstore.zarr import Store

    def through(store: Any, given: Any) -> Any:
        try:
            zarr.create_array(store, name="x", data=np.asarray(given), overwrite=True)
            return zarr.open_array(store, path="x", mode="r")[...]
        except (TypeError, ValueError) as refused:
            return type(refused)

    ours = Store(f"{doors.location}/zarr")
    for dtype, layout in itertools.product(
        DTYPES, ("three dimensions", "Fortran's order", "falling", "one value many times", "no rows")
    ):
        if dtype.hasobject or dtype.names or dtype.kind in "VGgUS":
            continue  # zarr warns that it has no specification for them
        given = LAYOUTS[layout](dtype)
        found, wanted = through(ours, given), through(zarr.storage.MemoryStore(), given)
        if isinstance(wanted, type):
            assert found is wanted, (dtype, layout)
        else:
            assert same(found, wanted), (dtype, layout)
