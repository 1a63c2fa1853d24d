#!/usr/bin/env python3
"""Looks up every file and symbol that the documents name between backquotes.

A path or a file's name must be there, and every word of a symbol must be in the sources. A word in capitals
within a path stands for a name of the reader's.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOPS = "src|include|plugins|python|bindings|bench|sim|tests|scripts|cmake|docs|examples"
PATH = re.compile(rf"(?:{TOPS})/[\w./-]+|[\w-]+\.(?:h|cc|py|cmake)")
SYMBOL = re.compile(r"~?[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)*(?:\(\))?")
LOOKS_LIKE_CODE = re.compile(r"[a-z][A-Z]|_|::|\(\)")
OF_THE_READER = re.compile(r"/[A-Z]{4,}\b|[A-Z]{4,}(?=\.)")
# Names of others, which no source of ours has.
OF_ADIOS2 = """adios2_reorganize adios2_iotest heatTransfer WriteReadFlatten AvailableStepsCount adios2_c.h
    ES_CloseTS ES_MDAgg NewGetContext"""
OF_OTHERS = """min_size full_ratio full_quota fdb_c daos_obj_fetch daos_obj_update MDB_WRITEMAP MPI_Comm_idup
    MAP_POPULATE CALI_CONFIG DataLoader ad_daos coll_perf ntuple_storage_daos.cxx RP_XSF DAOS_POOL DAOS_CONT
    API_VERSION daos_obj_layout_get daos_pool_stop_svc t_mpi t_shapesame t_filters_parallel t_cache
    DaosObjectTest"""
# Made of a part that is ours.
MADE = "daos_array_open_with_attr open_with_attr NAME_entries_step dim_0_32"
OTHERS = set(f"{OF_ADIOS2} {OF_OTHERS} {MADE}".split())


class Known:
    """What there is: paths and words."""

    def __init__(self):
        tops = [ROOT / top for top in TOPS.split("|")]
        found = [path for top in tops for path in sorted(top.rglob("*")) if "__pycache__" not in path.parts]
        found += sorted(ROOT.glob("*.*"))
        self.files = [path.relative_to(ROOT).as_posix() for path in found if path.is_file()]
        self.paths = set(self.files)
        for file in self.files:
            self.paths |= {parent.as_posix() for parent in Path(file).parents}
        self.words = set()
        for file in self.files:
            if not file.endswith((".md", "style/names.py")):
                self.words |= set(re.findall(r"\w+", (ROOT / file).read_text("utf-8", "replace")))
        rooms = {Path(file).parts[1] for file in self.files if file.startswith("tests/")}
        self.is_test = re.compile(rf"(?:test_)?(?:{'|'.join(map(re.escape, rooms))})[._]\w+").fullmatch

    def has_path(self, path):
        path = path.rstrip("/")
        return path in self.paths or any(file.endswith("/" + path) for file in self.files)


def unknown(text, known):
    if text in OTHERS or OF_THE_READER.search(text):
        return None
    if PATH.fullmatch(text):
        # A header of a library is named as it is included.
        found = known.has_path(text) or (text.endswith(".h") and text[:-2] in known.words)
        return None if found else "is not there"
    if SYMBOL.fullmatch(text) and LOOKS_LIKE_CODE.search(text) and not known.is_test(text):
        missing = [word for word in re.findall(r"\w+", text) if word not in known.words]
        if missing:
            return f"{', '.join(missing)}: in no source"
    return None


def main():
    known = Known()
    findings = []
    for file in known.files:
        if not file.endswith(".md") or file == "CHANGELOG.md":
            continue
        fenced = False
        for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            for text in [] if fenced else re.findall(r"`([^`]+)`", line):
                if what := unknown(text, known):
                    findings.append(f"{file}:{number}: `{text}` {what}")
    print("\n".join(findings) if findings else "every file and symbol that the documents name is there")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
