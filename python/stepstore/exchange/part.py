"""The directory DEST.part, in which an export is made until it is whole.

1. It is made, and locked: one process at a time exports to DEST. A kill frees the lock.
2. `export.json` says of what it is an export; of something else, or changed data, it is begun again.
3. `data` is what becomes DEST; `done` says how many pieces of it are written.
4. When all is written, synced and compared, `data` gets the name DEST, and the directory is removed.

So DEST is whole, or what it was before. With replace an old DEST goes into the directory first, unless both
are files. A kill in between leaves `data` whole, and the same command publishes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepstore.errors import DER_BUSY, DER_EXIST, Error

if TYPE_CHECKING:
    from typing import Self

_ENDING = ".part"


class Part:
    def __init__(self, destination: Path):
        self._destination = destination
        self._path = destination.with_name(destination.name + _ENDING)
        self.data = self._path / "data"
        self._about, self._done, self._old = (
            self._path / name for name in ("export.json", "done", "replaced")
        )
        self._lock = self._locked()

    def _locked(self) -> int:
        while True:
            self._path.mkdir(exist_ok=True)
            try:
                opened = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:  # another export to this place has just ended
                continue
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(opened), os.stat(self._path)):
                        return opened
            except BlockingIOError:
                os.close(opened)
                raise Error(
                    DER_BUSY, f"export to {self._destination}: another process exports to it: wait for it"
                ) from None
            except BaseException:
                os.close(opened)
                raise
            os.close(opened)

    def begin(self, identity: dict[str, Any], *, resumable: bool) -> bool:
        """Whether this export was begun before, and can be continued; else what was there is removed."""
        text = json.dumps(identity, sort_keys=True)
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if resumable and self._about.read_text(encoding="utf-8") == text and self.data.exists():
                return True
        self.empty()
        self._about.write_text(text, encoding="utf-8")
        return False

    @property
    def done(self) -> int:
        """How many pieces are written."""
        with contextlib.suppress(OSError, ValueError):
            return int(self._done.read_text(encoding="ascii"))
        return 0

    @done.setter
    def done(self, count: int) -> None:
        new = self._done.with_suffix(".new")
        new.write_text(str(count), encoding="ascii")
        new.replace(self._done)

    def empty(self) -> None:
        """Removes all but what `replaced` keeps."""
        for one in self._path.iterdir():
            if one != self._old:
                _remove(one)

    def remove(self) -> None:
        """Of an export that cannot be continued."""
        self.empty()
        with contextlib.suppress(OSError):
            self._path.rmdir()

    def publish(self, *, replace: bool) -> None:
        """DER_EXIST: something came to be at DEST meanwhile."""
        _sync(self.data)
        if replace and os.path.lexists(self._destination):
            if self.data.is_dir() or self._destination.is_dir():
                _remove(self._old)
                self._destination.rename(self._old)
            self.data.replace(self._destination)
        elif self.data.is_dir():
            try:
                self.data.rename(self._destination)
            except OSError as error:
                raise self._came_meanwhile() from error
        else:
            try:
                os.link(self.data, self._destination)  # unlike a rename, it replaces nothing
            except FileExistsError as error:
                raise self._came_meanwhile() from error
            except OSError:  # a file system without links
                if os.path.lexists(self._destination):
                    raise self._came_meanwhile() from None
                self.data.rename(self._destination)
        _sync_one(self._destination.parent)
        shutil.rmtree(self._path)

    def _came_meanwhile(self) -> Error:
        return Error(
            DER_EXIST,
            f"export to {self._destination}: it came to be while this export was made: remove it and repeat "
            "the command, or give --replace",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """With all that is in it."""
    for folder, _, files in os.walk(path, topdown=False):
        for name in files:
            _sync_one(Path(folder, name))
        _sync_one(Path(folder))
    if path.is_file():
        _sync_one(path)


def _sync_one(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
