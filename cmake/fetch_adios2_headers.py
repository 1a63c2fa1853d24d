"""Prints the directory with the headers of ADIOS2's core, and fetches them first where they are missing.

Arguments: the version of ADIOS2 ("2.12.1"), the cache directory. The headers come from the source
distribution on PyPI, of the newest packaging of that version.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path


def packaged(version: str) -> str:
    """The version on PyPI: that of the wheel where it is installed, or its newest."""
    try:
        installed = metadata.version("adios2")
    except metadata.PackageNotFoundError:
        return f"{version}.*"
    return installed if installed.startswith(version) else f"{version}.*"


def fetch(version: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
        command += ["--no-build-isolation", f"adios2=={packaged(version)}", "-d", work]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        archives = list(Path(work).glob("adios2-*.tar.gz"))
        if done.returncode != 0 or not archives:
            said = done.stderr.strip().splitlines() or ["it said nothing"]
            sys.exit(f"pip cannot download them: {said[-1]}")
        headers = Path(work, "headers")
        with tarfile.open(archives[0]) as archive:
            for member in archive:
                # adios2-VERSION/source/adios2/...
                parts = Path(member.name).parts
                if not member.isfile() or parts[1:3] != ("source", "adios2") or ".." in parts:
                    continue
                if not member.name.endswith((".h", ".inl", ".tcc")):
                    continue
                target = headers.joinpath(*parts[2:])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())
        try:
            os.rename(headers, folder)
        except OSError:
            if not folder.exists():  # else another build was faster
                raise


def main() -> None:
    version, cache = sys.argv[1], Path(sys.argv[2])
    folder = cache / f"adios2-{version}-headers"
    if not folder.exists():
        fetch(version, folder)
    print(folder)


if __name__ == "__main__":
    main()
