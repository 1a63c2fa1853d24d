"""Paths and errors of file systems in containers, for all that uses them."""

from __future__ import annotations

import errno
import os
import secrets

from stepstore.errors import DER_CSUM, DER_EXIST, DER_INVAL, DER_IO, DER_NO_PERM, DER_NONEXIST, Error

# Of files that are written and have no name of their own yet.
UNFINISHED = ".stepstore-"
_CODES = {
    errno.ENOENT: DER_NONEXIST,
    errno.EEXIST: DER_EXIST,
    errno.EPERM: DER_NO_PERM,
    errno.EINVAL: DER_INVAL,
    errno.EIO: DER_CSUM,
}


def as_error(error: OSError, place: str = "") -> Error:
    """The stepstore.Error of an error of a file system. place: of the paths."""
    where = f"{place}{os.fsdecode(error.filename or '')}".rstrip("/")
    text = f"{where}: {error.strerror}" if where else str(error.strerror)
    return Error(_CODES.get(error.errno or 0, DER_IO), text)


def raw_path(path: str | bytes) -> bytes:
    """The one spelling of a path, as the extension takes it. OSError: it has '..'."""
    parts = [part for part in os.fsencode(path).split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        raise OSError(errno.EINVAL, "'..' is not followed here: give the path without it", os.fsdecode(path))
    return b"/" + b"/".join(parts)


def beside_of(path: str) -> str:
    """A new name in the same directory, for a file that is not whole yet."""
    above, slash, _ = os.fsdecode(raw_path(path)).rpartition("/")
    return f"{above}{slash}{UNFINISHED}{secrets.token_hex(8)}"
