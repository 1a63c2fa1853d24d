"""stepstore steps: what bpls shows of files, of streams of steps."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import track

from stepstore.cli import complete
from stepstore.cli.address import not_found, open_container, resolve
from stepstore.cli.common import JsonOption, SnapshotOption, print_line, usage_error
from stepstore.cli.dump import lines_of, shown_name
from stepstore.console import Settings, emit_json, human_bytes, human_time, show, styled, table
from stepstore.steps import Steps, Structure, Variable, open_steps


def steps(
    location: Annotated[
        str,
        typer.Argument(
            metavar="LOCATION",
            autocompletion=complete.streams,
            help="POOL, POOL/CONTAINER or POOL/CONTAINER/STREAM.",
        ),
    ],
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATTERN",
            autocompletion=complete.variables,
            help="Only variables whose names match: U, 'grid/*'.",
        ),
    ] = None,
    long: Annotated[
        bool, typer.Option("--long", "-l", help="Add minimum and maximum, blocks and bytes.")
    ] = False,
    dump: Annotated[bool, typer.Option("--dump", "-d", help="Print values.")] = False,
    start: Annotated[
        str | None,
        typer.Option("--start", "-s", metavar="I,J,...", help="Where a dump begins in each dimension."),
    ] = None,
    count: Annotated[
        str | None,
        typer.Option(
            "--count",
            "-c",
            metavar="N,M,...",
            help="How many values it has in each dimension. -1 goes to the end.",
        ),
    ] = None,
    columns: Annotated[
        int, typer.Option("--columns", "-n", metavar="N", min=1, help="Values in a line of a dump.")
    ] = 6,
    steps_: Annotated[
        str | None,
        typer.Option(
            "--steps", metavar="A:B|N", help="Only these steps, as Python's slices. -1 is the last."
        ),
    ] = None,
    attributes: Annotated[
        bool, typer.Option("--attributes", "-a", help="Add attributes and their values.")
    ] = False,
    blocks: Annotated[bool, typer.Option("--blocks", help="Add the blocks of each variable.")] = False,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile", help="Show what steps cost writers and readers; with -l also over the steps."
        ),
    ] = False,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a stream of steps: variables, types, steps, shapes, values, attributes, cost."""
    if (start or count) and not dump:
        usage_error("--start and --count choose what --dump prints: add -d")
    with _open(location, snapshot) as stream:
        if profile:
            _show_profile(stream, as_json, long)
            return
        chosen = _chosen_steps(steps_, stream.first, len(stream), stream.location)
        names = _chosen_names(stream, patterns or [])
        described = stream.describe()
        report: dict[str, Any] = {
            "location": stream.location,
            **{
                name: described[name]
                for name in ("layout", "objects", "step_mode", "ranks", "generation")
                if name in described
            },
            "steps": len(stream),
            "first": stream.first,
            "ended": stream.ended,
            "variables": _describe(stream, names, chosen, statistics=long or as_json),
        }
        if attributes or as_json:
            report["attributes"] = _attributes(stream, chosen)
        if blocks:
            _add_blocks(stream, report["variables"], chosen)
        if dump:
            _add_values(stream, report["variables"], chosen, _box(start), _box(count), as_json, columns)
            if not as_json:
                return
    if as_json:
        emit_json(report)
        return
    _show(report, long=long, blocks=blocks, attributes=attributes)


def _open(location: str, snapshot: str | None) -> Steps:
    address = resolve(location)
    if address.object_id is not None:
        usage_error(
            f"{location!r} is an object: 'stepstore ls' and 'cat' show objects, 'steps' shows streams"
        )
    text = "/".join(part for part in (address.pool, address.container, address.rest) if part)
    if not snapshot:
        return open_steps(text)
    if not address.container:
        address = resolve(text + "/default")
    pool, container = open_container(address)
    with pool, container:
        epoch = container.epoch_of(snapshot)
    return open_steps(text, snapshot=epoch)


# ---- choosing
def _chosen_steps(text: str | None, first: int, there: int, where: str) -> range:
    if text is None:
        return range(first, there)
    parts = text.split(":")
    try:
        numbers = [int(part) if part else None for part in parts]
    except ValueError:
        usage_error(f"--steps {text!r}: give N, or A:B")
    if len(numbers) == 1 and numbers[0] is not None:
        number = numbers[0] + there if numbers[0] < 0 else numbers[0]
        if not 0 <= number < there:
            raise not_found(f"{where}: there is no step {text}: the stream has {there} steps")
        return range(number, number + 1)
    if len(numbers) not in (2, 3) or (len(numbers) == 3 and numbers[2] == 0):
        usage_error(f"--steps {text!r}: give N, A:B, or A:B:EVERY")
    return range(there)[slice(*numbers)]


