"""The Python API: what the command line does not show."""

import pickle
import threading

import numpy as np
import pytest
import stepstore


@pytest.fixture
def box(pool):
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as container:
        yield container


def test_a_key_value_is_a_mapping(box):
    values = box.key_value(50)
    assert len(values) == 0 and "a" not in values
    values["a"] = b"1"
    values["umlaut ä"] = "text"
    values[b"\xff"] = np.arange(3, dtype=np.uint8)
    assert values["a"] == b"1" and values["umlaut ä"] == b"text" and values[b"\xff"] == b"\0\1\2"
    assert list(values) == ["a", "umlaut ä", b"\xff".decode("utf-8", "surrogateescape")]
    assert values[list(values)[2]] == b"\0\1\2"  # what iteration gives finds the key again
    assert values.get("none") is None and values.get("none", b"d") == b"d"
    with pytest.raises(KeyError):
        values["none"]
    del values["a"]
    with pytest.raises(KeyError):
        del values["a"]
    with pytest.raises(TypeError):
        values[3] = b"x"
    values.destroy()
    assert len(box.key_value(50)) == 0


def test_conditions(box):
    values = box.key_value(51)
    values.put("k", b"1", condition="must_not_exist")
    with pytest.raises(stepstore.Error) as caught:
        values.put("k", b"2", condition="must_not_exist")
    assert caught.value.name == "DER_EXIST" and caught.value.code == -1004
    with pytest.raises(stepstore.Error) as caught:
        values.put("absent", b"2", condition="must_exist")
    assert caught.value.name == "DER_NONEXIST"
    with pytest.raises(stepstore.Error, match="must_exist"):
        values.put("k", b"2", condition="sometimes")
    assert values["k"] == b"1"


def test_arrays_of_numpy_values(box):
    array = box.create_array(60, cell_size=8, chunk_size=100)
    data = np.random.default_rng(1).random(1000)
    array.write(5, data)
    array.write(2000, data[::2])  # not contiguous
    assert len(array) == 2500
    assert np.array_equal(array.read(5, 1000, dtype=np.float64), data)
    assert np.array_equal(array.read(2000, dtype=np.float64), data[::2])
    assert not array.read(1500, 100, dtype=np.float64).any()
    assert array.read(2499, 10) == data[998:999].tobytes()
    array.punch(5, 10)
    assert not array.read(5, 10, dtype=np.float64).any()
    array.resize(20)
    assert len(array) == 20
    assert array.read(19, 5, dtype=np.float64)[0] == data[14]
    with pytest.raises(stepstore.Error) as caught:
        array.write(0, b"123")
    assert caught.value.name.startswith("DER_")
    with pytest.raises(stepstore.Error, match="no whole number"):
        array.read(0, 1, dtype=np.dtype("V3"))
    array.destroy()
    with pytest.raises(stepstore.Error) as caught:
        box.open_array(60)
    assert caught.value.name == "DER_NONEXIST"


def test_an_array_that_does_not_keep_its_sizes(box):
    oid = box.object_id(62, kind="array_bytes")
    with box.open_array(oid, chunk_size=64) as array:
        array.write(100, b"abc")
    with box.open_array(oid, chunk_size=64, read_only=True) as array:
        assert array.read(99, 4) == b"\0abc"
        assert (len(array), array.chunk_size) == (103, 64)


def test_bad_attributes_are_refused(box):
    for wrong in ({"cell_size": 0}, {"chunk_size": 0}):
        with pytest.raises(stepstore.Error) as caught:
            box.create_array(61, **wrong)
        assert caught.value.name == "DER_INVAL"
    box.create_array(61).close()
    with pytest.raises(stepstore.Error) as caught:
        box.create_array(61)
    assert caught.value.name == "DER_EXIST"


def test_a_closed_handle_says_so(box):
    values = box.key_value(1)
    values.close()
    assert values.closed
    with pytest.raises(stepstore.Error) as caught:
        values["plain"]
    assert caught.value.name == "DER_NO_HDL"
    values.close()


def test_snapshots_and_read_only(box, pool):
    epoch = box.create_snapshot("s")
    box.key_value(1)["plain"] = b"later"
    old = box.at_snapshot("s")
    assert old.key_value(1)["plain"] == b"hello"
    assert box.at_snapshot(epoch).key_value(1)["plain"] == b"hello"
    with pytest.raises(stepstore.Error):
        old.key_value(1)["plain"] = b"no"
    with stepstore.Pool.connect(pool, read_only=True) as opened:
        with opened.open_container("box", read_only=True) as again, pytest.raises(stepstore.Error) as caught:
            again.key_value(1)["plain"] = b"no"
    assert caught.value.name == "DER_NO_PERM"
    assert box.key_value(1)["plain"] == b"later"


def test_object_ids(box):
    number = box.allocate_oids(10)
    assert box.allocate_oids(1) >= number + 10
    full = box.object_id(number, kind="array", object_class="SX")
    assert full.lo == number and str(full) == f"{full.hi}.{full.lo}"
    assert full == stepstore.ObjectId(full.hi, full.lo) and hash(full) == hash(stepstore.ObjectId(full.hi, full.lo))
    with pytest.raises(stepstore.Error):
        box.object_id(1, object_class="nonsense")
    with pytest.raises(stepstore.Error):
        box.object_id(1, kind="nonsense")


def test_errors_survive_pickling():
    error = stepstore.Error(-1005, "nothing there")
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, str(again), again.name) == (-1005, "nothing there", "DER_NONEXIST")


def test_threads_share_a_handle_and_run_at_once(box):
    values = box.key_value(70)
    errors = []

    def work(number):
        try:
            for i in range(100):
                values[f"{number}-{i}"] = b"x" * i
                assert values[f"{number}-{i}"] == b"x" * i
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(values) == 400


def test_containers_by_whoever_comes_first(pool):
    with stepstore.Pool.connect(pool) as opened:
        opened.open_or_create_container("shared").close()
        opened.open_or_create_container("shared").close()
        assert opened.containers() == ["box", "shared"]
        opened.sync()
        opened.destroy_container("shared")
        assert opened.containers() == ["box"]


def test_a_pool_that_is_not_there(tmp_path):
    with pytest.raises(stepstore.Error) as caught:
        stepstore.Pool.connect(tmp_path / "none")
    assert caught.value.name == "DER_NONEXIST" and "none" in str(caught.value)
