"""The notebook in examples/, run as a user does, and the pictures that it makes for the documents."""

import os
import shutil
from pathlib import Path

import matplotlib.image
import pytest

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
import nbformat  # noqa: E402

ROOT = Path(__file__).parents[2]
PICTURES = os.environ.get("STEPSTORE_PICTURES")  # a directory: pictures of the documents are made there


def test_from_a_running_simulation_to_a_plot(tmp_path, monkeypatch):
    file = ROOT / "examples" / "notebook" / "running-simulation.ipynb"
    settings = {"PICTURES": tmp_path, "IPYTHONDIR": tmp_path / "ipython"}
    for name, value in {**settings, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}.items():
        monkeypatch.setenv(name, str(value))
    notebook = nbformat.read(file, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "store it without outputs"
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(file.parent)}}
    )
    client.execute()
    drawn = {file.name for file in tmp_path.glob("*.png")}
    assert drawn == {file.name for file in (ROOT / "docs" / "images").glob("notebook-*.png")} and drawn
    for name in drawn:
        assert matplotlib.image.imread(tmp_path / name)[..., :3].std() > 0.05, f"{name} is empty"
        if PICTURES:
            shutil.copy(tmp_path / name, PICTURES)
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("<xarray.Dataset>" in output.get("data", {}).get("text/plain", "") for output in shown)
    text = " ".join(output.get("data", {}).get("text/plain", "") for output in shown)
    assert "chunksize=(1, 32, 32, 32)" in text and "2000" in text
    boxes = [html for output in shown if "stepstore.Steps" in (html := output.get("data", {}).get("text/html", ""))]
    assert len(boxes) == 1
    for told in (">ended<", "512.0 KiB", "attribute model", "Gray-Scott", "shape (32, 32, 32), 256.0 KiB"):
        assert told in boxes[0]
