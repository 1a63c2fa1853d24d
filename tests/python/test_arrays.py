"""Arrays of C and Fortran programs in Python: stepstore.open_arrays, and the same with xarray."""

import ctypes
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import stepstore


@pytest.fixture
def where(tmp_path):
    return str(tmp_path / "p")


@pytest.fixture
def arrays(where):
    with stepstore.open_arrays(where, write=True) as opened:
        yield opened


def refused(name, words, call):
    with pytest.raises(stepstore.Error, match=words) as caught:
        call()
    assert caught.value.name == name


DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16", "?", "S5"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_comes_back(arrays, dtype):
    data = (np.arange(24) % 2 if dtype == "?" else np.arange(24)).astype(dtype).reshape(2, 3, 4)
    arrays.write("x", data)
    found = arrays.read("x")
    assert found.dtype == data.dtype and np.array_equal(found, data)
    assert np.array_equal(arrays.read("x", (1, 0, 2), (1, -1, 2)), data[1:, :, 2:])


def test_what_there_is(arrays, where):
    assert list(arrays) == []
    arrays.write("b/T", np.zeros((6, 8)), object_class="S1", chunk_size=4096, checksum=True)
    arrays.write("a", np.arange(3))
    assert arrays.names() == list(arrays) == ["a", "b/T"] and "a" in arrays and "c" not in arrays
    info = arrays.info("b/T")
    assert (info.name, info.dtype, info.shape) == ("b/T", np.float64, (6, 8))
    assert (info.object_class, info.chunk_size, info.checksum) == ("S1", 4096, True)
    assert info.grows_along is None and not info.column_major
    assert arrays.blocks("b/T") == [((0, 0), (6, 8))]
    assert arrays.location == f"{where}/default"
    arrays.remove("a")
    assert arrays.names() == ["b/T"]


def test_memory_of_the_caller_and_any_memory_order(arrays):
    data = np.arange(60.0).reshape(5, 12)
    arrays.write("x", data[:, ::3])
    into = np.empty((5, 4))
    assert arrays.read("x", out=into) is into and np.array_equal(into, data[:, ::3])
    arrays.write("x", np.asfortranarray(data))
    arrays.write("y", data.astype(">f8"))
    assert np.array_equal(arrays.read("x"), data) and np.array_equal(arrays.read("y"), data)
    refused("DER_INVAL", "out is float32 of shape", lambda: arrays.read("x", out=np.empty((5, 12), "f4")))


def test_tables_begin_empty_and_grow(arrays, where):
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4)):
        arrays.write("x", np.zeros(shape, "i2"))
        assert arrays.info("x").shape == shape and arrays.blocks("x") == []
        found = arrays.read("x")
        assert found.shape == shape and found.dtype == np.int16
        assert arrays.read("x", [0] * len(shape), [-1] * len(shape)).shape == shape
    refused("DER_INVAL", "'x'", lambda: arrays.read("x", [0, 0, 1], [1, 1, 1]))
    for rows in (0, 2, 0, 1):
        arrays.write("t", np.full((rows, 3), rows), append=0)
    assert arrays.read("t").tolist() == [[2] * 3, [2] * 3, [1] * 3]
    arrays.write("s", np.zeros((0, 3)))
    arrays.write("s", np.ones((1, 3)), append=0)
    assert arrays.read("s").tolist() == [[1] * 3]
    refused("DER_MISMATCH", "dimension 1", lambda: arrays.write("s", np.zeros((0, 4)), append=0))


def test_a_read_is_of_one_version_also_when_the_shape_changes(arrays, where):
    """Each version is full of its own number, and has a shape and a dtype of its own."""
    program = """
        import sys, numpy as np, stepstore
        with stepstore.open_arrays(sys.argv[1], write=True) as arrays:
            for n in range(400):
                arrays.write("x", np.full([(200,), (300,), (20, 10), (7,)][n % 4], n, ["i4", "i8"][n % 2]))
            arrays.write("end", np.zeros(1))
    """
    arrays.write("x", np.zeros(7, "i8"))
    writer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), where])
    out = np.empty(200, "i4")
    with stepstore.open_arrays(where) as reader:
        while "end" not in reader:
            found = reader.read("x")
            number = int(found.flat[0])
            assert (found == number).all()
            if number:
                assert found.shape == [(200,), (300,), (20, 10), (7,)][number % 4], number
                assert found.dtype == ["i4", "i8"][number % 2]
            try:
                assert (reader.read("x", out=out) == out[0]).all() and out[0] % 4 == 0
            except stepstore.Error as error:
                assert error.name == "DER_INVAL" and "out is int32 of shape (200,)" in str(error)
    assert writer.wait() == 0


