"""docs/troubleshooting.md has messages and codes that are in the sources, and no code is left out."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/site"))

import messages  # noqa: E402

PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
ERRORS = (ROOT / "include/libdaos/daos_errno.h").read_text(encoding="utf-8")


def listed():
    """The sentences of the tables."""
    rows = re.findall(r"^\| (.*?) \| (.*?) \|", PAGE, re.MULTILINE)
    return [sentence for first, _ in rows for sentence in re.findall(r"`([^`]+)`", first)]


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace('\\"', '"'))


def test_each_sentence_is_in_the_sources():
    texts = [plain(text) for text in [*messages.sources(ROOT), ERRORS]]
    sentences = listed()
    assert len(sentences) > 100
    lost = []
    for sentence in sentences:
        parts = [part.strip() for part in plain(sentence).split("…") if part.strip()]
        if not any(all(part in text for part in parts) for text in texts):
            lost.append(sentence)
    assert not lost


def test_each_code_that_is_raised_is_explained():
    named = set(re.findall(r"`-?(DER_\w+)`", PAGE))
    assert named <= set(re.findall(r"X\(with, (DER_\w+),", ERRORS))
    assert set(messages.raised(ROOT)) - {""} <= named


def test_the_messages_are_found():
    found = messages.raised(ROOT)
    assert sum(map(len, found.values())) > 400
    assert any("a pool in files has none; leave it out" in message for message in found[""])
    assert "there is no pool in …: create it first, or correct the path" in found["DER_NONEXIST"]
