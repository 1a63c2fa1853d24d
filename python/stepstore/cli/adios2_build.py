"""stepstore adios2-build: the engine for another ADIOS2 than the one it was built with (docs/adios2.md)."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import stepstore
from stepstore.console import CommandError, ExitCode, Settings, show
from stepstore.paths import adapter_kit, plugin_directory

CONFIG = "adios2/common/ADIOSConfig.h"
# What the engine uses of the core, and installations since 2.12 leave out.
CORE = ("adios2/core/Engine.h", "adios2/helper/adiosCommDummy.h", "adios2/operator/OperatorFactory.h")


def adios2_build(
    adios2: Annotated[
        str | None,
        typer.Option("--adios2", metavar="DIR", help="The ADIOS2: where it is installed, or its libraries."),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="DIR", help="Its sources, if they are not on PyPI.")
    ] = None,
) -> None:
    """Build Stepstore's engine for another ADIOS2, which takes a minute.

    Without --adios2 it is the package adios2 of this Python. Needs a compiler for C++20 and CMake."""
    found = _installation(Path(adios2) if adios2 else _package())
    kit, libraries = adapter_kit(), plugin_directory()
    cmake = _tool("cmake", "pip install cmake, or the package cmake")
    with tempfile.TemporaryDirectory(prefix="stepstore-adios2-") as work:
        words = [cmake, "-S", str(kit), "-B", work, f"-DSTEPSTORE_LIBRARIES={libraries}"]
        words += [f"-DADIOS2Wheel_{name}={path}" for name, path in found.paths().items()]
        if headers := _core_headers(found, source, kit):
            words.append(f"-DADIOS2_CORE_HEADERS={headers}")
        if shutil.which("ninja"):
            words += ["-G", "Ninja"]
        _run(words, found)
        _run([cmake, "--build", work, "--parallel"], found)
        built = next(Path(work, "built").glob("libstepstore_adios2_engine-*.so"))
        _check_that_it_loads(built, found)
        target = _target(libraries) / built.name
        # Under its name at once: a program may be looking for it.
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as near:
            os.replace(shutil.copy2(built, near), target)
    show(f"built the engine for ADIOS2 {found.version} ({found.core.parent}): {target}")


@dataclass(frozen=True)
class _Installation:
    include: Path
    core: Path
    cxx: Path
    version: str

    def paths(self) -> dict[str, Path]:
        return {"INCLUDE_DIR": self.include, "CORE_LIBRARY": self.core, "CXX_LIBRARY": self.cxx}


def _package() -> Path:
    spec = importlib.util.find_spec("adios2")
    if spec is None or spec.origin is None:
        raise CommandError(
            "this Python has no package adios2: name the ADIOS2 to build for with --adios2", ExitCode.USAGE
        )
    return Path(spec.origin).parent


def _installation(given: Path) -> _Installation:
    near = [given, *list(given.resolve().parents)[:3]]
    include = next((at / "include" for at in near if (at / "include" / CONFIG).exists()), None)
    folders = [given, *(given / name for name in ("lib", "lib64")), *given.glob("lib/*-linux-gnu")]
    core = _library(folders, "adios2_core")
    if include is None or core is None:
        missing = CONFIG if include is None else "libadios2_core.so"
        raise CommandError(
            f"{given} has no ADIOS2: there is no {missing}. Give the folder that has include and lib",
            ExitCode.NOT_FOUND,
        )
    cxx = _library([core.parent], "adios2_cxx") or _library([core.parent], "adios2_cxx11")
    if cxx is None:
        raise CommandError(f"{core.parent} has no libadios2_cxx.so beside {core.name}", ExitCode.NOT_FOUND)
    config = (include / CONFIG).read_text(encoding="utf-8", errors="replace")
    version = re.search(r'ADIOS2_VERSION_STR\s+"([0-9.]+)"', config)
    if version is None:
        raise CommandError(f"{include / CONFIG} does not say which ADIOS2 it is of")
    return _Installation(include.absolute(), core.absolute(), cxx.absolute(), version[1])


def _library(folders: list[Path], name: str) -> Path | None:
    for folder in folders:
        if there := sorted(folder.glob(f"lib{name}.so*")):
            return there[0]
    return None


def _has_core(folder: Path) -> bool:
    return all((folder / name).exists() for name in CORE)


def _core_headers(found: _Installation, source: str | None, kit: Path) -> Path | None:
    if source is not None:
        given = Path(source).absolute()
        for folder in (given / "source", given):
            if _has_core(folder):
                return folder
        raise CommandError(f"{source} has no sources of ADIOS2: there is no source/{CORE[0]}", ExitCode.USAGE)
    if _has_core(found.include):
        return None
    cache = os.environ.get("STEPSTORE_CACHE") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "stepstore"
    )
    release = re.sub(r"^(\d+\.\d+\.\d+)\.(0|1\d{3})$", r"\1", found.version)
    fetch = [sys.executable, str(kit / "fetch_adios2_headers.py"), release, str(cache)]
    done = subprocess.run(fetch, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandError(
            f"{found.include} lacks the headers of ADIOS2's core, and PyPI does not give those of ADIOS2 "
            f"{release} ({_last_line(done)}): give its sources with --source"
        )
    return Path(done.stdout.strip())


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    said = done.stderr.strip().splitlines()
    return said[-1] if said else "it said nothing"


def _tool(name: str, how: str) -> str:
    if path := shutil.which(name):
        return path
    raise CommandError(f"there is no {name}: {how}", ExitCode.NOT_FOUND)


def _run(words: list[str], found: _Installation) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return
    what = f"the engine for ADIOS2 {found.version} ({found.core.parent}) cannot be built"
    said = done.stdout + done.stderr
    if Settings.debug:
        raise CommandError(f"{what}:\n{said}")
    # The compiler's first error, or what CMake says below a line that has only the place.
    found_error = re.search(r"\(message\):\n+((?:  .*\n)+)|(.*\berror: .*)", said)
    why = " ".join((found_error[1] or found_error[2]).split()) if found_error else f"{words[0]} failed"
    raise CommandError(f"{what}: {why}. All that was said: stepstore --debug adios2-build ...")


# The libraries of ADIOS2 come first. They may not load here, such as those of a GPU build without a driver.
_LOAD = """
import ctypes, sys
*adios2, engine = sys.argv[1:]
try:
    for path in adios2:
        ctypes.CDLL(path)
except OSError:
    sys.exit()
try:
    ctypes.CDLL(engine)
except OSError as error:
    sys.exit(str(error))
"""


def _check_that_it_loads(built: Path, found: _Installation) -> None:
    """An engine of another C++ ABI is built without an error: its functions of ADIOS2 have other names."""
    words = [sys.executable, "-c", _LOAD, str(found.core), str(found.cxx), str(built)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandError(
            f"the engine for ADIOS2 {found.version} ({found.core.parent}) is built, but cannot be loaded: "
            f"{_last_line(done)}. It has another C++ ABI than this ADIOS2. Build with the compiler "
            "of this ADIOS2 (CXX, CXXFLAGS), which must use libstdc++ with _GLIBCXX_USE_CXX11_ABI=1"
        )


def _target(libraries: Path) -> Path:
    """Where the loader looks for engines (loader/adapter.cc)."""
    if given := os.environ.get("STEPSTORE_ADIOS2_ADAPTERS"):
        return Path(given)
    if os.access(libraries, os.W_OK):
        return libraries
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local/share")
    return Path(data) / "stepstore" / f"adios2-{stepstore.__version__}"
