"""The second reference's figures 4 and 6 on its simulated cluster, in the form that it gives them."""

from __future__ import annotations

from collections.abc import Callable

from stepstore.lab.simulation.field_experiments import (
    FILES,
    LONG,
    OBJECTS,
    SEPARATE,
    SERVERS,
    SHORT,
    TOGETHER,
    FieldExperiments,
    Length,
    Run,
)
from stepstore.lab.simulation.figures import Drawn, Panel

_NAME_OF = {OBJECTS: "DAOS, our field engine", FILES: "Lustre, FDB's files"}
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
                "servers",
                "GiB/s",
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
