"""FDB's tools and pyfdb on an archive of a given kind: what the tests of the FDB plugin share."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import eccodes
import fdb5lib

HERE = Path(__file__).parent
TOOLS = Path(fdb5lib.__file__).parent / "bin"

# What an archive is made of: its client (`type`), its catalogue (`engine`) and its store.
KINDS = {
    "toc": {"engine": "toc", "store": "file"},
    "stepstore": {"type": "stepstore", "engine": "stepstore", "store": "stepstore"},
    "fdbs-client": {"engine": "stepstore", "store": "stepstore"},
    "our-catalogue": {"engine": "stepstore", "store": "file"},
    "our-store": {"engine": "toc", "store": "stepstore"},
}


def grib(values=None, **keys):
    """A GRIB2 message made by ecCodes; keys as MARS names them."""
    handle = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
    try:
        given = {"class": "rd", "expver": "xxxx", "stream": "oper", "type": "fc", "date": 20260101, "time": 0}
        given.update(keys)
        if "number" in given:
            eccodes.codes_set(handle, "productDefinitionTemplateNumber", 1)
        eccodes.codes_set(handle, "setLocalDefinition", 1)
        for name in ("class", "expver", "stream", "type"):
            eccodes.codes_set(handle, name, given.pop(name))
        eccodes.codes_set(handle, "dataDate", given.pop("date"))
        eccodes.codes_set(handle, "dataTime", given.pop("time"))
        renamed = {"param": "paramId", "levelist": "level"}
        for name, value in given.items():
            eccodes.codes_set(handle, renamed.get(name, name), value)
        if values is not None:
            eccodes.codes_set_values(handle, values)
        return eccodes.codes_get_message(handle)
    finally:
        eccodes.codes_release(handle)


class ToolFailed(AssertionError):
    pass


class Archive:
    """A folder with everything that an FDB needs, and its tools."""

    def __init__(self, kind, schema=HERE / "schema", **section):
        self.kind = kind
        self.folder = Path(tempfile.mkdtemp(prefix=f"stepstore-fdb-{kind}-"))
        self.pool = self.folder / "pool"
        self.roots = [self.folder / "root"]
        self.roots[0].mkdir()
        self.schema = self.folder / "schema"
        shutil.copy(schema, self.schema)
        self.section = {"pool": str(self.pool), **section}
        if ceph_pool := os.environ.get("STEPSTORE_TEST_RADOS"):
            self.section["pool"] = f"rados://{ceph_pool}/{self.folder.name}"

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def config(self, **changes):
        config = {"type": "local", **KINDS[self.kind], "schema": str(self.schema)}
        config["spaces"] = [{"handler": "Default", "roots": [{"path": str(root)} for root in self.roots]}]
        if "stepstore" in config.values():
            config["stepstore"] = self.section
        config.update(changes)
        return config

    def environment(self, **changes):
        import json

        return {
            **os.environ,
            "FDB_CONFIG": json.dumps(self.config()),
            "FDB_HOME": str(self.folder),
            **changes,
        }

    def run(self, tool, *arguments, check=True, **environment):
        """(exit status, output, error output) of one of FDB's tools."""
        done = subprocess.run(
            [TOOLS / tool, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=300,
        )
        if check and done.returncode != 0:
            raise ToolFailed(
                f"{tool} {arguments} on {self.kind}: {done.returncode}\n{done.stdout}\n{done.stderr}"
            )
        return done.returncode, done.stdout, done.stderr

    def output(self, tool, *arguments):
        return self.run(tool, *arguments)[1]

    def write(self, *messages, name="fields.grib"):
        file = self.folder / name
        file.write_bytes(b"".join(messages))
        return self.output("fdb-write", file)

    def listed(self, request, *arguments):
        """The fields' keys, sorted; without where they are and when they were archived."""
        lines = self.output("fdb-list", "--porcelain", *arguments, request).splitlines()
        return sorted(re.sub(r"\s+", "", line) for line in lines if line.startswith("{"))

    def read(self, request):
        """The bytes of the fields of a retrieve request ("class=rd,...")."""
        file = self.folder / "request"
        file.write_text(f"retrieve,{request}\n")
        target = self.folder / "read.grib"
        self.output("fdb-read", file, target)
        return target.read_bytes()


class Archives(unittest.TestCase):
    def archive(self, kind="stepstore", **section):
        archive = Archive(kind, **section)
        self.addCleanup(archive.close)
        return archive

    def refused(self, archive, expected, tool, *arguments):
        status, output, errors = archive.run(tool, *arguments, check=False)
        self.assertNotEqual(status, 0, output)
        for words in expected:
            self.assertIn(words, errors)


class Compared(unittest.TestCase):
    """Runs what `script` does on each kind of archive; what it returns must be the same as on FDB's files."""

    maxDiff = None

    def compare(self, script, kinds=tuple(KINDS)):
        results = {}
        for kind in ("toc", *(kind for kind in kinds if kind != "toc")):
            archive = Archive(kind)
            self.addCleanup(archive.close)
            results[kind] = script(archive)
            self.assertEqual(results[kind], results["toc"], f"on {kind}")
        return results["toc"]
