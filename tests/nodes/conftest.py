"""Beds for the tests of this folder: machines that share a CephFS, and machines that share a passthrough."""

from __future__ import annotations

from collections.abc import Iterator

import bed
import pytest
from rounds import ROUNDS


def started(kind: str, mounts: dict[str, tuple[str, ...]]) -> Iterator[bed.Bed]:
    reason = bed.why_not(kind)
    if reason:
        pytest.skip(reason)
    with bed.Bed(kind, mounts=mounts, life=max(900, 30 * ROUNDS)) as made:
        yield made


@pytest.fixture(scope="session")
def cephfs() -> Iterator[bed.Bed]:
    yield from started("cephfs", {"shared": bed.UNCACHED, "cached": bed.DEFAULT})


@pytest.fixture(scope="session")
def passthrough() -> Iterator[bed.Bed]:
    mounts = {
        "coherent": bed.COHERENT,
        "opens": bed.CLOSE_TO_OPEN,
        "attributes": ("timeout=1",),
        "forever": bed.INCOHERENT,
    }
    yield from started("passthrough", mounts)
