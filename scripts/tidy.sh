#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy) on the sources of a build tree. Every finding is an error. What passed is
# remembered in the user's cache and left out until something that it was made of changes.
#
# Usage: scripts/tidy.sh [BUILD_TREE] [--only REGEX]; default build/release. Environment: CLANG_TIDY (default:
# that of .venv), JOBS, STEPSTORE_TIDY_CACHE (an empty value: remember nothing).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
build=$STEPSTORE_BUILD/release
if [[ $# -gt 0 && $1 != -* ]]; then
    build=$1
    shift
fi
clang_tidy=${CLANG_TIDY:-$STEPSTORE_VENV/bin/clang-tidy}
[[ -x $clang_tidy ]] || die "there is no $clang_tidy: run make setup, or set CLANG_TIDY"
[[ -f $build/compile_commands.json ]] || die "$build is no build tree: configure it first (CONTRIBUTING.md)"
cache=${STEPSTORE_TIDY_CACHE-$STEPSTORE_CACHE/tidy}
exec "${PYTHON:-python3}" "$STEPSTORE_ROOT/scripts/tidy.py" "$build" --clang-tidy "$clang_tidy" \
    --jobs "$JOBS" ${cache:+--cache "$cache"} "$@"
