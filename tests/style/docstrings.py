#!/usr/bin/env python3
"""Looks that every name that users of the Python package may use has a docstring, and that it is complete.

Public is a module, and in it a class, function, method or property whose name, and whose owner's name, has no
leading underscore. Python itself says what methods like __len__ do.

- In the modules that users import (USERS) a docstring has the form of numpydoc. It begins with a summary in
  one line. It has the parameters of the signature, in their order. It says what is returned or yielded, and
  names the exceptions that the code raises. A class names the parameters of its __init__, or its fields.
- A method of a class that extends one of another library (zarr, fsspec, xarray) needs a summary: there its
  parameters are described.
- All other modules need a summary of the module.
"""

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python/stepstore"
USERS = {
    "__init__.py",
    "array.py",
    "arrays.py",
    "errors.py",
    "fdb5.py",
    "handles.py",
    "key_value.py",
    "steps.py",
    "store.py",
    "variables.py",
    "walk.py",
    "zarr.py",
    "blobs/__init__.py",
    "blobs/file.py",
    "blobs/filesystem.py",
    "blobs/zarr.py",
    "xarray_backend/__init__.py",
    "xarray_backend/follow.py",
}
OF_OTHERS = ("zarr", "fsspec", "xarray")
SECTIONS = ("Parameters", "Returns", "Yields", "Raises", "Attributes", "Notes", "Examples", "See Also")
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def sections_of(text):
    """The lines of each section, by its name."""
    found, lines, at = {}, text.splitlines(), None
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"} and len(below) == len(line):
            at = found.setdefault(line, [])
        elif at is not None:
            at.append(line)
    return found


def names_in(section):
    """The names that a section describes: its lines without indentation, `a, b : type` for two."""
    heads = [line for line in section or [] if line and line[0] not in " -"]
    return [name.strip() for head in heads for name in head.split(" : ")[0].split(",")]


def is_overload(node):
    return any(ast.unparse(one).split(".")[-1] == "overload" for one in node.decorator_list)


def is_property(node):
    return any(ast.unparse(one).endswith(("property", ".setter")) for one in node.decorator_list)


def parameters_of(node, is_method):
    given = node.args
    names = [one.arg for one in given.posonlyargs + given.args]
    is_static = any(ast.unparse(one) == "staticmethod" for one in node.decorator_list)
    names = names[1:] if is_method and not is_static else names
    names += [f"*{given.vararg.arg}"] if given.vararg else []
    names += [one.arg for one in given.kwonlyargs]
    names += [f"**{given.kwarg.arg}"] if given.kwarg else []
    return [name for name in names if not name.strip("*").startswith("_")]


def own_nodes(node):
    """What is in a function, without the functions in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTION, ast.ClassDef, ast.Lambda)):
            yield child
            yield from own_nodes(child)


def raised_by(node):
    calls = [
        one.exc.func
        for one in own_nodes(node)
        if isinstance(one, ast.Raise) and isinstance(one.exc, ast.Call)
    ]
    return {call.id for call in calls if isinstance(call, ast.Name) and call.id[0].isupper()}


def fields_of(node):
    """The fields of a dataclass, NamedTuple or Enum."""
    bases = {ast.unparse(base).split(".")[-1] for base in node.bases}
    if "Enum" in bases:
        return [one.targets[0].id for one in node.body if isinstance(one, ast.Assign)]
    is_record = "NamedTuple" in bases or any("dataclass" in ast.unparse(one) for one in node.decorator_list)
    return [one.target.id for one in node.body if is_record and isinstance(one, ast.AnnAssign)]


class Module:
    def __init__(self, path):
        self.name = path.relative_to(PACKAGE).as_posix()
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.of_users = self.name in USERS
        self.findings = []
        imports = [one for one in self.tree.body if isinstance(one, ast.ImportFrom)]
        self.others = {
            alias.asname or alias.name
            for one in imports
            if (one.module or "").split(".")[0] in OF_OTHERS
            for alias in one.names
        }

    def say(self, node, name, what):
        self.findings.append(f"python/stepstore/{self.name}:{getattr(node, 'lineno', 1)}: {name}: {what}")

    def look(self):
        self.summary(self.tree, "the module")
        if self.of_users:
            self.inside(self.tree, "", whole=True, is_method=False)
        return self.findings

    def inside(self, owner, prefix, whole, is_method):
        for node in owner.body:
            if not isinstance(node, (*FUNCTION, ast.ClassDef)) or node.name.startswith("_"):
                continue
            name = prefix + node.name
            if isinstance(node, ast.ClassDef):
                extends = any(ast.unparse(base) in self.others for base in node.bases)
                self.type(node, name, whole)
                self.inside(node, f"{name}.", whole and not extends, is_method=True)
            elif not is_overload(node) and not any(
                ".setter" in ast.unparse(one) for one in node.decorator_list
            ):
                self.function(node, name, whole, is_method)

    def summary(self, node, name, whole=False):
        text = ast.get_docstring(node)
        if not text:
            self.say(node, name, "has no docstring")
            return None
        lines = text.splitlines()
        if whole and (not lines[0].endswith(".") or (len(lines) > 1 and lines[1])):
            self.say(node, name, "its docstring begins with one line, a sentence, and an empty line after it")
        return sections_of(text)

    def same(self, node, name, section, wanted, said):
        if said != wanted:
            self.say(
                node, name, f"{section} are {', '.join(said) or 'none'}: the code has {', '.join(wanted)}"
            )

    def type(self, node, name, whole):
        sections = self.summary(node, name, whole)
        if not whole or sections is None:
            return
        for one in node.body:
            if isinstance(one, FUNCTION) and one.name == "__init__":
                said = names_in(sections.get("Parameters"))
                self.same(node, name, "Parameters", parameters_of(one, True), said)
        if fields := fields_of(node):
            self.same(node, name, "Attributes", fields, names_in(sections.get("Attributes")))

    def function(self, node, name, whole, is_method):
        sections = self.summary(node, name, whole)
        if not whole or sections is None:
            return
        self.same(
            node, name, "Parameters", parameters_of(node, is_method), names_in(sections.get("Parameters"))
        )
        gives = node.returns is not None and ast.unparse(node.returns) not in ("None", "NoReturn")
        if gives and not is_property(node) and not {"Returns", "Yields"} & sections.keys():
            self.say(node, name, "says not what it Returns or Yields")
        if missing := raised_by(node) - set(names_in(sections.get("Raises"))):
            self.say(node, name, f"Raises does not name {', '.join(sorted(missing))}")


def main():
    paths = [path for kind in ("*.py", "*.pyi") for path in sorted(PACKAGE.rglob(kind))]
    modules = [Module(path) for path in paths]
    findings = [f"no module {name}: mend USERS" for name in sorted(USERS - {one.name for one in modules})]
    for module in modules:
        findings += module.look()
    print("\n".join(findings) if findings else "every name of users has a whole docstring")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
