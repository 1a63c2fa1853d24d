"""Copies a container, a stream of steps, or one object. mark.py has the protocol."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from stepstore import _core
from stepstore.copying import datasets, file_systems, files, step_snapshots, user_attributes
from stepstore.copying.akeys import all_bytes, compare_akeys, copy_akeys
from stepstore.copying.mark import Mark, unfinished
from stepstore.copying.objects import compare_array, compare_key_value, copy_array, copy_key_value, differs
from stepstore.copying.plan import (
    NUMBERED,
    Item,
    Plan,
    Stream,
    item_of_object,
    items_of_container,
    items_of_stream,
    make_snapshot,
    objects_of,
    open_copied,
    refuse_akeys,
    refuse_too_wide,
    stream_record,
)
from stepstore.copying.task import Options, Place, Report
from stepstore.errors import (
    DER_BUSY,
    DER_CSUM,
    DER_EXIST,
    DER_INVAL,
    DER_NO_PERM,
    DER_NONEXIST,
    Error,
    is_in_doubt,
)
from stepstore.kinds import LEASES_HI, MARK_HI, STREAMS_HI, dataset_record, stream_names, type_of, user_half
from stepstore.steps import open_steps
from stepstore.store import Container, ObjectId, Pool

_FIRST_RANDOM_NUMBER = 1 << 63  # of files that were made in a copy without a counter: docs/design/dfs.md
_LONGEST_PART = 60  # bytes of a stream's name in a snapshot's


def connect_source(location: str, report: Report) -> tuple[Pool, bool]:
    """Open for writing where that is allowed: only so a snapshot can be made of what is copied."""
    why = "cannot be written"
    try:
        pool = Pool.connect(location)
        if _core.capabilities(pool.location).versions:
            return pool, True
        pool.close()
        why = "is a pool in files"
    except Error as error:
        if error.code != DER_NO_PERM:
            raise
    report.note(
        f"{location} {why}, so no snapshot is made of it: "
        "what is written there meanwhile may be copied in part"
    )
    return Pool.connect(location, read_only=True), False


@dataclass
class ContainerCopy:
    source: Place
    destination: Place
    options: Options
    report: Report
    _listed: list[ObjectId] | None = field(default=None, init=False)
    _files: file_systems.FileSystem | None = field(default=None, init=False)

    def run(self, source_pool: Pool, writable: bool, destination_pool: Pool | None) -> None:
        """destination_pool: None where it is still to be made, of a dry run."""
        with contextlib.ExitStack() as stack:
            self._from = stack.enter_context(
                source_pool.open_container(self.source.container, read_only=not writable)
            )
            self._frozen = writable
            if not self.source.part and unfinished(self._from):
                raise Error(
                    DER_BUSY,
                    f"copy {self.source}: it is itself an unfinished copy: finish that first, or copy from "
                    "where it comes from",
                )
            self._uuid = self._from._handle.uuid()
            self._files = None if self.source.part else file_systems.found(self._from)
            label = self.destination.container
            there = destination_pool is not None and label in destination_pool.containers()
            if destination_pool and (there or not self.options.dry_run):
                if (
                    not (self.options.dry_run or self.destination.part)
                    and dataset_record(self._from) is not None
                ):
                    stack.enter_context(datasets.claimed(destination_pool, label))
                self._to = stack.enter_context(
                    destination_pool.open_container(label)
                    if there
                    else file_systems.create(destination_pool, label, self._files)
                )
                file_systems.require_same(self._files, self._to, str(self.source), str(self.destination))
                self._mark = stack.enter_context(
                    contextlib.closing(Mark(self._to, self.destination.part, str(self.destination)))
                )
                try:
                    self._copy(destination_pool, is_new=not there)
                except Error:
                    if there or self._mark.state or objects_of(self._to):  # or another copy came meanwhile
                        raise
                    stack.close()  # nothing was copied: not even the container stays
                    destination_pool.destroy_container(label)
                    raise
            else:
                self._estimate(self._from)

    def is_complete(self, source_pool: Pool, writable: bool, destination_pool: Pool) -> bool:
        """Whether the destination's container is there, and holds the same. Nothing is changed."""
        label = self.destination.container
        if label not in destination_pool.containers():
            return False
        with (
            source_pool.open_container(self.source.container, read_only=not writable) as self._from,
            destination_pool.open_container(label, read_only=True) as self._to,
        ):
            self._frozen = writable
            self._files = file_systems.found(self._from)
            return file_systems.found(self._to) == self._files and self._is_complete(destination_pool)

    def _is_complete(self, destination_pool: Pool) -> bool:
        """All is compared, as after a copy."""
        if self.options.dry_run or not self.options.verify:
            return False
        with contextlib.suppress(Error), self._then({}) as then:
            state = {"firsts": dict(self._firsts_there(then))}
            plan = self._plan(then, self._to, state)
            if plan.dataset and not datasets.is_published(
                self.source.pool, self.source.container, destination_pool, self._to.label
            ):
                return False
            if any(stream_record(self._to, one.new_name) != self._moved(one) for one in plan.streams):
                return False
            if not self.destination.part and self._further_objects(plan):
                return False
            if not self.destination.part and user_attributes.differ(
                self.source, self._from, self.destination, self._to
            ):
                return False
            self._each(plan.items, lambda item: self._compare(then, item))
            if self._files:
                file_systems.compare_times(then, self._to, self._files)
            for stream in plan.streams:
                files.compare(stream, self.source, self.destination, self.report)
                if stream.told["in_place"]:
                    step_snapshots.compare(
                        self._from, then, self._to, stream, plan.items, self.report.was_compared
                    )
            return True
        return False

    def _firsts_there(self, then: Container) -> Iterator[tuple[str, list[int]]]:
        """Of each stream the numbers of its segments at the destination."""
        for one in self._streams(then, self._to, {}):
            if (record := stream_record(self._to, one.new_name)) is not None:
                segments = _core.stream_record(record, one.new_name)["segments"]
                if len(segments) == len(one.told["segments"]):
                    yield one.name, [segment["first"] for segment in segments]

    def _further_objects(self, plan: Plan) -> bool:
        mine = {item.destination for item in plan.items}
        ours = (MARK_HI, LEASES_HI, STREAMS_HI)
        return any(oid not in mine and user_half(oid) not in ours for oid in objects_of(self._to))

    # ---- a dry run
    def _estimate(self, destination: Container) -> None:
        with self._then({}) as then:
            self._count(then, self._plan(then, destination, {}).items)

    # ---- the real one
    def _copy(self, destination_pool: Pool, *, is_new: bool) -> None:
        self._refuse_itself()
        identity = {"id": f"{self._uuid}/{self.source.part}", "text": str(self.source)}
        found = self._mark.find(identity, self.options.take_over, only_look=self.options.dry_run)
        self.report.resumed |= found
        if not found and not is_new:
            try:
                self._refuse_to_overwrite()
            except Error:
                if not destination_pool or not self._is_complete(destination_pool):
                    raise
                self.report.complete = True
                return
        if self.options.dry_run:
            return self._estimate(self._to)
        if self._mark.state.get("phase") != "published":
            if not found:
                self._begin(identity)
            with self._then(self._mark.state) as then:
                plan = self._plan(then, self._to, self._mark.state)
                self._transfer(then, plan)
                self._keep_times(then)
                destination_pool.sync()
                self._publish(then, plan, destination_pool)
            self._mark.put(phase="published")
        self._destroy_snapshots([self._mark.state.get("epoch", 0)])
        self._mark.remove()
        destination_pool.sync()
        self.report.containers += not self.destination.part

    def _refuse_itself(self) -> None:
        same = self._to._handle.uuid() == self._uuid
        if same and self.source.part == self.destination.part:
            raise Error(
                DER_INVAL, f"copy {self.source} to {self.destination}: it is the same place: give another one"
            )

    def _refuse_to_overwrite(self) -> None:
        found = ""
        if self.destination.stream:
            if stream_record(self._to, self.destination.stream) is not None:
                found = "there is such a stream"
        elif self.destination.oid:
            if self.destination.oid in objects_of(self._to):
                found = "there is such an object"
        elif any(user_half(oid) not in (MARK_HI, LEASES_HI) for oid in objects_of(self._to)):
            found = "the container has objects"
        if found:
            raise Error(
                DER_EXIST,
                f"copy {self.source} to {self.destination}: {found}, and no unfinished copy of this source: "
                "give another destination, or remove what is there",
            )

    @property
    def _snapshot_tail(self) -> str:
        """The end of the names of all snapshots of copies to this place."""
        part = self.destination.part
        if len(part.encode()) > _LONGEST_PART:  # of names of 127 bytes
            part = hashlib.sha256(part.encode()).hexdigest()[:_LONGEST_PART]
        return f" to {self._to._handle.uuid()}/{part}"

    def _begin(self, identity: dict[str, str]) -> None:
        """Freezes the source, looks whether all can be copied, and only then puts the mark."""
        name = f"copying {os.urandom(4).hex()}{self._snapshot_tail}"
        epoch = make_snapshot(self._from, name, objects=True) if self._frozen else 0
        state: dict[str, Any] = {"epoch": epoch}
        try:
            with self._then(state) as then:
                plan = self._plan(then, self._to, state)
                streams = plan.streams
                if not _core.capabilities(self.destination.pool).own_store:
                    refuse_too_wide(self._to, plan.items, str(self.destination))
                state["steps"] = {one.name: one.steps for one in streams}
                state["firsts"] = {one.name: self._take_numbers(one) for one in streams}
                if not self.destination.part:
                    self._pass_numbers(self._counter_of_source(then))
            self._mark.begin(self._refuse_to_overwrite, source=identity, **state)
        except Error as error:
            # The mark may still come, and name it. A copy that finds no mark destroys it by its name.
            if not (self._mark.state and is_in_doubt(error)):
                self._destroy_snapshots([epoch])
            raise
        if self._frozen:  # left by copies that died before they put their mark, since now it is this one's
            self._destroy_snapshots(
                [
                    one.epoch
                    for one in self._from.snapshots()
                    if one.name.startswith("copying ")
                    and one.name.endswith(self._snapshot_tail)
                    and one.epoch != epoch
                ]
            )

    def _take_numbers(self, stream: Stream) -> list[int]:
        """Of the segments' objects at the destination. A whole container keeps its numbers: it is new."""
        segments = stream.told["segments"]
        if not self.destination.part:
            return [one["first"] for one in segments]
        self._pass_numbers(1 + max(one["generation"] for one in segments))
        return [self._to.allocate_oids(one["numbers"]) for one in segments]

    def _pass_numbers(self, end: int) -> None:
        """The destination gives out no number below `end` any more."""
        while (next_number := self._to.allocate_oids(1)) + 1 < end:
            self._to.allocate_oids(min(end - next_number - 1, 1 << 47))

    def _counter_of_source(self, then: Container) -> int:
        if self._frozen:
            return self._from.allocate_oids(1)
        numbered = (oid for oid in objects_of(then) if self._files or user_half(oid) in NUMBERED)
        return max((oid.lo for oid in numbered if oid.lo < _FIRST_RANDOM_NUMBER), default=0) + 1

    @contextlib.contextmanager
    def _then(self, state: dict[str, Any]) -> Iterator[Container]:
        """The source as it is copied: at its snapshot, if it can have one."""
        if not state.get("epoch", self._frozen):
            yield self._from
        elif "epoch" in state:
            try:
                then = self._from.at_snapshot(state["epoch"])
            except Error as error:
                if error.code != DER_NONEXIST:
                    raise
                raise Error(
                    DER_NONEXIST,
                    f"go on with the copy of {self.source} to {self.destination}: the snapshot that it was "
                    "made from is gone: remove what was copied, and begin again",
                ) from error
            with then:
                yield then
        else:
            epoch = self._from._handle.create_snapshot("", True)
            try:
                with self._from.at_snapshot(epoch) as then:
                    yield then
            finally:
                self._from.destroy_snapshot(epoch)

    def _destroy_snapshots(self, epochs: list[int]) -> None:
        if not any(epochs):
            return
        # Only this copy's own, whatever its mark says: others may write in the destination.
        # A DAOS system keeps no names.
        nameless = not _core.capabilities(self.source.pool).own_store
        for one in self._from.snapshots():
            named = one.name.startswith("copying ") and one.name.endswith(self._snapshot_tail)
            own = named or (nameless and not one.name)
            if one.epoch in epochs and own:
                with contextlib.suppress(Error):  # it is gone already
                    self._from.destroy_snapshot(one.epoch)

    # ---- what is copied
    def _objects(self, then: Container, state: dict[str, Any]) -> list[ObjectId]:
        """Those of a snapshot are listed once: a DAOS system asks for them in 1,024 parts."""
        if not state.get("epoch"):
            return objects_of(then)
        if self._listed is None:
            self._listed = objects_of(then)
        return self._listed

    def _plan(self, then: Container, destination: Container, state: dict[str, Any]) -> Plan:
        chunk, cell = self.options.chunk_size, self.options.cell_size
        plan = Plan(streams=self._streams(then, destination, state))
        if self.source.oid:
            objects = self._objects(then, state)
            plan.items = [item_of_object(then, self.source.oid, objects, chunk, cell)]
        elif self.source.stream:
            plan.items = items_of_stream(plan.streams[0], self._objects(then, state))
        else:
            plan.items = items_of_container(
                then, destination, self._objects(then, state), plan.streams, chunk, cell, self._chunks(then)
            )
            plan.dataset = dataset_record(then) is not None
        if not _core.capabilities(self.destination.pool).versions:
            objects = [item.source for item in plan.items]
            refuse_akeys(objects, str(self.source), str(self.destination))
        return plan

    def _chunks(self, then: Container) -> dict[ObjectId, int] | None:
        return file_systems.chunk_sizes(then, self._files) if self._files else None

    def _streams(self, then: Container, destination: Container, state: dict[str, Any]) -> list[Stream]:
        if self.source.oid:
            return []
        names = [self.source.stream] if self.source.stream else stream_names(then)
        return [self._stream(then, destination, name, state) for name in names]

    def _stream(self, then: Container, destination: Container, name: str, state: dict[str, Any]) -> Stream:
        record = stream_record(then, name)
        where = f"{self.source.pool}/{self.source.container}"
        if record is None:
            raise Error(
                DER_NONEXIST, f"{where} has no stream {name}: 'stepstore ls {where}' lists its streams"
            )
        told = _core.stream_record(record, f"{where}/{name}")
        if (steps := state.get("steps", {}).get(name)) is None:
            steps = told["steps"] if told["closed"] else self._count_steps(name, told, state)
        if not told["closed"]:
            self.report.note(
                f"{where}/{name} has not been ended by its writer: the {steps} steps are copied that were "
                "published when the copy began, and the copy is ended after them"
            )
        firsts = state.get("firsts", {}).get(name) or [one["first"] for one in told["segments"]]
        new_name = self.destination.stream or name
        return Stream(name, new_name, record, steps, told, firsts, destination)

    def _count_steps(self, name: str, told: dict[str, Any], state: dict[str, Any]) -> int:
        in_files = any(one["directory"] for one in told["segments"])
        epoch = 0 if in_files or not self._frozen else state.get("epoch", 0)
        with open_steps(f"{self.source.pool}/{self.source.container}/{name}", snapshot=epoch) as steps:
            return len(steps)

    def _count(self, then: Container, items: list[Item]) -> None:
        for item in items:
            self.report.objects += 1
            self.report.copied(self._size(then, item))

    # ---- the work
    def _size(self, container: Container, item: Item) -> int:
        """Bytes, of an array; those of other objects are not known before."""
        if type_of(item.source) in ("key_value", "object"):
            return 0
        with open_copied(container, item, item.source) as array:
            return int(array.size() * array.cell_size)

    def _transfer(self, then: Container, plan: Plan) -> None:
        passes = 2 if self.options.verify else 1
        for item in plan.items:
            if not self._mark.noted(item.source):
                self.report.expect(passes * self._size(then, item))
        for stream in plan.streams:
            if stream.told["in_place"]:
                step_snapshots.replay(self._from, then, self._to, stream, plan.items, self.report.copied)
            files.copy(stream, self.source, self.destination, self.options.verify, self.report)
        for makes_valid in (False, True):
            chosen = [item for item in plan.items if item.makes_valid == makes_valid]
            self._each(chosen, lambda item: self._copy_item(then, item))
            if self.options.verify:
                self._each(chosen, lambda item: self._compare_item(then, item))

    def _keep_times(self, then: Container) -> None:
        if self._files:
            file_systems.keep_times(then, self._to, self._files, self._mark.look)
            if self.options.verify:
                file_systems.compare_times(then, self._to, self._files)

    def _each(self, items: list[Item], work: Callable[[Item], None]) -> None:
        executor = ThreadPoolExecutor(self.options.threads)
        try:
            done, _ = wait([executor.submit(work, item) for item in items], return_when=FIRST_EXCEPTION)
            for one in done:
                one.result()
        except BaseException as error:
            self.report.stop()  # what is under way ends after its piece
            if not isinstance(error, Exception):  # an interrupt: what waits ends too
                _core.end_all_waits(True)
            raise
        finally:
            executor.shutdown(cancel_futures=True)
            _core.end_all_waits(False)

    def _copy_item(self, then: Container, item: Item) -> None:
        self._mark.look()
        noted = self._mark.noted(item.source)
        if noted in ("copied", "verified"):
            return
        if type_of(item.source) == "key_value":
            with (
                then.key_value(item.source, read_only=True) as old,
                self._to.key_value(item.destination) as new,
            ):
                copy_key_value(old._handle, new._handle, item.keep, self.report.copied)
        elif type_of(item.source) == "object":
            with (
                contextlib.closing(then._handle.object(item.source, True)) as akeys,
                contextlib.closing(self._to._handle.object(item.destination)) as made,
            ):
                copy_akeys(akeys, made, self.report.copied)
        else:
            self._copy_array(then, item, int(noted or 0))
        self._mark.note(item.source, "copied")
        with self.report._lock:
            self.report.objects += 1

    def _copy_array(self, then: Container, item: Item, begin: int) -> None:
        def note(cells: int) -> None:
            self._mark.note(item.source, str(cells))

        with (
            open_copied(then, item, item.source) as old,
            open_copied(self._to, item, item.destination, make=old) as new,
        ):
            copy_array(old, new, self.report.copied, begin, note, over=item.over)

    def _compare_item(self, then: Container, item: Item) -> None:
        if self._mark.noted(item.source) == "verified":
            return
        try:
            self._compare(then, item)
        except Error as error:
            if error.code == DER_CSUM:
                self._mark.forget(item.source)  # the next run copies it again
            raise
        self._mark.note(item.source, "verified")

    def _compare(self, then: Container, item: Item) -> None:
        what = f"object {item.source} of {self.source.container}"
        if type_of(item.source) == "key_value":
            old = then.key_value(item.source, read_only=True)
            with old, self._to.key_value(item.destination, read_only=True) as new:
                compare_key_value(old._handle, new._handle, item.keep, what, self.report.was_compared)
            return
        if type_of(item.source) == "object":
            with (
                contextlib.closing(then._handle.object(item.source, True)) as akeys,
                contextlib.closing(self._to._handle.object(item.destination, True)) as made,
            ):
                plain = file_systems.without_times if self._files else all_bytes
                compare_akeys(akeys, made, what, self.report.was_compared, plain)
            return
        with (
            open_copied(then, item, item.source) as array,
            open_copied(self._to, item, item.destination) as copied,
        ):
            compare_array(array, copied, what, self.report.was_compared)

    def _moved(self, stream: Stream) -> bytes:
        """The record of a stream at the destination."""
        return _core.moved_record(stream.record, self._to._handle, stream.firsts, stream.steps)

    def _publish(self, then: Container, plan: Plan, destination_pool: Pool) -> None:
        self._mark.require_mine()
        with self._to.key_value(self._to.object_id(0, STREAMS_HI)) as streams:
            for stream in plan.streams:
                record = self._moved(stream)
                if not streams.put_if(stream.new_name, record, None):
                    self._require_published(streams[stream.new_name], stream)
                elif self.options.verify and streams[stream.new_name] != record:
                    raise differs(f"the stream {stream.name}", "its record")
        self.report.streams += len(plan.streams)
        if not self.destination.part:
            user_attributes.copy(self.source, self._from, self.destination, self._to, self.report)
        if plan.dataset:
            datasets.publish(self.source.pool, self.source.container, destination_pool, self._to)

    def _require_published(self, record: bytes, stream: Stream) -> None:
        """The stream is there already: put by this copy before it died, and maybe appended to since."""
        told = _core.stream_record(record, str(self.destination))
        if told["segments"][0]["first"] != stream.firsts[0]:
            raise Error(
                DER_EXIST,
                f"copy {self.source} to {self.destination}: another program has made the stream "
                f"{stream.new_name} there meanwhile: give another destination, or remove that",
            )
