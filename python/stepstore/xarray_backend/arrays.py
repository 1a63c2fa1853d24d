"""The arrays of C, Fortran and Python programs (stepstore.open_arrays) as a dataset: a variable each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from stepstore import _core
from stepstore.arrays import ArrayInfo, Arrays, open_arrays
from stepstore.errors import DER_NONEXIST, Error
from stepstore.xarray_backend.conventions import Conventions, Dimensions, short
from stepstore.xarray_backend.lazy import Key, by_dimension, hull, taken
from stepstore.xarray_backend.sources import Shared, absolute, give_back, replaced
from stepstore.xarray_backend.survey import grid_of


@dataclass(frozen=True)
class ArraysSource(Shared[Arrays]):
    """The arrays of a container. location: absolute. snapshot: the epoch of a snapshot, or 0."""

    location: str
    snapshot: int = 0

    def _open(self) -> Arrays:
        return open_arrays(self.location, snapshot=self.snapshot)


class StoredArray(BackendArray):
    """One array as it was when the dataset was opened. What has been appended since is not in it."""

    def __init__(self, source: ArraysSource, info: ArrayInfo):
        self.source = source
        self.name = info.name
        self.generation = info.generation
        self.shape = info.shape
        self.dtype = info.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return by_dimension(key, self.shape, self._read)

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.source, self.name, self.generation, self.shape

    def _read(self, key: tuple[Key, ...]) -> Any:
        hulls = [hull(one, size) for one, size in zip(key, self.shape, strict=True)]
        with self.source.opened() as arrays:
            found = arrays.read(self.name, [one.start for one in hulls], [one.count for one in hulls])
            # Afterwards, so that what was read is of the version that is compared.
            if arrays.info(self.name).generation != self.generation:
                raise replaced(self.source.location, f"array {self.name!r}")
        return taken(found, None, [one.after for one in hulls])


def arrays_at(location: str, snapshot: int) -> tuple[ArraysSource, list[str]] | None:
    """The arrays of a container, or the one that the location names after it. None: there are none."""
    pool, container, rest, exists = _core.resolve_location(location)
    if not exists:
        return None
    source = ArraysSource(f"{absolute(pool)}/{container}", snapshot)
    try:
        arrays = source._open()
    except Error as error:
        if error.code != DER_NONEXIST:
            raise
        return None
    names = arrays.names()
    give_back(source, arrays)
    given = location.rstrip("/").endswith(f"/{container}/{rest}")
    names = [name for name in names if not given or name == rest]
    return (source, names) if names else None


def arrays_dataset(
    source: ArraysSource,
    names: Sequence[str],
    dims: Mapping[str, Sequence[str]],
    dropped: Collection[str],
    decoding: Mapping[str, Any],
) -> xr.Dataset:
    """A variable for each array, and the attributes of the container. Dimensions are named as of streams."""
    with source.opened() as arrays:
        wanted = [name for name in names if name not in dropped]
        infos = {name: arrays.info(name) for name in wanted}
        conventions = Conventions({name: arrays.attributes(name) for name in wanted}, arrays.attributes())
        blocks = {name: arrays.blocks(name) for name in wanted}
    conventions.turned = [name for name, info in infos.items() if info.column_major]
    dimensions = Dimensions(source.location, dims, conventions)
    for name, info in infos.items():
        dimensions.learn(name, info.shape)
    variables = {}
    for name, info in infos.items():
        given = dimensions.name(name, info.shape)
        chunks = grid_of(info.shape, blocks[name])
        preferred = {dim: short(one) for dim, one in zip(given, chunks, strict=True)}
        encoding = {"source": source.location, "preferred_chunks": preferred}
        data = indexing.LazilyIndexedArray(StoredArray(source, info))
        variables[name] = xr.Variable(given, data, conventions.attributes(name), encoding)
    dataset = xr.decode_cf(xr.Dataset(variables, attrs=conventions.rest), **decoding)
    dataset.encoding = {"source": source.location}
    dataset.set_close(source.release)
    return dataset
