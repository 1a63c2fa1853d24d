"""How arrays are printed: in columns, each line with its index, and no value cut."""

from __future__ import annotations

import re

import numpy as np
import pytest
import stepstore
from stepstore.cli.dump import lines_of
from terminals import on_terminal

NAN = float("nan")
SAMPLES = {
    "1-D": np.array([1.0, -20.5, 3e-9, NAN, np.inf, 1e300, 0.1]),
    "2-D": np.array([[1, -200, 3], [40000, 5, -6]]),
    "3-D": np.arange(24.0).reshape(2, 3, 4) * -1.5,
    "float32": np.array([0.1, -1e-7, 123456.7], np.float32),
    "complex": np.array([1 + 2j, -3.5e10 - 1j, complex(NAN, 0)]),
    "bytes": np.array([0, 255, 7], np.uint8),
    "bool": np.array([True, False]),
    "text": np.array(["a", "longer", "日本", "e\x1bvil"], object),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_columns_are_aligned(name):
    values = SAMPLES[name]
    lines = list(lines_of(values, (0,) * values.ndim, 3))
    rows = [re.split(r" {2,}", line.strip()) for line in lines]
    flat = [cell for row in rows for cell in row[1:]]
    assert len(flat) == values.size and "..." not in "".join(lines) and "\x1b" not in "".join(lines)
    assert len({len(line) - len(line.removeprefix("(").lstrip("0123456789,)")) for line in lines}) == 1
    if name != "text":  # numbers end in the same columns
        whole = [line for line, row in zip(lines, rows, strict=True) if len(row) == max(map(len, rows))]
        assert len({len(line) for line in whole}) == 1
        ends = [[found.end() for found in re.finditer(r"\S+", line)][1:] for line in lines]
        assert all(row == ends[0][: len(row)] for row in ends)


def test_values_are_whole():
    assert list(lines_of(np.array([[1.0, -20.5], [3e-9, NAN]]), (8, 10), 6)) == [
        "(8,10)    1.0  -20.5",
        "(9,10)  3e-09    nan",
    ]
    assert list(lines_of(np.array(["a", "long"], object), (0,), 1)) == ['(0)  "a"', '(1)  "long"']
    assert list(lines_of(np.array([1 + 2j, -10j]), (0,), 6)) == ["(0)    (1+2j)  (-0-10j)"]
    assert list(lines_of(3.5, (), 6)) == ["3.5"]
    assert list(lines_of(np.zeros((0, 3)), (0, 0), 6)) == []
    text = " ".join(lines_of(np.linspace(0, 1, 100), (0,), 7))
    assert [float(one) for one in re.sub(r"\(\d+\)", "", text).split()] == list(np.linspace(0, 1, 100))


def test_strings_are_aligned_by_what_a_terminal_shows():
    from rich.cells import cell_len

    lines = list(lines_of(np.array(["日本", "x", "abcd", "x"], object), (0,), 2))
    assert lines == ['(0)  "日本"  "x"', '(2)  "abcd"  "x"']
    assert cell_len(lines[0]) == cell_len(lines[1])


def test_very_many_values_are_printed_piece_by_piece():
    lines = lines_of(np.arange(1_000_000), (0,), 6)
    assert next(lines).split() == ["(0)", "0", "1", "2", "3", "4", "5"]


def test_cat_prints_all_numbers_on_a_terminal(cli):
    with stepstore.Writer(cli.directory / "out") as writer, writer.step() as step:
        step["x"] = np.arange(5000.0)  # numpy's own text leaves out the middle of so many
        step["big"] = np.zeros(400_000)
    shown, error = on_terminal(cli, 80, "cat", "out/default/main/x")
    assert "..." not in shown and "(0)        0.0     1.0" in shown and "2500.0" in shown and error == ""
    assert len(shown.splitlines()) == 834
    shown, error = on_terminal(cli, 80, "cat", "out/default/main/big")
    assert len(shown) < 1 << 21 and "--size" in error
