"""stepstore ls, stat and cat."""

import subprocess
import sys

import pytest
import stepstore
from conftest import object_names
from rich.console import Console
from stepstore.paths import daos_root


@pytest.fixture
def names(cli, pool):
    return object_names(cli, "./p/box")


def test_ls_shows_the_objects(cli, pool, names):
    assert names.keys() == {"key_value", "array"}
    shown = cli("ls", "./p/box").out
    assert names["array"] in shown and names["key_value"] in shown
    long = cli("ls", "-l", "./p/box").out
    assert "20 cells" in long and "4 keys" in long


def test_ls_shows_keys_escaped(cli, pool, names):
    found = cli("ls", f"./p/box/{names['key_value']}", "--json").json
    assert {(k["key"], k["size"]) for k in found} == {
        ("plain", 5),
        ("a/b", 5),
        ("%01%ff%25", 6),
        ("empty", 0),
    }
    assert "%01%ff%25" in cli("ls", f"./p/box/{names['key_value']}").out


def test_ls_of_one_key(cli, pool, names):
    location = f"./p/box/{names['key_value']}"
    assert [k["key"] for k in cli("ls", f"{location}/plain", "--json").json] == ["plain"]
    cli.fails("ls", f"{location}/absent", code=3, says="absent")


def test_cat_of_keys(cli, pool, names):
    location = f"./p/box/{names['key_value']}"
    assert cli("cat", f"{location}/plain").raw == b"hello"
    assert cli("cat", f"{location}/a/b").raw == b"slash"
    assert cli("cat", f"{location}/%01%FF%25").raw == b"binary"
    assert cli("cat", f"{location}/empty").raw == b""
    assert cli("cat", f"{location}/plain", "--offset", 1, "--size", 3).raw == b"ell"
    cli.fails("cat", f"{location}/absent", code=3, says=("absent", "no key"))
    cli.fails("cat", location, code=2, says="key")


def test_cat_of_an_array_gives_holes_as_zeros(cli, pool, names):
    location = f"./p/box/{names['array']}"
    assert cli("cat", location).raw == b"\0" * 40 + bytes(range(40))
    assert cli("cat", location, "--offset", 41, "--size", 3).raw == bytes([1, 2, 3])
    assert cli("cat", location, "--offset", 1000).raw == b""
    cli.fails("cat", f"{location}/key", code=2, says="keys")


def test_cat_of_a_large_array_in_pieces(cli, pool):
    data = bytes(range(251)) * 150_000  # more than two copies' worth, not a multiple of anything
    with (
        stepstore.Pool.connect(pool) as opened,
        opened.create_container("large") as box,
        box.create_array(1) as array,
    ):
        array.write(0, data)
    name = object_names(cli, "./p/large")["array"]
    assert cli("cat", f"./p/large/{name}").raw == data
    assert (
        cli("cat", f"./p/large/{name}", "--offset", 17_000_001, "--size", 9).raw
        == data[17_000_001:17_000_010]
    )


def test_cat_of_an_array_that_does_not_keep_its_sizes(cli, pool):
    with stepstore.Pool.connect(pool) as opened, opened.create_container("bare") as box:
        with box.open_array(box.object_id(5, kind="array_bytes"), chunk_size=64) as array:
            array.write(0, bytes(range(200)))
    name = object_names(cli, "./p/bare")["array"]
    cli.fails("cat", f"./p/bare/{name}", code=2, says="--chunk-size")
    assert cli("cat", f"./p/bare/{name}", "--chunk-size", 64).raw == bytes(range(200))


def test_stat_of_everything(cli, pool, names):
    assert cli("stat", "./p", "--json").json["type"] == "pool"
    assert cli("stat", "./p/box", "--json").json["objects"] == 2
    array = cli("stat", f"./p/box/{names['array']}", "--json").json
    assert (array["size"], array["cell_size"], array["chunk_size"]) == (20, 4, 1024)
    assert cli("stat", f"./p/box/{names['key_value']}", "--json").json["keys"] == 4
    key = cli("stat", f"./p/box/{names['key_value']}/%01%ff%25", "--json").json
    assert (key["type"], key["key"], key["size"]) == ("key", "%01%ff%25", 6)
    cli.fails("stat", f"./p/box/{names['key_value']}/absent", code=3, says="absent")
    assert "cell size" in cli("stat", f"./p/box/{names['array']}").out


