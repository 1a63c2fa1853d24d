#!/usr/bin/env python3
"""Looks that every name that users of the Python package may use has a docstring, and that it is complete.

Public is a module, and in it a class, function, method or property whose name, and whose owner's name, has no
leading underscore. Python itself says what methods like __len__ do.

- In the modules of users (OfUsers finds them) a docstring has the form of numpydoc. It begins with a summary
  in one line. It has the parameters of the signature, in their order. It says what is returned or yielded,
  and names the exceptions that the code raises. A class names the parameters of its __init__, or its fields.
- A method of a class that extends one of another library (zarr, fsspec, xarray) needs a summary: there its
  parameters are described.
- All other modules need a summary of the module.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/stepstore"
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


class OfUsers:
    """The modules that define what users get: names in the `__all__` of any module, the entry points of
    pyproject.toml, and all that the bases and signatures of these mention."""

    def __init__(self):
        self.trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sources()}
        self.modules = set()
        self.seen = set()
        for path, tree in self.trees.items():
            for name in exported(tree):
                self.reach(path, name)
        settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        for module, name in re.findall(r'= "(stepstore[\w.]*):([A-Z]\w*)"', settings):
            self.reach(self.file_of(module), name)

    def file_of(self, module):
        base = ROOT / "python" / module.replace(".", "/")
        return next(
            (one for one in (base.with_suffix(".py"), base / "__init__.py") if one in self.trees), None
        )

    def reach(self, path, name):
        if path is None or (path, name) in self.seen:
            return
        self.seen.add((path, name))
        for node in self.trees[path].body:
            if isinstance(node, (*FUNCTION, ast.ClassDef)) and node.name == name:
                self.modules.add(path)
                for mentioned in names_of_interface(node):
                    self.reach(path, mentioned)
        for node in ast.walk(self.trees[path]):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        self.reach(self.file_of(node.module), alias.name)


def sources():
    return [path for kind in ("*.py", "*.pyi") for path in sorted(PACKAGE.rglob(kind))]


def exported(tree):
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from ast.literal_eval(node.value)


def names_of_interface(node):
    """Each name in the bases of a class, or in the signature of a function or public method."""
    parts, functions = [], [node]
    if isinstance(node, ast.ClassDef):
        parts = [*node.bases, *(one.annotation for one in node.body if isinstance(one, ast.AnnAssign))]
        functions = [one for one in node.body if isinstance(one, FUNCTION) and not one.name.startswith("_")]
    for one in functions:
        given = one.args
        parts += [arg.annotation for arg in given.posonlyargs + given.args + given.kwonlyargs]
        parts.append(one.returns)
    for part in filter(None, parts):
        yield from (name.id for name in ast.walk(part) if isinstance(name, ast.Name))


class Module:
    def __init__(self, path, of_users):
        self.name = path.relative_to(PACKAGE).as_posix()
        self.tree = of_users.trees[path]
        self.of_users = path in of_users.modules
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
    of_users = OfUsers()
    if len(of_users.modules) < 15:
        sys.exit(f"only {len(of_users.modules)} modules of users were found")
    findings = [finding for path in sources() for finding in Module(path, of_users).look()]
    whole = f"every name of users, in {len(of_users.modules)} modules, has a whole docstring"
    print("\n".join(findings) if findings else whole)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
