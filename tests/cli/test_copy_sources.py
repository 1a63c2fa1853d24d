"""stepstore copy from BP files through ADIOS2, and from an FDB; datasets of fields between pools."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import stepstore
from copies import everything, healthy
from stepstore.copying import bp
from stepstore.copying.task import Options, Place, Report
from stepstore.demos import fields, weather
from stepstore.fdb5 import load_fdb
from stepstore.steps import open_steps

HAVE_PLUGIN = os.environ.get("STEPSTORE_TEST_PLUGIN") != "0"
HAVE_FDB = os.environ.get("STEPSTORE_TEST_FDB5") == "1" and all(
    map(importlib.util.find_spec, ("pyfdb", "fdb5lib", "eccodes"))
)
needs_adios2 = pytest.mark.skipif(not HAVE_PLUGIN, reason="built without the ADIOS2 plugin")
needs_fdb = pytest.mark.skipif(not HAVE_FDB, reason="needs the FDB5 plugin and pyfdb")


def write_kinds(cli, program, engine, name, *arguments):
    """What write_kinds.py writes, with another engine: a BP file, and next to it a stream of ours."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
import write_kinds, adios2
def opened(location, **parameters):
    io = adios2.Adios().declare_io("out")
    io.set_engine({engine!r})
    return io, lambda: io.open(location, adios2.bindings.Mode.Write)
if {engine!r} != "Stepstore":
    write_kinds.opened = opened
