"""The engine built for other releases of ADIOS2 by `stepstore adios2-build`. With each of them a stream is
written and read, natively and as a plugin. Without an engine for its release, a program gets one sentence
with the command.

The packages come from PyPI, once, into the user's cache.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

RELEASES = ("2.11.0.1014", "2.12.0.1003")
KNOWS = """
import ctypes, os, sys
import adios2
plugin = ctypes.CDLL(os.path.join(os.environ["ADIOS2_PLUGIN_PATH"], "libstepstore_adios2.so"))
plugin.stepstore_adios2_last_error.restype = ctypes.c_char_p
assert adios2.__version__ == os.environ["RELEASE"], adios2.__version__
"""
VAIN = (
    KNOWS
    + """
assert plugin.stepstore_adios2_register() != 0
print(plugin.stepstore_adios2_last_error().decode())
"""
)
WRITE_AND_READ = (
    KNOWS
    + """
import numpy as np
assert plugin.stepstore_adios2_register() == 0, plugin.stepstore_adios2_last_error().decode()
door, location = sys.argv[1:]
native = door == "Stepstore"
adios = adios2.Adios()

def io(name):
    made = adios.declare_io(name)
    made.set_engine(door)
    if not native:
        made.set_parameters(
            {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2", "Location": location}
        )
    return made

values = np.arange(24.0).reshape(4, 6)
writing = io("writing")
array = writing.define_variable("array", values, [4, 6], [0, 0], [4, 6])
number = writing.define_variable("number", np.array(0, dtype="i4"))
writing.define_attribute("unit", "m/s")
engine = writing.open(location, adios2.bindings.Mode.Write)
for step in range(3):
    engine.begin_step()
    engine.put(array, values + step)
    engine.put(number, np.array(step, dtype="i4"))
    engine.end_step()
engine.close()

reading = io("reading")
engine = reading.open(location, adios2.bindings.Mode.Read)
step = 0
while engine.begin_step() == adios2.bindings.StepStatus.OK:
    array = reading.inquire_variable("array")
    assert array.shape() == [4, 6]
    array.set_selection([[1, 2], [2, 3]])
    part = np.zeros((2, 3))
    engine.get(array, part, adios2.bindings.Mode.Sync)
    assert (part == (values + step)[1:3, 2:5]).all(), part
    array.set_block_selection(0)
    block = np.zeros((4, 6))
    engine.get(array, block)
    engine.perform_gets()
    assert (block == values + step).all(), block
    assert reading.inquire_attribute("unit").data_string() == "m/s"
    if native:
        assert engine.current_step() == step
        blocks = engine.blocks_info("array", step)
        assert [(b["Min"], b["Max"]) for b in blocks] == [(str(step), str(23 + step))], blocks
    engine.end_step()
    step += 1
engine.close()
assert step == 3, step
if native:
    with adios2.Stream(io("at random"), location, "rra") as stream:
        assert stream.num_steps() == 3
        both = stream.read("array", step_selection=[1, 2])
        assert (both.reshape(2, 4, 6) == np.stack([values + 1, values + 2])).all()
        assert stream.available_variables()["number"]["Max"] == "2"
print("as written")
"""
)


def package(release: str) -> Path:
    """The folder of the package, which Python finds by PYTHONPATH."""
    cache = os.environ.get("STEPSTORE_CACHE") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "stepstore"
    )
    folder = Path(cache) / f"adios2-{release}-cp{sys.version_info.major}{sys.version_info.minor}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*words, f"adios2=={release}", "-d", work], check=True)
        (wheel,) = Path(work).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(Path(work, "package"))
        os.rename(Path(work, "package"), folder)
    return folder


def run(program: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, f"{program}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "destroyed without" not in done.stderr, done.stderr
    return done.stdout


def main() -> None:
    plugin_path, package_of_stepstore = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        adapters = Path(work, "adapters")
        adapters.mkdir()
        for release in RELEASES:
            folder = package(release)
            environment = os.environ | {
                "ADIOS2_PLUGIN_PATH": plugin_path,
                "STEPSTORE_ADIOS2_ADAPTERS": str(adapters),
                "RELEASE": release,
            }
            with_package = environment | {"PYTHONPATH": str(folder)}
            # Of a release beside the built one the plugin alone can be used, without ADIOS2's core.
            said = run([sys.executable, "-c", VAIN], with_package)
            assert f"stepstore adios2-build --adios2 {folder}/adios2" in said, said
            words = ["-m", "stepstore", "adios2-build", "--adios2", str(folder / "adios2")]
            said = run([sys.executable, *words], environment | {"PYTHONPATH": package_of_stepstore})
            number = release.rsplit(".", 1)[0]
            assert (adapters / f"libstepstore_adios2_engine-{number}.so").exists(), said
            for door in ("Stepstore", "Plugin"):
                location = f"{work}/pool-{release}-{door}/container/stream"
                program = [sys.executable, "-c", WRITE_AND_READ, door, location]
                assert run(program, with_package) == "as written\n"
                print(f"ADIOS2 {release}, engine {door}: as written")
            copies(package_of_stepstore, release, work)


def copies(package_of_stepstore: str, release: str, work: str) -> None:
    """BP files are copied with ADIOS2 2.12; with an older one a sentence says so."""
    file = f"{work}/{release}.bp"
    write = (
        f"import adios2; adios2.Adios().declare_io('a').open({file!r}, adios2.bindings.Mode.Write).close()"
    )
    environment = os.environ | {"PYTHONPATH": f"{package(release)}{os.pathsep}{package_of_stepstore}"}
    run([sys.executable, "-c", write], environment)
    words = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "stepstore",
        "copy",
        file,
        f"{work}/copied/container/stream",
    ]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=100)
    said = " ".join(done.stderr.split())
    if release < "2.12":
        assert done.returncode != 0 and "Copies of BP files need ADIOS2 2.12" in said, done
    else:
        assert done.returncode == 0, done
    print(f"ADIOS2 {release}: {said or 'copied'}")


if __name__ == "__main__":
    main()
