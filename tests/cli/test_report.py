"""stepstore report: a page of its own with every figure and statement that is there; looked at in a real
browser."""

from __future__ import annotations

import csv
import json
import re

import browser
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
needs_browser = pytest.mark.skipif(browser.programs() is None, reason="needs chromium and chromium-driver")

FIGURES = ("one", "two", "three")


def draw(folder, name, simulated=False, title=None, rows=((1, 2.5), (2, 1234567.0))):
    """As a command draws it."""
    from stepstore.benchmarks.layout_figures import blank_figure, save

    figure, (axis,) = blank_figure(6, 3)
    axis.plot([row[0] for row in rows], [row[1] for row in rows], label="<the series>")
    axis.set(xlabel="ranks", ylabel="ms")
    axis.set_title(title or f"Figure {name} & more", loc="left")
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / name, figure, [("ranks", "ms"), *rows], simulated)


def give(folder, name, **changes):
    """Other words about how a figure was made."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


@pytest.fixture
def figures(tmp_path):
    folder = tmp_path / "figures"
    draw(folder / "a", "one")
    draw(folder / "a", "two", simulated=True)
    draw(folder / "b", "three", title="<script>document.title = 'x'</script>")
    give(folder / "a", "one", command="stepstore bench layouts --rounds 3", others_share=0.02)
    give(folder / "a", "two", command="stepstore simulate figures")
    give(folder / "b", "three", command="stepstore bench novel --figures b", others_share=0.9)
    statements = [
        {"figure": "8", "statement": "POSIX over KV", "published": 10, "simulated": 12.1, "ratio": 1.21,
         "how": "fitted", "holds": True, "kind": "about"},
        {"figure": "13", "statement": "ours over BP5", "published": 3, "found": 9, "ratio": 3,
         "how": "measured", "verdict": "beaten", "why": "no exchange"},
        {"figure": "12", "statement": "KV over dense", "published": 2, "found": 9, "ratio": 4.5,
         "how": "predicted", "holds": False, "kind": "at most", "reference": "another reference"},
    ]  # fmt: skip
    (folder / "a" / "all.statements.json").write_text(json.dumps({"statements": statements}))
    return folder


def report(cli, *options, **more):
    return cli("report", "page.html", "--no-run", *options, **more)


def test_every_figure_and_statement_is_in_the_page(cli, figures):
    said = report(cli, "--from", figures).out
    assert "page.html: 3 figures, 3 statements" in said
    page = (cli.directory / "page.html").read_text()
    assert page.count("<figure") == page.count("<img") == page.count("<details") == 3
    assert page.count("data:image/svg+xml;base64,") == 3
    for title in ("The design space, measured", "The references&#39; figures, simulated", "Bench novel"):
        assert f"<h2>{title}</h2>" in page
    # By reference, and then by figure.
    assert re.findall(r'class="badge (\w+)"', page) == ["reproduced", "beaten", "missed"]
    assert "at most 2" in page and "no exchange" in page and "another reference" in page
    assert "quiet machine: other work used 2% of the processors" in page
    assert "busy machine: other work used 90% of the processors" in page
    assert "stepstore bench layouts --rounds 3" in page
    assert "<script" not in page and "&lt;script" in page
    assert "1,234,567" in page


def test_folders_that_meet_are_taken_once(cli, figures):
    assert "3 figures, 3 statements" in report(cli, "--from", figures, "--from", figures / "a").out


def test_the_same_statement_of_two_runs_is_one(cli, figures, tmp_path):
    again = tmp_path / "again"
    again.mkdir()
    text = (figures / "a" / "all.statements.json").read_text()
    (again / "other.statements.json").write_text(text.replace("12.1", "11.9"))
    assert "3 figures, 4 statements" in report(cli, "--from", figures, "--from", again).out


def test_a_page_of_nothing_is_refused(cli, tmp_path):
    (tmp_path / "empty").mkdir()
    cli.fails("report", "--no-run", "--from", tmp_path / "empty", code=3, says="nothing to show")
    cli.fails("report", "--no-run", code=2, says="--from DIR")
    cli.fails("report", "--no-run", "--from", tmp_path / "none", code=2, says="no such directory")
    cli.fails("report", "no/page.html", "--no-run", "--from", tmp_path, code=2, says="no directory")
    assert not list(cli.directory.glob("*.html"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("one.json", "{", "one.json"),
        ("one.json", "[]", "one.json"),
        ("x.statements.json", '{"statements": [{"statement": "a", "verdict": "great"}]}', "great"),
        ("x.statements.json", '{"statements": [{"figure": "1"}]}', "no field 'statement'"),
    ],
)
def test_what_cannot_be_read_is_named(cli, figures, name, text, says):
    (figures / "a" / name).write_text(text)
    cli.fails("report", "page.html", "--no-run", "--from", figures, code=1, says=says)
    assert not list(cli.directory.glob("*.html"))


def test_what_could_not_be_run_is_said_in_the_page(cli, figures):
    # bench fails here: there is no such launcher. simulate and layouts are in the folder.
    said = cli("report", "page.html", "--quick", "--from", figures, PATH="/nowhere")
    page = (cli.directory / "page.html").read_text()
    assert "Left out: " in page and "left out: " in said.err


@needs_browser
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_every_figure_and_asks_no_host(cli, figures, tmp_path, width, dark):
    report(cli, "--from", figures)
    with browser.opened(cli.directory / "page.html", tmp_path / "profile", width, dark) as page:
        assert page.messages == []
        assert page.requests
        assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
        sizes = page.run(
            "return [...document.images].map(i => [i.complete, i.naturalWidth, "
            "i.getBoundingClientRect().width, i.getBoundingClientRect().height, i.alt.length])"
        )
        assert len(sizes) == len(FIGURES)
        assert all(done and min(numbers) > 10 for done, *numbers in sizes), sizes
        # The page itself never scrolls sideways; wide tables do, in their own frame.
        page.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.run("return document.documentElement.scrollWidth") <= width
        paper = page.run("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == dark
        assert page.run("return document.title").startswith("Stepstore")


@needs_browser
def test_headings_and_links_lead_somewhere(cli, figures, tmp_path):
    report(cli, "--from", figures)
    with browser.opened(cli.directory / "page.html", tmp_path / "profile") as page:
        levels = page.run("return [...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
        assert levels[0] == 1 and set(levels[1:]) == {2}
        broken = page.run(
            "return [...document.querySelectorAll('a[href^=\"#\"]')].filter("
            "a => !document.getElementById(a.getAttribute('href').slice(1))).length"
        )
        assert broken == 0
        text = page.run("return atob(document.querySelector('a[download]').href.split(',')[1])")
        assert list(csv.reader(text.splitlines()))[0] == ["ranks", "ms"]
        pdf = tmp_path / "page.pdf"
        page.printed(pdf)
        assert pdf.read_bytes().startswith(b"%PDF") and pdf.stat().st_size > 10_000
