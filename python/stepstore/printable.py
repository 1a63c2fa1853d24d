"""Text that others wrote, as a terminal may show it."""

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
