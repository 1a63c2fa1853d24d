"""stepstore pool and cont."""

import os
import resource
import subprocess
import sys

import pytest
import stepstore
from streams import flip
from test_errors import rewrite_format


def test_create_makes_the_directory_and_describes_it(cli):
    made = cli(
        "pool", "create", "./a/b", "--targets", 3, "--durability", "power", "--label", "mine", "--json"
    ).json
    assert made["label"] == "mine"
    assert made["durability"] == "power"
    assert len(made["targets"]) == 3
    assert (cli.directory / "a" / "b").is_dir()


def test_create_says_what_it_made(cli):
    assert cli("pool", "create", "./p").out.startswith("made pool p in ")


def test_create_twice_fails_and_keeps_the_first(cli, pool):
    cli.fails("pool", "create", "./p", code=1, says=("p", "DER_EXIST"))
    assert cli("cont", "list", "./p", "--json").json[0]["label"] == "box"


def test_create_refuses_bad_options(cli):
    cli("pool", "create", "./p", "--targets", 0, code=2)
    cli("pool", "create", "./p", "--targets", 257, code=2)
    cli.fails("pool", "create", "./p", "--durability", "maybe", code=2, says=("maybe", "process", "power"))
    assert not (cli.directory / "p").exists()


@pytest.mark.parametrize("location", ["rados://", "rados:///", "stepstore://rados://"])
def test_a_scheme_alone_names_no_pool(cli, location):
    before = sorted(cli.directory.iterdir())
    cli.fails("pool", "create", location, code=1, says="names no pool")
    assert sorted(cli.directory.iterdir()) == before


def test_a_label_is_below_the_root_directory_and_always_local(cli):
    cli("pool", "create", "local:mine")
    assert (cli.directory / "root" / "mine").is_dir()
    found = cli("pool", "list", "--json").json
    assert [p["label"] for p in found] == ["mine"]
    assert cli("pool", "query", "local:mine", "--json").json["label"] == "mine"
    cli("cont", "create", "local:mine/box")
    for command in (("pool", "query"), ("pool", "check"), ("cont", "list"), ("ls",), ("steps",)):
        cli.fails(*command, "mine", code=3, says="local:mine")


