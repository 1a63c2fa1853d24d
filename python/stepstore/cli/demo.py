"""stepstore demo: demonstrations that set up what they need, say what they do, and check what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepstore.cli.common import JsonOption
from stepstore.cli.pages import Application
from stepstore.console import emit_json, show

app = Application(
    help="Run a demonstration. It sets up what it needs, says what it does, and checks the result."
)


@app.command("simulation")
def simulation(
    location: Annotated[
        str, typer.Argument(metavar="LOCATION", help="Where the stream goes.")
    ] = "simulation-demo/gs",
    size: Annotated[
        int, typer.Option("--size", metavar="N", min=8, help="Cells of an edge of the plane.")
    ] = 128,
    steps: Annotated[int, typer.Option("--steps", metavar="N", min=1, help="Steps to write.")] = 50,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", min=1, help="Iterations of the equations in a step.")
    ] = 20,
    pause: Annotated[
        float,
        typer.Option("--pause", metavar="SECONDS", min=0, show_default="0 s", help="Time between two steps."),
    ] = 0.0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a stream that this demonstration did not make.")
    ] = False,
    async_write: Annotated[
        bool, typer.Option("--async-write", help="Write the steps beside the computation (AsyncWrite).")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a small simulation in NumPy that writes its steps. It needs no compiler and no MPI."""
    from stepstore.demos.simulation import Settings, run

    settings = Settings(location, size, steps, iterations, pause, replace, async_write)
    found = run(settings, (lambda line: None) if as_json else show)
    if as_json:
        emit_json(found)
        return
    show("look at it:")
    show(f"  stepstore steps {location} -l")
    command = f'import stepstore; print(stepstore.open_steps("{location}").read("U", step=-1).mean())'
    show(f"  python -c '{command}'")


@app.command("fields")
def fields(
    directory: Annotated[
        Path,
        typer.Option(
            "--directory", "-d", metavar="DIR", help="Where FDB's configuration, the pool and the picture go."
        ),
    ] = Path("fdb-demo"),
    as_json: JsonOption = False,
) -> None:
    """Run a small ensemble forecast through a stock FDB: archive, list, retrieve a slice with pyfdb, plot it,
    and compare all messages bit for bit."""
    from stepstore.demos.fields import run

    found = run(directory, (lambda line: None) if as_json else show)
    if as_json:
        emit_json(found)
        return
    show("go on with FDB's own tools on it:")
    show(f'  eval "$(stepstore fdb5-env)"; export FDB_CONFIG_FILE={found["config"]}')
    show("  fdb-list --porcelain class=rd,expver=demo,step=48,number=1")
