"""What the file system itself takes for the blocks of a step (bench_steps.py). A worker runs these functions,
each of which returns the mean milliseconds of a step."""

import os
import time

BLOCK = bytes(range(256)) * 4096  # 1 MiB
METADATA = BLOCK[:4096]


def write_blocks(path: str, steps: int, with_metadata: bool) -> float:
    """Writes a block and syncs it. With metadata: and then these, in another file, as in a pool in files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    files = [(os.open(path, flags), BLOCK)]
    if with_metadata:
        files.append((os.open(f"{path}.metadata", flags), METADATA))
    for fd, data in files:  # as long as it will be: no step waits for a metadata server
        os.ftruncate(fd, steps * len(data))
        os.fsync(fd)
    begin = time.monotonic()
    for step in range(steps):
        for fd, data in files:
            assert os.pwrite(fd, data, step * len(data)) == len(data)
            os.fdatasync(fd)
    took = time.monotonic() - begin
    for fd, _ in files:
        os.close(fd)
    return took * 1e3 / steps


def read_blocks(path: str, steps: int, forget: bool) -> float:
    """Reads the blocks. Forget: asks the kernel first to drop what it has of them."""
    fd, memory = os.open(path, os.O_RDONLY), bytearray(len(BLOCK))
    begin = time.monotonic()
    for step in range(steps):
        at = step * len(BLOCK)
        if forget:
            os.posix_fadvise(fd, at, len(BLOCK), os.POSIX_FADV_DONTNEED)
        assert os.preadv(fd, [memory], at) == len(BLOCK)
    took = time.monotonic() - begin
    os.close(fd)
    assert memory == BLOCK
    return took * 1e3 / steps
