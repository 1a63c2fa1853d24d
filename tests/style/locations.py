#!/usr/bin/env python3
"""Finds sources that take a location apart by themselves. src/location has the one grammar."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GRAMMAR = ROOT / "src/location"
TOPS = ("src", "plugins", "bench", "bindings", "sim", "python")
PARSING = re.compile(
    r"""(starts_?with|remove_?prefix|match|split|partition|r?find)\(\W*["']((rados|daos|local):|://)"""
    r"""|["']://["'] (not )?in"""
)


def main():
    assert PARSING.search('pool.startswith("daos://")') and PARSING.search('"://" in pool')
    assert PARSING.search('pool.startswith(("daos://", 1))') and PARSING.search('pool.starts_with("local:")')
    found = [
        f"{path.relative_to(ROOT)}:{number}: takes a location apart: ask src/location (in Python _core)"
        for top in TOPS
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in (".cc", ".h", ".c", ".py") and GRAMMAR not in path.parents
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if PARSING.search(line)
    ]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
