"""Python reads locations as C++ does: with the same grammar, by the same table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import stepstore
from stepstore import _core

TABLE = Path(__file__).resolve().parents[1] / "location/table.txt"


def rows() -> list[tuple[str, str]]:
    lines = [line for line in TABLE.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return [(one.strip(), told.strip()) for one, _, told in (line.partition("|") for line in lines)]


def told(location: str) -> str:
    parts = _core.parse_location(location)
    if not parts.is_path:
        return f"network {parts.pool} {parts.rest or '-'}"
    if parts.label:
        return f"label {parts.label} {parts.rest or '-'}"
    kind = "local" if parts.after_local else parts.scheme.rstrip(":") or "path"
    return f"{kind} {parts.path}"


@pytest.mark.parametrize(("location", "expected"), rows())
def test_each_row_of_the_table(location: str, expected: str) -> None:
    what, _, names = expected.partition(" = ")
    if what.startswith("bad "):
        with pytest.raises(stepstore.Error, match=what.removeprefix("bad ")) as refused:
            told(location)
        assert refused.value.name == "DER_INVAL"
        return
    assert told(location) == what
    rest = _core.parse_location(location).rest
    if names.startswith("bad "):
        with pytest.raises(stepstore.Error, match="'.' or '..' part"):
            _core.parse_names(rest, location)
    elif names:
        container, stream = _core.parse_names(rest, location)
        assert f"{container or 'default'} {stream or 'main'}" == names


def test_the_table_is_there() -> None:
    assert len(rows()) > 40


def test_capabilities() -> None:
    assert _core.capabilities("run").directory
    assert not _core.capabilities("daos://tank").own_store
    assert _core.capabilities("stepstore://rados://pool").keeps_copies


def test_objects() -> None:
    assert _core.parse_object("1.2/a%2f/b/") == (1, 2, "a%2f/b/")
    assert _core.parse_object("1.2") == (1, 2, None)
    assert _core.parse_object("main") is None
    with pytest.raises(stepstore.Error, match="below 2"):
        _core.parse_object(f"{1 << 64}.0")


def test_what_lies_there(pool: stepstore.Pool) -> None:
    found, rest, _ = _core.find_pool(f"{pool.location}/box/1.2/key/")
    assert (found, rest) == (pool.location, "box/1.2/key/")
    assert _core.absolute_location(found) == found


def test_an_absolute_location_needs_no_working_directory(pool: stepstore.Pool, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    before = Path.cwd()
    try:
        os.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        assert stepstore.Pool.connect(pool.location).location == pool.location
    finally:
        os.chdir(before)
