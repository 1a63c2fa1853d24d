"""What bad input gets, what a dying writer and a full disk leave, and what FDB itself refuses to any back end
but its files."""

import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path
from random import Random

from support import HERE, TOOLS, Archive, Archives, ToolFailed, grib
from test_tools import DATASET, WHOLE, forecast

# Archives what is in the file argv[1], says so, and waits to be killed, without a flush.
ARCHIVE_AND_WAIT = """
import sys, pyfdb
fdb = pyfdb.FDB()
fdb.archive(open(sys.argv[1], "rb").read())
print("archived", flush=True)
sys.stdin.read()
"""
ARCHIVE_AND_FLUSH = """
import sys, pyfdb
fdb = pyfdb.FDB()
for _ in range(int(sys.argv[2])):
    fdb.archive(open(sys.argv[1], "rb").read())
    fdb.flush()
"""
# Archives step after step of two levels, with the step's number as the field's value, and says each step that
# is flushed.
ARCHIVE_STEPS = """
import sys, pyfdb
sys.path.insert(0, sys.argv[1])
from support import HERE, TOOLS, Archive, Archives, ToolFailed, grib
fdb = pyfdb.FDB()
for step in range(10000):
    for level in (500, 850):
        fdb.archive(grib(step=step, levelist=level, param=int(sys.argv[2]), values=[float(step)] * 496))
    fdb.flush()
    print(step, flush=True)
"""
# Archives until the disk is full, makes room by removing the file argv[2], and goes on with the same FDB
# object. Says which steps were archived.
ARCHIVE_ON_A_FULL_DISK = """
import os, sys, pyfdb
identifier = dict(pair.split("=") for pair in sys.argv[1].split(","))
fdb, archived, failed = pyfdb.FDB(), [], 0
for step in range(200):
    try:
        fdb.archive(b"%d" % step * int(sys.argv[3]), {**identifier, "step": str(step)})
        archived.append(step)
    except RuntimeError:
        failed += 1
    if failed == 3 or step == 100:
        try:
            fdb.flush()
        except RuntimeError:
            failed += 1
        os.remove(sys.argv[2])
        break
for step in range(1000, 1020):
    fdb.archive(b"%d" % step * int(sys.argv[3]), {**identifier, "step": str(step)})
    archived.append(step)
fdb.flush()
print(failed, *archived)
"""
# Makes a container in the pool argv[2], as a process leaves it that is killed while it wipes a dataset.
LEAVE_A_CONTAINER = """
import ctypes, sys
daos, pool = ctypes.CDLL(sys.argv[1]), ctypes.c_uint64()
read_write = 2
results = [
    daos.daos_init(),
    daos.daos_pool_connect2(sys.argv[2].encode(), None, read_write, ctypes.byref(pool), None, None),
    daos.daos_cont_create_with_label(pool, b"fields-77.left", None, None, None),
    daos.daos_pool_disconnect(pool, None),
]
assert not any(results), results
"""
LIST_UNTIL_WIPED = """
import sys, pyfdb
counts = set()
while True:
    counts.add(len(list(pyfdb.FDB().list(dict(pair.split("=") for pair in sys.argv[1].split(","))))))
    print(sorted(counts), flush=True)
    if 0 in counts:
        break
"""


