"""How far a command is that moves data."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from stepstore.cli.common import warn
from stepstore.console import Settings
from stepstore.copying.task import Report

if TYPE_CHECKING:
    from typing import Self


def told_of(report: Report, started: float) -> dict[str, Any]:
    """What all that move data tell programs. The notes also go to stderr. started: by time.monotonic()."""
    for note in report.notes:
        warn(note)
    return {
        "resumed": report.resumed,
        "bytes": report.bytes,
        "compared_bytes": report.compared,
        "seconds": time.monotonic() - started,
        "notes": report.notes,
    }


class Bar:
    """Bytes moved and compared of all, rate and time left; on a terminal only."""

    def __init__(self, word: str) -> None:
        self._progress = Progress(
            TextColumn(word),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Settings.err,
            transient=True,
            disable=not Settings.err.is_terminal,
        )
        self._task = self._progress.add_task(word, total=None)
        self._expected = self._done = 0

    def move(self, expected: int, done: int) -> None:
        self._expected += expected
        self._done += done
        # The bytes of key-values are not known before.
        self._progress.update(self._task, total=max(self._expected, self._done), completed=self._done)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
