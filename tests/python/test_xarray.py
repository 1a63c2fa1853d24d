"""xr.open_dataset(LOCATION, engine="stepstore"): streams of steps as datasets."""

import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import stepstore
import xarray as xr
from stepstore.xarray_backend import StepstoreBackendEntrypoint
from streams import flip
from xarray.backends.plugins import guess_engine

pytestmark = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_PLUGIN") == "0", reason="built without the ADIOS2 plugin"
)
WRITER = Path(__file__).parents[1] / "support" / "write_kinds.py"
LEFT_OUT = ["grown", "ragged"]


def command(*words):
    return [sys.executable, str(WRITER), *map(str, words)]


def write(location, program, *words):
    subprocess.run(command(program, location, *words), check=True)
    return str(location)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return write(tmp_path_factory.mktemp("kinds") / "s", "kinds")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """T: 4 steps of 512 x 512, in four blocks of rows."""
    return write(tmp_path_factory.mktemp("large") / "s", "large")


def opened(location, **options):
    return xr.open_dataset(location, engine="stepstore", **options)


@pytest.fixture
def dataset(kinds):
    with opened(kinds, drop_variables=LEFT_OUT) as found:
        yield found


def temperature(step):
    return np.arange(48.0).reshape(6, 8) + 100 * step


def test_steps_are_a_dimension(dataset):
    assert dataset.T.dims == ("step", "y", "x") and dataset.T.shape == (3, 6, 8)
    assert dataset.step.values.tolist() == [0, 1, 2]
    assert np.array_equal(dataset.T.values, [temperature(step) for step in range(3)])
    assert dataset.label.values.tolist() == ["step 0", "step 1", "step 2"]
    assert dataset.sel(step=1).label.item() == "step 1"


def test_nothing_is_read_before_it_is_needed(kinds, monkeypatch):
    from stepstore.xarray_backend import sources

    read = []
    real = sources.OpenStream.read

    def noted(self, name, kind, number, start, count, into):
        read.append((name, number, tuple(start), tuple(count)))
        real(self, name, kind, number, start, count, into)

    monkeypatch.setattr(sources.OpenStream, "read", noted)
    with opened(kinds, drop_variables=LEFT_OUT) as found:
        part = found.T.isel(step=1, y=slice(2, 4), x=[7, 5])
        assert read == [("y", 0, (0,), (6,))]  # an index
        read.clear()
        assert np.array_equal(part.values, temperature(1)[2:4][:, [7, 5]])
        assert read == [("T", 1, (2, 5), (2, 3))]


@pytest.mark.parametrize(
    "key",
    [
        {"step": 0},
        {"step": -1, "y": -2, "x": -1},
        {"step": slice(None, None, -1), "x": slice(6, 1, -2)},
        {"step": [2, 0, 2], "y": [5, 1], "x": slice(0, 8, 3)},
        {"y": slice(3, 3)},
        {"step": [], "x": 3},
        {"step": xr.DataArray([0, 2], dims="p"), "y": xr.DataArray([1, 4], dims="p")},
    ],
)
def test_every_selection_is_that_of_numpy(kinds, key):
    with opened(kinds, drop_variables=LEFT_OUT) as lazy, opened(kinds, drop_variables=LEFT_OUT) as loaded:
        loaded.load()
        for name in ("T", "alike"):
            where = {dim: one for dim, one in key.items() if dim in lazy[name].dims}
            xr.testing.assert_identical(lazy[name].isel(where), loaded[name].isel(where))


def test_attributes_belong_to_their_variables_and_are_decoded(dataset):
    assert dataset.attrs["title"] == "all kinds" and dataset.attrs["levels"].tolist() == [1, 2, 3]
    assert dataset.T.attrs == {"units": "K"} and set(dataset.attrs) == {"title", "levels"}
    assert dataset.time.values[2] == np.datetime64("2026-01-01T12:00")
    assert "time" in dataset.coords
    assert np.isnan(dataset.packed.values[0, 0, 0]) and dataset.packed.values[2, 0, 1] == 1.0


def test_cf_decoding_can_be_left_to_the_user(kinds):
    with opened(kinds, drop_variables=LEFT_OUT, decode_cf=False) as found:
        assert found.packed.dtype == np.int16 and found.packed.values[0, 0, 0] == -1
        assert found.time.values.tolist() == [0.0, 6.0, 12.0]


