"""Blobs, folders of them, and the Zarr groups and arrays that they are."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from stepstore.buffers import decode_key, encode_key
from stepstore.errors import DER_INVAL, DER_NONEXIST, DER_NOSYS, Error
from stepstore.kinds import ZARR_METADATA, zarr_node
from stepstore.view.node import Inside, Node

_CHUNK = re.compile(r"c|\d+(\.\d+)*")  # the first part of the keys of chunks


class BlobNode(Node):
    kind = "blob"

    def __init__(self, inside: Inside, key: str, name: str):
        super().__init__(name, f"{inside.place}/{key}")
        self._inside, self.key = inside, key

    def _info(self) -> tuple[int, int, int]:
        found = self._inside.blobs.info(encode_key(self.key))
        if found is None:
            raise Error(DER_NONEXIST, f"{self.location}: the blob was removed")
        return found

    def facts(self) -> dict[str, Any]:
        size, modified, _ = self._info()
        return {"size": size, "modified": modified / 1e9}

    def used(self) -> int:
        return self._info()[0]

    def data(self) -> Any:
        found = self._inside.blobs.read(encode_key(self.key), 0, None)
        if found is None:
            raise Error(DER_NONEXIST, f"{self.location}: the blob was removed")
        return found


class FolderNode(Node):
    """A folder of blobs, which may be a Zarr group or array. key: "" is the container itself."""

    def __init__(self, inside: Inside, key: str, name: str):
        super().__init__(name, f"{inside.place}/{key}".rstrip("/"))
        self._inside, self.key = inside, key
        self._below = f"{key}/" if key else ""

    @functools.cached_property
    def _node(self) -> tuple[str, dict[str, Any]] | Error:
        try:
            return zarr_node(self._inside.blobs, self._below) or ("folder", {})
        except Error as error:
            return error

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "folder" if isinstance(self._node, Error) else self._node[0]

    @property
    def _metadata(self) -> dict[str, Any]:
        if isinstance(self._node, Error):
            raise self._node
        return self._node[1]

    def facts(self) -> dict[str, Any]:
        metadata = self._metadata
        if self.kind == "folder":
            return {}
        told: dict[str, Any] = {}
        if self.kind == "zarr_array":
            told = self._of_array(metadata)
        version = metadata.get("zarr_format")
        told["zarr_format"] = version if isinstance(version, int) else None
        return told

    def _of_array(self, metadata: dict[str, Any]) -> dict[str, Any]:
        dtype, shape = metadata.get("data_type", metadata.get("dtype")), metadata.get("shape")
        if isinstance(dtype, dict):
            dtype = dtype.get("name")
        if not isinstance(shape, list) or any(not isinstance(one, int) or one < 0 for one in shape):
            raise Error(DER_INVAL, f"{self.location}: the metadata of this Zarr array have no shape")
        told: dict[str, Any] = {"dtype": str(dtype), "shape": shape}
        try:
            known = np.dtype(dtype)
            told |= {"dtype": str(known), "bytes": math.prod(shape) * known.itemsize}
        except (TypeError, ValueError):
            pass  # a type that only Zarr knows
        grid = metadata.get("chunk_grid")
        chunks = metadata.get("chunks")
        if isinstance(grid, dict) and isinstance(grid.get("configuration"), dict):
            chunks = grid["configuration"].get("chunk_shape")
        if isinstance(chunks, list):
            told["chunks"] = chunks
        if isinstance(metadata.get("dimension_names"), list):
            told["dimension_names"] = metadata["dimension_names"]
        return told

    def attributes(self) -> dict[str, Any]:
        found = self._metadata.get("attributes")
        return found if isinstance(found, dict) else {}

    def children(self, everything: bool = False) -> Iterator[Node]:
        kind = self.kind
        for raw in self._inside.blobs.children(encode_key(self.key)):
            name = decode_key(raw)
            own = name in ZARR_METADATA or (kind == "zarr_array" and _CHUNK.fullmatch(name.rstrip("/")))
            if kind != "folder" and own and not everything:
                continue
            key = self._below + name.rstrip("/")
            if name.endswith("/"):
                yield FolderNode(self._inside, key, name.rstrip("/"))
            else:
                yield BlobNode(self._inside, key, name)

    def used(self) -> int:
        blobs = self._inside.blobs
        found = (blobs.info(key) for key in blobs.keys(encode_key(self._below)))
        return sum(info[0] for info in found if info is not None)

    def data(self) -> Any:
        if self.kind != "zarr_array":
            return super().data()
        try:
            import zarr

            from stepstore.zarr import Store
        except ImportError:
            raise Error(
                DER_NOSYS, f"{self.location}: reading a Zarr array needs zarr: pip install 'stepstore[zarr]'"
            ) from None
        store = Store(self.location, read_only=True, snapshot=self._inside.epoch)
        try:
            return zarr.open_array(store, mode="r")[...]
        except Error:
            raise
        except Exception as error:  # metadata that others wrote, codecs that are not installed
            raise Error(DER_INVAL, f"{self.location}: zarr says: {error}") from error
