"""The Python API: what the command line does not show."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import stepstore
from stepstore import _core
from streams import write_stream


@pytest.fixture
def pool(tmp_path):
    """The path of a pool with the container `box`, which has one value."""
    path = tmp_path / "p"
    stepstore.Pool.create(path, targets=8)
    with stepstore.Pool.connect(path) as opened, opened.create_container("box") as container:
        container.key_value(1)["plain"] = b"hello"
    return path


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
    assert sorted(values) == ["a", "umlaut ä", b"\xff".decode("utf-8", "surrogateescape")]
    assert values[sorted(values)[2]] == b"\0\1\2"  # what iteration gives finds the key again
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
    with pytest.raises(stepstore.Error, match="not a whole number"):
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


def test_names_with_a_zero_byte_are_refused(box, pool, tmp_path):
    """C and DAOS end a text there: the name before it would be taken."""
    with stepstore.Pool.connect(pool) as opened:
        refused = [
            lambda: opened.create_container("a\0b"),
            lambda: opened.open_or_create_container("a\0b"),
            lambda: opened.open_container("box\0b"),
            lambda: opened.destroy_container("box\0b"),
            lambda: stepstore.Pool.connect(f"{pool}\0b"),
            lambda: stepstore.Pool.create(f"{tmp_path}/new\0b"),
            lambda: stepstore.Pool.create(tmp_path / "new", label="a\0b"),
            lambda: stepstore.Pool.destroy(f"{pool}\0b"),
            lambda: box.create_snapshot("a\0b"),
            lambda: box.object_id(1, object_class="S1\0b"),
            lambda: box.key_value(1).put("plain\0b", b""),
            lambda: box.key_value(1).get("plain\0b"),
            lambda: box.key_value(1).read_into(b"plain\0b", bytearray(9)),
            lambda: box.key_value(1).remove("plain\0b"),
            lambda: stepstore.open_steps(f"{pool}/box\0b/s"),
            lambda: stepstore.open_steps(f"{pool}/box/s\0b"),
            lambda: _core.container_objects(str(pool), "box\0b"),
            lambda: _core.container_objects(f"{pool}\0b", "box"),
            lambda: _core.pool_check(f"{pool}\0b", True, False, print),
            lambda: _core.pool_describe(f"{pool}\0b"),
            lambda: _core.pool_path(f"{pool}\0b"),
            lambda: _core.pool_list(f"{tmp_path}\0b"),
        ]
        for number, call in enumerate(refused):
            with pytest.raises(stepstore.Error, match="zero byte") as caught:
                call()
            assert caught.value.name == "DER_INVAL", number
        assert opened.containers() == ["box"] and not (tmp_path / "new").exists()
        assert box.snapshots() == [] and box.key_value(1)["plain"] == b"hello"


def test_python_objects_are_no_values(box):
    """Their memory holds addresses, which mean nothing to who reads them."""
    values, array = box.key_value(52), box.create_array(64)
    objects = np.array([object(), None])
    record = np.zeros(2, dtype=[("number", np.int32), ("what", object)])
    for wrong in (objects, record, memoryview(objects), np.array([[1, 2], ["a", 3]], dtype=object)):
        for call in (
            lambda wrong=wrong: values.put("k", wrong),
            lambda wrong=wrong: array.write(0, wrong),
            lambda wrong=wrong: values.read_into("k", wrong),
            lambda wrong=wrong: array.read_into(0, wrong),
        ):
            with pytest.raises(stepstore.Error, match="Python objects") as caught:
                call()
            assert caught.value.name == "DER_INVAL"
    assert len(values) == 0 and array.size == 0
    array.write(0, bytes(16))
    with pytest.raises(stepstore.Error, match="Python objects"):
        array.read(dtype=object)
    values["plain"] = np.zeros(2, dtype=[("Of", np.int32), ("when", "M8[s]")])
    values["view"] = memoryview(np.zeros(2, dtype=[("Of", np.int32)]))
    assert values.size("plain") == 24 and values.size("view") == 8
    values["scalar"] = np.datetime64(0, "s")
    assert values["scalar"] == bytes(8)


def test_an_array_of_more_cells_than_len_can_say(box):
    array = box.create_array(65, chunk_size=1 << 40)
    assert not array
    array.resize(5)
    assert array and array.size == len(array) == 5
    array.resize(1 << 63)
    assert array.size == 1 << 63
    with pytest.raises(OverflowError, match=r"9223372036854775808 cells.*\.size"):
        len(array)
    with pytest.raises(stepstore.Error, match="read fewer"):
        array.read()
    assert array.read((1 << 63) - 4, 10) == bytes(4)
    assert array


def test_memory_of_the_caller(box):
    values, array = box.key_value(53), box.create_array(66, cell_size=8)
    values["k"] = b"0123456789"
    room = bytearray(12)
    assert values.read_into("k", room) == 10 and room == b"0123456789\0\0"
    small = bytearray(b"....")
    assert values.read_into("k", small) == 10 and small == b"...."
    assert values.read_into("none", room) is None
    array.write(0, np.arange(10.0))
    into = np.full((2, 3), -1.0)
    assert array.read_into(2, into) == 0 and np.array_equal(into, [[2, 3, 4], [5, 6, 7]])
    assert array.read_into(7, into) == 3 and np.array_equal(into, [[7, 8, 9], [0, 0, 0]])
    with pytest.raises(stepstore.Error, match="contiguous"):
        array.read_into(0, into.T)
    for reader in (lambda: array.read_into(0, bytes(8)), lambda: values.read_into("k", b"......")):
        with pytest.raises((BufferError, ValueError)):
            reader()


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer's allocator keeps what is freed")
@pytest.mark.parametrize("kind", ["put", "get", "array_write", "array_read", "array_read_dtype"])
def test_large_values_are_not_copied(box, pool, kind):
    """The peak of a process's memory: of a put nothing beyond the value, of a get the value once."""
    size = 256 << 20
    data = np.arange(size // 8, dtype=np.uint64)
    box.key_value(71)["large"] = data
    box.create_array(72).write(0, data)
    del data
    program = (
        "import re, sys, numpy as np, stepstore\n"
        "pool, kind, size = sys.argv[1], sys.argv[2], int(sys.argv[3])\n"
        "def memory(what):\n"
        "    return int(re.search(what + r':\\s+(\\d+) kB', open('/proc/self/status').read())[1]) << 10\n"
        "with stepstore.Pool.connect(pool) as opened, opened.open_container('box') as box:\n"
        "    values, array = box.key_value(71), box.open_array(72)\n"
        "    values['small'] = b'x'\n"
        "    data = np.arange(size // 8, dtype=np.uint64) if kind in ('put', 'array_write') else None\n"
        "    before = memory('VmRSS')\n"
        "    if kind == 'put': values['large'] = data\n"
        "    if kind == 'get': assert values['large'][-8:] == (size // 8 - 1).to_bytes(8, 'little')\n"
        "    if kind == 'array_write': array.write(0, data)\n"
        "    if kind == 'array_read': assert array.read()[-8:] == (size // 8 - 1).to_bytes(8, 'little')\n"
        "    if kind == 'array_read_dtype': assert array.read(dtype=np.uint64)[-1] == size // 8 - 1\n"
        "    print(memory('VmHWM') - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, pool, kind, str(size)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    grown = int(done.stdout)
    spare = 32 << 20
    assert grown < (spare if kind in ("put", "array_write") else size + spare), f"{grown >> 20} MiB"


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
    assert full == stepstore.ObjectId(full.hi, full.lo) and hash(full) == hash(
        stepstore.ObjectId(full.hi, full.lo)
    )
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


def test_a_stream_shows_itself(tmp_path):
    stream = write_stream(tmp_path)
    with stepstore.open_steps(stream) as steps:
        assert repr(steps) == f"<stepstore.Steps {steps.location!r}, {len(steps)} steps>"
        html = steps._repr_html_()
        assert steps.location in html and f">{len(steps)}<" in html
        variables = steps.variables()
        assert variables and all(
            f">{name}<" in html and one.summary in html for name, one in variables.items()
        )
        name, variable = next(iter(variables.items()))
        assert f">{name}<" in variable._repr_html_() and "stepstore.Variable" in variable._repr_html_()
    assert repr(steps) == "<closed stepstore.Steps>" and "closed" in steps._repr_html_()
    with stepstore.open_steps(stream, stream=True) as walk:
        assert walk.location in walk._repr_html_()  # before the first step
