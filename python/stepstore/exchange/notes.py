"""Attributes that a format cannot hold as they are, as one text beside the others, for the way back.

JSON, an object: by name the type of the attribute and its value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from stepstore.errors import DER_CSUM, Error

NOTES = "stepstore_attributes"  # the attribute that holds them


def written(attributes: Mapping[str, Any]) -> str:
    return json.dumps({name: encoded(value) for name, value in attributes.items()}, ensure_ascii=True)


def encoded(value: Any) -> dict[str, Any]:
    """Floats as hexadecimal text: to the last bit, and with what JSON has no number for."""
    if isinstance(value, str):
        return {"type": "text", "value": value}
    if isinstance(value, list | tuple):
        return {"type": "texts", "value": [str(one) for one in value]}
    values = np.asarray(value)
    raw = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
    return {
        "type": str(values.dtype.newbyteorder("=")),
        "shape": list(values.shape),
        "hex": raw.tobytes().hex(),
    }


def read(text: Any, where: str) -> dict[str, Any]:
    """DER_CSUM: the text is damaged, or of somebody else."""
    try:
        found = json.loads(text)
        return {str(name): decoded(value) for name, value in found.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Error(
            DER_CSUM, f"{where}: the attribute {NOTES} is damaged: remove it from the file, or export again"
        ) from error


def decoded(value: Mapping[str, Any]) -> Any:
    if value["type"] == "text":
        return str(value["value"])
    if value["type"] == "texts":
        return [str(one) for one in value["value"]]
    dtype = np.dtype(value["type"])
    if dtype.kind not in "iufc" or dtype.itemsize > 32:
        raise ValueError(value["type"])
    values = np.frombuffer(bytes.fromhex(value["hex"]), dtype.newbyteorder("<")).astype(dtype)
    values = values.reshape([int(extent) for extent in value["shape"]])
    return values if values.ndim else values[()]
