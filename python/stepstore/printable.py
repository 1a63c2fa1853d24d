"""What people read: text that others wrote as a terminal may show it, and bytes with their unit."""

from __future__ import annotations

from stepstore import _core


def printable(text: str) -> str:
    """One line. Commands to a terminal, ends of lines, what turns the direction of writing, and bytes that
    are no UTF-8 become \\x1b, \\n, \\u202e. All else stays."""
    if text.isascii() and text.isprintable():
        return text
    try:
        return _core.printable(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # half a character, of no file system
        return _core.printable(text.encode("utf-8", "backslashreplace"))


def human_bytes(count: int | float) -> str:
    """With its unit: 1.5 GiB."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} PiB"
