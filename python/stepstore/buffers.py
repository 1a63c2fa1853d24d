"""Keys and memory as the extension takes them: UTF-8 bytes, and contiguous buffers without a copy."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from stepstore.errors import DER_INVAL, Error

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from typing_extensions import Buffer

    # What a read fills, and what a put takes. Before Python 3.12 a type checker knows no buffer in numpy.
    Room: TypeAlias = Buffer | np.ndarray[Any, Any]
    Memory: TypeAlias = Room | np.generic

Key = str | bytes


def encode_key(key: Key) -> bytes:
    """Keys are bytes; as text they are UTF-8, and bytes that are not survive as surrogates (like file
    names)."""
    return key.encode("utf-8", "surrogateescape") if isinstance(key, str) else bytes(key)


def decode_key(key: bytes) -> str:
    """The text of a key, from which encode_key makes the same bytes."""
    return key.decode("utf-8", "surrogateescape")


def escape(key: bytes) -> str:
    """A key as printable text that unescape() turns back: what is not printable UTF-8 becomes %xx."""
    shown = []
    for character in key.decode("utf-8", "surrogateescape"):
        if character.isprintable() and character != "%":
            shown.append(character)
        else:
            raw = character.encode("utf-8", "surrogateescape")
            shown.append("".join(f"%{byte:02x}" for byte in raw))
    return "".join(shown)


def unescape(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    return re.sub(rb"%([0-9a-fA-F]{2})", lambda match: bytes([int(match[1], 16)]), raw)


def checked_key(key: object) -> bytes:
    """TypeError: neither text nor bytes."""
    if type(key) is bytes:
        return key
    if not isinstance(key, str | bytes | bytearray | memoryview):
        raise TypeError(f"a key is text or bytes, not {_kind_of(key)}")
    return encode_key(key if isinstance(key, str) else bytes(key))


def memory_of(data: Any) -> Room:
    """What a put takes: the bytes of the value, element after element. Only what is not contiguous is copied.
    TypeError: it has no memory to take bytes from. Error DER_INVAL: it consists of Python objects, or has
    masked elements."""
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, bytes):
        return data
    if (numpy := numpy_of(data)) is not None:
        return _bytes_of(numpy.ascontiguousarray(unmasked(data)))
    view = _viewed(data, "a value is text, bytes")
    return view if view.c_contiguous else view.tobytes()


def room_for(into: Any) -> Room:
    """What a read fills: the memory itself. TypeError: it has none. BufferError: it is read-only. Error
    DER_INVAL: it is not contiguous, consists of Python objects, or is a masked array."""
    view: Any
    if (numpy := numpy_of(into)) is not None and isinstance(into, numpy.ndarray):
        if isinstance(into, numpy.ma.MaskedArray):
            raise Error(
                DER_INVAL, "the memory to read into is a masked array, whose mask would stay: give its .data"
            )
        contiguous, read_only = into.flags.c_contiguous, not into.flags.writeable
    else:
        view = _viewed(into, "memory to read into is a bytearray")
        contiguous, read_only = view.c_contiguous, view.readonly
    if read_only:
        raise BufferError(
            f"the memory to read into is read-only ({_kind_of(into)}): give a bytearray or a writable array"
        )
    if not contiguous:
        raise Error(
            DER_INVAL,
            f"the memory to read into is not contiguous ({_kind_of(into)} of shape {tuple(into.shape)}, "
            f"strides {tuple(into.strides)}): give a contiguous array, and assign from it",
        )
    return _bytes_of(into) if numpy is not None else view


def plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type itself. Error DER_INVAL: of Python objects."""
    if dtype.hasobject:
        raise Error(
            DER_INVAL,
            f"values of type {dtype} are Python objects, whose memory holds addresses of this process: "
            "turn them into numbers or bytes first (astype, pickle)",
        )
    return dtype


def unmasked(data: Any) -> Any:
    """The data themselves. Error DER_INVAL: some of their elements are masked."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(data, numpy.ma.MaskedArray):
        return data
    mask = numpy.ma.getmaskarray(data).reshape(-1)
    if mask.dtype.names:  # of each field
        mask = mask.view(bool).reshape(len(mask), -1).any(axis=1) if len(mask) else mask.view(bool)
    if mask.any():
        raise Error(
            DER_INVAL,
            f"{numpy.count_nonzero(mask)} of {data.size} elements are masked ({data.dtype}), and a mask is "
            "not stored: give .filled(VALUE), and store the mask (numpy.ma.getmaskarray) beside it",
        )
    return data.data


def size_in_bytes(memory: Any) -> int:
    return memoryview(memory).nbytes


def numpy_of(data: object) -> Any:
    """The module numpy, where this is an array or a scalar of it; nobody else needs to have it imported."""
    numpy = sys.modules.get("numpy")
    return numpy if numpy is not None and isinstance(data, numpy.ndarray | numpy.generic) else None


def _bytes_of(values: np.ndarray[Any, Any]) -> Room:
    plain(values.dtype)
    return values.reshape(-1).view("u1") if values.nbytes else bytearray()


def _viewed(data: Any, what: str) -> memoryview:
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(
            f"{what} or another object with the buffer protocol (bytes, bytearray, memoryview, a numpy "
            f"array), not {_kind_of(data)}"
        ) from None
    if "O" in view.format:  # in the name of a field, or for a type
        import numpy as np

        plain(np.asarray(view).dtype)
    return view


def _kind_of(data: object) -> str:
    kind = type(data)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
