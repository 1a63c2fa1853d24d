#!/usr/bin/env python3
"""Runs clang-tidy on every compiled source of a build tree. scripts/tidy.sh calls it.

A Release tree is the fastest: it compiles twelve sources of a library as one, and each of these is one run.
What passed is remembered under a hash of all that the run reads. That is the tool, its settings, the command,
and each file that the compiler named when it built the source. A run whose hash is known is left out.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Headers of ours. Those of libdaos are C and keep the names and types of DAOS.
HEADERS = f"^{re.escape(str(ROOT))}/(src|include/stepstore|plugins|bindings|bench|sim|examples|tests)/"
# No findings: options of GCC that clang does not know, its precompiled headers, what its standard library
# calls deprecated, and conversions of signs, which GCC does not count to -Wconversion.
EXTRA = [
    f"--extra-arg=-Wno-{name}"
    for name in ("unknown-warning-option", "deprecated-declarations", "sign-conversion", "ignored-gch")
]


@functools.cache
def hash_of_file(path: str) -> bytes:
    try:
        return hashlib.blake2b(Path(path).read_bytes(), digest_size=16).digest()
    except OSError:
        return b"?"


def dependencies(build: Path) -> dict[str, list[str]]:
    """The files that each object was made of, as ninja keeps them; without an entry for what is not built."""
    listing = subprocess.run(
        ["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=False
    )
    files: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in listing.stdout.splitlines():
        if line.startswith("    "):
            if current is not None:
                current.append(os.path.join(build, line.strip()))
        elif "(VALID)" in line:
            current = files.setdefault(line.split(": #deps")[0], [])
        else:
            current = None
    return files


def units(build: Path, only: str | None) -> list[dict]:
    """The commands of the project's own sources, each source once. Tests only when `only` asks for them: the
    macros of GoogleTest take more time than all libraries."""
    seen = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["directory"], entry["file"])
        base = build if file.is_relative_to(build) else ROOT
        if not file.is_relative_to(base) or "site-packages" in file.parts or file.suffix.lower() == ".f90":
            continue
        test = file.relative_to(base).parts[0] == "tests"
        if re.search(only, str(file)) if only else not test:
            seen.setdefault(str(file), entry)
    return [entry | {"file": file} for file, entry in seen.items()]


def key_of(entry: dict, files: dict[str, list[str]], basis: bytes) -> str | None:
    """The name under which the pass of this run is remembered; None if it cannot be known what the run
    reads."""
    arguments = shlex.split(entry["command"])
    output = entry.get("output") or arguments[arguments.index("-o") + 1]
    read = files.get(output)
    if not read:
        return None
    digest = hashlib.blake2b(basis, digest_size=16)
    digest.update(entry["command"].replace(str(ROOT), "").encode())
    for path in read:
        digest.update(hash_of_file(path))
    return digest.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description="clang-tidy on the sources of a build tree")
    parser.add_argument("build", type=Path, help="a configured build tree, such as build/release")
    parser.add_argument("--clang-tidy", default="clang-tidy", help="the program")
    parser.add_argument("--cache", type=Path, help="folder that remembers what passed")
    parser.add_argument("--only", metavar="REGEX", help="only sources whose path matches")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    begin = time.monotonic()

    version = subprocess.run(
        [arguments.clang_tidy, "--version"], capture_output=True, text=True, check=True
    ).stdout
    settings = b"".join(
        path.read_bytes() for path in sorted(ROOT.glob("**/.clang-tidy")) if "build" not in path.parts
    )
    basis = version.encode() + settings + " ".join(EXTRA).encode()
    files = dependencies(build) if arguments.cache else {}
    unknown = []
    entries = units(build, arguments.only)
    if not entries:
        print("tidy: no source matches", file=sys.stderr)
        return 2
    for entry in entries:
        key = key_of(entry, files, basis) if arguments.cache else None
        if key is None or not (arguments.cache / key).exists():
            unknown.append((entry["file"], key))

    def run(file: str) -> tuple[int, str]:
        done = subprocess.run(
            [arguments.clang_tidy, "-p", str(build), "--quiet", f"--header-filter={HEADERS}", *EXTRA, file],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
        # stderr counts suppressed warnings; it is of use only where the tool itself fails.
        return done.returncode, done.stdout if done.stdout.strip() else done.stderr

    failed = 0
    shown = set()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        runs = {pool.submit(run, file): (file, key) for file, key in unknown}
        for future in concurrent.futures.as_completed(runs):
            file, key = runs[future]
            status, output = future.result()
            if status == 0:
                if key:
                    arguments.cache.mkdir(parents=True, exist_ok=True)
                    (arguments.cache / key).touch()
                continue
            failed += 1
            text = output.replace(f"{ROOT}/", "")
            if text not in shown:
                shown.add(text)
                print(text, flush=True)
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"tidy: {len(entries)} units, {len(entries) - len(unknown)} known to pass, {failed} with findings; "
        f"{time.monotonic() - begin:.0f} s, {cpu.ru_utime + cpu.ru_stime:.0f} s of processor time"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
