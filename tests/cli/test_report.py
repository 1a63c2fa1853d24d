"""stepstore report: a page of its own with every figure and statement that is there; looked at in a real
browser."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path

import browser
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
needs_browser = pytest.mark.skipif(browser.programs() is None, reason="needs chromium and chromium-driver")

PICTURES = os.environ.get("STEPSTORE_PICTURES")  # a directory: pictures of the documents are made there
needs_simulator = pytest.mark.skipif(
    not {os.environ.get(f"STEPSTORE_TEST_{name}") for name in ("SIMULATE", "ESTIMATE")} == {"1"},
    reason="needs the programs of the simulator",
)

FIGURES = ("one", "two", "three")


def draw(folder, name, simulated=False, title=None, rows=((1, 2.5), (2, 1234567.0)), size=(4, 3), panels=2):
    """As a command draws it."""
    from stepstore.lab.figures import ON_RANKS, TIME, blank, entitle, lines, save

    figure, axes = blank(*size, panels)
    at, times = zip(*rows, strict=True)
    for panel in axes:
        lines(panel, ON_RANKS, at, TIME, {"<the series>": times})
    entitle(figure, title or f"Figure {name} & more")
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / name, figure, [("ranks", "time_ms"), *rows], simulated)


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
         "unit": "%", "how": "fitted", "holds": True, "kind": "about"},
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
    assert page.count("data:image/svg+xml;base64,") == 2 * 3, "wide, and for a phone"
    # Figures, then verdicts, then tables, which have units.
    assert page.index("<figure") < page.index('id="statements"') < page.index('id="tables"')
    assert page.rindex("<figure") < page.index('id="statements"')
    assert '<th scope="col">ranks (number)</th><th scope="col">time (ms)</th>' in page
    assert "12.1\u00a0%" in page and "at most 2\u00a0×" in page
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


def all_works():
    from stepstore.lab.reports.chapters import CHAPTERS

    return [(chapter, work) for chapter in CHAPTERS for work in chapter.works]


def draw_all(folder, *leave_out):
    """A figure for each command of a report, but for some; how many there are."""
    made = 0
    for number, (chapter, work) in enumerate(all_works()):
        if work.command not in leave_out:
            draw(folder / chapter.key, f"{chapter.key}-{number}")
            give(folder / chapter.key, f"{chapter.key}-{number}", command=f"stepstore {work.command} --x 1")
            made += 1
    return made


def test_what_could_not_be_run_is_said_in_the_page(cli, tmp_path):
    # bench fails here: there is no such launcher. All else is in the folder.
    draw_all(tmp_path / "there", "bench application")
    said = cli("report", "page.html", "--quick", "--from", tmp_path / "there", PATH="/nowhere")
    page = (cli.directory / "page.html").read_text()
    assert "Left out: stepstore bench application" in page and "left out: " in said.err
    assert page.count("Left out: ") == 1


def test_a_report_goes_on_where_it_was_interrupted(cli):
    advice = "advise --ranks 64 --metadata 5k --servers 10"
    made = draw_all(cli.directory / "page-figures", advice)
    said = cli("report", "page.html", "--resume", "--quick")
    assert f"{made + 1} figures" in said.out or "left out" in said.err
    assert [one for one in said.err.splitlines() if one.startswith("stepstore ")] == [f"stepstore {advice}"]


def test_a_command_is_known_by_what_it_does_and_not_by_its_size():
    works = {work.command: work for _, work in all_works()}
    base, preset = works["bench layouts"], works["bench layouts --preset figure-14"]
    assert base.made("stepstore bench layouts --writers 3") and not preset.made("stepstore bench layouts")
    assert preset.made("stepstore bench layouts --writers 3 --preset figure-14")
    assert not base.made("stepstore bench layouts --preset figure-15")
    assert not preset.made("stepstore bench layouts --preset figure-15")
    assert not base.made("stepstore bench application")


def test_advice_is_drawn_with_its_reason(cli, tmp_path):
    from stepstore.lab.reports.advised import draw_advice

    point = {"point": "kv", "parameters": "Layout=kv", "stabilisation": 1e-3, "acquisition": 2e-3}
    advice = {
        "ranks": 1024, "servers": 10, "rank_bytes": 5120.0, "settings": "Layout=kv",
        "reason": "It asks for less.", "notes": ["A reader needs 5 MiB."],
        "predictions": [{**point, "point": "posix", "stabilisation": 9e-3}, point],
    }  # fmt: skip
    draw_advice(advice, tmp_path, "stepstore advise --ranks 1024 --metadata 5k")
    assert "1 figures, 0 statements" in report(cli, "--from", tmp_path).out
    page = (cli.directory / "page.html").read_text()
    assert "1,024 ranks, metadata of 5.0 KiB, 10 servers: take Layout=kv" in page
    assert "It asks for less. A reader needs 5 MiB." in page and "Advice before a job" in page


def test_every_simulated_statement_has_a_reason():
    from stepstore.lab.simulation import reasons
    from stepstore.lab.simulation.field_statements import FIELD_STATEMENTS
    from stepstore.lab.simulation.statements import STATEMENTS

    stated = {one.text for one in (*STATEMENTS, *FIELD_STATEMENTS)}
    assert stated == set(reasons._REASONS)


def test_statements_on_fields_stand_under_their_reference(cli, figures):
    records = [{"figure": "fdb-6", "statement": "together", "published": 0.5, "simulated": 0.5, "why": "x"}]
    (figures / "a" / "f.statements.json").write_text(json.dumps({"statements": records}))
    report(cli, "--from", figures)
    page = (cli.directory / "page.html").read_text()
    assert "FDB on DAOS" in page and "fdb-6" not in page


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
        assert list(csv.reader(text.splitlines()))[0] == ["ranks", "time_ms"]
        pdf = tmp_path / "page.pdf"
        page.printed(pdf)
        assert pdf.read_bytes().startswith(b"%PDF") and pdf.stat().st_size > 10_000


@needs_browser
def test_figures_fill_the_pages_that_they_are_printed_on(cli, tmp_path):
    for name in range(7):
        draw(tmp_path / "low", f"{name}", size=(7, 3.6), panels=1)
        give(tmp_path / "low", f"{name}", command="stepstore simulate figures")
    report(cli, "--from", tmp_path / "low")
    pdf = tmp_path / "low.pdf"
    with browser.opened(cli.directory / "page.html", tmp_path / "profile") as page:
        page.printed(pdf)
    pages = len(re.findall(rb"/Type /Page\b", pdf.read_bytes()))
    assert pages == 3, "two below the page's head, three, and two before the verdicts"


@needs_browser
@needs_simulator
def test_simulated_figures_can_be_read_wide_on_a_phone_and_in_print(cli, tmp_path):
    cli("simulate", "figures", "--directory", "found", "--only", "8,files-1", timeout=300)
    report(cli, "--from", "found")
    file = cli.directory / "page.html"
    shown = "return [...document.images].map(i => [i.currentSrc, i.width, i.naturalWidth, i.height])"
    with browser.opened(file, tmp_path / "profile") as first:
        page = browser.Page(first.driver, file, 1280, dark=False)
        wide = page.run(shown)
        assert len(wide) == 2
        top = page.run("return document.querySelector('figure').getBoundingClientRect().top")
        assert top < 450, "the first figure is on the first screen"
        if PICTURES:
            page.picture(Path(PICTURES) / "report.png")
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        printed = page.run(
            "return [...document.querySelectorAll('figure')].map("
            "f => [getComputedStyle(f).breakInside, f.offsetHeight])"
        )
        assert all(kept == "avoid" and height < 1000 for kept, height in printed), "a page of A4 holds each"
        assert [one[0] for one in page.run(shown)] == [one[0] for one in wide]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        page = browser.Page(first.driver, file, 390, dark=False)
        phone = page.run(shown)
        for (source, width, natural, height), (other, *_) in zip(phone, wide, strict=True):
            assert source != other, "a phone has its own picture"
            assert 0.85 * natural < width < 390, "its words are as large as they were drawn"
        assert phone[1][3] > 1.5 * phone[1][1], "two panels stand below each other"
        if PICTURES:
            page.run("document.querySelector('figure').scrollIntoView({behavior: 'instant'})")
            page.picture(Path(PICTURES) / "report-phone.png")
