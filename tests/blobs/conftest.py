"""Pools for the tests of blobs, Zarr and fsspec."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import stepstore
from stepstore.blobs import Blobs, open_blobs


@pytest.fixture
def pool() -> Iterator[str]:
    """A pool of 4 targets, in memory where the machine has it; with STEPSTORE_TEST_RADOS on Ceph."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="stepstore-test-", dir=memory if memory.is_dir() else None)
    ceph_pool = os.environ.get("STEPSTORE_TEST_RADOS")
    path = f"rados://{ceph_pool}/{Path(folder).name}" if ceph_pool else f"{folder}/p"
    stepstore.Pool.create(path, targets=4)
    yield path
    shutil.rmtree(folder)


@pytest.fixture
def blobs(pool: str) -> Blobs:
    return open_blobs(pool, "box")
