"""Small ADIOS2 programs that write what tests of the xarray engine read: write_kinds.py PROGRAM LOCATION."""

import os
import sys
import time

import adios2
import numpy as np
import stepstore  # noqa: F401  the engine type Stepstore

SYNC = adios2.bindings.Mode.Sync


def opened(location, **parameters):
    io = adios2.Adios().declare_io("out")
    io.set_engine("Stepstore")
    io.set_parameters({"Location": location, **parameters})
    return io, lambda: io.open("anything", adios2.bindings.Mode.Write)


def array(io, name, data, shape=None, start=None):
    data = np.asarray(data)
    return io.define_variable(name, data, list(data.shape) if shape is None else shape,
                              start if start is not None else [0] * data.ndim, list(data.shape))  # fmt: skip


def kinds(location):
    """Three steps of every kind of variable."""
    io, start = opened(location)
    temperature = array(io, "T", np.zeros((3, 8)), [6, 8], [0, 0])
    io.define_attribute("units", "K", "T")
    io.define_attribute("__xarray_dimensions__", ["y", "x"], "T")
    packed = array(io, "packed", np.zeros((6, 8), dtype=np.int16))
    io.define_attribute("scale_factor", np.array([0.5]), "packed")
    io.define_attribute("_FillValue", np.array([-1], dtype=np.int16), "packed")
    io.define_attribute("dimensions", "y x", "packed")
    y = array(io, "y", np.arange(6.0))
    clock = io.define_variable("time", np.zeros(1))
    io.define_attribute("units", "hours since 2026-01-01", "time")
    label = io.define_variable("label", "text")
    rare = array(io, "rare", np.zeros(4))
    rare_too = io.define_variable("rare too", np.zeros(1, dtype=np.uint8))
    x, weight = array(io, "p/x", np.zeros(3)), array(io, "p/weight", np.zeros(3, dtype=np.float32))
    grown = array(io, "grown", np.zeros((2, 2)))
    alike = io.define_variable("alike", np.zeros(5), [], [], [5])
    ragged = io.define_variable("ragged", np.zeros(5), [], [], [5])
    each = io.define_variable("each", np.zeros(1), [adios2.LocalValueDim], [], [])
    io.define_attribute("title", "all kinds")
    io.define_attribute("levels", np.array([1, 2, 3]))
    engine = start()
    for step in range(3):
        engine.begin_step()
        for part in range(2):
            temperature.set_selection([[3 * part, 0], [3, 8]])
            engine.put(temperature, np.arange(24.0).reshape(3, 8) + 24 * part + 100 * step, SYNC)
        engine.put(packed, np.arange(48, dtype=np.int16).reshape(6, 8) - 1 + step, SYNC)
        if step == 0:
            engine.put(y, np.arange(6.0) * 10, SYNC)
        engine.put(clock, np.array([6.0 * step]), SYNC)
        engine.put(label, f"step {step}")
        if step % 2 == 0:
            engine.put(rare, np.full(4, 1.0 * step), SYNC)
            engine.put(rare_too, np.array([step], dtype=np.uint8), SYNC)
        count = 3 + 2 * step
        for variable, kind in ((x, np.float64), (weight, np.float32)):
            variable.set_shape([count])
            variable.set_selection([[0], [count]])
            engine.put(variable, np.arange(count, dtype=kind) + 10 * step, SYNC)
        grown.set_shape([2 + step, 2 + step])
        grown.set_selection([[0, 0], [2 + step, 2 + step]])
        engine.put(grown, np.full((2 + step, 2 + step), step * 1.0), SYNC)
        for block in range(3):
            engine.put(alike, np.arange(5.0) + 10 * block + 100 * step, SYNC)
            ragged.set_selection([[], [5 - block]])
            engine.put(ragged, np.arange(5.0 - block), SYNC)
        engine.put(each, np.array([7.0 + step]), SYNC)
        engine.end_step()
    engine.close()


