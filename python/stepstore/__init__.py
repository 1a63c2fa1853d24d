"""Stepstore: scientific I/O on objects.

Pools hold containers, containers hold objects (key-values and arrays) and streams of steps. ::

    import stepstore

    stepstore.Pool.create("./out")
    with stepstore.Pool.connect("./out") as pool:
        runs = pool.open_or_create_container("runs")
        notes = runs.key_value(1)
        notes["title"] = b"first run"

    with stepstore.Writer("out/heat") as writer, writer.step() as step:
        step["T"] = temperature             # a numpy array

    with stepstore.open_steps("out/heat") as steps:
        last = steps["T"]

With the package adios2 in the same process, io.SetEngine("Stepstore") works from now on.

Every failure of the store is a stepstore.Error with a code (a negative DER_ number) and its name.
Calls that touch the store release the interpreter's lock.
"""

from typing import TYPE_CHECKING, Any

from stepstore import _core, adios2_engine
from stepstore.array import Array
from stepstore.errors import Error
from stepstore.key_value import KeyValue
from stepstore.store import Container, ObjectId, Pool, Snapshot

if TYPE_CHECKING:
    from stepstore.arrays import ArrayInfo, Arrays, open_arrays
    from stepstore.file_system import FileStatus, FileSystem, open_file_system
    from stepstore.steps import Attribute, Block, Field, Steps, StepStatus, Structure, Variable, open_steps
    from stepstore.writer import Writer, WriterStep

__version__ = _core.__version__
adios2_engine.install()

__all__ = [
    "Array",
    "ArrayInfo",
    "Arrays",
    "Attribute",
    "Block",
    "Container",
    "Error",
    "Field",
    "FileStatus",
    "FileSystem",
    "KeyValue",
    "ObjectId",
    "Pool",
    "Snapshot",
    "StepStatus",
    "Steps",
    "Structure",
    "Variable",
    "Writer",
    "WriterStep",
    "__version__",
    "open_arrays",
    "open_file_system",
    "open_steps",
    "plugin_path",
]

# What takes time to import is imported when it is asked for first: the names, by the module.
_LATER = {
    "arrays": {"ArrayInfo", "Arrays", "open_arrays"},
    "file_system": {"FileStatus", "FileSystem", "open_file_system"},
    "steps": {"Attribute", "Block", "Field", "StepStatus", "Steps", "Structure", "Variable", "open_steps"},
    "writer": {"Writer", "WriterStep"},
}


def __getattr__(name: str) -> Any:
    owner = name if name in _LATER else next((one for one, names in _LATER.items() if name in names), None)
    if owner is None:
        raise AttributeError(f"module 'stepstore' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"stepstore.{owner}")
    value = globals()[name] = module if name == owner else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *set().union(*_LATER.values())})


def plugin_path() -> str:
    """Tell where the ADIOS2 plugin is, for ADIOS2_PLUGIN_PATH.

    Returns
    -------
    str
        The directory with libstepstore_adios2.so.

    Raises
    ------
    Error
        DER_NONEXIST: this installation was built without the plugin.
    """
    from stepstore.paths import plugin_directory

    return str(plugin_directory())
