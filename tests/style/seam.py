#!/usr/bin/env python3
"""Looks that every virtual method of the seam below the store (src/store/backend.h) is pure.

A method with a default is one that a back end, or a test that stands over one, can forget in silence.
"""

import re
import sys
from pathlib import Path

SEAM = Path(__file__).resolve().parents[2] / "src/store/backend.h"


def main():
    text = re.sub(r"//[^\n]*", "", SEAM.read_text(encoding="utf-8"))
    methods = [" ".join(found.split()) for found in re.findall(r"\bvirtual\b[^;{]*[;{]", text)]
    methods = [method for method in methods if "~" not in method]
    faults = [method for method in methods if not method.endswith("= 0;")]
    if len(methods) < 30:
        sys.exit(f"{SEAM}: only {len(methods)} virtual methods were found")
    for method in faults:
        print(f"{SEAM.name}: not pure: {method}")
    if faults:
        sys.exit(1)
    print(f"{len(methods)} virtual methods, all of them pure")


if __name__ == "__main__":
    main()
