"""Snapshots and pools as context managers."""

from __future__ import annotations

import pytest
import stepstore
from stepstore.errors import DER_EXIST, DER_INVAL
from stepstore.store import Snapshot


def test_a_snapshot_is_closed_at_the_end_of_with(box):
    values = box.key_value(1)
    values["a"] = b"old"
    epoch = box.create_snapshot("before")
    values["a"] = b"new"
    for snapshot in ("before", epoch):
        with box.at_snapshot(snapshot) as then:
            assert then.key_value(1)["a"] == b"old"
            with pytest.raises(stepstore.Error):
                then.key_value(1)["a"] = b"no"
        assert then.closed
    assert values["a"] == b"new" and not box.closed


def test_a_snapshot_for_a_while(box):
    values = box.key_value(1)
    values["a"] = b"old"
    with box.snapshot() as now:
        values["a"] = b"new"
        assert dict(now.key_value(1)) == {"a": b"old"}
        assert len(box.snapshots()) == 1
    assert now.closed and box.snapshots() == []
    with box.snapshot("kept") as now:
        assert now.key_value(1)["a"] == b"new"
    assert [one.name for one in box.snapshots()] == ["kept"]
    with pytest.raises(RuntimeError, match="of the user"), box.snapshot():
        raise RuntimeError("of the user")
    assert [one.name for one in box.snapshots()] == ["kept"]


def test_a_name_is_given_once_and_never_guessed(box, monkeypatch):
    first = box.create_snapshot("name")
    with pytest.raises(stepstore.Error, match=f"at epoch {first}") as refused:
        box.create_snapshot("name")
    assert refused.value.code == DER_EXIST
    # As a pool may have them in which names were not unique.
    second = box.create_snapshot("other")
    old = [Snapshot(first, "name"), Snapshot(second, "name")]
    monkeypatch.setattr(box, "snapshots", lambda: old)
    for use in (box.destroy_snapshot, box.at_snapshot):
        with pytest.raises(stepstore.Error, match=f"{first}, {second}") as refused:
            use("name")
        assert refused.value.code == DER_INVAL
    box.destroy_snapshot(second)
    monkeypatch.undo()
    assert [one.epoch for one in box.snapshots()] == [first]


def test_a_pool_is_closed_at_the_end_of_with(tmp_path):
    stepstore.Pool.create(tmp_path / "q")
    with stepstore.Pool.connect(tmp_path / "q") as pool, pool.create_container("c") as container:
        container.key_value(1)["a"] = b"1"
        with pytest.raises(stepstore.Error, match="open in this process: close its handles first"):
            stepstore.Pool.destroy(tmp_path / "q")
        assert container.key_value(1)["a"] == b"1"
    assert pool.closed and container.closed
    stepstore.Pool.destroy(tmp_path / "q")
