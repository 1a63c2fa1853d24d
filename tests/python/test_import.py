"""What `import stepstore` takes along, and what it does without."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import stepstore


def run(program: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Each takes longer to import than stepstore itself.
HEAVY = (
    "numpy",
    "asyncio",
    "inspect",
    "typer",
    "rich",
    "adios2",
    "mpi4py",
    "eccodes",
    "pyfdb",
    "json",
    "matplotlib",
)


def test_it_imports_nothing_heavy():
    loaded = run("import sys; import stepstore; print(*sys.modules)").split()
    assert not [name for name in HEAVY if name in loaded]


def test_work_on_the_store_needs_no_numpy(tmp_path):
    loaded = run(
        f"""
        import sys, stepstore
        stepstore.Pool.create({str(tmp_path / "p")!r})
        with stepstore.Pool.connect({str(tmp_path / "p")!r}) as pool, pool.create_container("c") as container:
            container.key_value(1)["k"] = "v"
            array = container.create_array(2)
            array.write(0, b"abc")
            assert array.read() == b"abc" and bytes(container.key_value(1)["k"]) == b"v"
            assert repr(pool) and repr(array) and pool._repr_html_() and array._repr_html_()
        print(*sys.modules)
        """
    ).split()
    assert "numpy" not in loaded


def test_all_public_names_are_there():
    for name in stepstore.__all__:
        assert getattr(stepstore, name) is not None and name in dir(stepstore)
    program = f"from stepstore import {', '.join(name for name in stepstore.__all__)}"
    run(f"{program}; print(open_steps, Steps)")
    run("from stepstore import *; print(open_steps, Pool)")
    run("import stepstore; print(stepstore.steps.aggregate, stepstore.Variable)")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        stepstore.nonsense  # noqa: B018


def test_it_works_without_what_is_optional(tmp_path):
    """adios2, FDB and MPI are found where a program uses them."""
    run(
        f"""
        import sys
        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in ("adios2", "mpi4py", "fdb5lib", "pyfdb", "eckitlib", "eccodes"):
                    raise ModuleNotFoundError(name)
        sys.meta_path.insert(0, Absent())
        import stepstore
        from stepstore import *
        import stepstore.cli
        stepstore.Pool.create({str(tmp_path / "p")!r})
        """
    )


CONFIGURATION = """<?xml version="1.0"?>
<adios-config>
    <io name="out">
        <engine type="Plugin">
            <parameter key="PluginName" value="stepstore"/>
            <parameter key="PluginLibrary" value="stepstore_adios2"/>
            <parameter key="Location" value="LOCATION"/>
        </engine>
    </io>
</adios-config>
"""


@pytest.mark.parametrize("first", ["stepstore", "adios2"])
@pytest.mark.parametrize("known", ["", "/nowhere", "/nowhere:/else"])
def test_a_configuration_file_may_name_the_plugin(tmp_path, first, known):
    """Whichever is imported first, and whatever the user has in ADIOS2_PLUGIN_PATH, which stays."""
    pytest.importorskip("adios2")
    try:
        stepstore.plugin_path()
    except stepstore.Error:
        pytest.skip("built without the ADIOS2 plugin")
    (tmp_path / "adios2.xml").write_text(CONFIGURATION.replace("LOCATION", str(tmp_path / "p")))
    second = {"stepstore": "adios2", "adios2": "stepstore"}[first]
    told = run(
        f"""
        import os
        os.environ["ADIOS2_PLUGIN_PATH"] = {known!r}
        if not {known!r}: del os.environ["ADIOS2_PLUGIN_PATH"]
        import {first}
        import {second}
        io = adios2.Adios({str(tmp_path / "adios2.xml")!r}).declare_io("out")
        with adios2.Stream(io, {str(tmp_path / "p")!r}, "w") as stream:
            for step in stream.steps(1):
                step.write("v", 7)
        print(os.environ["ADIOS2_PLUGIN_PATH"])
        with stepstore.open_steps({str(tmp_path / "p")!r}) as steps:
            print(steps.read("v"))
        """
    )
    expected = [known, stepstore.plugin_path()] if known else [stepstore.plugin_path()]
    assert told.split() == [":".join(expected), "7"]
