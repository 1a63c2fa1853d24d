"""A pool of each test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import stepstore


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[stepstore.Pool]:
    stepstore.Pool.create(tmp_path / "p", targets=4)
    with stepstore.Pool.connect(tmp_path / "p") as opened:
        yield opened


@pytest.fixture
def box(pool: stepstore.Pool) -> Iterator[stepstore.Container]:
    with pool.create_container("box") as container:
        yield container
