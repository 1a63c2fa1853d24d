"""stepstore snapshot: create, list, destroy, aggregate."""

from __future__ import annotations

import datetime
from typing import Annotated

import typer

from stepstore import steps
from stepstore.cli import complete
from stepstore.cli.address import open_container, resolve
from stepstore.cli.common import JsonOption, YesOption, confirm, emit, usage_error
from stepstore.cli.cont import ContainerArgument, container_address
from stepstore.cli.pages import Application
from stepstore.console import show, table
from stepstore.store import Pool

app = Application(help="Make, list and remove snapshots: a container as it was.")


def time_of(epoch: int) -> str:
    """Epochs are nanoseconds of the clock, or a little more where it stood still."""
    moment = datetime.datetime.fromtimestamp(epoch / 1e9, datetime.UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


@app.command()
def create(
    location: ContainerArgument,
    name: Annotated[str, typer.Option(metavar="NAME", help="A name to find it by.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Remember a container as it is now."""
    address = container_address(location)
    with Pool.connect(address.pool) as pool, pool.open_container(address.container) as container:
        epoch = container.create_snapshot(name)
    value = {"epoch": epoch, "name": name}
    emit(as_json, value, lambda: f"made snapshot {name + ' ' if name else ''}at epoch {epoch}")


@app.command("list")
def list_snapshots(location: ContainerArgument, as_json: JsonOption = False) -> None:
    """List the snapshots of a container, oldest first."""
    pool, container = open_container(container_address(location))
    with pool, container:
        found = sorted(container.snapshots(), key=lambda entry: entry.epoch)
    value = [{"epoch": entry.epoch, "name": entry.name, "time": time_of(entry.epoch)} for entry in found]
    emit(as_json, value, lambda: table([("EPOCH", "right"), "NAME", "TIME"], [v.values() for v in value]))


@app.command()
def destroy(
    location: ContainerArgument,
    snapshot: Annotated[
        str, typer.Argument(metavar="NAME|EPOCH", autocompletion=complete.snapshots, help="Which snapshot.")
    ],
    yes: YesOption = False,
) -> None:
    """Forget a snapshot. Versions that nothing else needs are dropped."""
    address = container_address(location)
    with Pool.connect(address.pool) as pool, pool.open_container(address.container) as container:
        epoch = container.epoch_of(snapshot)
        confirm(f"Forget the snapshot {snapshot} of {location}?", yes)
        container.destroy_snapshot(epoch)
    show(f"removed snapshot {snapshot}")


@app.command()
def aggregate(
    location: Annotated[
        str,
        typer.Argument(
            metavar="LOCATION",
            autocompletion=complete.streams,
            help="POOL/CONTAINER/STREAM, or less if there is one.",
        ),
    ],
    keep: Annotated[int, typer.Option(metavar="N", min=1, help="How many steps to keep: the last ones.")],
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Forget the snapshots of old steps, in a stream that was written with Steps=snapshot.

    The steps whose snapshots are removed are gone: a reader that names one of them gets an error. The stream
    may be written and read meanwhile."""
    address = resolve(location)
    if address.object_id is not None:
        usage_error(f"{location!r} is an object: give a stream of steps")
    where = "/".join(part for part in (address.pool, address.container, address.rest) if part)
    confirm(f"Forget all but the last {keep} steps of {where}?", yes)
    done = steps.aggregate(where, keep)
    value = {"removed": done.removed, "first": done.first, "steps": done.steps}
    kept = f"kept are {done.first} to {done.steps - 1}"
    told = f"removed {done.removed} steps; {kept}" if done.removed else f"complete already: {kept}"
    emit(as_json, value, lambda: told)
