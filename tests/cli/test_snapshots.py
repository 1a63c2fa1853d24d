"""stepstore snapshot, and --snapshot of the commands that look."""

import pytest
import stepstore
from conftest import object_names


def change(pool):
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        with box.key_value(1) as values:
            values["plain"] = b"changed"
            values["later"] = b"new"
        with box.open_array(2) as array:
            array.write(10, b"\xee" * 40)
        with box.key_value(3) as other:
            other["x"] = b"y"


def test_a_snapshot_keeps_what_was(cli, pool):
    made = cli("snapshot", "create", "./p/box", "--name", "before", "--json").json
    assert made["name"] == "before"
    change(pool)
    names = object_names(cli, "./p/box")
    with (
        stepstore.Pool.connect(pool, read_only=True) as opened,
        opened.open_container("box", read_only=True) as box,
    ):
        key_value = str(box.object_id(1, kind="key_value"))
    location = f"./p/box/{key_value}"
    assert cli("cat", f"{location}/plain").raw == b"changed"
    assert cli("cat", f"{location}/plain", "--snapshot", "before").raw == b"hello"
    assert cli("cat", f"{location}/plain", "--snapshot", made["epoch"]).raw == b"hello"
    cli.fails("cat", f"{location}/later", "--snapshot", "before", code=3, says="later")
    keys = {k["key"] for k in cli("ls", location, "--snapshot", "before", "--json").json}
    assert "later" not in keys and "plain" in keys
    assert cli("cat", f"./p/box/{names['array']}", "--snapshot", "before").raw == b"\0" * 40 + bytes(
        range(40)
    )
    assert len(cli("ls", "./p/box", "--snapshot", "before", "--json").json) == 2
    assert len(cli("ls", "./p/box", "--json").json) == 3
    assert cli("stat", f"{location}/plain", "--snapshot", "before", "--json").json["size"] == 5


def test_list_and_destroy(cli, pool):
    first = cli("snapshot", "create", "./p/box", "--json").json["epoch"]
    second = cli("snapshot", "create", "./p/box", "--name", "two", "--json").json["epoch"]
    assert first < second
    found = cli("snapshot", "list", "./p/box", "--json").json
    assert [(s["epoch"], s["name"]) for s in found] == [(first, ""), (second, "two")]
    assert "two" in cli("snapshot", "list", "./p/box").out
    cli.fails("snapshot", "destroy", "./p/box", "two", code=2, says="--yes")
    cli("snapshot", "destroy", "./p/box", "two", "--yes")
    cli("snapshot", "destroy", "./p/box", first, "-y")
    assert cli("snapshot", "list", "./p/box", "--json").json == []


def test_a_snapshot_that_is_not_there(cli, pool):
    cli("snapshot", "create", "./p/box", "--name", "known")
    cli.fails("snapshot", "destroy", "./p/box", "other", "-y", code=3, says=("other", "known"))
    cli.fails("ls", "./p/box", "--snapshot", "other", code=3, says=("other", "known"))
    cli.fails("snapshot", "list", "./p/none", code=3, says="none")


def test_snapshot_where_it_makes_no_sense(cli, pool):
    cli.fails("ls", "./p", "--snapshot", "x", code=2, says="CONTAINER")
    cli.fails("snapshot", "create", "./p", code=2, says="CONTAINER")


def test_old_steps_of_a_stream_are_forgotten(cli, snapshot_stream):
    assert len(cli("snapshot", "list", "./s/default", "--json").json) == 4
    cli.fails("snapshot", "aggregate", "./s", "--keep", "1", code=2, says="--yes")
    cli.fails("snapshot", "aggregate", "./s", "--keep", "0", "-y", code=2)
    done = cli("snapshot", "aggregate", "./s", "--keep", "1", "-y", "--json").json
    assert "complete already" in cli("snapshot", "aggregate", "./s", "--keep", "1", "-y").out
    assert done == {"removed": 3, "first": 3, "steps": 4}
    assert len(cli("snapshot", "list", "./s/default", "--json").json) == 1
    shown = cli("steps", "./s").out
    assert "steps by snapshot" in shown and "steps 0 to 2 are gone" in shown
    assert cli("steps", "./s", "--json").json["first"] == 3
    assert "314" in cli("steps", "./s", "field", "-d", "--steps", "3").out
    cli.fails("steps", "./s", "field", "-d", "--steps", "1", code=3, says="step 1 is gone")
    assert cli("pool", "check", "./s").out
    assert "SNAPSHOT" in cli("steps", "./s", "--profile").out


def test_python_forgets_old_steps(snapshot_stream):
    done = stepstore.steps.aggregate(snapshot_stream, 2)
    assert (done.removed, done.first, done.steps) == (2, 2, 4)
    with stepstore.open_steps(snapshot_stream) as steps:
        assert (len(steps), steps.first) == (4, 2)
        assert steps.available_steps("field") == [2, 3]
        assert steps.describe()["step_mode"] == "snapshot"
        assert steps.read("field", step=2)[0, 1] == 201
        with pytest.raises(stepstore.Error, match="step 0 is gone") as failed:
            steps.read("field", step=0)
        assert failed.value.name == "DER_EP_OLD"
    with stepstore.open_steps(snapshot_stream, stream=True) as steps:
        assert list(steps.follow(timeout=0)) == [2, 3]
    with pytest.raises(stepstore.Error, match="at least one"):
        stepstore.steps.aggregate(snapshot_stream, 0)


def test_only_streams_with_snapshots_forget_steps(cli, stream):
    cli.fails("snapshot", "aggregate", stream, "--keep", "1", "-y", code=1, says="Steps=extend")
