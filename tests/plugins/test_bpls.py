"""bpls, ADIOS2's own lister, on a stream of the plugin: variables, shapes, attributes, values, blocks. With
the engine named, and without, in the shell of `stepstore adios2-env --default`."""

import shlex
import subprocess
import sys

import adios2
import numpy as np
from python_support import Workspace


def main():
    bpls, package = sys.argv[1:]
    space = Workspace()
    try:
        with adios2.Stream(space.io("listed"), "any", "w") as stream:
            for step in stream.steps(2):
                step.write(
                    "temperature",
                    np.arange(12.0).reshape(3, 4) + 100 * step.current_step(),
                    [3, 4],
                    [0, 0],
                    [3, 4],
                )
                step.write("count", np.array([7], np.int32), [1], [0], [1])
                if step.current_step() == 0:
                    step.write_attribute("unit", "K", "temperature")
        parameters = (
            f"PluginName=stepstore,PluginLibrary=stepstore_adios2,Location={space.location('listed')}"
        )

        def run(*more):
            # bpls wants a path that exists; the plugin goes by Location.
            command = [bpls, "-E", "Plugin", "-P", parameters, space.location("listed"), *more]
            result = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert result.returncode == 0, (command, result.stdout, result.stderr)
            return result.stdout

        # At random: names, types, attributes, values. ADIOS2 lets a plugin set no number of steps, so bpls
        # shows no shape.
        listing = run("-a", "-l")
        assert "double" in listing and "temperature" in listing, listing
        assert "int32_t" in listing and "count" in listing, listing
        assert "temperature/unit" in listing and '"K"' in listing, listing
        dump = " ".join(run("-d", "temperature", "-n", "4").split())
        assert "0 1 2 3" in dump and "8 9 10 11" in dump, dump

        # The native engine tells bpls of shapes and extremes too.
        def run_unnamed(asked, *more):
            python = f"PYTHONPATH={shlex.quote(package)} {shlex.quote(sys.executable)}"
            script = f'set -e; set="$({python} -m stepstore adios2-env {asked})"; eval "$set"; exec "$@"'
            command = ["sh", "-c", script, "sh", bpls, space.location("listed"), *more]
            return subprocess.run(command, capture_output=True, text=True, timeout=60)

        listed = run_unnamed("--default", "-l")
        assert listed.returncode == 0, (listed.stdout, listed.stderr)
        lines = [line.split() for line in listed.stdout.splitlines()]
        assert "double temperature 2*{3, 4} = 0 / 111".split() in lines, listed.stdout
        listed = run_unnamed("--default", "-d", "temperature", "-n", "4")
        assert "108 109 110 111" in " ".join(listed.stdout.split()), listed.stdout
        refused = run_unnamed("", "-l")
        assert refused.returncode != 0 and "temperature" not in refused.stdout, refused.stdout
    finally:
        space.close()


if __name__ == "__main__":
    main()
