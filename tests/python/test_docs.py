"""The examples of docs/python.md, in their order."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/python.md"


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    examples = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert len(examples) > 5
    for example in examples:
        line = text.count("\n", 0, example.start(1))
        exec(compile("\n" * line + example[1], str(PAGE), "exec"), names)  # noqa: S102