def test_ls_of_many_objects_costs_little_for_each(cli, pool):
    """Counted in calls of Python functions, as time is the machine's: laying out each cell by itself takes
    800 a row."""

    def calls(count: int) -> int:
        with stepstore.Pool.connect(pool) as opened, opened.create_container(f"many{count}") as box:
            for number in range(count):
                box.key_value(number + 1)["k"] = b"x"
        program = (
            "import cProfile, pstats, sys\n"
            "from stepstore.cli import main\n"
            "profile = cProfile.Profile()\n"
            "sys.argv[1:] = ['ls', '-l', sys.argv[1]]\n"
            "profile.enable()\n"
            "try:\n"
            "    main()\n"
            "finally:\n"
            "    profile.disable()\n"
            "    print('CALLS', pstats.Stats(profile).total_calls)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, f"./p/many{count}"],
            cwd=cli.directory,
            env=cli.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = done.stdout.splitlines()
        assert len([line for line in lines if line.startswith("key_value")]) == count, (
            done.stdout[-500:] + done.stderr
        )
        return int(lines[-1].removeprefix("CALLS "))

    assert calls(2100) - calls(100) < 2000 * 100


def test_one_object_is_looked_up_not_searched_for(cli, pool):
    """Beside 300 others each command makes as many requests as beside none."""
    with stepstore.Pool.connect(pool) as opened, opened.create_container("crowd") as box:
        for number in range(300):
            with box.create_array(number) as array:
                array.write(0, b"value")
                last = str(array.id)

    def fetches() -> int:
        return sum(target["fetches"] for target in cli("stat", "./p", "--json").json["targets"])

    for command in ("ls", "stat", "cat"):
        before = fetches()
        cli(command, f"./p/crowd/{last}")
        assert fetches() - before < 100, command


def test_a_name_with_line_breaks_stays_in_its_row(capsys):
    from stepstore import console

    kept = console.Settings.out
    console.Settings.out = Console(highlight=False, width=80)
    try:
        console.show(console.table(["NAME", ("SIZE", "right")], [("two\nlines\a", 7)]))
    finally:
        console.Settings.out = kept
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["NAME", "SIZE"], ["two\\nlines\\x07", "7"]]


def test_an_object_id_as_messages_print_it(cli, pool, names):
    hi, lo = (int(part) for part in names["key_value"].split("."))
    with stepstore.Pool.connect(pool, read_only=True) as opened, opened.open_container("box") as box:
        with pytest.raises(stepstore.Error, match=rf"object {hi}\.{lo} of container 'box'"):
            box.key_value(stepstore.ObjectId(hi, lo)).put("plain", b"other")
    assert cli("cat", f"./p/box/{names['key_value']}/plain").raw == b"hello"


def test_objects_that_are_not_there(cli, pool):
    cli.fails("ls", "./p/box/1.99", code=3, says="1.99")
    cli.fails("cat", "./p/box/1.99/k", code=3, says="1.99")
    cli.fails("stat", "./p/box/1.99", code=3, says="1.99")
    cli.fails("ls", f"./p/box/{1 << 64}.0", code=2, says="2^64")


def test_ls_into_a_closed_pipe_is_quiet(cli, pool):
    done = subprocess.run(
        f"{sys.executable} -m stepstore ls ./p --json | true",
        shell=True,
        cwd=cli.directory,
        env=cli.environment,
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""


def test_a_chunk_that_is_too_large_and_all_object_ids_are_refused(cli, pool):
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        for cell_size, chunk_size in ((8, 2**63 - 1), (1, 2**64 - 1), (2**32, 2**31 + 1)):
            with pytest.raises(stepstore.Error, match=r"beyond 2\^63 bytes") as caught:
                box.create_array(9, cell_size=cell_size, chunk_size=chunk_size)
            assert caught.value.name == "DER_OVERFLOW"
        with pytest.raises(stepstore.Error, match=r"2\^48") as caught:
            box.allocate_oids(2**64 - 1)
        assert caught.value.name == "DER_OVERFLOW"
        first = box.allocate_oids(1)
        assert box.allocate_oids(1) > first
    assert len(cli("ls", "p/box", "--json").json) == 2
    cli("pool", "check", "p")


def test_a_container_of_a_daos_system_is_made_without_an_error(cli, pool):
    """Our own library stands for a DAOS system's: it connects to the pool by its label."""
    library = daos_root() / "lib64" / "libdaos.so.2"
    cli("pool", "create", "local:made")
    result = cli("cont", "create", "daos://made/box", STEPSTORE_LIBDAOS=str(library))
    assert result.out.strip() == "made container box in daos://made" and result.err == ""
    assert cli("cont", "create", "daos://made/other", "--json", STEPSTORE_LIBDAOS=str(library)).json == {
        "label": "other"
    }
    assert [c["label"] for c in cli("cont", "list", "local:made", "--json").json] == ["box", "other"]
