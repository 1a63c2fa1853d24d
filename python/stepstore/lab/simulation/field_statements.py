"""What the second reference states in numbers, and what its simulated cluster says."""

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
from stepstore.lab.simulation.statements import ABOVE, Statement

_FROM_FOUR_ON = tuple(one for one in SERVERS if one >= 4)
_UP_TO_EIGHT = tuple(one for one in SERVERS if one <= 8)
_MOST = max(SERVERS)


def _process(name: str) -> Callable[[FieldExperiments], float]:
    run = Run(OBJECTS, SEPARATE, SHORT, 12, nodes=20)
    return lambda lab: lab.side(run, name).process


def _scaling(name: str, pattern: str) -> Callable[[FieldExperiments], float]:
    """The bandwidth of a server where there are most of them, over that of a single one."""
    return lambda lab: (
        lab.bandwidth(name, OBJECTS, pattern, _MOST) / _MOST / lab.bandwidth(name, OBJECTS, pattern, 1)
    )


def _files_over_objects(
    name: str, pattern: str, servers: tuple[int, ...], length: Length = LONG
) -> Callable[[FieldExperiments], float]:
    """The mean over these numbers of servers."""

    def mean(lab: FieldExperiments) -> float:
        ratios = [
            lab.bandwidth(name, FILES, pattern, one, length)
            / lab.bandwidth(name, OBJECTS, pattern, one, length)
            for one in servers
        ]
        return sum(ratios) / len(ratios)

    return mean


def _objects_over_files(
    name: str, pattern: str, servers: tuple[int, ...], length: Length = LONG
) -> Callable[[FieldExperiments], float]:
    files = _files_over_objects(name, pattern, servers, length)
    return lambda lab: 1 / files(lab)


def _short(text: str, value: Callable[[FieldExperiments], float], kind: str = ABOVE) -> Statement:
    """Of the short runs, as far as they have two client nodes for a server."""
    return Statement("fdb-4", f"2,000 fields, {text}, mean of 1 to 8 servers", 1, False, value, kind)


FIELD_STATEMENTS = (
    _short(
        "separate, writing: Lustre over DAOS", _files_over_objects("written", SEPARATE, _UP_TO_EIGHT, SHORT)
    ),
    _short("separate, reading: DAOS over Lustre", _objects_over_files("read", SEPARATE, _UP_TO_EIGHT, SHORT)),
    _short(
        "together, writing: DAOS over Lustre", _objects_over_files("written", TOGETHER, _UP_TO_EIGHT, SHORT)
    ),
    _short("together, reading: DAOS over Lustre", _objects_over_files("read", TOGETHER, _UP_TO_EIGHT, SHORT)),
    Statement("fdb-5", "seconds of a writing process, 12 servers", 27.5, True, _process("written"), unit="s"),
    Statement("fdb-5", "seconds of a reading process, 12 servers", 21.8, True, _process("read"), unit="s"),
    Statement(
        "fdb-6", "DAOS, separate, writing: 16 servers over 1, each", 1, False, _scaling("written", SEPARATE)
    ),
    Statement(
        "fdb-6", "DAOS, separate, reading: 16 servers over 1, each", 1, False, _scaling("read", SEPARATE)
    ),
    Statement(
        "fdb-6", "DAOS, together, writing: 16 servers over 1, each", 1, False, _scaling("written", TOGETHER)
    ),
    Statement(
        "fdb-6", "DAOS, together, reading: 16 servers over 1, each", 1, False, _scaling("read", TOGETHER)
    ),
    Statement(
        "fdb-6",
        "separate, writing: Lustre over DAOS, mean of 4, 8, 12, 16 servers",
        1,
        True,
        _files_over_objects("written", SEPARATE, _FROM_FOUR_ON),
    ),
    Statement(
        "fdb-6",
        "separate, reading: DAOS over Lustre, mean of 4, 8, 12, 16 servers",
        1,
        False,
        _objects_over_files("read", SEPARATE, _FROM_FOUR_ON),
        ABOVE,
    ),
    Statement(
        "fdb-6",
        "together, writing: Lustre over DAOS, mean of 4, 8, 12, 16 servers",
        0.5,
        True,
        _files_over_objects("written", TOGETHER, _FROM_FOUR_ON),
    ),
    Statement(
        "fdb-6",
        "together, reading: Lustre over DAOS, mean of 4, 8, 12, 16 servers",
        0.5,
        True,
        _files_over_objects("read", TOGETHER, _FROM_FOUR_ON),
    ),
)
