"""Several pools in one configuration, as FDB's roots are: moving between them, their flags, and which one
gets a dataset."""

import os
import subprocess
import time
import unittest
from random import Random

from support import TOOLS, Archive, Archives, ToolFailed, grib
from test_tools import DATASET, WHOLE, forecast


class PoolsTest(Archives):
    def test_move(self):
        archive = self.archive()
        second = archive.folder / "second"
        archive.section = {"pool": str(second)}
        archive.write(grib(expver="zzzz"))  # makes the second pool
        archive.section = {"pools": [str(archive.pool), str(second)]}
        messages = forecast()
        archive.write(*messages)
        whole = DATASET + ",domain=g"
        self.refused(
            archive, ["must be one of stepstore.pools", str(second)], "fdb-move", "--dest=/elsewhere", whole
        )
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

    # Killed at any moment, also between the copy and the wipe of the source: one of the two is shown, and the
    # same move again ends as one that was not killed.
    def test_a_killed_move_is_finished_by_the_next(self):
        whole = DATASET + ",domain=g"
        messages = forecast()
        random = Random(7)
        seen = set()
        for attempt in range(8):
            archive = self.archive()
            second = archive.folder / "second"
            archive.section = {"pool": str(second)}
            archive.write(grib(expver="zzzz"))  # makes the second pool
            archive.section = {"pools": [str(archive.pool), str(second)]}
            archive.write(*messages)
            move = ["fdb-move", f"--dest={second}", whole]
            process = subprocess.Popen(
                [TOOLS / move[0], "--delay=100", *move[1:]],
                env=archive.environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            with process:
                if attempt % 2:  # the copy is there, and the source is not wiped before 100 s
                    while str(second) not in archive.output("fdb-where", whole):
                        self.assertIsNone(process.poll())
                    time.sleep(random.random() / 10)
                else:
                    time.sleep(random.random() / 4)
                process.kill()
            where = archive.output("fdb-where", whole).split()
            self.assertEqual(len(where), 1, where)
            seen.add(where[0].startswith(str(second)))
            self.assertEqual(len(archive.listed(DATASET)), 8)
            archive.output(*move)
            where = archive.output("fdb-where", whole).split()
            self.assertEqual([place.startswith(str(second)) for place in where], [True])
            self.assertEqual(
                archive.read(WHOLE + ",step=0/6,levelist=500/850,param=130/131"), b"".join(messages)
            )
            archive.write(*forecast(steps=(12,)))  # nothing is locked
            self.assertEqual(len(archive.listed(DATASET)), 12)
            # No container is left. FDB calls it an error if there is nothing to purge.
            _, left, _ = archive.run("fdb-purge", "--doit", "--porcelain", DATASET, check=False)
            self.assertNotIn("fields-", left)
        self.assertEqual(seen, {True, False})

    # As FDB compares its roots: where they lead, not how they are written.
    def test_move_to_a_path_of_any_spelling(self):
        def spellings(directory):
            link = directory.parent / f"link-to-{directory.name}"
            link.symlink_to(directory)
            inside = os.path.relpath(directory)
            return [
                inside,
                f"./{inside}",
                f"{directory}/",
                f"{directory.parent}/./{directory.name}",
                f"file:{directory}",
                str(link),
            ]

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
                    self.assertTrue(
                        len(where) == 1 and where[0].startswith(f"{place}/"),
                        f"{kind}, {destination}: {where}",
                    )
            self.assertEqual(len(archive.listed(DATASET)), 8)

    # A pool of the list that is not there yet is passed over by readers and writers, as FDB passes over its
    # roots.
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
        requests = [
            {},
            {"list": False},
            {"retrieve": False},
            {"visit": False},
            {"archive": False},
            {"writable": False},
        ]
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
                where = [
                    place.replace(str(archive.folder), "")
                    for place in archive.run("fdb-where", "--ignore-errors", DATASET, check=False)[1].split()
                ]
                answers[kind].append(
                    (
                        flags,
                        status,
                        "LOCKED against archiving" in errors,
                        len(archive.listed(DATASET)),
                        len(read),
                        [name.split("/")[1] for name in where],
                    )
                )
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
            where = [
                archive.output("fdb-where", f"class=rd,expver={number:04}").split()
                for number in range(0, 24, 3)
            ]
            self.assertTrue(all(len(places) == 1 for places in where), where)
            if handler == "RoundRobin":
                self.assertTrue(all(place.exists() for place in archive.places))
            archive.write(*messages)  # goes to where they are
            self.assertEqual(
                sum(len(archive.listed(f"class=rd,expver={number:04}")) for number in range(0, 24, 6)), 4
            )

    # They compare disks under a lock of one machine.
    def test_no_rule_spreads_over_pools_in_files(self):
        archive = self.archive()
        first, second = (archive.folder / name for name in ("first", "second"))
        archive.section = {"pool": f"shared:{second}"}
        archive.write(*forecast())
        file = archive.folder / "fields.grib"
        for handler in ("Random", "RoundRobin", "WeightedRandom", "LeastUsed"):
            for names in ([f"shared:{first}", f"shared:{second}"], [str(first), str(second)]):
                archive.section = {"pools": [{"path": name} for name in names], "handler": handler}
                words = [f"handler {handler}", "in files", "take the handler Default"]
                self.refused(archive, words, "fdb-write", file)
        self.assertFalse(first.exists())
        archive.section = {"pools": [{"path": f"shared:{first}"}, {"path": f"shared:{second}"}]}
        archive.write(*forecast(steps=(12,)))  # goes to where the dataset is
        self.assertEqual(len(archive.listed(DATASET)), 12)
        self.assertFalse(first.exists())

    # The file system does not verify what it gives back.
    def test_a_damaged_field_in_files_is_told(self):
        for kind in ("stepstore", "fdbs-client"):
            archive = self.archive(kind)
            archive.section = {"pool": f"shared:{archive.pool}"}
            archive.write(*forecast())
            request = WHOLE + ",step=0/6,levelist=500/850,param=130/131"
            self.assertEqual(len(archive.read(request)), len(b"".join(forecast())))
            damaged = 0
            for file in archive.pool.glob("*/containers/*/data/*/*"):
                if file.is_file() and b"GRIB" in file.read_bytes():
                    content = bytearray(file.read_bytes())
                    content[content.index(b"GRIB") + 60] ^= 1
                    file.write_bytes(content)
                    damaged += 1
            self.assertGreater(damaged, 0)
            (archive.folder / "request").write_text(f"retrieve,{request}\n")
            self.refused(
                archive, ["checksum"], "fdb-read", archive.folder / "request", archive.folder / "read.grib"
            )

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
            processes.append(
                subprocess.Popen(
                    [TOOLS / "fdb-write", file], env=archive.environment(), stdout=subprocess.DEVNULL
                )
            )
        for process in processes:
            self.assertEqual(process.wait(), 0)
        for expver in range(8):
            self.assertEqual(len(archive.output("fdb-where", f"class=rd,expver={expver:04}").split()), 1)
            self.assertEqual(len(archive.listed(f"class=rd,expver={expver:04}")), 6)


if __name__ == "__main__":
    unittest.main()
