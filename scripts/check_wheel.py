"""Checks a wheel for what auditwheel does not see: a symbol without a version that no old system has.

check_wheel.py WHEEL. The linker lets such a symbol pass, since a library may leave symbols to its program. It
is an error if a library of this system has it, and none in the wheel: the name was meant to come from there.
Prints the libraries of others that are inside.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SYSTEM = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1")


def symbols(which: str, library: Path) -> set[str]:
    command = ["nm", "-D", f"--{which}-only", library]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names = [line.split()[-2:] for line in lines]
    # "w" and "v" are weak: they may be missing.
    return {name for kind, name in names if which == "defined" or kind == "U"}


def main() -> None:
    system: set[str] = set()
    for name in SYSTEM:
        path = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        system |= {symbol.split("@")[0] for symbol in symbols("defined", Path(path.stdout.strip()))}
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(sys.argv[1]).extractall(folder)
        files = [path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]
        libraries = [path for path in files if path.open("rb").read(4) == b"\x7fELF"]
        inside = {symbol.split("@")[0] for path in libraries for symbol in symbols("defined", path)}
        wrong = [
            f"{path.relative_to(folder)}: {name}"
            for path in libraries
            for name in sorted(symbols("undefined", path))
            if "@" not in name and name in system - inside
        ]
        brought = sorted(path.name for path in libraries if path.parent.name.endswith(".libs"))
    if wrong:
        sys.exit("symbols that an older system lacks: they have no version.\n" + "\n".join(wrong))
    print(f"{len(libraries)} libraries and programs; of others: {', '.join(brought)}")


if __name__ == "__main__":
    main()
