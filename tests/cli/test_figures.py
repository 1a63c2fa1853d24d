"""Every figure of the laboratory and of the demo, drawn from a few numbers: no axis is without its unit and
without the direction that is better, and no bar dwarfs the others."""

from __future__ import annotations

import ast
import csv
import importlib.util
import re
import types
from collections import defaultdict
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

import numpy as np  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from stepstore.lab import figures, peers  # noqa: E402
from stepstore.lab.application.figures import draw_plane, draw_scale, draw_times  # noqa: E402
from stepstore.lab.application.scale import ENGINES, AtScale  # noqa: E402
from stepstore.lab.benchmarks import field_figures, layout_figures  # noqa: E402
from stepstore.lab.benchmarks.fields import _REPORTED  # noqa: E402
from stepstore.lab.benchmarks.layout_report import Outcome  # noqa: E402
from stepstore.lab.reports.advised import draw_advice  # noqa: E402
from stepstore.lab.simulation.experiments import Times  # noqa: E402
from stepstore.lab.simulation.field_figures import FIELD_FIGURES, FIELDS_ON_FILES  # noqa: E402
from stepstore.lab.simulation.figures import FIGURES, draw  # noqa: E402
from stepstore.lab.simulation.files_figures import FILES_FIGURES  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SIMULATED = (*FIGURES, *FIELD_FIGURES, *FIELDS_ON_FILES, *FILES_FIGURES)


class Laboratory:
    """Times of everything that the simulated figures ask for: they grow, some far."""

    def times(self, one, ranks, size, steps=1000):
        far = 50 if "posix" in str(one).lower() else 1
        if not hasattr(one, "writer"):  # a place of files
            return {"stabilisation": far * ranks * 1e-6, "acquisition": 1e-3}
        return Times(far * ranks * size * 1e-12, 2e-6 * ranks, 1e-6 * ranks)

    def steady(self, one, ranks, size, readers=None):
        return self.times(one, ranks, size)

    def course(self, one, ranks, size, steps, windows):
        return [1e-3 + number * 1e-5 for number in range(windows)]

    def extents(self, *job):
        return 1e-3

    def bandwidth(self, side, store, pattern, servers, length):
        return servers * 2.0**31

    def side(self, run, side):
        return types.SimpleNamespace(bandwidth=2.0**30 * run.nodes)


def outcome(size, name, stabilisation, steps=30):
    one = Outcome(size, name, None if name == "bp5" else name)
    for factor in (1, 1.2):
        phase = {"mean": factor * stabilisation, "by_step": [factor * stabilisation] * steps}
        written = {"steps": steps, "writers": 2, "rank_bytes": 5120, "stabilisation": phase,
                   "space": {} if name == "bp5" else {"store": 9e5}, "allocated_bytes": 1e6}  # fmt: skip
        one.add(written, {"acquisition": phase})
    return one


def layouts(folder):
    outcomes = [
        outcome(size, name, seconds)
        for size in ("5k", "56k")
        for name, seconds in (("kv", 1e-5 if size == "5k" else 1e-3), ("array", 2e-3), ("bp5", 6e-3))
    ]
    for preset in (None, "figure-14", "figure-15", "storage"):
        layout_figures.draw(preset, outcomes if preset != "figure-14" else outcomes[:3], folder, "2 writers")


def fields(folder):
    records = [
        {"case": f"{what}/{processes}", "what": what, "unit": unit, "schema": "element", "goal": None,
         "processes": processes, "field_bytes": 1536, "ours": ours, "peer": 30.0, "ours_all": [ours],
         "peer_all": [30.0], "ratio": None, "best_ratio": None}
        for what, (unit, _) in _REPORTED.items()
        for processes, ours in (((1, 9.0), (4, -2.0)) if "outside" in what else ((1, 1.0), (4, 20.0)))
    ]  # fmt: skip
    field_figures.write_figures(records, folder)


def application(folder):
    measured = [types.SimpleNamespace(stabilisation=1.0, output=4.0 + n, share=25.0) for n in range(2)]
    draw_times({"bp5": measured, "kv": measured}, folder, "4 ranks")
    found = [
        AtScale(ranks, 1e8, [100], {one.name: 2.0 for one in ENGINES}, {one.name: 0.0 for one in ENGINES})
        for ranks in (64, 1024)
    ]
    draw_scale(found, 25e9, folder, "a cluster")
    draw_plane({"box0": (0, 0, 0, 1), "values0": np.ones((64, 64))}, 64, folder, "4 ranks")


def advice(folder):
    predictions = [
        {"point": point, "parameters": point, "stabilisation": seconds, "acquisition": 2e-3}
        for point, seconds in (("array-aligned,per-machine,ReadAhead=0", 1e-3), ("posix", 90e-3))
    ]
    job = {
        "ranks": 64,
        "servers": 10,
        "rank_bytes": 5120.0,
        "settings": "Layout=kv",
        "reason": "",
        "notes": [],
    }
    draw_advice({**job, "predictions": predictions}, folder, "stepstore advise")


def simulated(folder):
    for one in SIMULATED:
        draw(one, Laboratory(), folder, "a cluster")


def demo(folder):
    found = importlib.util.spec_from_file_location("demo_report", ROOT / "examples/report.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    rows = [
        {"engine": name, "stabilisation_ms": at, "acquisition_ms": 0.1, "end_to_end_ms": at + 0.1,
         "spread": {"end_to_end_ms": [at, 1.3 * at]}}
        for name, at in (("bp5", 7.0), ("kv", 0.6))
    ]  # fmt: skip
    module.plot(rows, 4, 5, True, folder / "timings.png")


