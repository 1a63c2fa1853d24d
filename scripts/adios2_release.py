"""Prints where a release of ADIOS2 from PyPI is: its package (libraries and public headers), and its sources.
Downloads them first, once, into the user's cache.

Argument: the release ("2.11.0"), or a version of PyPI's ("2.11.0.1014"). Without: prints the packages of all.
With --sources before it: prints the version and the sources, and downloads no package.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

# Release: the version on PyPI.
RELEASES = {"2.10.2": "2.10.2.100774", "2.11.0": "2.11.0.1014", "2.12.0": "2.12.0.1003"}


def cache() -> Path:
    given = os.environ.get("STEPSTORE_CACHE")
    return Path(given or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "stepstore"))


def package(version: str) -> Path:
    """The folder with the package adios2, for PYTHONPATH."""
    folder = cache() / f"adios2-{version}-cp{sys.version_info.major}{sys.version_info.minor}"
    return _downloaded(folder, version, ["--only-binary", ":all:"])


def sources(version: str) -> Path:
    """The folder of the source distribution."""
    words = ["--no-binary", ":all:", "--no-build-isolation"]
    return _downloaded(cache() / f"adios2-{version}-suite/source", version, words)


def _downloaded(folder: Path, version: str, words: list[str]) -> Path:
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *words]
        subprocess.run([*download, f"adios2=={version}", "-d", work], check=True, stdout=sys.stderr)
        (archive,) = Path(work).glob("adios2-*")
        content = Path(work, "content")
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(content)
        else:
            with tarfile.open(archive) as tar:
                # Python 3.11.2 (Debian 12) has no filters yet.
                safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                tar.extractall(Path(work, "tar"), **safely)
            (top,) = Path(work, "tar").iterdir()
            top.rename(content)
        try:
            content.rename(folder)
        except OSError:
            if not folder.exists():  # else another process was faster
                raise
    return folder


def main() -> None:
    if len(sys.argv) == 1:
        print(*(package(version) / "adios2" for version in RELEASES.values()), sep="\n")
        return
    version = RELEASES.get(sys.argv[-1], sys.argv[-1])
    print(version if sys.argv[1] == "--sources" else package(version) / "adios2")
    print(sources(version))


if __name__ == "__main__":
    main()
