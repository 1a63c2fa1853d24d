"""stepstore copy: what is copied is what was there, also after it was interrupted at any moment."""

import os

import numpy as np
import pytest
import stepstore
from conftest import object_names
from copies import contents, everything, healthy
from stepstore.blobs import open_blobs
from stepstore.copying import pools, step_snapshots
from stepstore.copying.mark import unfinished
from stepstore.copying.objects import differs
from stepstore.copying.task import Options, Place, Report
from stepstore.copying.plan import STEPS_HI, type_of, user_half
from stepstore.lab.benchmarks.layout_points import all_layouts
from stepstore.steps import open_steps
from stepstore.store import Pool
from streams import write_stream


# ---- containers and pools
def test_a_container_is_copied_key_by_key_and_cell_by_cell(cli, pool):
    told = cli("copy", "p/box", "q", "--json").json
    assert contents(cli.directory / "q", "box") == contents(pool, "box")
    assert told["objects"] == 2 and told["verified"] and told["compared_bytes"] == told["bytes"] > 0
    assert cli("snapshot", "list", "p/box", "--json").json == []  # that of the copy is gone
    with Pool.connect(cli.directory / "q") as opened, opened.open_container("box") as box:
        assert not unfinished(box)
    healthy(cli, "q")


def test_a_pool_is_copied_with_all_that_it_has(cli, pool):
    write_stream(cli.directory)
    cli("copy", "s", "p/streams", code=2)
    cli("copy", "s/default", "p/streams")
    with stepstore.open_arrays(str(pool / "arrays"), write=True) as arrays:
        arrays.write("T", np.arange(24.0).reshape(4, 6))
        arrays.write("T", np.arange(30.0).reshape(5, 6))
    blobs = open_blobs(str(pool), "blobs")
    blobs.write("small", b"x")
    blobs.write("large", os.urandom(300_000))
    out = cli("copy", "p", "deep/er/q").out
    assert out.startswith("copied p to deep/er/q: ") and "compared with the source" in out
    copied = cli.directory / "deep/er/q"
    assert [one["label"] for one in cli("cont", "list", "deep/er/q", "--json").json] == [
        "arrays",
        "blobs",
        "box",
        "streams",
    ]
    assert contents(copied, "box") == contents(pool, "box")
    with stepstore.open_arrays(str(copied / "arrays")) as arrays:
        assert np.array_equal(arrays.read("T"), np.arange(30.0).reshape(5, 6))
    again = open_blobs(str(copied), "blobs")
    assert again.read("small") == b"x" and again.read("large") == blobs.read("large")
    assert everything(str(copied / "streams/main")) == everything(str(cli.directory / "s"))
    healthy(cli, "deep/er/q")


@pytest.mark.parametrize("targets", [1, 5, 16])
def test_the_target_may_have_another_number_of_targets(cli, pool, targets):
    with stepstore.open_arrays(str(pool / "arrays"), write=True) as arrays:
        arrays.write("T", np.arange(24.0))
    write_stream(cli.directory)
    open_blobs(str(pool), "blobs").write("large", bytes(range(256)) * 1000)
    cli("pool", "create", "./q", "--targets", targets)
    cli("copy", "p", "q")
    cli("copy", "s/default/main", "q/streams")
    with stepstore.open_arrays(str(cli.directory / "q/arrays"), write=True) as arrays:
        assert np.array_equal(arrays.read("T"), np.arange(24.0))
        arrays.write("T", np.arange(3.0))
    assert open_blobs(str(cli.directory / "q"), "blobs").read("large") == bytes(range(256)) * 1000
    assert contents(cli.directory / "q", "box") == contents(pool, "box")
    assert everything(f"{cli.directory}/q/streams/main") == everything(f"{cli.directory}/s/default/main")
    healthy(cli, "q")


