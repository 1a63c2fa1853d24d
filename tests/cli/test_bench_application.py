"""The application of `stepstore bench application`: its fields and its mesh are the same on any number of
ranks and through every engine; without coarse blocks they are those of the uniform simulation."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stepstore.lab.application import amr_analysis
from stepstore.lab.application import benchmark as application
from stepstore.lab.application.runs import BP5, Measured
from stepstore.lab.application.scale import AtScale, MetadataModel
from stepstore.lab.benchmarks.mpi import engine, launcher
from stepstore.paths import plugin_directory, program
from stepstore.lab.simulation.experiments import ALIGNED, KV, POSIX

SIMULATE = os.environ.get("STEPSTORE_TEST_SIMULATE") == "1"
needs_programs = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_AMR") != "1", reason="needs gray-scott-amr, and so ADIOS2 with MPI"
)
ANALYSIS = Path(amr_analysis.__file__)


def write_config(folder, layout):
    kind, pairs = ("BP5", "") if layout is None else engine("plugin", folder / "pool", f"Layout={layout}")
    parameters = "".join(
        f'<parameter key="{key}" value="{value}"/>'
        for key, _, value in (pair.partition("=") for pair in pairs.split(",") if pair)
    )
    text = f'<engine type="{kind}">{parameters}</engine>'
    (folder / "adios2.xml").write_text(
        f'<adios-config><io name="SimulationOutput">{text}</io></adios-config>'
    )


def simulate(folder, ranks, *settings, layout=None, name="gray-scott-amr"):
    folder.mkdir()
    write_config(folder, layout)
    environment = {**os.environ, "ADIOS2_PLUGIN_PATH": str(plugin_directory())}
    common = ("adios_config=adios2.xml", "timings=timings.json", f"output={name}.bp")
    command = [*launcher(""), "-n", str(ranks), str(program(name)), *common, *settings]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    return done, environment


def boxes(folder, name="gray-scott-amr"):
    """Every step's blocks of 4 cells along each edge: what is in them does not depend on how ranks join
    them."""
    import adios2

    io = adios2.Adios(str(folder / "adios2.xml")).declare_io("SimulationOutput")
    found = []
    before = Path.cwd()
    os.chdir(folder)
    try:
        for _, blocks in amr_analysis.steps_of(io, f"{name}.bp", 20):
            step = {}
            for variable, parts in blocks.items():
                if variable in amr_analysis.TABLES:
                    continue
                for start, values in parts:
                    for x in range(0, values.shape[0], 4):
                        for y in range(0, values.shape[1], 4):
                            for z in range(0, values.shape[2], 4):
                                at = (start[0] + x, start[1] + y, start[2] + z)
                                assert (variable, at) not in step, "two boxes overlap"
                                step[variable, at] = values[x : x + 4, y : y + 4, z : z + 4].tobytes()
            found.append(step)
    finally:
        os.chdir(before)
    return found


FIELDS = 9  # of each level
SMALL = ("L=64", "levels=3", "block=4", "steps=40", "plotgap=10", "regrid=5", "seeds=2")


@needs_programs
def test_fields_and_mesh_are_the_same_on_any_number_of_ranks(tmp_path):
    found = {}
    for ranks in (1, 3, 8):
        done, _ = simulate(tmp_path / str(ranks), ranks, *SMALL)
        assert done.returncode == 0, done.stderr
        found[ranks] = boxes(tmp_path / str(ranks))
    assert found[1] == found[3] == found[8]
    assert len(found[1]) == 4
    levels = [{name.split("/")[0] for name, _ in step} for step in found[1]]
    assert levels[-1] == {"level0", "level1", "level2"}
    assert found[1][0].keys() != found[1][-1].keys(), "the mesh does not follow the fronts"
    # The leaves cover the cube once.
    cells = [sum((16 if name[5] == "0" else 8 if name[5] == "1" else 4) ** 3
                 for name, _ in step if name.endswith("/U")) for step in found[1]]  # fmt: skip
    assert cells == [64**3] * 4


@needs_programs
@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_layouts_give_what_bp5_gives(tmp_path, ranks):
    expected = None
    for layout in (None, "kv", "array-adaptive"):
        folder = tmp_path / str(layout)
        done, environment = simulate(folder, ranks, *SMALL, layout=layout)
        assert done.returncode == 0, done.stderr
        words = [sys.executable, ANALYSIS, "--json", "read.json"]
        subprocess.run(words, cwd=folder, env=environment, check=True, timeout=100)
        read = json.loads((folder / "read.json").read_text())
        expected = expected or read
        assert len(read) == 4 and read == expected
    timings = json.loads((folder / "timings.json").read_text())
    assert all(len(one["seconds"]) == len(one["boxes"]) == ranks for one in timings["outputs"])
    for one, step in zip(timings["outputs"], read, strict=True):
        assert sum(one["boxes"]) == sum(step["boxes"].values()) / FIELDS
        assert sum(one["cells"]) == sum(step["cells"].values()) / FIELDS
    assert timings["cell_bytes"] == 2 * 8 + (FIELDS - 2) * 4
    if ranks == 8:
        assert len(set(timings["outputs"][-1]["boxes"])) > 1, "every rank has as many boxes"


@needs_programs
def test_tables_and_derived_fields_agree_with_the_boxes(tmp_path):
    """A row of a table is one of the rank's boxes; the derived fields follow from U and V."""
    import adios2
    import numpy as np

    settings = ("L=32", "levels=2", "block=4", "steps=20", "plotgap=20", "Du=0.3")
    done, _ = simulate(tmp_path / "run", 3, *settings)
    assert done.returncode == 0, done.stderr
    io = adios2.Adios(str(tmp_path / "run" / "adios2.xml")).declare_io("SimulationOutput")
    ((number, found),) = amr_analysis.steps_of(io, str(tmp_path / "run" / "gray-scott-amr.bp"), 20)
    assert number == 20
    rows = [tuple(row) for _, table in found["boxes"] for row in table]
    means = [row for _, table in found["means"] for row in table]
    assert len(found["boxes"]) == len(found["means"]) == 3 and len(rows) == len(means)
    for (level, *place), (u_mean, v_mean) in zip(rows, means, strict=True):
        at = tuple(4 * one for one in place[:3])
        parts = {name: dict(found[f"level{level}/{name}"])[at] for name in ("U", "V", "reaction", "flux_U/y")}
        u, v = parts["U"], parts["V"]
        assert u.shape == tuple(4 * one for one in place[3:])
        assert (u_mean, v_mean) == (pytest.approx(u.mean()), pytest.approx(v.mean()))
        assert np.array_equal(parts["reaction"], (u * v * v).astype(np.float32))
        inside = -0.3 * (u[:, 2:] - u[:, :-2]) / (2 * 2 ** (1 - level))
        assert np.allclose(parts["flux_U/y"][:, 1:-1], inside, rtol=1e-6, atol=1e-12)
    assert len(rows) == sum(len(found[f"level{level}/U"]) for level in (0, 1))


