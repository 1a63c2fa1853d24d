"""stepstore export and import: every kind of variable through every format, and back; kills, refusals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import stepstore
from stepstore.copying import at_work
from stepstore.copying.task import Options, Place

xr = pytest.importorskip("xarray")
netcdf = pytest.importorskip("netCDF4")
zarr = pytest.importorskip("zarr")
import stepstore.xarray_backend  # noqa: E402, F401  gives datasets `stepstore`
from stepstore.exchange import numpy_files, outward  # noqa: E402
from stepstore.exchange.inward import Import  # noqa: E402
from stepstore.exchange.outward import Export  # noqa: E402

ADIOS2 = os.environ.get("STEPSTORE_TEST_PLUGIN", "1") != "0"
needs_adios2 = pytest.mark.skipif(not ADIOS2, reason="built without the ADIOS2 plugin")
TABLES = ("nc", "zarr", "npy", "npz")
ALL = [*TABLES, pytest.param("bp", marks=needs_adios2)]
OF_BP = ("T", "time", "label", "z", "empty", "x", "rare", "loc", "uneven", "grow", "bytes", "group/v")
OF_COMPRESSED = "T,label,z,empty,x,bytes"
OF_TABLES = (*(name for name in OF_BP if name != "uneven"), "p")


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """A pool with a stream of every kind, one that xarray wrote, a long one, and arrays by name."""
    place = tmp_path_factory.mktemp("exchange") / "pool"
    stepstore.Pool.create(str(place), targets=2)
    with stepstore.Writer(place / "default/kinds") as writer:
        writer.set_attribute("title", "all kinds, and an ä")
        writer.set_attribute("a/b", ["x", "y"])
        writer.set_attribute("weights", np.float32([1, np.nan, -0.0]))
        writer.set_attribute("one", np.int8(-3))
        writer.set_attribute("units", "K", variable="T")
        writer.set_attribute("_FillValue", np.float32(-999), variable="T")
        writer.set_attribute("scale_factor", np.float32(0.5), variable="T")
        for n in range(3):
            with writer.step() as step:
                values = np.arange(12, dtype="f4").reshape(3, 4) + n
                values[0, :3] = np.nan, -0.0, -999
                for row in (0, 2):  # blocks of different heights
                    step.put("T", values[row : row + 2], shape=(3, 4), start=(row, 0))
                step["time"] = n * 0.5
                step["label"] = f"é{n}"
                step["z"] = np.arange(4) * (1 + 2j) + n
                step["empty"] = np.zeros((0, 3))
                step["bytes"] = np.arange(5, dtype=np.uint8)
                step["group/v"] = np.arange(2, dtype=np.uint64) + (1 << 63)
                step["p"] = np.array([(n, (1, 2, 3)), (7, (4, 5, 6))], [("q", "f4"), ("r", "i4", 3)])
                if n == 0:
                    step["x"] = np.arange(4.0)
                if n != 1:
                    step["rare"] = np.arange(2) + n
                for size in (2, 3):
                    step.put("uneven", np.arange(size) + n, local=True)
                    step.put("loc", np.arange(3) + size, local=True)
                step["grow"] = np.arange(2 + n)
                step.put("own text", "t", local=True)
    with stepstore.Writer(place / "default/long") as writer:
        for n in range(6):
            with writer.step() as step:
                step["U"] = np.full((600, 2000), n + 0.5)  # two pieces
    with stepstore.open_arrays(place / "arrays", write=True) as arrays:
        arrays.write("A", np.arange(6.0).reshape(2, 3))
        arrays.write("flags", np.array([True, False]))
        arrays.set_attribute("A", "dimensions", "y x")
        arrays.set_attribute("", "note", "by name")
    return place


def export(location, destination, **options):
    task = Export(str(location), Path(destination), **options)
    return task.run(), task.report


def imported(source, place, **options):
    task = Import(Path(source), Place(str(place), "default", Path(source).name), **options)
    return task.run(), task.report


def opened(location):
    return xr.open_dataset(str(location), engine="stepstore").load()


def identical(one, other):
    xr.testing.assert_identical(one.drop_encoding(), other.drop_encoding())


# ---- there and back
@pytest.mark.parametrize("ending", TABLES)
def test_a_stream_of_every_kind_comes_back_the_same(pool, tmp_path, ending):
    file = tmp_path / f"out.{ending}"
    written, report = export(pool / "default/kinds", file, variables=OF_TABLES)
    assert written and report.bytes == report.compared > 0
    assert os.listdir(tmp_path) == [file.name]
    assert imported(file, tmp_path / "pool")[0]
    before = xr.open_dataset(
        pool / "default/kinds", engine="stepstore", drop_variables=["uneven", "own text"]
    ).load()
    identical(before, opened(tmp_path / "pool/default" / file.name))
    assert not export(tmp_path / "pool/default" / file.name, file)[0], "the file is another one"
    assert not imported(file, tmp_path / "pool")[0], "the stream is another one"


@needs_adios2
def test_a_bp_file_has_the_steps_and_blocks_of_the_stream(pool, tmp_path):
    file = tmp_path / "out.bp"
    written, report = export(pool / "default/kinds", file, variables=OF_BP)
    assert written and report.bytes == report.compared > 0
    assert os.listdir(tmp_path) == [file.name]
    assert imported(file, tmp_path / "pool")[0]
    assert (
        not imported(file, tmp_path / "pool")[0]
        and not export(pool / "default/kinds", file, variables=OF_BP)[0]
    )
    with (
        stepstore.open_steps(pool / "default/kinds") as old,
        stepstore.open_steps(tmp_path / "pool/default/out.bp") as new,
    ):
        assert len(new) == 3
        assert {name: str(one.value) for name, one in old.attributes().items()} == {
            name: str(one.value) for name, one in new.attributes().items()
        }
        for step in range(3):
            assert set(new.variables(step)) == set(old.variables(step)) - {"p", "own text"}
            for name, variable in new.variables(step).items():
                assert (variable.kind, variable.dtype) == (
                    old.variable(name, step).kind,
                    old.variable(name, step).dtype,
                )
                if variable.is_value:
                    assert new.read(name, step) == old.read(name, step)
                    continue
                boxes = [(block.start, block.count) for block in old.blocks(name, step)]
                assert [(block.start, block.count) for block in new.blocks(name, step)] == boxes
                for at in range(len(boxes)):
                    one, other = (steps.read_block(name, at, step) for steps in (old, new))
                    assert one.tobytes() == other.tobytes(), (name, step)


@pytest.fixture(scope="module")
def weather():
    dataset = xr.Dataset(
        {
            "t2m": (
                ("step", "lat", "lon"),
                np.random.default_rng(1).random((4, 3, 5)).astype("f4"),
                {"units": "K"},
            ),
            "mask": (("lat", "lon"), np.eye(3, 5) > 0),
            "packed": (("step", "lat"), np.where(np.eye(4, 3) > 0, np.nan, 1.5)),
        },
        coords={
            "time": ("step", np.datetime64("2020-01-01", "ns") + np.arange(4) * np.timedelta64(6, "h")),
            "step": np.arange(4),
            "lat": [1.0, 2, 3],
            "lon": np.arange(5.0),
            "height": ((), 2.0),
        },
        attrs={"Conventions": "CF-1.8", "count": np.int64(3)},
    )
    dataset.packed.encoding = {
        "scale_factor": 0.1,
        "add_offset": 1.0,
        "_FillValue": np.int16(-999),
        "dtype": "i2",
    }
    return dataset


@pytest.mark.parametrize("dims", ["steps", "no steps"])
def test_what_xarray_wrote_is_the_same_in_its_files(weather, tmp_path, dims):
    dataset = weather if dims == "steps" else weather.drop_vars("step").rename(step="record")
    dataset.stepstore.write(tmp_path / "pool")
    known = opened(tmp_path / "pool")
    identical(known, dataset.assign(packed=known.packed))  # which is rounded, as it is stored
    for ending, read in (("nc", xr.open_dataset), ("zarr", xr.open_zarr)):
        export(tmp_path / "pool", tmp_path / f"a.{ending}")
        with read(tmp_path / f"a.{ending}") as found:
            identical(known, found.load())


@pytest.mark.parametrize("ending", ["nc", "zarr"])
def test_what_xarray_wrote_to_files_comes_back_through_a_stream(weather, tmp_path, ending):
    file = tmp_path / f"a.{ending}"
    dataset = weather.drop_vars("step").swap_dims(step="time")
    if ending == "nc":
        dataset.to_netcdf(file, unlimited_dims=["time"])
    else:
        dataset.to_zarr(file)
    with (xr.open_dataset if ending == "nc" else xr.open_zarr)(file) as found:
        known = found.load()
    imported(file, tmp_path / "pool", **({} if ending == "nc" else {"along": "time"}))
    with stepstore.open_steps(tmp_path / "pool/default" / file.name) as steps:
        assert len(steps) == 4 and steps.shape("t2m", 2) == (3, 5)
    found = opened(tmp_path / "pool/default" / file.name)
    identical(
        known.drop_attrs() if ending == "zarr" else known, found.drop_attrs() if ending == "zarr" else found
    )
    export(tmp_path / "pool/default" / file.name, tmp_path / "b.nc")
    with xr.open_dataset(tmp_path / "b.nc") as again, netcdf.Dataset(tmp_path / "b.nc") as raw:
        identical(found, again.load())
        assert raw.dimensions["time"].isunlimited()


def test_the_commands_explain_themselves(cli):
    assert "NAME.zarr" in cli("export", "--help").out and "--along" in cli("import", "--help").out


def test_steps_variables_and_the_dimension_of_steps_can_be_chosen(cli, pool):
    told = cli(
        "export", pool / "default/kinds", "a.nc", "--steps", "1:3", "--variables", "T,time", "--json"
    ).json
    assert told["written"] and told["bytes"] == told["compared_bytes"]
    with xr.open_dataset(cli.directory / "a.nc", mask_and_scale=False) as found:
        assert set(found.variables) == {"T", "time", "step"} and found.step.values.tolist() == [1, 2]
        assert found.T.values[0, 1].tolist() == [5, 6, 7, 8]
    cli("pool", "create", "./q")
    cli("import", "a.nc", "q/default/a", "--along", "dim_0", "--variables", "T", "--steps", "-2:")
    with stepstore.open_steps(cli.directory / "q/default/a") as steps:
        assert len(steps) == 2 and list(steps.variables()) == ["T"] and steps.shape("T") == (2, 4)
    assert (
        "complete already"
        in cli("import", "a.nc", "q/default/a", "--along", "dim_0", "--variables", "T", "--steps", "-2:").out
    )


def test_arrays_by_name_go_out_and_come_back(pool, tmp_path):
    for ending in TABLES:
        file = tmp_path / f"a.{ending}"
        export(pool / "arrays", file)
        imported(file, tmp_path / "q")
        with stepstore.open_steps(tmp_path / "q/default" / file.name) as steps:
            assert steps.read("A").tolist() == [[0, 1, 2], [3, 4, 5]] and steps.read("flags").tolist() == [
                1,
                0,
            ]
        identical(opened(pool / "arrays"), opened(tmp_path / "q/default" / file.name))
    for name, ending, says in (("arrays", "bp", "BP files are made of streams"), ("none", "nc", "none")):
        with pytest.raises(stepstore.Error, match=says) as error:
            export(pool / name, tmp_path / f"b.{ending}")
        assert error.value.name == "DER_NONEXIST"


def test_files_of_hdf5_and_old_netcdf_are_imported(cli):
    h5py = pytest.importorskip("h5py")
    with h5py.File(cli.directory / "a.h5", "w") as file:
        file["g/x"] = np.arange(6, dtype=">i4").reshape(2, 3)
        file["g/x"].attrs["unit"] = "m"
        file["c"] = np.array([1 + 2j])
    with netcdf.Dataset(cli.directory / "b.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("t", None)
        file.createVariable("v", "f8", ("t",))[:] = [1, 2]
    cli("pool", "create", "./q")
    cli("import", "a.h5", "q")
    cli("import", "b.nc", "q/default/b")
    with stepstore.open_steps(cli.directory / "q/default/a") as steps:
        assert steps["g/x"].tolist() == [[0, 1, 2], [3, 4, 5]] and steps["c"].tolist() == [1 + 2j]
        assert steps.attributes()["g/x/unit"].value == "m"
    with stepstore.open_steps(cli.directory / "q/default/b") as steps:
        assert [steps.read("v", step) for step in range(2)] == [1, 2]


# ---- interrupted
AT_PIECE = """
import os, sys
from stepstore.copying.task import Report
count, signal = int(sys.argv.pop(1)), int(sys.argv.pop(1))
moved = Report.copied
def copied(self, size):
    global count
    count -= 1
    if count == 0:
        os.kill(os.getpid(), signal)
    moved(self, size)
