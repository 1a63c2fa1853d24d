"""The second reference's figures 4 and 6 on its simulated cluster, in the form that it gives them. And what
fields would take with nothing but a parallel file system."""

from __future__ import annotations

from collections.abc import Callable

from stepstore.lab.figures import HIGHER, Quantity
from stepstore.lab.simulation.field_experiments import (
    FILES,
    LONG,
    OBJECTS,
    SEPARATE,
    SERVERS,
    SHARED,
    SHORT,
    TOGETHER,
    FieldExperiments,
    Length,
    Run,
)
from stepstore.lab.simulation.figures import Drawn, Panel

_NAME_OF = {
    OBJECTS: "DAOS, our field engine",
    FILES: "Lustre, FDB's files",
    SHARED: "Lustre, our field engine on a pool in files",
}
_BANDWIDTH = Quantity("bandwidth of all processes", "GiB/s", "bandwidth_gib_s", HIGHER)
_ON_SERVERS = Quantity("servers", "number", "servers")
_PROCESSES = Quantity("processes", "number", "processes")
_PANELS = (
    ("Writers, separate", "written", SEPARATE),
    ("Readers, separate", "read", SEPARATE),
    ("Writers, together with readers", "written", TOGETHER),
    ("Readers, together with writers", "read", TOGETHER),
)


def _panels(length: Length) -> Callable[[FieldExperiments], list[Panel]]:
    def panels(lab: FieldExperiments) -> list[Panel]:
        return [
            Panel(
                title,
                _ON_SERVERS,
                _BANDWIDTH,
                SERVERS,
                {
                    _NAME_OF[store]: [
                        lab.bandwidth(side, store, pattern, one, length) / 2**30 for one in SERVERS
                    ]
                    for store in (OBJECTS, FILES)
                },
                bars=False,
            )
            for title, side, pattern in _PANELS
        ]

    return panels


def runs_of(length: Length) -> list[Run]:
    """The longest first: they run side by side."""
    return [
        Run(store, pattern, length, servers)
        for servers in reversed(SERVERS)
        for store in (OBJECTS, FILES)
        for pattern in (SEPARATE, TOGETHER)
    ]


FIELD_FIGURES = (
    Drawn("fdb-4", "4 of FDB: 2,000 fields of 1 MiB for each process", _panels(SHORT), tuple(runs_of(SHORT))),
    Drawn("fdb-6", "6 of FDB: 10,000 fields of 1 MiB for each process", _panels(LONG), tuple(runs_of(LONG))),
)

# Of pools in files, on the cluster `lustre`: a step has few fields, so that a thousand processes can be
# simulated. Each node has 32 processes.
SERVERS_OF_LUSTRE = 10
NODES = (2, 8, 32)
_OF_NODE = 32
_FEW = Length(10, 10, 2)


def _run_on(store: str, pattern: str, nodes: int) -> Run:
    return Run(store, pattern, _FEW, SERVERS_OF_LUSTRE, nodes)


def _panels_of_files(lab: FieldExperiments) -> list[Panel]:
    return [
        Panel(
            title,
            _PROCESSES,
            _BANDWIDTH,
            tuple(_OF_NODE * nodes for nodes in NODES),
            {
                _NAME_OF[store]: [
                    lab.side(_run_on(store, pattern, nodes), side).bandwidth / 2**30 for nodes in NODES
                ]
                for store in (SHARED, FILES, OBJECTS)
            },
            bars=False,
        )
        for title, side, pattern in _PANELS
    ]


FIELDS_ON_FILES = (
    Drawn(
        "files-3",
        "files-3: 200 fields of 1 MiB for each process",
        _panels_of_files,
        tuple(
            _run_on(store, pattern, nodes)
            for nodes in reversed(NODES)
            for store in (SHARED, FILES, OBJECTS)
            for pattern in (SEPARATE, TOGETHER)
        ),
    ),
)
