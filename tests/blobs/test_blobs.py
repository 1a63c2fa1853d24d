"""Blobs: bytes under keys, whole or not at all, whichever process dies or writes at the same time."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepstore
from stepstore import _core
from stepstore.blobs import LARGEST_SMALL, Blobs, find_place, open_blobs
from stepstore.kinds import DIRECTORY_HI
from stepstore.errors import DER_CSUM, DER_NO_PERM, DER_NONEXIST, Error

from objects_of_blobs import destroy_array_of, data_hi, marks

SIZES = [0, 1, 100, LARGEST_SMALL - 1, LARGEST_SMALL, LARGEST_SMALL + 1, 65536, 1 << 20, (1 << 20) + 7]


def arrays(pool: str, container: str = "box") -> set[int]:
    """The numbers of the array objects that there are."""
    found = _core.container_objects(pool, container, sizes=False)
    with stepstore.Pool.connect(pool) as opened, opened.open_container(container) as box:
        hi = data_hi(box)
    return {entry["lo"] for entry in found if entry["hi"] == hi}


def value(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("size", SIZES)
def test_values_of_every_size_come_back(blobs: Blobs, size: int) -> None:
    assert blobs.read("a/b") is None and blobs.info("a/b") is None and not blobs.exists("a/b")
    before = time.time_ns()
    assert blobs.write("a/b", value(size))
    assert bytes(blobs.read("a/b")) == value(size)
    info = blobs.info("a/b")
    assert info.size == size and before <= info.modified <= time.time_ns() and blobs.exists("a/b")
    for start, stop in [
        (0, 1),
        (5, 50),
        (size - 1, None),
        (-3, None),
        (size, None),
        (3, 2),
        (10, -10),
        (7, 10**9),
    ]:
        assert bytes(blobs.read("a/b", start, stop)) == value(size)[start:stop], (start, stop)


def test_numpy_arrays_are_values_whatever_their_layout_and_texts_are_refused(blobs: Blobs) -> None:
    for count in (10, 100_000):
        numbers = np.arange(count, dtype="f8")
        blobs.write("n", numbers)
        assert np.array_equal(np.frombuffer(blobs.read("n")), numbers)
        blobs.write("n", numbers[::-2])
        assert np.array_equal(np.frombuffer(blobs.read("n")), numbers[::-2])
        with pytest.raises(TypeError, match="not str: encode it"):
            blobs.write("n", "text")


def test_replaced_and_deleted_values_give_their_space_back(pool: str, blobs: Blobs) -> None:
    for seed, size in enumerate([1 << 20, 100, 1 << 20, 1 << 21, 0]):
        blobs.write("k", value(size, seed))
        assert len(arrays(pool)) == (size > LARGEST_SMALL)
    blobs.write("k", value(1 << 20))
    assert blobs.delete("k") and not blobs.delete("k") and blobs.read("k") is None
    assert arrays(pool) == set()
    for number in range(20):
        blobs.write(f"d/{number}/x", value(50_000 * (number % 2)))
    blobs.write("e", b"kept")
    assert blobs.delete_folder("d") == 20
    assert arrays(pool) == set() and blobs.keys() == ["e"]


def test_of_several_writers_of_a_key_none_leaves_space(pool: str, blobs: Blobs) -> None:
    def write(seed: int) -> None:
        for turn in range(30):
            blobs.write("k", value(40_000 + 1000 * seed + turn, seed))

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert arrays(pool) == {blobs.info("k").number}


def test_new_keeps_what_is_there(pool: str, blobs: Blobs) -> None:
    for size in (10, 100_000):
        blobs.write("k", value(size, 1))
        assert not blobs.write("k", value(100_000, 2), new=True)
        assert bytes(blobs.read("k")) == value(size, 1)
        assert len(arrays(pool)) == (size > LARGEST_SMALL)
        blobs.delete("k")
        assert blobs.write("k", value(100_000, 2), new=True)
        assert bytes(blobs.read("k")) == value(100_000, 2)


def test_listings_agree_with_a_dictionary(blobs: Blobs) -> None:
    chance = random.Random(3)
    parts = ["a", "ab", "b", "c.d", "é", "x" * 70, "0"]
    keys: set[str] = set()
    for _ in range(300):
        key = "/".join(chance.choices(parts, k=chance.randint(1, 4)))
        if chance.random() < 0.8:
            blobs.write(key, b"")
            keys.add(key)
        else:
            assert blobs.delete(key) == (key in keys)
            keys.discard(key)
    assert blobs.keys() == sorted(keys, key=str.encode)
    for prefix in ["", "a", "a/", "x" * 70, "x" * 70 + "/" + "x" * 70, "none"]:
        assert set(blobs.keys(prefix)) == {key for key in keys if key.startswith(prefix)}
        folder = prefix.rstrip("/") + "/" if prefix else ""
        below = [key[len(folder) :] for key in keys if key.startswith(folder)]
        expected = {name.partition("/")[0] + ("/" if "/" in name else "") for name in below}
        assert set(blobs.children(prefix)) == expected
        assert blobs.is_folder(prefix) == bool(below)


def test_folders_are_kept_and_are_no_blobs(blobs: Blobs) -> None:
    blobs.make_folder("a/b")
    assert blobs.children() == ["a/"] and blobs.children("a") == ["b/"] and blobs.children("a/b") == []
    assert blobs.is_folder("a/b") and blobs.keys() == []
    blobs.write("a/b/c", b"1")
    assert blobs.delete("a/b/c") and blobs.is_folder("a/b")
    assert blobs.delete_folder("a") == 1 and not blobs.is_folder("a")


def test_a_reader_keeps_to_one_version(blobs: Blobs) -> None:
    for size in (1000, 1 << 20):
        blobs.write("k", value(size, 1))
        reader = blobs.open("k")
        assert bytes(reader.read(10, 20)) == value(size, 1)[10:20]
        blobs.write("k", value(size, 2))
        if size <= LARGEST_SMALL:
            assert bytes(reader.read()) == value(size, 1)
            continue
        with pytest.raises(Error, match="was replaced or deleted while it was read") as caught:
            reader.read()
        assert caught.value.code == DER_NONEXIST
    assert blobs.open("none") is None


def test_a_writer_publishes_at_its_end_or_never(pool: str, blobs: Blobs) -> None:
    for pieces in ([10, 20], [30_000, 30_000, 5], [1 << 20, 1], []):
        whole = b"".join(value(size, seed) for seed, size in enumerate(pieces))
        with blobs.writer("k") as writer:
            for seed, size in enumerate(pieces):
                writer.write(value(size, seed))
            assert blobs.read("k") is None
        assert bytes(blobs.read("k")) == whole
        with pytest.raises(KeyError), blobs.writer("k") as writer:
            writer.write(value(100_000))
            raise KeyError
        assert bytes(blobs.read("k")) == whole
        blobs.delete("k")
    assert arrays(pool) == set()
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"")


@pytest.mark.parametrize("appending", [False, True])
def test_threads_that_share_a_writer_wait_for_each_other(blobs: Blobs, appending: bool) -> None:
    threads, pieces, size = 8, 200, 512
    for number in range(3):
        key = f"shared-{number}"
        writer = blobs.appender(key) if appending else blobs.writer(key)
        together = threading.Barrier(threads)
        sizes: list[int] = []

        def write(fill: int, writer: Any = writer, together: Any = together, sizes: Any = sizes) -> None:
            together.wait()
            for _ in range(pieces):
                writer.write(bytes([fill]) * size)
                sizes.append(writer.size)

        running = [threading.Thread(target=write, args=(fill,)) for fill in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        assert writer.size == max(sizes) == threads * pieces * size
        writer.close()
        data = bytes(blobs.read(key))
        found = [data[at : at + size] for at in range(0, len(data), size)]
        assert sorted(found) == [bytes([fill]) * size for fill in range(threads) for _ in range(pieces)]


def test_copies(pool: str, blobs: Blobs) -> None:
    other = open_blobs(pool, "other")
    for size in (5, 20 << 20):
        blobs.write("k", value(size))
        assert blobs.copy("k", "l") and blobs.copy("k", "m", into=other)
        assert bytes(blobs.read("l")) == bytes(other.read("m")) == value(size)
    assert not blobs.copy("none", "l")


def test_snapshots_are_read_only_and_keep_values(pool: str, blobs: Blobs) -> None:
    for key, size in (("small", 10), ("large", 1 << 20), ("d/e", 5)):
        blobs.write(key, value(size, 1))
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        box.create_snapshot("then")
    for key, size in (("small", 20), ("large", 2 << 20), ("f", 5)):
        blobs.write(key, value(size, 2))
    blobs.delete_folder("d")
    then = open_blobs(pool, "box", snapshot="then")
    assert bytes(then.read("large")) == value(1 << 20, 1) and bytes(then.read("small")) == value(10, 1)
    assert then.children() == ["d/", "large", "small"] and then.keys("d/") == ["d/e"]
    for key in ("k" * 10, "large"):
        for size in (10, 100_000):
            with pytest.raises(Error) as caught:
                then.write(key, value(size))
            assert caught.value.code == DER_NO_PERM


def test_bad_keys_and_places_are_named(pool: str, blobs: Blobs) -> None:
    with pytest.raises(Error, match="key of a blob is empty"):
        blobs.write("", b"x")
    with pytest.raises(TypeError, match="is a text, not bytes"):
        blobs.read(b"k")
    with pytest.raises(Error, match="zero byte"):
        blobs.write("a\0b", b"x")
    with pytest.raises(TypeError):
        blobs.write("k", 17)
    with pytest.raises(Error) as caught:
        open_blobs(pool, "none", read_only=True)
    assert caught.value.code == DER_NONEXIST and "none" in str(caught.value)
    place = find_place(pool + "/box/a/b")
    assert (place.container, place.key, place.pool_exists) == ("box", "a/b", True)
    assert not find_place(pool + "x/box").pool_exists


def test_an_entry_of_a_newer_version_is_refused(pool: str, blobs: Blobs) -> None:
    box = blobs.container
    with box.key_value(box.object_id(0, DIRECTORY_HI, object_class="SX")) as directory:
        directory.put("k", b"\x09 something new")
    with pytest.raises(Error, match="newer"):
        blobs.read("k")


def flip(path: Path, marker: bytes) -> None:
    found = 0
    for file in path.rglob("*"):
        data = bytearray(file.read_bytes()) if file.is_file() else bytearray()
        at = data.find(marker)
        while at >= 0:
            data[at + 5] ^= 0x10
            found += 1
            at = data.find(marker, at + 1)
            file.write_bytes(data)
    assert found


@pytest.mark.parametrize("size", [100, 100_000])
def test_damage_is_an_error_and_no_value(pool: str, size: int) -> None:
    marker = value(40, 77)
    run(f"""
        from stepstore.blobs import open_blobs
        open_blobs({pool!r}, "box").write("k", {marker!r} + bytes({size}))
        """)
    flip(Path(pool), marker)
    with pytest.raises(Error) as caught:
        open_blobs(pool, "box").read("k")
    assert caught.value.code == DER_CSUM


def test_a_missing_array_is_damage(pool: str, blobs: Blobs) -> None:
    blobs.write("k", value(100_000))
    destroy_array_of(blobs, "k")
    with pytest.raises(Error, match="array object is missing") as caught:
        blobs.read("k")
    assert caught.value.code == DER_CSUM
    blobs.write("k", b"again")  # which frees what is not there
    assert bytes(blobs.read("k")) == b"again"


# ---- several processes


def run(program: str, *, kill: bool = False) -> str:
    import textwrap

    environment = {**os.environ, "PYTHONPATH": str(Path(stepstore.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (-signal.SIGKILL if kill else 0), done.stderr
    return done.stdout


@pytest.mark.parametrize("size", [200, 100_000])
def test_readers_see_whole_values_while_another_process_replaces_them(pool: str, size: int) -> None:
    """The value of each round is one byte over and over, of a size that depends on it."""
    blobs = open_blobs(pool, "box")
    blobs.write("k", bytes(size))
    environment = {**os.environ, "PYTHONPATH": str(Path(stepstore.__file__).parents[1])}
    program = f"""if True:
        import sys
        from stepstore.blobs import open_blobs
        blobs = open_blobs({pool!r}, "box", read_only=True)
        print("ready", flush=True)
        seen = set()
        while True:
            data = bytes(blobs.read("k"))
            assert len(data) == {size} + data[0] and set(data) == {{data[0]}}, (len(data), set(data))
            part = bytes(blobs.read("k", 10, 60))
            assert len(part) == 50 and len(set(part)) == 1
            seen.add(data[0])
            if data[0] == 255:
                break
        print(len(seen))
        """
    readers = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    for byte in range(256):
        blobs.write("k", bytes([byte]) * (size + byte))
    for reader in readers:
        assert int(reader.communicate(timeout=60)[0]) >= 1 and reader.returncode == 0


def test_an_array_that_a_living_writer_has_not_published_stays(pool: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(stepstore.__file__).parents[1])}
    program = f"""if True:
        import sys
        from stepstore.blobs import open_blobs
        blobs = open_blobs({pool!r}, "box")
        with blobs.writer("k") as writer:
            writer.write(b"x" * 100_000)
            print("written", flush=True)
            sys.stdin.readline()
        """
    writer = subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout.readline() == "written\n"
    blobs = open_blobs(pool, "box")
    assert blobs.reclaim() == 0 and len(arrays(pool)) == 1
    writer.communicate("\n", timeout=30)
    assert writer.returncode == 0 and bytes(blobs.read("k")) == b"x" * 100_000
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        assert marks(box) == []  # one that ended leaves nothing


def _write_in_child(blobs: Blobs, key: str) -> None:
    blobs.write(key, value(100_000, 9))
    blobs.leave()


def test_a_forked_child_takes_numbers_of_its_own(blobs: Blobs) -> None:
    blobs.write("parent", value(100_000, 1))
    child = multiprocessing.get_context("fork").Process(target=_write_in_child, args=(blobs, "child"))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    blobs.write("parent 2", value(100_000, 2))
    for key, seed in (("parent", 1), ("child", 9), ("parent 2", 2)):
        assert bytes(blobs.read(key)) == value(100_000, seed)
    assert len({blobs.info(key).number for key in ("parent", "child", "parent 2")}) == 3


def test_readers_notice_that_a_pool_on_a_cluster_was_made_anew() -> None:
    if "STEPSTORE_TEST_RADOS" not in os.environ:
        pytest.skip("a directory tells it by itself")
    pool = f"rados://{os.environ['STEPSTORE_TEST_RADOS']}/{uuid.uuid4()}"
    made = """
import sys, stepstore
from stepstore.blobs import open_blobs
if sys.argv[2] == "new":
    stepstore.Pool.destroy(sys.argv[1])
stepstore.Pool.create(sys.argv[1], targets=4)
open_blobs(sys.argv[1], "box").write("key", sys.argv[2].encode())
"""
    for text in ("old", "new"):
        subprocess.run([sys.executable, "-c", made, pool, text], check=True)
        reader = open_blobs(pool, "box", read_only=True)
        assert reader.read("key") == text.encode()
        if text == "old":
            first = reader
            assert open_blobs(pool, "box", read_only=True) is first
    assert reader is not first
    with pytest.raises(Error):
        first.read("key")


def test_users_of_a_container_share_one_object_until_the_pool_is_another_one(pool: str) -> None:
    first = open_blobs(pool, "box")
    assert open_blobs(pool, "box") is first and open_blobs(pool, "box", read_only=True) is not first
    shutil.rmtree(pool)
    stepstore.Pool.create(pool)
    assert open_blobs(pool, "box") is not first
    assert open_blobs(pool, "box").keys() == []
