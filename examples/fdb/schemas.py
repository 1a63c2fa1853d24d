"""The cost of a schema: archives, lists and retrieves one forecast through FDB, with its keys divided in
several ways.

    eval "$(stepstore fdb5-env)"
    python schemas.py --split : --split :number --split :number,levelist --split number:

A split such as "number:step" says which of step, number, levelist and param are in the dataset key and in the
collocation key. The others are in the element key. Every writing process has its members and flushes after
each step. A new process reads. docs/fdb-schema.md has results.
"""

import argparse
import json
import multiprocessing
import shutil
import statistics
import tempfile
import time
from pathlib import Path

DATASET = {
    "class": "rd",
    "expver": "test",
    "stream": "enfo",
    "date": "20260101",
    "time": "0000",
    "domain": "g",
}
COLLOCATION = {"type": "pf", "levtype": "pl"}
ELEMENT = ("step", "number", "levelist", "param")


def schema(split):
    dataset, collocation = (part.split(",") if part else [] for part in split.split(":"))
    unknown = {*dataset, *collocation} - {*ELEMENT}
    element = [name for name in ELEMENT if name not in dataset + collocation]
    if unknown or not element:
        raise SystemExit(
            f"--split {split!r}: divide {', '.join(ELEMENT)}, with at least one left for the element key"
        )
    types = (
        "param: Param;\nstep: Step;\ndate: Date;\nlevelist: Double;\nexpver: Expver;\ntime: Time;\n"
        "number: Integer;"
    )
    levels = (", ".join([*DATASET, *dataset]), ", ".join([*COLLOCATION, *collocation]), ", ".join(element))
    return "{}\n[ {} [ {} [ {} ]]]\n".format(types, *levels)


