"""The engine built for other releases of ADIOS2 by `stepstore adios2-build`. With each of them a stream is
written and read, natively and as a plugin. Without an engine for its release, a program gets one sentence
with the command; so it does with an engine of another C++ ABI, and with two releases in one process.

The packages come from PyPI, once, into the user's cache. The engines stay in the folder that is the last
argument, for the tests plugins.adios2_suite.RELEASE.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from adios2_release import package  # noqa: E402

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
# Two packages in one process, as of two libraries that each bring one.
TWO = """
import os, sys
import numpy as np

def package(folder):
    for name in [name for name in sys.modules if name.split(".")[0] == "adios2"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    import adios2
    sys.path.pop(0)
    return adios2

door, *folders = sys.argv[1:]
for adios2 in [package(folder) for folder in folders][::-1]:
    try:
        adios = adios2.Adios()
        if door == "operator":
            names = {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2_native"}
            adios.define_operator("stepstore", "plugin", names)
        io = adios.declare_io("x")
        if door == "Plugin":
            names = {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2", "Location": "x"}
            io.set_engine("Plugin")
            io.set_parameters(names)
        else:
            io.set_engine("Stepstore")
        number = io.define_variable("number", np.array(1.0))
        engine = io.open("x", adios2.bindings.Mode.Write)
        engine.begin_step()
        engine.put(number, np.array(1.0))
        engine.end_step()
        engine.close()
        print(adios2.__version__, "wrote")
    except Exception as error:
        print(adios2.__version__, error)
"""
# Stands for an ADIOS2 of another C++ ABI, whose strings and maps are others: it loads Stepstore's libraries.
OTHER_ABI = """
#include <cstddef>
#include <cstdio>
#include <dlfcn.h>
#include <exception>
#include <map>
#include <string>
using Map = std::map<std::string, std::string>;
template <class Call> void say(Call call)
{
    try {
        call();
        std::puts("it was served");
    } catch (const std::exception& error) {
        std::puts(error.what());
    }
    std::fflush(stdout);
}
extern "C" {
extern const char adios2_version_str[] = "2.13.0";
void adios2_available_features(std::size_t* count, const char* const** names)
{
    static const char* const none[] = {nullptr};
    *count = 0;
    *names = none;
}
void use(const char* native, const char* plugin)
{
    const auto of = [](const char* library, const char* name) {
        return dlsym(dlopen(library, RTLD_NOW), name);
    };
    const auto make = reinterpret_cast<void* (*)(const Map&)>(of(native, "OperatorCreate"));
    const auto open = reinterpret_cast<void* (*)(void*, const std::string&, int, void*)>(
        of(plugin, "EngineCreate"));
    say([&] { make(Map{{"PluginName", "stepstore"}, {"Default", "on"}}); });
    say([&] { open(nullptr, "x", 1, nullptr); });
}
}
"""


def run(program: list[str], environment: dict[str, str], status: int = 0, **more: str) -> str:
    done = subprocess.run(
        program, env=environment, capture_output=True, text=True, check=False, timeout=500, **more
    )
    assert done.returncode == status, f"{program}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "destroyed without" not in done.stderr, done.stderr
    return done.stdout if status == 0 and not more else done.stdout + done.stderr


def check_two_releases(work: str, environment: dict[str, str], plugin_path: str) -> None:
    first, second = RELEASES
    for door in ("Stepstore", "operator", "Plugin"):
        preload = f"{plugin_path}/libstepstore_adios2_preload.so" if door == "Stepstore" else ""
        folders = [str(package(release)) for release in RELEASES]
        program = [sys.executable, "-c", TWO, door, *folders]
        said = run(program, environment | {"LD_PRELOAD": preload}, cwd=tempfile.mkdtemp(dir=work))
        # The one that asks first, whichever was loaded first.
        assert f"{second} wrote\n" in said, said
        two = f"this process has two ADIOS2, in {folders[0]}/adios2 and in {folders[1]}/adios2"
        assert f"{first} wrote" not in said and two in said and "load one of them only" in said, said
    print("two releases in one process: the first that asks is served")


def check_other_abi(
    work: str, environment: dict[str, str], plugin_path: str, package_of_stepstore: str
) -> None:
    other = Path(work, "other")
    other.mkdir()
    environment = environment | {"STEPSTORE_ADIOS2_ADAPTERS": str(other)}
    words = ["-m", "stepstore", "adios2-build", "--adios2", str(package(RELEASES[0]) / "adios2")]
    flags = {"CXXFLAGS": "-D_GLIBCXX_USE_CXX11_ABI=0", "PYTHONPATH": package_of_stepstore}
    said = run([sys.executable, *words], environment | flags, status=1)
    assert "cannot be loaded" in said and "another C++ ABI" in said and not list(other.iterdir()), said
    # One that was built elsewhere.
    engine = other / f"libstepstore_adios2_engine-{RELEASES[0].rsplit('.', 1)[0]}.so"
    text = "extern int absent(void); int place(void) { return absent(); }"
    words = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-Wl,-z,now", "-o", str(engine)]
    subprocess.run(words, input=text, text=True, check=True)
    folder = package(RELEASES[0])
    said = run([sys.executable, "-c", VAIN], environment | {"PYTHONPATH": str(folder)})
    assert "cannot be loaded. If it was built with another compiler" in said, said
    assert f"stepstore adios2-build --adios2 {folder}/adios2" in said, said
    # An ADIOS2 of another ABI. What it hands over must not be looked at.
    core = other / "libadios2_core.so"
    words = [os.environ.get("CXX", "c++"), "-shared", "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0", "-x", "c++", "-"]
    subprocess.run([*words, "-o", str(core), "-ldl"], input=OTHER_ABI, text=True, check=True)
    libraries = [f"{plugin_path}/libstepstore_adios2_native.so", f"{plugin_path}/libstepstore_adios2.so"]
    text = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).use(*(one.encode() for one in sys.argv[2:]))"
    said = run([sys.executable, "-c", text, str(core), *libraries], environment).splitlines()
    assert len(said) == 2, said
    for line in said:
        assert "no engine" in line and f"stepstore adios2-build --adios2 {other.resolve()}" in line, said
    print("another C++ ABI, of the engine or of ADIOS2: refused, with the command")


def main() -> None:
    plugin_path, package_of_stepstore, kept = sys.argv[1:]
    adapters = Path(kept)
    shutil.rmtree(adapters, ignore_errors=True)
    adapters.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
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
            copies(environment, package_of_stepstore, release, work)
        check_two_releases(work, environment, plugin_path)
        check_other_abi(work, environment | {"RELEASE": RELEASES[0]}, plugin_path, package_of_stepstore)


def copies(environment: dict[str, str], package_of_stepstore: str, release: str, work: str) -> None:
    """BP files are copied with ADIOS2 2.12; with an older one a sentence says so."""
    file = f"{work}/{release}.bp"
    write = (  # each in a variable: ADIOS2's Adios takes its engines along
        "import adios2; adios = adios2.Adios(); io = adios.declare_io('a'); "
        f"engine = io.open({file!r}, adios2.bindings.Mode.Write); engine.close()"
    )
    environment = environment | {"PYTHONPATH": f"{package(release)}{os.pathsep}{package_of_stepstore}"}
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
