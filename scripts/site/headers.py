"""Pages of the C and C++ headers: each declaration with the comment before it, in the order of the file."""

from __future__ import annotations

import re
from pathlib import Path

# Headers that a program includes; the others are parts of these, or for C++ libraries of this project.
PAGES = {
    "stepstore/arrays.h": "Arrays of C and Fortran programs",
    "stepstore/blobs.h": "Blobs from C",
    "stepstore/adios2.h": "The ADIOS2 plugin's own calls",
    "stepstore/admin.h": "Pools and their contents, from C",
    "stepstore/client.h": "The C++ client",
    "stepstore/administration.h": "Administration, from C++",
    "libdaos/daos_errno.h": "Error codes",
    "libdaos/daos_pool.h": "libdaos: pools",
    "libdaos/daos_cont.h": "libdaos: containers",
    "libdaos/daos_kv.h": "libdaos: key-values",
    "libdaos/daos_array.h": "libdaos: arrays",
    "libdaos/daos_obj.h": "libdaos: objects",
    "libdaos/daos_event.h": "libdaos: events",
    "libdaos/daos_types.h": "libdaos: types",
    "libdaos/daos_security.h": "libdaos: access control lists",
    "libdaos/daos_uns.h": "libduns: the unified namespace",
    "libdaos/gurt/common.h": "libgurt: helpers",
    "libdaos/gurt/hash.h": "libgurt: hash tables",
    "libdaos/gurt/list.h": "libgurt: lists",
}

# What every header has for its compiler, and no reader asks for.
_GUARDS = re.compile(
    r"^(#(ifndef|define) STEPSTORE_\w*_H|#pragma once|#include .*|#ifdef __cplusplus|#endif|\}|"
    r'extern "C" \{|/\* clang-format \w+ \*/)[ \t]*$\n?',
    re.MULTILINE,
)


def pages(folder: Path) -> dict[str, str]:
    """The text of each page by its place in the site."""
    made = {}
    rows = []
    for name, title in PAGES.items():
        text = (folder / name).read_text(encoding="utf-8")
        include = name.removeprefix("libdaos/")
        place = f"reference/c/{Path(name).stem}.md"
        purpose, body = _split(text)
        rows.append(f"| [{title}]({Path(name).stem}.md) | `#include <{include}>` |")
        made[place] = f"# {title}\n\n`#include <{include}>`\n\n{_prose(purpose)}\n\n{_declarations(body)}\n"
    made["reference/c/index.md"] = (
        "# C and C++\n\nThese pages are made from the headers. Programs for DAOS are built with\n"
        '`DAOS_ROOT="$(stepstore daos-root)"`, others with `pkg-config` or CMake.\n\n| | |\n|---|---|\n'
        + "\n".join(rows)
        + "\n"
    )
    return made


def _split(text: str) -> tuple[str, str]:
    """The comment at the head, and the rest without guards and includes."""
    found = re.match(r"/\*.*?\*/\n|(?://[^\n]*\n)+", text, re.DOTALL)
    assert found, "a header begins with its purpose (tests/style/prologues.py)"
    return found.group(0), _GUARDS.sub("", text[found.end() :])


def _words(comment: str) -> str:
    """A comment without its marks."""
    comment = re.sub(r"^/\*+|\*/\s*$", "", comment.strip())
    return "\n".join(re.sub(r"^\s*(//+|\*)? ?", "", line, count=1) for line in comment.split("\n")).strip()


def _prose(comment: str) -> str:
    """A comment as Markdown: aligned lines stay aligned."""
    blocks = []
    for block in re.split(r"\n\s*\n", _words(comment)):
        if re.search(r"^ {2,}\S", block, re.MULTILINE) or "   " in block.strip():
            blocks.append(f"```text\n{block}\n```")
        else:
            blocks.append(re.sub(r"([<*_])", r"\\\1", block))
    return "\n\n".join(blocks)


def _declarations(body: str) -> str:
    """The body as it is written: blocks that an empty line or a comment of its own line begins."""
    parts = []
    for block in re.split(r"\n\s*\n", body):
        block = block.strip("\n")
        if not block.strip():
            continue
        found = re.match(r"/\*.*?\*/\n?|(?://[^\n]*\n?)+", block, re.DOTALL)
        comment, code = (found.group(0), block[found.end() :].strip("\n")) if found else ("", block)
        if comment:
            parts.append(_prose(comment))
        if code:
            parts.append(f"```cpp\n{code}\n```")
    return "\n\n".join(parts)