def _chosen_names(stream: Steps, patterns: list[str]) -> list[str]:
    known = sorted(stream.definitions())
    if not patterns:
        return known
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in known):
            raise not_found(
                f"{stream.location}: no variable matches {pattern!r}: its variables are "
                f"{', '.join(known) or 'none'}"
            )
    return [name for name in known if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def _box(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        usage_error(f"{text!r} is not a list of numbers: give numbers with commas, such as 0,0,4")


# ---- collecting
def _describe(stream: Steps, names: list[str], chosen: range, *, statistics: bool) -> list[dict[str, Any]]:
    """One entry per variable, gathered over the chosen steps."""
    definitions = stream.definitions()
    found: dict[str, dict[str, Any]] = {
        name: {
            "name": shown_name(name),
            "type": definitions[name][0],
            "kind": definitions[name][1],
            "steps": [],
            "shape": None,
            "shapes_differ": False,
        }
        for name in names
    }
    for step in _tracked(chosen, "reading steps"):
        for name, variable in stream.variables(step).items():
            if name in found:
                _add_step(stream, found[name], variable, step, statistics)
    return list(found.values())


def _tracked(chosen: range, title: str) -> Any:
    hide = not Settings.err.is_terminal or len(chosen) < 50
    return track(chosen, title, console=Settings.err, transient=True, disable=hide)


def _add_step(stream: Steps, entry: dict[str, Any], variable: Variable, step: int, statistics: bool) -> None:
    shape = list(variable.shape) if variable.shape is not None else None
    entry["shapes_differ"] = entry["shapes_differ"] or (bool(entry["steps"]) and shape != entry["shape"])
    entry["shape"] = shape
    entry["steps"].append(step)
    if not statistics:
        return
    if variable.structure is not None:
        entry["structure"] = _described(variable.structure)
    minimum, maximum = stream.minmax(variable.name, step)
    found = stream.blocks(variable.name, step)
    entry["min"] = _merged(min, entry.get("min"), minimum)
    entry["max"] = _merged(max, entry.get("max"), maximum)
    entry["blocks"] = entry.get("blocks", 0) + len(found)
    item = variable.dtype.itemsize if variable.type != "string" else 0
    entry["bytes"] = entry.get("bytes", 0) + sum(
        int(np.prod(block.count, dtype=np.uint64)) * item for block in found
    )


def _described(structure: Structure) -> dict[str, Any]:
    return {
        "name": shown_name(structure.name),
        "size": structure.size,
        "fields": [
            {"name": shown_name(one.name), "offset": one.offset, "type": one.type, "count": one.count}
            for one in structure.fields
        ],
    }


def _merged(choose: Any, old: Any, new: Any) -> Any:
    """Minimum or maximum over steps. NaNs do not count."""
    new = _plain(new)
    if new is None or new != new:
        return old
    return new if old is None else choose(old, new)


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: characters as text, complex numbers as pairs, structs as their fields."""
    if isinstance(value, np.void):
        return {shown_name(name): _listed(value[name]) for name in value.dtype.names or ()}
    if isinstance(value, np.longdouble):
        return float(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, complex):
        return [value.real, value.imag]
    return shown_name(value) if isinstance(value, str) else value


def _attributes(stream: Steps, chosen: range) -> list[dict[str, Any]]:
    if not chosen:
        return []
    found = stream.attributes(chosen[-1])
    return [
        {
            "name": shown_name(name),
            "type": attribute.type,
            "value": [_plain(v) for v in attribute.value]
            if isinstance(attribute.value, list | np.ndarray)
            else _plain(attribute.value),
        }
        for name, attribute in sorted(found.items())
    ]


def _add_blocks(stream: Steps, variables: list[dict[str, Any]], chosen: range) -> None:
    names = {shown_name(name): name for name in stream.definitions()}
    for entry in variables:
        entry["block_list"] = [
            {
                "step": step,
                "block": block.index,
                "writer": block.writer,
                "start": block.start,
                "count": block.count,
                "min": _plain(block.minimum),
                "max": _plain(block.maximum),
            }
            for step in entry["steps"]
            for block in stream.blocks(names[entry["name"]], step)
        ]


def _add_values(
    stream: Steps,
    variables: list[dict[str, Any]],
    chosen: range,
    start: tuple[int, ...] | None,
    count: tuple[int, ...] | None,
    as_json: bool,
    columns: int,
) -> None:
    """Reads the values one variable and step at a time: prints them, or keeps them for JSON."""
    names = {shown_name(name): name for name in stream.definitions()}
    for entry in variables:
        if not as_json:
            Settings.out.print(styled(_headline(entry), "bold"), soft_wrap=True)
        for step in entry["steps"]:
            for label, first, values in _pieces(stream, names[entry["name"]], step, start, count):
                if as_json:
                    entry.setdefault("values", []).append({"step": step, **label, "data": _listed(values)})
                    continue
                title = " ".join(f"{name} {number}" for name, number in {"step": step, **label}.items())
                print_line(f"  {title}")
                for line in lines_of(values, first, columns):
                    print_line(f"    {line}")


def _pieces(stream: Steps, name: str, step: int, start: Any, count: Any) -> Any:
    """(label, index of the first value, values): one for a variable with a shape, one per block for local
    arrays."""
    variable = stream.variable(name, step)
    if variable.is_value and variable.kind == "global value":
        yield {}, (), stream.read(name, step)
    elif variable.shape is not None:
        yield {}, start or (0,) * len(variable.shape), stream.read(name, step, start, count)
    else:
        for block in stream.blocks(name, step):
            first = start or (0,) * len(block.count)
            yield {"block": block.index}, first, stream.read_block(name, block.index, step, start, count)


def _listed(values: Any) -> Any:
    if not isinstance(values, np.ndarray):
        return _plain(values)
    if values.ndim == 0:
        return _plain(values[()])
    if values.dtype.kind in "fiu" and values.dtype != np.longdouble:
        return values.tolist()
    return [_listed(part) if isinstance(part, np.ndarray) else _plain(part) for part in values]


# ---- showing
def _headline(entry: dict[str, Any]) -> str:
    shape = entry["shape"]
    dims = (
        "scalar"
        if shape in ([], None) and "value" in entry["kind"]
        else "local"
        if shape is None
        else ",".join(map(str, shape))
    )
    return f"{entry['type']}  {entry['name']}  {len(entry['steps'])}*{{{dims}}}"


def _show(report: dict[str, Any], *, long: bool, blocks: bool, attributes: bool) -> None:
    state = "ended" if report["ended"] else "not ended by its writer"
    layout = f", layout {report['layout']}" if "layout" in report else ""
    if report.get("objects", "single") != "single":
        layout += f", objects {report['objects']}"
    if report.get("step_mode", "extend") != "extend":
        layout += f", steps by {report['step_mode']}"
    show(f"{report['location']}: {report['steps']} steps, {state}{layout}")
    if report["first"] > 0:
        show(f"steps 0 to {report['first'] - 1} are gone: 'snapshot aggregate' removed them")
    columns: list[Any] = ["TYPE", "NAME", ("STEPS", "right"), "SHAPE"]
    if long:
        columns += [(title, "right") for title in ("MIN", "MAX", "BLOCKS", "BYTES")]
    rows = []
    for entry in report["variables"]:
        row = [_type_text(entry), entry["name"], len(entry["steps"]), _shape_text(entry)]
        if long:
            row += [_number(entry.get("min")), _number(entry.get("max"))]
            row += [entry.get("blocks", 0), human_bytes(entry.get("bytes", 0))]
        rows.append(row)
    if rows:
        show(table(columns, rows))
    if blocks:
        show("")
        _show_blocks(report["variables"])
    if attributes:
        show("")
        rows = [[a["type"], a["name"], _number(a["value"])] for a in report["attributes"]]
        show(table(["TYPE", "ATTRIBUTE", "VALUE"], rows))


def _type_text(entry: dict[str, Any]) -> str:
    if "structure" not in entry:
        return str(entry["type"])
    fields = (
        f"{one['type']} {one['name']}" + (f"[{one['count']}]" if one["count"] != 1 else "")
        for one in entry["structure"]["fields"]
    )
    return f"struct {entry['structure']['name']} {{{'; '.join(fields)}}}"


def _shape_text(entry: dict[str, Any]) -> str:
    shape = entry["shape"]
    if entry["kind"] == "global value":
        return "scalar"
    if shape is None:
        return "local blocks"
    text = "{" + ", ".join(map(str, shape)) + "}"
    return f"{text} in the last step, others before" if entry["shapes_differ"] else text


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _show_blocks(variables: list[dict[str, Any]]) -> None:
    shown: dict[str, Callable[[Any], str]] = {
        **{name: str for name in ("step", "block", "writer")},
        **{name: _dims for name in ("start", "count")},
        **{name: _number for name in ("min", "max")},
    }
    rows = [
        [entry["name"], *(text_of(block[name]) for name, text_of in shown.items())]
        for entry in variables
        for block in entry["block_list"]
    ]
    columns = [(name.upper(), "left" if of is _dims else "right") for name, of in shown.items()]
    show(table(["NAME", *columns], rows))


def _dims(dims: Any) -> str:
    return "" if dims is None else "{" + ", ".join(map(str, dims)) + "}"


# ---- the profile
_BESIDE = ("hidden",)  # with AsyncWrite alone
_PARTS = {
    "writers": ("stabilisation", "encode", "store", "snapshot", "data", "statistics", *_BESIDE),
    "readers": ("acquisition", "read", "broadcast", "install", "data", "wait"),
}
_SIZES = (
    ("metadata_bytes", "METADATA"),
    ("metadata_requests", "REQUESTS"),
    ("data_bytes", "DATA BYTES"),
    ("data_requests", "REQUESTS"),
)


def _show_profile(stream: Steps, as_json: bool, long: bool) -> None:
    profile, readers = stream.profile(), stream.readers_profile()
    if not profile and not readers:
        raise not_found(
            f"{stream.location} has no profile: its writer has not ended the stream, or wrote with "
            "Profile=off"
        )
    if as_json:
        emit_json({**profile, "readers": readers or None})
        return
    for record in (profile, readers):
        if record:
            _show_record(stream.location, record, long)


def _show_record(location: str, profile: dict[str, Any], long: bool) -> None:
    side = profile["side"]
    where = profile.get("file") or profile.get("file_error") or "no file"
    show(f"{location}: {side}, layout {profile['layout']}, per step and rank ({where})")
    show(_cost_table("RANK", side, [(rank["rank"], rank) for rank in profile["ranks"]]))
    if long:
        show(f"{side}, over the steps, per step: the slowest rank's time, all ranks' bytes and requests")
        show(_cost_table("FROM STEP", side, _rows(profile["ranks"], side)))
    if profile.get("targets"):
        steps_done = max(1, *(rank["steps"] for rank in profile["ranks"]))
        show(f"what each target of the pool served meanwhile, per step of the {side}")
        names = ("updates", "fetches", "bytes_written", "bytes_read")
        rows = [
            (number, *(_a_step(name, one[name] / steps_done) for name in names))
            for number, one in enumerate(profile["targets"])
        ]
        show(table([(title, "right") for title in ("TARGET", "UPDATES", "FETCHES", "WRITTEN", "READ")], rows))


def _a_step(name: str, count: float) -> str:
    return human_bytes(count) if "bytes" in name else f"{count:.2f}"


def _cost_table(first: str, side: str, costs: list[tuple[int, dict[str, Any]]]) -> Any:
    parts = [
        part
        for part in _PARTS[side]
        if part not in _BESIDE or any(cost.get(f"{part}_seconds") for _, cost in costs)
    ]
    rows = []
    for number, cost in costs:
        steps_done = max(cost["steps"], 1)
        times = (human_time(cost.get(f"{part}_seconds", 0) / steps_done) for part in parts)
        sizes = (_a_step(name, cost[name] / steps_done) for name, _ in _SIZES)
        rows.append((number, cost["steps"], *times, *sizes))
    titles = (first, "STEPS", *(part.upper() for part in parts), *(title for _, title in _SIZES))
    return table([(title, "right") for title in titles], rows)


def _rows(ranks: list[dict[str, Any]], side: str) -> list[tuple[int, dict[str, Any]]]:
    """The rows of all ranks as one: those of the first rank, with what the others did in the same steps."""
    every = [
        [dict(zip(rank["rows"], row, strict=True)) for row in zip(*rank["rows"].values(), strict=True)]
        for rank in ranks
    ]
    merged = []
    for row in every[0]:
        same = [other for rows in every for other in rows if other["step"] == row["step"]]
        times = {
            f"{part}_seconds": max(other.get(f"{part}_seconds", 0) for other in same) for part in _PARTS[side]
        }
        sizes = {name: sum(other.get(name, 0) for other in same) for name, _ in _SIZES}
        merged.append((row["step"], {"steps": row["steps"], **times, **sizes}))
    return merged
