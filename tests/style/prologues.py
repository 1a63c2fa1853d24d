#!/usr/bin/env python3
"""Looks that every header begins with a comment that says its purpose, and how it behaves with threads and
which errors it gives. A source without a header of its name begins with a comment too.

A header that holds only constants, enumerations and structs of data needs its purpose alone: nothing in it
runs. Of all others the first comment speaks of threads and of errors, or calls them pure.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("src", "include", "plugins", "bindings", "sim", "bench")

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
PROLOGUE = re.compile(r"(?://[^\n]*\n)+|/\*.*?\*/", re.S)
NOT_CODE = re.compile(
    r'"(?:[^"\\\n]|\\.)*"'  # texts
    r"|^\s*#(?:[^\n]*\\\n)*[^\n]*"  # the preprocessor's lines
    r"|[^;{}]*=\s*(?:default|delete);"  # what the compiler writes
    r"|\b(?:static_assert|alignas|__attribute__)\s*\(+[^;{]*?\)+",
    re.M,
)
THREADS = re.compile(r"\bthreads?\b|\bpure\b", re.I)
ERRORS = re.compile(
    r"\b(?:errors?|throws?|fail(?:s|ed|ures?)?|refuse[sd]?|errno|exceptions?|pure)\b|\bDER_", re.I
)


def prologue_of(text):
    """The comment at the very beginning, or nothing."""
    found = PROLOGUE.match(text)
    return found.group() if found else ""


def runs(text):
    """Whether there is anything in a header that can be called."""
    return "(" in NOT_CODE.sub("", COMMENT.sub("", text))


def faults_of(path):
    text = path.read_text(encoding="utf-8")
    prologue = prologue_of(text)
    if len(re.findall(r"\w+", prologue)) < 3:
        yield "begins with no comment that says its purpose"
    elif path.suffix == ".h" and runs(text):
        if not THREADS.search(prologue):
            yield "its first comment says nothing of threads"
        if not ERRORS.search(prologue):
            yield "its first comment says nothing of errors"


def is_looked_at(path):
    return path.suffix == ".h" or (path.suffix == ".cc" and not path.with_suffix(".h").exists())


def check_self():
    """The rule sees what it is for."""
    assert not runs(
        "// A comment (with brackets).\n#define X(a) a\nstruct A { int a = 0; A() = default; };\n"
    )
    assert runs("// A comment.\nint f();\n") and runs("struct A { bool is() const { return true; } };\n")
    assert prologue_of("// One.\n// Two.\n#pragma once\n") == "// One.\n// Two.\n"
    assert prologue_of("#pragma once\n// Too late.\n") == ""


def main():
    check_self()
    paths = [path for top in TOPS for path in sorted((ROOT / top).rglob("*")) if is_looked_at(path)]
    if len(paths) < 300:
        sys.exit(f"only {len(paths)} sources were found below {', '.join(TOPS)}")
    found = [f"{path.relative_to(ROOT)}: {fault}" for path in paths for fault in faults_of(path)]
    print("\n".join(found) or f"{len(paths)} headers and sources begin with what a reader has to know")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