@needs_programs
@pytest.mark.skipif(os.environ.get("STEPSTORE_TEST_GRAY_SCOTT") != "1", reason="needs gray-scott-mpi")
def test_finest_blocks_everywhere_are_the_uniform_simulation_bit_for_bit(tmp_path):
    common = ("L=32", "steps=30", "plotgap=10")
    refined, _ = simulate(tmp_path / "refined", 3, *common, "threshold=0")
    uniform, _ = simulate(tmp_path / "uniform", 2, *common, name="gray-scott-mpi")
    assert refined.returncode == uniform.returncode == 0, refined.stderr + uniform.stderr
    import adios2
    import numpy as np

    whole = []
    with adios2.FileReader(str(tmp_path / "uniform" / "gray-scott-mpi.bp")) as file:
        for step in range(3):
            whole.append(
                {name: file.read(name, [0] * 3, [32] * 3, step_selection=[step, 1]) for name in "UV"}
            )
    for step, expected in zip(boxes(tmp_path / "refined"), whole, strict=True):
        assert {name.split("/")[0] for name, _ in step} == {"level2"}
        for (name, (x, y, z)), values in step.items():
            if name.split("/")[1] not in "UV":
                continue
            there = expected[name[-1]].reshape(32, 32, 32)[x : x + 4, y : y + 4, z : z + 4]
            assert np.ascontiguousarray(there).tobytes() == values