def test_what_only_the_first_step_has_is_constant(dataset):
    assert dataset.y.dims == ("y",) and dataset.sel(y=20.0, step=1).T.values[0] == 116.0


def test_what_only_some_steps_have_has_its_own_steps(dataset):
    assert dataset.rare.dims == ("step_rare", "dim_0") and dataset["rare too"].dims == ("step_rare",)
    assert dataset.step_rare.values.tolist() == [0, 2]
    assert dataset.rare.sel(step_rare=2).values.tolist() == [2.0] * 4


def test_a_growing_dimension_is_joined(dataset):
    x = dataset["p/x"]
    assert x.dims == ("p/x_entries",) == dataset["p/weight"].dims and x.size == 3 + 5 + 7
    assert x.values.tolist() == [*range(3), *range(10, 15), *range(20, 27)]
    assert x.isel({"p/x_entries": slice(2, 9, 3)}).values.tolist() == [2.0, 12.0, 20.0]
    means = x.groupby("p/x_entries_step").mean()
    assert means.values.tolist() == [1.0, 12.0, 23.0]


def test_local_arrays_and_values_have_a_dimension_of_blocks(dataset):
    assert dataset.alike.dims[:2] == ("step", "block") and dataset.alike.shape == (3, 3, 5)
    assert dataset.alike.values[2, 1].tolist() == [210.0, 211.0, 212.0, 213.0, 214.0]
    assert dataset.each.values.tolist() == [[7.0], [8.0], [9.0]]


