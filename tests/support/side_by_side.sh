#!/bin/bash
# Runs a GoogleTest program as several processes at the same time, each with its share of the cases. It is for
# cases that mostly wait, each in a directory or cluster of its own.
# Usage: side_by_side.sh PROCESSES PROGRAM [ARGUMENT...]
set -u
processes=$1
shift
outputs=$(mktemp -d) || exit 1
trap 'rm -rf "$outputs"' EXIT
export GTEST_TOTAL_SHARDS=$processes
pids=()
for ((share = 0; share < processes; ++share)); do
    GTEST_SHARD_INDEX=$share "$@" >"$outputs/$share" 2>&1 &
    pids+=($!)
done
failed=0
for ((share = 0; share < processes; ++share)); do
    wait "${pids[share]}" || failed=1
    cat "$outputs/$share"
done
exit $failed
