"""What MkDocs asks while it builds the site: pages that are made from sources, and links that leave docs/.

The documents are written for GitHub's Markdown and for readers of plain files. Here they are made fit for
Python-Markdown: lists may begin without an empty line, and what belongs to an item is indented by four.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import commands
import headers
import messages
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
# Documents outside docs/ that are pages of the site, with their places there.
TAKEN = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "tests/fuzz/README.md": "fuzz.md",
}
# Pages that only the site has: a document names them in emphasis, and here the name becomes a link.
MADE = {
    "All messages": "reference/messages.md",
    "All commands": "reference/commands.md",
    "Python reference": "reference/python.md",
    "Error codes": "reference/c/daos_errno.md",
    "C and C++": "reference/c/index.md",
}

_FENCE = re.compile(r"^(\s*)(```+)(.*)$")
_LINK = re.compile(r"(!?)\[((?:[^\]`]|`[^`]*`)*)\]\(([^)\s]+)\)")


def on_files(files: Files, config) -> Files:
    generated = {
        **headers.pages(ROOT / "include"),
        "reference/commands.md": commands.page(),
        "reference/messages.md": messages.page(ROOT),
        **{there: (ROOT / here).read_text(encoding="utf-8") for here, there in TAKEN.items()},
    }
    for place, text in generated.items():
        files.append(File.generated(config, place, content=text))
    for name in ("iframe-worker.js", "site.css"):
        source = Path(__file__).parent / name
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    here = page.file.src_uri
    origin = {there: place for place, there in TAKEN.items()}.get(here, f"docs/{here}")
    return _for_python_markdown(_with_links(markdown, here, origin))


def _target(link: str, origin: str) -> Path | None:
    """The file that a relative link of a document names; None for addresses and headings."""
    name = link.partition("#")[0]
    if not name or re.match(r"[a-z]+:", name):
        return None
    return ((ROOT / origin).parent / name).resolve()


def _with_links(text: str, here: str, origin: str) -> str:
    def mended(found: re.Match) -> str:
        picture, words, link = found.groups()
        target = _target(link, origin)
        if target is None or not target.is_relative_to(ROOT):
            return found.group(0)
        anchor = link.partition("#")[1] + link.partition("#")[2]
        place = target.relative_to(ROOT).as_posix()
        if place in TAKEN:
            place = f"docs/{TAKEN[place]}"
        if place.startswith("docs/"):
            if (ROOT / place).is_dir():
                place += "/README.md"
            start = Path(here).parent.as_posix()
            return f"{picture}[{words}]({os.path.relpath(place.removeprefix('docs/'), start)}{anchor})"
        # A source: the site has no copy of it. The file is named.
        bare = words.strip("`")
        return f"`{place}`" if bare in place else f"{words} (`{place}`)"

    for name, place in MADE.items():
        link = os.path.relpath(place, Path(here).parent.as_posix())
        text = text.replace(f"*{name}*", f"[{name}]({link})")
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(mended, part) for part in parts)


def _for_python_markdown(text: str) -> str:
    lines: list[str] = []
    fence = ""  # the indentation and the mark of the block of code that is open
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        inside = bool(fence)
        if mark and not inside:
            fence = mark.group(2)
        elif mark and mark.group(2) == fence and not mark.group(3):
            fence = ""
        item = re.match(r"( *)([-*]|\d+\.) ", line)
        if not inside:
            previous = lines[-1] if lines else ""
            if item and previous.strip() and not re.match(r" *([-*]|\d+\.) | {2,}", previous):
                lines.append("")
            if line.startswith("|"):
                line = re.sub(r"`[^`]*`", lambda code: code.group(0).replace(r"\|", "|"), line)
        indent = len(line) - len(line.lstrip(" "))
        if indent in (2, 3) and (not inside or _in_item(lines)):
            line = " " * (4 - indent) + line
        elif indent > 3 and inside and _in_item(lines):
            line = "  " + line
        lines.append(line)
    return "\n".join(lines)


def _in_item(lines: list[str]) -> bool:
    """Whether the block of code that is open began inside an item of a list."""
    for line in reversed(lines):
        mark = _FENCE.match(line)
        if mark:
            return bool(mark.group(1))
    return False
