"""The examples of docstrings."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import stepstore


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
