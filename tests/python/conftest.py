"""A pool of each test's own."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import stepstore

sys.path.append(str(Path(__file__).parents[1] / "support"))


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[stepstore.Pool]:
    """With STEPSTORE_TEST_RADOS on Ceph, with STEPSTORE_TEST_SHARED in files."""
    ceph_pool = os.environ.get("STEPSTORE_TEST_RADOS")
    location = str(tmp_path / "p")
    if ceph_pool:
        location = f"rados://{ceph_pool}/{uuid.uuid4()}"
    elif "STEPSTORE_TEST_SHARED" in os.environ:
        location = f"shared:{location}"
    stepstore.Pool.create(location, targets=4)
    with stepstore.Pool.connect(location) as opened:
        yield opened


@pytest.fixture
def box(pool: stepstore.Pool) -> Iterator[stepstore.Container]:
    with pool.create_container("box") as container:
        yield container
