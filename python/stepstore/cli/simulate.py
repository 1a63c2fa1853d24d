"""stepstore simulate: jobs on a simulated cluster."""

from __future__ import annotations

from typing import Annotated

import typer

_COMMANDS = ("figures", "measure", "validate")


def _first_word(ctx: typer.Context) -> list[str]:
    return [] if ctx.params.get("words") else list(_COMMANDS)


def simulate(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="|".join(_COMMANDS), autocompletion=_first_word)
    ] = None,
) -> None:
    """Predict the times of a job on a simulated cluster; or draw figures, or measure a machine."""
    from stepstore.lab.simulation.command import simulate as run

    run(list(words or ()))
