"""Where the package's libraries and programs are: in the installed package, or in a build tree beside it."""

from __future__ import annotations

import os
from pathlib import Path

from stepstore.errors import DER_NONEXIST, Error

PLUGIN = "libstepstore_adios2.so"
PRELOAD = "libstepstore_adios2_preload.so"
COPY = "libstepstore_adios2_copy.so"


def _candidates(kind: str) -> list[Path]:
    package = Path(__file__).absolute().parent
    # In the package; in the build tree whose python/stepstore this is; where STEPSTORE_BUILD says.
    found = [package / kind, package.parent.parent / kind]
    if build := os.environ.get("STEPSTORE_BUILD"):
        found += [Path(build) / kind, Path(build) / "release" / kind]
    return found


def _find(kind: str, name: str, what: str) -> Path:
    tried = [folder / name for folder in _candidates(kind)]
    for path in tried:
        if path.exists():
            return path
    places = ", ".join(str(path.parent) for path in tried)
    raise Error(DER_NONEXIST, f"{what} ({name}) was not built with this installation: looked in {places}")


def plugin_directory() -> Path:
    return _find("lib", PLUGIN, "the ADIOS2 plugin").parent


def adapter_kit() -> Path:
    """The folder that the engine for another ADIOS2 is built from."""
    return _find(
        "share/adios2-adapter", "CMakeLists.txt", "what engines for other ADIOS2 are built from"
    ).parent


def fdb5_directories() -> tuple[Path, Path]:
    """Of the FDB5 plugin: the folder with its manifest, and the one with its library."""
    manifest = _find("share/plugins", "stepstore-fdb5.yml", "the manifest of the FDB5 plugin")
    return manifest.parent, _find("lib", "libstepstore_fdb5.so", "the FDB5 plugin").parent


def daos_root() -> Path:
    """The folder that build files of programs for DAOS know as DAOS_ROOT: include/ and lib64/ with
    pkgconfig/."""
    return _find("daos", "include", "the folder for programs written for DAOS").parent


def pkg_config_directory() -> Path:
    """The folder for PKG_CONFIG_PATH, with stepstore-c.pc and stepstore-fortran.pc."""
    return _find("lib/pkgconfig", "stepstore-c.pc", "what C and Fortran programs are built with").parent


def program(name: str) -> Path:
    return _find("bin", name, "the program")
