"""The mark of a copy that is not whole yet, in the container that it goes to.

1. The mark is put before anything else, on the condition that there is none: from which source, at which
   snapshot, with which numbers. Then the copy looks once more whether there is something to overwrite.
2. Each object is noted when it is copied, an array also up to where. What dies goes on there.
3. What makes the copy valid is put last: records of streams, the root's entry of a dataset. Then the mark
   says "published", the source's snapshot is destroyed, and the mark is removed.

So a container with a mark is not a whole copy. `ls` and `stat` say so. The mark is a lease
(src/client/lease.h): the state of the copy is its note. So of two copies to one place at most one succeeds,
and one that was stopped, and taken over from, ends with an error.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NoReturn

from stepstore import _core
from stepstore.errors import DER_BUSY, DER_CSUM, DER_EXIST, Error
from stepstore.kinds import MARK_HI
from stepstore.store import Container, ObjectId, Pool

MARKS = "stepstore-copying"  # the container of the marks of copies to a pool


def mark_id(container: Container) -> ObjectId:
    return container.object_id(0, MARK_HI, object_class="S1")


def unfinished(container: Container) -> list[dict[str, Any]]:
    """The copies to this container that are not whole."""
    with container.key_value(mark_id(container), read_only=True) as values:
        return [decode_state(_core.decode_lease(values[key])) for key in values.keys_below("copy/")]


def decode_state(lease: _core.SeenLease) -> dict[str, Any]:
    """What a mark says. A user who may write in the destination's pool may put any bytes there: nothing is
    believed but its form."""
    try:
        state = json.loads(lease.note)
        sound = (
            isinstance(state, dict)
            and _are({"id": str, "text": str}, state.get("source"))
            and isinstance(state.get("name"), str)
            and isinstance(state.get("phase", ""), str)
            and _is_number(state.get("epoch", 0))
            and _is_number(state.get("begun", 0))
            and _is_number(state.get("replaces", 0))
            and _all(_is_number, state.get("steps", {}))
            and _all(
                lambda firsts: isinstance(firsts, list) and all(map(_is_number, firsts)),
                state.get("firsts", {}),
            )
        )
    except (ValueError, RecursionError):
        sound = False
    if not sound:
        raise Error(
            DER_CSUM,
            "the mark of an unfinished copy is damaged, or of another version: remove what was copied, and "
            "begin again",
        )
    return dict(state)


def _are(kinds: dict[str, type], value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), kind) for name, kind in kinds.items())


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 64


def _all(sound: Callable[[Any], bool], value: Any) -> bool:
    return isinstance(value, dict) and all(map(sound, value.values()))


def is_unfinished(pool: Pool) -> bool:
    """Whether a copy to the pool as a whole is not whole."""
    if MARKS not in pool.containers():
        return False
    with pool.open_container(MARKS, read_only=True) as container:
        return bool(unfinished(container))


def drop_marks(pool: Pool) -> None:
    """Removes the container of a pool's marks, if it has none."""
    if MARKS in pool.containers() and not is_unfinished(pool):
        pool.destroy_container(MARKS)


class Mark:
    """name: of the stream or object that is copied; "": the whole container."""

    def __init__(self, container: Container, name: str, where: str):
        self._values = container.key_value(mark_id(container))
        self._name, self._where = name, where
        self._lease = _core.Lease(container._handle, mark_id(container), f"copy/{name}")
        self._held = self._found = False
        self.state: dict[str, Any] = {}
        self._notes: dict[str, str] = {}
        self._seen = time.monotonic()

    def close(self) -> None:
        """An unfinished copy may go on in any process then."""
        self._lease.close()
        self._values.close()

    def find(self, source: dict[str, str], take_over: bool, *, only_look: bool = False) -> bool:
        """Whether this copy was begun before; then it is this process's from now on, or only_look. Error
        DER_EXIST: the copy of something else was begun there; DER_BUSY: another process is at work."""
        found = self._lease.look()
        if found is None:
            return False
        self._found = True
        self.state = decode_state(found)
        if self.state["source"]["id"] != source["id"]:
            raise Error(
                DER_EXIST,
                f"copy {source['text']} to {self._where}: there is an unfinished copy of "
                f"{self.state['source']['text']}: finish it, or remove it, or give another destination",
            )
        if not (found.free or take_over):
            raise Error(
                DER_BUSY,
                f"copy {source['text']} to {self._where}: process {found.process} copies this already, "
                "or ran on another machine: wait for it; if it is dead, give --take-over",
            )
        for key in self._values.keys_below(f"done/{self._name}/"):
            oid = key.decode().removeprefix(f"done/{self._name}/")
            if "/" not in oid:  # else it is of another stream
                self._notes[oid] = self._values[key].decode()
        if not only_look:
            self.put(source=source)
        return True

    def take(self, take_over: bool) -> bool:
        """find(), whatever the source was."""
        found = self._lease.look()
        return found is not None and self.find(decode_state(found)["source"], take_over)

    def begin(self, refuse: Callable[[], None], **state: Any) -> None:
        """Puts a new mark. refuse: throws where there is something that must not be overwritten. The caller
        has asked it before, so that a copy that is refused puts no mark. But another copy may have ended in
        between."""
        self.put(**state, begun=int(time.time()))
        try:
            refuse()
        except Error:
            self.remove()
            self.state = {}
            raise

    def put(self, **more: Any) -> None:
        """Error DER_BUSY: another process has begun a copy to this place, or has taken this one over."""
        before, self.state = self.state, self.state | more | {"name": self._name}  # also if it is in doubt
        put = self._lease.say if self._held else self._lease.take_as_seen
        if not put(json.dumps(self.state).encode()):
            self.state = before
            self._lost()
        self._held = True
        if not self._found and (beside := self._beside()):
            self._lease.remove()
            self._held, self.state = False, before
            raise Error(
                DER_BUSY, f"copy to {self._where}: a copy to {beside} is under way or unfinished: finish that"
            )
        self._found = True

    def _beside(self) -> str:
        """Another copy that the container has: of its own, or of all of it. Both put their mark first."""
        for key in self._values.keys_below("copy/"):
            other = key.decode().removeprefix("copy/")
            if other != self._name and not (other and self._name):
                return f"its part {other}" if other else "the whole container"
        return ""

    def require_mine(self) -> None:
        if not self._lease.still_held():
            self._lost()
        self._seen = time.monotonic()

    def look(self) -> None:
        """require_mine, where the last look is long ago: so this process may have been stopped since."""
        if time.monotonic() - self._seen > 1:
            self.require_mine()

    def _lost(self) -> NoReturn:
        found = self._lease.look()
        by = f"process {found.process} copies" if found else "another process has copied"
        raise Error(DER_BUSY, f"copy to {self._where}: {by} to this place: look at it, or give another one")

    # ---- objects: "verified", "copied", or up to which cell
    def note(self, oid: ObjectId | str, state: str) -> None:
        self.look()
        self._values.put(f"done/{self._name}/{oid}", state)
        self._notes[str(oid)] = state

    def noted(self, oid: ObjectId | str) -> str:
        return self._notes.get(str(oid), "")

    def forget(self, oid: ObjectId) -> None:
        self._values.remove(f"done/{self._name}/{oid}")
        self._notes.pop(str(oid), None)

    def remove(self) -> None:
        for oid in list(self._notes):
            self._values.remove(f"done/{self._name}/{oid}")
        if not self._lease.remove():
            self._lost()
        self._held = False