write_kinds.{program}({name!r}, *{arguments!r})
"""
    subprocess.run([sys.executable, "-c", code], cwd=cli.directory, env=cli.environment, check=True)


# ---- BP files
@needs_adios2
@pytest.mark.parametrize("engine", ["BP4", "BP5"])
@pytest.mark.parametrize("program", ["kinds", "meshes"])
def test_a_bp_file_becomes_the_stream_that_its_program_would_have_written(cli, engine, program):
    write_kinds(cli, program, engine, "a.bp")
    write_kinds(cli, program, "Stepstore", "./s")
    told = cli("copy", "a.bp", "./q", "--json").json
    assert (
        told["verified"] and told["bytes"] == told["compared_bytes"] > 0 and told["target"] == "./q/default/a"
    )
    assert cli("ls", "q/default", "--json").json[0]["name"] == "a"
    copied, expected = everything(f"{cli.directory}/q/default/a"), everything(f"{cli.directory}/s")
    # ADIOS2 shows a local value as an array.
    expected = [("each", "float64", "global array", (1,)) if one[0] == "each" else one for one in expected]
    assert len(copied) == len(expected)
    for one, other in zip(copied, expected, strict=True):
        assert one == other
    again = cli("copy", "a.bp", "q", "--json").json
    assert (again["written"], again["bytes"], again["streams"]) == (False, 0, 0)
    assert again["compared_bytes"] > 0
    assert "complete already" in cli("copy", "a.bp", "q").out
    cli.fails("copy", "a.bp", "q", "--no-verify", code=1, says=("there is such a stream", "DER_EXIST"))
    healthy(cli, "q")
    with stepstore.Writer(f"{cli.directory}/q/default/a", append=True) as writer, writer.step() as step:
        step["more"] = 1
    cli.fails("copy", "a.bp", "q", code=1, says=("there is such a stream", "DER_EXIST"))


@needs_adios2
def test_a_copy_of_a_bp_file_that_was_killed_goes_on_behind_its_last_step(cli):
    write_kinds(cli, "large", "BP5", "a.bp", 40, 512)
    process = subprocess.Popen(
        [sys.executable, "-m", "stepstore", "copy", "a.bp", "./q"], cwd=cli.directory, env=cli.environment
    )
    at_work = str(cli.directory / "q/default/a (copy at work)")

    def steps():
        try:
            with open_steps(at_work) as stream:
                return len(stream)
        except stepstore.Error:
            return 0

    end = time.monotonic() + 60
    while process.poll() is None and steps() < 2 and time.monotonic() < end:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    killed = process.wait() == -signal.SIGKILL
    there = steps()
    if killed:
        with pytest.raises(stepstore.Error, match="no stream"):
            open_steps(str(cli.directory / "q/default/a"))
        assert "unfinished copy" in cli("ls", "q/default").err
        told = cli("copy", "a.bp", "q", "--json").json
        assert told["resumed"] and told["bytes"] == (40 - there) * 512 * 512 * 8
    with open_steps(str(cli.directory / "q/default/a")) as stream:
        assert len(stream) == 40 and stream.ended
        for step in (0, 1, there, 39):
            assert np.array_equal(stream.read("T", step)[::128, 0], 10.0 * step + np.arange(4))
    assert [one["name"] for one in cli("ls", "q/default", "--json").json if one["type"] == "stream"] == ["a"]
    healthy(cli, "q")


@needs_adios2
def test_verification_of_a_bp_file_finds_a_changed_value(cli, monkeypatch):
    write_kinds(cli, "large", "BP5", "a.bp", 3, 64)
    write_kinds(cli, "large", "BP5", "b.bp", 3, 64)
    call = bp._call

    def with_another_source(library, name, file, *rest, **more):
        if name.endswith("compare_file"):
            file = changed
        return call(library, name, file, *rest, **more)

    data = bytearray((cli.directory / "b.bp" / "data.0").read_bytes())
    at = data.rindex(np.float64(23.0).tobytes())  # of the last block of the last step
    data[at] ^= 1
    (cli.directory / "b.bp" / "data.0").write_bytes(data)
    changed = str(cli.directory / "b.bp").encode()
    monkeypatch.setattr(bp, "_call", with_another_source)
    target = Place(str(cli.directory / "q"), "default", "a")
    with pytest.raises(stepstore.Error, match="in step 2 it has other bytes in block 3 of T") as caught:
        bp.copy(cli.directory / "a.bp", target, Options(), Report())
    assert caught.value.name == "DER_CSUM"
    with pytest.raises(stepstore.Error):
        open_steps(str(target))


@needs_adios2
def test_a_missing_or_broken_bp_file_is_told(cli):
    cli.fails("copy", "none.bp", "q", code=3, says=("none.bp", "there is no such file"))
    (cli.directory / "bad.bp").mkdir()
    (cli.directory / "bad.bp" / "md.idx").write_bytes(b"nonsense")
    assert "error: " in cli("copy", "bad.bp", "./q", code=1).err
    with pytest.raises(stepstore.Error):
        open_steps(str(cli.directory / "q/default/bad"))


# ---- fields
def archive(cli, config, steps=(0,)):
    """Fields whose bytes are not all alike, through an FDB, in a process of its own."""
    code = """
import pathlib, sys
from stepstore.demos import weather
from stepstore.fdb5 import load_fdb
fdb = load_fdb()(pathlib.Path(sys.argv[1]))
for step in map(int, sys.argv[2:]):
    for message in dict(weather.messages(step)).values():
        fdb.archive(message)
    fdb.flush()
