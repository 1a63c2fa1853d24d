"""Gets of several threads (Engine::NewGetContext), with an ADIOS2 that has them: BP5 and the native engine
give the same.

The ADIOS2 is the one that STEPSTORE_TEST_ADIOS2_FEATURES names, with the sources in
STEPSTORE_TEST_ADIOS2_SOURCE, or else the package adios2 of this Python. If it has none, the test is skipped.

Arguments: the folder of the plugin, that of the package, that of the programs.
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from test_derived import SKIPPED, build, run


def main() -> int:
    plugin_path, package, programs = (Path(argument) for argument in sys.argv[1:])
    given = os.environ.get("STEPSTORE_TEST_ADIOS2_FEATURES")
    spec = importlib.util.find_spec("adios2")
    prefix = Path(given) if given else Path(spec.origin).parent if spec and spec.origin else Path("/none")
    header = prefix / "include/adios2/cxx/Engine.h"
    if not header.exists() or "NewGetContext" not in header.read_text():
        print(f"skipped: the ADIOS2 in {prefix} has no NewGetContext (since 2.13)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        environment = os.environ | {"ADIOS2_PLUGIN_PATH": str(plugin_path)}
        if given:
            environment["STEPSTORE_ADIOS2_ADAPTERS"] = str(work / "adapters")
            words = [sys.executable, "-m", "stepstore", "adios2-build", "--adios2", str(prefix)]
            if source := os.environ.get("STEPSTORE_TEST_ADIOS2_SOURCE"):
                words += ["--source", source]
            run(words, environment | {"PYTHONPATH": str(package)})
        program = build(programs / "contexts_program.cc", prefix, work)
        environment["LD_PRELOAD"] = str(plugin_path / "libstepstore_adios2_preload.so")
        said = {}
        for engine in ("BP5", "Stepstore"):
            (work / engine).mkdir()
            said[engine] = run([program, engine, str(work / engine)], environment)
        assert said["BP5"] and said["BP5"] == said["Stepstore"], said
        print(said["BP5"] + "the same with BP5 and Stepstore")
    return 0


if __name__ == "__main__":
    sys.exit(main())