def message(size):
    """A GRIB message of about this size."""
    import eccodes

    handle = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
    columns = max(2, size // 32)
    for name, value in (
        ("Ni", columns),
        ("Nj", 16),
        ("iDirectionIncrementInDegrees", 360 / columns),
        ("bitsPerValue", 16),
    ):
        eccodes.codes_set(handle, name, value)
    eccodes.codes_set_values(handle, [280 + (i * 7919 % 1000) / 100 for i in range(columns * 16)])
    made = eccodes.codes_get_message(handle)
    eccodes.codes_release(handle)
    return made


def write(number, config, options, ready, results):
    """One writer: its members of all steps, with a flush after each step."""
    import pyfdb

    payload = message(options.size)
    fdb = pyfdb.FDB(config)
    members = range(number + 1, options.members + 1, options.writers)
    ready.wait()
    archive, flushes, began = 0.0, [], time.perf_counter()
    for step in range(options.steps):
        started = time.perf_counter()
        for member in members:
            for level in range(1, options.levels + 1):
                for parameter in range(1, options.params + 1):
                    names = {"step": step, "number": member, "levelist": level, "param": parameter}
                    fdb.archive(
                        payload,
                        {**DATASET, **COLLOCATION, **{name: str(value) for name, value in names.items()}},
                    )
        archived = time.perf_counter()
        fdb.flush()
        archive += archived - started
        flushes.append(time.perf_counter() - archived)
    results.put(
        {"wall": time.perf_counter() - began, "archive": archive, "flush": statistics.median(flushes)}
    )


def read(config, options, results):
    """A reader in a process of its own."""
    import pyfdb

    def retrieve(step, number, level, parameter):
        chosen = {"step": step, "number": number, "levelist": level, "param": parameter}
        started = time.perf_counter()
        with fdb.retrieve(
            {**DATASET, **COLLOCATION, **{name: str(value) for name, value in chosen.items()}}
        ) as handle:
            data = handle.read()
        return time.perf_counter() - started, len(data) // size

    def listing(**chosen):
        started = time.perf_counter()
        found = sum(1 for _ in fdb.list({**DATASET, **{name: str(value) for name, value in chosen.items()}}))
        return time.perf_counter() - started, found

    size = len(message(options.size))
    started = time.perf_counter()
    fdb = pyfdb.FDB(config)
    retrieve(1, 1, 1, 1)
    first = time.perf_counter() - started
    again = statistics.median(
        retrieve(step % options.steps, 1 + step % options.members, 1, 1)[0] for step in range(50)
    )
    members = "/".join(map(str, range(1, options.members + 1)))
    across, fields = retrieve(options.steps - 1, members, "/".join(map(str, range(1, options.levels + 1))), 1)
    whole, all_fields = listing()
    part, part_fields = listing(step=1, levelist=1, param=1)
    if (fields, all_fields, part_fields) != (
        options.members * options.levels,
        count(options),
        options.members,
    ):
        raise SystemExit(
            f"{fields} fields of the slice, {all_fields} of all and {part_fields} of the part were found"
        )
    results.put({"first": first, "again": again, "slice": across, "list": whole, "list_part": part})


def count(options):
    return options.steps * options.members * options.levels * options.params


def measure(split, kind, options):
    folder = Path(tempfile.mkdtemp(prefix="schemas-", dir=options.directory))
    try:
        (folder / "root").mkdir()
        (folder / "schema").write_text(schema(split))
        config = {"type": "local", "schema": str(folder / "schema")}
        if kind == "files":
            config |= {
                "engine": "toc",
                "store": "file",
                "spaces": [{"handler": "Default", "roots": [{"path": str(folder / "root")}]}],
            }
        else:
            import stepstore

            stepstore.Pool.create(folder / "pool")
            section = {"pool": str(folder / "pool")} | ({} if kind == "default" else {"packBelow": kind})
            config |= {"engine": "stepstore", "store": "stepstore", "stepstore": section}
        return run(config, options) | {"bytes_per_field": used(folder) / count(options)}
    finally:
        shutil.rmtree(folder)


def run(config, options):
    context = multiprocessing.get_context("spawn")
    results, ready = context.Queue(), context.Barrier(options.writers)
    finish(
        [
            context.Process(target=write, args=(i, config, options, ready, results))
            for i in range(options.writers)
        ]
    )
    writers = [results.get() for _ in range(options.writers)]
    finish([context.Process(target=read, args=(config, options, results))])
    wall = max(one["wall"] for one in writers)
    return {
        "write": wall / count(options),
        "flush": statistics.median(one["flush"] for one in writers),
        **results.get(),
    }


def finish(processes):
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode != 0:
            raise SystemExit(f"a process failed with status {process.exitcode}; what it said is above")


def used(folder):
    """Bytes on the disk: blocks, not lengths, since an index is a file with holes."""
    return sum(
        path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--split",
        action="append",
        metavar="DATASET:COLLOCATION",
        help="keys of the dataset and the collocation key; again for each",
    )
    parser.add_argument(
        "--kind", action="append", help="default, a size (packBelow), or files (FDB's own); again for each"
    )
    for name, number in (
        ("steps", 24),
        ("members", 20),
        ("levels", 10),
        ("params", 5),
        ("writers", 4),
        ("size", 1500),
        ("rounds", 3),
    ):
        parser.add_argument(f"--{name}", type=int, default=number, metavar="N", help=f"default: {number}")
    parser.add_argument("--directory", help="where (default: the folder for temporary files)")
    parser.add_argument("--json", action="store_true", help="all numbers, in seconds and bytes")
    options = parser.parse_args()
    cases = [(split, kind) for split in options.split or [":"] for kind in options.kind or ["default"]]
    rounds = [{case: measure(*case, options) for case in cases} for _ in range(options.rounds)]
    rows = [
        (case, {name: statistics.median(one[case][name] for one in rounds) for name in rounds[0][case]})
        for case in cases
    ]
    if options.json:
        print(json.dumps([{"split": split, "kind": kind, **row} for (split, kind), row in rows], indent=2))
        return
    print(
        f"{count(options)} fields, {options.writers} writers; write: us a field, list: ms, bytes: a field, "
        "others: ms\n"
    )
    print(f"{'split':<28}{'kind':<10}" + "".join(f"{name:>16}" for name in rows[0][1]))
    for (split, kind), row in rows:
        scaled = (row[name] * {"write": 1e6, "bytes_per_field": 1}.get(name, 1e3) for name in row)
        print(f"{split:<28}{kind:<10}" + "".join(f"{value:16.2f}" for value in scaled))


if __name__ == "__main__":
    main()
