"""The FDB plugin, seen from the pool: what FDB's tools make it read."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stepstore.demos import fields

HAVE_FDB = os.environ.get("STEPSTORE_TEST_FDB5") == "1" and all(
    map(importlib.util.find_spec, ("pyfdb", "fdb5lib"))
)
pytestmark = pytest.mark.skipif(not HAVE_FDB, reason="needs the FDB5 plugin and pyfdb")

DATASET = "class=rd,expver=list,stream=enfo,date=20260101,time=0000"
WRITE = f"""
import pathlib, pyfdb
fdb = pyfdb.FDB(pathlib.Path("archive/config.yaml"))
common = dict(pair.split("=") for pair in "{DATASET},domain=g,type=pf,levtype=pl".split(","))
for step in range(10):
    for level in range(1, 101):
        for number in range(1, 6):
            element = {{"step": str(step), "number": str(number), "levelist": str(level), "param": "130"}}
            fdb.archive(b"field", {{**common, **element}})
    fdb.flush()
"""


@pytest.fixture
def shell(cli):
    """Runs a command with FDB's tools in the path, on an archive with ten flushes of 500 fields."""
    fields.set_up(cli.directory / "archive", lambda line: None)

    def run(*command):
        script = cli("fdb5-env").out + 'FDB_CONFIG_FILE=archive/config.yaml exec "$@"'
        done = subprocess.run(
            ["sh", "-c", script, "sh", *command],
            cwd=cli.directory,
            env=cli.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-c", WRITE)
    return run


def test_a_list_of_one_step_does_not_read_the_pages_of_the_others(cli, shell):
    def listed(request):
        before = read()
        found = shell("fdb-list", "--porcelain", request).count("{step=")
        return found, read() - before

    def read():
        return sum(
            target["bytes_read"] for target in cli("pool", "query", "archive/pool", "--json").json["targets"]
        )

    whole, whole_bytes = listed(DATASET)
    part, part_bytes = listed(f"{DATASET},step=7,number=2")
    absent, absent_bytes = listed(f"{DATASET},step=7,number=2,param=131")
    assert (whole, part, absent) == (5000, 100, 0)
    assert 0 < absent_bytes <= part_bytes < whole_bytes / 2
    # Spelled in another way, as FDB allows: what the plugin leaves out must be what FDB does not want.
    assert listed(f"{DATASET},step=7/to/8/by/1,levelist=1/to/100/by/1,number=2,param=t")[0] == 200
    assert listed(f"{DATASET},type=pf,step=09,number=5,levtype=pl,levelist=7")[0] == 1


def programs_of_the_wheels():
    """Every program that the wheels around FDB's bring."""
    programs = []
    for wheel in ("eccodeslib", "metkitlib", "eckitlib"):
        found = importlib.util.find_spec(wheel)
        if found:
            folder = Path(found.origin).parent / "bin"
            programs += sorted(
                path for path in folder.iterdir() if path.is_file() and os.access(path, os.X_OK)
            )
    return programs


@pytest.mark.parametrize("program", programs_of_the_wheels(), ids=lambda path: path.name)
def test_other_programs_with_eckit_do_in_this_environment_what_they_do_without(cli, program):
    folders = dict(line.removeprefix("export ").split("=", 1) for line in cli("fdb5-env").out.splitlines())
    folders.pop("PATH", None)
    import eccodes

    field = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
    answers = []
    for name, environment in (("without", {}), ("with", folders)):
        directory = cli.directory / name
        directory.mkdir()
        (directory / "fields.grib").write_bytes(eccodes.codes_get_message(field))
        answers.append(
            [
                (
                    done.returncode,
                    done.stdout,
                    [line for line in done.stderr.splitlines() if b"ERROR" in line],
                )
                for arguments in ([], ["fields.grib"])
                for done in [
                    subprocess.run(
                        [program, *arguments],
                        cwd=directory,
                        env={**cli.environment, **environment},
                        stdin=subprocess.DEVNULL,
                        capture_output=True,
                        timeout=120,
                        check=False,
                    )
                ]
            ]
        )
    assert answers[1] == answers[0]


def test_there_are_programs_to_try():
    assert len(programs_of_the_wheels()) >= 31