def test_a_replaced_array_is_the_new_one_and_appending_grows_it(arrays, where):
    with stepstore.open_arrays(where) as reader:
        arrays.write("x", np.arange(6).reshape(2, 3))
        first = reader.info("x")
        arrays.write("x", np.arange(4.0))
        second = reader.info("x")
        assert second.shape == (4,) and second.version > first.version
        assert second.generation != first.generation
        arrays.write("t", np.zeros((1, 3)), append=0)
        arrays.write("t", np.ones((2, 3)), append=-2)
        assert reader.info("t").grows_along == 0
        assert reader.read("t").tolist() == [[0] * 3, [1] * 3, [1] * 3]
        refused("DER_MISMATCH", "'t'", lambda: arrays.write("t", np.zeros((1, 4)), append=0))


def test_attributes(arrays):
    arrays.write("x", np.arange(3))
    values = {
        "units": "K",
        "none": "",
        "scale": np.float64(0.5),
        "levels": np.array([1, 2, 3]),
        "on": np.True_,
    }
    for name, value in values.items():
        arrays.set_attribute("x", name, value)
    arrays.set_attribute("", "title", "ünder")
    found = arrays.attributes("x")
    assert found.keys() == values.keys() and found["levels"].tolist() == [1, 2, 3]
    assert all(found[name] == values[name] for name in ("units", "none", "scale", "on"))
    assert arrays.attributes() == {"title": "ünder"}
    arrays.remove_attribute("x", "units")
    assert "units" not in arrays.attributes("x")
    refused("DER_NONEXIST", "units", lambda: arrays.remove_attribute("x", "units"))


