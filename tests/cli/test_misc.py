"""version, plugin-path, bench, help and usage."""

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest
import stepstore


def test_version(cli):
    assert cli("version").out.strip() == f"stepstore {stepstore.__version__}"
    assert cli("version", "--json").json["version"] == stepstore.__version__


@pytest.mark.skipif(os.environ.get("STEPSTORE_TEST_PLUGIN") == "0", reason="built without the ADIOS2 plugin")
def test_plugin_path_holds_the_plugin(cli):
    folder = Path(cli("plugin-path").out.strip())
    assert (folder / "libstepstore_adios2.so").is_file()


@pytest.mark.skipif(os.environ.get("STEPSTORE_TEST_FDB5") == "0", reason="built without the FDB5 plugin")
def test_fdb5_env_names_the_folders_of_manifest_and_library(cli):
    folders = dict(line.removeprefix("export ").split("=") for line in cli("fdb5-env").out.splitlines())
    assert (Path(folders["PLUGINS_MANIFEST_PATH"]) / "stepstore-fdb5.yml").is_file()
    assert (Path(folders["DYNAMIC_LIBRARY_PATH"]) / "libstepstore_fdb5.so").is_file()
    if importlib.util.find_spec("fdb5lib"):
        found = subprocess.run(["sh", "-c", cli("fdb5-env").out + "command -v fdb-list"], capture_output=True, text=True, check=True)
        assert found.stdout.strip().endswith("fdb-list")


COMMANDS = [
    ("pool", "create"), ("pool", "list"), ("pool", "query"), ("pool", "check"), ("pool", "destroy"),
    ("cont", "create"), ("cont", "list"), ("cont", "query"), ("cont", "destroy"),
    ("snapshot", "create"), ("snapshot", "list"), ("snapshot", "destroy"),
    ("ls",), ("stat",), ("cat",), ("steps",), ("bench",), ("demo",), ("demo", "fields"), ("plugin-path",), ("fdb5-env",), ("version",),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_every_command(cli, command):
    assert "Usage: stepstore" in cli(*command, "--help").out


def test_help_and_the_document_tell_the_exit_codes(cli):
    shown = " ".join(cli("--help").out.split())
    assert "3 not found" in shown and "4 damage" in shown


def test_wrong_usage_exits_with_2(cli):
    cli("nonsense", code=2)
    cli("ls", code=2)
    cli("ls", "./p", "--no-such-option", code=2)
    cli("pool", "create", "./p", "--targets", "many", code=2)


def test_bench_names_what_there_is(cli):
    cli.fails("bench", "nonsense", code=2, says=("nonsense", "store"))
    assert "store" in cli("bench", code=2).out


@pytest.mark.skipif(os.environ.get("STEPSTORE_TEST_BENCH") == "0", reason="built without the benchmark programs")
def test_bench_store_passes_options_on(cli):
    assert "--json" in cli("bench", "store", "--help").out
    cli("bench", "store", "--no-such-option", code=2)