class AdministrationTest(Archives):
    def test_wrong_configuration(self):
        for section, words in [
            ({"pol": "x"}, ["pol", "packBelow", "pool or pools, handler, durability, targets"]),
            ({"verify": "sometimes"}, ["sometimes", "true or false"]),
            (
                {"index": "process"},
                ["no setting 'index'", "packBelow", "pool or pools, handler, durability, targets"],
            ),
            ({"targets": 0}, ["stepstore.targets", "'0'", "1 to 256"]),
            ({"durability": "none"}, ["stepstore.durability", "process or power"]),
            ({"pools": ["/a", "/b"]}, ["either 'pool', or 'pools'"]),
            ({"handler": "Best"}, ["'handler' is 'Best'", "Default, First, LeastUsed", "WeightedRandom"]),
        ]:
            with self.subTest(section=section):
                archive = self.archive(**section)
                file = archive.folder / "fields.grib"
                file.write_bytes(grib())
                self.refused(archive, words, "fdb-write", file)
                self.refused(archive, words, "fdb-list", DATASET)
                self.assertFalse(archive.pool.exists())

    def test_no_section(self):
        archive = self.archive()
        config = archive.config()
        del config["stepstore"]
        status, _, errors = archive.run("fdb-list", DATASET, check=False, FDB_CONFIG=json.dumps(config))
        self.assertNotEqual(status, 0)
        self.assertIn("no section 'stepstore'", errors)

    # In a process that was not told where the plugin is: FDB's own words, as docs/fdb.md has them.
    def test_the_document_has_what_fdb_says_without_the_plugin(self):
        document = (HERE.parents[1] / "docs" / "fdb.md").read_text()
        manifest = {"DYNAMIC_LIBRARY_PATH": ""}
        nothing = {"PLUGINS_MANIFEST_PATH": "", **manifest}
        archive = self.archive()
        file = archive.folder / "fields.grib"
        file.write_bytes(grib())
        for client, tool, argument, environment, words in [
            ("stepstore", "fdb-list", DATASET, nothing, 'FDB factory "stepstore" not found'),
            ("local", "fdb-list", DATASET, nothing, "No FDB Engine registered with name stepstore"),
            ("local", "fdb-write", file, nothing, "No CatalogueWriterBuilder called stepstore"),
            ("stepstore", "fdb-list", DATASET, manifest, "Failed to load library stepstore_fdb5"),
        ]:
            with self.subTest(words=words):
                config = json.dumps(archive.config(type=client))
                status, _, errors = archive.run(tool, argument, check=False, FDB_CONFIG=config, **environment)
                self.assertNotEqual(status, 0)
                self.assertIn(words, errors)
                self.assertIn(f"`{words}`", document)

    def test_client_for_another_engine(self):
        archive = self.archive()
        for engine in ({"engine": "toc"}, {}):
            config = {key: value for key, value in archive.config().items() if key != "engine"} | engine
            status, _, errors = archive.run("fdb-list", DATASET, check=False, FDB_CONFIG=json.dumps(config))
            self.assertNotEqual(status, 0)
            for words in ("'type: stepstore'", "engine is toc", "'type: local'"):
                self.assertIn(words, errors)

    def test_a_pool_that_is_not_there_is_named_once(self):
        archive = self.archive()
        status, output, errors = archive.run("fdb-list", DATASET, check=False)
        self.assertEqual((status, (output + errors).count(f"there is no pool {archive.pool}")), (0, 1))

    def test_names_of_pools(self):
        archive = self.archive()
        strange = archive.folder / "x y?z#w%41"
        for name, expected in [
            ("bare", f"name={archive.folder}/bare/"),
            ("local:a-label", "name=local%3Aa-label/"),
            (f"local:{strange}", "x%20y%3Fz%23w%2541/"),
            (str(strange), "x%20y%3Fz%23w%2541/"),
            ("relative/pool", f"name={archive.folder}/relative/pool/"),
        ]:
            with self.subTest(name=name):
                archive.section = {"pool": name}
                root = {"STEPSTORE_ROOT": str(archive.folder / "pools")}
                file, request, found = (archive.folder / part for part in ("in.grib", "request", "out.grib"))
                file.write_bytes(b"".join(forecast()))
                archive.run("fdb-write", file, **root)
                self.assertIn(expected, archive.run("fdb-list", "--location", DATASET, **root)[1])
                request.write_text(f"retrieve,{WHOLE},step=6,levelist=500,param=131\n")
                archive.run("fdb-url", "--uri", request, found, **root)
                self.assertEqual(found.read_bytes(), forecast()[5])
                archive.run("fdb-wipe", "--doit", DATASET, **root)
                self.assertEqual(archive.run("fdb-where", "--ignore-errors", DATASET, **root)[1].strip(), "")

    # What no tool of FDB does on any engine but its files.
    @unittest.skipUnless("STEPSTORE_FDB5_API_TEST" in os.environ, "the C++ test program was not built")
    def test_hide_and_index_from_cpp(self):
        archive = self.archive()
        archive.write(*forecast())
        whole = DATASET + ",domain=g"
        located = re.search(
            r"name=([^\]]+)\],offset=(\d+),length=(\d+)",
            archive.output("fdb-list", "--location", DATASET + ",step=6,levelist=500,param=131"),
        )

        def api(*arguments):
            subprocess.run(
                [os.environ["STEPSTORE_FDB5_API_TEST"], *arguments], env=archive.environment(), check=True
            )

        api(
            "index",
            whole,
            "type=fc,levtype=pl",
            "step=48,levelist=500,param=131",
            f"stepstore:{located[1]}",
            located[2],
            located[3],
        )
        self.assertEqual(len(archive.listed(DATASET)), 9)
        self.assertEqual(archive.read(WHOLE + ",step=48,levelist=500,param=131"), forecast()[5])
        api("hide", whole)
        self.assertEqual(archive.listed(DATASET), [])
        archive.write(*forecast(steps=(0,)))
        self.assertEqual(len(archive.listed(DATASET)), 4)
        archive.output("fdb-purge", "--doit", DATASET)
        self.assertEqual(archive.read(WHOLE + ",step=0,levelist=850,param=131"), forecast()[3])

    def test_served_to_remote_clients(self):
        archive = self.archive()
        sockets = [socket.socket() for _ in range(2)]
        for one in sockets:
            one.bind(("localhost", 0))
        catalogue_port, store_port = (one.getsockname()[1] for one in sockets)
        for one in sockets:
            one.close()
        local = archive.config()
        served = {
            catalogue_port: {
                **local,
                "type": "catalogue",
                "serverPort": catalogue_port,
                "stores": [{"default": f"localhost:{store_port}"}],
            },
            store_port: {
                **{key: local[key] for key in local if key != "engine"},
                "type": "store",
                "serverPort": store_port,
            },
        }
        for port, config in served.items():
            environment = {
                **archive.environment(),
                "FDB_CONFIG": json.dumps({**config, "serverThreaded": True}),
                "FDB_WIPE_SECRET": "secret",
            }
            server = subprocess.Popen(
                [TOOLS / "fdb-server"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            self.addCleanup(server.wait)
            self.addCleanup(server.terminate)
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("localhost", port)) == 0:
                        break
                self.assertIsNone(server.poll(), "fdb-server ended")
                time.sleep(0.05)
        archive.config = lambda: {
            "type": "remote",
            "engine": "remote",
            "store": "remote",
            "host": "localhost",
            "port": catalogue_port,
        }
        messages = forecast()
        archive.write(*messages)
        self.assertEqual(len(archive.listed(DATASET)), 8)
        self.assertEqual(archive.read(WHOLE + ",step=0/6,levelist=500/850,param=130/131"), b"".join(messages))
        statistics = json.loads(archive.output("fdb-stats", "--json", DATASET))
        self.assertEqual(statistics["fields"], 8)
        # The catalogue's server does not hold the fields, and knows how long they are.
        bytes_of_fields = len(b"".join(messages))
        self.assertEqual(statistics["foreignDataSize"] + statistics["ownedDataSize"], bytes_of_fields)
        self.assertEqual(statistics["totalSize"], statistics["indexSize"] + bytes_of_fields)
        self.assertIn("step=(0,6)", archive.output("fdb-axes", DATASET))
        archive.output("fdb-wipe", "--doit", DATASET)
        self.assertEqual(archive.listed(DATASET, "--ignore-errors"), [])

    def test_another_schema(self):
        archive = self.archive()
        archive.write(*forecast())
        text = archive.schema.read_text()
        archive.schema.write_text("# the same rules\n" + text)
        archive.write(*forecast(steps=(12,)))
        archive.schema.write_text(
            text.replace("[ step, levelist?, param ]", "[ step, levelist?, param, number? ]")
        )
        self.refused(
            archive,
            ["does not fit", "made with another", DATASET],
            "fdb-write",
            archive.folder / "fields.grib",
        )
        self.assertEqual(len(archive.listed(DATASET)), 12)

    def test_killed_before_its_flush(self):
        archive = self.archive(packBelow=0)  # so that something is in the pool before the flush
        archive.write(*forecast())
        file = archive.folder / "new.grib"
        file.write_bytes(
            b"".join([*forecast(steps=(12,)), grib(values=[1.0] * 496, step=0, levelist=500, param=130)])
        )
        process = subprocess.Popen(
            [sys.executable, "-c", ARCHIVE_AND_WAIT, file],
            env=archive.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with process:
            self.assertEqual(process.stdout.readline(), b"archived\n")
            process.send_signal(signal.SIGKILL)
        self.assertEqual(len(archive.listed(DATASET)), 8)
        self.assertEqual(archive.read(WHOLE + ",step=0,levelist=500,param=130"), forecast()[0])
        self.assertRegex(archive.output("fdb-purge", DATASET), r"Objects to reclaim +: 5 ")
        self.assertEqual(len(re.findall("Removing: ", archive.output("fdb-purge", "--doit", DATASET))), 5)
        self.assertRegex(archive.output("fdb-purge", DATASET), r"Objects to reclaim +: 0 ")
        self.assertEqual(len(archive.listed(DATASET)), 8)
        self.assertEqual(archive.read(WHOLE + ",step=6,levelist=850,param=131"), forecast()[7])

    def test_purge_takes_containers_of_no_dataset(self):
        archive = self.archive()
        archive.write(*forecast())
        library = Path(os.environ["DYNAMIC_LIBRARY_PATH"]) / "libstepstore_daos.so"
        subprocess.run([sys.executable, "-c", LEAVE_A_CONTAINER, library, archive.pool], check=True)
        left = f"{archive.pool}/fields-77.left"
        self.assertNotIn(left, archive.output("fdb-purge", DATASET))
        for doit in ([], ["--doit"]):
            self.assertIn(left, archive.output("fdb-purge", "--porcelain", *doit, DATASET))
        self.assertNotIn(left, archive.output("fdb-purge", "--doit", DATASET))
        self.assertEqual(len(archive.listed(DATASET)), 8)

    def test_killed_at_any_time(self):
        archive = self.archive()
        random = Random(4)
        for attempt in range(4):
            writers = {
                param: subprocess.Popen(
                    [sys.executable, "-c", ARCHIVE_STEPS, HERE, str(param)],
                    env=archive.environment(),
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for param in (130, 131)
            }
            flushed = {param: [writer.stdout.readline()] for param, writer in writers.items()}
            time.sleep(random.random() / 20)
            for param, writer in writers.items():
                with writer:
                    writer.send_signal(signal.SIGKILL)
                    flushed[param] += writer.stdout.readlines()
            if attempt % 2:
                archive.output("fdb-purge", "--doit", DATASET)
            listed = "".join(archive.listed(DATASET))
            for param, steps in flushed.items():
                last = len(steps) - 1
                for step in range(last + 1):
                    self.assertIn(f"{{step={step},levelist=500,param={param}}}", listed)
                self.assertEqual(
                    archive.read(WHOLE + f",step={last},levelist=850,param={param}"),
                    grib(step=last, levelist=850, param=param, values=[float(last)] * 496),
                )

    def test_a_wipe_while_others_list(self):
        archive = self.archive()
        archive.write(*forecast(steps=range(50)))
        reader = subprocess.Popen(
            [sys.executable, "-c", LIST_UNTIL_WIPED, DATASET],
            env=archive.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with reader:
            reader.stdout.readline()
            archive.output("fdb-wipe", "--doit", DATASET)
            output, errors = reader.communicate(timeout=60)
        if reader.returncode == 0:  # it saw all or nothing
            self.assertEqual(output.splitlines()[-1], "[0, 200]")
        else:
            self.assertIn("wiped", errors)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"), "only root can make a small disk")
    def test_the_same_object_goes_on_after_a_full_disk(self):
        for kind, size in itertools.product(("stepstore", "our-store"), (1000, 50_000, 500_000)):
            archive = self.archive(kind, targets=4)
            disk = archive.folder / "disk"
            disk.mkdir()
            if (
                subprocess.run(
                    ["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", disk], capture_output=True
                ).returncode
                != 0
            ):
                self.skipTest("no file system can be mounted here")
            try:
                archive.section["pool"] = str(disk / "pool")
                archive.roots[0] = disk / "root"
                archive.roots[0].mkdir()
                archive.write(grib(step=1000))
                free = os.statvfs(disk)
                ballast = disk / "ballast"
                ballast.write_bytes(bytes(free.f_bavail * free.f_frsize - max(20 * size, 128 << 10)))
                done = subprocess.run(
                    [
                        sys.executable,
                        "-c",
                        ARCHIVE_ON_A_FULL_DISK,
                        WHOLE + ",levelist=1000,param=130",
                        ballast,
                        str(size),
                    ],
                    env=archive.environment(),
                    capture_output=True,
                    text=True,
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                failed, *archived = map(int, done.stdout.splitlines()[-1].split())
                self.assertGreater(failed, 0, f"{kind}, {size} bytes: the disk was not full")
                fields = [b"%d" % step * size for step in archived]
                read = archive.read(WHOLE + f",step={'/'.join(map(str, archived))},levelist=1000,param=130")
                self.assertTrue(
                    read == b"".join(fields),
                    f"{kind}, {size} bytes: {len(read)} bytes of {sum(map(len, fields))}",
                )
            finally:
                subprocess.run(["umount", disk], check=True)

    # One bit of the dataset's number flipped in a target's list of containers: nobody has wiped anything.
    def test_damage_is_not_called_a_wipe(self):
        archive = self.archive(targets=4, packBelow=0)
        archive.write(*forecast())
        whole = archive.pool.with_name("whole")
        shutil.copytree(archive.pool, whole)
        script = (
            "import sys, pyfdb\n"
            "fdb = pyfdb.FDB()\n"
            "wanted = dict(pair.split('=') for pair in sys.argv[1].split(','))\n"
            "for ask in (lambda: list(fdb.list({name: wanted[name] for name in ('class', 'expver')})), "
            "lambda: fdb.retrieve(wanted).__enter__().read()):\n    try:\n"
            "        ask()\n"
            "    except RuntimeError as error:\n"
            "        print('said:', error)\n"
        )
        said = []
        for number in range(4):
            name = Path(f"target-{number:03}") / "data.mdb"
            text = (whole / name).read_bytes()
            for found in re.finditer(
                rb"\x05\x00\x02\x00\x00\x00\x02", text
            ):  # a key of five bytes: kind, container
                at = found.end() - 1
                shutil.rmtree(archive.pool)
                shutil.copytree(whole, archive.pool)
                (archive.pool / name).write_bytes(text[:at] + bytes([text[at] ^ 4]) + text[at + 1 :])
                done = subprocess.run(
                    [sys.executable, "-c", script, WHOLE + ",step=6,levelist=500,param=131"],
                    env=archive.environment(),
                    capture_output=True,
                    text=True,
                )
                said += [line for line in done.stdout.splitlines() if line.startswith("said: ")]
        self.assertTrue(said)
        for line in said:
            self.assertIn("damage", line)
            self.assertNotRegex(line, "(it|dataset) was wiped")

    def test_two_processes_archive_the_same_field(self):
        archive = self.archive()
        contents = [grib(values=[float(number)] * 496) for number in (1, 2, 3)]
        processes = []
        for number, message in enumerate(contents):
            file = archive.folder / f"{number}.grib"
            file.write_bytes(message)
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-c", ARCHIVE_AND_FLUSH, file, "5"], env=archive.environment()
                )
            )
        for process in processes:
            self.assertEqual(process.wait(), 0)
        self.assertEqual(len(archive.listed(DATASET)), 1)
        self.assertIn(archive.read(WHOLE + ",step=0,levelist=1000,param=130"), contents)

    def test_a_location_of_a_wiped_dataset(self):
        archive = self.archive()
        archive.write(*forecast())
        located = archive.output("fdb-list", "--location", DATASET)
        self.assertIn("StepstoreFieldLocation", located)
        other = Archive("stepstore")
        self.addCleanup(other.close)
        for one, name in ((archive, "source"), (other, "sink")):
            (archive.folder / f"{name}.json").write_text(json.dumps(one.config()))
        archive.output(
            "fdb-reindex",
            f"--source-config={archive.folder}/source.json",
            f"--sink-config={archive.folder}/sink.json",
            DATASET,
        )
        archive.output("fdb-wipe", "--doit", DATASET)
        with self.assertRaisesRegex(ToolFailed, "wiped"):
            other.read(WHOLE + ",step=0,levelist=500,param=130")

    def test_what_fdb_keeps_to_its_files(self):
        archive = self.archive()
        archive.write(*forecast())
        whole = DATASET + ",domain=g"
        self.refused(archive, ["Only TOC DBs currently supported"], "fdb-hide", "--doit", whole)
        self.refused(
            archive, ["Only TOC DBs currently supported"], "fdb-overlay", whole, whole.replace("xxxx", "yyyy")
        )
        self.assertEqual(len(archive.listed(DATASET)), 8)

    def test_purge_of_files_that_no_field_needs(self):
        archive = self.archive("our-catalogue")
        archive.write(*forecast())
        archive.write(*forecast())
        files = lambda: sorted(str(path) for path in archive.roots[0].rglob("*.data"))
        self.assertEqual(len(files()), 2)
        archive.output("fdb-purge", "--doit", DATASET)
        self.assertEqual(len(files()), 1)
        self.assertEqual(archive.read(WHOLE + ",step=6,levelist=850,param=131"), forecast()[7])

    def test_many_datasets(self):
        archive = self.archive()
        archive.write(
            *[grib(date=20260101 + day, expver=f"{number:04}") for number in range(20) for day in range(20)]
        )
        self.assertEqual(
            len(archive.output("fdb-where", "--ignore-errors", "class=rd,expver=0007").split()), 20
        )
        self.assertEqual(len(archive.listed("class=rd,expver=0007,date=20260105")), 1)

    def test_all_settings_together(self):
        archive = self.archive(
            asynchronous=True, packBelow=0, inFlight="1MiB", verify=False, targets=4, durability="power"
        )
        archive.write(*forecast())
        archive.write(*forecast(steps=(6, 12)))
        self.assertEqual(len(archive.listed(DATASET)), 12)
        self.assertEqual(archive.read(WHOLE + ",step=12,levelist=500,param=130"), forecast(steps=(12,))[0])


if __name__ == "__main__":
    unittest.main()
