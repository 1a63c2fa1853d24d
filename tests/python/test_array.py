"""Array objects as users of numpy and h5py expect them."""

from __future__ import annotations

import numpy as np
import pytest
import stepstore


@pytest.fixture
def array(box):
    made = box.create_array(1, dtype="f8", size=100)
    made.write(0, np.arange(100.0))
    return made


WHOLE = np.arange(100.0)


def test_what_it_says_of_itself(box, array):
    assert (array.shape, array.ndim, array.nbytes, array.cell_size) == ((100,), 1, 800, 8)
    assert array.dtype == np.float64 and len(array) == 100
    assert box.open_array(1).dtype == np.dtype("V8") and box.create_array(2).dtype == np.uint8
    assert box.open_array(1, dtype="i8").dtype == np.int64


@pytest.mark.parametrize(
    "key",
    [
        slice(3, 7),
        slice(None),
        ...,
        (),
        slice(-5, None),
        slice(90, 200),
        slice(200, 300),
        slice(7, 3),
        slice(2, 50, 7),
        slice(None, None, -1),
        slice(50, 2, -7),
        (slice(1, 4),),
        slice(None, None, 1000),
    ],
)
def test_slices(array, key):
    got = array[key]
    assert isinstance(got, np.ndarray) and got.dtype == np.float64
    assert np.array_equal(got, WHOLE[key])


def test_elements(array):
    assert array[5] == 5 and array[-1] == 99 and array[np.int64(7)] == 7 and array[(3,)] == 3
    for wrong in (100, -101):
        with pytest.raises(IndexError, match=f"100 cells, and no cell {wrong}"):
            array[wrong]
    for wrong, name in (
        ([1, 2], "list"),
        ("a", "str"),
        (1.5, "float"),
        ((1, 2), "tuple"),
        (np.arange(3), "ndarray"),
    ):
        with pytest.raises(TypeError, match=f"not {name}"):
            array[wrong]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (slice(3, 7), [1, 2, 3, 4]),
        (slice(None), 7),
        (..., WHOLE[::-1]),
        (5, 1.5),
        (-1, 2),
        (slice(10, 20, 3), [1, 2, 3, 4]),
        (slice(20, 10, -3), [1, 2, 3, 4]),
        (slice(0, 0), 5),
        (slice(0, 0), []),
        (slice(None, None, -1), WHOLE),
        (slice(98, 200), [8, 9]),
        (slice(0, 4), np.arange(8, dtype="i4")[::2]),
    ],
)
def test_assignments(array, key, value):
    expected = WHOLE.copy()
    array[key] = value
    expected[key] = value
    assert np.array_equal(array[:], expected)


def test_assignments_that_do_not_fit(array):
    for key, value in (
        (slice(0, 3), [1, 2]),
        (slice(90, 110), np.zeros(20)),
        (5, [1, 2]),
        (slice(0, 4), np.zeros((2, 2))),
    ):
        with pytest.raises(
            ValueError, match=r"array .* of 100 cells: \d+ cells are assigned values of shape"
        ):
            array[key] = value
    with pytest.raises(IndexError):
        array[100] = 1
    assert np.array_equal(array[:], WHOLE)


def test_it_becomes_an_array_of_numpy(array):
    assert np.array_equal(np.asarray(array), WHOLE)
    assert np.asarray(array, dtype="i4").dtype == np.int32
    assert np.array_equal(np.sqrt(array), np.sqrt(WHOLE)) and np.max(array) == 99
    assert np.array_equal(list(array), WHOLE)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="makes a copy"):
            np.asarray(array, copy=False)


def test_reading_into_memory_of_the_caller(array):
    room = np.full((2, 5), -1.0)
    assert array.read(10, out=room) is room and np.array_equal(
        room, [[10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]
    )
    part = np.zeros(10)
    array.read(98, out=part[2:6])
    assert np.array_equal(part, [0, 0, 98, 99, 0, 0, 0, 0, 0, 0])
    raw = bytearray(16)
    array.read(1, out=raw)
    assert np.array_equal(np.frombuffer(raw), [1, 2])
    with pytest.raises(TypeError, match="leave count"):
        array.read(0, 5, out=room)
    with pytest.raises(stepstore.Error, match="not contiguous"):
        array.read(0, out=room[:, ::2])
    with pytest.raises(stepstore.Error, match="whole number of cells"):
        array.read(0, out=bytearray(9))


def test_views_of_another_type(array):
    numbers = array.view("i8")
    assert np.array_equal(numbers[:], WHOLE.view("i8"))
    numbers[0] = 1
    assert array[0] == np.int64(1).view("f8")
    record = array.view([("a", "i4"), ("b", "f4")])
    record[3] = (1, 2.5)
    assert record[3]["a"] == 1 and record[3]["b"] == 2.5
    for wrong in ("f4", "V9"):
        with pytest.raises(stepstore.Error, match="must be the same") as caught:
            array.view(wrong)
        assert caught.value.name == "DER_INVAL"
    with pytest.raises(stepstore.Error, match="Python objects"):
        array.view(object)
    complex_ = array.view("M8[s]")
    assert complex_[1:2].dtype == np.dtype("M8[s]")


@pytest.mark.parametrize("wrong", [5, None, [1.0, 2.0], object()])
def test_what_has_no_memory_is_refused_by_name(array, wrong):
    with pytest.raises(TypeError, match=rf"buffer protocol .*, not {type(wrong).__name__}$"):
        array.write(0, wrong)
    with pytest.raises(TypeError, match=rf"buffer protocol .*, not {type(wrong).__name__}$"):
        array.read_into(0, wrong)
    assert np.array_equal(array[:], WHOLE)


def test_an_array_that_is_refused_is_not_made(box):
    with pytest.raises(stepstore.Error, match="must be the same"):
        box.create_array(1, dtype="f8", cell_size=4)
    with pytest.raises(stepstore.Error, match="Python objects"):
        box.create_array(1, dtype=object)
    box.create_array(1, dtype="f8", cell_size=8).close()
