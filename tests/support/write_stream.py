"""A small ADIOS2 program: four steps of fields whose values are known, through the Stepstore plugin."""

import sys

import adios2
import numpy as np

STEPS = 4
SHAPE = (6, 8)


def main(location: str, steps: int = STEPS, mode: str = "write", **more: str) -> None:
    """mode: or append."""
    io = adios2.Adios().declare_io("out")
    io.set_engine("Plugin")
    io.set_parameters(
        {"PluginName": "Stepstore", "PluginLibrary": "stepstore_adios2", "Location": location, **more}
    )
    io.define_attribute("title", "a test")
    io.define_attribute("spacing", np.array([0.5, 0.25]))
    field = io.define_variable("field", np.zeros(SHAPE), list(SHAPE), [0, 0], list(SHAPE))
    half = io.define_variable(
        "grid/half", np.zeros(SHAPE, dtype=np.int32), list(SHAPE), [0, 0], [SHAPE[0] // 2, SHAPE[1]]
    )
    count = io.define_variable("count", np.zeros(1, dtype=np.uint64))
    label = io.define_variable("label", "text")
    modes = {"write": adios2.bindings.Mode.Write, "append": adios2.bindings.Mode.Append}
    engine = io.open("anything", modes[mode])
    for step in range(steps):
        engine.begin_step()
        engine.put(
            field, np.arange(48, dtype=np.float64).reshape(SHAPE) + 100 * step, adios2.bindings.Mode.Sync
        )
        for part in range(2):
            half.set_selection([[part * 3, 0], [3, SHAPE[1]]])
            engine.put(
                half, np.full((3, SHAPE[1]), 10 * step + part, dtype=np.int32), adios2.bindings.Mode.Sync
            )
        if step % 2 == 0:
            engine.put(count, np.array([step * 7], dtype=np.uint64), adios2.bindings.Mode.Sync)
        engine.put(label, f"step {step}")
        engine.end_step()
    engine.close()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]), **dict(one.split("=") for one in sys.argv[3:]))
