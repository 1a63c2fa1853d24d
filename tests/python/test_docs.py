"""The examples of docs/python.md, in their order, and those of docstrings."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import stepstore

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


def test_the_examples_of_docstrings_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package = Path(stepstore.__file__).parent
    paths = [path for path in sorted(package.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
    assert paths
    for path in paths:
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        run = doctest.testmod(importlib.import_module(name))
        assert run.attempted > 0, name
        assert run.failed == 0, name
