"""Pictures of the command line, for the documents.

`STEPSTORE_PICTURES=docs/images` makes them anew. Without it, the text of each is compared with its picture in
docs/images.
"""

from __future__ import annotations

import html
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
import stepstore
from rich.console import Console
from rich.text import Text
from stepstore.blobs import open_blobs
from terminals import on_terminal

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PICTURES = os.environ.get("STEPSTORE_PICTURES")
WIDTH = 90
SCREENS = {
    "cli-ls.svg": ("ls", "-r", "out"),
    "cli-steps.svg": ("steps", "out/default/gs", "-l", "-a"),
    "cli-help.svg": ("steps", "--help"),
}


def prepared(directory):
    pool = directory / "out"
    stepstore.Pool.create(pool)
    with stepstore.Writer(f"{pool}/default/gs") as writer:
        writer.set_attribute("model", "Gray-Scott")
        writer.set_attribute("units", "mol/l", variable="U")
        for number in range(4):
            with writer.step() as step:
                step["time"] = 0.5 * number
                step["U"] = np.linspace(0, 1, 32 * 32).reshape(32, 32) / (1 + number)
                step["V"] = np.linspace(-1, 1, 32 * 32).reshape(32, 32)
    with stepstore.open_arrays(f"{pool}/default", write=True) as arrays:
        arrays.write("temperature", np.zeros((180, 360), np.float32))
    open_blobs(str(pool), "default").write("runs/7/notes.txt", b"the inlet is closed\n")
    open_blobs(str(pool), "default").write("runs/7/settings.json", b"{}\n")


def drawn(words, shown):
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text("$ " + " ".join(("stepstore", *words)), style="bold"))
    console.print(Text.from_ansi(shown.rstrip("\n")))
    svg = console.export_svg(title="stepstore", unique_id="screen")
    # A page of the site loads nothing from other hosts: the fonts are those of the reader.
    svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "DejaVu Sans Mono, Menlo, Consolas, monospace")


def text_of(svg):
    lines = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return html.unescape("".join(lines)).replace("\xa0", " ").split()


@pytest.mark.parametrize("name", SCREENS)
def test_a_picture_shows_what_the_command_prints(cli, name):
    prepared(cli.directory)
    words = SCREENS[name]
    picture = drawn(words, on_terminal(cli, WIDTH, *words, colours=True)[0])
    assert "http" not in picture.replace("http://www.w3.org/", "")
    if PICTURES:
        (Path(PICTURES) / name).write_text(picture, encoding="utf-8")
    kept = (IMAGES / name).read_text(encoding="utf-8")
    assert text_of(kept) == text_of(picture), "make it anew: STEPSTORE_PICTURES=docs/images"
