# Shared by the demos: what they run with, and a run of the simulation with the analysis beside it. Sourced,
# not run, after lib.sh and with `demo`, the folder for what it leaves, and `ranks`.
#
# Environment: STEPSTORE_DEMO_BIN (folder with gray-scott and gray-scott-mpi), PYTHON, PYTHONPATH: tests run
# the demos on a build tree; then nothing is set up.
example=$STEPSTORE_ROOT/examples/gray-scott

# ---- what it runs with: from the clone's .venv and build, or from a build tree
if [[ -n ${STEPSTORE_DEMO_BIN:-} ]]; then
    bin=$(cd "$STEPSTORE_DEMO_BIN" && pwd)
    python=${PYTHON:?set PYTHON to the interpreter that has adios2}
    stepstore=("$python" -m stepstore)
else
    scripts/setup.sh
    python=$STEPSTORE_VENV/bin/python
    stepstore=("$STEPSTORE_VENV/bin/stepstore")
    bin=$STEPSTORE_BUILD/demo/bin
fi
log=$STEPSTORE_BUILD/log

# build_example TARGET [CMAKE OPTION...]: the simulation, against one build of ADIOS2.
build_example() {
    [[ -z ${STEPSTORE_DEMO_BIN:-} ]] || return 0
    local target=$1
    shift
    quiet_step "configure the simulation" "$log/demo-configure.log" \
        cmake -S "$STEPSTORE_ROOT" -B "$STEPSTORE_BUILD/demo" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DSTEPSTORE_TESTS=OFF -DSTEPSTORE_BENCH=OFF -DSTEPSTORE_ADIOS2_PYTHON="$python" "$@"
    quiet_step "build $target" "$log/demo-build.log" \
        cmake --build "$STEPSTORE_BUILD/demo" --target "$target" --parallel "$JOBS"
}

# What OpenMPI needs where there are fewer cores than ranks, and in containers, whose user is root; other MPIs
# pass over it.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_hwloc_base_binding_policy=none
ADIOS2_PLUGIN_PATH=$("${stepstore[@]}" plugin-path)
export ADIOS2_PLUGIN_PATH

# run_live NAME PROGRAM CONFIG STEPS [OPTION]: the simulation in demo/NAME, and the analysis, with the option,
# beside it from the first moment. NAME is the layout, unless `layout` is set; the pool is in the folder,
# unless `location` is set.
run_live() {
    local name=$1 program=$2 config=$3 steps=$4 option=${5:-} directory=$demo/$1 analysis status=0
    rm -rf "$directory"
    mkdir -p "$directory"
    report prepare ${quick[@]+"${quick[@]}"} "$directory/others.json"
    # The engine is chosen here, and nowhere else. Patient: on a busy machine MPI takes its time to start, and
    # a simulation that fails ends the analysis too.
    sed -e 's|key="OpenTimeoutSecs" value="[0-9]*"|key="OpenTimeoutSecs" value="900"|' \
        -e "s|gray-scott\\.pool|${location:-./pool}|" \
        -e "s|value=\"array-aligned\"|value=\"${layout:-$name}\"|" \
        "$example/$config" >"$directory/adios2.xml"
    (
        cd "$directory"
        exec "$python" "$example/analysis.py" --config adios2.xml --timeout 900 --json live.json \
            ${option:+"$option"} 2>analysis.err
    ) &
    analysis=$!
    (
        cd "$directory"
        exec mpirun -n "$ranks" "$program" "$example/settings.txt" "L=$L" "steps=$steps" "plotgap=$plotgap" \
            timings=writer.json >simulation.log 2>&1
    ) || status=$?
    if ((status != 0)); then
        kill "$analysis" 2>/dev/null || true
        tail -n 20 "$directory/simulation.log" >&2
        die "the simulation failed with status $status through $name; its output is $directory/simulation.log"
    fi
    wait "$analysis" || {
        tail -n 20 "$directory/analysis.err" >&2
        die "the analysis failed through $name; its errors are in $directory/analysis.err"
    }
}

report() { "$python" "$STEPSTORE_ROOT/examples/report.py" "$@"; }
