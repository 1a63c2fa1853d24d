"""What the Python tests of the plugin share."""

import os
import shutil
import tempfile
from pathlib import Path

import adios2


class Workspace:
    """A directory of a test's own, and IOs for streams in it; with STEPSTORE_TEST_RADOS, the name of a pool
    of Ceph, in namespaces of that."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="stepstore-python-"))

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def location(self, name):
        ceph_pool = os.environ.get("STEPSTORE_TEST_RADOS")
        return f"rados://{ceph_pool}/{self.path.name}-{name}" if ceph_pool else str(self.path / name)

    def io(self, name, **parameters):
        return plugin_io(self.location(name), **parameters)


def plugin_io(location, **parameters):
    io = adios2.Adios().declare_io("stream")
    io.set_engine("Plugin")
    io.set_parameters(
        {"PluginName": "stepstore", "PluginLibrary": "stepstore_adios2", "Location": location, **parameters}
    )
    return io
