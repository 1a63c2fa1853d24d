"""bpls, ADIOS2's own lister, on a stream of the plugin: variables, shapes, attributes, values, blocks. With
the engine named, and without, in the shell of `stepstore adios2-env --default`. And adios2_reorganize, which
lies beside it, to BP5 and to Stepstore."""

import shlex
import subprocess
import sys
from pathlib import Path

import adios2
import numpy as np
from python_support import Workspace, plugin_io


def bp5_io():
    io = adios2.Adios().declare_io("copy")
    io.set_engine("BP5")
    return io


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
                step.write("name", f"step {step.current_step()}" if step.current_step() else "")
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
        def run_in_shell(asked, *command):
            python = f"PYTHONPATH={shlex.quote(package)} {shlex.quote(sys.executable)}"
            script = f'set -e; set="$({python} -m stepstore adios2-env {asked})"; eval "$set"; exec "$@"'
            return subprocess.run(
                ["sh", "-c", script, "sh", *command], capture_output=True, text=True, timeout=60
            )

        def run_unnamed(asked, *more):
            return run_in_shell(asked, bpls, space.location("listed"), *more)

        listed = run_unnamed("--default", "-l")
        assert listed.returncode == 0, (listed.stdout, listed.stderr)
        lines = [line.split() for line in listed.stdout.splitlines()]
        assert "double temperature 2*{3, 4} = 0 / 111".split() in lines, listed.stdout
        listed = run_unnamed("--default", "-d", "temperature", "-n", "4")
        assert "108 109 110 111" in " ".join(listed.stdout.split()), listed.stdout
        refused = run_unnamed("", "-l")
        assert refused.returncode != 0 and "temperature" not in refused.stdout, refused.stdout

        reorganize = str(Path(bpls).with_name("adios2_reorganize"))
        for writer in ("BP5", "Stepstore"):
            target = str(space.path / writer)
            source = space.location("listed")
            copied = run_in_shell("", reorganize, source, target, "Stepstore", "", writer, "")
            assert copied.returncode == 0, (copied.returncode, copied.stdout, copied.stderr)
            with adios2.Stream(bp5_io() if writer == "BP5" else plugin_io(target), target, "r") as stream:
                seen = [(step.read("temperature")[2, 3], step.read("name")) for step in stream.steps()]
                assert seen == [(11.0, ""), (111.0, "step 1")], seen
                assert stream.read_attribute("unit", "temperature") == "K"
    finally:
        space.close()


if __name__ == "__main__":
    main()
