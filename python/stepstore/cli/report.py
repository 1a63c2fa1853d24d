"""stepstore report: one page with every figure, measured and simulated, and every statement."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

import stepstore
from stepstore.cli.common import progress_line, usage_error
from stepstore.console import CommandError, ExitCode, show
from stepstore.lab.benchmarks.records import write_whole


def report(
    file: Annotated[Path, typer.Argument(metavar="FILE.html", help="The page to write.")] = Path(
        "stepstore-report.html"
    ),
    taken: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="DIR", help="Take figures and statements that commands left there."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small runs: minutes, and times that mean little.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Keep the figures that an interrupted report left in --directory."),
    ] = False,
    no_run: Annotated[bool, typer.Option("--no-run", help="Run nothing: only what --from has.")] = False,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory", metavar="DIR", show_default="beside the page", help="Where the figures go."
        ),
    ] = None,
) -> None:
    """Write one self-contained HTML page with all figures and statements.

    It runs the commands whose figures no --from has: 'bench application', 'bench layouts', 'simulate
    figures', 'bench fields', 'advise'. Any command's figures go into the page: give the folder of its
    --figures to --from.
    """
    _require_jinja()
    from stepstore.lab.reports.chapters import CHAPTERS
    from stepstore.lab.reports.collected import collect
    from stepstore.lab.reports.page import render
    from stepstore.lab.reports.run import Run

    folders = list(taken or [])
    for folder in folders:
        if not folder.is_dir():
            usage_error(f"--from {folder}: there is no such directory")
    if no_run and not folders:
        usage_error("--no-run: give what to show with --from DIR")
    if not file.absolute().parent.is_dir():
        usage_error(f"{file}: there is no directory {file.absolute().parent}")
    made = directory or file.with_suffix("").with_name(f"{file.stem}-figures")
    if resume and made.is_dir():
        folders.append(made)
    found = collect(folders)
    run = Run(made, quick, progress_line)
    begin = time.monotonic()
    if not no_run:
        for chapter in CHAPTERS:
            for work in chapter.works:
                if not any(work.made(command) for command in found.commands()):
                    run(chapter, work)
        if made.is_dir():
            found = collect([*folders, made])
    reasons = [one for those in run.left_out.values() for one in those]
    if not found.figures and not found.statements:
        raise CommandError(
            f"there is nothing to show: {'; '.join(reasons) or 'the folders have no figures'}",
            ExitCode.NOT_FOUND,
        )
    page = render(found, run.left_out, quick, stepstore.__version__)
    write_whole(file, lambda begun: begun.write_text(page, encoding="utf-8"))
    took = f", made in {(time.monotonic() - begin) / 60:.0f} minutes" if not no_run else ""
    counts = f"{len(found.figures)} figures, {len(found.statements)} statements"
    show(f"{file}: {counts}, {len(page) >> 10} KiB{took}")


def _require_jinja() -> None:
    if importlib.util.find_spec("jinja2") is None:
        raise CommandError(
            f"the report needs jinja2, which {sys.executable} does not have: {sys.executable} -m pip install "
            "jinja2",
            ExitCode.NOT_FOUND,
        )
