#!/usr/bin/env python3
"""Looks that what a process has of its own is held so that a forked child begins anew or is refused.

In C++ (src/base/own_state.h) each lock, thread and condition names the OwnState or ForkLock that it belongs
to, in its line or in the lines before. Nothing but that mechanism compares processes. In Python
(stepstore/process.py) each class that makes a lock or thread is begun anew by a PerProcess. The rest is
listed here, with the reason.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Below the C API. backend.h says there what a child may do; contract.*, abi_c.fork and store.* test it.
BELOW = ("src/base/", "src/store/", "src/daos/")
LOADED_ONCE = "held while a module is loaded, once in a process"
OF_A_CALL = "made and ended within one call"
FORKS_FIRST = "of a program that forks before anything is open, and never again"
CPP_ALLOWED = {
    "src/comm/group.cc": LOADED_ONCE,
    "plugins/adios2/loader/loader.cc": LOADED_ONCE,
    "src/comm/mpi_communicator.cc": "MPI is its parent's: a child says no farewell",
    "src/comm/mpi_communicator.h": "the same",
    "src/mount/mount.h": FORKS_FIRST,
    "src/mount/nodes.h": FORKS_FIRST,
    "src/mount/listings.cc": FORKS_FIRST,
    "bindings/python/completions.cc": "aio.Queues makes another one in a child; python.aio tests it",
}
PYTHON_ALLOWED = {
    "process.py": "the mechanism",
    "cli/complete.py": "a process that answers a shell, and forks nothing",
    "copying/containers.py": OF_A_CALL,
    "copying/task.py": OF_A_CALL,
    "copying/trees.py": OF_A_CALL,
    "lab/simulation/run.py": OF_A_CALL,
}
SIGN_OF_CPP = re.compile(
    r"std::(?:recursive_|shared_|timed_)*mutex\s+\w+\s*[;{]|std::j?thread\s+\w+\s*;"
    r"|std::condition_variable(?:_any)?\s+\w+\s*;|std::vector<std::j?thread>\s+\w+\s*;"
)
COMPARES = re.compile(r"\bgetpid\s*\(|\bprocess_generation\s*\(")
LINES_BEFORE = 4


def kinds():
    found = set()
    for name, header in (("OwnState", "own_state.h"), ("ForkLock", "fork.h")):
        text = (ROOT / "src/base" / header).read_text(encoding="utf-8")
        body = re.search(rf"enum class {name} [^{{]*{{(.*?)}};", text, re.S).group(1)
        found |= {f"{name}::{one}" for one in re.findall(r"^\s*(\w+),", body, re.M)}
    return found


def cpp_violations(known):
    for top in ("src", "bindings", "plugins"):
        for path in sorted((ROOT / top).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix not in (".cc", ".h") or name.startswith(BELOW) or name in CPP_ALLOWED:
                continue
            lines = path.read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, 1):
                code = line.split("//")[0]
                near = " ".join(lines[max(0, number - 1 - LINES_BEFORE) : number])
                named = re.findall(r"(?:OwnState|ForkLock)::\w+", near)
                if SIGN_OF_CPP.search(code) and not ("`kind`" in near or known.intersection(named)):
                    yield f"{name}:{number}: say of which OwnState or ForkLock this is: {line.strip()}"
                if COMPARES.search(code):
                    yield f"{name}:{number}: use OfProcess or PerProcess of base/own_state.h: {line.strip()}"


def python_violations():
    package = ROOT / "python/stepstore"
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name in PYTHON_ALLOWED:
            continue
        text = path.read_text(encoding="utf-8")
        for scope, node in calls(ast.parse(text)):
            made = ast.unparse(node.func)
            own = made.startswith("threading.") or made.split(".")[-1] == "ThreadPoolExecutor"
            if own and f"PerProcess({scope})" not in text:
                yield f"python/stepstore/{name}:{node.lineno}: {made}() in '{scope}': use PerProcess"
            if made == "os.register_at_fork":
                yield f"python/stepstore/{name}:{node.lineno}: use PerProcess of process.py"


def calls(tree, scope=""):
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Call):
            yield scope, child
        yield from calls(child, child.name if isinstance(child, ast.ClassDef) else scope)


def main():
    known = kinds()
    if len(known) < 10:
        sys.exit("src/base: the kinds are not found")
    for name in (*CPP_ALLOWED, *(f"python/stepstore/{one}" for one in PYTHON_ALLOWED)):
        if not (ROOT / name).is_file():
            sys.exit(f"{name} is listed here, and is not there")
    found = [*cpp_violations(known), *python_violations()]
    print("\n".join(found) or "what a process has of its own is held so that a fork is thought of")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
