"""Examples in the help of every command: the command, and what it does. Tests run them in this order."""

from __future__ import annotations

# A container `default` in the pool `out`, with the stream `gs` of U and V, is there before the first.
EXAMPLES: dict[str, list[tuple[str, str]]] = {
    "": [
        ("stepstore ls -r out", "List all that is in the pool out"),
        ("stepstore steps out/default/gs -l", "Show a stream with the extremes of its variables"),
        ("stepstore export out/default/gs gs.nc", "Write it to a NetCDF file"),
    ],
    "ls": [
        ("stepstore ls out", "List what is in the only container of a pool"),
        ("stepstore ls -r out --json", "List all that is in a pool, for a program"),
        ("stepstore ls -l out/default/gs", "List the variables of a stream"),
    ],
    "tree": [("stepstore tree out -L 2", "Draw containers and what they hold")],
    "stat": [
        ("stepstore stat out", "Show a pool: its format and space"),
        ("stepstore stat out/default/gs/U", "Show a variable: type, shape, attributes"),
    ],
    "cat": [
        ("stepstore cat out/default/gs/U > U.raw", "Write the bytes of a variable's last step to a file"),
        ("stepstore cat out/default/notes.txt", "Print a blob"),
    ],
    "du": [
        ("stepstore du out", "Say what each container takes"),
        ("stepstore du -s out/default/gs", "Say what a stream takes"),
    ],
    "steps": [
        ("stepstore steps out/default/gs -l -a", "Show variables with their extremes, and attributes"),
        ("stepstore steps out/default/gs U -d --steps -1", "Print all values of the last step of U"),
        ("stepstore steps out/default/gs U -d -s 0,2 -c -1,2", "Print two columns of U in every step"),
    ],
    "export": [
        ("stepstore export out/default/gs gs.nc", "Write a stream to a NetCDF file"),
        ("stepstore export out/default/gs U.zarr --variables U --steps 1:", "Write some of it to Zarr"),
    ],
    "import": [
        ("stepstore import gs.nc out/default/again", "Read a NetCDF file into a stream"),
        ("stepstore import U.zarr out/default/U --along step", "Read Zarr, with the dimension of the steps"),
    ],
    "copy": [
        ("stepstore copy out copied", "Copy a pool to a new one, and compare"),
        ("stepstore copy out/default/gs copied/default/gs2", "Copy a stream, under another name"),
        ("stepstore copy out/default/gs copied/default/gs3 --dry-run", "Say what would be copied"),
    ],
    "rm": [("stepstore rm --yes out/default/again", "Remove a stream without a question")],
    "pool": [("stepstore pool list .", "List the pools below this directory")],
    "pool create": [
        ("stepstore pool create new", "Make a pool in the directory new"),
        ("stepstore pool create disks --target-dir d1 --target-dir d2", "Spread its targets over two disks"),
        ("stepstore pool create shared --on files", "Make a pool for machines that share a file system"),
    ],
    "pool list": [
        ("stepstore pool list", "List the pools with labels"),
        ("stepstore pool list .", "List the pools below this directory"),
    ],
    "pool query": [("stepstore pool query out", "Show the space of a pool, and what its targets did")],
    "pool check": [
        ("stepstore pool check out", "Read and verify all that is in a pool"),
        ("stepstore pool check out --no-data --repair", "Look at the structure, and free what nobody needs"),
    ],
    "pool compact": [("stepstore pool compact out", "Give unused space back to the file system")],
    "cont": [("stepstore cont list out", "List the containers of a pool")],
    "cont create": [
        ("stepstore cont create out/second", "Make a container"),
        ("stepstore cont create out/files --type posix", "Make a file system, for programs that use libdfs"),
    ],
    "cp": [
        ("stepstore cp gs.nc out/files/runs.nc", "Copy a file into a file system in a container"),
        ("stepstore cp -a out/files/runs.nc kept.nc", "Copy it out again, with its mode and time"),
    ],
    "cont list": [("stepstore cont list out", "List the containers of a pool")],
    "cont query": [("stepstore cont query out/default", "Show what a container holds")],
    "cont destroy": [("stepstore cont destroy --yes out/second", "Remove a container without a question")],
    "mount": [
        ("stepstore mount out/files mnt", "Show the files of a container in the directory mnt"),
        ("stepstore mount out/files was --snapshot monday", "Show them as they were at a snapshot"),
    ],
    "unmount": [("stepstore unmount mnt", "End that")],
    "snapshot": [("stepstore snapshot create out/default --name before", "Remember a container as it is")],
    "snapshot create": [
        ("stepstore snapshot create out/default --name first", "Make a snapshot with a name")
    ],
    "snapshot list": [("stepstore snapshot list out/default", "List names, epochs and times")],
    "snapshot destroy": [("stepstore snapshot destroy --yes out/default first", "Forget a snapshot")],
    "snapshot aggregate": [
        (
            "stepstore snapshot aggregate --yes out/default/kept --keep 2",
            "Keep the last two steps of a stream",
        )
    ],
    "pool destroy": [("stepstore pool destroy --yes new", "Remove a pool without a question")],
    "demo": [("stepstore demo simulation", "Run a small simulation that writes a stream")],
    "demo simulation": [
        ("stepstore demo simulation demo/gs --steps 3 --iterations 2", "Write three steps of a simulation")
    ],
    "demo fields": [("stepstore demo fields -d fdb-demo", "Run a small forecast through FDB")],
    "report": [
        ("stepstore report report.html --quick", "Measure and simulate a little, and write the page"),
        ("stepstore report report.html --from figures --no-run", "Write a page of figures that are there"),
    ],
    "bench": [("stepstore bench store", "Measure the store next to LMDB and plain files")],
    "bench metadata": [("stepstore bench metadata --rounds 1", "Measure once how ADIOS2 writes metadata")],
    "bench layouts": [
        ("stepstore bench layouts --points layouts --directory /dev/shm", "Compare all layouts in memory"),
        ("stepstore bench layouts --writers 16 --sizes 5k --steps 1000", "Measure a job's own numbers"),
    ],
    "bench application": [
        ("stepstore bench application --ranks 4 --scale 0", "Measure a real simulation on four ranks")
    ],
    "bench data": [("stepstore bench data --rounds 1", "Measure bandwidth once")],
    "bench decomposed": [("stepstore bench decomposed --rounds 1", "Measure arrays in blocks once")],
    "bench open": [("stepstore bench open --rounds 1", "Measure opening once")],
    "bench fields": [("stepstore bench fields --rounds 1", "Measure FDB's fields once")],
    "bench xarray": [("stepstore bench xarray --size 64", "Measure loading 64 MiB with xarray")],
    "bench zarr": [("stepstore bench zarr --rounds 1", "Measure Zarr's chunks once")],
    "simulate": [
        ("stepstore simulate --writers 512 --sizes 56k", "Predict steps of 512 ranks on the reference"),
        ("stepstore simulate --on files --cluster lustre", "Predict pools in files on Lustre"),
    ],
    "simulate figures": [
        ("stepstore simulate figures --only 13 --directory figures", "Draw one figure of the reference")
    ],
    "simulate measure": [("stepstore simulate measure here.toml", "Measure this machine")],
    "simulate validate": [
        (
            "stepstore simulate validate --cluster here.toml --ranks 2,4",
            "Compare simulated and measured times",
        )
    ],
    "advise": [
        ("stepstore advise --ranks 512 --metadata 56k", "Choose a layout for a job of 512 ranks"),
        ("stepstore advise --stream out/default/gs --servers 8", "Choose one for a job like the stream's"),
    ],
    "plugin-path": [('export ADIOS2_PLUGIN_PATH="$(stepstore plugin-path)"', "Let ADIOS2 find the plugin")],
    "pkg-config-path": [
        ('export PKG_CONFIG_PATH="$(stepstore pkg-config-path)"', "Let pkg-config find stepstore-c")
    ],
    "daos-root": [('cc -I"$(stepstore daos-root)/include" -c program.c', "Compile a program for DAOS")],
    "fdb5-env": [('eval "$(stepstore fdb5-env)"', "Let FDB find the plugin, and the shell its tools")],
    "adios2-env": [
        ('eval "$(stepstore adios2-env)"', "Let every ADIOS2 program know the engine type Stepstore"),
        ('eval "$(stepstore adios2-env --default)"', "Let programs that name no engine read pools"),
    ],
    "adios2-build": [
        ("stepstore adios2-build", "Build the engine for the adios2 of this Python"),
        ("stepstore adios2-build --adios2 /opt/adios2", "Build it for an installation"),
    ],
    "version": [("stepstore version --json", "Print the version and the parts for a program")],
}
