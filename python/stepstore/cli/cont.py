"""stepstore cont: create, list, query, destroy."""

from __future__ import annotations

from typing import Annotated

import typer

from stepstore import _core
from stepstore.cli import complete
from stepstore.cli.address import Address, check_text, resolve
from stepstore.cli.browse import container_summary, for_people
from stepstore.cli.common import JsonOption, YesOption, confirm, emit, one_of, usage_error
from stepstore.cli.pages import Application
from stepstore.console import facts, show, table
from stepstore.store import Pool

app = Application(help="Make, list and remove containers: objects that live and are snapshotted together.")

ContainerArgument = Annotated[
    str,
    typer.Argument(
        metavar="POOL/CONTAINER",
        autocompletion=complete.containers,
        help="The pool and the label of the container.",
    ),
]


def container_address(location: str) -> Address:
    address = resolve(location)
    if not address.container or address.rest:
        usage_error(f"{location!r} names no container: give POOL/CONTAINER")
    return address


@app.command()
def create(
    location: ContainerArgument,
    kind: Annotated[
        str,
        typer.Option(
            "--type",
            **one_of("objects", "posix"),
            help="What it is for: objects of any kind, or a file system of libdfs (daos.md).",
        ),
    ] = "objects",
    as_json: JsonOption = False,
) -> None:
    """Make a container in a pool that exists."""
    address = container_address(location)
    if kind == "posix":
        if address.is_of_daos_system:
            usage_error(
                f"{address.pool} is of a DAOS system: use its own tool, daos cont create --type POSIX"
            )
        _core.create_file_system(address.pool, address.container)
    else:
        with Pool.connect(address.pool) as pool, pool.create_container(address.container):
            pass
    made = {"label": address.container} if address.is_of_daos_system else container_summary(address)
    what = "file system" if kind == "posix" else "container"
    emit(as_json, made, lambda: f"made {what} {address.container} in {address.pool}")


@app.command("list")
def list_containers(
    pool: Annotated[str, typer.Argument(metavar="POOL", autocompletion=complete.pools, help="The pool.")],
    as_json: JsonOption = False,
) -> None:
    """List the containers of a pool."""
    check_text(pool)
    handle = _core.Pool.connect(pool, True)
    found = [
        {"label": label, "uuid": uuid}
        for uuid, label in sorted(handle.containers(), key=lambda c: (c[1], c[0]))
    ]
    handle.close()
    emit(as_json, found, lambda: table(["LABEL", "UUID"], [(c["label"], c["uuid"]) for c in found]))


@app.command()
def query(location: ContainerArgument, as_json: JsonOption = False) -> None:
    """Show a container: what it holds and its snapshots."""
    summary = container_summary(container_address(location))
    emit(as_json, summary, lambda: facts(for_people("container", summary)))


@app.command()
def destroy(location: ContainerArgument, yes: YesOption = False) -> None:
    """Remove a container with all its objects, streams and snapshots."""
    address = container_address(location)
    with Pool.connect(address.pool) as pool:
        pool.open_container(
            address.container, read_only=True
        ).close()  # a missing one is said before the question
        confirm(f"Remove the container {address.container} of {address.pool} with all in it?", yes)
        pool.destroy_container(address.container, force=yes)
    show(f"removed container {address.container}")
