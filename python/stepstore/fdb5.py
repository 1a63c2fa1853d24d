"""pyfdb in a process that knows where our plugin is."""

from __future__ import annotations

import importlib
import os
from typing import Any

from stepstore.errors import DER_NOSYS, Error
from stepstore.paths import fdb5_directories

__all__ = ["load_fdb"]


def load_fdb() -> Any:
    """Load pyfdb so that it finds Stepstore's back end for FDB.

    eckit looks for plugins when it is loaded, so call this before anything else imports pyfdb. It sets
    PLUGINS_MANIFEST_PATH and DYNAMIC_LIBRARY_PATH in the environment of this process.

    Returns
    -------
    type
        The class `pyfdb.FDB`.

    Raises
    ------
    Error
        DER_NOSYS: pyfdb is not installed, or cannot be loaded. DER_NONEXIST: this installation was built
        without the plugin.
    """
    manifests, libraries = fdb5_directories()
    os.environ["PLUGINS_MANIFEST_PATH"] = str(manifests)
    os.environ["DYNAMIC_LIBRARY_PATH"] = str(libraries)
    try:
        return importlib.import_module("pyfdb").FDB
    except ModuleNotFoundError as error:
        raise Error(
            DER_NOSYS, f"this Python has no package {error.name}: python -m pip install pyfdb fdb5lib"
        ) from error
    except (ImportError, OSError, RuntimeError) as error:
        raise Error(DER_NOSYS, f"pyfdb is installed, but cannot be loaded: {error}") from error
