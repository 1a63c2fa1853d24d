#!/usr/bin/env bash
# The demo on two machines that share a CephFS: namespaces of this machine, each with its own mount
# (docs/design/nodes-bed.md). It needs root and FUSE.
#   1. A Gray-Scott simulation with two ranks on each machine writes its steps into a pool in files, and an
#      analysis on machine B reads them while it runs. What was read is compared bit for bit with BP5's.
#   2. The same, and in the middle machine A is killed with its mount. Every whole step is there. The
#      simulation goes on with the last one on machine B alone. Machine A, booted again, reads along.
# Leaves results in demo/nodes/; the machines end with this script.
#
# Environment: STEPSTORE_DEMO_QUICK=1 (few small steps), STEPSTORE_DEMO_DIR (default demo/nodes of the clone),
# DEMO_L, DEMO_STEPS, DEMO_PLOTGAP; and that of demo-lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$STEPSTORE_ROOT"
bed=$STEPSTORE_ROOT/tests/nodes/bed.py
"$bed" - possible # before minutes of set-up
demo=${STEPSTORE_DEMO_DIR:-$STEPSTORE_ROOT/demo/nodes}
ranks=2 # of each machine
source "$STEPSTORE_ROOT/scripts/demo-lib.sh"
choose_size 300 # so that A is killed in the middle on a busy machine, too
[[ -n ${STEPSTORE_DEMO_BIN:-} ]] || PYTHON=$python scripts/adios2-mpi.sh
build_example gray-scott-mpi -DSTEPSTORE_ADIOS2_MPI_PREFIX="$ADIOS2_MPI_PREFIX"

mkdir -p "$demo"
state=$(mktemp -d "${TMPDIR:-/tmp}/stepstore-nodes-XXXXXX") # the daemons' sockets need a short path
killer=
trap '[[ -z $killer ]] || kill "$killer" 2>/dev/null || true; "$bed" "$state" down' EXIT
say "start two machines with a CephFS, each with a mount of its own"
"$bed" "$state" up --owner $$
shared=$state/shared
launch=("$bed" "$state" mpirun "$ranks")
observe=("$bed" "$state" run B)
outputs=$((steps / plotgap))
read_steps() { grep -c '^step ' "$demo/analysis.log" || true; }

# ---- 1: both machines write, B reads
say "Gray-Scott with $ranks ranks on each, $L^3 cells, $outputs steps, through BP5:"
output=$shared/gray-scott.bp \
    run_live bp5 "$bin/gray-scott-mpi" adios2-bp5.xml "$steps" --quiet >"$demo/analysis.log"
grep '^gray-scott:' "$demo/bp5/simulation.log" || true
export layout=array-aligned
say "the same through a pool in files on this file system:"
location=$shared/gs run_live files "$bin/gray-scott-mpi" adios2-stepstore.xml "$steps" >"$demo/analysis.log"
grep '^gray-scott:' "$demo/files/simulation.log" || true
status=0
report same "$demo/bp5" "$demo/files" || status=$?

# ---- 2: A is killed
kill_a() {
    "$bed" "$state" kill A
    say "machine A killed with its mount after $(read_steps) of $outputs steps were read on B"
}
say "once more, and machine A is killed:"
location=$shared/killed new_run killed adios2-stepstore.xml
sed -i 's|</engine>|  <parameter key="WriterTimeoutSecs" value="5"/>\n    &|' "$demo/killed/adios2.xml"
: >"$demo/analysis.log"
when_read "$demo/analysis.log" $((outputs / 10)) kill_a &
killer=$!
(analyse killed >"$demo/analysis.log") &
analysis=$!
! (simulate killed "$bin/gray-scott-mpi" "$steps") || die "the simulation was done before A was killed"
wait "$killer"
killer=
! wait "$analysis" || die "the analysis did not notice that the simulation died"
grep '^analysis:' "$demo/killed/analysis.err"
whole_steps() {
    "${observe[@]}" "${stepstore[@]}" steps "$shared/killed" --json |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["steps"])'
}
whole=$(whole_steps)
say "$whole whole steps are there, $(read_steps) were read"
[[ $whole -ge $(read_steps) && $whole -lt $outputs ]] || die "steps are missing"
"$bed" "$state" start A
launch=("$bed" "$state" mpirun --on B "$ranks")
observe=("$bed" "$state" run A)
say "machine A boots again and reads; the simulation goes on with step $((whole * plotgap)) on B alone:"
(simulate killed "$bin/gray-scott-mpi" "$steps" restart=1) &
simulation=$!
# A reader that came before the simulation has taken over would be told that the old writer died.
until [[ $(whole_steps) -gt $whole ]]; do
    kill -0 "$simulation" 2>/dev/null || break
done
(analyse killed --quiet >"$demo/analysis.log") || die "the analysis failed: $demo/killed/analysis.err"
wait "$simulation" || die "the simulation failed: $demo/killed/simulation.log"
grep '^gray-scott:' "$demo/killed/simulation.log" || true
report same "$demo/bp5" "$demo/killed" || status=$?
say "a check of the pool, which may tell of temporary files of the killed machine:"
"${observe[@]}" "${stepstore[@]}" pool check "$shared/killed" || status=$?
say "demo: done in $((SECONDS - SCRIPT_START)) s"
exit "$status"
