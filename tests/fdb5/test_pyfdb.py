"""pyfdb on FDB's files and on ours, the same calls compared."""

import ctypes
import itertools
import os
import random
import unittest

import pyfdb
from support import KINDS, Archive, Compared
from test_tools import DATASET, forecast

SELECTION = dict(pair.split("=") for pair in DATASET.split(","))
IDENTIFIER = {
    **SELECTION,
    "domain": "g",
    "type": "fc",
    "levtype": "pl",
    "step": "0",
    "levelist": "500",
    "param": "130",
}


class PyfdbTest(Compared):
    def compare(self, script, kinds=tuple(KINDS)):
        return super().compare(lambda archive: script(lambda: pyfdb.FDB(archive.config())), kinds)

    def test_archive_list_retrieve(self):
        messages = forecast()

        def script(open_fdb):
            with open_fdb() as fdb:
                for message in messages:
                    fdb.archive(message)
                fdb.flush()
                keys = {str(element.combined_key()) for element in fdb.list(SELECTION)}
            with open_fdb() as fdb, fdb.retrieve({**IDENTIFIER, "step": "0/6", "param": "130/131"}) as handle:
                return len(keys), handle.read()

        self.assertEqual(self.compare(script), (8, messages[0] + messages[1] + messages[4] + messages[5]))

    def test_what_is_no_grib(self):
        data = bytes(range(256)) * 40

        def script(open_fdb):
            with open_fdb() as fdb:
                fdb.archive(data, IDENTIFIER)
                fdb.flush()
            with open_fdb() as fdb, fdb.retrieve(IDENTIFIER) as handle:
                return handle.read()

        self.assertEqual(self.compare(script), data)

    def test_nothing_is_seen_before_the_flush(self):
        def script(open_fdb):
            writer, reader = open_fdb(), open_fdb()
            writer.archive(forecast()[0])
            writer.flush()
            writer.archive(forecast()[1])
            before = len(list(open_fdb().list(SELECTION)))
            writer.flush()
            return before, len(list(open_fdb().list(SELECTION))), len(list(reader.list(SELECTION)))

        self.assertEqual(self.compare(script), (1, 2, 2))

    # FDB's files show a reader that stays only what was there when it first looked.
    def test_a_reader_that_stays_sees_what_comes(self):
        archive = Archive("stepstore")
        self.addCleanup(archive.close)
        writer, reader = pyfdb.FDB(archive.config()), pyfdb.FDB(archive.config())
        for step, message in ((0, forecast()[0]), (6, forecast()[4])):
            writer.archive(message)
            writer.flush()
            with reader.retrieve({**IDENTIFIER, "step": str(step)}) as handle:
                self.assertEqual(handle.read(), message)
        list(writer.wipe(SELECTION, doit=True))
        writer = pyfdb.FDB(archive.config())
        writer.archive(forecast()[1])
        writer.flush()
        with reader.retrieve({**IDENTIFIER, "param": "131"}) as handle:
            self.assertEqual(handle.read(), forecast()[1])

    # On files a retrieve that found nothing is not tried again.
    def test_a_reader_that_was_there_before_the_pool(self):
        for kind in ("stepstore", "fdbs-client", "our-catalogue"):
            archive = Archive(kind)
            self.addCleanup(archive.close)
            reader = pyfdb.FDB(archive.config())

            def seen():
                with reader.retrieve(IDENTIFIER) as handle:
                    read = handle.read()
                return (
                    len(list(reader.list(SELECTION))),
                    len(list(reader.inspect(IDENTIFIER))),
                    len(list(reader.status(SELECTION))),
                    read,
                )

            self.assertEqual(seen(), (0, 0, 0, b""), kind)
            self.assertFalse(archive.pool.exists(), "reading made a pool")
            archive.write(*forecast())
            self.assertEqual(seen(), (8, 1, 1, forecast()[0]), kind)

    # Whole fields and pieces of them. A machine with old bytes of a file is played by the file: it is mended
    # after the first read of the wrong byte (tests/support/old_bytes.h).
    def test_old_bytes_of_a_field_in_files_are_read_again(self):
        archive = Archive("stepstore")
        self.addCleanup(archive.close)
        archive.section = {"pool": f"shared:{archive.pool}"}
        archive.write(*forecast())
        data = [path for path in archive.pool.glob("*/containers/*/data/*/*") if path.is_file()]
        (file,) = [path for path in data if b"GRIB" in path.read_bytes()]
        right = file.read_bytes()
        place = right.index(forecast()[0]) + 60
        wrong = right[:place] + bytes([right[place] ^ 1]) + right[place + 1 :]
        reads = []
        mended = True

        class Call(ctypes.Structure):
            _fields_ = [
                ("kind", ctypes.c_int),
                ("fd", ctypes.c_int),
                ("path", ctypes.c_char_p),
                ("start", ctypes.c_char_p),
                ("at", ctypes.c_uint64),
                ("bytes", ctypes.c_uint64),
            ]

        @ctypes.CFUNCTYPE(None, ctypes.POINTER(Call))
        def watch(pointer):
            call, read = pointer.contents, 6
            if call.kind != read or not call.at <= place < call.at + call.bytes:
                return
            if os.fstat(call.fd).st_ino == file.stat().st_ino:
                reads.append(file.read_bytes() == wrong)
                if mended:
                    file.write_bytes(right)

        library = ctypes.CDLL(os.path.join(os.environ["DYNAMIC_LIBRARY_PATH"], "libstepstore_daos.so"))
        library.stepstore_watch_file_calls(watch)
        self.addCleanup(library.stepstore_watch_file_calls, None)
        for mended in (True, False):
            for pieces in (len(right), 50):
                file.write_bytes(wrong)
                reads.clear()
                found = bytearray()
                with pyfdb.FDB(archive.config()).retrieve(IDENTIFIER) as handle:
                    try:
                        while piece := handle.read(pieces):
                            found += piece
                    except Exception as error:
                        self.assertIn("checksum", str(error))
                        self.assertEqual((mended, found), (False, b""))
                        self.assertEqual(reads, [True, True])
                    else:
                        # pyfdb fills the last piece up with zeros.
                        self.assertEqual((mended, found[: len(forecast()[0])]), (True, forecast()[0]))
                        self.assertEqual(reads, [True, False])

    def test_keys_and_locations_of_any_length(self):
        archive = Archive("stepstore")
        self.addCleanup(archive.close)
        archive.schema.write_text("[ class, dataset [ source [ ident ]]]\n")
        long = {name: (name + "-" * 60000)[:60000] for name in ("dataset", "source", "ident")}
        with pyfdb.FDB(archive.config()) as fdb:
            fdb.archive(b"payload", {"class": "rd", **long})
        with pyfdb.FDB(archive.config()) as fdb, fdb.retrieve({"class": "rd", **long}) as handle:
            self.assertEqual(handle.read(), b"payload")

    def test_one_part_of_several(self):
        ours, files = Archive("stepstore"), Archive("toc")
        parts = {"xxxx": ours, "yyyy": files}
        for archive in parts.values():
            self.addCleanup(archive.close)
        config = {
            "type": "select",
            "fdbs": [{"select": f"expver={expver}", **archive.config()} for expver, archive in parts.items()],
        }
        with pyfdb.FDB(config) as fdb:
            for expver in parts:
                fdb.archive(expver.encode(), {**IDENTIFIER, "expver": expver})
        fdb = pyfdb.FDB(config)
        self.assertEqual(len(list(fdb.list({"class": "rd"}))), 2)
        for expver in parts:
            with fdb.retrieve({**IDENTIFIER, "expver": expver}) as handle:
                self.assertEqual(handle.read(), expver.encode())

    def test_100_000_fields(self):
        archive = Archive("stepstore")
        self.addCleanup(archive.close)
        count = 100_000
        with pyfdb.FDB(archive.config()) as fdb:
            for number in range(count):
                identifier = {
                    **IDENTIFIER,
                    "step": str(number // 1000),
                    "levelist": str(number // 10 % 100),
                    "param": str(number % 10 + 1),
                }
                fdb.archive(b"%064d" % number, identifier)
        fdb = pyfdb.FDB(archive.config())
        self.assertEqual(sum(1 for _ in fdb.list(SELECTION)), count)
        self.assertEqual(sum(1 for _ in fdb.list({**SELECTION, "step": "77", "param": "3"})), 100)
        with fdb.retrieve({**IDENTIFIER, "step": "99", "levelist": "99", "param": "9/10"}) as handle:
            self.assertEqual(handle.read(), b"%064d%064d" % (count - 2, count - 1))

    # FDB's types say what a request means: spellings, step ranges, wind from vorticity and divergence,
    # optional keywords, values and keywords that nothing has. The order is that in which FDB gives the
    # fields. One client asks for all of them, so each request meets what the client keeps of the one before.
    def test_requests_mean_what_they_mean_on_files(self):
        choose = random.Random(4)
        archived = []
        for stream, date in (("oper", "20260101"), ("enfo", "20260101"), ("enfo", "20260102")):
            whole = {
                "class": "rd",
                "expver": "xxxx",
                "stream": stream,
                "date": date,
                "time": "1200",
                "domain": "g",
                "type": "fc",
            }
            for step, param in itertools.product(
                ("0", "6", "0-6", "30m"), ("130", "138", "155", "210155", "500014")
            ):
                for number in ("1", "2") if stream == "enfo" else ("",):
                    member = {"number": number} if number else {}
                    archived.append({**whole, "levtype": "sfc", "step": step, "param": param, **member})
                    for level in ("1", "500", "0.5"):
                        archived.append(
                            {
                                **whole,
                                "levtype": "pl",
                                "levelist": level,
                                "step": step,
                                "param": param,
                                **member,
                            }
                        )
        spellings = {
            "class": ("rd", "od"),
            "expver": ("xxxx",),
            "stream": ("oper", "enfo", "wave"),
            "date": ("20260101", "2026-01-02", "20260103"),
            "time": ("1200", "12", "12:00", "0000"),
            "domain": ("g",),
            "type": ("fc", "an"),
            "levtype": ("pl", "sfc"),
            "step": ("0", "6", "0-6", "12", "30m", "360m"),
            "param": ("130", "130.128", "131", "132", "138", "155", "155.210", "14", "999"),
            "levelist": ("500", "1", "1.0", "0.50", "700"),
            "number": ("1", "2", "01", "9"),
        }
        single = ("class", "expver", "stream", "domain", "type", "levtype")  # the others may have many values

        def request():
            wanted = {}
            for name, values in spellings.items():
                fits = {
                    "levelist": wanted.get("levtype") == "pl",
                    "number": wanted.get("stream") == "enfo",
                }.get(name, True)
                if choose.random() < (0.98 if fits else 0.1):
                    likely = values[:2] if choose.random() < 0.9 else values
                    likely = values[:1] if choose.random() < 0.7 and name in single else likely
                    count = 1 if name in single or choose.random() < 0.4 else choose.randint(1, len(likely))
                    wanted[name] = "/".join(choose.sample(likely, count))
            if choose.random() < 0.05:
                wanted["source"] = "elsewhere"
            return wanted

        requests = [request() for _ in range(400)]

        def answer(ask, ordered):
            try:
                found = [str(element.combined_key()) for element in ask()]
            except RuntimeError as error:  # what it says names where the archive is
                return type(error).__name__
            return found if ordered else sorted(found)

        def script(open_fdb):
            with open_fdb() as fdb:
                for number, identifier in enumerate(archived):
                    fdb.archive(b"%d" % number, identifier)
            fdb = open_fdb()
            some = [
                {name: request[name] for name in choose_names if name in request}
                for request, choose_names in zip(requests, partly)
            ]
            return [
                ("inspect", request, answer(lambda: fdb.inspect(request), True)) for request in requests
            ] + [("list", request, answer(lambda: fdb.list(request), False)) for request in some]

        partly = [
            ["class", "expver", *choose.sample(list(spellings)[2:], choose.randint(0, 4))] for _ in requests
        ]
        answers = {}
        for kind in KINDS:
            archive = Archive(kind)
            self.addCleanup(archive.close)
            answers[kind] = script(lambda archive=archive: pyfdb.FDB(archive.config()))
            for ours, files in zip(answers[kind], answers["toc"]):
                self.assertTrue(ours == files, f"{kind}: {ours}, but on files {files[2]}"[:4000])
        for call in ("inspect", "list"):
            sizes = [
                len(found) for asked, _, found in answers["toc"] if asked == call and isinstance(found, list)
            ]
            self.assertGreater(sum(size > 0 for size in sizes), 30, sizes)

    def test_masked_fields(self):
        def script(open_fdb):
            for content in (b"old", b"newer", b"newest"):
                with open_fdb() as fdb:
                    fdb.archive(content, IDENTIFIER)
            fdb = open_fdb()
            return [
                [str(element.combined_key()) for element in fdb.list(SELECTION, include_masked=masked)]
                for masked in (False, True)
            ]

        self.assertEqual(list(map(len, self.compare(script))), [1, 3])

    def test_what_tools_do(self):
        def script(open_fdb):
            with open_fdb() as fdb:
                for message in forecast() + forecast(steps=(0,)):
                    fdb.archive(message)
                fdb.flush()
            fdb = open_fdb()
            seen = [
                sorted(map(repr, fdb.axes(SELECTION))),
                len(list(fdb.status(SELECTION))),
                len(list(fdb.stats(SELECTION))),
            ]
            seen.append(
                sorted(str(element.combined_key()) for element in fdb.inspect({**IDENTIFIER, "step": "0/6"}))
            )
            locked = fdb.control(SELECTION, pyfdb.ControlAction.DISABLE, [pyfdb.ControlIdentifier.LIST])
            seen.append([str(element.controlIdentifiers()) for element in locked])
            seen.append(len(list(open_fdb().list(SELECTION))))
            list(fdb.control(SELECTION, pyfdb.ControlAction.ENABLE, [pyfdb.ControlIdentifier.LIST]))
            list(fdb.purge(SELECTION, doit=True))
            seen.append(len(list(open_fdb().list(SELECTION))))
            seen.append(len(list(fdb.wipe(SELECTION, doit=False))) > 0)
            list(fdb.wipe(SELECTION, doit=True))
            seen.append(len(list(open_fdb().list(SELECTION))))
            return seen

        seen = self.compare(script, ("stepstore", "our-catalogue"))
        self.assertEqual(seen[5:], [0, 8, True, 0])


if __name__ == "__main__":
    unittest.main()
