"""How things show themselves in a terminal and in a notebook."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import stepstore


def test_what_is_open_and_what_is_closed(pool, box):
    values = box.key_value(1)
    values.update(a=b"1", b=b"2")
    array = box.create_array(2, dtype="f4", chunk_size=50, size=7)
    assert repr(pool) == f"stepstore.Pool({pool.location!r})"
    assert repr(box) == "<stepstore.Container 'box'>"
    assert repr(values) == f"<stepstore.KeyValue {values.id} in 'box'>"
    assert repr(array) == f"<stepstore.Array {array.id} in 'box'>"
    shown = [one._repr_html_() for one in (pool, box, values, array)]
    for html in shown:
        assert html.startswith("<div><strong>stepstore.") and pool.location in html
    assert ">box<" in shown[0] and ">a, b<" in shown[2]
    assert all(f">{fact}<" in shown[3] for fact in ("float32", 50, 7, array.id))
    for one in (array, values, box, pool):
        one.close()
        name = type(one).__name__
        assert repr(one) == f"<closed stepstore.{name}>"
        assert f"stepstore.{name}" in one._repr_html_() and "closed" in one._repr_html_()


def test_names_are_escaped(pool, box):
    values = box.key_value(1)
    values["<script>alert('&')</script>"] = b""
    html = values._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;alert(&#x27;&amp;&#x27;)" in html


def test_many_are_cut(pool, box):
    values = box.key_value(1)
    values.update((f"{n:05}", b"") for n in range(5000))
    html = values._repr_html_()
    assert len(html) < 2000 and "more" in html


def test_an_error_is_shown_not_raised(pool, box, monkeypatch):
    array = box.create_array(2)

    class Broken:
        closed, id, cell_size, chunk_size = False, array.id, 1, 1

        def size(self):
            raise stepstore.Error(-1, "the disk is <gone>")

    monkeypatch.setattr(array, "_handle", Broken())
    assert "the disk is &lt;gone&gt;" in array._repr_html_()


def test_arrays_of_parallel_programs(pool):
    with stepstore.open_arrays(f"{pool.location}/fields", write=True) as arrays:
        arrays.write("T", [[1.0, 2.0]])
        arrays.write("<U>", [1, 2, 3])
        assert repr(arrays) == f"<stepstore.Arrays '{pool.location}/fields'>"
        html = arrays._repr_html_()
        for text in (
            "stepstore.Arrays",
            f"{pool.location}/fields",
            "float64 (1, 2)",
            "&lt;U&gt;",
            "int64 (3,)",
        ):
            assert text in html
        for number in range(60):
            arrays.write(f"{number:02}", [number])
        assert "and 12 more" in arrays._repr_html_()
    assert repr(arrays) == "<closed stepstore.Arrays>" and "closed" in arrays._repr_html_()


def test_a_stream_tells_whether_it_has_ended_its_size_and_its_attributes(tmp_path):
    place = tmp_path / "out"
    with stepstore.Writer(place) as writer:
        writer.set_attribute("title", "<b>a & b</b>")
        writer.set_attribute("units", "m/s", variable="U")
        writer.set_attribute("many", list(range(1000)))
        with writer.step() as step:
            step["U"] = np.zeros((3 << 17,))
            step["<i>"] = 1
        with stepstore.open_steps(place) as steps:
            assert "live: more steps may come" in steps._repr_html_()
    with stepstore.open_steps(place) as steps:
        html = steps._repr_html_()
        for text in (
            ">ended<",
            ">3.0 MiB<",
            "attribute title",
            "&lt;b&gt;a &amp; b&lt;/b&gt;",
            "attribute U/units",
        ):
            assert text in html
        assert "<b>" not in html and "&lt;i&gt;" in html and len(html) < 2000
        assert "3.0 MiB" in steps.variables()["U"]._repr_html_()
    with stepstore.Writer(tmp_path / "empty"), stepstore.open_steps(tmp_path / "empty") as steps:
        assert ">0<" in steps._repr_html_() and "live" in steps._repr_html_()


def test_sizes_have_units_and_arrays_their_attributes(pool, box):
    array = box.create_array(2, cell_size=1024, chunk_size=50, size=3 << 20)
    assert ">3.0 GiB<" in array._repr_html_()
    with stepstore.open_arrays(f"{pool.location}/fields", write=True) as arrays:
        arrays.write("T", np.zeros(1000))
        arrays.set_attribute("T", "units", "<K>")
        assert "7.8 KiB, units=&lt;K&gt;" in arrays._repr_html_()


def test_a_notebook_needs_numpy_and_the_wheel_alone(tmp_path):
    with stepstore.Writer(tmp_path / "out") as writer, writer.step() as step:
        step["U"] = np.zeros(3)
    program = """
import sys, stepstore
for name in ("xarray", "IPython", "pandas", "adios2", "zarr", "fsspec", "matplotlib"):
    sys.modules[name] = None  # an import fails
with stepstore.open_steps(sys.argv[1]) as steps:
    assert "ended" in steps._repr_html_()
"""
    subprocess.run([sys.executable, "-c", program, tmp_path / "out"], check=True)