def test_holes_and_the_end_of_an_array_stay(cli, pool):
    with Pool.connect(pool) as opened, opened.open_container("box") as box:
        with box.create_array(7, chunk_size=1 << 16) as array:
            array.write(5 << 20, b"\0" * 100_000 + b"end")
            array.resize(100 << 20)
    cli("copy", "p/box", "q")
    assert contents(cli.directory / "q", "box") == contents(pool, "box")
    used = sum(
        one["bulk_bytes"] + one["index_bytes"] for one in cli("pool", "query", "q", "--json").json["targets"]
    )
    assert used < 20 << 20  # not the 100 MiB of zeros


def test_a_dry_run_says_what_it_would_do_and_does_nothing(cli, pool):
    told = cli("copy", "p", "q", "--dry-run", "--json").json
    assert told["objects"] == 2 and told["bytes"] == 80 and told["dry_run"]
    assert not (cli.directory / "q").exists()
    assert cli("copy", "p/box", "q", "--dry-run").out.startswith("would copy p/box to q/box: 2 objects")
    cli("pool", "create", "./q")
    cli("copy", "p", "q", "--dry-run")
    assert cli("cont", "list", "q", "--json").json == []
    assert cli("snapshot", "list", "p/box", "--json").json == []


# ---- again
def test_a_copy_that_is_complete_says_so(cli, stream):
    with stepstore.open_arrays(f"{cli.directory}/s/fields", write=True) as arrays:
        arrays.write("T", [1.0, 2.0])
    pairs = [("s", "q"), ("s/default", "q/default"), ("s/default/main", "q/more/renamed")]
    for source, target in pairs:
        cli("copy", source, target)
    before = contents(cli.directory / "q", "default")
    for source, target in pairs:
        assert cli("copy", source, target).out == (
            f"complete already: {target} holds the same as {source}, compared bit for bit\n"
        )
        told = cli("copy", source, target, "--json").json
        assert (told["written"], told["bytes"]) == (False, 0) and told["compared_bytes"] > 0
        cli("copy", source, target, "--no-verify", code=1)
        cli("copy", source, target, "--dry-run", code=1)
    assert contents(cli.directory / "q", "default") == before
    assert cli("snapshot", "list", "s/default", "--json").json == []
    with stepstore.Pool.connect(cli.directory / "q") as opened, opened.open_container("default") as box:
        with box.key_value(5) as values:
            values["later"] = b"x"
    for source, target in pairs[:2]:
        cli.fails("copy", source, target, code=1, says="DER_EXIST")
    assert "complete already" in cli("copy", *pairs[2]).out


def test_a_copy_of_what_was_continued_is_not_complete(cli):
    import numpy as np

    place = f"{cli.directory}/s"
    with stepstore.Writer(place) as writer, writer.step() as step:
        step["x"] = np.zeros(3)
    cli("copy", "s/default/main", "q")
    with stepstore.Writer(place, append=True) as writer, writer.step() as step:
        step["x"] = np.zeros(3)
    cli.fails("copy", "s/default/main", "q", code=1, says=("there is such a stream", "DER_EXIST"))


@pytest.mark.parametrize("there", ["shared:./q", "./q"])
@pytest.mark.parametrize("layout", ["array-aligned", "posix"])
def test_a_copy_of_pools_in_files_is_complete_too(cli, there, layout):
    source = write_stream(cli.directory, "4", f"Layout={layout}")
    cli("pool", "create", "shared:./files")
    cli("pool", "create", there)
    cli("copy", "s/default/main", "shared:./files")
    cli("copy", "shared:./files/default/main", f"{there}/default/main")
    for one, other in (
        ("s/default/main", "shared:./files"),
        ("shared:./files/default/main", f"{there}/default/main"),
    ):
        assert "complete already" in cli("copy", one, other).out
    assert "complete already" in cli("copy", "shared:./files", there).out
    copied = there.replace("./", f"{cli.directory}/")
    assert everything(f"{copied}/default/main") == everything(f"{source}/default/main")
    cli("export", "shared:./files/default/main", "main.bp")
    assert "complete already" in cli("export", "shared:./files/default/main", "main.bp").out
    cli("import", "main.bp", f"{there}/imported/main")
    assert "complete already" in cli("import", "main.bp", f"{there}/imported/main").out


