#!/usr/bin/env bash
# The demo on a Ceph cluster of this machine: a monitor and three OSDs that keep two copies on (sparse) files.
# A Gray-Scott simulation on four ranks writes its steps to rados://, an analysis reads them while it runs. In
# the middle one of the OSDs is killed. What was read is compared bit for bit with the same run through BP5.
# Leaves results in demo/cluster/; the cluster ends with this script.
#
# Environment: STEPSTORE_DEMO_QUICK=1 (few small steps), STEPSTORE_DEMO_DIR (default demo/cluster of the
# clone), DEMO_RANKS (4), DEMO_L, DEMO_STEPS, DEMO_PLOTGAP; and that of demo-lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$STEPSTORE_ROOT"
demo=${STEPSTORE_DEMO_DIR:-$STEPSTORE_ROOT/demo/cluster}
ranks=${DEMO_RANKS:-4}
source "$STEPSTORE_ROOT/scripts/demo-lib.sh"
choose_size 60
ceph=$STEPSTORE_ROOT/tests/support/ceph.py
[[ -n ${STEPSTORE_DEMO_BIN:-} ]] || PYTHON=$python scripts/adios2-mpi.sh
build_example gray-scott-mpi -DSTEPSTORE_ADIOS2_MPI_PREFIX="$ADIOS2_MPI_PREFIX"

mkdir -p "$demo"
state=$(mktemp -d "${TMPDIR:-/tmp}/stepstore-ceph-XXXXXX") # the daemons' sockets need a short path
killer=
trap '[[ -z $killer ]] || kill "$killer" 2>/dev/null || true; "$ceph" stop "$state"' EXIT
say "start a Ceph cluster: a monitor and three OSDs, two copies of each object, on files"
"$ceph" start "$state" --osds 3 --copies 2 --store bluestore --pool demo --owner $$ >"$demo/ceph.log"
export CEPH_CONF=$state/ceph.conf

kill_an_osd() {
    "$ceph" osd "$state" kill 1
    say "osd.1 killed after $(grep -c '^step ' "$demo/analysis.log") of $outputs steps were read"
}

outputs=$((steps / plotgap))
say "Gray-Scott on $ranks ranks, $L^3 cells, $outputs steps, through BP5:"
run_live bp5 "$bin/gray-scott-mpi" adios2-bp5.xml "$steps" --quiet >"$demo/analysis.log"
grep '^gray-scott:' "$demo/bp5/simulation.log" || true
say "the same through rados://demo/gray-scott:"
: >"$demo/analysis.log"
when_read "$demo/analysis.log" $((outputs / 2)) kill_an_osd &
killer=$!
layout=array-aligned location=rados://demo/gray-scott \
    run_live rados "$bin/gray-scott-mpi" adios2-stepstore.xml "$steps" >"$demo/analysis.log"
wait "$killer"
killer=
grep '^gray-scott:' "$demo/rados/simulation.log" || true
status=0
report same "$demo/bp5" "$demo/rados" || status=$?
"${stepstore[@]}" pool check rados://demo/gray-scott || status=$?
say "demo: done in $((SECONDS - SCRIPT_START)) s, with two of three OSDs"
exit "$status"
