"""The examples of documents run, in their order, as a reader would run them (pages.py)."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pages
import pytest
from before import BEFORE

PICTURES = os.environ.get("STEPSTORE_PICTURES")  # a directory: pictures of the documents are made there

# The documents whose examples run here, with what they need of this machine.
RUN = {
    "README.md": ("xarray", "matplotlib"),
    "docs/start.md": (),
    "docs/python.md": (),
    "docs/tutorials/python.md": ("xarray", "matplotlib"),
    "docs/tutorials/mpi.md": ("plugin", "adios2", "mpi4py", "mpirun"),
    "docs/tutorials/fdb.md": ("fdb5", "pyfdb", "eccodes"),
    "docs/which-store.md": (),
    "docs/xarray.md": ("plugin", "adios2", "xarray", "dask", "matplotlib"),
    "docs/profile.md": ("plugin", "adios2"),
    "docs/zarr.md": ("zarr", "xarray", "fsspec", "pandas", "pyarrow"),
    "docs/faq.md": ("xarray", "zarr"),
    "docs/troubleshooting.md": (),
    "docs/upgrading.md": (),
    "docs/arrays.md": ("build", "mpicc", "mpif90", "mpirun"),
    "docs/cli.md": (),
    "docs/daos.md": ("build", "cc"),
    "docs/nodes.md": (),
    "docs/moving.md": ("adios2", "netCDF4", "xarray", "zarr"),
}

# The other documents with examples: the tests that run them, or why no test does.
ELSEWHERE = {
    "docs/extending.md": "the tests of the interfaces that it explains",
    "docs/fdb.md": "cli.demo_fields runs the demo; the others build from sources",
    "docs/design/nodes-bed.md": "nodes.* use the bed",
    "CONTRIBUTING.md": "docs.commands parses them: they build and test this project",
    "docs/adios2.md": "plugins.mpi.feature_fortran runs heat, plugins.bpls the tools; plugins.* the settings",
    "docs/mount.md": "mount.* mount as root, where /dev/fuse is",
    "docs/benchmarks/data.md": "docs.commands parses it: a benchmark that takes minutes",
    "docs/ceph.md": "docs.commands parses ours; no test: an administrator's commands, and jobs of Slurm",
}
COMMANDS = r"^\s*(stepstore|make|mpirun|python|pip|export|cmake|eval|import|fdb-)\b"


def missing(needs: tuple[str, ...]) -> list[str]:
    """What this machine or this build does not have."""

    def is_there(one: str) -> bool:
        if one in ("plugin", "fdb5"):
            return os.environ.get(f"STEPSTORE_TEST_{one.upper()}", "1") != "0"
        if one == "build":
            return "STEPSTORE_BUILD" in os.environ
        if one == "cc" or (one.startswith("mpi") and one != "mpi4py"):
            return shutil.which(one) is not None
        return importlib.util.find_spec(one) is not None

    return [one for one in needs if not is_there(one)]


def examples(text: str) -> list[pages.Block]:
    """The blocks that a reader may run, also those without a language."""
    return [
        block
        for block in pages.blocks(text)
        if block.language in ("sh", "python")
        or (not block.language and re.search(COMMANDS, block.text, re.MULTILINE))
    ]


def test_every_document_with_examples_is_run_or_says_why_not():
    documents = [*pages.ROOT.glob("*.md"), *pages.ROOT.glob("docs/**/*.md")]
    texts = {str(one.relative_to(pages.ROOT)): one.read_text(encoding="utf-8") for one in documents}
    assert {name for name, text in texts.items() if examples(text)} == {*RUN, *ELSEWHERE}
    for name in RUN:
        assert all(block.language for block in examples(texts[name])), f"{name}: a block without a language"


@pytest.mark.parametrize("name", RUN)
def test_the_examples_run(name, tmp_path):
    if lacks := missing(RUN[name]):
        pytest.skip(f"needs {', '.join(lacks)}")
    page = pages.ROOT / name
    found = pages.blocks(page.read_text(encoding="utf-8"))
    directory = tmp_path / "work"
    directory.mkdir()
    if make := BEFORE.get(name):
        make(directory)
    session = pages.Session(page, directory, dict(os.environ))
    try:
        for block in found:
            session.run(block)
        if name == "README.md":
            picture = Path(PICTURES or tmp_path) / "first-picture.png"
            session.python(
                "import matplotlib.pyplot as plt\n"
                "plt.gcf().set_size_inches(4.6, 3.4)\n"
                f"plt.savefig({str(picture)!r}, dpi=70, bbox_inches='tight')\n"
                "from PIL import Image\n"  # which matplotlib needs
                f"small = Image.open({str(picture)!r}).convert('RGB').quantize(64)\n"
                f"small.save({str(picture)!r}, optimize=True)"
            )
            assert picture.stat().st_size > 5_000
    finally:
        session.close()


DOCUMENT = """
```sh
export NAME=value
mkdir inner && cd inner
```
<!-- not run: it would fail -->
```sh
false
```
```text title="file.txt"
{text}
```
```python
import os
assert os.environ["NAME"] == "value" and os.path.basename(os.getcwd()) == "inner"
```
```python
assert open("file.txt").read() == "right\\n"
```
```sh
test "$(cat file.txt)" = right
```
"""


@pytest.mark.parametrize("text", ["right", "wrong"])
def test_a_block_that_fails_fails_its_page(text, tmp_path):
    directory = tmp_path / "work"
    directory.mkdir()
    session = pages.Session(pages.ROOT / "docs/page.md", directory, dict(os.environ))
    found = pages.blocks(DOCUMENT.replace("{text}", text))
    try:
        for block in found[:4]:
            session.run(block)
        for block in found[4:]:
            if text == "right":
                session.run(block)
            else:
                with pytest.raises(pages.Failed, match=r"docs/page\.md:\d+"):
                    session.run(block)
    finally:
        session.close()
