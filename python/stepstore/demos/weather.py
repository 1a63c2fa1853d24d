"""A small ensemble forecast as GRIB messages: smooth waves on westerly winds, which the members predict less
and less alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

# What all fields of the ensemble have in common, as FDB and MARS name it.
DATASET = {"class": "rd", "expver": "demo", "stream": "enfo", "date": "20260101", "time": "0000"}
COLLOCATION = {"domain": "g", "type": "pf", "levtype": "pl"}

STEPS = (0, 12, 24, 36, 48)  # hours
MEMBERS = tuple(range(1, 9))
LEVELS = (850, 500, 250)  # hPa
PARAMETERS = {"z": 129, "t": 130, "u": 131, "v": 132}

LATITUDES = np.linspace(90.0, -90.0, 73)
LONGITUDES = np.linspace(0.0, 357.5, 144)

_GRAVITY, _RADIUS, _ROTATION = 9.80665, 6.371e6, 7.292e-5
# Per level: height at the equator and its drop to the poles (m), amplitude of the waves (m), temperature at
# the equator and its drop (K).
_PROFILE = {
    850: (1520.0, 260.0, 45.0, 291.0, 38.0),
    500: (5870.0, 850.0, 110.0, 267.0, 33.0),
    250: (10950.0, 1250.0, 150.0, 231.0, 12.0),
}
# Waves round the globe: how many, the latitude where they are strongest, degrees that they move east in a
# day, phase in degrees, weight.
_WAVES = (
    (3, 60.0, 4.0, 20.0, 0.7),
    (5, 50.0, 9.0, 130.0, 1.0),
    (6, 45.0, 12.0, 250.0, 0.8),
    (8, 40.0, 15.0, 75.0, 0.4),
)


@dataclass(frozen=True, order=True)
class FieldKey:
    """Which field of the ensemble."""

    step: int
    member: int
    level: int
    parameter: int


def fields(step: int, member: int) -> Iterator[tuple[FieldKey, np.ndarray]]:
    """All fields of a member at a step: arrays [latitude, longitude]."""
    # A member has its own, small, error of each wave's speed and strength; so the spread grows with time.
    random = np.random.default_rng(member)
    speed, strength = random.normal(1.0, 0.25, len(_WAVES)), random.normal(1.0, 0.04, len(_WAVES))
    latitude, longitude = np.radians(LATITUDES)[:, None], np.radians(LONGITUDES)[None, :]
    waves = np.zeros((LATITUDES.size, LONGITUDES.size))
    for (count, centre, degrees, phase, weight), faster, stronger in zip(
        _WAVES, speed, strength, strict=True
    ):
        moved = np.radians(phase + count * degrees * faster * step / 24)
        belt = np.exp(-(((np.abs(LATITUDES) - centre) / 14) ** 2))[:, None] * np.cos(latitude)
        # The hemispheres have waves of their own: they do not meet at the equator, where the belts have
        # faded.
        moved = moved + np.where(latitude < 0, 1.7 * count, 0.0)
        waves += weight * stronger * belt * np.sin(count * longitude - moved)
    for level in LEVELS:
        equator, drop, amplitude, warmest, colder = _PROFILE[level]
        height = equator - drop * np.sin(latitude) ** 2 + amplitude * waves
        temperature = warmest - colder * np.sin(latitude) ** 2 + 0.04 * amplitude * waves
        u, v = _geostrophic(height, latitude, longitude)
        for name, values in (("z", _GRAVITY * height), ("t", temperature), ("u", u), ("v", v)):
            yield FieldKey(step, member, level, PARAMETERS[name]), values


def _geostrophic(
    height: np.ndarray, latitude: np.ndarray, longitude: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The wind that blows along lines of equal height; near the equator, where that law has no meaning, as at
    20 degrees."""
    limit = np.radians(20.0)
    turning = 2 * _ROTATION * np.where(latitude < 0, -1, 1) * np.sin(np.maximum(np.abs(latitude), limit))
    fade = np.minimum(np.abs(latitude) / limit, 1.0)
    northward = np.gradient(height, latitude[:, 0], axis=0) / _RADIUS
    step = longitude[0, 1] - longitude[0, 0]
    around = np.concatenate([height[:, -1:], height, height[:, :1]], axis=1)
    eastward = (around[:, 2:] - around[:, :-2]) / (2 * step * _RADIUS * np.maximum(np.cos(latitude), 0.05))
    return -_GRAVITY / turning * fade * northward, _GRAVITY / turning * fade * eastward


def messages(step: int) -> Iterator[tuple[FieldKey, bytes]]:
    """The GRIB messages of all members at a step."""
    import eccodes

    template = _template(eccodes)
    try:
        for member in MEMBERS:
            for key, values in fields(step, member):
                handle = eccodes.codes_clone(template)
                try:
                    for name, value in (
                        ("step", step),
                        ("number", member),
                        ("level", key.level),
                        ("paramId", key.parameter),
                    ):
                        eccodes.codes_set(handle, name, value)
                    eccodes.codes_set_values(handle, values.ravel())
                    yield key, eccodes.codes_get_message(handle)
                finally:
                    eccodes.codes_release(handle)
    finally:
        eccodes.codes_release(template)


def _template(eccodes: Any) -> Any:
    handle = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
    keys = {
        "productDefinitionTemplateNumber": 1,  # of an ensemble
        "setLocalDefinition": 1,
        **{name: DATASET[name] for name in ("class", "expver", "stream")},
        "type": COLLOCATION["type"],
        "dataDate": int(DATASET["date"]),
        "dataTime": int(DATASET["time"]),
        "numberOfForecastsInEnsemble": len(MEMBERS),
        "Ni": LONGITUDES.size,
        "Nj": LATITUDES.size,
        "latitudeOfFirstGridPointInDegrees": LATITUDES[0],
        "latitudeOfLastGridPointInDegrees": LATITUDES[-1],
        "longitudeOfFirstGridPointInDegrees": LONGITUDES[0],
        "longitudeOfLastGridPointInDegrees": LONGITUDES[-1],
        "iDirectionIncrementInDegrees": 2.5,
        "jDirectionIncrementInDegrees": 2.5,
        "bitsPerValue": 16,
    }
    for name, value in keys.items():
        eccodes.codes_set(handle, name, value)
    return handle


def split(data: bytes) -> dict[FieldKey, bytes]:
    """The GRIB messages in what a retrieve gave, by what each says that it is."""
    import eccodes

    found: dict[FieldKey, bytes] = {}
    at = 0
    while at < len(data):
        # Edition 2 has the message's length in the octets 9 to 16.
        length = int.from_bytes(data[at + 8 : at + 16], "big")
        message = data[at : at + length]
        if message[:4] != b"GRIB" or message[-4:] != b"7777":
            raise ValueError(f"at byte {at} of {len(data)} retrieved bytes is not a whole GRIB message")
        handle = eccodes.codes_new_from_message(message)
        try:
            key = FieldKey(
                *(eccodes.codes_get_long(handle, name) for name in ("step", "number", "level", "paramId"))
            )
        finally:
            eccodes.codes_release(handle)
        if key in found:
            raise ValueError(f"{key} was retrieved twice")
        found[key] = message
        at += length
    return found


def decode(message: bytes) -> np.ndarray:
    import eccodes

    handle = eccodes.codes_new_from_message(message)
    try:
        values: np.ndarray = eccodes.codes_get_values(handle)
        return values.reshape(LATITUDES.size, LONGITUDES.size)
    finally:
        eccodes.codes_release(handle)
