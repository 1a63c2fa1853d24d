"""Pools of a benchmark on a Ceph cluster: --location."""

from __future__ import annotations

import os
import time
from argparse import Namespace

from stepstore import _core
from stepstore.lab.benchmarks.options import Parser
from stepstore.errors import DER_BUSY, DER_NONEXIST, Error
from stepstore.store import Pool

_PATIENCE = 60.0  # seconds


def add_location(parser: Parser) -> None:
    parser.add_argument(
        "--location",
        default="",
        metavar="rados://POOL[/NAMESPACE]",
        help="put Stepstore's pools on Ceph, in a namespace of its own whose name begins so; it is removed "
        "after each run. The peer stays on this machine",
    )


def own_pool(parser: Parser, options: Namespace) -> str:
    """The pool of this run; empty without --location. A cluster that cannot be used ends the command here."""
    if not options.location:
        return ""
    if options.on != "machine":
        parser.error("give --location or --on, not both")
    try:
        parts = _core.parse_location(options.location)
    except Error as error:
        parser.error(f"--location: {error}")
    if parts.scheme != "rados://" or parts.rest:
        parser.error(f"--location {options.location}: give rados://POOL or rados://POOL/NAMESPACE")
    pool = f"{parts.pool}{'-' if parts.names[1] else ''}bench-{os.getpid()}"
    Pool.create(pool)
    remove(pool)
    return pool


def remove(pool: str) -> None:
    """Processes that ended without closing the pool count as users of it for 10 s."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return Pool.destroy(pool)
        except Error as error:
            if error.code == DER_NONEXIST:
                return None
            if error.code != DER_BUSY or time.monotonic() > end:
                raise
        time.sleep(0.5)
