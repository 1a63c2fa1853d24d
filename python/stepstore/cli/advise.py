"""stepstore advise: the layout and parameters for a job."""

from __future__ import annotations

import typer


def advise(context: typer.Context) -> None:
    """Say which layout and parameters a job should take on a cluster, with predicted times and the reason."""
    from stepstore.lab.simulation.advise import advise as run

    run(list(context.args))