def test_one_byte_of_a_file_makes_a_copy_another(cli):
    write_stream(cli.directory, "4", "Layout=posix")
    cli("copy", "s/default/main", "q")
    file = cli.directory / "q/files/default/1/blocks.0"
    with file.open("r+b") as opened:
        opened.seek(file.stat().st_size - 1)
        last = opened.read(1)
        opened.seek(-1, os.SEEK_CUR)
        opened.write(bytes([last[0] ^ 1]))
    cli.fails("copy", "s/default/main", "q", code=1, says=("there is such a stream", "DER_EXIST"))
    assert file.exists()


@pytest.mark.parametrize("layout", ["array-aligned", "kv"])
def test_one_step_that_a_snapshot_keeps_makes_a_copy_another(cli, layout, monkeypatch):
    write_stream(cli.directory, "4", "Steps=snapshot", f"Layout={layout}")
    source, copy = (
        Place(f"{cli.directory}/s", "default", "main"),
        Place(f"{cli.directory}/q", "default", "main"),
    )
    pools.copy(source, copy, Options(), Report())
    compared, steps = step_snapshots._compare_as_it_was, []

    def finds(*of):
        steps.append(of[3])
        if of[3].startswith("step 2 "):
            raise differs("a step", "a key")
        compared(*of)

    monkeypatch.setattr(step_snapshots, "_compare_as_it_was", finds)
    with pytest.raises(stepstore.Error, match="there is such a stream"):
        pools.copy(source, copy, Options(), Report())
    assert {one.split()[1] for one in steps} == {"0", "1", "2"}


# ---- objects
def test_an_object_is_copied_by_its_id(cli, pool):
    name = object_names(cli, "p/box")["array"]
    cli("cont", "create", "p/other")
    cli("copy", f"p/box/{name}", "p/other")
    assert contents(pool, "other") == {name: contents(pool, "box")[name]}
    assert "complete already" in cli("copy", f"p/box/{name}", "p/other").out
    with stepstore.Pool.connect(pool) as opened, opened.open_container("other") as other:
        with other.open_array(stepstore.ObjectId(*map(int, name.split(".")))) as array:
            array.write(10, bytes(4))
    cli.fails("copy", f"p/box/{name}", "p/other", code=1, says=("there is such an object", "DER_EXIST"))
    cli.fails("copy", "p/box/5.6", "p/other", code=3, says="has no object 5.6")
    cli.fails("copy", f"p/box/{name}", "p/other/1.2", code=2, says="an object keeps its id")
    cli.fails("copy", f"p/box/{name}/key", "p/other", code=2, says="names a key")


def test_an_array_that_does_not_keep_its_sizes_needs_them(cli, pool):
    with Pool.connect(pool) as opened, opened.open_container("box") as box:
        oid = box.object_id(9, kind="array_bytes")
        with box.open_array(oid, cell_size=1, chunk_size=1000) as array:
            array.write(0, bytes(range(250)) * 10)
    cli.fails("copy", "p/box", "q", code=1, says=("does not keep its sizes", "--chunk-size"))
    assert not cli("cont", "list", "q", "--json").json  # nothing is left of the attempt
    assert cli("snapshot", "list", "p/box", "--json").json == []
    cli("copy", f"p/box/{oid}", "r/box", code=1)
    told = cli("copy", "p/box", "q", "--chunk-size", 1000, "--json").json
    assert told["resumed"] is False and told["objects"] == 3
    assert cli("cat", f"q/box/{oid}", "--chunk-size", 1000).raw == bytes(range(250)) * 10


