"""version, plugin-path, pkg-config-path, bench, help and usage."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import stepstore
from stepstore.console import ExitCode


def test_version(cli):
    for words in (["version"], ["--version"], ["-V"], ["--version", "ls"]):
        assert cli(*words).out.strip() == f"stepstore {stepstore.__version__}"
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
        found = subprocess.run(
            ["sh", "-c", cli("fdb5-env").out + "command -v fdb-list"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.strip().endswith("fdb-list")


PROGRAM = """
#include <daos.h>
int main(int argc, char** argv)
{
    daos_handle_t pool;
    return argc != 2 || daos_init() || daos_pool_connect(argv[1], NULL, DAOS_PC_RO, &pool, NULL, NULL) ||
           daos_pool_disconnect(pool, NULL) || daos_fini();
}
"""


def builds_and_runs(cli, pool, *flags):
    (cli.directory / "program.c").write_text(PROGRAM)
    program = cli.directory / "program"
    subprocess.run(["cc", "program.c", "-o", program, *flags], cwd=cli.directory, check=True)
    subprocess.run([program, pool], check=True)
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert "libdaos.so.2 => " in needed and "libstepstore_daos.so => " in needed


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.parametrize("installed", [False, True], ids=["build tree", "wheel"])
def test_daos_root_is_what_programs_for_daos_are_built_with(cli, pool, installed):
    package = Path(sysconfig.get_path("platlib")) / "stepstore"
    if installed and not package.is_dir():
        pytest.skip("no wheel is installed")
    root = Path(cli("daos-root", **({"PYTHONPATH": ""} if installed else {})).out.strip())
    assert root.is_relative_to(package) == (installed or Path(stepstore.__file__).is_relative_to(package))
    libraries = root / "lib64"
    builds_and_runs(
        cli,
        pool,
        f"-I{root}/include",
        f"-L{libraries}",
        f"-Wl,-rpath,{libraries}",
        "-ldaos",
        "-ldaos_common",
        "-lgurt",
    )
    if shutil.which("pkg-config"):
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "daos"],
            env={**os.environ, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")},
            capture_output=True,
            text=True,
            check=True,
        )
        builds_and_runs(cli, pool, *flags.stdout.split())


ARRAYS_PROGRAM = """
#include <stdio.h>
#include <stepstore/arrays.h>
int main(int argc, char** argv)
{
    const int64_t shape[1] = {2};
    double data[2] = {0};
    stepstore_arrays store = 0;
    int status = stepstore_arrays_open(argv[argc - 1], STEPSTORE_READ, NULL, NULL, &store);
    if (!status)
        status = stepstore_read_array(store, "x", STEPSTORE_REAL64, 1, shape, NULL, NULL, data, NULL, NULL);
    if (status) puts(stepstore_arrays_message());
    return status || data[0] != 1 || data[1] != 2;
}
"""


@pytest.mark.skipif(
    not shutil.which("cc") or not shutil.which("pkg-config"), reason="needs cc and pkg-config"
)
def test_pkg_config_path_is_what_c_and_fortran_programs_are_built_with(cli):
    folder = cli("pkg-config-path").out.strip()

    def ask(*words):
        environment = os.environ | {"PKG_CONFIG_PATH": folder}
        asked = subprocess.run(
            ["pkg-config", *words], env=environment, capture_output=True, text=True, check=True
        )
        return asked.stdout.split()

    (cli.directory / "program.c").write_text(ARRAYS_PROGRAM)
    program = cli.directory / "arrays_program"
    flags = ask("--cflags", "--libs", "stepstore-c")
    subprocess.run(["cc", "program.c", "-o", program, *flags], cwd=cli.directory, check=True)
    location = cli.directory / "written/by_python"
    with stepstore.open_arrays(str(location), write=True) as arrays:
        arrays.write("x", np.array([1.0, 2.0]))
    subprocess.run([program, location], check=True)
    sources = [Path(source) for source in ask("--variable=sources", "stepstore-fortran")]
    assert len(sources) == 3 and all(source.is_file() for source in sources)


def test_a_command_imports_what_it_needs_and_no_more(cli):
    program = """
import sys, stepstore.cli
sys.argv = ["stepstore", "pool", "list", "."]
try:
    stepstore.cli.main()
except SystemExit as end:
    too_many = {"numpy", "stepstore.cli.copy", "stepstore.steps"} & set(sys.modules)
    print(end.code, *too_many)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        cwd=cli.directory,
        env=cli.environment,
        capture_output=True,
        text=True,
    )
    assert (done.stdout.splitlines()[-1:], done.stderr) == (["0"], "")


def test_help_and_the_document_tell_the_exit_codes(cli):
    shown = cli("--help").out
    document = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    for code in ExitCode:
        assert re.search(rf"^│ {code} +[A-Z]", shown, re.MULTILINE)
        assert re.search(rf"^\| {code} \| ", document, re.MULTILINE)


def test_wrong_usage_exits_with_2(cli):
    cli("nonsense", code=2)
    cli("ls", code=2)
    cli("ls", "./p", "--no-such-option", code=2)
    cli("pool", "create", "./p", "--targets", "many", code=2)


def test_bench_names_what_there_is(cli):
    cli.fails("bench", "nonsense", code=2, says=("nonsense", "store"))
    assert "store" in cli("bench", code=2).out


@pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_BENCH") == "0", reason="built without the benchmark programs"
)
def test_bench_store_passes_options_on(cli):
    assert "--json" in cli("bench", "store", "--help").out
    cli("bench", "store", "--no-such-option", code=2)
