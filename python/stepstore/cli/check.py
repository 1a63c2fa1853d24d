"""The streams' part of `stepstore pool check`."""

from __future__ import annotations

from typing import Any

from stepstore import _core
from stepstore.errors import Error


def check_streams(pool: str, *, data: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Findings about the streams of a pool, and the streams looked at. A pool so damaged that its streams
    cannot be walked is a finding too."""
    try:
        report = _core.check_streams(pool, data)
    except Error as error:
        finding = {
            "severity": "damage",
            "where": pool,
            "what": f"the streams cannot be walked: {error}",
            "advice": "what the other findings do not name is untouched: read it with stepstore ls and cat",
        }
        return [finding], {}
    return report["findings"], {"streams": report["streams"]}
