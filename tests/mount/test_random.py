"""Calls at random on names at random, each also made on another file system: the errnos and the trees are the
same."""

from __future__ import annotations

import errno
import os
import random
import stat

from conftest import EXCHANGE, NOREPLACE, rename

ROUNDS = 3000
NAMES = ("a", "b", "c", "l")


class Both:
    """A mount, and a directory of another file system."""

    def __init__(self, places, seed):
        self.places = places
        self.chance = random.Random(seed)

    def path(self):
        return "/".join(self.chance.choice(NAMES) for _ in range(self.chance.randint(1, 3)))

    def each(self, call, *arguments):
        """What it gives in both, or its errno."""
        results = []
        for which, place in enumerate(self.places):
            try:
                results.append(call(which, str(place), *arguments))
            except OSError as error:
                results.append(errno.errorcode[error.errno])
        return results


def make(which, place, path):
    os.mkdir(f"{place}/{path}", 0o755)


def write(which, place, path, offset, data, flags):
    file = os.open(f"{place}/{path}", os.O_RDWR | flags, 0o644)
    try:
        return os.pwrite(file, data, offset) if not flags & os.O_APPEND else os.write(file, data)
    finally:
        os.close(file)


def read(which, place, path):
    with open(f"{place}/{path}", "rb") as file:
        return file.read()


def link(which, place, path, target):
    os.symlink(target, f"{place}/{path}")


def read_link(which, place, path):
    return os.readlink(f"{place}/{path}")


def remove(which, place, path):
    os.unlink(f"{place}/{path}")


def remove_directory(which, place, path):
    os.rmdir(f"{place}/{path}")


def move(which, place, old, new, flags):
    rename(f"{place}/{old}", f"{place}/{new}", flags)


def cut(which, place, path, size):
    os.truncate(f"{place}/{path}", size)


def change_mode(which, place, path, mode):
    os.chmod(f"{place}/{path}", mode)


def change_time(which, place, path, time):
    os.utime(f"{place}/{path}", ns=(time, time), follow_symlinks=False)
    return os.lstat(f"{place}/{path}").st_mtime_ns


def change_owner(which, place, path, user):
    os.chown(f"{place}/{path}", user, -1, follow_symlinks=False)


def status(which, place, path):
    found = os.lstat(f"{place}/{path}")
    size = found.st_size if not stat.S_ISDIR(found.st_mode) else 0
    return found.st_mode, found.st_uid, found.st_gid, size


def names(which, place, path):
    return sorted(os.listdir(f"{place}/{path}"))


def attribute(which, place, path, value):
    os.setxattr(f"{place}/{path}", "user.a", value)
    return os.listxattr(f"{place}/{path}"), os.getxattr(f"{place}/{path}", "user.a")


def any_call(both):
    chance = both.chance
    path, other = both.path(), both.path()
    offset, data = chance.randrange(100_000), chance.randbytes(chance.randrange(20_000))
    flags = chance.choice(
        (
            0,
            os.O_CREAT,
            os.O_CREAT,
            os.O_CREAT | os.O_EXCL,
            os.O_TRUNC,
            os.O_APPEND | os.O_CREAT,
            os.O_NOFOLLOW,
        )
    )
    return chance.choice(
        (
            (make, path),
            (make, path),
            (write, path, offset, data, flags),
            (write, path, offset, data, flags),
            (read, path),
            (link, path, chance.choice(("a", "../b", "c/a", "l", "none", "x" * 300))),
            (read_link, path),
            (remove, path),
            (remove_directory, path),
            (move, path, other, chance.choice((0, 0, NOREPLACE, EXCHANGE))),
            (cut, path, offset),
            (change_mode, path, 0o600 | chance.randrange(0o200)),
            (change_time, path, chance.randrange(10**18)),
            (change_owner, path, chance.randrange(5)),
            (status, path),
            (names, path),
            (attribute, path, data[:200] or b"x"),
        )
    )


def tree(both):
    def all_of(which, place):
        found = {}
        for folder, folders, files in os.walk(place):
            for name in (*folders, *files):
                path = os.path.relpath(os.path.join(folder, name), place)
                found[path] = status(which, place, path)
                mode = found[path][0]
                if stat.S_ISREG(mode):
                    found[path] += (read(which, place, path),)
                elif stat.S_ISLNK(mode):
                    found[path] += (read_link(which, place, path),)
        return found

    return both.each(all_of)


def test_as_on_another_file_system(top, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    seed = random.randrange(10**9)
    print("seed", seed)
    both = Both((top, there), seed)
    for number in range(ROUNDS):
        call, *arguments = any_call(both)
        ours, theirs = both.each(call, *arguments)
        assert ours == theirs, f"seed {seed}, call {number}: {call.__name__}{arguments}"
    ours, theirs = tree(both)
    assert ours == theirs and len(ours) > 3
