"""Every message of an error, from the sources, and the page that lists them by code."""

from __future__ import annotations

import re
from pathlib import Path

_FOLDERS = ("src", "plugins", "bindings", "python")
_SOURCES = {".cc", ".h", ".c", ".py"}
# An error with a code; of the command line and of Python's own kinds, one without.
_BEGIN = re.compile(
    r"\bError\(\s*-?(DER_\w+),\s*|"
    r"\braise (?:CommandError|ValueError|TypeError|FileNotFoundError|IndexError|RuntimeError)\(\s*"
)
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def sources(root: Path) -> list[str]:
    """The texts of the sources, with neighbouring literals joined."""
    files = [file for folder in _FOLDERS for file in sorted((root / folder).rglob("*"))]
    texts = [file.read_text(encoding="utf-8") for file in files if file.suffix in _SOURCES]
    return [re.sub(r'"\s*\n\s*f?"', "", text) for text in texts]


def raised(root: Path) -> dict[str, set[str]]:
    """The messages by code, "" for none; three dots stand for what is computed."""
    found: dict[str, set[str]] = {}
    for text in sources(root):
        for begin in _BEGIN.finditer(text):
            parts = _LITERAL.findall(_arguments(text, begin.end()))
            message = "…".join(re.sub(r"\{[^{}]*\}", "…", part) for part in parts)
            message = re.sub(r"…+", "…", message.replace('\\"', '"')).strip(" :")
            if re.search(r"[a-z]{3} [a-z]", message):
                found.setdefault(begin[1] or "", set()).add(message)
    return found


def _arguments(text: str, begin: int) -> str:
    """What stands between here and the parenthesis that closes."""
    depth, at = 1, begin
    for token in re.finditer(r'"(?:[^"\\\n]|\\.)*"|[()]', text[begin : begin + 3000]):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        at = begin + token.start()
        if depth == 0:
            break
    return text[begin:at]


def page(root: Path) -> str:
    errors = (root / "include/libdaos/daos_errno.h").read_text(encoding="utf-8")
    meaning = dict(re.findall(r'X\(with, (DER_\w+), \d+, "([^"]*)"\)', errors))
    lines = [
        "# All messages",
        "",
        "The messages of errors, as the sources have them, by code. A `…` stands for names and numbers. A",
        "message may begin with the name of the thing. [Find the cause of an error](../troubleshooting.md)",
        "explains those that are met most.",
    ]
    for code, messages in sorted(raised(root).items()):
        title = code or "Of the command line and of Python"
        lines += [
            "",
            f"## {title}",
            "",
            f"In general: {meaning[code]}." if code else "They have no code.",
            "",
        ]
        lines += [f"- ``{message}``" for message in sorted(messages)]
    return "\n".join(lines) + "\n"