def test_bad_input_is_named(arrays, where, tmp_path):
    arrays.write("x", np.zeros((2, 3)))
    refused("DER_NONEXIST", "'y'", lambda: arrays.read("y"))
    refused("DER_INVAL", "2 dimensions .* has 1 and 2", lambda: arrays.read("x", start=[0]))
    refused("DER_INVAL", "'x'", lambda: arrays.read("x", start=[0, 2], count=[1, 2]))
    refused("DER_INVAL", "'x'.*float32 of shape", lambda: arrays.read("x", out=np.zeros((2, 3), "f4")))
    refused("DER_INVAL", "'x': .* not contiguous", lambda: arrays.read("x", out=np.zeros((3, 2)).T))
    sealed = np.zeros((2, 3))
    sealed.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        arrays.read("x", out=sealed)
    refused(
        "DER_MISMATCH", "'x'.*float32|real32", lambda: arrays.write("x", np.zeros((1, 3), "f4"), append=0)
    )
    refused("DER_MISMATCH", "dimension 1", lambda: arrays.write("x", np.zeros((1, 4)), append=0))
    refused("DER_INVAL", "elements of object cannot", lambda: arrays.write("z", np.array([object()])))
    refused("DER_INVAL", "no dimension", lambda: arrays.write("z", 3.0))
    refused("DER_INVAL", "dimensions", lambda: arrays.write("z", np.zeros((1,) * 8)))
    refused("DER_NONEXIST", "none", lambda: stepstore.open_arrays(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    with stepstore.open_arrays(where) as reader:
        refused("DER_NO_PERM", "write", lambda: reader.write("x", np.zeros(1)))
    refused("DER_NO_HDL", "closed", lambda: reader.names())
    assert arrays.names() == ["x"]


@pytest.mark.skipif(not os.environ.get("STEPSTORE_TEST_C_LIBRARY"), reason="needs the C interface")
def test_a_column_major_array_of_c_is_turned(where):
    class Options(ctypes.Structure):
        _fields_ = [
            *((name, ctypes.c_uint32) for name in ("order", "targets", "power", "unverified")),
            *((name, ctypes.c_uint64) for name in ("transfer_size", "snapshot")),
            ("timeout", ctypes.c_double),
            ("reserved", ctypes.c_uint64 * 4),
        ]

    library = ctypes.CDLL(os.environ["STEPSTORE_TEST_C_LIBRARY"])
    store = ctypes.c_uint64()
    options = Options(order=1)
    assert (
        library.stepstore_arrays_open(where.encode(), 1, None, ctypes.byref(options), ctypes.byref(store))
        == 0
    )
    three = ctypes.c_int64 * 2
    shape, start = three(3, 2), three(0, 0)
    data = np.arange(6, dtype=np.int32)  # column (1:3, 1), then (1:3, 2)
    flags = np.array([0, 7], dtype=np.int32)
    write = library.stepstore_write_array
    write.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int, *[ctypes.c_void_p] * 7]
    assert write(store, b"x", 3, 2, shape, start, shape, data.ctypes.data, None, None, None) == 0
    one, zero = (ctypes.c_int64 * 1)(2), (ctypes.c_int64 * 1)(0)
    assert write(store, b"flags", 18, 1, one, zero, one, flags.ctypes.data, None, None, None) == 0
    flags = flags.astype(np.int8)
    assert write(store, b"small flags", 17, 1, one, zero, one, flags.ctypes.data, None, None, None) == 0
    none = (ctypes.c_int64 * 1)(0)
    assert write(store, b"empty", 3, 1, none, zero, none, None, None, None, None) == 0
    assert library.stepstore_arrays_close(ctypes.byref(store)) == 0
    with stepstore.open_arrays(where) as arrays:
        assert arrays.read("empty").shape == (0,)
        assert arrays.info("x").column_major and arrays.read("x").tolist() == [[0, 1, 2], [3, 4, 5]]
        assert arrays.read("flags").tolist() == [False, True]  # logical(4)
        out = np.empty(2, bool)
        assert arrays.read("flags", out=out) is out and out.tolist() == [False, True]
        assert arrays.read("small flags").view("u1").tolist() == [0, 1]  # logical(1)
        assert arrays.read("small flags", out=out).view("u1").tolist() == [0, 1]
    xr = pytest.importorskip("xarray")
    with stepstore.open_arrays(where, write=True) as arrays:
        arrays.set_attribute("x", "dimensions", "row column")
    assert xr.open_dataset(where, engine="stepstore").x.dims == ("column", "row")


# ---- xarray
def test_arrays_are_a_dataset(arrays, where):
    xr = pytest.importorskip("xarray")
    pytest.importorskip("dask")
    from stepstore.xarray_backend.lazy import hull

    arrays.write("T", np.arange(48.0).reshape(6, 8))
    arrays.write("T", np.arange(48.0, 96.0).reshape(6, 8), append=0)
    arrays.set_attribute("T", "units", "K")
    arrays.set_attribute("T", "dimensions", "y x")
    arrays.write("x", np.arange(8) * 10)
    arrays.write("other", np.zeros(3, "S2"))
    arrays.set_attribute("", "title", "a run")
    found = xr.open_dataset(where, engine="stepstore", dims={"other": ["place"]})
    assert (
        found.T.dims == ("y", "x") and found.T.attrs == {"units": "K"} and found.attrs == {"title": "a run"}
    )
    assert found.sel(x=30).T.values.tolist() == list(range(3, 96, 8)) and found.other.dims == ("place",)
    assert found.T[::-4, [7, 0]].values.tolist() == [[95, 88], [63, 56], [31, 24]]
    nowhere = xr.open_dataset(where, engine="stepstore", drop_variables="other", cache=False).T
    loaded = nowhere.values
    for outside in (12, [0, 12], -13, [-13, 5]):
        with pytest.raises(IndexError, match="out of bounds for a dimension with size 12"):
            hull(outside, 12)
        with pytest.raises(IndexError, match="out of bounds for a dimension with size 12"):
            nowhere.isel(y=outside).load()
    for inside in (11, -12, -1, [0, -12, 11], [], slice(5, 40), slice(-40, 2)):
        assert np.array_equal(nowhere.isel(y=inside).values, loaded[inside])
    chunked = xr.open_dataset(where, engine="stepstore", chunks={}, drop_variables="other")
    assert chunked.T.chunks == ((6, 6), (8,)) and "other" not in chunked
    for scheduler in ("threads", "processes"):
        assert chunked.T.sum().compute(scheduler=scheduler) == 4560
    alone = xr.open_dataset(f"{where}/default/T", engine="stepstore")
    assert list(alone.variables) == ["T"] and pickle.loads(pickle.dumps(alone)).T[0, 1] == 1
    with pytest.raises(stepstore.Error, match="none"):
        xr.open_dataset(f"{where}/default/none", engine="stepstore")
    with pytest.raises(ValueError, match="T has 2 dimensions"):
        xr.open_dataset(where, engine="stepstore", dims={"T": ["t"]})


def test_what_is_appended_is_not_in_the_dataset_and_what_is_replaced_is_refused(arrays, where):
    xr = pytest.importorskip("xarray")
    arrays.write("t", np.zeros((1, 3)), append=0)
    found = xr.open_dataset(where, engine="stepstore", cache=False)
    arrays.write("t", np.ones((1, 3)), append=0)
    assert found.t.values.tolist() == [[0.0] * 3]
    arrays.write("t", np.ones((1, 3)))
    refused("DER_STALE", "replaced the array 't'", lambda: found.t.values)
