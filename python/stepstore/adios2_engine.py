"""Makes the engine type Stepstore known to the package adios2, whichever is imported first."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from stepstore.errors import Error

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def make_known() -> None:
    """In the ADIOS2 of this process. RuntimeError: there is none, or the engine does not fit it."""
    import ctypes  # this and what follows takes longer than all else that importing stepstore does

    from stepstore.paths import PLUGIN, plugin_directory

    library = ctypes.CDLL(str(plugin_directory() / PLUGIN))
    library.stepstore_adios2_last_error.restype = ctypes.c_char_p
    if library.stepstore_adios2_register() != 0:
        raise RuntimeError(library.stepstore_adios2_last_error().decode())


def _make_known_or_warn() -> None:
    """Without the plugin it does nothing."""
    import warnings

    from stepstore.paths import plugin_directory

    try:
        directory = str(plugin_directory())
    except Error:
        return
    # For the engine type Plugin, which a configuration file may name.
    known = [path for path in os.environ.get("ADIOS2_PLUGIN_PATH", "").split(os.pathsep) if path]
    if directory not in known:
        os.environ["ADIOS2_PLUGIN_PATH"] = os.pathsep.join([*known, directory])
    try:
        make_known()
    except (RuntimeError, OSError) as error:
        warnings.warn(f"adios2 has no engine type Stepstore: {error}", RuntimeWarning, stacklevel=2)


class _WhenImported:
    """Finds the package adios2 as Python would, and lets the engine be made known after it was loaded.

    It stays until then: importlib.util.find_spec("adios2") asks only whether there is one.
    """

    def __init__(self) -> None:
        self._looking = False

    def find_spec(self, name: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "adios2" or self._looking:
            return None
        self._looking = True
        try:
            from importlib.util import find_spec

            spec = find_spec(name)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_make_known(module: ModuleType) -> None:
                run(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    _make_known_or_warn()

            spec.loader.exec_module = run_and_make_known  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Called once, when stepstore is imported."""
    if "adios2" in sys.modules:
        _make_known_or_warn()
    else:
        sys.meta_path.insert(0, _WhenImported())
