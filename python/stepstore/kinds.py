"""What may lie in a container, and at a location: streams, arrays, Zarr, blobs, datasets of fields, objects.

Objects of our libraries are known by the lower half of their upper id. hint() names the right opener: the
errors of all the others say it. The commands list the same with facts (stepstore.view).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from stepstore import _core
from stepstore.buffers import decode_key, encode_key
from stepstore.errors import DER_INVAL, Error
from stepstore.file_paths import raw_path
from stepstore.store import Container, ObjectId, Pool

STREAMS_HI, STEPS_HI, LEASES_HI = 0x53530001, 0x53530002, 0x53530003
INDEX_HI, FIELDS_HI = 0x53530101, 0x53530103
ARRAYS_HI, ARRAY_DATA_HI = 0x53530201, 0x53530202
# Of blobs: the directory, the register of writers, and larger blobs.
DIRECTORY_HI, WRITERS_HI, DATA_HI = 0x53530301, 0x53530302, 0x53530303
MARK_HI = 0x53530401
# Objects of our libraries. Users know them by other names.
OWNED = frozenset(
    (STREAMS_HI, STEPS_HI, LEASES_HI, INDEX_HI, FIELDS_HI, ARRAYS_HI, ARRAY_DATA_HI)
    + (DIRECTORY_HI, WRITERS_HI, DATA_HI, MARK_HI)
)
FIELDS_ROOT = "stepstore-fields"  # the container that names the datasets of fields
_TYPES = {8: "key_value", 9: "key_value", 10: "key_value", 11: "array", 12: "array_bytes", 13: "array_bytes"}
# The metadata of a Zarr array or group, version 3 and 2.
ZARR_KEYS = ("zarr.json", ".zarray", ".zgroup")
ZARR_METADATA = frozenset((*ZARR_KEYS, ".zattrs", ".zmetadata"))
_MOST_NAMED = 5
_MOST_METADATA = 64 << 20  # bytes of a zarr.json


def type_of(oid: ObjectId) -> str:
    return _TYPES.get(oid.hi >> 56, "object")  # of dkeys and akeys


def user_half(oid: ObjectId) -> int:
    return oid.hi & 0xFFFFFFFF


# ---- in a container
def stream_names(container: Container) -> list[str]:
    return _names_in(container, STREAMS_HI)


def array_names(container: Container) -> list[str]:
    """Also of arrays that were removed or are not there yet."""
    return _names_in(container, ARRAYS_HI)


def _names_in(container: Container, half: int) -> list[str]:
    with container.key_value(container.object_id(0, half), read_only=True) as names:
        return sorted(map(decode_key, names.raw_keys()))


def dataset_record(container: Container) -> bytes | None:
    """Of a dataset of fields."""
    with container.key_value(container.object_id(0, object_class="S1"), read_only=True) as values:
        record = values.get("record")
    return record if record and record.startswith(b"SSFD") else None


def zarr_node(blobs: _core.Blobs, folder: str) -> tuple[str, dict[str, Any]] | None:
    """Of a folder of blobs ("" or "a/b/"): "zarr_group" or "zarr_array", and its metadata. None: it is
    neither. Error DER_INVAL: its metadata are no JSON of that form, which others may have written."""
    for name in ZARR_KEYS:
        text = blobs.read(encode_key(folder + name), 0, _MOST_METADATA)
        if not text:
            continue
        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            told = None
        kind = told.get("node_type") if isinstance(told, dict) else None
        if name != "zarr.json":
            kind = "array" if name == ".zarray" else "group"
        if not isinstance(told, dict) or kind not in ("array", "group"):
            raise Error(
                DER_INVAL, f"{folder}{name}: these are no metadata of Zarr: a program wrote over them"
            )
        return f"zarr_{kind}", told
    return None


# ---- at a location
class Opener(NamedTuple):
    """kind: "stream", "array", "zarr_group", "zarr_array", "blob", "folder", "dataset", "file_system" or
    "object". exact:
    the location names it; else it lies below."""

    kind: str
    what: str
    how: str
    exact: bool = True


def openers_at(location: str) -> list[Opener]:
    """What a location names, and how each is opened. Empty also if it cannot be looked at."""
    found: list[Opener] = []
    with contextlib.suppress(Error):
        pool, container, rest, exists = _core.split_location(location)
        if not exists:
            return []
        with (
            Pool.connect(pool, read_only=True) as opened,
            opened.open_container(container or "default", read_only=True) as inside,
        ):
            for look in (_streams_at, _arrays_at, _blobs_at, _files_at, _others_at):
                with contextlib.suppress(Error):  # damage in one of them is not asked for here
                    found += look(_Where(_plain(location), pool, inside, rest))
    return found


class _Where(NamedTuple):
    location: str
    pool: str
    container: Container
    rest: str

    @property
    def place(self) -> str:
        """The container's."""
        return f"{self.pool}/{self.container.label}"


