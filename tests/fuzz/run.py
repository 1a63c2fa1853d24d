#!/usr/bin/env python3
"""Runs the harnesses of a fuzz program, each over its corpus, and then for some seconds over new inputs.

    run.py PROGRAM [HARNESS...]          FUZZ_SECONDS: for each harness (default 1)
    run.py PROGRAM --merge [HARNESS...]  keeps in the corpus what new inputs reached, as few as do

corpus/HARNESS.txt has an input a line, in hexadecimal. An input that made a decoder fail is written there by
hand, and stays: it is run first from then on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
_MOST_KEPT = 48  # inputs of a harness
_LIMITS = ("-malloc_limit_mb=64", "-rss_limit_mb=2048", "-timeout=25", "-max_len=4096", "-close_fd_mask=1")


def harnesses(program: str) -> list[str]:
    done = subprocess.run(
        [program], check=False, env={**os.environ, "FUZZ_HARNESS": "list"}, capture_output=True, text=True
    )
    return done.stdout.split()


def unpack(harness: str, folder: Path) -> int:
    """The inputs of the corpus as files."""
    packed = CORPUS / f"{harness}.txt"
    lines = packed.read_text().split() if packed.exists() else []
    for number, line in enumerate(lines):
        (folder / f"{number:04}").write_bytes(b"" if line == "-" else bytes.fromhex(line))
    return len(lines)


def run(program: str, harness: str, seconds: str, *, merging: bool) -> tuple[int, str]:
    environment = {
        "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=0:max_allocation_size_mb=64",
        **os.environ,
        "FUZZ_HARNESS": harness,
    }
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (corpus := place / "corpus").mkdir()
        count = unpack(harness, corpus)
        limit = "-runs=0" if seconds == "0" else f"-max_total_time={seconds}"
        command = [program, *_LIMITS, limit, str(corpus)]
        done = subprocess.run(
            command, check=False, env=environment, cwd=name, capture_output=True, text=True, errors="replace"
        )
        if done.returncode != 0:
            found = [one.read_bytes().hex() for one in place.iterdir() if one.is_file()]
            inputs = "".join(f"\ninput: {one or '-'}" for one in found)
            return done.returncode, f"{done.stderr[-6000:]}{inputs}"
        if merging:
            merge(program, harness, place, environment)
    return 0, f"{count} inputs kept, then {seconds} s"


def merge(program: str, harness: str, place: Path, environment: dict[str, str]) -> None:
    (merged := place / "merged").mkdir()
    command = [program, *_LIMITS, "-merge=1", str(merged), str(place / "corpus")]
    subprocess.run(command, env=environment, cwd=place, check=True, capture_output=True)
    inputs = sorted((one.read_bytes() for one in merged.iterdir()), key=lambda one: (len(one), one))
    before = (CORPUS / f"{harness}.txt").read_text().split() if (CORPUS / f"{harness}.txt").exists() else []
    lines = list(dict.fromkeys([*before, *(one.hex() or "-" for one in inputs)]))
    small = [line for line in lines if len(line) <= 1024 or line in before]
    (CORPUS / f"{harness}.txt").write_text("".join(f"{line}\n" for line in small[:_MOST_KEPT]))


def main() -> int:
    program, *names = str(Path(sys.argv[1]).resolve()), *sys.argv[2:]
    merging = "--merge" in names
    chosen = [name for name in names if name != "--merge"] or harnesses(program)
    seconds = os.environ.get("FUZZ_SECONDS", "1")
    failed = 0

    def one(harness: str) -> None:
        nonlocal failed
        code, said = run(program, harness, seconds, merging=merging)
        failed += code != 0
        print(f"{harness}: {'ok' if code == 0 else 'FAILED'}: {said}", flush=True)

    with ThreadPoolExecutor(os.cpu_count()) as several:
        list(several.map(one, chosen))
    if not chosen:
        print(f"{program} has no harness")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
