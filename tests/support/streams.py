"""What several tests of Python do: write a stream with ADIOS2, and damage a pool."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import stepstore


def flip(path: Path, marker: bytes) -> None:
    """Flips one bit wherever a file below `path` holds the marker, as a bad disk does: an index also holds
    pages that it no longer uses."""
    found = 0
    for file in sorted(path.rglob("*")):
        data = file.read_bytes() if file.is_file() else b""
        at = data.find(marker)
        while at >= 0:
            hit = at + len(marker) // 2
            with file.open("r+b") as opened:
                opened.seek(hit)
                opened.write(bytes([data[hit] ^ 0x10]))
            found += 1
            at = data.find(marker, at + 1)
    assert found, f"no file in {path} holds the marker"


def write_stream(directory: Path, *arguments: str) -> Path:
    """Lets a stock ADIOS2 program write a stream through the plugin."""
    if os.environ.get("STEPSTORE_TEST_PLUGIN") == "0":
        pytest.skip("built without the ADIOS2 plugin")
    program = Path(__file__).parent / "write_stream.py"
    environment = {**os.environ, "ADIOS2_PLUGIN_PATH": stepstore.plugin_path()}
    done = subprocess.run(
        [sys.executable, program, "./s", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory / "s"
