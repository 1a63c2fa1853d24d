"""Stepstore: scientific I/O on objects.

Pools hold containers, containers hold objects (key-values and arrays) and streams of steps. ::

    import stepstore

    stepstore.Pool.create("./out")
    with stepstore.Pool.connect("./out") as pool:
        runs = pool.open_or_create_container("runs")
        notes = runs.key_value(1)
        notes["title"] = b"first run"

    with stepstore.open_steps("out/gs") as steps:
        u = steps.read("U", step=-1)        # a numpy array

With the package adios2 in the same process, io.SetEngine("Stepstore") works from now on.

Every failure of the store is a stepstore.Error with a code (a negative DER_ number) and its name.
Calls that touch the store release the interpreter's lock.
"""

from stepstore.errors import Error
from stepstore.store import Array, Container, KeyValue, ObjectId, Pool, Snapshot
from stepstore.steps import Attribute, Block, Field, Steps, StepStatus, Structure, Variable, open_steps
from stepstore import _core, adios2_engine

__version__ = _core.__version__
adios2_engine.install()

__all__ = [
    "Array",
    "Attribute",
    "Block",
    "Container",
    "Error",
    "Field",
    "KeyValue",
    "ObjectId",
    "Pool",
    "Snapshot",
    "StepStatus",
    "Steps",
    "Structure",
    "Variable",
    "__version__",
    "open_steps",
    "plugin_path",
]


def plugin_path() -> str:
    """The directory with libstepstore_adios2.so, for ADIOS2_PLUGIN_PATH."""
    from stepstore.paths import plugin_directory

    return str(plugin_directory())