# ---- streams
@pytest.mark.parametrize(
    "parameters",
    [f"Layout={layout.name}" for layout in all_layouts()]
    + ["Layout=kv,Objects=per-step", "Objects=per-writer", "Steps=snapshot", "Layout=kv,Steps=snapshot"]
    + ["Compression=zstd", "Compression=blosc2-lz4"],
)
def test_a_stream_is_copied_as_it_is_beside_others(cli, parameters):
    pairs = parameters.split(",")
    source = write_stream(cli.directory, "4", *pairs)
    expected = everything(f"{source}/default/main")
    write_stream(cli.directory, "2", "Location=./t")
    for name in ("one", "two"):
        told = cli("copy", "s/default/main", f"t/default/{name}", "--json").json
        assert told["streams"] == 1 and told["verified"]
        assert "complete already" in cli("copy", "s/default/main", f"t/default/{name}").out
        assert everything(f"{cli.directory}/t/default/{name}") == expected
    described = [
        open_steps(f"{where}").describe()
        for where in (f"{source}/default/main", f"{cli.directory}/t/default/one")
    ]
    for name in ("layout", "objects", "step_mode", "ranks", "chunk_size", "data_chunk_size"):
        assert described[0][name] == described[1][name]
    assert len(everything(f"{cli.directory}/t/default/main")) > 0
    healthy(cli, "t")
    # What is appended to the copy goes behind its steps.
    write_stream(cli.directory, "3", "Location=./t/default/one", "mode=append")
    with open_steps(f"{cli.directory}/t/default/one") as stream:
        assert len(stream) == 7
    assert everything(f"{cli.directory}/t/default/one")[: len(expected)] == expected
    cli.fails("copy", "s/default/main", "t/default/one", code=1, says="there is such a stream")
    cli("rm", "t/default/one", "--yes")
    assert everything(f"{source}/default/main") == expected
    healthy(cli, "t")


@pytest.mark.parametrize(
    "parameters", ["Layout=kv,Objects=per-step", "Objects=per-writer", "Steps=snapshot", "Layout=array"]
)
@pytest.mark.parametrize("targets", [2, 9])
def test_a_stream_gets_the_ids_of_a_pool_with_other_targets(cli, parameters, targets):
    cli("pool", "create", "./s", "--targets", 5)
    options = ["ObjectClass=SX", *parameters.split(",")]
    source = write_stream(cli.directory, "4", *options)
    write_stream(cli.directory, "2", "mode=append", *options)
    expected = everything(f"{source}/default/main")
    cli("pool", "create", "./t", "--targets", targets)
    copied = f"{cli.directory}/t/streams/main"
    cli("copy", "s/default/main", "t/streams")
    assert everything(copied) == expected

    def objects():
        with Pool.connect(cli.directory / "t") as pool, pool.open_container("streams") as box:
            return [
                (oid.hi, box.object_id(oid.lo, STEPS_HI, kind=type_of(oid), object_class="SX").hi)
                for oid in box._handle.objects()
                if user_half(oid) == STEPS_HI
            ]

    made = objects()
    assert len(made) > 4 and all(its == new for its, new in made)
    write_stream(cli.directory, "3", f"Location={copied}", "mode=append", *options)
    assert everything(copied)[: len(expected)] == expected
    healthy(cli, "t")
    cli("rm", "t/streams/main", "--yes")
    assert objects() == []
    healthy(cli, "t")


def test_a_stream_that_was_appended_to_is_copied_with_all_its_segments(cli):
    source = write_stream(cli.directory)
    write_stream(cli.directory, "2", "mode=append")
    write_stream(cli.directory, "1", "mode=append", "Compression=zstd")
    expected = everything(f"{source}/default/main")
    cli("pool", "create", "./t")
    cli("copy", "s/default/main", "t/other/name")
    assert everything(f"{cli.directory}/t/other/name") == expected
    cli("pool", "create", "./u")
    cli("copy", "t/other", "u/third")  # a copy of the copy, whose numbers are others
    assert everything(f"{cli.directory}/u/third/name") == expected
    healthy(cli, "u")
