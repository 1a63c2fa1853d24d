"""What a page expects before its first example. Each function makes it in the reader's directory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def _python(directory: Path, text: str) -> None:
    """In a process of its own: the libraries that it loads stay out of the tests."""
    subprocess.run([sys.executable, "-c", text], cwd=directory, check=True, timeout=120)


def _stream(directory: Path, location: str) -> None:
    """Twelve steps of two variables, and an attribute."""
    _python(
        directory,
        "import numpy as np, stepstore\n"
        f"with stepstore.Writer({location!r}) as writer:\n"
        "    writer.set_attribute('F', 0.04)\n"
        "    for step in range(12):\n"
        "        with writer.step() as now:\n"
        "            now['U'] = np.full((8, 8, 8), step, dtype='f8')\n"
        "            now['V'] = np.arange(512, dtype='f8').reshape(8, 8, 8) + step\n",
    )


def a_stream(directory: Path) -> None:
    """out/gs"""
    _stream(directory, "out/gs")


def files_to_move(directory: Path) -> None:
    """run7/default/gs, and a file of each format that the page imports."""
    _python(directory, "import stepstore; stepstore.Pool.create('run7')")
    _stream(directory, "run7/default/gs")
    _python(
        directory,
        "import numpy as np, xarray as xr\n"
        "t2m = xr.DataArray(np.arange(24.0).reshape(4, 2, 3), dims=('time', 'lat', 'lon'),\n"
        "                   coords={'time': np.arange(4.0)}, name='t2m')\n"
        "t2m.to_netcdf('era5.nc', unlimited_dims=['time'])\n"
        "t2m.to_netcdf('results.h5', engine='netcdf4')\n"
        "t2m.to_dataset().to_zarr('forecast.zarr')\n",
    )


def a_build_tree(directory: Path) -> None:
    """build/release, as it is in a clone of the project."""
    (directory / "build").mkdir()
    (directory / "build/release").symlink_to(Path(os.environ["STEPSTORE_BUILD"]).parents[1])


BEFORE: dict[str, Callable[[Path], None]] = {
    "docs/arrays.md": a_build_tree,
    "docs/cli.md": a_stream,
    "docs/moving.md": files_to_move,
}
