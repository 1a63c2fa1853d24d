"""Zarr on objects: the public names of stepstore.blobs.zarr."""

from stepstore.blobs.zarr import Store, direct_calls

__all__ = ["Store", "direct_calls"]