"""
    subprocess.run(
        [sys.executable, "-c", code, config, *map(str, steps)],
        cwd=cli.directory,
        env=cli.environment,
        check=True,
    )


@pytest.fixture
def toc(cli):
    """An FDB toc of 96 fields: its configuration."""
    folder = cli.directory / "toc"
    (folder / "root").mkdir(parents=True)
    (folder / "schema").write_text(fields.SCHEMA)
    config = folder / "config.yaml"
    config.write_text(
        f"type: local\nengine: toc\nschema: {folder}/schema\nspaces:\n- handler: Default\n  roots:\n"
        f"  - path: {folder}/root\n"
    )
    archive(cli, config)
    return config


def our_config(cli, pool):
    folder = cli.directory / f"for-{Path(pool).name}"
    folder.mkdir(exist_ok=True)
    (folder / "schema").write_text(fields.SCHEMA)
    (folder / "config.yaml").write_text(
        f"type: stepstore\nschema: {folder}/schema\nengine: stepstore\nstore: stepstore\n"
        f"stepstore:\n  pool: {pool}\n"
    )
    return folder / "config.yaml"


def messages(config):
    fdb = load_fdb()(config)
    found = {}
    for one in fdb.list(weather.DATASET):
        with one.data_handle as handle:
            found[tuple(sorted(one.combined_key().items()))] = handle.read(one.length())
    return found


@needs_fdb
def test_an_fdb_toc_is_copied_message_by_message(cli, toc):
    told = cli("copy", f"fdb:{toc}", "./q", "--json").json
    expected = messages(toc)
    assert told["objects"] == len(expected) == 96 and told["compared_bytes"] == told["bytes"]
    assert messages(our_config(cli, cli.directory / "q")) == expected
    assert "stepstore-copying" not in cli("ls", "q").out
    again = cli("copy", f"fdb:{toc}", "./q", "--json").json
    assert (again["written"], again["bytes"]) == (False, 0) and again["compared_bytes"] == told["bytes"]
    assert "complete already" in cli("copy", f"fdb:{toc}", "./q", "--request", "levelist=500").out
    refused = ("it has 96 of them already", "DER_EXIST")
    cli.fails("copy", f"fdb:{toc}", "./q", "--no-verify", code=1, says=refused)
    archive(cli, toc, steps=(12,))  # the source has more now
    cli.fails("copy", f"fdb:{toc}", "./q", code=1, says=refused)
    assert "stepstore-copying" not in cli("ls", "q").out
    request = ("--request", "levelist=500,param=129", "--json")
    assert cli("copy", f"fdb:{toc}", "./r", *request).json["objects"] == 16
    assert cli("copy", f"fdb:{toc}", "./n", "--dry-run", "--json").json["objects"] == 192
    assert not (cli.directory / "n").exists()
    cli.fails("copy", "fdb:nothing.yaml", "q", code=3, says="there is no file nothing.yaml")
    cli.fails("copy", f"fdb:{toc}", "./r", "--request", "levelist", code=1, says="KEY=VALUE")


@needs_fdb
def test_a_copy_of_an_fdb_that_was_interrupted_leaves_out_what_is_there(cli, toc):
    code = """
import os, sys
from stepstore.copying import fdb
from stepstore.cli import main
fdb._FIELDS_PER_FLUSH = 10
copied = fdb.Report.copied
def dies(self, count):
    copied(self, count)
    if self.objects == 35:
        os.kill(os.getpid(), 9)
fdb.Report.copied = dies
sys.argv[1:] = ["copy", sys.argv[1], "./q"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, f"fdb:{toc}"], cwd=cli.directory, env=cli.environment, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert "stepstore-copying" in cli("ls", "q").out
    told = cli("copy", f"fdb:{toc}", "./q", "--json").json
    assert told["resumed"] and told["objects"] == 96 - 30
    assert messages(our_config(cli, cli.directory / "q")) == messages(toc)


@needs_fdb
def test_a_dataset_is_copied_with_catalogue_and_store(cli):
    config = our_config(cli, cli.directory / "p")
    archive(cli, config, steps=(0, 12))
    expected = messages(config)
    label = next(
        one["label"] for one in cli("cont", "list", "p", "--json").json if one["label"].startswith("fields-")
    )
    cli("copy", f"p/{label}", "./q")
    copied = our_config(cli, cli.directory / "q")
    assert messages(copied) == expected and len(expected) == 192
    assert "complete already" in cli("copy", f"p/{label}", "./q").out
    assert "complete already" in cli("copy", "p", "./q").out
    archive(cli, copied, steps=(24,))
    assert len(messages(copied)) == 288 and messages(config) == expected
    cli.fails("copy", f"p/{label}", "./q", code=1, says=("the container has objects", "DER_EXIST"))
    cli("copy", "p", "./all")
    assert messages(our_config(cli, cli.directory / "all")) == expected
    cli("cont", "create", "q/box")
    cli.fails("copy", f"p/{label}", "q/fields-77.x", code=1, says=("has this dataset already", "DER_EXIST"))
    healthy(cli, "all")
