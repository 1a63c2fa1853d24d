"""What bad input gets, what a dying writer leaves, moving between pools, and what FDB itself refuses to any back end but its files."""

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

from support import HERE, TOOLS, Archive, ToolFailed, grib
from tools_test import DATASET, WHOLE, forecast

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
# Archives step after step of two levels, with the step's number as the field's value, and says each step that is flushed.
ARCHIVE_STEPS = """
import sys, pyfdb
sys.path.insert(0, sys.argv[1])
from support import grib
fdb = pyfdb.FDB()
for step in range(10000):
    for level in (500, 850):
        fdb.archive(grib(step=step, levelist=level, param=int(sys.argv[2]), values=[float(step)] * 496))
    fdb.flush()
    print(step, flush=True)
"""
# Archives until the disk is full, makes room by removing the file argv[2], and goes on with the same FDB object. Says which
# steps were archived.
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
LIST_UNTIL_WIPED = """
import sys, pyfdb
counts = set()
while True:
    counts.add(len(list(pyfdb.FDB().list(dict(pair.split("=") for pair in sys.argv[1].split(","))))))
    print(sorted(counts), flush=True)
    if 0 in counts:
        break
"""


class AdministrationTest(unittest.TestCase):
    def archive(self, kind="stepstore", **section):
        archive = Archive(kind, **section)
        self.addCleanup(archive.close)
        return archive

    def refused(self, archive, expected, tool, *arguments):
        status, output, errors = archive.run(tool, *arguments, check=False)
        self.assertNotEqual(status, 0, output)
        for words in expected:
            self.assertIn(words, errors)

    def test_wrong_configuration(self):
        for section, words in [
            ({"pol": "x"}, ["pol", "packBelow", "pool or pools, handler, durability, targets"]),
            ({"index": "sometimes"}, ["sometimes", "shared", "process"]),
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
            ("a-label", "name=a-label/"),
            ("local:a-label-too", "name=local%3Aa-label-too/"),
            (f"local:{strange}", "x%20y%3Fz%23w%2541/"),
            (str(strange), "x%20y%3Fz%23w%2541/"),
            (os.path.relpath(archive.folder / "relative" / "pool"), f"name={archive.folder}/relative/pool/"),
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
        located = re.search(r"name=([^\]]+)\],offset=(\d+),length=(\d+)", archive.output("fdb-list", "--location", DATASET + ",step=6,levelist=500,param=131"))

        def api(*arguments):
            subprocess.run([os.environ["STEPSTORE_FDB5_API_TEST"], *arguments], env=archive.environment(), check=True)

        api("index", whole, "type=fc,levtype=pl", "step=48,levelist=500,param=131", f"stepstore:{located[1]}", located[2], located[3])
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
            catalogue_port: {**local, "type": "catalogue", "serverPort": catalogue_port, "stores": [{"default": f"localhost:{store_port}"}]},
            store_port: {**{key: local[key] for key in local if key != "engine"}, "type": "store", "serverPort": store_port},
        }
        for port, config in served.items():
            environment = {**archive.environment(), "FDB_CONFIG": json.dumps({**config, "serverThreaded": True}), "FDB_WIPE_SECRET": "secret"}
            server = subprocess.Popen([TOOLS / "fdb-server"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(server.wait)
            self.addCleanup(server.terminate)
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("localhost", port)) == 0:
                        break
                self.assertIsNone(server.poll(), "fdb-server ended")
                time.sleep(0.05)
        archive.config = lambda: {"type": "remote", "engine": "remote", "store": "remote", "host": "localhost", "port": catalogue_port}
        messages = forecast()
        archive.write(*messages)
        self.assertEqual(len(archive.listed(DATASET)), 8)
        self.assertEqual(archive.read(WHOLE + ",step=0/6,levelist=500/850,param=130/131"), b"".join(messages))
        self.assertEqual(json.loads(archive.output("fdb-stats", "--json", DATASET))["fields"], 8)
        self.assertIn("step=(0,6)", archive.output("fdb-axes", DATASET))
        archive.output("fdb-wipe", "--doit", DATASET)
        self.assertEqual(archive.listed(DATASET, "--ignore-errors"), [])

    def test_another_schema(self):
        archive = self.archive()
        archive.write(*forecast())
        text = archive.schema.read_text()
        archive.schema.write_text("# the same rules\n" + text)
        archive.write(*forecast(steps=(12,)))
        archive.schema.write_text(text.replace("[ step, levelist?, param ]", "[ step, levelist?, param, number? ]"))
        self.refused(archive, ["does not fit", "made with another", DATASET], "fdb-write", archive.folder / "fields.grib")
        self.assertEqual(len(archive.listed(DATASET)), 12)

    def test_killed_before_its_flush(self):
        archive = self.archive(packBelow=0)  # so that something is in the pool before the flush
        archive.write(*forecast())
        file = archive.folder / "new.grib"
        file.write_bytes(b"".join([*forecast(steps=(12,)), grib(values=[1.0] * 496, step=0, levelist=500, param=130)]))
        process = subprocess.Popen(
            [sys.executable, "-c", ARCHIVE_AND_WAIT, file], env=archive.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
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

    def test_killed_at_any_time(self):
        archive = self.archive()
        random = Random(4)
        for attempt in range(4):
            writers = {
                param: subprocess.Popen(
                    [sys.executable, "-c", ARCHIVE_STEPS, HERE, str(param)], env=archive.environment(), stdout=subprocess.PIPE, text=True
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
            [sys.executable, "-c", LIST_UNTIL_WIPED, DATASET], env=archive.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", disk], capture_output=True).returncode != 0:
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
                    [sys.executable, "-c", ARCHIVE_ON_A_FULL_DISK, WHOLE + ",levelist=1000,param=130", ballast, str(size)], env=archive.environment(), capture_output=True, text=True
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                failed, *archived = map(int, done.stdout.splitlines()[-1].split())
                self.assertGreater(failed, 0, f"{kind}, {size} bytes: the disk was not full")
                fields = [b"%d" % step * size for step in archived]
                read = archive.read(WHOLE + f",step={'/'.join(map(str, archived))},levelist=1000,param=130")
                self.assertTrue(read == b"".join(fields), f"{kind}, {size} bytes: {len(read)} bytes of {sum(map(len, fields))}")
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
            "for ask in (lambda: list(fdb.list({name: wanted[name] for name in ('class', 'expver')})), lambda: fdb.retrieve(wanted).__enter__().read()):\n"
            "    try:\n"
            "        ask()\n"
            "    except RuntimeError as error:\n"
            "        print('said:', error)\n"
        )
        said = []
        for number in range(4):
            name = Path(f"target-{number:03}") / "data.mdb"
            text = (whole / name).read_bytes()
            for found in re.finditer(rb"\x05\x00\x02\x00\x00\x00\x02", text):  # a key of five bytes: kind, container
                at = found.end() - 1
                shutil.rmtree(archive.pool)
                shutil.copytree(whole, archive.pool)
                (archive.pool / name).write_bytes(text[:at] + bytes([text[at] ^ 4]) + text[at + 1 :])
                done = subprocess.run([sys.executable, "-c", script, WHOLE + ",step=6,levelist=500,param=131"], env=archive.environment(), capture_output=True, text=True)
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
            processes.append(subprocess.Popen([sys.executable, "-c", ARCHIVE_AND_FLUSH, file, "5"], env=archive.environment()))
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
        archive.output("fdb-reindex", f"--source-config={archive.folder}/source.json", f"--sink-config={archive.folder}/sink.json", DATASET)
        archive.output("fdb-wipe", "--doit", DATASET)
        with self.assertRaisesRegex(ToolFailed, "wiped"):
            other.read(WHOLE + ",step=0,levelist=500,param=130")

    def test_move(self):
        archive = self.archive()
        second = archive.folder / "second"
        archive.section = {"pool": str(second)}
        archive.write(grib(expver="zzzz"))  # makes the second pool
        archive.section = {"pools": [str(archive.pool), str(second)]}
        messages = forecast()
        archive.write(*messages)
        whole = DATASET + ",domain=g"
        self.refused(archive, ["must be one of stepstore.pools", str(second)], "fdb-move", "--dest=/elsewhere", whole)
        archive.output("fdb-unlock", "--archive", "--wipe", whole)

        archive.output("fdb-move", "--keep", f"--dest={second}", whole)
        self.assertEqual(len(archive.output("fdb-where", whole).split()), 2)
        archive.section = {"pool": str(second)}
        self.assertEqual(archive.read(WHOLE + ",step=0/6,levelist=500/850,param=130/131"), b"".join(messages))
        archive.output("fdb-wipe", "--doit", DATASET)

        archive.section = {"pools": [str(archive.pool), str(second)]}
        archive.output("fdb-unlock", "--archive", "--wipe", whole)
        archive.output("fdb-move", f"--dest={second}", whole)
        where = archive.output("fdb-where", whole).split()
        self.assertEqual(len(where), 1)
        self.assertTrue(where[0].startswith(str(second)))
        self.assertEqual(len(archive.listed(DATASET)), 8)
        archive.write(*forecast(steps=(12,)))  # goes to where the dataset is
        self.assertEqual(len(archive.output("fdb-where", whole).split()), 1)
        self.assertEqual(len(archive.listed(DATASET)), 12)

    # As FDB compares its roots: where they lead, not how they are written.
    def test_move_to_a_path_of_any_spelling(self):
        def spellings(directory):
            link = directory.parent / f"link-to-{directory.name}"
            link.symlink_to(directory)
            inside = os.path.relpath(directory)
            return [inside, f"./{inside}", f"{directory}/", f"{directory.parent}/./{directory.name}", f"file:{directory}", str(link)]

        whole = DATASET + ",domain=g"
        for kind in ("toc", "stepstore"):
            archive = self.archive(kind)
            places = [archive.folder / name for name in ("first", "second")]
            if kind == "toc":
                for place in places:
                    place.mkdir()
                archive.roots = places
            else:
                archive.section = {"pools": list(map(str, places))}
            archive.write(*forecast())
            (archive.folder / "elsewhere").mkdir()
            with self.assertRaises(ToolFailed):
                archive.run("fdb-move", "--dest=./elsewhere", whole)
            archive.output("fdb-unlock", "--archive", "--wipe", whole)
            for back, forth in zip(spellings(places[0]), spellings(places[1])):
                for destination, place in ((forth, places[1]), (back, places[0])):
                    archive.output("fdb-move", f"--dest={destination}", whole)
                    where = archive.output("fdb-where", whole).split()
                    self.assertTrue(len(where) == 1 and where[0].startswith(f"{place}/"), f"{kind}, {destination}: {where}")
            self.assertEqual(len(archive.listed(DATASET)), 8)

    # A pool of the list that is not there yet is passed over by readers and writers, as FDB passes over its roots.
    def test_one_of_the_pools_is_missing(self):
        def script(archive, missing, there):
            archive.write(*forecast())
            archive.write(*forecast(steps=(12,)))
            listed = archive.listed(DATASET)
            archive.output("fdb-purge", "--doit", DATASET)
            read = archive.read(WHOLE + ",step=12,levelist=500,param=130")
            where = [place.startswith(str(there)) for place in archive.output("fdb-where", DATASET).split()]
            archive.output("fdb-wipe", "--doit", DATASET)
            return listed, read, where, missing.exists(), archive.listed(DATASET)

        for name in ("second", "also/second"):
            answers = []
            for kind in ("toc", "stepstore", "fdbs-client", "our-catalogue"):
                archive = self.archive(kind)
                missing = archive.folder / name
                archive.roots.append(missing)
                archive.section = {"pools": [str(archive.pool), str(missing)]}
                there = archive.roots[0] if kind == "toc" else archive.pool
                answers.append(script(archive, missing, there))
            for answer in answers:
                self.assertEqual(answer, answers[0])
            self.assertEqual(answers[0][2:4], ([True], False))

    def two_places(self, kind, *entries, **section):
        """An archive whose pools, or roots, are those entries of "first" and "second"."""
        archive = self.archive(kind)
        archive.places = [archive.folder / name for name in ("first", "second")]
        if kind == "toc":
            for place in archive.places:
                place.mkdir()
        self.configure(archive, *entries, **section)
        return archive

    def configure(self, archive, *entries, **section):
        entries = [{**entry, "path": str(archive.folder / entry["path"])} for entry in entries]
        archive.section = {"pools": entries, **section}
        config = {**Archive.config(archive), "spaces": [{"roots": entries}]}
        archive.config = lambda: config

    # What a flag keeps from the datasets of a place is what it keeps from those of FDB's roots.
    def test_flags_of_a_pool(self):
        requests = [{}, {"list": False}, {"retrieve": False}, {"visit": False}, {"archive": False}, {"writable": False}]
        answers = {}
        for kind in ("toc", "stepstore", "fdbs-client"):
            answers[kind] = []
            for flags in requests:
                archive = self.two_places(kind, {"path": "second"})
                archive.write(*forecast())
                self.configure(archive, {"path": "first"}, {"path": "second", **flags})
                file = archive.folder / "fields.grib"
                status, _, errors = archive.run("fdb-write", file, check=False)
                read = archive.read(WHOLE + ",step=6,levelist=500,param=130")
                where = [place.replace(str(archive.folder), "") for place in archive.run("fdb-where", "--ignore-errors", DATASET, check=False)[1].split()]
                answers[kind].append((flags, status, "LOCKED against archiving" in errors, len(archive.listed(DATASET)), len(read), [name.split("/")[1] for name in where]))
        for kind, answer in answers.items():
            self.assertEqual(answer, answers["toc"], kind)

    def test_a_pool_that_may_not_be_wiped(self):
        archive = self.two_places("stepstore", {"path": "first", "wipe": False})
        archive.write(*forecast())
        archive.run("fdb-wipe", "--doit", DATASET, check=False)
        self.assertEqual(len(archive.listed(DATASET)), 8)

    def test_a_rule_that_spreads_datasets(self):
        for handler in ("Random", "RoundRobin", "WeightedRandom", "LeastUsed"):
            archive = self.two_places("stepstore", {"path": "first"}, {"path": "second"}, handler=handler)
            messages = [grib(expver=f"{number:04}") for number in range(24)]
            archive.write(*messages)
            where = [archive.output("fdb-where", f"class=rd,expver={number:04}").split() for number in range(0, 24, 3)]
            self.assertTrue(all(len(places) == 1 for places in where), where)
            if handler == "RoundRobin":
                self.assertTrue(all(place.exists() for place in archive.places))
            archive.write(*messages)  # goes to where they are
            self.assertEqual(sum(len(archive.listed(f"class=rd,expver={number:04}")) for number in range(0, 24, 6)), 4)

    def test_a_pool_for_some_datasets_only(self):
        archive = self.two_places("stepstore", {"path": "second", "regex": "rd:aaaa:.*"}, {"path": "first"})
        archive.write(grib(expver="aaaa"), grib(expver="bbbb"))
        for expver, place in (("aaaa", archive.places[1]), ("bbbb", archive.places[0])):
            self.assertTrue(archive.output("fdb-where", f"class=rd,expver={expver}").startswith(f"{place}/"))

    # Of writers that make a dataset at once each would choose for itself.
    def test_writers_that_choose_at_once(self):
        archive = self.two_places("stepstore", {"path": "first"}, {"path": "second"}, handler="Random")
        processes = []
        for number in range(6):
            file = archive.folder / f"{number}.grib"
            file.write_bytes(b"".join(grib(step=number, expver=f"{expver:04}") for expver in range(8)))
            processes.append(subprocess.Popen([TOOLS / "fdb-write", file], env=archive.environment(), stdout=subprocess.DEVNULL))
        for process in processes:
            self.assertEqual(process.wait(), 0)
        for expver in range(8):
            self.assertEqual(len(archive.output("fdb-where", f"class=rd,expver={expver:04}").split()), 1)
            self.assertEqual(len(archive.listed(f"class=rd,expver={expver:04}")), 6)

    def test_what_fdb_keeps_to_its_files(self):
        archive = self.archive()
        archive.write(*forecast())
        whole = DATASET + ",domain=g"
        self.refused(archive, ["Only TOC DBs currently supported"], "fdb-hide", "--doit", whole)
        self.refused(archive, ["Only TOC DBs currently supported"], "fdb-overlay", whole, whole.replace("xxxx", "yyyy"))
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
        archive.write(*[grib(date=20260101 + day, expver=f"{number:04}") for number in range(20) for day in range(20)])
        self.assertEqual(len(archive.output("fdb-where", "--ignore-errors", "class=rd,expver=0007").split()), 20)
        self.assertEqual(len(archive.listed("class=rd,expver=0007,date=20260105")), 1)

    def test_stepstore_reads_what_process_indexes_wrote(self):
        archive = self.archive(index="process", asynchronous=True, packBelow=0, inFlight="1MiB", verify=False, targets=4, durability="power")
        archive.write(*forecast())
        archive.write(*forecast(steps=(6, 12)))
        self.assertEqual(len(archive.listed(DATASET)), 12)
        self.assertEqual(archive.read(WHOLE + ",step=12,levelist=500,param=130"), forecast(steps=(12,))[0])


if __name__ == "__main__":
    unittest.main()
