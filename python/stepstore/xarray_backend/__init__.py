"""xr.open_dataset(LOCATION, engine="stepstore"): streams of steps and arrays as datasets. docs/xarray.md.

xarray finds this by its entry point; nothing has to be imported.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import xarray as xr
from xarray.backends import BackendEntrypoint

from stepstore import _core
from stepstore.errors import DER_INVAL, DER_NONEXIST, Error
from stepstore.kinds import openers_at
from stepstore.printable import printable
from stepstore.xarray_backend.arrays import arrays_at, arrays_dataset
from stepstore.xarray_backend.contents import Names, contents_of
from stepstore.xarray_backend.follow import StepstoreAccessor, View
from stepstore.xarray_backend.sources import Source, open_source
from stepstore.xarray_backend.survey import Selection

__all__ = ["StepstoreAccessor", "StepstoreBackendEntrypoint"]

_DECODING = (
    "mask_and_scale",
    "decode_times",
    "concat_characters",
    "decode_coords",
    "use_cftime",
    "decode_timedelta",
)


class StepstoreBackendEntrypoint(BackendEntrypoint):
    """The engine "stepstore" of xarray."""

    description: ClassVar[str] = (
        "Streams of steps and arrays in Stepstore's objects, also while they are written"
    )
    url: ClassVar[str] = "https://github.com/stepstore/stepstore/blob/main/docs/xarray.md"
    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = (
        "filename_or_obj",
        "drop_variables",
        *_DECODING,
        "steps",
        "dims",
        "snapshot",
        "open_timeout",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """A location in a pool that is there, or on DAOS."""
        if not isinstance(filename_or_obj, str | os.PathLike):
            return False
        try:
            *_, exists = _core.resolve_location(os.fspath(filename_or_obj))
        except (Error, TypeError):
            return False
        return bool(exists)

    def open_dataset(  # type: ignore[override]
        self,
        filename_or_obj: str | os.PathLike[str],
        *,
        drop_variables: str | Iterable[str] | None = None,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        use_cftime: bool | None = None,
        decode_timedelta: bool | None = None,
        steps: Selection = None,
        dims: Mapping[str, Iterable[str]] | None = None,
        snapshot: int = 0,
        open_timeout: float = 0.0,
    ) -> xr.Dataset:
        """Open a stream of steps, or arrays, as a lazy dataset.

        A stream is taken as far as it is now. If there is no stream at the location, the arrays of a
        container (stepstore.open_arrays) are opened, or the one that the location names after it. If there
        are none, it is a Zarr group that is opened.

        Parameters
        ----------
        filename_or_obj : str or path
            POOL[/CONTAINER[/STREAM]], POOL/CONTAINER/ARRAY, or POOL/CONTAINER/GROUP of a Zarr group.
        drop_variables : str or iterable of str, optional
            Variables to leave out.
        mask_and_scale, decode_times, concat_characters, decode_coords, use_cftime, decode_timedelta :
        optional
            xarray's own.
        steps : int, slice, list of int or None, optional
            Which steps. A number (negative: from the end) gives a dataset without the dimension `step`. None:
            all.
        dims : mapping of str to names, optional
            Names of dimensions by variable, without `step`. They come before what conventions say.
        snapshot : int, optional
            The epoch of a snapshot of the container, to read it as it was then. 0: as it is now.
        open_timeout : float, optional
            Seconds to wait for a stream that is not there yet, and for its first step. Without a step the
            dataset is empty.

        Returns
        -------
        xarray.Dataset
            The variables, which are read when they are needed.

        Raises
        ------
        Error
            As of `stepstore.open_steps`; DER_NONEXIST also for a step that is not there.
        ValueError
            `dims` do not fit.
        """
        dropped = frozenset([drop_variables] if isinstance(drop_variables, str) else drop_variables or ())
        decoding = {
            "mask_and_scale": mask_and_scale,
            "decode_times": decode_times,
            "concat_characters": concat_characters,
            "decode_coords": decode_coords,
            "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }
        given = {name: tuple(names) for name, names in (dims or {}).items()}
        location = os.fspath(filename_or_obj)
        try:
            source = open_source(location, open_timeout, snapshot)
        except Error as error:
            if error.code != DER_NONEXIST:
                raise
            if (found := arrays_at(location, snapshot)) is not None:
                return arrays_dataset(*found, given, dropped, decoding)
            if any(one.kind == "zarr_group" for one in openers_at(location)):
                if given or steps is not None:
                    raise Error(
                        DER_INVAL, f"{location}: this is a Zarr group, which takes no steps= and no dims="
                    ) from None
                return _zarr_dataset(location, snapshot, dropped, decoding)
            raise
        return _stream_dataset(source, steps, given, dropped, decoding)


def _zarr_dataset(
    location: str, snapshot: int, dropped: frozenset[str], decoding: dict[str, Any]
) -> xr.Dataset:
    from xarray.backends.zarr import ZarrBackendEntrypoint

    from stepstore.zarr import Store  # needs zarr

    store = Store(location, read_only=True, snapshot=snapshot or None)
    # Not consolidated: our metadata are read as quickly, and a group that is not warns of it.
    options: dict[str, Any] = {**decoding, "consolidated": False, "drop_variables": sorted(dropped)}
    return ZarrBackendEntrypoint().open_dataset(store, **options)  # type: ignore[arg-type]


def _stream_dataset(
    source: Source,
    steps: Selection,
    given: Mapping[str, tuple[str, ...]],
    dropped: frozenset[str],
    decoding: dict[str, Any],
) -> xr.Dataset:
    found = contents_of(source, steps, Names(axes=dict(given)), dropped)
    if found.left_out:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in found.left_out.items())
        warnings.warn(
            printable(
                f"{source.location}: left out of the dataset (drop_variables silences this): {reasons}"
            ),
            stacklevel=4,
        )
    names = replace(found.names, axes={**given, **found.names.axes})
    return View(source, found.end, names, dropped, decoding, found.left_out).dataset(found)