DRAWN = (layouts, fields, application, advice, simulated, demo)


@pytest.fixture
def saved(monkeypatch):
    """What every figure looks like when it is written: the file, its faults, and the longest bars."""
    found = []

    def savefig(figure, file, **options):
        plain(figure, file, **options)
        faults = [*figures.faults(figure), *cut(figure)]
        found.append((Path(file).name, faults, longest(figure), figure.get_size_inches()[0]))

    plain = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", savefig)
    return found


def cut(figure):
    """Whether something reaches over the edge of the figure, and by how many inches."""
    wide, high = figure.get_size_inches()
    box = figure.get_tightbbox()
    over = max(-box.x0, -box.y0, box.x1 - wide, box.y1 - high)
    return [f"{over:.2f} inches are cut"] if over > 0.06 else []


def longest(figure):
    """Of each panel without a logarithmic axis, the ends of the bars, by their place."""
    ends = []
    for panel in figure.axes:
        if "log" in (panel.get_xscale(), panel.get_yscale()):
            continue
        by_place = defaultdict(float)
        for group in panel.containers:
            for bar in getattr(group, "patches", ()):
                lying = group.orientation == "horizontal"
                place = bar.get_y() if lying else bar.get_x()
                end = bar.get_x() + bar.get_width() if lying else bar.get_y() + bar.get_height()
                by_place[round(place, 3)] = max(by_place[round(place, 3)], end)
        ends.append([end for end in by_place.values() if end > 0])
    return ends


@pytest.mark.parametrize("drawn", DRAWN)
def test_every_axis_has_its_unit_and_direction(drawn, saved, tmp_path):
    drawn(tmp_path)
    assert saved
    for name, faults, panels, wide in saved:
        assert not faults, name
        assert all(max(ends) <= figures.DWARFED * min(ends) for ends in panels if ends), f"{name}: {panels}"
        assert "narrow" not in name or wide < 4
    for table in tmp_path.glob("*.csv"):
        with table.open(newline="") as file:
            columns = next(csv.reader(file))
        assert [one for one in columns if "(" in figures.heading(one, columns)], f"{table.name}: no units"


def test_a_figure_that_lacks_words_is_refused(tmp_path):
    rows = [("ranks", "time_ms"), (1, 2.0)]
    figure, (panel,) = figures.blank(4, 3)
    panel.plot([1, 2], [1, 2])
    figures.chosen(panel.xaxis, figures.ON_RANKS)
    panel.set_ylabel("time of a step")
    with pytest.raises(ValueError, match="the y axis has no unit: 'time of a step'; panel 1: no axis says"):
        figures.save(tmp_path / "one", figure, rows)
    with pytest.raises(ValueError, match="no axis says whether lower or higher is better"):
        panel.set_ylabel("time of a step (ms)")
        figures.save_picture(tmp_path / "one.png", figure)
    figures.measured(panel.yaxis, figures.TIME, [1, 2])
    with pytest.raises(ValueError, match="columns without a unit: time"):
        figures.save(tmp_path / "one", figure, [("ranks", "time"), (1, 2.0)])
    assert not list(tmp_path.iterdir())
    assert len(figures.save(tmp_path / "one", figure, rows)) == 5


def test_one_bar_that_dwarfs_others_makes_the_axis_logarithmic():
    for most, logarithmic in ((19, False), (21, True)):
        figure, (panel,) = figures.blank(4, 3)
        figures.parts(figure, panel, ["kv", "posix"], figures.TIME, {"a": [1.0, float(most)]})
        assert (panel.get_xscale() == "log") is logarithmic
        assert ("log scale" in panel.get_xlabel()) is logarithmic
        figure, (panel,) = figures.blank(4, 3)
        figures.bars(panel, figures.ON_RANKS, [1, 2], figures.TIME, {"kv": [1.0, float(most)]})
        assert (panel.get_yscale() == "log") is logarithmic


def test_a_peer_has_one_colour_by_any_of_its_names():
    names = {
        "bp5": ("bp5", "BP5 (files)", "Lustre, FDB's files", "FDB's files (toc)"),
        "posix": ("DAOS-POSIX", "stepstore posix", "rank 0 gathers, as BP5 (posix)"),
        "array-adaptive": ("ours, array-adaptive, reading ahead", "Stepstore", "DAOS, our field engine"),
        "array-aligned": ("DAOS-Array aligned", "pool in files, array-aligned"),
        "array": ("DAOS-Array", "stepstore array"),
        "kv": ("DAOS-KV", "kv,ReadAhead=0"),
    }
    for name, others in names.items():
        assert {peers.style_of(one) for one in others} == {peers.style_of(name)}
    assert len({peers.style_of(name) for name in names}) == len(names)
    several = peers.styles_of(["kv", "kv,snapshot", "every rank reads"])
    assert len(set(several.values())) == 3 and several["kv"] == peers.style_of("kv")


def test_no_figure_is_made_elsewhere():
    words = re.compile(r"\.(set_xlabel|set_ylabel|savefig|subplots)$")
    for file in (ROOT / "python/stepstore/lab").rglob("*.py"):
        calls = [
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
        ]
        found = [one for one in calls if words.search(one)]
        assert file.name == "figures.py" and file.parent.name == "lab" or not found, f"{file}: {found}"
