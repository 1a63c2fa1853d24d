"""The feature table of docs/adios2.md and the registered tests agree: a row without its test is a claim, a
test without a row is not found."""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

COLUMNS = ("write", "stream read", "random access", "MPI")
CELLS = {"yes", "-", "refused"}


def rows(page):
    """(feature, {column: cell}, tests) for each line of the table."""
    text = page.read_text().split("## Feature table", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert [word.strip() for word in lines[0].strip("|").split("|")] == ["feature", *COLUMNS, "tests"], lines[
        0
    ]
    for line in lines[1:]:
        feature, *cells, tests = (word.strip() for word in line.strip("|").split("|"))
        yield feature, dict(zip(COLUMNS, cells, strict=True)), re.findall(r"`(\w+)`", tests)


def registered(ctest, build):
    listed = subprocess.run(
        [ctest, "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True
    ).stdout
    names = [test["name"] for test in json.loads(listed)["tests"] if test["name"].startswith("plugins.")]
    assert names, "no test of the plugin is registered"
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--ctest", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--absent", nargs="*", default=[], help="tests that this build cannot have")
    arguments = parser.parse_args()
    names = registered(arguments.ctest, arguments.build)
    with_mpi_build = any(name.startswith("plugins.mpi.") for name in names)
    wrong = []
    in_table = set()
    for feature, cells, tests in rows(arguments.page):
        in_table.update(tests)
        if not tests:
            wrong.append(f"'{feature}' names no test")
        wrong += [
            f"'{feature}': '{cell}' under {column}: use one of {sorted(CELLS)}"
            for column, cell in cells.items()
            if cell not in CELLS
        ]
        runs = [
            name
            for name in names
            for test in tests
            if re.fullmatch(rf"plugins\.(?:(?:serial|mpi)\.)?{test}(?:\.\w+)*", name)
        ]
        for test in tests:
            if test not in arguments.absent and not any(f".{test}." in f"{name}." for name in runs):
                wrong.append(f"'{feature}': no test {test} is registered")
        several = [
            name
            for name in runs
            if re.search(r"\.[2-9]$", name) or ".bpls" in name or ".feature_fortran" in name
        ]
        if (
            cells["MPI"] == "yes"
            and with_mpi_build
            and not several
            and not set(tests) & set(arguments.absent)
        ):
            wrong.append(f"'{feature}': none of {tests} runs on several ranks")
    for name in names:
        case = re.search(r"\.(feature_\w+)", name)
        if case and case.group(1) not in in_table and case.group(1) != "feature_table":
            wrong.append(f"the test {name} has no row")
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(in_table)} tests in the table, {len(names)} registered")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
