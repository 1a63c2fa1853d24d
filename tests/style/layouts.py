#!/usr/bin/env python3
"""Finds sources that name a layout.

Only the folder of the layouts may. The struct Layout says what others have to know of a layout. Statements of
the references are about layouts of these names, and may name them too.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYOUTS = ROOT / "src/steps/layouts"
TOPS = ("src", "include", "plugins", "sim", "bench", "bindings", "python")
OF_REFERENCES = {
    "layout_statements.py",
    "layout_presets.py",
    "experiments.py",
    "goals.py",
    "files_figures.py",
}
NAME = re.compile(r'\.name = "([a-z-]+)"')
LITERAL = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'")
# These words have other meanings too. Here they are a layout's name only beside the word.
ALSO_WORDS = {"array", "posix"}


def names_in(line, names):
    for literal in LITERAL.finditer(line):
        text = literal[1] or literal[2] or ""
        word = text if text in names else ""
        if parameter := re.fullmatch(r"(?:\S+,)?Layout=([a-z-]+)(?:,\S*)?", text):
            word = parameter[1]
        for named in names:
            if "-" in named and named != word and re.search(rf"\b{named}\b(?!-)", text):
                yield named
        if word in names and (word not in ALSO_WORDS or re.search("layout", line, re.IGNORECASE)):
            yield word


def violations(names):
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".cc", ".h", ".c", ".py", ".pyi") or LAYOUTS in path.parents:
                continue
            if path.name in OF_REFERENCES:
                continue
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                for name in names_in(line, names):
                    yield f"{path.relative_to(ROOT)}:{number}: names the layout {name}: ask the struct Layout"


def main():
    names = {name for path in LAYOUTS.glob("*.cc") for name in NAME.findall(path.read_text("utf-8"))}
    assert len(names) >= 5 and list(names_in('if (layout == "array")', names)) == ["array"]
    assert list(names_in('"take array-aligned or leave it out"', names)) == ["array-aligned"]
    found = list(violations(names))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