def meshes(location):
    """Two iterations of openPMD's variable-based encoding: a staggered field and a scalar one."""
    io, start = opened(location)
    for mesh, labels in (("/data/fields/E", ["y", "x"]), ("/data/fields/rho", ["y", "x"])):
        io.define_attribute(f"{mesh}/axisLabels", labels)
        io.define_attribute(f"{mesh}/dataOrder", "C")
        io.define_attribute(f"{mesh}/gridSpacing", np.array([2.0, 0.5]))
        io.define_attribute(f"{mesh}/gridGlobalOffset", np.array([10.0, 0.0]))
        io.define_attribute(f"{mesh}/gridUnitSI", np.array([1e-6]))
    variables = []
    for name in ("/data/fields/E/x", "/data/fields/E/y", "/data/fields/rho"):
        variables.append(array(io, name, np.zeros((4, 6))))
        io.define_attribute(f"{name}/unitSI", np.array([3.0]))
    other = array(io, "/data/fields/E/small", np.zeros((2, 6)))
    io.define_attribute("openPMD", "1.1.0")
    number = io.define_variable("step", np.zeros(1, dtype=np.int64))
    engine = start()
    for step in range(2):
        engine.begin_step()
        for at, variable in enumerate(variables):
            engine.put(variable, np.full((4, 6), 10.0 * at + step), SYNC)
        engine.put(other, np.zeros((2, 6)), SYNC)
        engine.put(number, np.array([100 * (step + 1)]), SYNC)
        engine.end_step()
    engine.close()


def live(location, steps=5, pause=0.1, first=2):
    """Waits for a line on stdin after the first steps, then goes on in its own time. On "die" it dies."""
    io, start = opened(location)
    field = array(io, "T", np.zeros((4, 4)))
    rare = io.define_variable("rare", np.zeros(1, dtype=np.int32))
    grown = array(io, "grown", np.zeros(1))
    engine = start()
    first = int(first)
    for step in range(int(steps)):
        if step == first:
            print("ready", flush=True)
            if sys.stdin.readline().strip() == "die":
                os._exit(9)
        if step > first:
            time.sleep(float(pause))
        engine.begin_step()
        engine.put(field, np.full((4, 4), 1.0 * step), SYNC)
        grown.set_shape([step + 1])
        grown.set_selection([[0], [step + 1]])
        engine.put(grown, np.full(step + 1, 1.0 * step), SYNC)
        if step != 1:
            engine.put(rare, np.array([step], dtype=np.int32), SYNC)
        engine.end_step()
    engine.close()


def large(location, steps=4, edge=512):
    """So much that several readers meet."""
    io, start = opened(location)
    field = array(io, "T", np.zeros((1, int(edge))), [int(edge)] * 2, [0, 0])
    engine = start()
    rows = int(edge) // 4
    for step in range(int(steps)):
        engine.begin_step()
        for part in range(4):
            field.set_selection([[part * rows, 0], [rows, int(edge)]])
            engine.put(field, np.full((rows, int(edge)), 10.0 * step + part), SYNC)
        engine.end_step()
    engine.close()


def columns(location):
    """As a Fortran program does: T(3, 4) in two blocks of two columns."""
    io, start = opened(location, ArrayOrder="column")
    field = io.define_variable("T", np.zeros((2, 3)), [3, 4], [0, 0], [3, 2])
    io.define_attribute("dimensions", ["rows", "columns"], "T")
    engine = start()
    for step in range(2):
        engine.begin_step()
        for part in range(2):
            field.set_selection([[0, 2 * part], [3, 2]])
            engine.put(field, np.arange(6.0).reshape(2, 3) + 6 * part + 100 * step, SYNC)
        engine.end_step()
    engine.close()


if __name__ == "__main__":
    {"kinds": kinds, "meshes": meshes, "live": live, "large": large, "columns": columns}[sys.argv[1]](
        *sys.argv[2:]
    )
