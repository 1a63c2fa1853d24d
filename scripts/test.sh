#!/usr/bin/env bash
# Builds and runs all tests. Does its own set-up (scripts/setup.sh) and builds ADIOS2 with MPI once into the
# user's cache.
#
# Environment: SANITIZE=asan|tsan runs the suite under that preset; TESTS=REGEX runs the tests whose names
# match; QUICK=1 leaves out those of tests/slow.txt; PRESET (default release), JOBS, and what scripts/setup.sh
# takes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$STEPSTORE_ROOT"
preset=${SANITIZE:-${PRESET:-release}}
log=$STEPSTORE_BUILD/log

scripts/setup.sh
PYTHON=$STEPSTORE_VENV/bin/python scripts/adios2-mpi.sh
quiet_step "configure ($preset)" "$log/configure-$preset.log" \
    cmake --preset "$preset" -B "$STEPSTORE_BUILD/$preset" -DSTEPSTORE_TESTS=ON -DSTEPSTORE_PYTHON=ON \
    -DSTEPSTORE_ADIOS2_PYTHON="$STEPSTORE_VENV/bin/python" -DPython_EXECUTABLE="$STEPSTORE_VENV/bin/python" \
    -DSTEPSTORE_ADIOS2_MPI_PREFIX="$ADIOS2_MPI_PREFIX"
quiet_step "build ($preset)" "$log/build-$preset.log" \
    cmake --build "$STEPSTORE_BUILD/$preset" --parallel "$JOBS"
chosen=(${TESTS:+--tests-regex "$TESTS"})
if [[ -n ${QUICK:-} ]]; then
    chosen+=(--exclude-regex "^($(paste -sd'|' tests/slow.txt))\$")
fi
say "run the tests" # one more than cores, since many wait: for a cluster, a time-out, a child
export GTEST_BRIEF=1 # of a program with many cases only those that fail
status=0
begin=$SECONDS
ctest --test-dir "$STEPSTORE_BUILD/$preset" --output-on-failure --no-tests=error --parallel "$((JOBS + 1))" \
    "${chosen[@]}" || status=$?
say "tests: $((SECONDS - begin)) s; all: $((SECONDS - SCRIPT_START)) s"
exit "$status"
