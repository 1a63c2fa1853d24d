"""GRIB messages for benchmarks: encoded once by ecCodes, and the bytes in which a message of other keys
differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stepstore.console import CommandError

# Parameters of pressure levels whose messages have the same sections: z t u v q w vo d r o3 and some of
# clouds and rain.
PARAMETERS = (129, 130, 131, 132, 133, 135, 138, 155, 157, 203, 60, 75, 76, 246, 247, 248)
DATASET = {
    "class": "rd",
    "expver": "xxxx",
    "stream": "enfo",
    "date": "20261122",
    "time": "0000",
    "domain": "g",
}
CONSTANT = {"type": "pf", "levtype": "pl"}
_ECCODES = {"number": "perturbationNumber", "step": "step", "param": "paramId", "levelist": "level"}


def write_plan(
    folder: Path,
    size: int,
    values: Mapping[str, Sequence[int]],
    collocation: Sequence[str],
    element: Sequence[str],
) -> Path:
    """The template and the plan for stepstore-bench-fields. The template is a message of about `size` bytes.
    The plan has the bytes that say each number, step, param and levelist, and the keywords of the schema's
    second and third level."""
    import eccodes

    handle = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
    try:
        first = {name: those[0] for name, those in values.items()}
        template = _template(eccodes, handle, size, first)
        message = np.frombuffer(template, np.uint8)
        lines = [
            f"message {folder / 'template.grib'}",
            f"collocation {' '.join(collocation)}",
            f"element {' '.join(element)}",
        ]
        lines += [f"dataset {name} {text}" for name, text in DATASET.items()]
        lines += [f"constant {name} {text}" for name, text in CONSTANT.items()]
        last = message.copy()
        for name, those in values.items():
            made = np.stack(
                [_message(eccodes, handle, first | {name: value}, len(message)) for value in those]
            )
            where = np.flatnonzero((made != message).any(axis=0))
            for value, of in zip(those, made, strict=True):
                lines.append(" ".join([f"value {name} {value}", *(f"{at} {of[at]}" for at in where)]))
            last[where] = made[-1][where]
        if not np.array_equal(
            last, _message(eccodes, handle, {name: those[-1] for name, those in values.items()}, len(message))
        ):
            raise CommandError(
                "ecCodes writes the keys of a message into bytes that depend on each other: give other values"
            )
    finally:
        eccodes.codes_release(handle)
    (folder / "template.grib").write_bytes(template)
    plan = folder / "plan"
    plan.write_text("\n".join(lines) + "\n")
    return plan


def _template(eccodes: Any, handle: Any, size: int, first: dict[str, int]) -> bytes:
    eccodes.codes_set(handle, "productDefinitionTemplateNumber", 1)
    eccodes.codes_set(handle, "setLocalDefinition", 1)
    for name in ("class", "expver", "stream"):
        eccodes.codes_set(handle, name, DATASET[name])
    eccodes.codes_set(handle, "type", CONSTANT["type"])
    eccodes.codes_set(handle, "dataDate", int(DATASET["date"]))
    eccodes.codes_set(handle, "dataTime", int(DATASET["time"]))
    eccodes.codes_set(handle, "bitsPerValue", 16)
    eccodes.codes_set(handle, "Nj", 1)
    _message(eccodes, handle, first, None)  # how long the sections are depends on the keys
    least = 16
    header = len(_values(eccodes, handle, least)) - 2 * least
    return _values(eccodes, handle, max(least, (size - header) // 2))


def _values(eccodes: Any, handle: Any, count: int) -> bytes:
    """The message with that many values of two bytes, which do not compress."""
    eccodes.codes_set(handle, "Ni", count)
    eccodes.codes_set_values(handle, np.random.default_rng(1).uniform(0, 65535, count))
    return bytes(eccodes.codes_get_message(handle))


def _message(eccodes: Any, handle: Any, keys: dict[str, int], length: int | None) -> Any:
    for name, value in keys.items():
        eccodes.codes_set(handle, _ECCODES[name], value)
    message = np.frombuffer(eccodes.codes_get_message(handle), np.uint8)
    if length is not None and len(message) != length:
        raise CommandError(
            f"ecCodes makes messages of {len(message)} and of {length} bytes, by their keys ({keys}): give "
            "other values"
        )
    return message
