"""What people read: tables and facts on narrow terminals, dates and units; and verdicts on noise."""

from __future__ import annotations

import io
import random
import re
from datetime import UTC, datetime

import pytest
from rich.console import Console
from stepstore.console import Settings, facts, show, table
from stepstore.lab.benchmarks.field_figures import statements
from stepstore.lab.benchmarks.report import Case
from terminals import on_terminal


def printed(what, width):
    file, before = io.StringIO(), Settings.out
    Settings.out = Console(file=file, width=width, highlight=False)
    try:
        show(what)
    finally:
        Settings.out = before
    return file.getvalue()


@pytest.mark.parametrize("seed", range(200))
def test_no_value_of_a_table_is_cut_at_any_width(seed):
    chosen = random.Random(seed)

    def cell():
        letters = chosen.choice(["abcdefgh", "0123456789.", "äöü€", "日本語"])
        return "".join(chosen.choices(letters, k=chosen.choice([1, 3, 8, 20, 60])))

    titles = [(f"T{at}", chosen.choice(["left", "right"])) for at in range(chosen.randint(1, 12))]
    rows = [[cell() for _ in titles] for _ in range(chosen.randint(0, 5))]
    width = chosen.choice([10, 40, 80, 120])
    text = printed(table(titles, rows), width)
    words = text.split()
    assert words == [title for title, _ in titles] + [one for row in rows for one in row]
    pairs = [(title, one) for row in rows for (title, _), one in zip(titles, row, strict=True)]
    assert printed(facts(pairs), width).split() == [word for pair in pairs for word in pair]


def test_a_row_that_does_not_fit_goes_on_in_the_next_line_under_its_titles():
    text = printed(
        table(["NAME", ("FIRST", "right"), ("SECOND", "right")], [["a" * 12, "1" * 12, "2" * 12]]), 30
    )
    assert text.splitlines() == [
        "NAME                 FIRST",
        "          SECOND",
        "aaaaaaaaaaaa  111111111111",
        "    222222222222",
    ]


def shown(cli, columns, *arguments):
    told, _ = on_terminal(cli, columns, *arguments)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)


def test_a_row_has_no_further_line_in_which_nothing_stands():
    rows = [["a" * 20, "1", "x"], ["b", "2", ""]]
    text = printed(table(["NAME", "FIRST", "SECOND"], rows), 30)
    assert [line.split() for line in text.splitlines()] == [
        ["NAME", "FIRST"],
        ["SECOND"],
        ["a" * 20, "1"],
        ["x"],
        ["b", "2"],
    ]


COMMANDS = [
    ("pool", "list", "."),
    ("pool", "query", "./s"),
    ("pool", "check", "./s"),
    ("cont", "list", "./s"),
    ("cont", "query", "./s/default"),
    ("ls", "./s"),
    ("ls", "-l", "./s/default"),
    ("stat", "./s"),
    ("stat", "./s/default"),
    ("stat", "./s/default/main"),
    ("steps", "./s"),
    ("steps", "./s", "-l", "-a"),
    ("steps", "./s", "--blocks"),
    ("steps", "./s", "--profile", "-l"),
    ("snapshot", "list", "./s/default"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_narrow_terminal_shows_all_that_a_wide_one_shows(cli, stream, command):
    wide, narrow = (shown(cli, columns, *command).split() for columns in (1000, 60))
    assert "…" not in "".join(narrow)
    # Times and free space are others a moment later.
    steady = [word for word in wide if not re.fullmatch(r"\(?[0-9.]+", word)]
    missing = [word for word in steady if word not in narrow]
    assert not missing, (missing, narrow)
    assert len(narrow) == len(wide)


def test_stat_shows_dates_and_units_and_json_numbers(cli, stream):
    shown, told = cli("stat", "./s/default/main").out, cli("stat", "./s/default/main", "--json").json
    made = datetime.fromtimestamp(told["created"], UTC)
    assert f"{made:%Y-%m-%d %H:%M:%S} UTC" in shown and str(told["created"]) not in shown
    assert re.search(r"^data chunk size +[0-9.]+ [KM]iB", shown, re.MULTILINE), shown
    pool, numbers = cli("stat", "./s").out, cli("stat", "./s", "--json").json
    assert re.search(r"^space total +[0-9.]+ [GT]iB", pool, re.MULTILINE), pool
    assert isinstance(numbers["space_total"], int)
    cli("snapshot", "create", "./s/default")
    epoch = cli("stat", "./s/default", "--json").json["latest_snapshot"]
    day = datetime.fromtimestamp(epoch / 1e9, UTC)
    for command in ("stat", "cont query"):
        assert f"{epoch} ({day:%Y-%m-%d}" in cli(*command.split(), "./s/default").out


def test_no_pool_is_no_error(cli):
    assert cli("pool", "list", "--json").json == []
    assert "there is no pool below" in cli("pool", "list").out
    (cli.directory / "empty").mkdir()
    assert "there is no pool below ./empty" in cli("pool", "list", "./empty").out
    cli.fails("pool", "list", "./absent", code=3, says="absent")


# ---- verdicts
def record(ours, peer, **more):
    case = Case(
        "write outside FDB/1 process/1 KiB/small", "us/field", goal=1.0, more={"what": "write"}, **more
    )
    case.add(ours, peer)
    return case.record()


@pytest.mark.parametrize(
    ("ours", "peer"), [(-115.0, -175.0), (-1.0, 5.0), (5.0, -1.0), (0.0, 3.0), (3.0, 0.0)]
)
@pytest.mark.parametrize("bandwidth", [False, True])
def test_what_is_lost_in_noise_is_not_judged(ours, peer, bandwidth):
    noise = record(ours, peer, bandwidth=bandwidth)
    assert noise["ratio"] is None
    assert statements([noise]) == []
    (told,) = statements([noise, record(2.0, 1.0)])
    assert told["verdict"] == "missed" and "1 settings take too little to be told from noise" in told["why"]
