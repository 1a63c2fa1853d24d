"""Zarr on objects. The store itself is in stepstore.blobs.zarr, the quick way through it in zarr_pipeline."""

from __future__ import annotations

from typing import Any

from stepstore.blobs.zarr import Store

__all__ = ["Store", "direct_calls"]


def direct_calls() -> Any:
    """Let arrays that are opened from now on call codecs and store without tasks of an event loop.

    This holds for chunks of at most 64 KiB in a Store of ours. Reading and writing many of them takes a
    fraction of the time then. In a `with`, only arrays that are opened inside are affected.

    Returns
    -------
    context manager
        What zarr.config.set returns.
    """
    import zarr

    from stepstore.blobs.zarr_pipeline import NAME

    return zarr.config.set({"codec_pipeline.path": NAME})
