"""stepstore demo fields: an ensemble forecast through a stock FDB, archived in and retrieved from a pool."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, ExitCode, human_bytes, human_time
from stepstore.demos import weather
from stepstore.fdb5 import load_fdb

# What to install where a module is missing.
_PACKAGES = {
    "pyfdb": "pyfdb==5.25.0.33",
    "fdb5lib": "fdb5lib==5.25.0.33",
    "eccodes": "eccodes",
    "matplotlib": "matplotlib",
}

_MARK = "# Made by 'stepstore demo fields'."

SCHEMA = f"""{_MARK} Choosing a schema: docs/fdb-schema.md
param: Param;
step: Step;
date: Date;
levelist: Double;
expver: Expver;
time: Time;
number: Integer;

[ class, expver, stream, date, time, domain
    [ type, levtype
        [ step, number, levelist, param ]]]
"""

CONFIG = f"""{_MARK}
# FDB knows the type after: eval "$(stepstore fdb5-env)". Else: 'FDB factory "stepstore" not found'.
type: stepstore
schema: {{directory}}/schema
engine: stepstore
store: stepstore
stepstore:
  pool: {{directory}}/pool
"""

Say = Callable[[str], None]


def run(directory: Path, say: Say) -> dict[str, Any]:
    """The whole demonstration; what it found, as JSON has it."""
    _require_packages()
    directory = set_up(directory.absolute(), say)
    fdb_class = load_fdb()
    archived: dict[weather.FieldKey, bytes] = {}
    seconds: dict[str, float] = {}
    with _fdb_errors():
        _archive(fdb_class(directory / "config.yaml"), archived, seconds, say)
        # Another FDB object: it knows of the fields only what is in the pool.
        fdb = fdb_class(directory / "config.yaml")
        _list(fdb, archived, seconds, say)
        slice_of_members = _retrieve_slice(fdb, archived, seconds, say)
        _check_all(fdb, archived, seconds, say)
    picture = directory / "ensemble.png"
    started = time.perf_counter()
    plot(slice_of_members, picture)
    seconds["plot"] = time.perf_counter() - started
    say(f"plotted their mean and spread: {picture} ({human_time(seconds['plot'])})")
    size = sum(map(len, archived.values()))
    return {
        "directory": str(directory),
        "config": str(directory / "config.yaml"),
        "picture": str(picture),
        "fields": len(archived),
        "bytes": size,
        "identical": True,
        "seconds": seconds,
    }


def _require_packages() -> None:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        command = " ".join(
            f"'{_PACKAGES[name]}'" if "=" in _PACKAGES[name] else _PACKAGES[name] for name in missing
        )
        raise CommandError(
            f"the demo needs {', '.join(missing)}, which {sys.executable} does not have: {sys.executable} "
            f"-m pip install {command}",
            ExitCode.NOT_FOUND,
        )


def set_up(directory: Path, say: Say) -> Path:
    """A folder with schema and config.yaml of FDB; the pool in it is made by FDB, with the first field."""
    if any(sign in str(directory) for sign in "\n#:") or str(directory) != str(directory).strip():
        raise CommandError(
            f"--directory {str(directory)!r}: FDB's configuration cannot hold this name: give one without "
            "'#', ':', line ends, and blanks at its ends"
        )
    config = directory / "config.yaml"
    if config.exists() and config.read_text().startswith(_MARK):
        say(f"{directory} is of an earlier demo: its fields are archived again, and replaced")
    elif directory.exists() and any(directory.iterdir()):
        raise CommandError(f"{directory} has other files in it: give a new or an empty --directory")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "schema").write_text(SCHEMA)
    config.write_text(CONFIG.format(directory=directory))
    say(f"wrote FDB's configuration: {config}, and its schema: {directory / 'schema'}")
    return directory


@contextmanager
def _fdb_errors() -> Iterator[None]:
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise CommandError(f"FDB: {error}") from error


def _archive(fdb: Any, archived: dict[weather.FieldKey, bytes], seconds: dict[str, float], say: Say) -> None:
    """Step by step, as a model does it: what a flush has published is there for readers, and on the
    medium."""
    seconds["encode"] = seconds["archive"] = 0.0
    for step in weather.STEPS:
        started = time.perf_counter()
        made = dict(weather.messages(step))
        encoded = time.perf_counter()
        for message in made.values():
            fdb.archive(message)
        fdb.flush()
        seconds["archive"] += time.perf_counter() - encoded
        seconds["encode"] += encoded - started
        archived.update(made)
    size = sum(map(len, archived.values()))
    say(
        f"made {len(archived)} GRIB messages with ecCodes, {len(weather.MEMBERS)} members, "
        f"{len(weather.STEPS)} steps, {len(weather.LEVELS)} levels, {len(weather.PARAMETERS)} parameters: "
        f"{human_bytes(size)} ({human_time(seconds['encode'])})"
    )
    say(f"archived them through FDB, with a flush after each step ({human_time(seconds['archive'])}, "
        f"{human_time(seconds['archive'] / len(archived))} a field)")  # fmt: skip


def _list(fdb: Any, archived: dict[weather.FieldKey, bytes], seconds: dict[str, float], say: Say) -> None:
    started = time.perf_counter()
    listed = [_field_key(element.combined_key()) for element in fdb.list(weather.DATASET)]
    seconds["list"] = time.perf_counter() - started
    if sorted(listed) != sorted(archived):
        raise CommandError(
            f"FDB lists {len(listed)} fields, {len(set(listed) ^ set(archived))} of them wrong or missing: "
            f"{len(archived)} were archived"
        )
    say(f"listed them: {len(listed)} fields, each once ({human_time(seconds['list'])})")


def _field_key(key: dict[str, str]) -> weather.FieldKey:
    return weather.FieldKey(*(int(key[name]) for name in ("step", "number", "levelist", "param")))


def _retrieve(fdb: Any, **ranges: Any) -> bytes:
    request = {
        **weather.DATASET,
        **weather.COLLOCATION,
        **{name: "/".join(map(str, values)) for name, values in ranges.items()},
    }
    with fdb.retrieve(request) as handle:
        message: bytes = handle.read()
    return message


def _retrieve_slice(
    fdb: Any, archived: dict[weather.FieldKey, bytes], seconds: dict[str, float], say: Say
) -> dict[weather.FieldKey, bytes]:
    """One step, level and parameter of all members: what a product is made of."""
    step, level, parameter = weather.STEPS[-1], 500, weather.PARAMETERS["z"]
    started = time.perf_counter()
    data = _retrieve(fdb, step=[step], number=weather.MEMBERS, levelist=[level], param=[parameter])
    seconds["slice"] = time.perf_counter() - started
    found = weather.split(data)
    expected = {
        key: message
        for key, message in archived.items()
        if (key.step, key.level, key.parameter) == (step, level, parameter)
    }
    compare(expected, found)
    say(
        f"retrieved geopotential at {level} hPa after {step} h of all members with pyfdb: {len(found)} "
        f"messages ({human_time(seconds['slice'])})"
    )
    return found


def _check_all(
    fdb: Any, archived: dict[weather.FieldKey, bytes], seconds: dict[str, float], say: Say
) -> None:
    started = time.perf_counter()
    everything = {
        "step": weather.STEPS,
        "number": weather.MEMBERS,
        "levelist": weather.LEVELS,
        "param": weather.PARAMETERS.values(),
    }
    data = _retrieve(fdb, **everything)
    seconds["retrieve"] = time.perf_counter() - started
    compare(archived, weather.split(data))
    each = human_time(seconds["retrieve"] / len(archived))
    say(
        f"retrieved all {len(archived)} messages ({human_time(seconds['retrieve'])}, {each} a field): "
        "each is what was archived, bit for bit"
    )


def compare(archived: dict[weather.FieldKey, bytes], retrieved: dict[weather.FieldKey, bytes]) -> None:
    """An error where what came back is not what was archived, bit for bit."""
    missing, strange = archived.keys() - retrieved.keys(), retrieved.keys() - archived.keys()
    different = [key for key in archived.keys() & retrieved.keys() if archived[key] != retrieved[key]]
    for what, keys in (
        ("not retrieved", missing),
        ("retrieved but never archived", strange),
        ("not what was archived", different),
    ):
        if keys:
            raise CommandError(
                f"{len(keys)} of {len(archived)} fields are {what}, the first of them {min(keys)}",
                ExitCode.DAMAGE,
            )


def plot(members: dict[weather.FieldKey, bytes], path: Path) -> None:
    """The mean of the members with lines of equal height, and their spread."""
    import numpy as np
    from matplotlib.figure import Figure

    heights = (
        np.stack([weather.decode(members[key]) for key in sorted(members)]) / 98.0665
    )  # geopotential in decametres
    key = min(members)
    # The circle is closed: the first meridian again at 360 degrees.
    heights = np.concatenate([heights, heights[..., :1]], axis=-1)
    longitudes = np.append(weather.LONGITUDES, 360.0)
    figure = Figure(figsize=(11, 8.5), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    panels = (
        (upper, heights.mean(axis=0), "viridis", "mean"),
        (lower, heights.std(axis=0), "magma_r", "spread (standard deviation)"),
    )
    for axes, values, colours, title in panels:
        drawn = axes.contourf(longitudes, weather.LATITUDES, values, levels=24, cmap=colours)
        figure.colorbar(drawn, ax=axes, label="dam")
        axes.set(
            title=f"height at {key.level} hPa after {key.step} h, {title} of {len(members)} members",
            ylabel="latitude",
            ylim=(-90, 90),
        )
    upper.contour(
        longitudes, weather.LATITUDES, heights.mean(axis=0), levels=12, colors="white", linewidths=0.6
    )
    lower.set(xlabel="longitude", xticks=range(0, 361, 60))
    figure.savefig(path, dpi=110)
