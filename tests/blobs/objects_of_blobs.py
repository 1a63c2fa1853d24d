"""The objects that blobs consist of, for tests that look at them."""

from __future__ import annotations

import stepstore
from stepstore.blobs import Blobs
from stepstore.kinds import DATA_HI, WRITERS_HI


def data_hi(box: stepstore.Container) -> int:
    """The upper half of the ids of array objects."""
    return box.object_id(0, DATA_HI, kind="array_bytes", object_class="S1").hi


def destroy_array_of(blobs: Blobs, key: str) -> None:
    info = blobs.info(key)
    assert info
    box = blobs.container
    oid = box.object_id(info.number, DATA_HI, kind="array_bytes", object_class="S1")
    with box.open_array(oid, cell_size=1, chunk_size=1 << 40) as array:
        array.destroy()


def marks(box: stepstore.Container) -> list[bytes]:
    """Of writers."""
    with box.key_value(box.object_id(0, WRITERS_HI, object_class="S1")) as writers:
        return list(writers.raw_keys())
