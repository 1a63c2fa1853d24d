"""Exports: what a location holds, as files of another format. part.py has the protocol."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepstore.copying.task import Report
from stepstore.errors import DER_CSUM, DER_EXIST, DER_INVAL, Error
from stepstore.exchange import bp_files
from stepstore.exchange.bp_files import BpSource
from stepstore.exchange.format import Compression, Format
from stepstore.exchange.formats import BP, TABLES, format_inside, format_of
from stepstore.exchange.part import Part
from stepstore.exchange.source import Stored
from stepstore.exchange.table import compare, holds_other, pieces
from stepstore.xarray_backend.survey import Selection


@dataclass
class Export:
    """location: of a stream, or of arrays by name. steps, variables: what is wanted, None and (): all.
    snapshot: an epoch, or 0."""

    location: str
    destination: Path
    format: str = ""
    variables: Collection[str] = ()
    steps: Selection = None
    replace: bool = False
    report: Report = field(default_factory=Report)
    snapshot: int = 0
    compression: Compression | None = None

    def run(self) -> bool:
        """Whether something was written; else the same data were there already. Errors: DER_EXIST: something
        else is there. DER_INVAL: what the format cannot keep, by its name. DER_BUSY: another process exports
        to this place. DER_CSUM: what was written differs from the source."""
        name = format_of(str(self.destination), self.format)
        self._refuse_compression(name)
        job = _BpJob(self) if name == BP else _TableJob(self, TABLES[name])
        try:
            if os.path.lexists(self.destination):
                if not self.replace:
                    self._refuse_other(job)
                    return False
                self._refuse_to_replace()
            self.destination.absolute().parent.mkdir(parents=True, exist_ok=True)
            with Part(self.destination) as part:
                self._make(job, part, name)
        finally:
            job.close()
        return True

    def _refuse_compression(self, name: str) -> None:
        known = TABLES[name].compressions if name in TABLES else ()
        if self.compression is not None and self.compression.name not in known:
            told = f"it has {' and '.join(known)}" if known else "export to NAME.nc or NAME.zarr"
            raise Error(
                DER_INVAL,
                f"export to {self.destination}: the format {name} has no compression "
                f"{self.compression.name!r} here: {told}",
            )

    def _refuse_other(self, job: _TableJob | _BpJob) -> None:
        """Unless it is this export, whole."""
        try:
            self.report.expect(job.size)
            job.compare(self.destination, self.report)
        except KeyboardInterrupt:
            raise
        except Exception as error:  # noqa: BLE001  any file may be there
            raise holds_other(f"export to {self.destination}", error) from error

    def _refuse_to_replace(self) -> None:
        """A directory that is no file of a format is somebody's work."""
        if self.destination.is_dir() and not format_inside(str(self.destination)):
            raise Error(
                DER_EXIST,
                f"export to {self.destination}: it is a directory of something else: remove it yourself, or "
                "give another destination",
            )

    def _make(self, job: _TableJob | _BpJob, part: Part, name: str) -> None:
        chosen = {"snapshot": self.snapshot, "compression": self.compression}
        identity = {**job.identity, "format": name, "variables": sorted(self.variables), **chosen}
        self.report.resumed = part.begin(identity, resumable=job.resumable)
        try:
            self.report.expect(2 * job.size)
            job.fill(part)
            try:
                job.compare(part.data, self.report)
            except Error as error:
                if error.code == DER_CSUM:
                    part.empty()  # the next run writes all of it again
                raise
        except BaseException:
            if not job.resumable:
                with contextlib.suppress(OSError):
                    part.remove()
            raise
        part.publish(replace=self.replace)


class _TableJob:
    def __init__(self, export: Export, format: Format):
        self._format, self._report = format, export.report
        self.resumable = format.resumable
        self._table = Stored(export.location, export.steps, export.variables, export.snapshot)
        self._compression = export.compression
        if not self._table.ended:
            _tell_of_more(export)
        try:
            format.check(self._table)
        except BaseException:
            self._table.close()
            raise
        self.identity: dict[str, Any] = self._table.identity
        self.size = sum(entry.size for entry in self._table.entries)

    def fill(self, part: Part) -> None:
        done = part.done if self._report.resumed else 0
        writer = self._format.create(part.data, self._table, self._report.resumed, self._compression)
        try:
            number = 0
            for entry in self._table.entries:
                for start, count in pieces(entry):
                    number += 1
                    values = None
                    if number > done:
                        values = self._table.read(entry, start, count)
                        writer.write(entry, start, values)
                        if self.resumable:
                            part.done = number
                        self._report.copied(values.size * entry.element_size)
                self._report.objects += 1
        finally:
            writer.close()

    def compare(self, path: Path, report: Report) -> None:
        with contextlib.closing(self._format.open(path)) as written:
            compare(self._table, written, str(path), report.was_compared)

    def close(self) -> None:
        self._table.close()


class _BpJob:
    resumable = True

    def __init__(self, export: Export):
        self._report = export.report
        self._source = BpSource(export.location, export.steps, export.variables, export.snapshot)
        self.identity: dict[str, Any] = self._source.identity
        self.size = self._source.size
        if not self._source.steps.ended:
            _tell_of_more(export)

    def fill(self, part: Part) -> None:
        done = min(part.done, bp_files.steps_of(part.data)) if self._report.resumed else 0
        if not self._source.numbers:
            raise Error(DER_INVAL, f"{self._source.steps.location}: there are no steps to export")

        def ended(count: int) -> None:
            part.done = count

        if done < len(self._source.numbers):
            bp_files.fill(self._source, part.data, done, self._report.copied, ended)
        self._report.objects += len(self._source.numbers) - done

    def compare(self, path: Path, report: Report) -> None:
        bp_files.compare(self._source, path, str(path), report.was_compared)

    def close(self) -> None:
        self._source.close()


def _tell_of_more(export: Export) -> None:
    export.report.note(
        f"{export.location} is being written, or was not closed: the steps are exported that are whole"
    )
