"""A codec pipeline of zarr-python for many small chunks in a stepstore.zarr.Store. ::

    with stepstore.zarr.direct_calls():
        array = zarr.open_array(stepstore.zarr.Store("out/run.pool"))

zarr's own pipeline makes some ten tasks of an event loop for each chunk, which take several times as long as
the store. This one calls codecs and store directly, one chunk after the other, where all of these hold:

- the store is one of ours, and has the calls without an event loop;
- a chunk has at most 64 KiB in memory, so that nothing gains from a second thread;
- each codec has such calls too (zarr's do), and none reads parts of a chunk (sharding).

zarr 3.4 has a pipeline that makes such calls too, and gives each chunk to a pool of threads. There this one
extends that one, and leaves the threads out for small chunks. Everything else goes to the pipeline of zarr
that this one extends.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from typing import Any

from zarr.core import codec_pipeline
from zarr.core.codec_pipeline import BatchedCodecPipeline, fill_value_or_default
from zarr.registry import register_pipeline
from zarr.storage import StorePath

from stepstore.blobs.zarr import Store

_LARGEST = 64 << 10
_TOGETHER = 256  # chunks, after which other tasks have their turn

# What zarr hands over for a chunk: its place in the store, its spec, the selections of chunk and array, and
# whether all of the chunk is meant.
_Chunk = tuple[Any, Any, Any, Any, bool]


_FUSED = hasattr(codec_pipeline, "FusedCodecPipeline")  # since zarr 3.4
_ZarrPipeline: Any = getattr(codec_pipeline, "FusedCodecPipeline", BatchedCodecPipeline)


class Pipeline(_ZarrPipeline):  # type: ignore[misc]
    """See the top of this module."""

    async def read(self, batch_info: Iterable[_Chunk], out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
        chunks = list(batch_info)
        if not self._goes_directly(chunks):
            return await super().read(chunks, out, drop_axes)
        if _FUSED:
            return await asyncio.to_thread(self.read_sync, chunks, out, drop_axes)
        for at, (place, spec, chunk_selection, out_selection, _) in enumerate(chunks):
            found = self._decoded(place, spec)
            if found is None:
                out[out_selection] = fill_value_or_default(spec)
            else:
                part = found[chunk_selection]
                out[out_selection] = part.squeeze(axis=drop_axes) if drop_axes else part
            if at % _TOGETHER == _TOGETHER - 1:
                await asyncio.sleep(0)

    async def write(self, batch_info: Iterable[_Chunk], value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        chunks = list(batch_info)
        if not self._goes_directly(chunks):
            await super().write(chunks, value, drop_axes)
            return
        if _FUSED:
            await asyncio.to_thread(self.write_sync, chunks, value, drop_axes)
            return
        for at, (place, spec, chunk_selection, out_selection, whole) in enumerate(chunks):
            old = None if whole else self._decoded(place, spec)
            new = self._merge_chunk_array(old, value, out_selection, spec, chunk_selection, whole, drop_axes)
            if not spec.config.write_empty_chunks and new.all_equal(fill_value_or_default(spec)):
                place.store.delete_sync(place.path)
            else:
                self._put(place, spec, new)
            if at % _TOGETHER == _TOGETHER - 1:
                await asyncio.sleep(0)

    def _goes_directly(self, chunks: list[_Chunk]) -> bool:
        if not chunks or self.supports_partial_decode or self.supports_partial_encode:
            return False
        if not all(hasattr(codec, "_decode_sync") and hasattr(codec, "_encode_sync") for codec in self):
            return False
        return all(
            isinstance(place, StorePath)
            and isinstance(place.store, Store)
            and math.prod(spec.shape) * spec.dtype.to_native_dtype().itemsize <= _LARGEST
            for place, spec, *_ in chunks
        )

    def _specs(self, spec: Any) -> list[tuple[Any, Any]]:
        """The codecs, each with the spec of what it encodes."""
        found: list[tuple[Any, Any]] = []
        for codec in self:
            found.append((codec, spec))
            spec = codec.resolve_metadata(spec)
        return found

    def _decoded(self, place: Any, spec: Any) -> Any:
        """None: there is no such chunk."""
        data: Any = place.store.get_sync(place.path, prototype=spec.prototype)
        if data is not None:
            for codec, seen in reversed(self._specs(spec)):
                data = codec._decode_sync(data, seen)
        return data

    def _put(self, place: Any, spec: Any, value: Any) -> None:
        data = value
        for codec, seen in self._specs(spec):
            if (data := codec._encode_sync(data, seen)) is None:
                place.store.delete_sync(place.path)
                return
        place.store.set_sync(place.path, data)


register_pipeline(Pipeline)
NAME = f"{Pipeline.__module__}.{Pipeline.__qualname__}"
