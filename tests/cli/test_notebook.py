"""The notebook in examples/, run as a user does, and the pictures that it makes for the documents."""

import os
import re
import shutil
from pathlib import Path

import browser
import matplotlib.image
import pytest
from PIL import Image, ImageChops

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
    boxes = [
        html for output in shown if "stepstore.Steps" in (html := output.get("data", {}).get("text/html", ""))
    ]
    assert len(boxes) == 1
    for told in (">ended<", "512.0 KiB", "attribute model", "Gray-Scott", "shape (32, 32, 32), 256.0 KiB"):
        assert told in boxes[0]
    if PICTURES and browser.programs():
        draw_box(boxes[0], tmp_path)


def draw_box(box, folder):
    """What the notebook shows of the stream, as a picture."""
    file, picture = folder / "box.html", Path(PICTURES) / "stream-in-notebook.png"
    box = re.sub(r">[^<>]*(?=gray-scott\.pool)", ">", box)
    file.write_text(f"<meta charset=utf-8><body style='font: 14px sans-serif'>{box}", encoding="utf-8")
    with browser.opened(file, folder / "profile", width=640) as page:
        page.picture(picture)
    image = Image.open(picture).convert("RGB")
    seen = ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox()
    image.crop((0, 0, seen[2] + 8, seen[3] + 8)).quantize(16).save(picture, optimize=True)
