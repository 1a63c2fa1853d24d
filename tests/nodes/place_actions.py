"""Opening and making pools, and what is said about it. A worker runs these functions (test_places.py)."""

from __future__ import annotations

import stepstore
from stepstore import Error


def make(location: str) -> None:
    stepstore.Pool.create(location)


def error_of_making(location: str) -> str:
    try:
        make(location)
    except Error as error:
        return f"{error.name}: {error}"
    return "no error"


def error_of(location: str, write: bool) -> str:
    try:
        stepstore.Pool.connect(location, read_only=not write).close()
    except Error as error:
        return f"{error.name}: {error}"
    return "no error"
