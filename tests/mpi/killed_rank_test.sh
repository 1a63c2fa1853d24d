#!/bin/sh
# killed_rank_test.sh PROGRAM "MPIRUN WORDS" LAYOUT: kills one rank of four, restarts after it, time and
# again. LAYOUT may be aggregated: array-aligned, and two ranks have one that stores for both. With -async
# after it the ranks write beside the program.
set -u
program=$1 mpirun=$2 layout=$3
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
location=$directory/pool
fail() {
    echo "FAILED: $*" >&2
    cat "$directory/out" >&2
    exit 1
}
# run VICTIM DELAY [WORD...]: a job that loses this rank; `code` is how mpirun ended, 124 that it did not.
# Once in some hundred jobs mpirun itself failed ("PMIX ERROR: BAD-PARAM") and waited for ever. Such a job is
# run once more.
run() {
    lost=$1 after=$2
    shift 2
    for attempt in 1 2; do
        timeout 60 $mpirun "$@" "$program" write "$location" "$layout" $lost $after >"$directory/out" 2>&1
        code=$?
        [ $code -eq 124 ] && grep -q "PMIX ERROR" "$directory/out" || return 0
        echo "mpirun failed in attempt $attempt: $(grep "PMIX ERROR" "$directory/out" | head -n 1)"
    done
}
steps=0
count=0
for delay in 0 300 1000 4000 20000; do
    victim=$((count % 4))
    count=$((count + 1))
    # The job ends, by mpirun, and not by the time-out.
    run $victim $delay
    [ $code -ne 0 ] || fail "the job went on without rank $victim"
    [ $code -ne 124 ] || fail "the ranks that were left waited for rank $victim for ever"
    # Where mpirun is slow to end the job the others have seen it, and said so.
    grep "killed_rank write:" "$directory/out" | grep -v -q "rank $victim .* died" &&
        fail "a rank could not write"
    found=$("$program" verify "$location" 2>"$directory/out" | tail -n 1)
    [ "$found" -ge $((steps + 2)) ] ||
        fail "$found steps after $steps: two were ended before rank $victim was killed"
    steps=$found
done
# Where MPI lets the others live (Open MPI can), they do not wait for the dead rank: each is told, and ends.
if $mpirun --enable-recovery true >/dev/null 2>&1; then
    victim=$((count % 4))
    count=$((count + 1))
    run $victim 1000 --enable-recovery
    [ $code -ne 124 ] || fail "the ranks that were left waited for rank $victim for ever"
    told=$(grep -c "killed_rank write: .*rank $victim (process [0-9]* on host .*) died" "$directory/out")
    [ "$told" = 3 ] || fail "$told of 3 ranks were told that rank $victim died"
    found=$("$program" verify "$location" 2>"$directory/out" | tail -n 1)
    [ "$found" -ge $((steps + 2)) ] || fail "$found steps after $steps"
    steps=$found
fi
timeout 60 $mpirun "$program" finish "$location" >"$directory/out" 2>&1 || fail "the last restart"
found=$("$program" verify "$location" 2>"$directory/out" | tail -n 1)
[ "$found" = $((steps + 2)) ] || fail "$found steps at the end, of $((steps + 2))"
echo "$found steps of $count killed jobs and one that lived"
