"""The notebook in examples/, run as a user does, and the pictures that it makes for the documents."""

import os
from pathlib import Path

import matplotlib.image
import pytest

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
import nbformat  # noqa: E402

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ["STEPSTORE_TEST_BIN"]) / "gray-scott"
pytestmark = pytest.mark.skipif(
    os.environ.get("STEPSTORE_TEST_PLUGIN") == "0" or not PROGRAM.exists(),
    reason="needs gray-scott and the plugin",
)


def test_from_a_running_simulation_to_a_plot(tmp_path, monkeypatch):
    file = ROOT / "examples" / "notebook" / "running-simulation.ipynb"
    settings = {"GRAY_SCOTT": PROGRAM, "PICTURES": tmp_path, "IPYTHONDIR": tmp_path / "ipython"}
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
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("<xarray.Dataset>" in output.get("data", {}).get("text/plain", "") for output in shown)
    text = " ".join(output.get("data", {}).get("text/plain", "") for output in shown)
    assert "chunksize=(1, 32, 32, 32)" in text and "2000" in text
