"""Why a statement comes out as it does on the simulated cluster: the times behind it, and where they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepstore.lab.simulation.experiments import (
    ALIGNED,
    DENSE,
    E3SM,
    EVERYONE,
    EXTENDING,
    KV,
    POSIX,
    SNAPSHOTS,
    WARPX,
    Engine,
    Experiments,
)
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
from stepstore.lab.simulation.statements import Statement

_Numbers = Callable[[Any], str]


def why(statement: Statement, lab: Any) -> str:
    """Empty: nothing is known of it."""
    numbers, sentence = _REASONS.get(statement.text, (None, ""))
    if numbers is None:
        return ""
    how = ". A parameter was chosen for it" if statement.fitted else ""
    return f"{numbers(lab)}. {sentence}{how}"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


def _written(*engines: Engine, size: int) -> _Numbers:
    """Of a step, and what the first step adds over 1,000."""

    def numbers(lab: Experiments) -> str:
        parts = []
        for engine in engines:
            whole, steady = lab.times(engine, 1024, size), lab.steady(engine, 1024, size)
            once = whole.stabilisation - steady.stabilisation
            parts.append(
                f"{engine.name} {_ms(whole.stabilisation)}, of them {_ms(once)} connections over 1,000 steps"
            )
        return "; ".join(parts)

    return numbers


def _read(*engines: Engine, size: int) -> _Numbers:
    def numbers(lab: Experiments) -> str:
        parts = []
        for engine in engines:
            found = lab.times(engine, 1024, size)
            parts.append(f"{engine.name} {_ms(found.acquisition)}, of them {_ms(found.broadcast)} broadcast")
        return "; ".join(parts)

    return numbers


def _both(*engines: Engine, size: int) -> _Numbers:
    def numbers(lab: Experiments) -> str:
        parts = []
        for engine in engines:
            found = lab.times(engine, 1024, size)
            parts.append(f"{engine.name} {_ms(found.stabilisation)} + {_ms(found.acquisition)}")
        return "stabilisation + acquisition: " + "; ".join(parts)

    return numbers


def _readers(lab: Experiments) -> str:
    parts = []
    for name, engine in (("every rank reads", EVERYONE), ("rank 0 and broadcast", KV)):
        few, many = (lab.steady(engine, 224, WARPX, readers).acquisition for readers in (28, 224))
        parts.append(f"{name} {_ms(few)} with 28 readers, {_ms(many)} with 224")
    return "; ".join(parts)


def _extents(lab: Experiments) -> str:
    small, large = lab.extents(200, WARPX, 56 * 1024), lab.extents(20, E3SM, 56 * 1024)
    return f"5 KB of 200 writers {_ms(small)}, 56 KB of 20 writers {_ms(large)}"


def _course(engine: Engine) -> _Numbers:
    def numbers(lab: Experiments) -> str:
        course = lab.course(engine, 64, E3SM, 120, 6)
        return f"{_ms(course[0])} in the first 20 steps, {_ms(course[-1])} in the last"

    return numbers


def _fewer(lab: Experiments) -> str:
    few, many = (lab.times(ALIGNED, 1024, E3SM, steps).stabilisation for steps in (1000, 10_000))
    steady = lab.steady(ALIGNED, 1024, E3SM).stabilisation
    return f"{_ms(few)} over 1,000 steps, {_ms(many)} over 10,000; a later step takes {_ms(steady)}"


def _share(lab: Experiments) -> str:
    files, kv = (lab.times(engine, 1024, WARPX).stabilisation for engine in (POSIX, KV))
    return f"POSIX {_ms(files)}, so the data take {_ms(files * (1 / 0.21 - 1))}; KV {_ms(kv)}"


def _by_ranks(part: str) -> _Numbers:
    def numbers(lab: Experiments) -> str:
        few, many = (getattr(lab.times(ALIGNED, ranks, E3SM), part) for ranks in (64, 1024))
        return f"aligned {_ms(few)} at 64 ranks, {_ms(many)} at 1,024"

    return numbers


def _servers(name: str, store: str, pattern: str) -> _Numbers:
    def numbers(lab: FieldExperiments) -> str:
        at = [(one, lab.bandwidth(name, store, pattern, one) / 1e9) for one in (SERVERS[0], SERVERS[-1])]
        return ", ".join(f"{gigabytes:.3g} GB/s with {servers}" for servers, gigabytes in at)

    return numbers


def _process(name: str) -> _Numbers:
    def numbers(lab: FieldExperiments) -> str:
        found = lab.side(Run(OBJECTS, SEPARATE, SHORT, 12, nodes=20), name)
        return f"{found.process:.3g} s of the mean process, {found.bandwidth / 1e9:.3g} GB/s of all"

    return numbers


_FROM_FOUR_ON = tuple(one for one in SERVERS if one >= 4)
_UP_TO_EIGHT = tuple(one for one in SERVERS if one <= 8)


def _stores(
    name: str, pattern: str, servers_of: tuple[int, ...] = _FROM_FOUR_ON, length: Length = LONG
) -> _Numbers:
    def numbers(lab: FieldExperiments) -> str:
        parts = []
        for servers in servers_of:
            objects, files = (
                lab.bandwidth(name, store, pattern, servers, length) / 1e9 for store in (OBJECTS, FILES)
            )
            parts.append(f"{servers} servers {objects:.3g} and {files:.3g}")
        return "GB/s of DAOS and Lustre: " + ", ".join(parts)

    return numbers


_GATHER = "Rank 0 gathers the metadata of 1,024 ranks into one file; with objects each rank stores its own"
_SHARE_OF_PUT = "Each rank's metadata is one request to one of 160 targets, which the ranks share evenly"
_ALIGNED_READ = "Aligned metadata lies in 1,024 chunks, so rank 0 asks for each; dense lies in a few"
_NO_LOCKS = "Nothing is locked, and placement spreads the fields over all targets"
_TABLE = "A reader of files first loads the table of contents and every index"
_LOCKS = (
    "Writers and readers take each other's locks of the table of contents, and data servers turn between "
    "writing and reading"
)
_REASONS: dict[str, tuple[_Numbers | None, str]] = {
    "every rank reads: how it grows, over the broadcast's growth": (
        _readers, ("Each further reader asks the same targets for all metadata; a broadcast has one step "
        "more when the ranks double")),
    "56 KB stabilisation, POSIX over KV": (_written(POSIX, KV, size=E3SM), _GATHER),
    "56 KB stabilisation, POSIX over dense array": (
        _written(POSIX, DENSE, size=E3SM), f"{_GATHER}, after an exchange of sizes"),
    "56 KB acquisition, KV over dense array": (
        _read(KV, DENSE, size=E3SM), ("With KV rank 0 asks 1,024 times and registers "
        "memory for each value; a "
        "dense step is a few large reads")),
    "5 KB stabilisation, dense array over KV": (
        _written(DENSE, KV, size=WARPX), ("200 ranks share a dense chunk and so a target, which runs out of "
        "registered buffers")),
    "5 KB stabilisation, aligned over KV": (_written(ALIGNED, KV, size=WARPX), _SHARE_OF_PUT),
    "5 KB aligned at 56 KB over 56 KB, 200 and 20 writers": (
        _extents, ("18 writers share a chunk at this stride, whatever the extents are; what they carry takes "
        "less than a request")),
    "5 KB acquisition, KV over dense array": (
        _read(KV, DENSE, size=WARPX), ("1,024 gets, each of them a call of rank 0; a dense step is 5 MB in "
        "five chunks")),
    "5 KB acquisition, aligned over dense array": (_read(ALIGNED, DENSE, size=WARPX), _ALIGNED_READ),
    "5 KB acquisition, POSIX over dense array": (
        _read(POSIX, DENSE, size=WARPX), "The file system reads 16 MB ahead, so only every third step waits"),
    "56 KB end to end, POSIX over aligned": (_both(POSIX, ALIGNED, size=E3SM), _GATHER),
    "56 KB end to end, KV over aligned": (
        _both(KV, ALIGNED, size=E3SM), "They write alike. Reading a chunk is cheaper than asking for a key"),
    "56 KB end to end, dense array over aligned": (
        _both(DENSE, ALIGNED, size=E3SM), ("Dense metadata of 56 KB crosses chunks and shares "
        "targets, but are read "
        "in fewer requests")),
    "5 KB end to end, POSIX over aligned": (_both(POSIX, ALIGNED, size=WARPX), _GATHER),
    "5 KB end to end, KV over aligned": (
        _both(KV, ALIGNED, size=WARPX), "They write alike. Reading a chunk is cheaper than asking for a key"),
    "extending: the last of 120 steps over the first, 64 writers": (
        _course(EXTENDING), "A step goes behind the one before, into a chunk of its own"),
    "snapshots: the last of 120 steps over the first, 64 writers": (
        _course(SNAPSHOTS), ("Each snapshot keeps a version of what is overwritten, and a target walks over "
        "all of them; the steepness is assumed, since the figure has no numbers")),
    "stabilisation at 1,000 over 10,000 steps": (
        _fewer, "A process connects to 20 engines in its first step, 93 ms each, spread over the steps"),
    "WarpX: KV's percent of I/O time, where POSIX has 21": (
        _share, "Most of KV's time is the connections of the first step, spread over 1,000"),
    "stabilisation per byte, 1,024 over 64 ranks": (_by_ranks("stabilisation"), _SHARE_OF_PUT),
    "acquisition per byte, 1,024 over 64 ranks": (
        _by_ranks("acquisition"), ("The bytes of a step grow with the ranks, and rank 0's rail is never full "
        "with few of them")),
    "seconds of a writing process, 12 servers": (
        _process("written"), "640 processes write 2,000 fields of 1 MiB each"),
    "seconds of a reading process, 12 servers": (
        _process("read"), "640 processes read 2,000 fields of 1 MiB each"),
    "2,000 fields, separate, writing: Lustre over DAOS, mean of 1 to 8 servers": (
        _stores("written", SEPARATE, _UP_TO_EIGHT, SHORT), ("What is opened and made once weighs more in a "
        "short run, and a process of files makes few")),
    "2,000 fields, separate, reading: DAOS over Lustre, mean of 1 to 8 servers": (
        _stores("read", SEPARATE, _UP_TO_EIGHT, SHORT), _TABLE),
    "2,000 fields, together, writing: DAOS over Lustre, mean of 1 to 8 servers": (
        _stores("written", TOGETHER, _UP_TO_EIGHT, SHORT), _LOCKS),
    "2,000 fields, together, reading: DAOS over Lustre, mean of 1 to 8 servers": (
        _stores("read", TOGETHER, _UP_TO_EIGHT, SHORT), _LOCKS),
    "DAOS, separate, writing: 16 servers over 1, each": (_servers("written", OBJECTS, SEPARATE), _NO_LOCKS),
    "DAOS, separate, reading: 16 servers over 1, each": (_servers("read", OBJECTS, SEPARATE), _NO_LOCKS),
    "DAOS, together, writing: 16 servers over 1, each": (_servers("written", OBJECTS, TOGETHER), _NO_LOCKS),
    "DAOS, together, reading: 16 servers over 1, each": (_servers("read", OBJECTS, TOGETHER), _NO_LOCKS),
    "separate, writing: Lustre over DAOS, mean of 4, 8, 12, 16 servers": (
        _stores("written", SEPARATE), "Each process has a file of its own and meets nobody"),
    "separate, reading: DAOS over Lustre, mean of 4, 8, 12, 16 servers": (
        _stores("read", SEPARATE), _TABLE),
    "together, writing: Lustre over DAOS, mean of 4, 8, 12, 16 servers": (
        _stores("written", TOGETHER), _LOCKS),
    "together, reading: Lustre over DAOS, mean of 4, 8, 12, 16 servers": (_stores("read", TOGETHER), _LOCKS),
}  # fmt: skip
