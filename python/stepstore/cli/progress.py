"""How far a command is that moves data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from stepstore.console import Settings

if TYPE_CHECKING:
    from typing import Self


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
