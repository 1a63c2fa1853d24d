"""Key-values as mutable mappings."""

from __future__ import annotations

import collections.abc
import itertools
import threading

import numpy as np
import pytest
import stepstore


@pytest.fixture
def values(box):
    return box.key_value(1)


def test_it_is_a_mutable_mapping(values):
    assert isinstance(values, collections.abc.MutableMapping)
    assert not values and len(values) == 0
    values.update({"a": b"1", b"b": "two"}, c=np.arange(2, dtype="u1"))
    values.update([("d", bytearray(b"4")), (b"\xff", memoryview(b"five")[::-1])])
    assert values and len(values) == 5
    assert dict(values) == {"a": b"1", "b": b"two", "c": b"\0\1", "d": b"4", "\udcff": b"evif"}
    assert dict(values.items()) == dict(values) and sorted(values.values()) == sorted(dict(values).values())
    assert "a" in values.keys() and ("a", b"1") in values.items() and b"4" in values.values()
    assert "a" in values and b"a" in values and "absent" not in values and 5 not in values
    assert values == {"a": b"1", "b": b"two", "c": b"\0\1", "d": b"4", "\udcff": b"evif"}
    assert values.keys() == {"a", "b", "c", "d", "\udcff"}
    values.clear()
    assert not values and list(values) == []


def test_pop_and_setdefault(values):
    values["a"] = b"1"
    assert values.pop("a") == b"1" and values.pop("a", None) is None and values.pop(b"a", b"d") == b"d"
    with pytest.raises(KeyError, match="absent"):
        values.pop("absent")
    assert values.setdefault("b", b"first") == b"first" and values.setdefault(b"b", b"second") == b"first"
    assert values.popitem() == ("b", b"first")
    with pytest.raises(KeyError, match="empty"):
        values.popitem()
    with pytest.raises(KeyError, match="absent"):
        del values["absent"]
    assert values.setdefault("empty", b"") == b"" and values.pop("empty") == b""


def test_one_of_many_sets_the_default(values):
    ready = threading.Barrier(4)
    got = []

    def work(number):
        ready.wait()
        for key in range(50):
            got.append((key, values.setdefault(f"{key}", f"{number}")))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 200 and len(set(got)) == 50


def test_removing_tells_whether_it_was_there(values):
    values["a"] = b""
    assert values.remove("a", condition="must_exist") is True
    assert values.remove("a", condition="must_exist") is False
    assert values.remove("a") is True


def test_keys_come_page_by_page(values):
    count = 5000
    values.update((f"{number}", b"%d" % number) for number in range(count))
    assert len(values) == count
    pages = list(values.pages())
    assert len(pages) > 2 and sum(map(len, pages)) == count
    assert set(values) == {f"{number}" for number in range(count)}
    assert dict(values) == {f"{number}": b"%d" % number for number in range(count)}
    # Nothing is listed before it is asked for, and what is removed meanwhile is not given as an item.
    keys, items = iter(values), iter(values.items())
    assert len(set(itertools.islice(keys, 10))) == 10
    next(items)
    values.clear()
    assert len(list(keys)) < count and len(list(items)) < count
    assert not values


def test_large_values_come_a_few_at_a_time(values):
    large = bytes(6 << 20)
    for number in range(7):
        values[f"{number}"] = large
    assert len(values._handle.get_many([b"0", b"1", b"2", b"3", b"4"])) == 3
    assert {key: len(value) for key, value in values.items()} == {f"{n}": 6 << 20 for n in range(7)}


def test_what_stands_before_a_wrong_pair_is_put(values):
    with pytest.raises(stepstore.Error, match="key") as caught:
        values.update([("a", b"1"), ("", b"2"), ("c", b"3")])
    assert caught.value.name == "DER_INVAL" and list(values) == ["a"]


@pytest.mark.parametrize("wrong", [5, None, [1, 2], {"a": 1}, object(), 1.5])
def test_what_is_no_value_is_refused_by_name(values, wrong):
    for call in (
        lambda: values.put("k", wrong),
        lambda: values.update(k=wrong),
        lambda: values.setdefault("k", wrong),
    ):
        with pytest.raises(TypeError, match=rf"buffer protocol .*, not {type(wrong).__name__}$"):
            call()
    with pytest.raises(TypeError, match=rf"bytearray or another .*, not {type(wrong).__name__}$"):
        values.read_into("k", wrong)
    assert not values


@pytest.mark.parametrize("wrong", [5, None, ("a",), 1.5])
def test_what_is_no_key_is_refused_by_name(values, wrong):
    for call in (
        lambda: values[wrong],
        lambda: values.get(wrong),
        lambda: values.put(wrong, b""),
        lambda: values.pop(wrong),
        lambda: values.size(wrong),
        lambda: values.update({wrong: b""}),
    ):
        with pytest.raises(TypeError, match=rf"text or bytes, not {type(wrong).__name__}$"):
            call()


def test_memory_to_read_into_is_looked_at(values):
    values["k"] = b"0123456789"
    wide = bytearray(20)
    with pytest.raises(
        stepstore.Error, match=r"not contiguous \(memoryview of shape \(10,\), strides \(2,\)"
    ) as caught:
        values.read_into("k", memoryview(wide)[::2])
    assert caught.value.name == "DER_INVAL" and wide == bytes(20)
    with pytest.raises(stepstore.Error, match=r"numpy\.ndarray of shape \(5, 2\)"):
        values.read_into("k", np.zeros((2, 5)).T)
    with pytest.raises(BufferError, match=r"read-only \(bytes\)"):
        values.read_into("k", bytes(10))
    frozen = np.zeros(10)
    frozen.flags.writeable = False
    with pytest.raises(BufferError, match=r"read-only \(numpy.ndarray\)"):
        values.read_into("k", frozen)


def test_an_update_on_the_condition_of_the_old_value(values):
    assert not values.put_if("a", b"1", b"0") and not values.put_if("a", b"1", b"")
    assert values.put_if("a", "1", None) and not values.put_if("a", "2", None)
    assert values.put_if("a", np.arange(2, dtype="u1"), "1") and values["a"] == b"\0\1"
    assert not values.put_if("a", b"3", b"1") and values["a"] == b"\0\1"
    assert not values.remove_if("a", b"1") and "a" in values
    assert values.remove_if("a", b"\0\1") and "a" not in values and not values.remove_if("a", b"\0\1")
    assert values.put_if("a", b"", None) and values.put_if("a", b"x", b"") and values["a"] == b"x"


def test_a_pop_that_is_overtaken_takes_the_newer_value(values, monkeypatch):
    values["a"] = b"old"
    get = type(values).get

    def overtaken(self, key, default=None):
        value = get(self, key, default)
        if value == b"old":
            self.put(key, b"new")
        return value

    monkeypatch.setattr(type(values), "get", overtaken)
    assert values.pop("a") == b"new" and "a" not in values
