"""ds.stepstore: what a dataset of a stream knows of it, the steps that come, and writing a dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from stepstore.errors import DER_INVAL, Error
from stepstore.steps import open_steps
from stepstore.xarray_backend.contents import Contents, Names, contents_of
from stepstore.xarray_backend.sources import Source
from stepstore.xarray_backend.write import write_dataset

ENCODING = "stepstore"


@dataclass(frozen=True)
class View:
    """What a dataset keeps in its encoding: its stream, and how it was opened.

    Attributes
    ----------
    source : Source
        The stream.
    end : int
        The first step that was not there yet.
    names : Names
        The names of dimensions.
    dropped : frozenset of str
        The variables that the user leaves out.
    decoding : dict
        xarray's own options of decoding.
    left_out : dict of str to str
        The variables that have no place in the dataset, and why.
    """

    source: Source
    end: int
    names: Names
    dropped: frozenset[str]
    decoding: dict[str, Any]
    left_out: dict[str, str]

    def dataset(self, found: Contents) -> xr.Dataset:
        """Make the dataset of what was found.

        Parameters
        ----------
        found : Contents
            Variables, coordinates and attributes.

        Returns
        -------
        xarray.Dataset
            The dataset, which knows its View.
        """
        dataset = xr.Dataset(found.variables, attrs=found.attributes)
        dataset = dataset.set_coords(found.coordinates)
        dataset = xr.decode_cf(dataset, **self.decoding)
        dataset.encoding = {"source": self.source.location, ENCODING: self}
        dataset.set_close(self.source.release)
        return dataset


@xr.register_dataset_accessor("stepstore")  # type: ignore[no-untyped-call]
class StepstoreAccessor:
    """`ds.stepstore`: the stream of a dataset that the engine "stepstore" opened, and writing one.

    All but `write` is of datasets of a stream, and else an Error with DER_INVAL.

    Parameters
    ----------
    dataset : xarray.Dataset
        The dataset.
    """

    def __init__(self, dataset: xr.Dataset):
        self._dataset = dataset
        self._chunked = any(variable.chunks for variable in dataset.variables.values())

    @property
    def _view(self) -> View:
        view = self._dataset.encoding.get(ENCODING)
        if not isinstance(view, View):
            raise Error(
                DER_INVAL,
                "this dataset does not know its stream: use ds.stepstore on what "
                'xr.open_dataset(..., engine="stepstore") returned for a stream of steps',
            )
        return view

    def __repr__(self) -> str:
        if not isinstance(self._dataset.encoding.get(ENCODING), View):
            return "<stepstore: a dataset of no stream>"
        return f"<stepstore {self.location}: steps before {self._view.end}>"

    def write(self, location: str | os.PathLike[str], *, append: bool = False, **options: object) -> None:
        """Write the dataset as a stream of steps, from which the engine "stepstore" opens the same.

        A variable with the dimension `step` gets a value in each step, another one in the first step alone.
        Dask's arrays are computed step by step.

        Parameters
        ----------
        location : str or path
            POOL[/CONTAINER[/STREAM]]. It is made if it is missing.
        append : bool, optional
            Continue the stream that is there: only the variables with the dimension `step` are written. By
            default it is replaced.
        **options : object
            Of `stepstore.Writer`: its `comm`, and a writer's parameters such as `Compression="zstd"`.

        Raises
        ------
        Error
            DER_INVAL: a variable of a type that cannot be stored, or to append is nothing. Others as of
            `stepstore.Writer`.
        """
        write_dataset(self._dataset, os.fspath(location), append, options)

    @property
    def location(self) -> str:
        """The pool, the container and the stream."""
        return self._view.source.location

    @property
    def left_out(self) -> dict[str, str]:
        """The variables of the stream that have no place in the dataset, and why."""
        return dict(self._view.left_out)

    def follow(self, timeout: float | None = None) -> Iterator[xr.Dataset]:
        """Give a dataset for each step that this one does not have yet, as it comes.

        Parameters
        ----------
        timeout : float, optional
            The most seconds to wait for a new step. None, the default, waits for ever.

        Yields
        ------
        xarray.Dataset
            One step: the dimension `step` of size 1, and dimensions as in this dataset.

        Raises
        ------
        Error
            DER_TIMEDOUT: no new step came in time. DER_CANCELED: the writer died, after its last step.
        """
        view, source = self._view, self._view.source
        if source.snapshot:
            return
        with open_steps(source.location, stream=True, SelectSteps=f"{view.end}:n") as steps:
            for shown in steps.follow(timeout):
                number = view.end + shown
                found = contents_of(source, [number], view.names, view.dropped)
                after = replace(view, end=number + 1, left_out=found.left_out)
                dataset = after.dataset(found)
                yield dataset.chunk() if self._chunked else dataset
