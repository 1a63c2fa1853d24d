"""stepstore simulate: jobs on a simulated cluster."""

from __future__ import annotations

import typer


def simulate(context: typer.Context) -> None:
    """Predict the times of a job on a simulated cluster; 'simulate figures' draws the reference's figures."""
    from stepstore.lab.simulation.command import simulate as run

    run(list(context.args))
