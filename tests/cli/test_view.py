"""One pool with all kinds in it: ls, tree, du, stat and cat know each by name, and each opener's error names
the right opener."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import stepstore
from stepstore.blobs import open_blobs
from stepstore.errors import Error
from stepstore.kinds import openers_at
from stepstore.steps import open_steps

CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4=\x07"


def zarr_metadata(**more: object) -> bytes:
    return json.dumps({"zarr_format": 3, **more}).encode()


def write_all_kinds(path: Path) -> None:
    stepstore.Pool.create(path, targets=2)
    with stepstore.Writer(f"{path}/default/main") as writer:
        writer.set_attribute("units", "m/s", variable="U")
        for number in range(3):
            with writer.step() as step:
                step.put("U", np.full((4, 5), float(number)))
                if number == 1:
                    step.put("rare", np.arange(3, dtype="int32"))
    with stepstore.Writer(f"{path}/default/run/gs") as writer, writer.step() as step:
        step.put("V", np.float32(1))
    with stepstore.open_arrays(f"{path}/default", write=True) as arrays:
        arrays.write("T", np.arange(12.0).reshape(3, 4))
        arrays.set_attribute("T", "units", "K")
        arrays.write("gone", [1.0])
        arrays.remove("gone")
    blobs = open_blobs(str(path), "default")
    blobs.write("readme.txt", b"hello\n")
    blobs.write("tables/cells.bin", b"x" * 50)
    blobs.write("g/zarr.json", zarr_metadata(node_type="group", attributes={"title": "group"}))
    array = {"node_type": "array", "shape": [10, 10], "data_type": "float32", "attributes": {"k": "group"}}
    array["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [5, 5]}}
    blobs.write("g/u/zarr.json", zarr_metadata(**array))
    blobs.write("g/u/c/0/0", b"y" * 30)
    old = {"zarr_format": 2, "shape": [3], "dtype": "<i8", "chunks": [3]}
    blobs.write("old/.zgroup", b'{"zarr_format": 2}')
    blobs.write("old/w/.zarray", json.dumps(old).encode())
    blobs.write("old/w/0", b"z" * 24)
    with stepstore.Pool.connect(path) as pool, pool.open_container("default") as box:
        with box.key_value(1) as values:
            values["plain"] = b"value"
        with box.create_array(2, cell_size=4, chunk_size=1024) as cells:
            cells.write(10, bytes(40))
    root = open_blobs(str(path), "z")  # a container that is a Zarr group
    root.write("zarr.json", zarr_metadata(node_type="group"))
    root.write("v/zarr.json", zarr_metadata(**array))


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("kinds") / "all"
    write_all_kinds(path)
    return path


@pytest.fixture
def kinds(cli, template) -> Path:
    """./root/all, which is also local:all."""
    path = cli.directory / "root" / "all"
    path.parent.mkdir()
    subprocess.run(["cp", "-a", "--sparse=always", template, path], check=True)
    return path


def listing(cli, *arguments: object) -> dict[str, dict]:
    return {one["name"]: one for one in cli("ls", *arguments, "--json").json}


def test_ls_names_all_kinds(cli, kinds):
    found = listing(cli, "local:all/default")
    objects = {name: one for name, one in found.items() if "hi" in one}
    named = {name: one["type"] for name, one in found.items() if name not in objects}
    assert named == {
        "main": "stream",
        "run/gs": "stream",
        "T": "array",
        "g": "zarr_group",
        "old": "zarr_group",
        "readme.txt": "blob",
        "tables": "folder",
    }
    assert sorted(one["type"] for one in objects.values()) == ["array", "key_value"]
    assert (found["main"]["steps"], found["main"]["variables"], found["main"]["ended"]) == (3, 2, True)
    assert (found["T"]["dtype"], found["T"]["shape"], found["T"]["bytes"]) == ("float64", [3, 4], 96)
    assert found["readme.txt"]["size"] == 6


def test_ls_below(cli, kinds):
    variables = listing(cli, "root/all/default/main")
    assert (variables["U"]["steps"], variables["U"]["shape"], variables["U"]["dtype"]) == (
        3,
        [4, 5],
        "float64",
    )
    assert (variables["rare"]["steps"], variables["rare"]["shape"]) == (1, [3])
    group = listing(cli, "root/all/default/g")
    assert group.keys() == {"u"}
    assert (group["u"]["type"], group["u"]["dtype"], group["u"]["shape"]) == (
        "zarr_array",
        "float32",
        [10, 10],
    )
    assert group["u"]["chunks"] == [5, 5]
    assert listing(cli, "root/all/default/old")["w"]["dtype"] == "int64"
    assert listing(cli, "root/all/default/tables").keys() == {"cells.bin"}
    assert listing(cli, "root/all/default/run").keys() == {"run/gs"}
    assert [one["type"] for one in listing(cli, "root/all/z").values()] == ["zarr_group", "zarr_array"]
    assert listing(cli, "root/all/default/T").keys() == {"T"}
    assert set(listing(cli, "-a", "root/all/default/g")) == {"u", "zarr.json"}


def test_ls_of_a_pool_and_of_a_directory_of_pools(cli, kinds):
    assert "2 streams, 2 arrays, 2 Zarr groups, 1 blob, 1 folder, 1 key-value" in cli("ls", "root/all").out
    assert listing(cli, "root/all")["z"]["holds"] == {"zarr_array": 1}
    assert {name: one["type"] for name, one in listing(cli, "root").items()} == {"all": "pool"}
    with stepstore.Writer(str(cli.directory / "gs")) as writer, writer.step() as step:
        step.put("x", 1.0)
    assert list(listing(cli, "gs")) == ["default", "default/main"]  # the only container is gone through
    (cli.directory / "empty").mkdir()
    cli.fails("ls", "empty", code=3, says="no pool")


def test_ls_r_and_tree_show_the_same(cli, kinds):
    names = list(listing(cli, "-r", "root/all"))
    assert {"default/main/U", "default/run/gs/V", "default/g/u", "default/tables/cells.bin", "z/v"} <= {
        *names
    }
    assert "default/gone" not in names

    def nested(node, above):
        for one in node["children"]:
            name = f"{above}/{one['name']}".lstrip("/")
            yield name
            yield from nested(one, name)

    assert list(nested(cli("tree", "root/all", "--json").json, "")) == names
    lines = cli("tree", "root/all").out.splitlines()
    assert "│   ├── main  stream, 3 steps" in lines
    assert "│   │   └── rare  variable, int32, 3, 1 step, 12 B" in lines
    assert len(lines) == len(names) + 1
    assert len(cli("tree", "root/all", "-L", 1).out.splitlines()) == 3


@pytest.mark.parametrize("form", ["root/all", "stepstore://root/all", "local:all", "stepstore://local:all"])
def test_every_form_of_a_location_opens_the_same(cli, kinds, form):
    assert listing(cli, f"{form}/default").keys() == listing(cli, "root/all/default").keys()
    assert cli("cat", f"{form}/default/readme.txt").raw == b"hello\n"
    assert "3 whole" in cli("pool", "check", form).out or cli("steps", form).out


def test_stat_and_cat_of_all_kinds(cli, kinds):
    box = "root/all/default"
    assert cli("stat", f"{box}/T", "--json").json["attributes"] == {"units": "K"}
    assert cli("stat", f"{box}/main/U", "--json").json["attributes"] == {"units": "m/s"}
    assert cli("stat", f"{box}/g/u", "--json").json["attributes"] == {"k": "group"}
    assert "UTC" in cli("stat", f"{box}/readme.txt").out
    assert cli("cat", f"{box}/tables/cells.bin", "--offset", 45).raw == b"x" * 5
    assert np.array_equal(np.frombuffer(cli("cat", f"{box}/T").raw), np.arange(12.0))
    assert np.array_equal(np.frombuffer(cli("cat", f"{box}/main/U").raw), np.full(20, 2.0))
    cli.fails("cat", f"{box}/g", code=2, says="zarr group")
    cli.fails("cat", f"{box}/main", code=2, says="stepstore steps")
    cli.fails("ls", f"{box}/none", code=3, says=("none", "stepstore ls"))


def test_du_counts_what_each_holds(cli, kinds):
    found = {one["name"]: one["bytes"] for one in cli("du", "root/all/default", "--json").json["entries"]}
    assert (found["T"], found["readme.txt"], found["tables"]) == (96, 6, 50)
    assert found["main"] > found["run/gs"] > 0
    sizes = [one["bytes"] for one in cli("du", "root/all", "--json").json["entries"]]
    assert sizes[0] == sum(found.values())
    assert cli("du", "-s", "root/all/default/tables").out.split()[:2] == ["50", "B"]


def test_a_snapshot_is_listed_as_it_was(cli, kinds):
    cli("snapshot", "create", "root/all/default", "--name", "before")
    open_blobs(str(kinds), "default").write("later.txt", b"x")
    then = listing(cli, "root/all/default", "--snapshot", "before")
    assert {"main", "T", "g"} <= then.keys() and "later.txt" not in then


def test_damage_in_one_entry_does_not_end_the_listing(cli, kinds):
    blobs = open_blobs(str(kinds), "default")
    blobs.write("broken/zarr.json", b"{")
    blobs.write("deep/zarr.json", b"[" * 100_000)
    blobs.write("shapeless/zarr.json", zarr_metadata(node_type="array", shape=["1", -2]))
    with stepstore.Pool.connect(kinds) as pool, pool.open_container("default") as box:
        from stepstore.kinds import STREAMS_HI

        with box.key_value(box.object_id(0, STREAMS_HI)) as streams:
            record = bytearray(streams["run/gs"])
            record[-1] ^= 1
            streams["run/gs"] = bytes(record)
    result = cli("ls", "root/all/default", "--json", code=4)
    found = {one["name"]: one for one in result.json}
    assert {name for name, one in found.items() if "error" in one} == {
        "broken",
        "deep",
        "shapeless",
        "run/gs",
    }
    assert found["main"]["steps"] == 3
    assert "run/gs" in result.err and "DER_CSUM" in result.err
    assert "DER_CSUM" in cli("ls", "root/all/default", code=4).out
    assert "DER_CSUM" in cli("tree", "root/all", code=4).out
    cli("du", "root/all/default", "-s", code=4)


def test_names_of_an_enemy_command_no_terminal(cli, kinds):
    blobs = open_blobs(str(kinds), "default")
    blobs.write(f"{CLIPBOARD}/x", b"x")
    evil = {"node_type": "array", "shape": [1], "data_type": CLIPBOARD, "attributes": {CLIPBOARD: CLIPBOARD}}
    blobs.write("evil/zarr.json", zarr_metadata(**evil))
    for arguments in (("ls", "-r"), ("tree",), ("du",)):
        result = cli(*arguments, "root/all/default")
        assert "\x1b" not in result.out + result.err
        assert "\\x1b]52" in result.out or arguments == ("du",)
    assert "\x1b" not in cli("stat", "root/all/default/evil").out


def test_ten_thousand_blobs_are_listed_quickly(cli, kinds):
    blobs = open_blobs(str(kinds), "many")
    for number in range(10_000):
        blobs.write(f"f{number}", b"")
    begin = time.monotonic()
    assert len(cli("ls", "root/all/many").out.splitlines()) == 10_001
    assert time.monotonic() - begin < 10  # 1 s on a machine with nothing else to do


def test_of_very_many_streams_only_names_are_told_without_l(cli, kinds, monkeypatch):
    with stepstore.open_arrays(f"{kinds}/many", write=True) as arrays:
        for number in range(510):
            arrays.write(f"a{number}", [1.0])
    short = cli("ls", "root/all/many")
    assert "10 entries only the names" in short.err and short.out.count("float64") == 500
    long = cli("ls", "-l", "root/all/many")
    assert long.err == "" and long.out.count("float64") == 510


# ---- openers
def test_a_wrong_opener_names_the_right_one(kinds):
    box = f"{kinds}/default"
    for place, words in (
        (f"{box}/g", "xr.open_zarr('stepstore://"),
        (f"{box}/g/u", "zarr.open_array('stepstore://"),
        (f"{box}/T", "stepstore.open_arrays("),
        (f"{box}/readme.txt", "fsspec.open('stepstore://"),
        (f"{kinds}/z", "xr.open_zarr("),
    ):
        with pytest.raises(Error) as failed:
            stepstore.open_steps(place)
        assert words in str(failed.value)
    with stepstore.open_arrays(box) as arrays:
        for name, words in (("main", "open_steps("), ("g", "xr.open_zarr(")):
            for call in (arrays.read, arrays.info, arrays.blocks):
                with pytest.raises(Error) as failed:
                    call(name)
                assert words in str(failed.value) and failed.value.name == "DER_NONEXIST"


def test_openers_of_fsspec_and_zarr_name_the_right_one(kinds, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("stepstore")
    for name, words in (("main", "open_steps("), ("T", "open_arrays(")):
        with pytest.raises(FileNotFoundError) as missing:
            files.open(f"{kinds}/default/{name}")
        assert words in str(missing.value)
    zarr = pytest.importorskip("zarr")
    from stepstore.zarr import Store

    with stepstore.Writer(str(tmp_path / "gs")) as writer, writer.step() as step:
        step.put("x", 1.0)
    for place in (f"{kinds}/default/main", tmp_path / "gs", tmp_path / "gs" / "default"):
        with pytest.raises(FileNotFoundError) as missing:
            zarr.open_group(Store(place), mode="r")
        assert "open_steps(" in str(missing.value)
        with pytest.raises(Error) as failed:
            zarr.open_group(f"stepstore://{place}", mode="r")
        assert "open_steps(" in str(failed.value)
    zarr.open_group(f"stepstore://{kinds}/default/new", mode="w")  # beside a stream, under its own name


def test_xarray_opens_what_is_there_without_an_engine(kinds, tmp_path, monkeypatch):
    xr = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    from stepstore.zarr import Store

    monkeypatch.setenv("STEPSTORE_ROOT", str(kinds.parent))
    written = xr.Dataset({"a": (("x", "y"), [[1, 2], [3, 4]])}, attrs={"title": "x"})
    written.to_zarr(Store(f"{kinds}/ds/group"), mode="w", consolidated=False)
    for place in (str(kinds), "local:all"):
        assert xr.open_dataset(place).sizes["step"] == 3
        assert xr.open_dataset(f"{place}/default/T").T.shape == (3, 4)
        assert xr.open_dataset(f"{place}/ds/group").identical(written)
    assert xr.open_dataset(f"stepstore://{kinds}/ds/group", engine="stepstore").identical(written)
    assert xr.open_zarr(f"stepstore://{kinds}/ds/group", consolidated=False).identical(written)
    with pytest.raises(Error, match="takes no steps"):
        xr.open_dataset(f"{kinds}/ds/group", engine="stepstore", steps=0)


def test_a_location_where_nothing_is_has_no_openers(kinds, tmp_path):
    assert openers_at(f"{kinds}/default/none") == []
    assert openers_at(str(tmp_path / "none")) == []
    assert openers_at("nonsense://x") == []


def test_a_stream_is_opened_once_for_its_facts_and_its_variables(tmp_path, monkeypatch):
    from stepstore.view import data, look

    stepstore.Pool.create(tmp_path / "p", targets=2)
    with stepstore.Writer(f"{tmp_path}/p/box/gs") as writer, writer.step() as step:
        step["U"] = np.arange(3)
    opened = []
    monkeypatch.setattr(
        data, "open_steps", lambda *given, **more: opened.append(open_steps(*given, **more)) or opened[-1]
    )
    (stream,) = look(f"{tmp_path}/p", "box").children()
    with stream.held():
        assert stream.facts()["steps"] == 1 and [one.name for one in stream.children()] == ["U"]
        assert len(opened) == 1
    with pytest.raises(Error):
        len(opened[0])  # closed
    assert stream.facts()["steps"] == 1 and len(opened) == 2
