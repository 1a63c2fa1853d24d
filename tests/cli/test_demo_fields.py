"""stepstore demo fields: through a stock FDB and back, with the words of each failure."""

import dataclasses
import importlib.util
import os
import subprocess
import sys

import pytest
from stepstore.console import CommandError
from stepstore.demos import fields, weather

HAVE_FDB = os.environ.get("STEPSTORE_TEST_FDB5") == "1" and all(
    map(importlib.util.find_spec, ("pyfdb", "fdb5lib", "eccodes", "matplotlib"))
)
with_fdb = pytest.mark.skipif(not HAVE_FDB, reason="needs the FDB5 plugin, pyfdb, eccodes and matplotlib")

FIELDS = len(weather.STEPS) * len(weather.MEMBERS) * len(weather.LEVELS) * len(weather.PARAMETERS)
LISTED = "class=rd,expver=demo,step=48,number=1"


def tool(cli, name, *arguments):
    """What one of FDB's tools says in a shell that is set up as the demo's last lines tell."""
    script = f"{cli('fdb5-env').out}FDB_CONFIG_FILE=fdb-demo/config.yaml {name} {' '.join(arguments)}"
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=cli.directory,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@with_fdb
def test_it_archives_retrieves_and_plots(cli):
    found = cli("demo", "fields", "--json").json
    assert found["fields"] == FIELDS and found["identical"] is True
    assert all(seconds > 0 for seconds in found["seconds"].values())
    assert (cli.directory / "fdb-demo" / "ensemble.png").read_bytes().startswith(b"\x89PNG")
    # The fields are in a pool, and nowhere else; FDB's own tools find them there.
    assert {path.name for path in (cli.directory / "fdb-demo").iterdir()} == {
        "config.yaml",
        "schema",
        "pool",
        "ensemble.png",
    }
    cli("pool", "check", "fdb-demo/pool")
    assert tool(cli, "fdb-list", "--porcelain", LISTED).count("number=1") == len(weather.LEVELS) * len(
        weather.PARAMETERS
    )


@with_fdb
def test_it_runs_again_on_what_it_left_and_finds_what_is_strange(cli):
    said = cli("demo", "fields").out
    assert said.count("bit for bit") == 1 and "earlier demo" not in said
    assert "earlier demo" in cli("demo", "fields").out
    assert tool(cli, "fdb-list", "--porcelain", "class=rd,expver=demo").count("number=") == FIELDS
    # A field that the demo never archived is not passed over.
    message = next(message for key, message in weather.messages(12))
    (cli.directory / "strange.grib").write_bytes(message)
    tool(cli, "fdb-write", "--modifiers=step=13", "strange.grib")
    cli.fails("demo", "fields", "--json", code=1, says=(str(FIELDS + 1), str(FIELDS)))


@with_fdb
def test_it_leaves_other_peoples_folders_alone(cli):
    (cli.directory / "mine").mkdir()
    (cli.directory / "mine" / "thesis").write_text("words")
    cli.fails("demo", "fields", "--directory", "mine", code=1, says=("mine", "other files"))
    assert [path.name for path in (cli.directory / "mine").iterdir()] == ["thesis"]
    cli.fails("demo", "fields", "-d", "a#b", code=1, says="a#b")


@pytest.mark.parametrize("name", ["pyfdb", "eccodes"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(cli, name):
    program = (
        f"import sys; sys.modules[{name!r}] = None; sys.argv = ['stepstore', 'demo', 'fields']\n"
        "from stepstore.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cli.directory,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3 and done.stdout == ""
    assert (
        done.stderr.startswith("error: ")
        and f"{sys.executable} -m pip install" in done.stderr
        and name in done.stderr.split("install")[1]
    )
    assert not list(cli.directory.iterdir())


def test_a_changed_a_missing_and_a_strange_message_are_found():
    key = weather.FieldKey(step=0, member=1, level=500, parameter=130)
    other = dataclasses.replace(key, member=2)
    archived = {key: b"GRIB one", other: b"GRIB two"}
    fields.compare(archived, dict(archived))
    for retrieved, says in [
        ({**archived, other: b"GRIB twp"}, "not what was archived.*member=2"),
        ({key: archived[key]}, "not retrieved.*member=2"),
        ({**archived, dataclasses.replace(key, member=3): b"GRIB"}, "never archived.*member=3"),
    ]:
        with pytest.raises(CommandError, match=says):
            fields.compare(archived, retrieved)


def test_the_weather_is_smooth_and_members_part_with_time():
    def height(step, member):
        return (
            next(
                values
                for key, values in weather.fields(step, member)
                if (key.level, key.parameter) == (500, weather.PARAMETERS["z"])
            )
            / 9.80665
        )

    for step in weather.STEPS:
        values = height(step, 1)
        assert 4700 < values.min() and values.max() < 6100
        assert (
            abs(values - values[:, [-1, *range(values.shape[1] - 1)]]).max() < 80
        )  # metres between neighbours, round the globe
    apart = [abs(height(step, 1) - height(step, 2)).max() for step in (0, weather.STEPS[-1])]
    assert apart[1] > 2 * apart[0]