def test_what_has_no_place_is_named_with_the_reason(kinds):
    with pytest.warns(UserWarning, match=r"grown: its shape changes.*ragged: its blocks have") as caught:
        found = opened(kinds)
    assert len(caught) == 1 and sorted(found.stepstore.left_out) == LEFT_OUT
    assert "(2, 2) in step 0" in found.stepstore.left_out["grown"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened(kinds, drop_variables=LEFT_OUT)
        assert opened(kinds, steps=2, drop_variables="ragged").grown.shape == (4, 4)


def test_some_steps_or_one(kinds):
    last = opened(kinds, steps=-1, drop_variables="ragged")
    assert last.T.dims == ("y", "x") and last.step.item() == 2 and last["p/x"].shape == (7,)
    some = opened(kinds, steps=[2, 0], drop_variables=LEFT_OUT)
    assert some.step.values.tolist() == [2, 0] and some.rare.dims == ("step", "dim_0")
    assert np.array_equal(some.T.values[0], temperature(2))
    assert opened(kinds, steps=slice(1, None), drop_variables=LEFT_OUT).step.values.tolist() == [1, 2]
    assert opened(kinds, steps=slice(3, None)).sizes == {"step": 0}
    for wrong in (3, -4, [0, 7]):
        with pytest.raises(stepstore.Error, match="there is no step .* has the steps 0 to 2") as caught:
            opened(kinds, steps=wrong)
        assert caught.value.name == "DER_NONEXIST"
    with pytest.raises(stepstore.Error, match="named twice"):
        opened(kinds, steps=[0, -3])


def test_dimensions_can_be_named(kinds):
    found = opened(kinds, drop_variables=LEFT_OUT, dims={"rare": ["corner"], "T": ("lat", "lon")})
    assert found.rare.dims == ("step_rare", "corner") and found.T.dims == ("step", "lat", "lon")
    with pytest.raises(ValueError, match=r"T has 2 dimensions \(6, 8\), and dims names 1: lat"):
        opened(kinds, drop_variables=LEFT_OUT, dims={"T": ["lat"]})


def test_openpmd_names_dimensions_and_places_points(tmp_path):
    found = opened(write(tmp_path / "s", "meshes"))
    for name, value in (("E/x", 0.0), ("E/y", 10.0), ("rho", 20.0)):
        field = found[f"/data/fields/{name}"]
        assert field.dims == ("step", "y", "x") and field.attrs["unitSI"] == 3.0
        assert field.values[1, 0, 0] == value + 1
    assert np.allclose(found.y, [10e-6, 12e-6, 14e-6, 16e-6]) and found.y.attrs["units"] == "m"
    assert np.allclose(found.x, np.arange(6) * 0.5e-6)
    # The stream's own variable `step` counts the steps; another size is another dimension.
    assert found.step.values.tolist() == [100, 200]
    assert found["/data/fields/E/small"].dims == ("step", "y_2", "x")


def test_dimensions_of_fortran_programs_are_turned(tmp_path):
    found = opened(write(tmp_path / "s", "columns"), chunks={})
    assert found.T.dims == ("step", "columns", "rows") and found.T.chunks == ((1, 1), (2, 2), (3,))
    assert np.array_equal(found.T.values[1], np.arange(12.0).reshape(4, 3) + 100)
    assert found.T[0, 3, 1].values == 10.0


def test_structs_are_split_into_their_fields(tmp_path):
    where = tmp_path / "out"
    subprocess.run([os.environ["STEPSTORE_TEST_WRITE_STRUCTURES"], str(where)], check=True)
    with pytest.warns(UserWarning, match="bytes: its elements are structs without fields"):
        found = opened(where)
    assert found["all.charge"].values.tolist() == [[[0, 1], [2, 3]], [[1, 2], [3, 4]]]
    place = found["all.place"]
    assert place.shape == (2, 2, 2, 3) and place.values[1, 1, 1].tolist() == [4.0, 4.25, 4.5]
    assert place.isel(step=1, dim_0=1, dim_1=1).values.tolist() == [4.0, 4.25, 4.5]
    assert found["value.wave"].dims == ("step",)


def test_chunks_are_the_writers_blocks(large):
    found = opened(large, chunks={})
    assert found.T.chunks == ((1,) * 4, (128,) * 4, (512,))
    expected = np.repeat(np.arange(4.0)[:, None] * 10 + np.arange(4.0), 128, axis=1)
    for scheduler in ("threads", "processes"):
        assert np.array_equal(found.T.mean("dim_1").compute(scheduler=scheduler), expected), scheduler


def test_dask_names_differ_where_data_differs(large):
    """Else two datasets in one graph would get each other's chunks."""
    first, second = (opened(large, steps=one, chunks={}) for one in ([0, 1], [2, 3]))
    assert first.T.data.name != second.T.data.name
    both = xr.concat([first, second], "step").T
    assert np.array_equal(both.values, opened(large).T.values)


def test_a_dataset_can_be_pickled_and_read_in_a_forked_child(large):
    found = opened(large)
    first = found.T[0, 0, 0].item()  # a reader is open now
    copy = pickle.loads(pickle.dumps(found))
    assert np.array_equal(copy.T.values, found.T.values) and copy.stepstore.location == large_name(large)
    child = os.fork()
    if child == 0:
        os._exit(0 if found.T[1, 0, 0].values == first + 10 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert found.T[2, 0, 0].values == first + 20


def large_name(location):
    return f"{location}/default/main"


def test_a_relative_location_stays_what_it_was(large, monkeypatch, tmp_path):
    monkeypatch.chdir(Path(large).parent)
    found = opened(Path("s"))
    monkeypatch.chdir(tmp_path)
    assert found.T[3, 511, 511].values == 33.0


def test_a_replaced_stream_is_refused_by_an_old_dataset(tmp_path):
    location = write(tmp_path / "s", "large", 2, 16)
    old = opened(location)
    saved = pickle.dumps(old)
    write(location, "large", 3, 32)
    for dataset in (old, pickle.loads(saved)):
        with pytest.raises(stepstore.Error, match="replaced") as caught:
            dataset.T.values  # noqa: B018
        assert caught.value.name == "DER_STALE"
    assert opened(location).T.shape == (3, 32, 32)


def test_paths_need_no_engine_and_urls_are_taken_by_netcdf4(large, monkeypatch):
    """If this fails, xarray may have changed: then docs/xarray.md promises too little."""
    pytest.importorskip("netCDF4")
    assert guess_engine(large) == guess_engine(Path(large)) == "stepstore"
    pool, label = os.path.split(large)
    monkeypatch.setenv("STEPSTORE_ROOT", pool)
    assert guess_engine(f"local:{label}") == guess_engine(f"local:{label}/default") == "stepstore"
    assert guess_engine(f"stepstore://{large}") == "netcdf4"
    with pytest.raises(OSError, match="NetCDF: Invalid argument: 'stepstore://"):
        xr.open_dataset(f"stepstore://{large}")
    assert xr.open_dataset(f"stepstore://{large}", engine="stepstore").T.shape == (4, 512, 512)


def test_datasets_have_the_accessor_once_the_engine_was_used(large):
    for given in ("engine='stepstore'", "chunks=None"):  # named, or found by xarray
        program = f"""
import stepstore, xarray as xr
assert not hasattr(xr.Dataset, "stepstore")
assert hasattr(xr.open_dataset({str(large)!r}, {given}), "stepstore") and hasattr(xr.Dataset(), "stepstore")
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_engine_is_found(large, kinds, tmp_path):
    engines = xr.backends.list_engines()
    assert isinstance(engines["stepstore"], StepstoreBackendEntrypoint)
    guess = engines["stepstore"].guess_can_open
    assert guess(large) and guess(Path(large) / "default")
    (tmp_path / "x.nc").write_bytes(b"CDF")
    assert (
        not guess(tmp_path) and not guess(tmp_path / "x.nc") and not guess("https://host/x") and not guess(1)
    )
    assert not guess("") and not guess(str(tmp_path / "none"))
    assert xr.open_dataset(large).T.shape == (4, 512, 512)  # without naming the engine
    with pytest.raises(stepstore.Error) as caught:
        opened(tmp_path / "none")
    assert caught.value.name == "DER_NONEXIST"
    assert not (tmp_path / "none").exists()


def test_damage_is_named(tmp_path):
    location = write(tmp_path / "s", "large", 2, 64)
    found = opened(location)
    assert found.T[0, 0, 0].values == 0
    found.close()
    flip(tmp_path / "s", np.full(32, 11.0).tobytes())
    with pytest.raises(stepstore.Error, match="T of step 1") as caught:
        opened(location).T.values  # noqa: B018
    assert caught.value.name == "DER_CSUM"


# ---- while it is written
@pytest.fixture
def running(tmp_path):
    started = []

    def start(*words):
        process = subprocess.Popen(
            command("live", tmp_path / "s", *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process, str(tmp_path / "s")

    yield start
    for process in started:
        process.kill()
        process.communicate()


def go_on(process, word="go"):
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


def test_a_dataset_is_the_steps_that_were_there_and_follow_brings_the_others(running):
    process, location = running(5, 0.1)
    found = opened(location)
    assert found.step.values.tolist() == [0, 1] and found.rare.dims == ()
    go_on(process)
    new = list(found.stepstore.follow(timeout=60))
    assert [one.step.values.tolist() for one in new] == [[2], [3], [4]]
    assert [one.T.values[0, 0, 0] for one in new] == [2.0, 3.0, 4.0]
    assert found.sizes["step"] == 2 and np.array_equal(found.T.values[:, 0, 0], [0.0, 1.0])
    whole = xr.concat([one[["T"]] for one in (found, *new)], "step")
    assert np.array_equal(whole.T.values, opened(location).T.values)
    grown = xr.concat([one.grown for one in (found, *new)], "grown_entries")
    assert grown.values.tolist() == [step for step in range(5) for _ in range(step + 1)]
    assert grown.values.tolist() == grown.grown_entries_step.values.tolist()
    assert list(new[-1].stepstore.follow(timeout=60)) == []
    assert list(opened(location).stepstore.follow(timeout=60)) == []
    assert process.wait(60) == 0


def test_dask_reads_while_the_simulation_writes(running):
    process, location = running(6, 0.05)
    found = opened(location, chunks={})
    go_on(process)
    for number, one in enumerate(found.stepstore.follow(timeout=60), 2):
        assert one.T.chunks is not None and one.T.mean().compute(scheduler="threads").item() == number
        assert found.T.mean().compute().item() == 0.5
    assert number == 5


def test_following_from_the_first_step(running, tmp_path):
    process, location = running(4, 0.05, 0)
    found = opened(location)
    assert found.sizes == {"step": 0}
    go_on(process)
    assert [one.T.values.mean() for one in found.stepstore.follow(timeout=60)] == [0.0, 1.0, 2.0, 3.0]


def test_own_steps_keep_their_dimension_while_following(running):
    process, location = running(5, 0.05, 4)
    found = opened(location)
    assert found.rare.dims == ("step_rare",) and found.step_rare.values.tolist() == [0, 2, 3]
    go_on(process)
    (new,) = found.stepstore.follow(timeout=60)
    assert new.rare.dims == ("step_rare",) and new.step_rare.values.tolist() == [4]


def test_a_time_out_and_a_dead_writer_are_errors(running):
    process, location = running(3)
    found = opened(location)
    with pytest.raises(stepstore.Error, match="no new step within 0.3 s") as caught:
        list(found.stepstore.follow(timeout=0.3))
    assert caught.value.name == "DER_TIMEDOUT"
    go_on(process, "die")
    process.wait(60)
    with pytest.raises(stepstore.Error, match="died") as caught:
        list(found.stepstore.follow(timeout=60))
    assert caught.value.name == "DER_CANCELED"


def test_waiting_for_a_stream(tmp_path):
    process = subprocess.Popen(command("large", tmp_path / "s", 1, 16))
    assert opened(tmp_path / "s", open_timeout=60).sizes["step"] == 1
    assert process.wait(60) == 0


def test_the_accessor_is_for_streams():
    with pytest.raises(stepstore.Error, match="does not know its stream"):
        xr.Dataset().stepstore.location  # noqa: B018


# ---- writing
def written_dataset(steps: int = 3) -> xr.Dataset:
    times = np.datetime64("2026-11-27") + np.arange(steps) * np.timedelta64(6, "h")
    return xr.Dataset(
        {
            "T": (("step", "y", "x"), np.arange(steps * 12.0).reshape(steps, 3, 4), {"units": "K"}),
            "turned": (("x", "step"), np.arange(4 * steps).reshape(4, steps)),
            "mask": (("y", "x"), np.arange(12).reshape(3, 4) % 2 == 0),
            "label": ("step", np.array([f"step {one}" for one in range(steps)])),
        },
        coords={
            "step": np.arange(steps) * 10,
            "time": ("step", times),
            "x": ("x", np.arange(4) * 0.5, {"axis": "X"}),
            "y": np.array([3, 2, 1]),
        },
        attrs={"title": "a test", "levels": [1, 2, 3]},
    )


def test_a_dataset_that_is_written_is_read_as_the_same(tmp_path):
    given = written_dataset()
    given.stepstore.write(tmp_path / "out/heat", Compression="zstd")
    with xr.open_dataset(tmp_path / "out/heat", engine="stepstore") as found:
        assert not found.stepstore.left_out
        assert found.attrs["title"] == "a test" and list(found.attrs["levels"]) == [1, 2, 3]
        for name, variable in given.variables.items():
            dims = ("step", *(one for one in variable.dims if one != "step"))
            expected = variable.transpose(*dims) if "step" in variable.dims else variable
            assert found[name].dims == expected.dims, name
            np.testing.assert_array_equal(found[name].values, expected.values, name)
            assert found[name].dtype.kind == expected.dtype.kind or name == "label"
        assert found["T"].attrs == {"units": "K"} and found["x"].attrs == {"axis": "X"}
        assert set(found.coords) == set(given.coords)


def test_steps_are_appended_to_what_was_written(tmp_path):
    whole = written_dataset(5)
    whole.isel(step=slice(0, 2)).stepstore.write(tmp_path / "out")
    whole.isel(step=slice(2, 5)).stepstore.write(tmp_path / "out", append=True)
    with xr.open_dataset(tmp_path / "out", engine="stepstore") as found:
        np.testing.assert_array_equal(found["T"].values, whole["T"].values)
        np.testing.assert_array_equal(found["time"].values, whole["time"].values)
        np.testing.assert_array_equal(found["mask"].values, whole["mask"].values)
    with pytest.raises(stepstore.Error, match="has the units 'degC', and the steps that are there have 'K'"):
        whole.assign(T=whole["T"].assign_attrs(units="degC")).stepstore.write(tmp_path / "out", append=True)
    with pytest.raises(stepstore.Error, match="no dimension 'step'"):
        whole[["mask"]].drop_vars("step", errors="ignore").stepstore.write(tmp_path / "out", append=True)
    with pytest.raises(stepstore.Error, match="variable 'o'"):
        xr.Dataset({"o": ("x", np.array([{}, {}]))}).stepstore.write(tmp_path / "other")
    assert "no stream" in repr(whole.stepstore)
    with pytest.raises(stepstore.Error, match="does not know its stream"):
        whole.stepstore.location  # noqa: B018
