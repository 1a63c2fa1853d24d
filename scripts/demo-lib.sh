# Shared by the demos: what they run with, and a run of the simulation with the analysis beside it. Sourced,
# not run, after lib.sh and with `demo`, the folder for what it leaves, and `ranks`. What starts the
# simulation and the analysis is in `launch` and `observe`: a demo on other machines sets them.
#
# `level` is what scripts/setup.sh sets up (default all). With the level first there is no package yet: the
# plugin comes from the build of the simulation.
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
    scripts/setup.sh "${level:=all}"
    python=$STEPSTORE_VENV/bin/python
    stepstore=("$STEPSTORE_VENV/bin/stepstore")
    bin=$STEPSTORE_BUILD/demo/bin
fi
log=$STEPSTORE_BUILD/log

# build_example TARGET [CMAKE OPTION...]: the simulation, against one build of ADIOS2, and the plugin.
build_example() {
    [[ -z ${STEPSTORE_DEMO_BIN:-} ]] || return 0
    local target=$1
    shift
    quiet_step "configure the simulation" "$log/demo-configure.log" \
        cmake -S "$STEPSTORE_ROOT" -B "$STEPSTORE_BUILD/demo" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_COMPILER=cc -DCMAKE_CXX_COMPILER=c++ -DSTEPSTORE_TESTS=OFF -DSTEPSTORE_BENCH=OFF \
        -DSTEPSTORE_FDB5=OFF -DSTEPSTORE_FORTRAN=OFF -DSTEPSTORE_ADIOS2_PYTHON="$python" "$@"
    quiet_step "build the plugin and $target" "$log/demo-build.log" \
        cmake --build "$STEPSTORE_BUILD/demo" --target "$target" stepstore_adios2 --parallel "$JOBS"
}

# What OpenMPI needs where there are fewer cores than ranks, and in containers, whose user is root; other MPIs
# pass over it.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_hwloc_base_binding_policy=none
if [[ -z ${STEPSTORE_DEMO_BIN:-} && $level == first ]]; then
    ADIOS2_PLUGIN_PATH=$STEPSTORE_BUILD/demo/lib
else
    ADIOS2_PLUGIN_PATH=$("${stepstore[@]}" plugin-path)
fi
export ADIOS2_PLUGIN_PATH

launch=(mpirun -n "$ranks")
observe=()

# choose_size STEPS: quick, L, steps and plotgap of a demo in which something is killed in the middle. STEPS:
# of its quick form.
choose_size() {
    if [[ ${STEPSTORE_DEMO_QUICK:-0} == 1 ]]; then
        quick=(--quick)
        L=${DEMO_L:-16} steps=${DEMO_STEPS:-$1} plotgap=${DEMO_PLOTGAP:-3}
    else
        quick=()
        L=${DEMO_L:-64} steps=${DEMO_STEPS:-1000} plotgap=${DEMO_PLOTGAP:-10}
    fi
}

# new_run NAME CONFIG: the folder demo/NAME with adios2.xml. NAME is the layout, unless `layout` is set; the
# pool is in the folder, unless `location` is set. `async_write`: AsyncWrite's value, if it is set.
new_run() {
    local name=$1 directory=$demo/$1 async=
    [[ -z ${async_write:-} ]] || async="\n      <parameter key=\"AsyncWrite\" value=\"$async_write\"/>"
    rm -rf "$directory"
    mkdir -p "$directory"
    # The engine is chosen here, and nowhere else. Patient: on a busy machine MPI takes its time to start, and
    # a simulation that fails ends the analysis too.
    sed -e 's|key="OpenTimeoutSecs" value="[0-9]*"|key="OpenTimeoutSecs" value="900"|' \
        -e "s|gray-scott\\.pool|${location:-./pool}|" \
        -e "s|value=\"array-aligned\"/>|value=\"${layout:-$name}\"/>$async|" \
        "$example/$2" >"$directory/adios2.xml"
}

# simulate NAME PROGRAM STEPS [SETTING...]: the simulation in demo/NAME.
simulate() {
    cd "$demo/$1"
    exec "${launch[@]}" "$2" "$example/settings.txt" "L=$L" "steps=$3" "plotgap=$plotgap" \
        timings=writer.json ${output:+"output=$output"} "${@:4}" >simulation.log 2>&1
}

# analyse NAME [OPTION...]: the analysis in demo/NAME, from the first step to the end of the stream.
analyse() {
    cd "$demo/$1"
    exec ${observe[@]+"${observe[@]}"} "$python" "$example/analysis.py" --config adios2.xml --timeout 900 \
        --json live.json ${output:+--input "$output"} "${@:2}" 2>analysis.err
}

# follow NAME PROGRAM STEPS [OPTION [SETTING...]]: the simulation in demo/NAME, and the analysis, with the
# option, beside it from the first moment.
follow() {
    local name=$1 option=${4:-} directory=$demo/$1 analysis status=0
    (analyse "$name" ${option:+"$option"}) &
    analysis=$!
    (simulate "$name" "$2" "$3" "${@:5}") || status=$?
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

# run_live NAME PROGRAM CONFIG STEPS [OPTION]: a new run, followed.
run_live() {
    new_run "$1" "$3"
    follow "$1" "$2" "$4" "${@:5}"
}

# when_read LOG STEPS COMMAND...: the command, once the analysis has printed so many steps.
when_read() {
    until [[ $(grep -c '^step ' "$1") -ge $2 ]]; do sleep 0.05; done
    "${@:3}"
}

report() { "$python" "$STEPSTORE_ROOT/examples/report.py" "$@"; }
