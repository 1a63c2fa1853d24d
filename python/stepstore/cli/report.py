"""stepstore report: one page with every figure, measured and simulated, and every statement."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import typer

import stepstore
from stepstore.benchmarks.records import write_whole
from stepstore.cli.common import CommandError, ExitCode, Settings, show, usage_error


def report(
    file: Annotated[Path, typer.Argument(metavar="FILE.html", help="The page.")] = Path(
        "stepstore-report.html"
    ),
    taken: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="DIR", help="Take figures and statements that commands left there."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small runs: minutes, and times that mean little.")
    ] = False,
    no_run: Annotated[bool, typer.Option("--no-run", help="Run nothing: only what --from has.")] = False,
    directory: Annotated[
        Path | None,
        typer.Option("--directory", metavar="DIR", help="For the figures (default: beside the page)."),
    ] = None,
) -> None:
    """Write one self-contained HTML page with all figures and statements.

    It runs the commands whose figures no --from has: 'bench application', 'bench layouts', 'simulate
    figures'. Any command's figures go into the page: give the folder of its --figures to --from.
    """
    _require_jinja()
    from stepstore.reports.chapters import CHAPTERS, Run
    from stepstore.reports.collected import collect
    from stepstore.reports.page import render

    folders = taken or []
    for folder in folders:
        if not folder.is_dir():
            usage_error(f"--from {folder}: there is no such directory")
    if no_run and not folders:
        usage_error("--no-run: give what to show with --from DIR")
    if not file.absolute().parent.is_dir():
        usage_error(f"{file}: there is no directory {file.absolute().parent}")
    made = directory or file.with_suffix("").with_name(f"{file.stem}-figures")
    found = collect(folders)
    run = Run(made, quick, lambda text: Settings.err.print(text, markup=False))
    if not no_run:
        for chapter in CHAPTERS:
            if not any(chapter.has(command) for command in found.commands()):
                run(chapter)
        if made.is_dir():
            found = collect([*folders, made])
    if not found.figures and not found.statements:
        raise CommandError(
            f"there is nothing to show: {'; '.join(run.left_out.values()) or 'the folders have no figures'}",
            ExitCode.NOT_FOUND,
        )
    page = render(found, run.left_out, quick, stepstore.__version__)
    write_whole(file, lambda begun: begun.write_text(page, encoding="utf-8"))
    show(f"{file}: {len(found.figures)} figures, {len(found.statements)} statements, {len(page) >> 10} KiB")


def _require_jinja() -> None:
    if importlib.util.find_spec("jinja2") is None:
        raise CommandError(
            f"the report needs jinja2, which {sys.executable} does not have: {sys.executable} -m pip install "
            "jinja2",
            ExitCode.NOT_FOUND,
        )
