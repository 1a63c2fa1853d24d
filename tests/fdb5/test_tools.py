"""FDB's own tools, the same commands on FDB's files and on ours, and what they say compared."""

import json
import re
import unittest

from support import Archive, Compared, grib

DATASET = "class=rd,expver=xxxx,stream=oper,date=20260101,time=0000"
WHOLE = DATASET + ",domain=g,type=fc,levtype=pl"

# For what the catalogue alone decides. Where the store has a part in it, all kinds are compared.
OF_THE_CATALOGUE = ("stepstore", "fdbs-client")


def forecast(steps=(0, 6), levels=(500, 850), params=(130, 131), **keys):
    return [grib(step=s, levelist=l, param=p, **keys) for s in steps for l in levels for p in params]


class OnEveryKind(Compared):
    def test_write_list_read(self):
        messages = forecast()

        def script(archive):
            archive.write(*messages)
            return archive.listed(DATASET), archive.read(WHOLE + ",step=0/6,levelist=500/850,param=130/131")

        listed, read = self.compare(script)
        self.assertEqual(len(listed), 8)
        self.assertEqual(read, b"".join(messages))

    def test_lists_of_parts(self):
        messages = forecast() + forecast(type="an", steps=(0,)) + forecast(expver="yyyy", steps=(12,))

        def script(archive):
            archive.write(*messages)
            return [
                archive.listed(request, *arguments)
                for request, arguments in [
                    ("class=rd,expver=xxxx", ()),
                    ("class=rd,expver=yyyy", ()),
                    ("class=rd,expver=zzzz", ("--ignore-errors",)),
                    (DATASET + ",type=an", ()),
                    (DATASET + ",type=fc,step=6,levelist=500", ()),
                    (DATASET + ",param=131", ()),
                    (DATASET + ",param=999", ("--ignore-errors",)),
                    (DATASET, ("--depth=1",)),
                    (DATASET, ("--depth=2",)),
                ]
            ]

        counts = [len(listed) for listed in self.compare(script, OF_THE_CATALOGUE)]
        self.assertEqual(counts[:7], [12, 4, 0, 4, 2, 6, 0])

    def test_axes(self):
        def script(archive):
            archive.write(*forecast(), *forecast(steps=(24,), levels=(1000,)))
            return archive.output("fdb-axes", DATASET), archive.output("fdb-axes", "--json", DATASET)

        self.assertIn("step=(0,24,6)", self.compare(script, OF_THE_CATALOGUE)[0])

    # Of what was flushed together FDB's files have the axes as one; so each flush here is of one step, level
    # and parameter.
    def test_axes_and_indexes_of_the_fields_that_match(self):
        def script(archive):
            for step, level, param in [(6, 500, 130), (6, 850, 131), (9, 500, 132), (12, 1000, 130)]:
                archive.write(*forecast(steps=(step,), levels=(level,), params=(param,)))
            archive.write(
                *forecast(steps=(9,), levels=(850,), params=(130,), type="an"),
                *forecast(steps=(9,), expver="yyyy"),
            )
            requests = [
                "step=6",
                "step=6/12",
                "levelist=500",
                "param=130",
                "step=6,param=131",
                "step=6,param=132",
                "step=7",
                "type=an",
                "step=09",
            ]
            return [
                (
                    request,
                    archive.output("fdb-axes", f"{DATASET},{request}"),
                    archive.listed(f"{DATASET},{request}", "--depth=2", "--ignore-errors"),
                )
                for request in requests
            ]

        seen = {request: (axes, indexes) for request, axes, indexes in self.compare(script, OF_THE_CATALOGUE)}
        self.assertIn("step=(6)", seen["step=6"][0])
        self.assertEqual(
            [
                len(seen[request][1])
                for request in ("step=6", "step=6,param=131", "step=6,param=132", "step=7")
            ],
            [1, 1, 0, 0],
        )

    def test_axes_after_a_purge_are_those_of_the_fields_that_match(self):
        for kind in ("stepstore", "fdbs-client"):
            archive = Archive(kind)
            self.addCleanup(archive.close)
            for step, param in [(6, 130), (9, 131), (12, 130), (12, 130)]:
                archive.write(*forecast(steps=(step,), levels=(500,), params=(param,)))
            archive.output("fdb-purge", "--doit", DATASET)
            for request, step, param, indexes in [
                ("step=6", "6", "130", 1),
                ("param=130", "12,6", "130", 1),
                ("step=6,param=131", "", "", 0),
            ]:
                axes = archive.output("fdb-axes", f"{DATASET},{request}")
                self.assertEqual(
                    re.findall(r"(?:step|param)=\(([^)]*)\)", axes), [param, step] if step else [], axes
                )
                self.assertEqual(
                    len(archive.listed(f"{DATASET},{request}", "--depth=2", "--ignore-errors")), indexes
                )

    def test_inspect_and_url(self):
        messages = forecast()

        def script(archive):
            archive.write(*messages)
            request = archive.folder / "wanted"
            request.write_text(f"retrieve,{WHOLE},step=6,levelist=500/850,param=130\n")
            by_uri = archive.folder / "by-uri"
            archive.output("fdb-url", "--uri", request, by_uri)
            extracted = archive.folder / "extracted"
            archive.output("fdb-read", "--extract", archive.folder / "fields.grib", extracted)
            return by_uri.read_bytes(), extracted.read_bytes()

        by_uri, extracted = self.compare(script)
        self.assertEqual(by_uri, messages[4] + messages[6])
        self.assertEqual(sorted(extracted), sorted(b"".join(messages)))

    def test_inspect_patch_and_compare(self):
        def script(archive):
            archive.write(*forecast())
            one = archive.output("fdb-inspect", WHOLE + ",step=0/6,levelist=500,param=130/999")
            archive.output("fdb-patch", "--expver=pppp", DATASET)
            config = archive.folder / "config.json"
            config.write_text(json.dumps(archive.config()))
            same = archive.run(
                "fdb-compare",
                f"--config1={config}",
                f"--config2={config}",
                f"--request1={DATASET}",
                f"--request2={DATASET}",
                check=False,
            )
            return one, archive.listed(DATASET.replace("xxxx", "pppp")), same[0], archive.output("fdb-schema")

        inspected, patched, status, _ = self.compare(script)
        self.assertIn("Number of elements: 2", inspected)
        self.assertEqual((len(patched), status), (8, 0))

    # The types of a schema are looked at when a keyword of theirs is: also where an archive that failed has
    # left nothing.
    def test_unknown_types_in_a_schema(self):
        def script(archive):
            answers = []
            good = archive.schema.read_text()
            unused = "\n[ class, expver, stream=wave, date, foo [ type [ step ]]]\n"
            archive.schema.write_text("foo: Nope;\n" + good + unused)
            archive.write(*forecast())
            answers.append(archive.read(WHOLE + ",step=0,levelist=500,param=130"))
            for keyword in ("levtype", "date"):
                archive.schema.write_text(f"{keyword}: Nope;\n" + good.replace("date: Date;\n", ""))
                file = archive.folder / "fields.grib"
                file.write_bytes(b"".join(forecast(expver=keyword[:4])))
                for tool, argument in [
                    ("fdb-write", file),
                    ("fdb-inspect", WHOLE.replace("xxxx", keyword[:4]) + ",step=0,levelist=500,param=130"),
                ]:
                    status, _, errors = archive.run(tool, argument, check=False)
                    answers.append((keyword, tool, status, "No TypesFactory called Nope" in errors))
            return answers

        self.assertEqual(
            [answer[2:] for answer in self.compare(script, OF_THE_CATALOGUE)[1:]], [(1, True)] * 4
        )

    def test_missing_fields_are_no_error_of_ours(self):
        def script(archive):
            archive.write(*forecast(steps=(0,)))
            return archive.read(WHOLE + ",step=0/6/12,levelist=500/700,param=130")

        self.assertEqual(self.compare(script, OF_THE_CATALOGUE), forecast(steps=(0,))[0])

    def test_archiving_again_replaces(self):
        old = forecast()
        new = grib(step=0, levelist=500, param=130, values=[float(n) for n in range(496)])

        def script(archive):
            archive.write(*old)
            archive.write(new)
            numbers = json.loads(archive.output("fdb-stats", "--json", DATASET))
            before = {
                key: numbers[key]
                for key in ("fields", "fieldsSize", "duplicates", "duplicatesSize", "reachable", "databases")
            }
            return archive.listed(DATASET), archive.read(WHOLE + ",step=0,levelist=500,param=130"), before

        listed, read, numbers = self.compare(script)
        self.assertEqual(len(listed), 8)
        self.assertEqual(read, new)
        self.assertEqual((numbers["fields"], numbers["duplicates"], numbers["reachable"]), (9, 1, 8))

    def test_replaced_fields(self):
        newer = [grib(step=0, levelist=500, param=130, values=[float(n)] * 496) for n in range(3)]

        def script(archive):
            archive.write(*forecast(), *forecast(expver="yyyy"), *forecast(type="an", steps=(0,)))
            for message in newer:
                archive.write(message)
            archive.write(*forecast(steps=(6,), levels=(500,)))

            def lists():
                return [
                    archive.listed(request, *arguments)
                    for request in (DATASET, DATASET + ",step=0")
                    for arguments in ([], ["--full"], ["--only-duplicates"])
                ]

            before = lists()
            lengths = archive.output(
                "fdb-list", "--full", "--length", DATASET + ",step=0,levelist=500,param=130"
            ).count("length=")
            archive.output("fdb-wipe", "--doit", DATASET + ",type=fc,levtype=pl")
            wiped = lists()
            archive.write(newer[0])
            return before, lengths, wiped, lists(), archive.read(WHOLE + ",step=0,levelist=500,param=130")

        before = self.compare(script)[0]
        self.assertEqual([len(listed) for listed in before], [12, 17, 5, 8, 11, 3])

    def test_locks(self):
        def script(archive):
            archive.write(*forecast())
            seen = []
            for what in ("list", "retrieve", "archive", "wipe"):
                archive.output("fdb-lock", f"--{what}", DATASET)
                seen.append(re.findall(r"(\w+): LOCKED", archive.output("fdb-status", DATASET)))
                seen.append(len(archive.listed(DATASET)))
                seen.append(len(archive.read(WHOLE + ",step=0,levelist=500,param=130")))
                status, _, errors = archive.run("fdb-write", archive.folder / "fields.grib", check=False)
                seen.append((status, "LOCKED against archiving" in errors))
                archive.run("fdb-wipe", "--doit", DATASET, check=False) if what == "wipe" else None
                archive.output("fdb-unlock", f"--{what}", DATASET)
            seen.append(re.findall(r"(\w+): LOCKED", archive.output("fdb-status", DATASET)))
            return seen, archive.listed(DATASET)

        seen, listed = self.compare(script)
        self.assertEqual(seen[:4], [["list"], 0, len(forecast()[0]), (0, False)])
        self.assertEqual(len(listed), 8)

    def test_wipe_of_a_part_and_of_all(self):
        messages = forecast() + forecast(type="an", steps=(0,)) + forecast(expver="yyyy")

        def script(archive):
            archive.write(*messages)
            lists = []
            for wiped in (DATASET + ",type=fc,levtype=pl", DATASET):
                dry = archive.output("fdb-wipe", wiped)
                self.assertIn("URIs to delete", dry)
                lists.append(archive.listed("class=rd,expver=xxxx") + archive.listed("class=rd,expver=yyyy"))
                archive.output("fdb-wipe", "--doit", wiped)
                lists.append(archive.listed("class=rd,expver=xxxx") + archive.listed("class=rd,expver=yyyy"))
                lists.append(
                    archive.read(
                        WHOLE.replace("type=fc", "type=an") + ",step=0,levelist=500/850,param=130/131"
                    )
                )
                lists.append(
                    archive.read(
                        "class=rd,expver=yyyy"
                        + WHOLE[len("class=rd,expver=xxxx") :]
                        + ",step=0,levelist=500,param=130"
                    )
                )
            archive.write(*messages[:2])
            lists.append(archive.listed(DATASET))
            return lists

        lists = self.compare(script)
        self.assertEqual([len(lists[at]) for at in (0, 1, 4, 5, 8)], [20, 12, 12, 8, 2])
        self.assertEqual(lists[2], b"".join(messages[8:12]))

    def test_purge(self):
        def script(archive):
            archive.write(*forecast())
            archive.write(*forecast())
            archive.output("fdb-purge", DATASET)
            archive.output("fdb-purge", "--doit", DATASET)
            numbers = json.loads(archive.output("fdb-stats", "--json", DATASET))
            return (
                numbers["fields"],
                numbers["duplicates"],
                archive.listed(DATASET),
                archive.read(WHOLE + ",step=6,levelist=500,param=130"),
            )

        self.assertEqual(self.compare(script, ("stepstore", "our-catalogue"))[:2], (8, 0))

    def test_copy_between_kinds(self):
        messages = forecast()
        request = WHOLE + ",step=0/6,levelist=500/850,param=130/131"
        for source, target in [("toc", "stepstore"), ("stepstore", "toc"), ("our-catalogue", "stepstore")]:
            with self.subTest(source=source, target=target):
                archives = Archive(source), Archive(target)
                archives[0].write(*messages)
                for archive, name in zip(archives, ("source", "target")):
                    self.addCleanup(archive.close)
                    (archives[0].folder / f"{name}.json").write_text(json.dumps(archive.config()))
                archives[0].output(
                    "fdb-copy",
                    f"--source={archives[0].folder}/source.json",
                    f"--target={archives[0].folder}/target.json",
                    "--from-list",
                    DATASET,
                )
                self.assertEqual(archives[1].listed(DATASET), archives[0].listed(DATASET))
                self.assertEqual(sorted(archives[1].read(request)), sorted(b"".join(messages)))

    def test_reindex_keeps_the_bytes_where_they_are(self):
        for source, target in [("toc", "our-catalogue"), ("stepstore", "stepstore")]:
            with self.subTest(source=source, target=target):
                archives = Archive(source), Archive(target)
                archives[0].write(*forecast())
                for archive, name in zip(archives, ("source", "sink")):
                    self.addCleanup(archive.close)
                    (archives[0].folder / f"{name}.json").write_text(json.dumps(archive.config()))
                archives[0].output(
                    "fdb-reindex",
                    f"--source-config={archives[0].folder}/source.json",
                    f"--sink-config={archives[0].folder}/sink.json",
                    DATASET,
                )
                self.assertEqual(archives[1].listed(DATASET), archives[0].listed(DATASET))
                self.assertEqual(archives[1].read(WHOLE + ",step=6,levelist=500,param=130"), forecast()[4])
                self.assertIn(str(archives[0].folder), archives[1].output("fdb-list", "--location", DATASET))
                if source == "stepstore":  # the bytes belong to the first archive
                    archives[1].output("fdb-wipe", "--doit", DATASET)
                    self.assertEqual(archives[1].listed(DATASET), [])
                    self.assertEqual(
                        archives[0].read(WHOLE + ",step=6,levelist=500,param=130"), forecast()[4]
                    )

    def test_an_archive_that_was_not_made_yet_is_empty(self):
        def script(archive):
            answers = []
            whole = DATASET + ",domain=g"
            for tool, *arguments in [
                ("fdb-list", DATASET),
                ("fdb-list", "--depth=1", DATASET),
                ("fdb-list", "--depth=2", DATASET),
                ("fdb-axes", DATASET),
                ("fdb-status", DATASET),
                ("fdb-stats", DATASET),
                ("fdb-where", DATASET),
                ("fdb-purge", DATASET),
                ("fdb-purge", "--doit", DATASET),
                ("fdb-wipe", DATASET),
                ("fdb-wipe", "--doit", DATASET),
                ("fdb-lock", "--list", DATASET),
                ("fdb-dump", DATASET),
                ("fdb-inspect", WHOLE + ",step=0,levelist=500,param=130"),
                ("fdb-root", whole),
                ("fdb-info", "--all"),
                ("fdb-move", f"--dest={archive.folder}/elsewhere", whole),
            ]:
                status, output, errors = archive.run(tool, *arguments, check=False)
                said = [
                    line.replace(str(archive.folder), "")
                    for line in output.splitlines() + errors.splitlines()
                ]
                answers.append(
                    (
                        tool,
                        status,
                        [line for line in said if not line.startswith("Stepstore: there is no pool ")],
                    )
                )
            answers.append(archive.read(WHOLE + ",step=0,levelist=500,param=130"))
            self.assertFalse(archive.pool.exists(), "reading made a pool")
            return answers

        self.compare(script)

    # On files a list has the newest flush first. Here it goes by key, whatever the order of archiving, and
    # after a purge too (docs/design/fields.md).
    def test_order_of_a_list(self):
        flushes = [
            forecast(steps=(step,), params=(param,), type=kind, date=date)
            for step, param, kind, date in [
                (6, 131, "fc", 20260102),
                (0, 130, "fc", 20260101),
                (6, 131, "an", 20260101),
                (6, 130, "fc", 20260101),
                (0, 131, "fc", 20260101),
            ]
        ]

        def order(archive, *arguments):
            lines = archive.output(
                "fdb-list", "--porcelain", *arguments, "class=rd,expver=xxxx,date=20260101/20260102"
            ).splitlines()
            return [line for line in lines if line.startswith("{")]

        for kind in OF_THE_CATALOGUE:
            seen = []
            for archived in (flushes, flushes[::-1]):
                archive = Archive(kind)
                self.addCleanup(archive.close)
                for messages in archived:
                    archive.write(*messages)
                seen.append(order(archive))
                for messages in archived[2:]:
                    archive.write(*messages)
                seen.append(order(archive))
                archive.output("fdb-purge", "--doit", DATASET)
                seen.append(order(archive))
            self.assertEqual(seen[0], sorted(seen[0]), kind)
            self.assertEqual(len(seen[0]), 10)
            for other in seen[1:]:
                self.assertEqual(other, seen[0], kind)

    # Of the entries of one field the newest comes first: the one that a list without --full has.
    def test_order_of_a_fields_entries(self):
        archive = Archive("stepstore")
        self.addCleanup(archive.close)
        one = forecast(steps=(0,), levels=(500,), params=(130,))
        for _ in range(3):
            archive.write(*one)
        located = [
            [
                line
                for line in archive.output("fdb-list", "--location", *full, DATASET).splitlines()
                if "{" in line
            ]
            for full in ((), ("--full",))
        ]
        self.assertEqual((len(located[0]), len(located[1])), (1, 3))
        self.assertEqual(located[1][0], located[0][0])

    def test_root_where_status_info(self):
        def script(archive):
            archive.write(*forecast())
            archive.output("fdb-root", "--create", DATASET.replace("xxxx", "new") + ",domain=g")
            found = archive.output("fdb-where", DATASET).split()
            self.assertEqual(len(found), 1)
            self.assertTrue(found[0].startswith(str(archive.folder)), found)
            self.assertIn(found[0], archive.output("fdb-root", DATASET + ",domain=g"))
            self.assertIn(found[0], archive.output("fdb-status", DATASET))
            return (
                archive.listed("class=rd,expver=new", "--ignore-errors"),
                len(archive.output("fdb-where", "class=rd,expver=new").split()),
                archive.output("fdb-info", "--schema").replace(str(archive.folder), ""),
            )

        self.assertEqual(self.compare(script, OF_THE_CATALOGUE)[1], 1)


if __name__ == "__main__":
    unittest.main()
