"""The colour and the marker of each peer, the same in every figure.

The colours are those of Okabe and Ito, which people with any common colour blindness tell apart. Markers help
in print without colour.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str


# The first expression that is found in a name tells its peer.
_PEERS = (
    (r"posix", Style("#E69F00", "^")),
    (r"on a pool in files", Style("#009E73", "v")),
    (r"array.adaptive|^stepstore$|our field engine", Style("#0072B2", "o")),
    (r"array.aligned", Style("#CC79A7", "P")),
    (r"array", Style("#009E73", "v")),
    (r"\bkv", Style("#56B4E9", "D")),
    (r"bp5|toc|fdb's files", Style("#D55E00", "s")),
)
_OTHERS = (Style("#000000", "X"), Style("#8A8A8A", "*"))
_STYLES = (*dict.fromkeys(style for _, style in _PEERS), *_OTHERS)
GRAY, DARK = "#8A8A8A", "#333333"


def style_of(name: str) -> Style:
    """Of one bar, whose name stands beside it."""
    known = (style for expression, style in _PEERS if re.search(expression, name, re.IGNORECASE))
    return next(known, _OTHERS[0])


def styles_of(names: Sequence[str]) -> dict[str, Style]:
    """Of series in one panel: no two have the same, as long as there are some left."""
    found: dict[str, Style] = {}
    for name in names:
        wanted = style_of(name)
        left = [style for style in (wanted, *reversed(_STYLES)) if style not in found.values()]
        found[name] = left[0] if left else wanted
    return found
