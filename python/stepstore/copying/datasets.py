"""What makes a container a dataset of fields: its entry in the pool's root (docs/format-fields.md)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from stepstore import _core
from stepstore.errors import DER_BUSY, DER_EXIST, DER_NONEXIST, Error
from stepstore.kinds import FIELDS_ROOT
from stepstore.store import Container, Pool


def _root_id(container: Container) -> _core.ObjectId:
    return container.object_id(0, object_class="S1")


@contextlib.contextmanager
def claimed(destination: Pool, label: str) -> Iterator[None]:
    """As long as this process lives, purge leaves the container of this label alone (Session::claim)."""
    key = f"m/{label}"
    with destination.open_or_create_container(FIELDS_ROOT) as root:
        lease = _core.Lease(root._handle, _root_id(root), key, remove_at_end=True)
        with contextlib.closing(lease):
            if lease.take() is not None:
                raise Error(
                    DER_BUSY,
                    f"copy to {destination.location}/{label}: another process makes or destroys this "
                    f"dataset, or did on another machine: wait for it, or remove its claim, the key {key} "
                    f"of {FIELDS_ROOT}",
                )
            yield


def keys_of(pool: Pool, label: str) -> list[str]:
    """The root's keys that name this container."""
    if FIELDS_ROOT not in pool.containers():
        return []
    with (
        pool.open_container(FIELDS_ROOT, read_only=True) as root,
        root.key_value(_root_id(root), read_only=True) as entries,
    ):
        return [
            key
            for key, entry in entries.items()
            if key.startswith("d/") and _core.dataset_container(entry) == label
        ]


def is_published(source: str, label: str, destination: Pool, copy: str) -> bool:
    """Whether the root of the destination names its container `copy` as the source's names this one."""
    with Pool.connect(source, read_only=True) as pool:
        keys = keys_of(pool, label)
    return bool(keys) and sorted(keys) == sorted(keys_of(destination, copy))


def publish(source: str, label: str, destination: Pool, copy: Container) -> None:
    """Error DER_EXIST: the destination has a dataset of this key already, in another container."""
    with Pool.connect(source, read_only=True) as pool:
        keys = keys_of(pool, label)
    if not keys:
        raise Error(
            DER_NONEXIST,
            f"copy dataset {label} of {source}: its root does not name it: it was wiped, or is itself an "
            "unfinished copy",
        )
    entry = _core.encode_dataset_container(copy.label)
    with destination.open_or_create_container(FIELDS_ROOT) as root, root.key_value(_root_id(root)) as entries:
        _pass_number(root, copy.label)
        for key in keys:
            if entries.setdefault(key, entry) != entry:
                raise Error(
                    DER_EXIST,
                    f"copy dataset {key.removeprefix('d/')} to {destination.location}: it has this dataset "
                    f"already, in {_core.dataset_container(entries[key])}: wipe that first",
                )


def _pass_number(root: Container, label: str) -> None:
    """A new dataset gets the next number of the root in its container's label: one that no copy has."""
    number = label.removeprefix("fields-").partition(".")[0]
    # No root has given so many: who made the label up would have all its numbers passed.
    if label.startswith("fields-") and number.isdecimal() and len(number) < 15:
        while (next_number := root.allocate_oids(1)) < int(number):
            root.allocate_oids(min(int(number) - next_number, 1 << 47))
