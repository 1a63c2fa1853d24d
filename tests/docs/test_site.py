"""The site: it builds without a warning, loads nothing from other hosts, and is looked at in a browser."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))

import browser  # noqa: E402

PICTURES = os.environ.get("STEPSTORE_PICTURES")  # a directory: pictures of the documents are made there
TOOLS = ("mkdocs", "material", "mkdocstrings")
missing = [one for one in TOOLS if importlib.util.find_spec(one) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)} (make setup)")
needs_browser = pytest.mark.skipif(browser.programs() is None, reason="needs chromium and chromium-driver")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        [ROOT / "scripts/docs.sh"],
        env={"STEPSTORE_DOCS_PYTHON": sys.executable, **os.environ, "STEPSTORE_SITE": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return place


def test_it_loads_nothing_from_other_hosts(site):
    loaded = re.compile(r'<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="(https?:)?//', re.IGNORECASE)
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        found = loaded.search(page.read_text(encoding="utf-8"))
        assert not found, f"{page.name}: {found[0]}"


def test_the_pages_that_are_made_are_whole(site):
    def text(name):
        return re.sub(r"<[^>]+>", "", (site / "reference" / name).read_text(encoding="utf-8"))

    commands = text("commands.html")
    for words in ("stepstore steps", "stepstore pool create", "--durability process|power", "--writers N"):
        assert words in commands
    for words in ("open_or_create_container", "open_timeout", "WriterStep", "Raises"):
        assert words in text("python.html")
    assert "daos_kv_put(daos_handle_t oh" in text("c/daos_kv.html")
    assert "stepstore_arrays_open(" in text("c/arrays.html")
    assert "there is no pool in …: create it first, or correct the path" in text("messages.html")


def wait_for(page, script, seconds=20):
    """The value of a script, once it is one."""
    end = time.monotonic() + seconds
    while not (value := page.run(script)):
        assert time.monotonic() < end, script
        time.sleep(0.1)
    return value


# Pages to look at, and the names of their pictures by the width of the screen.
LOOKS: dict[str, dict[int, str]] = {
    "index.html": {1280: "site.png", 390: "site-phone.png"},
    "tutorials/python.html": {1280: "site-tutorial.png"},
    "which-store.html": {},
    "reference/commands.html": {},
    "reference/c/arrays.html": {},
    "reference/python.html": {},
    "troubleshooting.html": {},
}


@needs_browser
def test_it_can_be_read_wide_and_on_a_phone(site, tmp_path):
    with browser.opened(site / "index.html", tmp_path / "profile") as first:
        for width, (name, shown) in itertools.product((1280, 390), LOOKS.items()):
            page = browser.Page(first.driver, site / name, width, dark=False)
            assert not page.messages, name
            assert all(one.startswith(("file:", "data:", "blob:")) for one in page.requests), name
            wide = page.run("return document.documentElement.scrollWidth")
            assert wide <= width, f"{name}: {wide} columns on a screen of {width}"
            name = shown.get(width)
            if PICTURES and name:
                page.picture(Path(PICTURES) / name)


@needs_browser
def test_its_search_finds_a_page_without_a_server(site, tmp_path):
    with browser.opened(site / "index.html", tmp_path / "profile") as page:
        page.run("document.querySelector('[data-md-toggle=search]').click()")
        page.driver.find_element("css selector", "[data-md-component=search-query]").send_keys("pickle")
        found = wait_for(
            page, "return [...document.querySelectorAll('.md-search-result__link')].map((one) => one.href)"
        )
        assert any("python.html" in one for one in found)
