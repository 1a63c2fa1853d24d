"""Every command of ours on every page can be given: the command, its options and the targets of make exist.

So also examples that no test runs, since they need a cluster or minutes, cannot go stale. Commands in blocks
are parsed whole. In a line of text a command may be a part of one.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
import subprocess
import sys

import pages
import pytest
import typer
from stepstore.cli import app

COMMAND = typer.main.get_command(app)
CONTEXT = COMMAND.make_context("stepstore", ["version"])
CLICK = {kind.__name__: kind for kind in typer.BadParameter.__mro__}["ClickException"]
# They read their options themselves.
WITH_OWN_OPTIONS = ("bench", "simulate", "advise")
DOCUMENTS = [  # but the history
    *(one for one in pages.ROOT.glob("*.md") if one.name != "CHANGELOG.md"),
    *pages.ROOT.glob("docs/**/*.md"),
]
_CALL = re.compile(r"(?:^|[|;&(]|\$ )\s*(?:\w+=\S* )*(stepstore|make|cmake) +(.*)", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`((?:\w+=\S* )*(?:stepstore|make|cmake) [^`]+)`(?!`)")


def words_of(text: str) -> list[str]:
    """Up to the end of the command: a '|', a comment, a '...'."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[str] = []
    try:
        for word in lexer:
            if word == "..." or set(word) <= set("();<>|&"):
                break
            found.append(word)
    except ValueError:  # a quotation that goes on in the next line
        pass
    return found


def calls(text: str) -> list[tuple[str, list[str]]]:
    joined = re.sub(r"\\\n\s*", " ", text)
    return [(name, words_of(rest)) for name, rest in _CALL.findall(joined)]


@functools.cache
def help_of(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "stepstore", *words, "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def options_of(words: list[str]) -> list[str]:
    return [word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]


def wrong_in_own_options(words: list[str]) -> str:
    names = [word for word in words[:2] if word.isidentifier() and word.islower()]
    if words[0] == "advise":
        names = ["advise"]
    told = help_of(*names)
    for option in options_of(words):
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", told):
            return f"{' '.join(names)} has no option {option}"
    return ""


def wrong_in_call(words: list[str], *, is_part: bool) -> str:
    """What click says of it. In a part of a command arguments may be left out."""
    if words and words[0] in WITH_OWN_OPTIONS:
        return wrong_in_own_options(words)
    command, rest = COMMAND, words
    if is_part and rest and rest[0].isupper():  # COMMAND
        return ""
    while hasattr(command, "get_command") and rest and not rest[0].startswith("-"):
        inner = [command.get_command(CONTEXT, name) for name in (rest[0].split("/") if is_part else rest[:1])]
        if None in inner:
            return f"there is no command {rest[0]!r}"
        command, rest = inner[0], rest[1:]
    if is_part:
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        known |= {"-h", "--help", "--debug", "--install-completion", "--show-completion"}
        unknown = [one for one in options_of(rest) if one not in known and one.startswith("--")]
        return f"no option {unknown[0]!r}" if unknown else ""
    try:
        command.make_context("stepstore", list(rest))
    except typer.Exit:  # of --version, --help
        pass
    except CLICK as error:
        return error.format_message()
    return ""


@functools.cache
def targets() -> set[str]:
    done = subprocess.run(
        ["make", "-qpn", "-C", pages.ROOT], capture_output=True, text=True, check=False, timeout=60
    )
    return set(re.findall(r"^([\w-]+):", done.stdout, re.MULTILINE))


@functools.cache
def presets() -> set[str]:
    told = json.loads((pages.ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    return {one["name"] for one in told["configurePresets"]}


def wrong(name: str, words: list[str], *, is_part: bool) -> str:
    if name == "stepstore":
        return wrong_in_call(words, is_part=is_part)
    if name == "make":
        unknown = [one for one in words if re.fullmatch(r"[a-z][a-z-]*", one) and one not in targets()]
        return f"make has no target {unknown[0]!r}" if unknown else ""
    if "--preset" in words and (preset := words[words.index("--preset") + 1]) not in presets():
        return f"cmake has no preset {preset!r}"
    return ""


def findings(text: str) -> list[str]:
    found = []
    for block in pages.blocks(text):
        if block.language in ("", "sh", "console"):
            for name, words in calls(block.text):
                if words and (told := wrong(name, words, is_part=False)):
                    found.append(f"line {block.line + 1} on: {name} {' '.join(words)}: {told}")
    for span in _SPAN.findall(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)):
        for name, words in calls(span.replace("\\|", "|").replace("\n", " ")):
            if words and (told := wrong(name, words, is_part=True)):
                found.append(f"`{span}`: {told}")
    return found


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda one: str(one.relative_to(pages.ROOT)))
def test_every_command_can_be_given(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert findings(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("```\nstepstore copy a b --no-such\n```\n", "--no-such"),
        ("```sh\nx=$(stepstore plugin-pth)\n```\n", "plugin-pth"),
        ("```\nstepstore copy a\n```\n", "DST"),
        ("```\nstepstore snapshot aggregate a --keep many\n```\n", "many"),
        ("```\nstepstore bench layouts --no-such 3\n```\n", "--no-such"),
        ("`stepstore cont creat`", "creat"),
        ("`stepstore pool check POOL --no-such`", "--no-such"),
        ("`TESTS=x make tests`", "tests"),
        ("```\ncmake --preset no-such\n```\n", "no-such"),
    ],
)
def test_a_command_that_went_stale_is_found(text, told):
    (found,) = findings(text)
    assert told in found
