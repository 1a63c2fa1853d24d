"""What one machine does to a shared file system in test_consistency.py. A worker runs these functions.

What makes or replaces a name syncs the directory at once, on a descriptor that it had before. CephFS needs it
to be quick: an operation that waits for another machine's one on the same name or directory waits for the
journal of the metadata server. If nothing else flushes it, that takes up to five seconds.
"""

import errno
import mmap
import os
import time
import zlib

PATIENCE = 60  # seconds until what another machine does must have been seen
CELL = 1 << 16  # bytes of a cell of an array

kept: dict[str, int] = {}  # descriptors that stay open, by a name


def value(number: int, size: int) -> bytes:
    """Bytes that tell of themselves whether they are whole: a number, a size, a checksum, the rest."""
    body = bytes((number * 31 + i) & 255 for i in range(251)) * (size // 251 + 1)
    head = f"{number} {size} {zlib.crc32(body[: size - 32])}".encode().ljust(32)
    return head + body[: size - 32]


def number_of(data: bytes) -> int:
    """The number in a whole value; an AssertionError for another."""
    assert len(data) >= 32 and data[:1] != b"\0", f"{len(data)} bytes that begin with {data[:32]!r}"
    number, size, checksum = (int(word) for word in data[:32].split())
    assert len(data) == size and zlib.crc32(data[32:]) == checksum, f"value {number} is torn"
    return number


def read(path: str, how: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | (os.O_DIRECT if how == "direct" else 0))
    try:
        return read_at(fd, os.fstat(fd).st_size, 0, how)
    finally:
        os.close(fd)


def read_at(fd: int, size: int, at: int, how: str) -> bytes:
    """`direct`: by a descriptor with O_DIRECT. `dontneed`: without the pages that this machine has."""
    if how == "dontneed":
        os.posix_fadvise(fd, at, size, os.POSIX_FADV_DONTNEED)
    with mmap.mmap(-1, -(-size // 4096) * 4096) as memory:  # aligned
        count, got = 0, 1
        while count < size and got > 0:
            with memoryview(memory)[count:] as rest:
                got = os.preadv(fd, [rest], at + count)
            count += got
        return memory[: min(count, size)]


def write(path: str, number: int, size: int, sync: bool = True) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        data = value(number, size)
        assert os.pwrite(fd, data, 0) == size
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def sync_directory(path: str) -> None:
    if path not in kept:
        kept[path] = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(kept[path])


def link(path: str, name: str) -> bool:
    """Whether the name was free."""
    directory = os.path.dirname(name)
    sync_directory(directory)
    try:
        os.link(path, name)
    except FileExistsError:
        return False
    sync_directory(directory)
    return True


def names(directory: str) -> list[str]:
    return sorted(os.listdir(directory))


def exists(path: str) -> bool:
    return os.path.exists(path)


def remove(path: str) -> None:
    os.unlink(path)


def number_at(path: str, how: str) -> int:
    return number_of(read(path, how))


# ---- one machine publishes by links, another follows


def publish(own: str, published: str, first: int, count: int) -> None:
    """Values of several sizes, each written and synced before its name is there."""
    for number in range(first, first + count):
        path = f"{own}/{number}"
        write(path, number, (100, 5000, 70000)[number % 3])
        assert link(path, f"{published}/{number}")
        os.unlink(path)


def follow(published: str, first: int, count: int, how: str) -> int:
    """Reads each value when a listing has its name. Returns how many listings it took."""
    seen: set[str] = set()
    end, listings = time.monotonic() + PATIENCE, 0
    wanted = {str(number) for number in range(first, first + count)}
    while not wanted <= seen:
        assert time.monotonic() < end, f"no listing has {sorted(wanted - seen)[:5]}"
        listings += 1
        for name in sorted(wanted & (set(os.listdir(published)) - seen)):
            found = number_at(f"{published}/{name}", how)
            assert found == int(name), f"{name} has the value {found}"
            seen.add(name)
    return listings


# ---- cells of one sparse file that stays open, each with a name when it is written


def make_array(path: str, cells: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.ftruncate(fd, cells * CELL)
    os.fsync(fd)
    os.close(fd)


def write_cells(path: str, published: str, first: int, count: int) -> None:
    fd = os.open(path, os.O_WRONLY)
    for cell in range(first, first + count):
        assert os.pwrite(fd, value(cell, CELL), cell * CELL) == CELL
        os.fsync(fd)
        assert link(path, f"{published}/{cell}")
    os.close(fd)


def follow_cells(path: str, published: str, first: int, count: int, how: str) -> None:
    fd = os.open(path, os.O_RDONLY | (os.O_DIRECT if how == "direct" else 0))
    seen, end = set(), time.monotonic() + PATIENCE
    wanted = {str(cell) for cell in range(first, first + count)}
    while not wanted <= seen:
        assert time.monotonic() < end, f"no listing has {sorted(wanted - seen)[:5]}"
        for name in sorted(wanted & (set(os.listdir(published)) - seen)):
            found = number_of(read_at(fd, CELL, int(name) * CELL, how))
            assert found == int(name), f"cell {name} has the value {found}"
            seen.add(name)
    os.close(fd)


# ---- one machine replaces a file, another reads it


def replace(own: str, path: str, first: int, count: int) -> None:
    for number in range(first, first + count):
        write(f"{own}/new", number, (100, 5000, 70000)[number % 3])
        os.rename(f"{own}/new", path)
        sync_directory(os.path.dirname(path))


def follow_replaced(path: str, last: int, how: str) -> int:
    """Reads until the last value is seen: always a whole one, and none that is older than one seen before."""
    end, before, reads = time.monotonic() + PATIENCE, -1, 0
    while before < last:
        assert time.monotonic() < end, f"value {before} was the last seen"
        try:
            number = number_at(path, how)
        except OSError as error:
            if error.errno != errno.ESTALE:  # of a file that was replaced while it was read
                raise
            continue
        assert number >= before, f"value {number} after {before}"
        before, reads = number, reads + 1
    return reads


# ---- a file that is removed while another machine has it open


def keep_open(name: str, path: str, how: str) -> None:
    kept[name] = os.open(path, os.O_RDONLY | (os.O_DIRECT if how == "direct" else 0))


def read_kept(name: str, size: int, at: int, how: str) -> str:
    """The number of the value, or the name of the error."""
    try:
        return str(number_of(read_at(kept[name], size, at, how)))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
