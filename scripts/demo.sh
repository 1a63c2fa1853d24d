#!/usr/bin/env bash
# The demo: a Gray-Scott simulation on four ranks writes its steps through ADIOS2, an analysis program reads
# them while it runs.
#   1. Through Stepstore's plugin, with nothing but the adios2 wheel from PyPI: a first result and a picture.
#      Only what this needs is installed and built before.
#   2. With an MPI build of ADIOS2 (built once, into the user's cache): the same, shorter, through BP5,
#      through every layout of Stepstore, and with AsyncWrite in turn, in several rounds. What was read is
#      compared bit for bit; the cost of the steps is measured and plotted: the median of the rounds, and its
#      spread.
# Leaves field.png, timings.png and results.json in demo/.
#
# Environment: STEPSTORE_DEMO_QUICK=1 (few small steps, 2 rounds), STEPSTORE_DEMO_DIR (default demo/ of the
# clone), DEMO_RANKS (4), DEMO_L, DEMO_STEPS (of the first run), DEMO_ROUNDS (5), DEMO_ROUND_STEPS,
# DEMO_PLOTGAP. Tests run it on a build tree: STEPSTORE_DEMO_BIN (folder with gray-scott and gray-scott-mpi),
# PYTHON, PYTHONPATH; then nothing is set up.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$STEPSTORE_ROOT"
demo=${STEPSTORE_DEMO_DIR:-$STEPSTORE_ROOT/demo}
ranks=${DEMO_RANKS:-4}
if [[ ${STEPSTORE_DEMO_QUICK:-0} == 1 ]]; then
    quick=(--quick)
    L=${DEMO_L:-16} steps=${DEMO_STEPS:-12} plotgap=${DEMO_PLOTGAP:-3}
    rounds=${DEMO_ROUNDS:-2} round_steps=${DEMO_ROUND_STEPS:-$steps}
else
    quick=()
    L=${DEMO_L:-64} steps=${DEMO_STEPS:-1000} plotgap=${DEMO_PLOTGAP:-40}
    rounds=${DEMO_ROUNDS:-5} round_steps=${DEMO_ROUND_STEPS:-600}
fi
layouts=(posix kv array array-aligned)
runs=(bp5 "${layouts[@]}" async-write)
level=first
source "$STEPSTORE_ROOT/scripts/demo-lib.sh"

# run_round NUMBER: BP5, every layout, and the last one with AsyncWrite once, and what they measured into
# demo/rounds/NUMBER.
run_round() {
    local kept=$demo/rounds/$1 name config file layout async_write
    for name in "${runs[@]}"; do
        config=adios2-stepstore.xml layout='' async_write=''
        [[ $name != bp5 ]] || config=adios2-bp5.xml
        [[ $name != async-write ]] || layout=${layouts[-1]} async_write=on
        new_run "$name" "$config"
        report prepare ${quick[@]+"${quick[@]}"} "$demo/$name/others.json"
        follow "$name" "$bin/gray-scott-mpi" "$round_steps" --quiet >"$demo/analysis.log"
    done
    # All steps are there now: the acquisition alone.
    for name in "${runs[@]}"; do
        (cd "$demo/$name" && report acquire adios2.xml acquire.json)
        [[ $name == bp5 ]] ||
            "${stepstore[@]}" steps "$demo/$name/pool" --profile --json >"$demo/$name/profile.json"
        mkdir -p "$kept/$name"
        cp "$demo/$name"/*.json "$kept/$name"
    done
}

mkdir -p "$demo"
rm -rf "$demo"/*.png "$demo/results.json" "$demo/rounds"
[[ ${#quick[@]} == 0 ]] ||
    say "quick: $L^3 cells, $steps steps, $rounds rounds. It shows that all works; its times mean nothing"

# ---- 1: the wheel only
build_example gray-scott
say "phase 1: Gray-Scott on $ranks ranks, $L^3 cells, with the adios2 wheel from PyPI and Stepstore's" \
    "plugin, read while it runs:"
run_live array-aligned "$bin/gray-scott" adios2-stepstore.xml "$steps" "--png=$demo/field.png"
grep '^gray-scott:' "$demo/array-aligned/simulation.log" || true
rm -rf "$demo/wheel"
mv "$demo/array-aligned" "$demo/wheel"
say "first result: $demo/field.png; the steps are in $demo/wheel/pool"

# ---- 2: BP5 and every layout, with ADIOS2's MPI build
[[ -n ${STEPSTORE_DEMO_BIN:-} ]] || scripts/setup.sh demo
"${stepstore[@]}" steps "$demo/wheel/pool" -l
[[ -n ${STEPSTORE_DEMO_BIN:-} ]] || PYTHON=$python scripts/adios2-mpi.sh
build_example gray-scott-mpi -DSTEPSTORE_ADIOS2_MPI_PREFIX="$ADIOS2_MPI_PREFIX"
for ((round = 1; round <= rounds; round++)); do
    say "phase 2, round $round of $rounds: $round_steps steps through BP5, then through ${runs[*]:1}"
    run_round "$round"
done
status=0
report compare "$demo" "${runs[@]}" || status=$?
say "demo: done in $((SECONDS - SCRIPT_START)) s: $demo/field.png, $demo/timings.png, $demo/results.json"
exit "$status"