@needs_programs
@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("L=50", "give a multiple of 32"),
        ("block=5", "give an even number"),
        ("levels=0", "levels=0: give a number from 1 to 8"),
        ("parts=64,none", "parts=none"),
        ("colour=red", "there is no setting 'colour'"),
    ],
)
def test_wrong_settings_are_refused_by_name(tmp_path, setting, says):
    done, _ = simulate(tmp_path / "run", 1, setting)
    assert done.returncode != 0 and says in done.stderr


@needs_programs
def test_measured_and_simulated_with_figures(cli):
    pytest.importorskip("matplotlib")
    figures = cli.directory / "figures"
    small = (
        "--ranks",
        2,
        "--size",
        64,
        "--outputs",
        6,
        "--gap",
        5,
        "--rounds",
        2,
        "--layouts",
        "kv,array-aligned",
    )
    scale = ("--scale", "8,16", "--scale-size", 32) if SIMULATE else ("--scale", 0)
    found = cli(
        "bench", "application", *small, *scale, "--figures", figures, "--json", "--directory", cli.directory
    ).json
    assert [one["case"] for one in found["measured"]] == [BP5, "kv", "array-aligned"]
    for one in found["measured"]:
        assert 0 < one["stabilisation"]["median"] < one["output"]["median"]
        assert 0 < one["share"]["median"] < 100 and len(one["share"]["all"]) == 2
    assert found["measured"][1]["metadata_bytes"]["least"] < found["measured"][1]["metadata_bytes"]["most"]
    names = {"application", "application-mesh"} | ({"application-17"} if SIMULATE else set())
    files = {f"{name}.{end}" for name in names for end in ("csv", "json", "narrow.svg", "png", "svg")}
    assert {one.name for one in figures.iterdir()} == files | {"application.statements.json"}
    with (figures / "application.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 6
    if SIMULATE:
        assert [one["ranks"] for one in found["simulated"]["ranks"]] == [8, 16]
        for one in found["simulated"]["ranks"]:
            assert all(0 < share < 100 for share in one["share_percent"].values())
            assert one["data_bytes"] > 0 and one["rank_bytes"]["least"] >= 16
    assert not list(cli.directory.glob("stepstore-bench-*"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--layouts", "tree"), "no layout tree"),
        (("--size", "100"), "give a multiple of 32"),
        (("--scale-size", "100"), "give a multiple of 16"),
        (("--outputs", "3"), "give at least 4"),
        (("--ranks", "0"), "at least 1"),
        (("--directory", "/no/directory"), "no directory /no/directory"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_runs(cli, options, says):
    assert says in cli("bench", "application", *options, code=2).err


def test_sizes_of_blobs_are_learned_from_boxes():
    rows = [(100 + 30 * boxes + 20 * new + 5 * before, boxes, new, before)
            for boxes in (3, 7, 20) for new in (0, 3) for before in (0, 2)]  # fmt: skip
    model = MetadataModel([Measured("kv", 1, 1, rows)])
    assert model.explained == pytest.approx(1)
    assert model(10, 4, 2) == 100 + 300 + 80 + 10
    assert model(-100, 0, 0) == 16  # at least the mark


def test_share_and_the_bandwidth_that_gives_it():
    found = AtScale(1024, 25e6, [100], {POSIX.name: 1.0, KV.name: 0.2, ALIGNED.name: 0.2}, {KV.name: 0.1})
    assert found.share(POSIX.name, 25e9) == pytest.approx(50)
    at = found.bandwidth_of(POSIX.name, 21)
    assert found.share(POSIX.name, at) == pytest.approx(21)


@pytest.mark.parametrize(("value", "verdict"), [(4.7, "reproduced"), (9, "beaten"), (2, "missed")])
def test_verdicts_on_the_published_ratio(value, verdict):
    assert application._statement("text", value, "measured", "why")["verdict"] == verdict
