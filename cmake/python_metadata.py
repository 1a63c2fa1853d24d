#!/usr/bin/env python3
"""Writes NAME-VERSION.dist-info with the entry points of pyproject.toml, for a package that no pip installs:
python_metadata.py PYPROJECT FOLDER. So xarray and others find the package's plugins in a build tree too."""

import sys
import tomllib
from pathlib import Path


def main(pyproject: str, folder: str) -> None:
    project = tomllib.loads(Path(pyproject).read_text())["project"]
    groups = {"console_scripts": project.get("scripts", {}), **project.get("entry-points", {})}
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items()), ""]
    where = Path(folder) / f"{project['name']}-{project['version']}.dist-info"
    where.mkdir(parents=True, exist_ok=True)
    (where / "entry_points.txt").write_text("\n".join(lines))
    told = {"Metadata-Version": "2.1", "Name": project["name"], "Version": project["version"]}
    (where / "METADATA").write_text("".join(f"{name}: {value}\n" for name, value in told.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