def test_a_bare_name_is_the_same_place_for_all(cli):
    """What makes a pool, and what finds it: the command line, Python, streams."""
    cli("pool", "create", "local:name")
    cli("pool", "create", "name", "--targets", 4)
    path = str(cli.directory / "name")
    assert cli("pool", "query", "name", "--json").json["path"] == path
    cli("cont", "create", "name/box")
    cli("copy", "name", "copied")
    assert (cli.directory / "copied").is_dir()
    looks = "import os, stepstore; os.chdir({!r}); print(stepstore.Pool.connect('name').containers())"
    shown = subprocess.run(
        [sys.executable, "-c", looks.format(str(cli.directory))],
        env=cli.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "['box']\n"
    cli("pool", "destroy", "name", "--yes")
    assert not (cli.directory / "name").exists()
    assert [p["label"] for p in cli("pool", "list", "--json").json] == ["name"]


def test_list_a_directory(cli):
    for name in ("x", "y"):
        cli("pool", "create", f"./many/{name}")
    found = cli("pool", "list", "./many", "--json").json
    assert sorted(p["label"] for p in found) == ["x", "y"]
    assert {"path", "label", "uuid", "durability", "containers"} <= found[0].keys()
    table = cli("pool", "list", "./many").out.splitlines()
    assert table[0].split() == ["LABEL", "DURABILITY", "CONTAINERS", "PATH"]
    assert len(table) == 3


def test_query_counts_what_targets_did(cli, pool):
    info = cli("pool", "query", "./p", "--json").json
    assert len(info["targets"]) == 8
    assert sum(t["updates"] for t in info["targets"]) >= 5
    assert info["space_total"] >= info["space_free"] > 0
    shown = cli("pool", "query", "./p").out
    assert info["uuid"] in shown
    assert "UPDATES" in shown


def test_check_of_a_whole_pool(cli, pool):
    report = cli("pool", "check", "./p", "--json").json
    assert report["summary"]["damaged"] is False
    assert not [f for f in report["findings"] if f["severity"] == "damage"]
    assert report["summary"]["containers"] == 1
    assert report["summary"]["objects"] == 2
    assert "no damage" in cli("pool", "check", "./p").out


def test_check_finds_a_flipped_bit_and_exits_with_4(cli, pool):
    marker = b"this value will be damaged by a bad disk"
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        with box.key_value(7) as values:
            values["hurt"] = marker
            values["fine"] = b"untouched"
    flip(pool, marker)
    report = cli("pool", "check", "./p", "--json", code=4).json
    assert report["summary"]["damaged"] is True
    damage = [f for f in report["findings"] if f["severity"] == "damage"]
    assert damage
    assert any("hurt" in f["where"] + f["what"] for f in damage)
    assert all(f["advice"] for f in damage)
    assert "damage found" in cli("pool", "check", "./p", code=4).out


def test_check_without_data_does_not_read_bulk_values(cli, pool):
    marker = bytes(range(256)) * 1024
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        with box.create_array(9) as array:
            array.write(0, marker)
    flip(pool, marker[:4096])
    cli("pool", "check", "./p", "--no-data")
    cli("pool", "check", "./p", code=4)


def test_check_repair_gives_back_what_nothing_refers_to(cli, pool):
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        with box.create_array(9) as array:
            array.write(0, b"x" * (1 << 20))
    report = cli("pool", "check", "./p", "--repair", "--json").json
    assert report["summary"]["damaged"] is False
    with stepstore.Pool.connect(pool) as opened, opened.open_container("box") as box:
        assert box.open_array(9).read() == b"x" * (1 << 20)


def test_compact_gives_space_back_while_the_pool_is_in_use(cli, pool):
    with (
        stepstore.Pool.connect(pool) as opened,
        opened.open_container("box") as box,
        box.key_value(7) as values,
    ):
        for number in range(4000):
            values[f"key{number}"] = bytes([number % 256]) * 3000
        for number in range(100, 4000):
            del values[f"key{number}"]
        before = cli("pool", "query", "./p", "--json").json["targets"]
        report = cli("pool", "compact", "./p", "--json").json
        assert report["given_back_bytes"] > 3_000_000
        assert [t["target"] for t in report["targets"]] == [*range(8), "meta"]
        after = cli("pool", "query", "./p", "--json").json["targets"]
        assert sum(t["index_bytes"] for t in after) < sum(t["index_bytes"] for t in before) / 3
        assert all(values[f"key{number}"] == bytes([number % 256]) * 3000 for number in range(100))
        values["more"] = b"goes on"
        assert "freed" in cli("pool", "compact", "./p").out
    assert "no damage" in cli("pool", "check", "./p").out


def test_compact_leaves_a_damaged_index_alone(cli, pool):
    index = pool / "target-003" / "data.mdb"
    with index.open("r+b") as opened:
        for page in range(2, index.stat().st_size // 4096):  # the two pages before are the roots
            opened.seek(page * 4096 + 10)
            opened.write(b"\xff\xff")
    found = cli("pool", "compact", "./p", code=4)
    assert "damaged" in found.err


def test_destroy_asks_and_removes(cli, pool):
    cli.fails("pool", "destroy", "./p", code=2, says="--yes")
    assert pool.exists()
    cli("pool", "destroy", "./p", "--yes")
    cli.fails("pool", "query", "./p", code=3, says="p")


def test_destroy_leaves_what_is_not_the_pools(cli, pool):
    (pool / "notes.txt").write_text("mine")
    cli("pool", "destroy", "./p", "-f")
    assert (pool / "notes.txt").read_text() == "mine"


def test_containers_are_made_listed_and_removed(cli, pool):
    assert cli("cont", "create", "./p/second", "--json").json["label"] == "second"
    cli.fails("cont", "create", "./p/second", code=1, says=("second", "DER_EXIST"))
    assert [c["label"] for c in cli("cont", "list", "./p", "--json").json] == ["box", "second"]
    assert cli("ls", "./p").out.splitlines()[1].split()[:2] == ["container", "box"]
    cli.fails("cont", "destroy", "./p/second", code=2, says="--yes")
    cli("cont", "destroy", "./p/second", "-y")
    assert [c["label"] for c in cli("cont", "list", "./p", "--json").json] == ["box"]
    cli.fails("cont", "destroy", "./p/second", "-y", code=3, says="second")


MOUNT = """
import ctypes, os, sys
dfs = ctypes.CDLL(sys.argv[1])
dfs.dfs_last_message.restype = ctypes.c_char_p
mounted = ctypes.c_void_p()
assert dfs.dfs_init() == 0
assert dfs.dfs_connect(b"./p", None, sys.argv[2].encode(), os.O_RDWR, None, ctypes.byref(mounted)) == 0, (
    dfs.dfs_last_message())
assert dfs.dfs_mkdir(mounted, None, b"directory", 0o755, 0) == 0
assert dfs.dfs_disconnect(mounted) == 0
"""


def test_a_container_for_files_is_mounted_by_libdfs(cli, pool):
    assert cli("cont", "create", "./p/files", "--type", "posix").out == "made file system files in ./p\n"
    cli.fails("cont", "create", "./p/files", "--type", "posix", code=1, says="DER_EXIST")
    cli.fails("cont", "create", "./q/files", "--type", "posix", code=3, says="there is no pool")
    cli.fails("cont", "create", "./p/other", "--type", "hdf5", code=2, says="objects or posix")
    cli("pool", "create", "--on", "files", "./f")
    cli.fails("cont", "create", "./f/files", "--type", "posix", code=1, says="DER_NOTSUPPORTED")
    library = cli("daos-root").out.strip() + "/lib64/libdfs.so"

    def mount(name):
        command = [sys.executable, "-c", MOUNT, library, name]
        return subprocess.run(command, cwd=cli.directory, capture_output=True, text=True)

    assert (done := mount("files")).returncode == 0, done.stderr
    assert "POSIX" in mount("box").stderr


def test_cont_query_tells_what_is_in_it(cli, pool):
    info = cli("cont", "query", "./p/box", "--json").json
    assert (info["objects"], info["key_values"], info["arrays"], info["snapshots"]) == (2, 1, 1, 0)
    assert info["uuid"] in cli("cont", "query", "./p/box").out


def test_a_container_of_a_pool_that_is_not_there(cli):
    cli.fails("cont", "create", "./nothing/box", code=3, says="nothing")
    assert not (cli.directory / "nothing").exists()


def test_targets_in_other_directories(cli):
    disks = [cli.directory / name for name in ("disk0", "disk1")]
    for disk in disks:
        disk.mkdir()
    options = [word for disk in disks for word in ("--target-dir", disk)]
    made = cli("pool", "create", "./p", "--targets", 3, *options, "--json").json
    assert len(made["targets"]) == 3
    assert not list((cli.directory / "p").glob("target-*"))
    assert sorted(path.name for disk in disks for path in disk.glob("p-*/target-*")) == [
        "target-000",
        "target-001",
        "target-002",
    ]
    cli("cont", "create", "./p/box")
    with stepstore.Pool.connect(cli.directory / "p") as pool, pool.open_container("box") as box:
        for n in range(50):
            box.key_value(1)[f"key{n}"] = b"x" * 100_000
    assert cli("pool", "check", "./p", "--json").json["summary"]["damaged"] is False
    cli("pool", "destroy", "./p", "--yes")
    assert not (cli.directory / "p").exists()
    assert not any(path for disk in disks for path in disk.iterdir())


def test_a_pool_that_names_directories_of_another_destroys_nothing_there(cli):
    disk = cli.directory / "disk"
    disk.mkdir()
    cli("pool", "create", "./theirs", "--targets", 2, "--target-dir", disk)
    cli("cont", "create", "./theirs/box")
    cli("pool", "create", "./mine", "--targets", 2)
    (cli.directory / "mine" / "stepstore.pool").write_bytes(
        (cli.directory / "theirs" / "stepstore.pool").read_bytes()
    )
    cli.fails("pool", "destroy", "./mine", "--yes", code=1, says=("DER_NO_PERM", "disk"))
    assert (cli.directory / "mine" / "stepstore.pool").exists(), "nothing was begun"
    assert cli("cont", "list", "./theirs", "--json").json[0]["label"] == "box"


def test_labels_that_lead_elsewhere_are_refused(cli, pool):
    for label in ("../../x", "..", ".", "a/b"):
        cli.fails("pool", "create", "./other", "--label", label, code=1, says="DER_INVAL")
        assert not (cli.directory / "other").exists()
    for name in (".", ".."):
        with stepstore.Pool.connect(pool) as connected, pytest.raises(stepstore.Error):
            connected.create_container(name)


@pytest.mark.skipif(
    "san" in os.environ.get("LD_PRELOAD", ""),
    reason="a sanitizer opens files of its own while it looks at objects",
)
def test_a_check_that_may_open_few_files_says_so_and_finds_no_damage(cli):
    cli("pool", "create", "./p", "--targets", 64)
    with stepstore.Pool.connect(cli.directory / "p") as pool, pool.create_container("box") as box:
        for n in range(200):
            box.key_value(1)[f"key{n}"] = b"x" * 1000
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, usual[1]))  # which the command inherits
    try:
        error = cli.fails("pool", "check", "./p", code=1, says=("ulimit -n", "target"), anew=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    assert "damage" not in error
    assert cli("pool", "check", "./p", "--json").json["summary"]["damaged"] is False


def test_a_newer_format_is_no_damage(cli, pool):
    rewrite_format(pool, lambda text: text.replace("version 4\n", "version 99\n"))
    error = cli.fails("pool", "check", "./p", code=1, says=("DER_DF_INCOMPT", "99", "newer"))
    assert "damage" not in str(error)


def test_what_a_killed_destroy_left_is_no_pool_and_goes(cli, pool):
    (pool / "stepstore.pool").rename(pool / "stepstore.pool.unfinished")
    cli.fails("cont", "list", "./p", code=3, says="DER_NONEXIST")
    assert "removed" in cli("pool", "destroy", "./p", "--yes").out
    assert not pool.exists()
    cli.fails("pool", "destroy", "./p", "--yes", code=3, says=("DER_NONEXIST", "./p"))
