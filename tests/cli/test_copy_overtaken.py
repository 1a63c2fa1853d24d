"""stepstore copy that is stopped before one of its calls, while others copy to the same place."""

import json
import subprocess
import sys

import pytest
from copies import contents, healthy
from stepstore import _core
from stepstore.copying import pools
from stepstore.copying.task import Options, Place, Report
from stepstore.kinds import MARK_HI
from stepstore.errors import DER_BUSY, DER_EXIST, DER_NO_HDL, Error
from stepstore.key_value import KeyValue
from stepstore.store import Pool

LEASE_CALLS = ("look", "take_as_seen", "say", "still_held", "remove")
CALLS = (
    "get",
    "put",
    "put_if",
    "remove",
    "remove_if",
    "keys_below",
    "raw_keys",
    "__getitem__",
    "__setitem__",
)


@pytest.fixture
def overtaken(monkeypatch):
    """overtaken(at, others, operation): before the operation's call number `at` the others' work is done.
    False: it has not so many calls."""
    state = {"left": None, "others": None}

    def counted(of, name):
        real = getattr(of, name)

        def call(self, *arguments, **options):
            if state["others"] and state["left"] == 0:
                others, state["others"] = state["others"], None
                others()
            elif state["others"]:
                state["left"] -= 1
            return real(self, *arguments, **options)

        return call

    for of, names in ((KeyValue, CALLS), (_core.Lease, LEASE_CALLS)):
        for name in names:
            monkeypatch.setattr(of, name, counted(of, name))

    def run(at, others, operation):
        state.update(left=at, others=others)
        try:
            operation()
        finally:
            came = state["others"] is None
            state["others"] = None
        return came

    return run


ANOTHER = """
import json, sys
from stepstore.copying import pools
from stepstore.copying.containers import Options, Place, Report
from stepstore.errors import Error
for line in sys.stdin:
    source, target, label, take_over = json.loads(line)
    ended = True
    try:
        pools.copy(Place(source, label), Place(target, label), Options(take_over=take_over), Report())
    except Error as error:
        ended = error.code
    print(json.dumps(ended), flush=True)
"""


@pytest.fixture
def another():
    """another(source, target, label, take_over): another process makes this copy. As result()."""
    child = subprocess.Popen(
        [sys.executable, "-c", ANOTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def copy(source, target, label, take_over=False):
        child.stdin.write(json.dumps([str(source), target, label, take_over]) + "\n")
        child.stdin.flush()
        return json.loads(child.stdout.readline())

    yield copy
    child.communicate()


def result(work):
    """True: it succeeded; else the error's code."""
    try:
        work()
    except Error as error:
        return error.code
    return True


def make(cli, name, value):
    where = cli.directory / name
    Pool.create(where, targets=2)
    with Pool.connect(where) as pool, pool.create_container("box") as box, box.key_value(1) as values:
        values["whose"] = value
    return where


def unmarked(found):
    return {oid: what for oid, what in found.items() if int(oid.partition(".")[0]) & 0xFFFFFFFF != MARK_HI}


@pytest.mark.parametrize("of_whole_pools", [False, True])
def test_of_two_copies_to_one_place_at_most_one_succeeds(cli, overtaken, another, of_whole_pools):
    sources = [make(cli, "a", b"a"), make(cli, "b", b"b")]
    label = "" if of_whole_pools else "box"
    for at in range(1000):
        target = str(cli.directory / f"q{at}")

        def copy(source, target=target):
            pools.copy(Place(str(source), label), Place(target, label), Options(), Report())

        ended = {}

        def others(ended=ended, target=target):
            ended["b"] = another(sources[1], target, label)

        def operation(ended=ended, copy=copy):
            ended["a"] = result(lambda: copy(sources[0]))

        if not overtaken(at, others, operation):
            break
        assert list(ended.values()).count(True) <= 1, (at, ended)
        # DER_NO_HDL: the other copy ended, and with it the container of the marks.
        assert set(ended.values()) <= {True, DER_BUSY, DER_EXIST, DER_NO_HDL}, (at, ended)
        for name, source in zip("ab", sources, strict=True):
            if ended[name] is True:
                assert unmarked(contents(target, "box")) == contents(source, "box"), (at, ended)
                with Pool.connect(target, read_only=True) as pool:
                    assert "stepstore-copying" not in pool.containers() or not of_whole_pools
        if at % 8 == 0:
            healthy(cli, target)
    assert at > 5


def test_a_copy_that_was_taken_over_from_ends_with_an_error(cli, overtaken, another):
    """Of one source, so that both write the same: with --take-over the second one goes on."""
    source = make(cli, "a", b"a")
    options = Options(take_over=True)
    taken_over = 0
    for at in range(1000):
        target = str(cli.directory / f"q{at}")

        report = Report()

        def copy(target=target, report=report):
            pools.copy(Place(str(source), "box"), Place(target, "box"), options, report)

        ended = {}

        def others(ended=ended, target=target):
            ended["b"] = another(source, target, "box", take_over=True)

        def operation(ended=ended, copy=copy, report=report):
            ended["a"] = result(copy)
            if report.complete:  # the other one had ended before this one began
                ended["a"] = "complete"

        if not overtaken(at, others, operation):
            break
        assert list(ended.values()).count(True) == 1, (at, ended)
        taken_over += ended["b"] is True and ended["a"] == DER_BUSY
        assert unmarked(contents(target, "box")) == contents(source, "box")
        with Pool.connect(source, read_only=True) as pool, pool.open_container("box", read_only=True) as box:
            assert box.snapshots() == []
    assert taken_over > 3


def test_a_refused_copy_leaves_a_finished_one_finished(cli):
    make(cli, "a", b"a")
    make(cli, "b", b"b")
    cli("copy", "a", "q")
    assert "complete already" in cli("copy", "a", "q").out
    cli.fails("copy", "b", "q", code=1, says=("it has the containers box", "DER_EXIST"))
    listed = cli("ls", "q")
    assert "stepstore-copying" not in listed.out and "unfinished" not in listed.err
    cli("copy", "q", "r")
    assert contents(cli.directory / "r", "box") == contents(cli.directory / "a", "box")
    cli.fails("copy", "b/box", "q/box", code=1, says="DER_EXIST")
    assert "unfinished" not in cli("ls", "q/box").err
