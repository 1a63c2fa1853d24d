"""The types that the package promises, as mypy sees them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import stepstore

pytest.importorskip("mypy")
HERE = Path(__file__).parent
SETTINGS = HERE.parents[1] / "pyproject.toml"
# The tree of sources: the build tree has links to it, and the stub of the extension beside the extension.
PACKAGE = Path(stepstore.__file__).resolve().parent


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """mypy(arguments): the lines it prints. What it has seen once it knows the next time."""
    place = tmp_path_factory.mktemp("mypy")

    def run(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=place,
            env={**os.environ, "MYPYPATH": str(Path(stepstore.__file__).parents[1])},
        )
        assert done.stderr == "" and done.returncode in (0, 1), done.stderr
        return done.stdout

    return run


def test_the_package_is_typed(mypy):
    for used in ("xarray", "zarr", "rich", "typer", "matplotlib", "jinja2"):
        pytest.importorskip(used)
    assert "Success" in (told := mypy("--config-file", SETTINGS, "-p", "stepstore")), told


def test_a_program_of_a_user_is_typed(mypy):
    assert "Success" in (told := mypy(HERE / "user_program.py")), told


WRONG = [
    "values[3] = b''",
    "values.put('k', 5)",
    "text: str = values['k']",
    "array.write('a', b'')",
    "array.read(0, out=5)",
    "pool.nonsense()",
]


def test_a_wrong_program_is_not(mypy, tmp_path):
    head = [
        "import stepstore",
        "def wrong(pool: stepstore.Pool, values: stepstore.KeyValue, array: stepstore.Array) -> None:",
    ]
    (tmp_path / "wrong.py").write_text("\n".join(head + [f"    {line}" for line in WRONG]))
    told = mypy(tmp_path / "wrong.py")
    for number, line in enumerate(WRONG, len(head) + 1):
        assert f"wrong.py:{number}: error" in told, (line, told)


def stub_functions() -> dict[str, list[str]]:
    """The parameters of each function in the stub, "Pool.connect" say, inherited ones too. Of overloads the
    last."""
    found: dict[str, list[str]] = {}
    for node in ast.parse((PACKAGE / "_core.pyi").read_text()).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for base in (one.id for one in getattr(node, "bases", ()) if isinstance(one, ast.Name)):
            inherited = {name: given for name, given in found.items() if name.startswith(f"{base}.")}
            found |= {prefix + name.removeprefix(f"{base}."): given for name, given in inherited.items()}
        for function in (one for one in inside if isinstance(one, ast.FunctionDef)):
            found[prefix + function.name] = parameters(function)
    return {name: given for name, given in found.items() if not name.startswith("_")}


def parameters(function: ast.FunctionDef) -> list[str]:
    given = [*function.args.posonlyargs, *function.args.args]
    return [one.arg for one in given if one.arg != "self"]


def extension_functions() -> dict[str, list[str]]:
    """The same of the extension; parameters without a name are called arg."""
    found = {}
    for name, value in vars(stepstore._core).items():
        if isinstance(value, type):
            members = {f"{name}.{member}": one for member, one in vars(value).items()}
        else:
            members = {name: value}
        for member, one in members.items():
            signature = getattr(getattr(one, "fget", one), "__nb_signature__", None)
            if signature is None:
                continue
            text = re.sub(r"= \\\d+", "= ...", signature[-1][0].replace("def (", "def of(")) + ": ..."
            function = ast.parse(text).body[0]
            assert isinstance(function, ast.FunctionDef)
            found[member] = [re.sub(r"arg\d*$", "arg", one) for one in parameters(function)]
    return found


def test_the_stub_says_what_the_extension_has():
    stub, extension = stub_functions(), extension_functions()
    wanted = {name for name in extension if not name.endswith((".__str__", ".__repr__"))}
    assert wanted == set(stub)
    for name in wanted:
        if "arg" not in extension[name]:
            assert stub[name] == extension[name], name
        assert len(stub[name]) == len(extension[name]), name
