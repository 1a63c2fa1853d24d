"""What a machine does with a stream in test_requests.py. A worker runs this."""

from __future__ import annotations

import numpy as np
import stepstore

writers: dict[str, stepstore.Writer] = {}
readers: dict[str, stepstore.Steps] = {}


def write_steps(location: str, steps: int, cells: int) -> None:
    """Goes on with the same writer. In each step a value and, if there are `cells`, an array of them."""
    if location not in writers:
        writers[location] = stepstore.Writer(location, WriterTimeoutSecs=3600)  # no sign is due meanwhile
    for number in range(steps):
        with writers[location].step() as step:
            step["number"] = np.int64(number)
            if cells:
                step["cells"] = np.full(cells, number, dtype="f8")


def read_steps(location: str, first: int, steps: int) -> None:
    """Goes on with the same reader, which opens a stream of as many whole steps as there are now."""
    if location not in readers:
        readers[location] = stepstore.open_steps(location)
    for number in range(first, first + steps):
        assert (readers[location].read("cells", number) == number).all()
