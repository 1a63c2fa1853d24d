"""Streams whose steps lie in one place, each kept by a snapshot of the container (Steps=snapshot).

The metadata objects of each step are copied as they were at the step's snapshot. Then the destination makes a
snapshot of its own, and the step's key gets its epoch. In the end the objects are copied as they are now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepstore import _core
from stepstore.copying.objects import Moved, copy_array, copy_key_value
from stepstore.copying.plan import Item, Stream, make_snapshot, open_copied
from stepstore.kinds import STEPS_HI, type_of, user_half
from stepstore.store import Container

if TYPE_CHECKING:
    from stepstore.key_value import KeyValue


def replay(
    source: Container,
    then: Container,
    destination: Container,
    stream: Stream,
    items: list[Item],
    moved: Moved,
) -> None:
    """source: as it is now, which has the snapshots; then: as it is copied."""
    for number, segment in enumerate(stream.told["segments"]):
        first, end = segment["first"], segment["first"] + segment["numbers"]
        own = [
            item
            for item in items
            if item.over and user_half(item.source) == STEPS_HI and first <= item.source.lo < end
        ]
        side = segment["side"]
        with (
            then.key_value(side, read_only=True) as old,
            destination.key_value(stream.new_id_of(number, side)) as new,
        ):
            for step in _steps(old):
                if new.get(_key(step)) is None:
                    epoch, gone = _core.step_snapshot(old[_key(step)], step)
                    if not gone:
                        with source.at_snapshot(epoch) as at_step:
                            _copy_as_it_was(at_step, destination, own, moved)
                        epoch = make_snapshot(destination, f"steps {stream.firsts[number]} {step}")
                    new[_key(step)] = _core.encode_step_snapshot(step, epoch, gone)


def _copy_as_it_was(source: Container, destination: Container, items: list[Item], moved: Moved) -> None:
    for item in items:
        if type_of(item.source) == "key_value":
            with (
                source.key_value(item.source, read_only=True) as old,
                destination.key_value(item.destination) as new,
            ):
                copy_key_value(old._handle, new._handle, item.keep, moved)
        else:
            with (
                open_copied(source, item, item.source) as array,
                open_copied(destination, item, item.destination, make=array) as copied,
            ):
                copy_array(array, copied, moved, over=True)


def _key(step: int) -> str:
    return f"Step{step}-Snapshot"


def _steps(side: KeyValue) -> list[int]:
    keys = [key.decode() for key in side.keys_below("Step") if key.endswith(b"-Snapshot")]
    return sorted(int(key.removeprefix("Step").removesuffix("-Snapshot")) for key in keys)
