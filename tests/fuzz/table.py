#!/usr/bin/env python3
"""Every decoder of stored bytes has a row in README.md. Its row names harnesses that exist, or says why it
has none. A decoder is known by what it uses: a source that takes numbers out of bytes is one, and so is every
function called decode..., parse_... or load_...."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# How bytes are taken apart.
_TAKES_APART = re.compile(
    r"\b(WireReader|BodyReader|read_fields|unseal\w*|load_little|load_big|number_at|number_of|value_of"
    r"|from_big|from_ordered|from_chars|istringstream|strtoull?|strtoll|stoull?)\b *[<({ ]"
)
_DECODER = re.compile(
    r"^(?!.*\b(?:return|throw)\b)[A-Za-z][\w:<>,&*\[\] ]*?[ &*:](decode\w*|parse_\w+|load_\w+)\([^;]*$",
    re.MULTILINE,
)
# Where the tools themselves are.
_TOOLS = {"src/base/wire.h", "src/base/record.h", "src/base/bytes.h", "src/store/lmdb/index/page_layout.h"}


def rows() -> dict[str, tuple[set[str], str]]:
    """file -> (decoders, "harness, harness" or "-: why")"""
    found: dict[str, tuple[set[str], str]] = {}
    for line in (ROOT / "tests/fuzz/README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4:
            file, decoders, _, harness = cells
            found[file.strip("`")] = ({one.strip(" `") for one in decoders.split(",")} - {"-"}, harness)
    return found


def main() -> int:
    program = sys.argv[1]
    done = subprocess.run(
        [program], check=False, env={**os.environ, "FUZZ_HARNESS": "list"}, capture_output=True, text=True
    )
    harnesses, table, wrong = set(done.stdout.split()), rows(), []
    named: set[str] = set()
    for file, (_, harness) in table.items():
        if not (ROOT / file).exists():
            wrong.append(f"{file} has a row, and is not there")
        if harness.startswith("-:"):
            continue
        here = {one.strip(" `") for one in harness.split(",")}
        named |= here
        wrong += [f"{file}: there is no harness {one}" for one in sorted(here - harnesses)]
    wrong += [f"the harness {one} is in no row" for one in sorted(harnesses - named)]
    for path in sorted([*ROOT.glob("src/**/*.cc"), *ROOT.glob("src/**/*.h")]):
        file = str(path.relative_to(ROOT))
        text = re.sub(r"//[^\n]*", "", path.read_text())
        if file in _TOOLS:
            continue
        decoders = set(_DECODER.findall(text)) if path.suffix == ".cc" else set()
        if (decoders or _TAKES_APART.search(text)) and file not in table:
            named_here = ", ".join(sorted(decoders)) or "no decoder by name"
            wrong.append(f"{file} takes bytes apart ({named_here}), and has no row")
        elif missing := decoders - table.get(file, (set(), ""))[0]:
            wrong.append(f"{file}: the row does not name {', '.join(sorted(missing))}")
    for one in wrong:
        print(one)
    if wrong:
        print("Give it a harness in tests/fuzz/harness and a row in tests/fuzz/README.md.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
