"""Streams whose steps lie in one place, each kept by a snapshot of the container (Steps=snapshot).

The metadata objects of each step are copied as they were at the step's snapshot. Then the destination makes a
snapshot of its own, and the step's key gets its epoch. In the end the objects are copied as they are now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepstore import _core
from stepstore.copying.objects import (
    Moved,
    compare_array,
    compare_key_value,
    copy_array,
    copy_key_value,
    differs,
)
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
        own = _of_segment(items, segment)
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


def compare(
    source: Container,
    then: Container,
    destination: Container,
    stream: Stream,
    items: list[Item],
    moved: Moved,
) -> None:
    """The steps of a copy that is there. DER_CSUM: the first difference."""
    for number, segment in enumerate(stream.told["segments"]):
        side = segment["side"]
        with (
            then.key_value(side, read_only=True) as old,
            destination.key_value(stream.new_id_of(number, side), read_only=True) as new,
        ):
            if _steps(old) != _steps(new):
                raise differs(f"stream {stream.name}", "the numbers of its steps")
            for step in _steps(old):
                (epoch, gone), (its, its_gone) = (
                    _core.step_snapshot(one[_key(step)], step) for one in (old, new)
                )
                if gone != its_gone:
                    raise differs(f"stream {stream.name}", f"step {step}")
                if not gone:
                    with source.at_snapshot(epoch) as before, destination.at_snapshot(its) as after:
                        for item in _of_segment(items, segment):
                            _compare_as_it_was(before, after, item, f"step {step} of {stream.name}", moved)


def _of_segment(items: list[Item], segment: dict[str, Any]) -> list[Item]:
    """What holds the metadata of each step after the other."""
    first, end = segment["first"], segment["first"] + segment["numbers"]
    return [
        item
        for item in items
        if item.over and user_half(item.source) == STEPS_HI and first <= item.source.lo < end
    ]


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


def _compare_as_it_was(source: Container, copy: Container, item: Item, what: str, moved: Moved) -> None:
    if type_of(item.source) == "key_value":
        with (
            source.key_value(item.source, read_only=True) as old,
            copy.key_value(item.destination, read_only=True) as new,
        ):
            compare_key_value(old._handle, new._handle, item.keep, what, moved)
    else:
        with (
            open_copied(source, item, item.source) as array,
            open_copied(copy, item, item.destination) as its,
        ):
            compare_array(array, its, what, moved)


def _key(step: int) -> str:
    return f"Step{step}-Snapshot"


def _steps(side: KeyValue) -> list[int]:
    keys = [key.decode() for key in side.keys_below("Step") if key.endswith(b"-Snapshot")]
    return sorted(int(key.removeprefix("Step").removesuffix("-Snapshot")) for key in keys)
