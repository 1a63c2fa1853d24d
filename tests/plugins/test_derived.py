"""Derived variables and buffers of devices, with an ADIOS2 that has them: what programs write with BP5 and
with the native engine reads back the same.

STEPSTORE_TEST_ADIOS2_FEATURES is the prefix of such an ADIOS2: scripts/adios2-mpi.sh --features builds one.
Without it the test is skipped.

Arguments: the folder of the plugin, that of the package, that of the programs.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
REFUSED = """
import adios2, ctypes, os, sys
plugin = ctypes.CDLL(os.path.join(os.environ["ADIOS2_PLUGIN_PATH"], "libstepstore_adios2.so"))
assert plugin.stepstore_adios2_register() == 0
import numpy as np
io = adios2.Adios().declare_io("io")
io.set_engine("Stepstore")
engine = io.open(sys.argv[1], adios2.bindings.Mode.Read)
engine.begin_step()
assert "sum" in io.available_variables()
try:
    engine.get(io.inquire_variable("sum"), np.zeros(20), adios2.bindings.Mode.Sync)
except Exception as error:
    print(error)
engine.end_step()
engine.close()
"""


def run(program: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, f"{program}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "destroyed without" not in done.stderr, done.stderr
    return done.stdout


def build(source: Path, prefix: Path, into: Path) -> str:
    program = into / source.stem
    libraries = prefix if (prefix / "libadios2_core.so").exists() else prefix / "lib"  # of a wheel, or not
    # Exported functions of the program stand in for ADIOS2's.
    words = [os.environ.get("CXX", "c++"), "-std=c++17", "-w", "-rdynamic", str(source), "-o", str(program)]
    words += [f"-I{prefix}/include", f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
    run([*words, "-ladios2_cxx", "-ladios2_core"], dict(os.environ))
    return str(program)


def driver(programs: Path, into: Path) -> Path:
    library = into / "libcuda.so.1"
    words = [os.environ.get("CXX", "c++"), "-std=c++17", "-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
    run([*words, str(programs / "device_driver.cc"), "-o", str(library)], dict(os.environ))
    return library


def main() -> int:
    plugin_path, package, programs = (Path(argument) for argument in sys.argv[1:])
    prefix = Path(os.environ.get("STEPSTORE_TEST_ADIOS2_FEATURES") or "/nonexistent")
    config = prefix / "include/adios2/common/ADIOSConfig.h"
    if not config.exists():
        print("skipped: STEPSTORE_TEST_ADIOS2_FEATURES names no ADIOS2 (scripts/adios2-mpi.sh --features)")
        return SKIPPED
    features = config.read_text()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        environment = os.environ | {
            "ADIOS2_PLUGIN_PATH": str(plugin_path),
            "STEPSTORE_ADIOS2_ADAPTERS": str(work / "adapters"),
        }
        if "#define ADIOS2_HAVE_GPU_SUPPORT\n" in features:  # no engine for it yet
            program = build(programs / "device_program.cc", prefix, work)
            (work / "without").mkdir()
            words = [program, "Plugin", str(work / "without")]
            done = subprocess.run(
                words, env=environment, capture_output=True, text=True, check=False, timeout=100
            )
            assert done.returncode == 1, done
            assert "'found' was given a buffer in the memory of a device" in done.stderr, done.stderr
            assert f"stepstore adios2-build --adios2 {prefix}" in done.stderr, done.stderr
        words = [sys.executable, "-m", "stepstore", "adios2-build", "--adios2", str(prefix)]
        if source := os.environ.get("STEPSTORE_TEST_ADIOS2_SOURCE"):
            words += ["--source", source]
        run(words, environment | {"PYTHONPATH": str(package)})
        preload = environment | {"LD_PRELOAD": str(plugin_path / "libstepstore_adios2_preload.so")}
        for name, feature in (("derived", "DERIVED_VARIABLE"), ("device", "GPU_SUPPORT")):
            if f"#define ADIOS2_HAVE_{feature}\n" not in features:
                print(f"{name}: skipped, this ADIOS2 has no {feature}")
                continue
            program = build(programs / f"{name}_program.cc", prefix, work)
            said = {}
            if name == "device":
                preload["LD_PRELOAD"] += f":{driver(programs, work)}"
                preload["STEPSTORE_TEST_DRIVER"] = "none"
            for engine in ("BP5", "Stepstore", "Plugin"):
                (work / name / engine).mkdir(parents=True)
                said[engine] = run([program, engine, str(work / name / engine)], preload)
            assert said["BP5"] and len(set(said.values())) == 1, said
            print(f"{name}: the same with {', '.join(said)}")
            if name == "device":
                for one in ("cuda", "hip", "keeps"):
                    (work / name / one).mkdir()
                    words = [program, "Stepstore", str(work / name / one)]
                    locked = run(words, preload | {"STEPSTORE_TEST_DRIVER": one})
                    assert locked == said["BP5"], (one, locked, said)
                print("device: the same with page-locked memory")
        # An ADIOS2 without them shows the variable, and says why it cannot be read.
        if (work / "derived").exists():
            stream = str(work / "derived" / "Stepstore" / "statistics")
            refused = run([sys.executable, "-c", REFUSED, stream], environment)
            assert "derives it from other variables" in refused, refused
            assert "an ADIOS2 that has derived variables" in refused, refused
    return 0


if __name__ == "__main__":
    sys.exit(main())