def hint(location: str, *kinds: str) -> str:
    """What to add to an error: "; there is a Zarr group: xr.open_zarr(...)". kinds: the opener's own, which
    it says itself. "" if there is nothing else."""
    found = [one for one in openers_at(location) if one.kind not in kinds]
    return "".join(f"; {one.what}: {one.how}" for one in found)


def _plain(location: str) -> str:
    return location.removeprefix("stepstore://").rstrip("/")


def _streams_at(at: _Where) -> Iterator[Opener]:
    names = stream_names(at.container)
    wanted = at.rest or "main"
    if wanted in names:
        yield Opener("stream", "there is a stream of steps", f"stepstore.open_steps({_quoted(at.location)})")
        return
    below = [name for name in names if not at.rest or name.startswith(f"{at.rest}/")]
    for name in below[:1]:
        what = f"there are the streams {_listed(below)}" if below[1:] else f"there is the stream {name}"
        yield Opener("stream", what, f"stepstore.open_steps({_quoted(f'{at.place}/{name}')})", False)


def _arrays_at(at: _Where) -> Iterator[Opener]:
    names = array_names(at.container)
    opened = f"stepstore.open_arrays({_quoted(at.place)})"
    if at.rest in names:
        yield Opener("array", "there is an array of this name", f"{opened}.read({_quoted(at.rest)})")
    elif not at.rest and names:
        yield Opener("array", f"there are the arrays {_listed(names)}", opened, False)


def _blobs_at(at: _Where) -> Iterator[Opener]:
    blobs = _core.Blobs(at.container._handle, at.pool, True)
    url = _quoted(f"stepstore://{at.place}/{at.rest}".rstrip("/"))  # which always names the container
    folder = f"{at.rest}/" if at.rest else ""
    kind, _ = zarr_node(blobs, folder) or (None, {})
    if kind == "zarr_group":
        yield Opener(kind, "there is a Zarr group", f"xr.open_zarr({url}) or zarr.open_group({url})")
    elif kind == "zarr_array":
        yield Opener(kind, "there is a Zarr array", f"zarr.open_array({url})")
    elif at.rest and blobs.exists(encode_key(at.rest)):
        yield Opener("blob", "there is a file", f"fsspec.open({url})")
    elif blobs.children(encode_key(at.rest)):
        yield Opener("folder", "there are files", f"fsspec.filesystem('stepstore').ls({url})")


def _files_at(at: _Where) -> Iterator[Opener]:
    with contextlib.suppress(OSError):
        files = _core.mount(at.pool, at.container.label) if _core.capabilities(at.pool).own_store else None
        if files is not None:
            files.stat(raw_path(at.rest))
            what = "a file of this name in a file system" if at.rest else "a file system"
            how = f"stepstore.open_file_system({_quoted(at.place)})"
            yield Opener("file_system", f"there is {what}", how)


def _others_at(at: _Where) -> Iterator[Opener]:
    if _core.parse_object(at.rest):
        opened = f"stepstore.Pool.connect({_quoted(at.pool)}).open_container({_quoted(at.container.label)})"
        yield Opener("object", "this is the id of an object", opened)
    elif not at.rest and dataset_record(at.container) is not None:
        yield Opener("dataset", "there are fields of an FDB", f"pyfdb or fdb-list with pool: {at.pool}")


def _quoted(text: str) -> str:
    return repr(text)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