Report.copied = copied
from stepstore.cli import main
main()
"""


def interrupted(cli, piece, how, *arguments):
    """The command, which gets a signal when it has moved so many pieces."""
    words = [sys.executable, "-c", AT_PIECE, str(piece), str(int(how)), *map(str, arguments)]
    return subprocess.run(
        words, cwd=cli.directory, env=cli.environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("ending", ALL)
def test_a_killed_export_continues_or_begins_again(cli, pool, ending):
    file, part = cli.directory / f"a.{ending}", cli.directory / f"a.{ending}.part"
    command = ("export", pool / "default/long", file.name, "--variables", "U")
    assert interrupted(cli, 4, signal.SIGKILL, *command).returncode == -signal.SIGKILL
    assert not file.exists() and part.exists()
    written, report = export(pool / "default/long", file, variables=["U"])
    whole = 6 * 600 * 2000 * 8 + (0 if ending == "bp" else 6 * 8)  # the numbers of the steps
    assert written and report.compared == whole
    assert report.resumed == (ending in ("zarr", "npy", "bp"))
    assert report.bytes < whole if report.resumed else report.bytes == whole
    assert not part.exists()
    assert not export(pool / "default/long", file, variables=["U"])[0]


@pytest.mark.parametrize("ending", ["nc", pytest.param("bp", marks=needs_adios2)])
def test_a_killed_import_continues_at_the_step(cli, pool, ending):
    file = cli.directory / f"a.{ending}"
    export(pool / "default/long", file)
    stepstore.Pool.create(str(cli.directory / "q"), targets=2)
    command = ("import", file.name, f"q/default/{file.name}")
    assert interrupted(cli, 5, signal.SIGKILL, *command).returncode == -signal.SIGKILL
    at_work = cli("ls", "q/default", "--json").json
    assert [one["name"] for one in at_work if one["type"] == "stream"] == [f"{file.name} (copy at work)"]
    written, report = imported(file, cli.directory / "q")
    assert report.resumed and written and 0 < report.bytes < 6 * 600 * 2000 * 8
    whole = cli("ls", "q/default", "--json").json
    assert [one["name"] for one in whole if one["type"] == "stream"] == [file.name]
    assert not imported(file, cli.directory / "q")[0]


@pytest.mark.parametrize("ending", ["npy", pytest.param("bp", marks=needs_adios2)])
def test_an_import_that_nobody_finishes_can_be_removed(cli, pool, ending):
    file = cli.directory / f"a.{ending}"
    export(pool / "default/long", file)
    stepstore.Pool.create(str(cli.directory / "q"), targets=2)
    killed = interrupted(cli, 5, signal.SIGKILL, "import", file.name, "q/default/a")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    told = cli("ls", "q/default").err
    assert f"q/default/a is an unfinished copy of {file.name}, begun 20" in told
    assert 'stepstore rm "q/default/a (copy at work)"' in told
    assert "removed the unfinished stream a" in cli("rm", "q/default/a (copy at work)", "--yes").out
    assert cli("ls", "q/default", "--json").json == [] and "unfinished" not in cli("ls", "q/default").err
    cli.fails("rm", "q/default/a (copy at work)", "--yes", code=3, says=("has no stream",))
    other = cli.directory / "b.nc"
    xr.Dataset({"x": ("i", [1.0])}).to_netcdf(other)
    assert Import(other, Place(str(cli.directory / "q"), "default", "a")).run()  # the place is free


@pytest.mark.parametrize("ending", ["nc", "npy", pytest.param("bp", marks=needs_adios2)])
def test_ctrl_c_says_what_is_left(cli, pool, ending):
    done = interrupted(cli, 3, signal.SIGINT, "export", pool / "default/long", f"a.{ending}")
    assert done.returncode == 130 and done.stderr.count("\n") == 1 and "the same command again" in done.stderr
    left = [] if ending == "nc" else [f"a.{ending}.part"]
    assert [name for name in os.listdir(cli.directory) if name.startswith("a.")] == left
    assert export(pool / "default/long", cli.directory / f"a.{ending}")[0]


@pytest.mark.parametrize("when", ["writing", "replacing"])
def test_a_kill_leaves_the_old_file_or_the_new_one(cli, pool, when, monkeypatch):
    export(pool / "default/kinds", cli.directory / "a.npy", variables=["T"])
    if when == "writing":
        interrupted(cli, 3, signal.SIGKILL, "export", pool / "default/long", "a.npy", "--replace")
        assert (cli.directory / "a.npy/T.npy").exists()
    else:
        monkeypatch.setattr(
            Path, "replace", lambda self, target: 1 / 0 if self.name == "data" else os.replace(self, target)
        )
        with pytest.raises(ZeroDivisionError):
            export(pool / "default/long", cli.directory / "a.npy", replace=True)
        monkeypatch.undo()
        assert (cli.directory / "a.npy.part/replaced/T.npy").exists()
    export(pool / "default/long", cli.directory / "a.npy", replace=True)
    assert np.load(cli.directory / "a.npy/U.npy", mmap_mode="r")[5, 0, 0] == 5.5
    assert [name for name in os.listdir(cli.directory) if name.startswith("a.")] == ["a.npy"]


def test_two_exports_to_one_place_do_not_meet(pool, tmp_path, monkeypatch):
    real = outward._TableJob.fill

    def fill(self, part):
        with pytest.raises(stepstore.Error, match="another process exports to it") as error:
            export(pool / "default/kinds", tmp_path / "a.nc", variables=["x"])
        assert error.value.name == "DER_BUSY"
        real(self, part)

    monkeypatch.setattr(outward._TableJob, "fill", fill)
    export(pool / "default/kinds", tmp_path / "a.nc", variables=["T"])
    assert os.listdir(tmp_path) == ["a.nc"]


def test_what_was_written_is_compared_before_it_gets_its_name(pool, tmp_path, monkeypatch):
    real = numpy_files.NpyWriter.write
    monkeypatch.setattr(
        numpy_files.NpyWriter, "write", lambda self, *what: real(self, *what[:2], what[2] * 0)
    )
    with pytest.raises(stepstore.Error, match="variable 'time'") as error:
        export(pool / "default/kinds", tmp_path / "a.npy", variables=["time"])
    assert error.value.name == "DER_CSUM" and not (tmp_path / "a.npy").exists()
    monkeypatch.undo()
    assert export(pool / "default/kinds", tmp_path / "a.npy", variables=["time"])[0]


def test_a_changed_stream_is_exported_anew(cli):
    stepstore.Pool.create(str(cli.directory / "q"), targets=2)
    for value in (1, 2):
        with stepstore.Writer(cli.directory / "q/default/s") as writer:
            for _ in range(2):
                with writer.step() as step:
                    step["U"] = np.full((600, 2000), float(value))
        if value == 1:
            interrupted(cli, 3, signal.SIGKILL, "export", "q/default/s", "a.npy")
    assert not export(cli.directory / "q/default/s", cli.directory / "a.npy")[1].resumed
    assert np.load(cli.directory / "a.npy/U.npy").min() == 2


# ---- refused
@pytest.mark.parametrize(
    ("ending", "variable", "says"),
    [
        ("nc", "uneven", "variable 'uneven' has no place in this format: its blocks have different shapes"),
        ("zarr", "uneven", "export to FILE.bp"),
        pytest.param("bp", "p", "variable 'p' is of structs", marks=needs_adios2),
        pytest.param("bp", "own text", "variable 'own text' has a text for each", marks=needs_adios2),
        ("nc", "q", "there is no variable 'q': there are T, "),
        ("txt", "T", "its name does not say the format"),
    ],
)
def test_what_a_format_cannot_keep_is_refused_by_name(pool, tmp_path, ending, variable, says):
    with pytest.raises(stepstore.Error, match="[a-z]") as error:
        export(pool / "default/kinds", tmp_path / f"a.{ending}", variables=[variable])
    assert says in str(error.value) and os.listdir(tmp_path) == []


def test_names_and_types_that_only_some_formats_have(tmp_path):
    names = ("../up", "a//b", "a", "a/b")
    with stepstore.Writer(tmp_path / "p") as writer, writer.step() as step:
        for at, name in enumerate(names):
            step[name] = np.arange(at + 1)
        step["wide"] = np.arange(3, dtype=np.longdouble)
    for ending, name in (("nc", "a//b"), ("nc", "a/b"), ("nc", "wide"), ("zarr", "../up"), ("zarr", "wide")):
        with pytest.raises(stepstore.Error, match="NAME.npy") as error:
            export(tmp_path / "p", tmp_path / f"a.{ending}", variables=["a", name])
        assert repr(name) in str(error.value)
    for ending in ("npy", "npz"):
        assert export(tmp_path / "p", tmp_path / f"a.{ending}")[0]
        imported(tmp_path / f"a.{ending}", tmp_path / "q")
        identical(opened(tmp_path / "p"), opened(tmp_path / f"q/default/a.{ending}"))
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "a.npz", "p", "q"]


def test_what_a_stream_cannot_keep_is_refused_by_name(tmp_path):
    for name, values, says in (
        ("texts", np.array(["a", "b"], dtype=object), "is an array of texts"),
        ("half", np.zeros(2, "f2"), "is of float16, which a stream does not store"),
    ):
        xr.Dataset({name: ("n", values)}).to_zarr(tmp_path / f"{name}.zarr")
        with pytest.raises(stepstore.Error, match=says) as error:
            imported(tmp_path / f"{name}.zarr", tmp_path / "q")
        assert repr(name) in str(error.value) and not (tmp_path / "q").exists()
    for name in ("letters", "rows"):
        with netcdf.Dataset(tmp_path / "a.nc", "w") as file:
            file.createDimension("n", 2)
            kind = "S1" if name == "letters" else file.createVLType(np.int32, "row")
            file.createVariable(name, kind, ("n",))
        with pytest.raises(stepstore.Error, match=f"'{name}' is of"):
            imported(tmp_path / "a.nc", tmp_path / "q")


def test_zarr_stores_of_format_2_and_of_other_programs_are_imported(tmp_path):
    zarr = pytest.importorskip("zarr")
    old = zarr.open_group(tmp_path / "2.zarr", mode="w", zarr_format=2)
    for name, values, fill in (("x", np.arange(3.0), np.nan), ("b", np.array([True, False, True]), False)):
        made = old.create_array(f"g/{name}", data=values, fill_value=fill)
        made.attrs["_ARRAY_DIMENSIONS"] = ["n"]
    new = zarr.open_group(tmp_path / "3.zarr", mode="w", zarr_format=3)
    made = new.create_array(
        "x", data=np.arange(3, dtype=">f4"), attributes={"_FillValue": 2.0, "a": {"b": [1]}}
    )
    for name in ("2.zarr", "3.zarr"):
        imported(tmp_path / name, tmp_path / "q")
        assert not imported(tmp_path / name, tmp_path / "q")[0]
    with stepstore.open_steps(tmp_path / "q/default/2.zarr") as steps:
        assert steps["g/x"].tolist() == [0, 1, 2] and steps["g/b"].tolist() == [1, 0, 1]
        assert np.isnan(steps.attributes()["g/x/_FillValue"].value)
    with stepstore.open_steps(tmp_path / "q/default/3.zarr") as steps:
        assert steps.attributes()["x/_FillValue"].value == np.float32(2)
        assert steps.attributes()["x/a"].value == '{"b": [1]}'


def test_what_is_there_is_replaced_only_if_that_is_said(cli, pool, tmp_path):
    def refused(call, says):
        with pytest.raises(stepstore.Error, match=says) as error:
            call()
        assert error.value.name == "DER_EXIST"

    kinds, a, b = pool / "default/kinds", tmp_path / "a.nc", tmp_path / "b/a.nc"
    export(kinds, a, variables=["x"])
    export(kinds, b, variables=["T"])
    imported(a, tmp_path / "q")
    refused(
        lambda: imported(b, tmp_path / "q"),
        "a.nc: it exists, and holds something else .it has 3 steps|1 steps",
    )
    imported(b, tmp_path / "q", replace=True)
    with stepstore.open_steps(tmp_path / "q/default/a.nc") as steps:
        assert "T" in steps and len(steps) == 3
    cli("pool", "check", "q")
    refused(
        lambda: export(kinds, a, variables=["T"]), "a.nc: it exists, and holds something else .*--replace"
    )
    export(kinds, a, variables=["T"], replace=True)
    assert not export(kinds, a, variables=["T"])[0]
    mine = tmp_path / "mine.zarr"
    mine.mkdir()
    (mine / "thesis").write_text("years")
    for replace in (False, True):
        refused(lambda: export(kinds, mine, variables=["T"], replace=replace), "mine.zarr")
    assert (mine / "thesis").exists()


@pytest.mark.parametrize("ending", ["nc", "zarr", "npy", "npz", "h5", "bp"])
def test_files_that_are_damaged_or_something_else_are_refused(tmp_path, ending):
    file = tmp_path / f"a.{ending}"
    with pytest.raises(stepstore.Error, match="there is no such file"):
        imported(file, tmp_path / "q")
    file.write_bytes(b"\0" * 200)
    with pytest.raises(stepstore.Error, match=file.name):
        imported(file, tmp_path / "q")


@pytest.mark.parametrize(
    "contents",
    [
        b"[]",
        b"{",
        b'{"attributes": {}, "variables": [{"name": "../x", "dims": [], "attributes": {}}]}',
        b'{"attributes": {"a": {"type": "O", "shape": [1], "hex": ""}}, "variables": []}',
        b'{"attributes": {"a": {"type": "float64", "shape": [1000000], "hex": ""}}, "variables": []}',
        b'{"attributes": {}, "variables": [{"name": "x", "dims": ["a", "b"], "attributes": {}}]}',
    ],
)
def test_contents_of_numpy_files_that_lie_are_refused(pool, tmp_path, contents):
    export(pool / "default/kinds", tmp_path / "a.npy", variables=["x"])
    (tmp_path / "a.npy" / numpy_files.CONTENTS).write_bytes(contents)
    with pytest.raises(stepstore.Error, match="a.npy"):
        imported(tmp_path / "a.npy", tmp_path / "q")
    assert not (tmp_path / "q").exists()


@pytest.mark.parametrize("notes", ["{", "[]", '{"a": 1}', '{"a": {"type": "O", "shape": [], "hex": ""}}'])
def test_notes_of_attributes_that_lie_are_refused(tmp_path, notes):
    with netcdf.Dataset(tmp_path / "a.nc", "w") as file:
        file.setncattr("stepstore_attributes", notes)
        file.createDimension("n", 2)
        file.createVariable("x", "f8", ("n",))
    with pytest.raises(stepstore.Error, match="the attribute stepstore_attributes is damaged"):
        imported(tmp_path / "a.nc", tmp_path / "q")


def test_a_stream_that_goes_on_is_exported_as_far_as_it_is(cli, tmp_path):
    writer = stepstore.Writer(tmp_path / "q")
    with writer.step() as step:
        step["a"] = 1.0
    result = cli("export", tmp_path / "q", "a.npy", "--json")
    assert "is being written, or was not closed" in result.err
    assert np.load(tmp_path / "a.npy/a.npy").tolist() == [1.0]
    writer.close()


def killed_while_it_fills(monkeypatch, source, place, **options):
    """An import that dies with one step written."""

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("stepstore.exchange.inward._TableJob.compare", die)
        with pytest.raises(KeyboardInterrupt):
            imported(source, place, **options)


def test_an_import_of_another_choice_does_not_go_on_with_the_first(pool, tmp_path, monkeypatch):
    file, place = tmp_path / "s.nc", tmp_path / "q"
    export(pool / "default/kinds", file, variables=["x", "T"])
    killed_while_it_fills(monkeypatch, file, place, variables=["x"])
    unverified = {"options": Options(verify=False)}
    for other in ({"variables": ["T"]}, {"steps": slice(0, 1), "variables": ["x"]}, {}):
        with pytest.raises(
            stepstore.Error, match="there is an unfinished copy of .*s.nc, variables="
        ) as error:
            imported(file, place, **other, **unverified)
        assert error.value.name == "DER_EXIST"
    written, report = imported(file, place, variables=["x"])
    assert written and report.resumed


def test_an_import_of_a_file_that_changed_begins_anew_after_the_comparison(pool, tmp_path, monkeypatch):
    file, place = tmp_path / "s.nc", tmp_path / "q"
    export(pool / "default/kinds", file, variables=["x"])
    killed_while_it_fills(monkeypatch, file, place)
    export(pool / "default/kinds", file, variables=["T"], replace=True)
    with pytest.raises(stepstore.Error, match="differs from the source") as error:
        imported(file, place)
    assert error.value.name == "DER_CSUM"
    assert imported(file, place)[0]
    with stepstore.open_steps(place / "default/s.nc") as steps:
        assert "T" in steps and "x" not in steps


def test_an_import_does_not_replace_what_another_program_made_since(pool, tmp_path, monkeypatch):
    file, place = tmp_path / "s.nc", tmp_path / "q"
    export(pool / "default/kinds", file, variables=["x"])
    imported(file, place)

    remove = at_work._core.remove_stream

    def remove_and_die(location):
        remove(location)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(at_work._core, "remove_stream", remove_and_die)
        with pytest.raises(KeyboardInterrupt):
            imported(file, place, replace=True)
    with stepstore.Writer(place / "default/s.nc") as writer, writer.step() as step:
        step["mine"] = 1.0
    with pytest.raises(stepstore.Error, match="another program has made the stream"):
        imported(file, place, replace=True)
    with stepstore.open_steps(place / "default/s.nc") as steps:
        assert "mine" in steps


def test_an_import_that_replaces_and_dies_is_finished_by_the_next(pool, tmp_path, monkeypatch):
    for name, variables in (("b", ["x"]), ("a", ["T"])):
        export(pool / "default/kinds", tmp_path / f"{name}/s.nc", variables=variables)
    imported(tmp_path / "b/s.nc", tmp_path / "q")

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(at_work, "_rename", die)
    with pytest.raises(KeyboardInterrupt):
        imported(tmp_path / "a/s.nc", tmp_path / "q", replace=True)
    monkeypatch.undo()
    with pytest.raises(stepstore.Error, match="there is an unfinished copy of"):
        imported(tmp_path / "b/s.nc", tmp_path / "q")
    written, report = imported(tmp_path / "a/s.nc", tmp_path / "q")
    assert written and report.resumed and report.bytes == 0
    with stepstore.open_steps(tmp_path / "q/default/s.nc") as steps:
        assert "T" in steps and "x" not in steps


# ---- snapshots and compression
@pytest.mark.parametrize("ending", ALL)
def test_a_snapshot_is_exported_as_it_was(cli, ending):
    place = cli.directory / "p"
    stepstore.Pool.create(str(place), targets=2)
    for append in (False, True):
        with stepstore.Writer(place / "default/gs", append=append) as writer, writer.step() as step:
            step["U"] = np.arange(4.0) + append
        if not append:
            cli("snapshot", "create", "p/default", "--name", "before")
    cli("export", "p/default/gs", f"then.{ending}", "--snapshot", "before")
    cli("export", "p/default/gs", f"now.{ending}")
    for name, steps in (("then", 1), ("now", 2)):
        imported(cli.directory / f"{name}.{ending}", place)
        with stepstore.open_steps(place / f"default/{name}.{ending}") as found:
            assert len(found) == steps and found["U"][0] == steps - 1
    cli.fails("export", "p/default/gs", "x.nc", "--snapshot", "never", code=3, says=("never",))


@pytest.mark.parametrize(
    "ending, how", [("nc", "zlib:1"), ("nc", "zstd"), ("zarr", "gzip:9"), ("zarr", "zstd:5")]
)
def test_an_export_is_compressed_as_the_user_says(cli, pool, ending, how):
    def size(path):
        return path.stat().st_size if path.is_file() else sum(map(size, path.iterdir()))

    cli(
        "export",
        pool / "default/kinds",
        f"kinds.{ending}",
        "--variables",
        OF_COMPRESSED,
        "--compression",
        how,
    )
    file = cli.directory / f"long.{ending}"
    cli("export", pool / "default/long", file.name, "--compression", how)
    assert size(file) < 6 * 600 * 2000 * 8 // 20
    name, _, level = how.partition(":")
    if ending == "nc":
        with netcdf.Dataset(file) as found:
            filters = found["U"].filters()
        assert filters[name] and (not level or filters["complevel"] == int(level))
    else:
        (codec,) = zarr.open_array(str(file / "U"), mode="r").compressors
        assert name in type(codec).__name__.lower() and codec.level == int(level)


def test_a_compression_that_a_format_has_not_is_refused(cli, pool):
    export_to = ("export", pool / "default/long")
    cli.fails(*export_to, "a.npy", "--compression", "zstd", code=1, says=("npy has no", "NAME.zarr"))
    cli.fails(*export_to, "a.zarr", "--compression", "zlib", code=1, says=("it has gzip and zstd",))
    cli.fails(*export_to, "a.nc", "--compression", "zlib:high", code=2, says=("zstd:3",))
